"""Noise laws: their densities against others', and their draws against their densities."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.parameters import ParameterError
from abcdp_core.published.noise import BinomialSample, DiscreteLaplace, Gaussian, Laplace, Noise
from tests.statistics import assert_distribution, assert_frequencies, rejects

QUERY = np.array([1.0, -2.0])
SUMMARIES = np.array([[0.5, -1.0], [4.0, 3.0]])


def test_laplace_is_that_of_scipy() -> None:
    expected = stats.laplace.logpdf(QUERY, SUMMARIES, [2.0, 0.5]).sum(axis=1)
    np.testing.assert_allclose(Laplace((2.0, 0.5)).log_density(QUERY, SUMMARIES), expected)


def test_gaussian_is_that_of_scipy() -> None:
    expected = stats.norm.logpdf(QUERY, SUMMARIES, [2.0, 0.5]).sum(axis=1)
    np.testing.assert_allclose(Gaussian((2.0, 0.5)).log_density(QUERY, SUMMARIES), expected)


@pytest.mark.parametrize(("scale", "step"), [(2.0, 1.0), (0.3, 1.0), (2.0, 0.5)])
def test_discrete_laplace_adds_up_to_one(scale: float, step: float) -> None:
    values = step * np.arange(-200, 201)
    noise = DiscreteLaplace((scale,), step)
    density = [noise.log_density(np.array([z]), np.array([[3.0 * step]]))[0] for z in values]
    assert np.exp(density).sum() == pytest.approx(1.0, rel=1e-12)
    ratio = np.exp(density[201] - density[202])
    expected = np.exp(-step * (abs(1 - 3) - abs(2 - 3)) / scale)
    assert ratio == pytest.approx(expected)


def test_binomial_sample_is_that_of_scipy() -> None:
    noise = BinomialSample(10, 100.0, 25.0)
    query, people = np.array([0.3, 1.0]), np.array([[0.0, 100.0], [40.0, 7.0]])
    expected = stats.binom.logpmf([3, 10], 10, (people + 25.0) / 150.0).sum(axis=1)
    np.testing.assert_allclose(noise.log_density(query, people), expected)


def test_without_people_added_nobody_can_be_seen_where_there_is_nobody() -> None:
    noise = BinomialSample(10, 100.0)
    found = noise.log_density(np.array([0.1]), np.array([[0.0], [1.0]]))
    assert found[0] == -np.inf
    assert np.isfinite(found[1])


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
        (DiscreteLaplace((1.5,), 0.5), 1.0, 0.5 * np.arange(-40, 44)),
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


def test_a_scale_belongs_to_its_number() -> None:
    drawn = Laplace((1e-6, 5.0)).noisy(np.random.default_rng(1), np.zeros((50, 2)))
    assert np.abs(drawn[:, 0]).max() < 1e-4 < np.abs(drawn[:, 1]).max()


@pytest.mark.parametrize(
    ("noise", "query", "words"),
    [
        (DiscreteLaplace((1.0, 1.0)), (1.0, 2.5), "query, number 2 = 2.5: must be a multiple of 1"),
        (BinomialSample(1000, 1e6), (0.012, 0.0125), "query, number 2 = 0.0125: must be a multi"),
        (BinomialSample(1000, 1e6), (0.0, 1.001), "query, number 2 = 1.001: must be a share"),
        (BinomialSample(1000, 1e6), (1.0, -0.5), "query, number 2 = -0.5: must be a share"),
    ],
)
def test_a_query_that_a_law_cannot_give_is_refused(
    noise: Noise, query: tuple[float, ...], words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        noise.check(np.array(query))


def test_rounding_is_no_reason_to_refuse() -> None:
    BinomialSample(1000, 1e6).check(np.arange(1001) / 1000)
    noise, numbers = DiscreteLaplace((1.0,), 0.1), 0.1 * np.arange(100)
    noise.check(numbers)
    assert np.isfinite(noise.log_density(np.array([0.7]), numbers[:, None])).all()


def test_simulated_numbers_that_a_law_cannot_have_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"multiples of 1, but number 2 is 0\.5"):
        DiscreteLaplace((1.0, 1.0)).log_density(np.zeros(2), np.array([[1.0, 0.5]]))
    for people in (-1.0, 11.0):
        with pytest.raises(ParameterError, match=f"population = 10, but number 1 is {people:g}"):
            BinomialSample(5, 10.0).log_density(np.zeros(1), np.array([[people]]))


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (Laplace((0.1, 0.1)), "Laplace noise of scale 0.1"),
        (Gaussian((0.2, 0.1)), "Gaussian noise of scales 0.1 to 0.2"),
        (DiscreteLaplace((3.0,), 0.5), "discrete Laplace noise of scale 3 in steps of 0.5"),
        (
            BinomialSample(1000, 1e6, 1e4),
            "a random sample of 1,000 people, 10,000 added to either side",
        ),
    ],
)
def test_a_law_has_words(noise: Noise, words: str) -> None:
    assert noise.in_words() == words
