"""The statistical checks have their stated error rates, exactly or on known distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.statistics import (
    assert_distribution,
    assert_frequencies,
    assert_mean,
    assert_mean_of_repeats,
    assert_same_distribution,
    miss_probability,
    rejects,
)

RUNS = 60


def failing(assumed: float, actual: float, false_alarm: float) -> float:
    """Return the probability that the check of one frequency fails, over all counts."""
    assumptions = np.array([assumed, 1.0 - assumed])
    fails = [
        rejects(assert_frequencies, np.array([k, RUNS - k]), assumptions, false_alarm)
        for k in range(RUNS + 1)
    ]
    return float(stats.binom.pmf(np.arange(RUNS + 1), RUNS, actual)[fails].sum())


@pytest.mark.parametrize("false_alarm", [0.2, 0.01, 1e-6])
def test_false_alarms_of_frequencies_are_no_more_frequent_than_stated(false_alarm: float) -> None:
    for probability in (0.001, 0.1, 0.5, 0.93):
        assert failing(probability, probability, false_alarm) <= false_alarm


def test_the_miss_probability_bounds_misses() -> None:
    assumed, actual = np.array([0.3, 0.7]), np.array([0.6, 0.4])
    missed = miss_probability(assumed, actual, RUNS, 0.01)
    assert missed == pytest.approx(1.0 - failing(0.3, 0.6, 0.01), rel=1e-9)
    assert 0.0 < missed < 0.1


def test_impossible_outcomes_are_rejected_and_probabilities_must_sum_to_one() -> None:
    assert_frequencies(np.array([0, 100]), np.array([0.0, 1.0]))
    assert rejects(assert_frequencies, np.array([1, 99]), np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match=r"sum to 0\.9"):
        assert_frequencies(np.array([1, 1]), np.array([0.5, 0.4]))


def test_a_wrong_distribution_is_rejected() -> None:
    sample = np.random.default_rng(1).laplace(size=20_000)
    assert_distribution(sample, stats.laplace.cdf)
    assert rejects(assert_distribution, sample, stats.laplace(scale=np.sqrt(2.0)).cdf)
    other = np.random.default_rng(2).laplace(size=20_000)
    assert_same_distribution(sample, other)
    assert rejects(assert_same_distribution, sample, 1.3 * other)


def test_false_alarms_of_distributions_are_no_more_frequent_than_stated() -> None:
    # At a false-alarm rate large enough to count: 5 %.
    rng, cdf = np.random.default_rng(3), stats.uniform.cdf
    fails = sum(rejects(assert_distribution, rng.random(5), cdf, 0.05) for _ in range(500))
    assert_frequencies(np.array([fails, 500 - fails]), np.array([0.05, 0.95]))


def test_a_wrong_mean_is_rejected() -> None:
    sample = np.random.default_rng(1).random(20_000)
    assert_mean(sample, 0.5, 0.0, 1.0)
    assert rejects(assert_mean, sample, 0.54, 0.0, 1.0)
    with pytest.raises(ValueError, match="not in the stated range"):
        assert_mean(sample, 0.5, 0.2, 1.0)


def test_a_wrong_mean_of_repeats_is_rejected() -> None:
    expected, bias = np.array([1.0, -2.0]), np.array([0.05, 0.0])
    values = expected + np.random.default_rng(1).standard_normal((24, 2))
    assert_mean_of_repeats(values, expected, bias)
    for wrong in ([3.0, 0.0], [0.0, 3.0]):
        assert rejects(assert_mean_of_repeats, values + wrong, expected, bias)
        assert_mean_of_repeats(values + wrong, expected, np.array([5.0, 5.0]))


def test_false_alarms_of_means_of_repeats_have_the_stated_rate() -> None:
    # At 5 %, for independent normal estimates.
    rng, zeros = np.random.default_rng(3), np.zeros(3)
    fails = sum(
        rejects(assert_mean_of_repeats, rng.standard_normal((5, 3)), zeros, zeros, 0.05)
        for _ in range(500)
    )
    # Three independent checks at a third each: 1 − (1 − 0.05/3)³.
    share = 1.0 - (1.0 - 0.05 / 3.0) ** 3
    assert_frequencies(np.array([fails, 500 - fails]), np.array([share, 1.0 - share]))
