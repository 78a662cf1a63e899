"""Daily cases: mean and spread of the epidemic, and the sensitivity to a person and to a day."""

from __future__ import annotations

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.models.simulators import covid
from abcdp_core.models.simulators import covid_people as people
from tests.statistics import assert_mean_of_repeats, rejects

STATISTIC = people.SCENARIO.statistics["daily-counts"]
POINT = np.array([2.5, 6.5, 2.0, 0.2])


def draw(theta: Array, size: int, seed: int = 1) -> Array:
    """Daily counts ``(size, 18)``."""
    data = people.simulate(np.random.default_rng(seed), np.tile(theta, (size, 1)), 18)
    return STATISTIC.reduce(data)


def expected(theta: Array) -> Array:
    """Mean counts ``(18,)`` while few are immune, by a linear recursion."""
    reproduction, period, logarithm, _ = theta
    ceasing = 1.0 - np.exp(-1.0 / (people.STEPS * period))
    infectious, means = np.rint(10.0**logarithm), []
    for _ in range(18):
        ceased = 0.0
        for _ in range(people.STEPS):
            ceased += ceasing * infectious
            infectious *= 1.0 + reproduction / (people.STEPS * period) - ceasing
        means.append(people.CONFIRMED * ceased)
    return np.array(means)


def test_mean_counts_follow_the_recursion() -> None:
    repeats = draw(POINT, 24 * 2000).reshape(24, 2000, 18).mean(axis=1)
    means = expected(POINT)
    assert_mean_of_repeats(repeats, means, 2e-3 * means)
    other = expected(POINT + np.array([0.1, 0.0, 0.0, 0.0]))
    assert rejects(assert_mean_of_repeats, repeats, other, 2e-3 * other)


def test_reporting_spreads_a_day_as_stated() -> None:
    """Without infections, recoveries are binomial and the variance has a closed form."""
    none = np.array([0.0, 5.0, 3.0, 0.5])
    share = -np.expm1(-1.0 / none[1])
    mean = people.CONFIRMED * 1e3 * share
    ceased = people.CONFIRMED**2 * 1e3 * share * (1.0 - share)
    theta = np.tile(none, (24 * 2000, 1))
    counts = people.simulate(np.random.default_rng(1), theta, 1)[:, 0, 1].reshape(24, 2000, 1)
    repeats = np.concatenate([counts.mean(axis=1), counts.var(axis=1, ddof=1)], axis=1)
    variance = mean + none[3] ** 2 * mean**2 + (1.0 + none[3] ** 2) * ceased
    assert_mean_of_repeats(repeats, np.array([mean, variance]), np.zeros(2))
    # Broken twins: without overdispersion, and with a tenth too much.
    for wrong in (mean + ceased, mean + (1.1 * none[3]) ** 2 * mean**2 + ceased):
        assert rejects(assert_mean_of_repeats, repeats, np.array([mean, wrong]), np.zeros(2))


def test_an_epidemic_stays_within_the_population_at_all_corners_of_the_prior() -> None:
    corners = np.array(np.meshgrid(*zip(people.LOW, people.HIGH, strict=True))).reshape(4, -1).T
    data = people.simulate(np.random.default_rng(2), corners, 100)
    assert data.shape == (16, 100, 2)
    assert np.array_equal(data[3, :, 0], np.arange(100.0))
    counts = people.daily(data)
    assert counts.min() >= 0.0
    # Each person is infected at most once; the overdispersion averages out over the series.
    assert (counts.sum(axis=1) < 3.0 * people.CONFIRMED * people.POPULATION).all()


def test_one_person_more_or_another_count_of_a_day_changes_as_much_as_stated() -> None:
    for day in range(18):
        more = people.SCENARIO.observed.copy()
        more[day, 1] += 1.0
        change = np.abs(STATISTIC.reduce(more) - STATISTIC.reduce(people.SCENARIO.observed))
        assert change.sum() == STATISTIC.l1(18) == STATISTIC.l2(18) == 1.0
        # A broken twin: all later cumulative counts change.
        cumulative = np.cumsum(STATISTIC.reduce(more)) - covid.CASES
        assert np.abs(cumulative).sum() == 18 - day
    statistic = people.SCENARIO.statistics["daily-counts-of-a-day"]
    neighbours = np.stack([people.SCENARIO.observed, people.SCENARIO.observed])
    neighbours[:, 0, 1], neighbours[:, 5, 1] = (0.0, 1e6), 1e6
    change = np.abs(np.diff(statistic.reduce(neighbours), axis=0))
    assert change.sum() == statistic.l1(18) == statistic.l2(18) == people.LIMIT
    # The published data are not cut.
    assert np.array_equal(
        statistic.reduce(people.SCENARIO.observed), STATISTIC.reduce(people.SCENARIO.observed)
    )
