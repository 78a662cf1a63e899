"""Noise laws: their densities against others', and their draws against their densities."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.parameters import ParameterError
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

QUERY = np.array([1.0, -2.0])
SUMMARIES = np.array([[0.5, -1.0], [4.0, 3.0]])


@pytest.mark.parametrize(
    ("law", "known"), [(Laplace, stats.laplace), (Gaussian, stats.norm)], ids=["laplace", "gauss"]
)
def test_densities_are_those_of_scipy_with_a_scale_for_each_number(
    law: type[Noise], known: stats.rv_continuous
) -> None:
    expected = known.logpdf(QUERY, SUMMARIES, [2.0, 0.5]).sum(axis=1)
    np.testing.assert_allclose(law((2.0, 0.5)).log_density(QUERY, SUMMARIES), expected)


@pytest.mark.parametrize(("scale", "step"), [(2.0, 1.0), (0.3, 1.0), (2.0, 0.5)])
def test_discrete_laplace_adds_up_to_one(scale: float, step: float) -> None:
    values = step * np.arange(-200, 201)
    noise = DiscreteLaplace((scale,), (step,))
    density = [noise.log_density(np.array([z]), np.array([[3.0 * step]]))[0] for z in values]
    assert np.exp(density).sum() == pytest.approx(1.0, rel=1e-12)
    ratio = np.exp(density[201] - density[202])
    expected = np.exp(-step * (abs(1 - 3) - abs(2 - 3)) / scale)
    assert ratio == pytest.approx(expected)


@pytest.mark.parametrize(("scale", "step"), [(0.3, 1.0), (0.99, 1.0), (1.0, 1.0), (3.0, 0.5)])
def test_discrete_gaussian_is_a_gaussian_divided_by_its_sum(scale: float, step: float) -> None:
    values = step * np.arange(-300, 301)
    gaussian = np.exp(-((values / scale) ** 2) / 2.0)
    noise = DiscreteGaussian((scale,), (step,))
    found = np.exp(noise.log_density(np.zeros(1), -values[:, None]))
    np.testing.assert_allclose(found, gaussian / gaussian.sum(), rtol=1e-12, atol=1e-300)


def test_discrete_gaussian_is_possible_at_every_scale() -> None:
    noise, numbers = DiscreteGaussian((1e-20, 1e20)), np.array([[2.0, 5.0]])
    # All of the one at 0, and of the other as much as a Gaussian has in a step.
    assert noise.log_density(numbers[0], numbers) == pytest.approx(stats.norm.logpdf(0, 0, 1e20))
    drawn = noise.noisy(np.random.default_rng(1), np.tile(numbers, (500, 1)))
    assert (drawn[:, 0] == 2.0).all()
    assert_distribution(drawn[:, 1], stats.norm(5.0, 1e20).cdf)


def test_binomial_sample_is_that_of_scipy() -> None:
    noise = BinomialSample(10, 100.0, 25.0)
    query, people = np.array([0.3, 1.0]), np.array([[0.0, 100.0], [40.0, 7.0]])
    expected = stats.binom.logpmf([3, 10], 10, (people + 25.0) / 150.0).sum(axis=1)
    np.testing.assert_allclose(noise.log_density(query, people), expected)
    # Where there is nobody and nobody is added, nobody can be seen.
    alone = BinomialSample(10, 100.0).log_density(np.array([0.1]), np.array([[0.0], [1.0]]))
    assert alone[0] == -np.inf < alone[1]


@pytest.mark.parametrize(
    ("noise", "cdf"),
    [
        (Laplace((0.7,)), stats.laplace(3.0, 0.7).cdf),
        (Gaussian((0.7,)), stats.norm(3.0, 0.7).cdf),
    ],
)
def test_draws_have_the_law_of_the_density(noise: Noise, cdf: stats.rv_continuous) -> None:
    drawn = noise.noisy(np.random.default_rng(1), np.full((20_000, 1), 3.0))[:, 0]
    assert_distribution(drawn, cdf)
    assert rejects(assert_distribution, (drawn - 3.0) * 2.0**0.5 + 3.0, cdf)


@pytest.mark.parametrize(
    ("noise", "number", "values"),
    [
        (DiscreteLaplace((1.5,), (0.5,)), 1.0, 0.5 * np.arange(-40, 44)),
        (DiscreteGaussian((1.5,), (0.5,)), 1.0, 0.5 * np.arange(-40, 44)),
        (DiscreteGaussian((0.6,)), 1.0, np.arange(-40.0, 44.0)),
        (BinomialSample(8, 50.0, 10.0), 20.0, np.arange(9) / 8),
    ],
)
def test_discrete_draws_have_the_law_of_the_density(
    noise: Noise, number: float, values: NDArray[np.float64]
) -> None:
    drawn = noise.noisy(np.random.default_rng(1), np.full((20_000, 1), number))[:, 0]
    law = np.exp([noise.log_density(np.array([z]), np.array([[number]]))[0] for z in values])
    counts = np.array([(np.abs(drawn - z) < 1e-9).sum() for z in values])
    assert counts.sum() == len(drawn)
    assert_frequencies(counts, law / law.sum())
    assert rejects(assert_frequencies, counts, np.roll(law / law.sum(), 1))


@pytest.mark.parametrize("law", [DiscreteLaplace, DiscreteGaussian])
def test_half_the_noise_missing_is_seen(law: type[DiscreteLaplace | DiscreteGaussian]) -> None:
    drawn = law((2.0,)).noisy(np.random.default_rng(1), np.zeros((20_000, 1)))[:, 0]
    values = np.arange(-60.0, 61.0)
    counts = (drawn[:, None] == values).sum(axis=0)
    for scale, wrong in ((2.0, False), (1.0, True), (2.0**0.5, True)):
        expected = np.exp(law((scale,)).log_density(np.zeros(1), values[:, None]))
        assert rejects(assert_frequencies, counts, expected / expected.sum()) == wrong


EACH = (
    Laplace((2.0, 0.5), of=(3, 0)),
    DiscreteLaplace((3.0,), of=(1,)),
    BinomialSample(8, 50.0, 10.0, of=(4,)),
    Gaussian((0.7,), of=(2,)),
)


def test_laws_of_several_numbers_together_are_those_of_each() -> None:
    rng = np.random.default_rng(2)
    summaries = np.stack([rng.normal(size=6), np.arange(6.0), rng.normal(size=6),
                          rng.normal(size=6), np.arange(20.0, 26.0)], axis=1)  # fmt: skip
    query = np.array([0.3, 2.0, -1.0, 0.7, 0.5])
    alone = [dataclasses.replace(law, of=()) for law in EACH]
    expected = sum(
        law.log_density(query[list(of)], summaries[:, list(of)])
        for law, of in zip(alone, [law.of for law in EACH], strict=True)
    )
    np.testing.assert_allclose(IndependentNoise(EACH).log_density(query, summaries), expected)
    IndependentNoise(EACH).check(query)
    many = np.tile(summaries[:1], (4000, 1))
    noisy = IndependentNoise(EACH).noisy(np.random.default_rng(1), many)
    shares = [np.rint(noisy[:, 4] * 8) / 8 - noisy[:, 4], np.rint(noisy[:, 1]) - noisy[:, 1]]
    np.testing.assert_allclose(shares, 0.0, atol=1e-12)
    for number, law in ((3, stats.laplace(many[0, 3], 2.0)), (0, stats.laplace(many[0, 0], 0.5)),
                        (2, stats.norm(many[0, 2], 0.7))):  # fmt: skip
        assert_distribution(noisy[:, number], law.cdf)
        assert rejects(assert_distribution, noisy[:, number] + 0.5, law.cdf)


@pytest.mark.parametrize(
    ("noise", "query", "words"),
    [
        (DiscreteLaplace((1.0, 1.0)), (1.0, 2.5), "query, number 2 = 2.5: must be a multiple of 1"),
        (DiscreteGaussian((1.0,), (5.0,)), (12.0,), "multiple of 5 for discrete Gaussian noise"),
        (BinomialSample(1000, 1e6), (0.012, 0.0125), "query, number 2 = 0.0125: must be a multi"),
        (BinomialSample(1000, 1e6), (0.0, 1.001), "query, number 2 = 1.001: must be a share"),
        (BinomialSample(1000, 1e6), (1.0, -0.5), "query, number 2 = -0.5: must be a share"),
        # Of several laws, a number is told by its place among all.
        (IndependentNoise(EACH), (0.0, 2.5, 0.0, 0.0, 0.5), "query, number 2 = 2.5: must be a mul"),
        (IndependentNoise(EACH), (0.0, 2.0, 0.0, 0.0, 1.125), "query, number 5 = 1.125: must be a"),
    ],
)
def test_a_query_that_a_law_cannot_give_is_refused(
    noise: Noise, query: tuple[float, ...], words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        noise.check(np.array(query))


@pytest.mark.parametrize(
    ("noise", "numbers", "words"),
    [
        (DiscreteLaplace((1.0, 1.0)), (1.0, 0.5), "multiples of 1, but number 2 is 0.5"),
        (BinomialSample(5, 10.0), (3.0, -1.0), "population = 10, but number 2 is -1"),
        (BinomialSample(5, 10.0), (3.0, 11.0), "population = 10, but number 2 is 11"),
        (IndependentNoise(EACH), (51.0,) * 5, "population = 50, but number 5 is 51"),
    ],
)
def test_simulated_numbers_that_a_law_cannot_have_are_refused(
    noise: Noise, numbers: tuple[float, ...], words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        noise.log_density(np.zeros(len(numbers)), np.array([numbers]))


def test_rounding_is_no_reason_to_refuse() -> None:
    BinomialSample(1000, 1e6).check(np.arange(1001) / 1000)
    noise, numbers = DiscreteLaplace((1.0,), (0.1,)), 0.1 * np.arange(100)
    noise.check(numbers)
    assert np.isfinite(noise.log_density(np.array([0.7]), numbers[:, None])).all()


def test_each_number_may_have_a_step_of_its_own() -> None:
    both = DiscreteLaplace((2.0, 0.3), (1.0, 0.25))
    query, summaries = np.array([3.0, 0.5]), np.array([[1.0, 0.75], [4.0, 0.0]])
    each = [
        DiscreteLaplace((scale,), (step,)).log_density(query[[j]], summaries[:, [j]])
        for j, (scale, step) in enumerate(zip(both.scale, both.step, strict=True))
    ]
    np.testing.assert_allclose(both.log_density(query, summaries), each[0] + each[1])
    both.check(query)
    with pytest.raises(ParameterError, match=r"number 1 = 0\.5: must be a multiple of 1 for"):
        both.check(query[::-1])


def test_without_noise_only_equal_numbers_are_possible() -> None:
    found = NoNoise().log_density(QUERY, np.array([QUERY, [1.0, -2.5]]))
    assert found.tolist() == [0.0, -np.inf]
