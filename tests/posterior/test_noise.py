"""Noise distributions: densities against scipy's, and draws against the densities."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.base.parameters import ParameterError
from abcdp_core.posterior.noise import (
    BinomialSample,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    IndependentNoise,
    Laplace,
    Noise,
    NoNoise,
)
from tests.statistics import assert_distribution, assert_frequencies, rejects


@pytest.mark.parametrize(
    ("kind", "known"), [(Laplace, stats.laplace), (Gaussian, stats.norm)], ids=["laplace", "gauss"]
)
def test_continuous_noise_has_the_density_and_the_draws_of_scipy(
    kind: type[Laplace | Gaussian], known: stats.rv_continuous
) -> None:
    query, summaries = np.array([1.0, -2.0]), np.array([[0.5, -1.0], [4.0, 3.0]])
    expected = known.logpdf(query, summaries, [2.0, 0.5]).sum(axis=1)
    np.testing.assert_allclose(kind((2.0, 0.5)).log_density(query, summaries), expected)
    drawn = kind((0.7,)).noisy(np.random.default_rng(1), np.full((20_000, 1), 3.0))[:, 0]
    assert_distribution(drawn, known(3.0, 0.7).cdf)
    assert rejects(assert_distribution, (drawn - 3.0) * 2.0**0.5 + 3.0, known(3.0, 0.7).cdf)


@pytest.mark.parametrize(("scale", "step"), [(2.0, 1.0), (0.3, 1.0), (0.99, 1.0), (3.0, 0.5)])
def test_discrete_noise_is_a_density_divided_by_its_sum(scale: float, step: float) -> None:
    values = step * np.arange(-300, 301)
    for kind, power in ((DiscreteLaplace, 1.0), (DiscreteGaussian, 2.0)):
        density = np.exp(-(np.abs(values / scale) ** power) / power)
        found = np.exp(kind((scale,), (step,)).log_density(np.zeros(1), -values[:, None]))
        np.testing.assert_allclose(found, density / density.sum(), rtol=1e-12, atol=1e-300)


def test_binomial_sample_is_that_of_scipy() -> None:
    noise = BinomialSample(10, 100.0, 25.0)
    query, people = np.array([0.3, 1.0]), np.array([[0.0, 100.0], [40.0, 7.0]])
    expected = stats.binom.logpmf([3, 10], 10, (people + 25.0) / 150.0).sum(axis=1)
    np.testing.assert_allclose(noise.log_density(query, people), expected)
    # If nobody has the property and nobody is added, nobody with it can be sampled.
    alone = BinomialSample(10, 100.0).log_density(np.array([0.1]), np.array([[0.0], [1.0]]))
    assert alone[0] == -np.inf < alone[1]


@pytest.mark.parametrize(
    ("noise", "number", "values"),
    [
        (DiscreteLaplace((1.5,), (0.5,)), 1.0, 0.5 * np.arange(-40, 44)),
        (DiscreteGaussian((1.5,), (0.5,)), 1.0, 0.5 * np.arange(-40, 44)),
        (DiscreteGaussian((0.6,)), 1.0, np.arange(-40.0, 44.0)),
        (BinomialSample(8, 50.0, 10.0), 20.0, np.arange(9) / 8),
    ],
)
def test_discrete_draws_have_the_distribution_of_the_density(
    noise: Any, number: float, values: NDArray[np.float64]
) -> None:
    def law(noise: Any) -> NDArray[np.float64]:
        found = [noise.log_density(np.array([z]), np.array([[number]]))[0] for z in values]
        return np.exp(found) / np.exp(found).sum()

    drawn = noise.noisy(np.random.default_rng(1), np.full((20_000, 1), number))[:, 0]
    counts = np.array([(np.abs(drawn - z) < 1e-9).sum() for z in values])
    assert counts.sum() == len(drawn)
    assert_frequencies(counts, law(noise))
    assert rejects(assert_frequencies, counts, np.roll(law(noise), 1))
    # Half the noise missing, and a scale that was taken for a standard deviation.
    for factor in (0.5, 0.5**0.5) if hasattr(noise, "scale") else ():
        less = dataclasses.replace(noise, scale=(factor * noise.scale[0],))
        assert rejects(assert_frequencies, counts, law(less))


EACH = (
    Laplace((2.0, 0.5), of=(3, 0)),
    DiscreteLaplace((3.0,), of=(1,)),
    BinomialSample(8, 50.0, 10.0, of=(4,)),
    Gaussian((0.7,), of=(2,)),
)


def test_several_distributions_together_are_those_of_each() -> None:
    rng = np.random.default_rng(2)
    summaries = rng.normal(size=(6, 5))
    summaries[:, [1, 4]] = np.column_stack([np.arange(6.0), np.arange(20.0, 26.0)])
    query = np.array([0.3, 2.0, -1.0, 0.7, 0.5])
    expected = sum(
        dataclasses.replace(law, of=()).log_density(query[list(law.of)], summaries[:, list(law.of)])
        for law in EACH
    )
    np.testing.assert_allclose(IndependentNoise(EACH).log_density(query, summaries), expected)
    IndependentNoise(EACH).check(query)
    many = np.tile(summaries[:1], (4000, 1))
    noisy = IndependentNoise(EACH).noisy(np.random.default_rng(1), many)
    np.testing.assert_allclose(np.rint(noisy[:, 4] * 8) / 8, noisy[:, 4], atol=1e-12)
    np.testing.assert_allclose(np.rint(noisy[:, 1]), noisy[:, 1], atol=1e-12)
    for number, law in ((3, stats.laplace(many[0, 3], 2.0)), (0, stats.laplace(many[0, 0], 0.5)),
                        (2, stats.norm(many[0, 2], 0.7))):  # fmt: skip
        assert_distribution(noisy[:, number], law.cdf)
        assert rejects(assert_distribution, noisy[:, number] + 0.5, law.cdf)


def test_impossible_queries_are_refused() -> None:
    cases: list[tuple[Noise, tuple[float, ...], str]] = [
        (DiscreteLaplace((1.0, 1.0)), (1.0, 2.5), "query, number 2 = 2.5: must be a multiple of 1"),
        (DiscreteGaussian((1.0,), (5.0,)), (12.0,), "multiple of 5 for discrete Gaussian noise"),
        (BinomialSample(1000, 1e6), (0.012, 0.0125), "query, number 2 = 0.0125: must be a multi"),
        (BinomialSample(1000, 1e6), (0.0, 1.001), "query, number 2 = 1.001: must be a share"),
        # With several distributions, a number is named by its place among all.
        (IndependentNoise(EACH), (0.0, 2.0, 0.0, 0.0, 1.125), "query, number 5 = 1.125: must be a"),
    ]
    for noise, query, words in cases:
        with pytest.raises(ParameterError, match=words):
            noise.check(np.array(query))


def test_impossible_simulated_numbers_are_refused() -> None:
    for noise, numbers, words in (
        (DiscreteLaplace((1.0, 1.0)), (1.0, 0.5), "multiples of 1, but number 2 is 0.5"),
        (BinomialSample(5, 10.0), (3.0, -1.0), "population = 10, but number 2 is -1"),
        (IndependentNoise(EACH), (51.0,) * 5, "population = 50, but number 5 is 51"),
    ):
        with pytest.raises(ParameterError, match=words):
            noise.log_density(np.zeros(len(numbers)), np.array([numbers]))


def test_rounding_is_no_reason_to_refuse_and_without_noise_numbers_are_equal() -> None:
    BinomialSample(1000, 1e6).check(np.arange(1001) / 1000)
    noise, numbers = DiscreteLaplace((1.0,), (0.1,)), 0.1 * np.arange(100)
    noise.check(numbers)
    assert np.isfinite(noise.log_density(np.array([0.7]), numbers[:, None])).all()
    query = np.array([1.0, -2.0])
    found = NoNoise().log_density(query, np.array([query, [1.0, -2.5]]))
    assert found.tolist() == [0.0, -np.inf]
