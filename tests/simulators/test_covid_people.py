"""Daily cases of people: the published ones, the epidemic's means and spread, a person's share."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core.simulators import covid
from abcdp_core.simulators import covid_people as people
from tests.statistics import assert_mean_of_repeats, rejects

Array = NDArray[np.float64]

STATISTIC = people.STATISTICS["daily-counts"]
POINT = np.array([2.5, 6.5, 2.0, 0.2])


def draw(theta: Array, size: int, seed: int = 1) -> Array:
    """Daily counts ``(size, 18)``."""
    data = people.simulate(np.random.default_rng(seed), np.tile(theta, (size, 1)), 18)
    return STATISTIC.reduce(data)


def expected(theta: Array) -> Array:
    """Mean counts ``(18,)`` while nearly all can still be infected: a linear recursion."""
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


def test_the_daily_counts_add_up_to_the_published_series() -> None:
    assert people.OBSERVED.shape == (18, 2)
    daily = STATISTIC.reduce(people.OBSERVED)
    assert daily[:5].tolist() == [1, 6, 3, 14, 14]
    assert np.array_equal(np.cumsum(daily), covid.CASES)


def test_mean_counts_are_those_of_the_recursion() -> None:
    repeats = draw(POINT, 24 * 2000).reshape(24, 2000, 18).mean(axis=1)
    means = expected(POINT)
    assert_mean_of_repeats(repeats, means, 2e-3 * means)
    other = expected(POINT + np.array([0.1, 0.0, 0.0, 0.0]))
    assert rejects(assert_mean_of_repeats, repeats, other, 2e-3 * other)


def test_reporting_spreads_a_day_as_stated() -> None:
    """Where nobody infects, those who cease are binomial, and all else is in closed form."""
    none = np.array([0.0, 5.0, 3.0, 0.5])
    share = -np.expm1(-1.0 / none[1])
    mean = people.CONFIRMED * 1e3 * share
    ceased = people.CONFIRMED**2 * 1e3 * share * (1.0 - share)
    theta = np.tile(none, (24 * 2000, 1))
    counts = people.simulate(np.random.default_rng(1), theta, 1)[:, 0, 1].reshape(24, 2000, 1)
    repeats = np.concatenate([counts.mean(axis=1), counts.var(axis=1, ddof=1)], axis=1)
    variance = mean + none[3] ** 2 * mean**2 + (1.0 + none[3] ** 2) * ceased
    assert_mean_of_repeats(repeats, np.array([mean, variance]), np.zeros(2))
    # As if there were no spread beyond that of counts, and a tenth too much of it.
    for wrong in (mean + ceased, mean + (1.1 * none[3]) ** 2 * mean**2 + ceased):
        assert rejects(assert_mean_of_repeats, repeats, np.array([mean, wrong]), np.zeros(2))


def test_an_epidemic_neither_outgrows_the_country_nor_fails_at_the_corners() -> None:
    corners = np.array(np.meshgrid(*zip(people.LOW, people.HIGH, strict=True))).reshape(4, -1).T
    data = people.simulate(np.random.default_rng(2), corners, 100)
    assert data.shape == (16, 100, 2)
    assert np.array_equal(data[3, :, 0], np.arange(100.0))
    counts = people.daily(data)
    assert counts.min() >= 0.0
    # At most everybody is infected once; a day's spread averages out over the series.
    assert (counts.sum(axis=1) < 3.0 * people.CONFIRMED * people.POPULATION).all()
    assert people.growth_rate(corners).min() == pytest.approx(-0.125)
    assert people.growth_rate(corners).max() == pytest.approx(0.75)


def test_one_person_more_on_any_day_changes_as_much_as_stated() -> None:
    for day in range(18):
        more = people.OBSERVED.copy()
        more[day, 1] += 1.0
        change = np.abs(STATISTIC.reduce(more) - STATISTIC.reduce(people.OBSERVED))
        assert change.sum() == STATISTIC.l1(18) == STATISTIC.l2(18) == 1.0
        # A broken twin: of the cumulative counts, all the later ones change.
        cumulative = np.cumsum(STATISTIC.reduce(more)) - covid.CASES
        assert np.abs(cumulative).sum() == 18 - day


def test_another_count_of_a_day_changes_as_much_as_stated_for_days() -> None:
    statistic = people.STATISTICS["daily-counts-of-a-day"]
    other = people.OBSERVED.copy()
    other[0, 1], other[5, 1] = 0.0, 1e6
    changed = people.OBSERVED.copy()
    changed[0, 1], changed[5, 1] = 1e6, 1e6
    change = np.abs(statistic.reduce(changed) - statistic.reduce(other))
    assert change.sum() == statistic.l1(18) == statistic.l2(18) == people.LIMIT
    # What was published is not cut.
    assert np.array_equal(statistic.reduce(people.OBSERVED), STATISTIC.reduce(people.OBSERVED))
