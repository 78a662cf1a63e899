"""Plans: cases, settings, choices, estimates with intervals, and goals."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from abcdp_core import mechanisms
from abcdp_core.evaluation import planning
from abcdp_core.evaluation.planning import Asked, Estimate, Goal, Setting, outcomes
from abcdp_core.mechanisms import Budget
from abcdp_core.models.simulators import covid_people, uniform_mixture
from tests.statistics import assert_mean, assert_same_distribution, rejects

MIXTURE = uniform_mixture.SCENARIO


def setting_of(name: str, n: int = 500, pool_size: int = 400, **options: Any) -> Setting:
    mechanism = mechanisms.load(name)
    return Setting(name, mechanism.chosen(**options), Budget(1.0, 1e-6), MIXTURE, n, pool_size)


def test_a_case_follows_from_its_address_and_has_its_own_pool() -> None:
    first = planning.case(MIXTURE, 500, 50, 1, 0)
    planning.case.cache_clear()
    again = planning.case(MIXTURE, 500, 50, 1, 0)
    assert np.array_equal(first.comparison.rho, again.comparison.rho)
    other, smaller = planning.case(MIXTURE, 500, 50, 1, 1), planning.case(MIXTURE, 300, 50, 1, 0)
    assert not np.isin(first.public.theta, other.public.theta).any()
    # Another n has the same truths.
    assert np.array_equal(first.truth, smaller.truth)
    assert np.array_equal(first.public.theta, smaller.public.theta)


def test_distances_of_a_case_have_the_distribution_of_a_simulated_pool() -> None:
    sets, size, n = 40, 100, 300
    drawn = [planning.case(MIXTURE, n, size, 2, index).comparison.rho[0] for index in range(400)]
    rng, metric = np.random.default_rng(5), uniform_mixture.distance()
    pairs = uniform_mixture.simulate(rng, uniform_mixture.prior(rng, 2 * sets * 10), n)
    statistic = metric.statistic(pairs)
    simulated = np.linalg.norm(statistic[::2] - statistic[1::2], axis=1)
    assert_same_distribution(np.array(drawn), simulated)
    assert rejects(assert_same_distribution, 1.6 * np.array(drawn), simulated)


def test_the_error_of_the_prior_mean_is_that_of_the_prior_s_moments() -> None:
    known = planning.prior(MIXTURE)
    # A weight of five has variance 0.2 * 0.8 / 6.
    assert known.mse == pytest.approx(0.16 / 6.0, rel=0.01)
    assert (known.unit == 1.0).all()
    assert planning.prior(covid_people.SCENARIO).mse == pytest.approx(1.0, rel=0.01)


def test_the_exact_error_is_the_mean_over_the_noise() -> None:
    setting = dataclasses.replace(setting_of("sparse-vector", c=5), budget=Budget(0.1))
    exact = outcomes(setting, 1, 0, 1, exact=True)[0].expected_mse
    each = np.array([one.mse for one in outcomes(setting, 1, 0, 1500)])
    assert_mean(each, exact, 0.0, 0.2)
    assert rejects(assert_mean, each, 2.0 * exact, 0.0, 0.2)
    assert math.isnan(outcomes(setting_of("noisy-counts"), 1, 0, 1, exact=True)[0].expected_mse)


def test_intervals_are_those_of_the_sample_and_a_value_has_none() -> None:
    (counts,) = outcomes(setting_of("noisy-counts"), 1, 0, 1, intervals=True)
    assert 0.0 < counts.width <= counts.interval_score < 1.0
    assert 0.0 <= counts.coverage <= 1.0
    (value,) = outcomes(setting_of("embedding-estimate"), 1, 0, 1, intervals=True)
    assert math.isnan(value.width)
    # No draw is kept, so this is the prior's interval.
    nothing = setting_of("sparse-vector", epsilon_abc=1e-6, c=1)
    without = dataclasses.replace(nothing, budget=Budget(math.inf))
    (prior,) = outcomes(without, 1, 0, 1, intervals=True)
    # The 5 % and 95 % quantiles of a weight: 1 - 0.95^(1/4) and 1 - 0.05^(1/4).
    assert prior.width == pytest.approx(0.95**0.25 - 0.05**0.25, abs=0.1)


def rows_of(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(
        {"mechanism": "a", "coverage": math.nan, "interval_score": math.nan} | columns
    )


def test_the_best_setting_has_the_least_mean_score_and_honest_intervals() -> None:
    rows = rows_of(setting=[0, 1, 2, 0, 1, 2], mse=[3.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    assert planning.best(rows, "mse") == {"a": 1}, "the first of a tie"
    rows = rows_of(setting=[0, 1], mse=[1.0, 2.0], interval_score=[0.1, 0.5], coverage=[0.5, 0.9])
    assert planning.best(rows, "interval_score") == {"a": 1}
    assert planning.best(rows.assign(coverage=0.5), "interval_score") == {"a": 0}
    assert planning.best(rows.assign(interval_score=math.nan), "interval_score") == {"a": 0}


def test_settings_are_chosen_and_predicted_on_different_cases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planning.tuning, "TRIED", 2)
    asked = Asked(MIXTURE, 120, 1.0, 1e-6, ("sparse-vector", "noisy-counts"), 60, "mse")
    planning.chosen.cache_clear()
    both = pd.concat([planning.tried(asked, 3, index) for index in (0, 1)])
    rows, chosen = planning.predicted(asked, 3, 5), planning.best(both, "mse")
    planning.chosen.cache_clear()
    assert dict(zip(rows.mechanism, rows.setting, strict=True)) == dict(chosen)
    assert set(rows["index"]) == {5}
    assert rows.expected_mse.notna().tolist() == [True] * 4 + [False] * 4


def test_the_ideal_error_has_its_stated_mean() -> None:
    each = [planning.ideal(planning.case(MIXTURE, 30, 1, 5, index)) for index in range(400)]
    expected = each[0].expected_mse
    assert expected == pytest.approx(0.16 / 6.0 * 5.0 / 35.0)
    assert_mean(np.array([one.mse for one in each]), expected, 0.0, 0.04)
    assert rejects(assert_mean, np.array([one.mse for one in each]), 3.0 * expected, 0.0, 0.04)


def test_95_percent_of_the_intervals_of_averages_hold_the_mean() -> None:
    rng = np.random.default_rng(2)
    held = []
    for _ in range(2000):
        control = rng.exponential(size=32)
        found = planning.average(1.0 + control + rng.exponential(size=32), [control], [1.0])
        held.append(found.low <= 3.0 <= found.high)
    assert_mean(np.array(held, float), 0.94, 0.0, 1.0)
    assert rejects(assert_mean, np.array(held, float), 0.8, 0.0, 1.0)


def test_the_interval_of_a_controlled_average_is_that_of_a_regression() -> None:
    """The value is the line at the control's expected value; its error includes the slope's."""
    rng = np.random.default_rng(4)
    control = rng.exponential(size=8)
    values = 5.0 + control + 0.1 * rng.standard_normal(8)
    found = planning.average(values, [control], [2.5])
    line = stats.linregress(control - 2.5, values)
    assert found.value == pytest.approx(line.intercept)
    half = stats.t.ppf(0.975, 6) * line.intercept_stderr / line.intercept
    assert math.log(found.high / found.value) == pytest.approx(half)


@pytest.mark.parametrize(("cases", "probability"), [(16, 0.9), (32, 0.99)])
def test_95_percent_of_the_intervals_of_quantiles_hold_them(cases: int, probability: float) -> None:
    """Runs of a case are alike; intervals from resampled cases would hold in 40 to 90 %."""
    rng, count = np.random.default_rng(3), 1000
    logs = 0.4 * rng.standard_normal((count, cases, 1))
    logs = logs + 0.25 * rng.standard_normal((count, cases, 4))
    quantile = math.exp(math.hypot(0.4, 0.25) * stats.norm.ppf(probability))
    found = [planning.quantile(values, probability) for values in np.exp(logs)]
    held = sum(each.low <= quantile <= each.high for each in found)
    # At a coverage of 95 %, fewer have a probability of 1e-6.
    assert held >= stats.binom.ppf(1e-6, count, 0.95)


def test_intervals_that_miss_too_often_do_not_meet_a_goal() -> None:
    known, wanted = planning.prior(MIXTURE), Goal("rmse", 1.0, intervals=True)
    assert wanted.is_met(Estimate(0.9), 0.9, known)
    assert not wanted.is_met(Estimate(1.1), 0.9, known)
    assert not wanted.is_met(Estimate(0.9), 0.5, known)
    # Without a wanted number, the error must be below that of the prior: 0.163.
    assert Goal("rmse").is_met(Estimate(0.15, 0.14, 0.163), 1.0, known)
    assert not Goal("rmse").is_met(Estimate(0.16), 1.0, known)
    assert not Goal("rmse").is_met(Estimate(0.1, 0.01, 1.0), 1.0, known)


def test_settings_are_chosen_on_one_half_and_predicted_on_the_other() -> None:
    rows = rows_of(index=[0, 0, 1, 1], setting=[0, 1, 0, 1], mse=[1.0, 2.0, 5.0, 3.0])
    assert planning.other_half(rows, "mse", 1).mse.tolist() == [5.0]
    assert planning.other_half(rows, "mse", 0).mse.tolist() == [2.0]
    twice = Goal("rmse").ratio(rows.assign(mse=4.0 * rows.mse), rows)
    assert dataclasses.astuple(twice) == pytest.approx((2.0, 2.0, 2.0))
    # From 2 and 5 to 2 and 10: 12 / 7, with parts 1/6 and 5/3 against 4/7 and 10/7.
    more = Goal("mae").ratio(rows.assign(mae=[1, 2, 10, 3]), rows.assign(mae=[1.0, 2, 5, 3]))
    assert more.value == pytest.approx(12.0 / 7.0)
    error = stats.t.ppf(0.975, 1) * abs(1.0 / 3.0 - 4.0 / 7.0)
    assert math.log(more.high / more.value) == pytest.approx(error)
    nothing = Goal("rmse").ratio(rows, rows.assign(mse=0.0))
    assert nothing.value == math.inf
    assert nothing.times(Estimate(1.0, 0.5, 2.0)).value == math.inf
    alone = rows[rows["index"] == 0]
    assert planning.other_half(alone, "mse", 1).mse.tolist() == [1.0]


def test_errors_are_exact_if_possible_and_quantiles_are_of_single_runs() -> None:
    rows = rows_of(
        index=[0, 0, 1, 1],
        mse=[0.01, 0.03, 0.04, 0.04],
        mae=[0.1, 0.3, 0.2, 0.2],
        expected_mse=[0.09, 0.09, math.nan, math.nan],
        prior_mse=1.0,
        prior_mae=1.0,
        ideal_mse=math.nan,
        ideal_expected=math.nan,
    )
    known = planning.prior(MIXTURE)
    assert Goal("rmse").error(rows, known).value == pytest.approx(math.sqrt((0.09 + 0.04) / 2.0))
    assert Goal("mae").error(rows, known).value == pytest.approx(0.2)
    assert Goal("mae", 1.0, 0.5).value(rows, known).value == pytest.approx(0.2)
    assert Goal("rmse", 1.0, intervals=True).value(rows.assign(width=math.nan), known) == Estimate(
        math.inf
    )


def test_the_least_value_is_interpolated_in_logarithms_and_rounded_up() -> None:
    x, y = np.array([1.0, 10.0, 100.0]), np.array([1.0, 0.1, 0.1])
    assert planning.least(x, y, 0.5, "epsilon_total") == (2.0, "between ε_total = 1 and 10")
    assert planning.least(x, y, 0.49, "n")[0] == pytest.approx(2.1)
    assert planning.least(x, y, 2.0, "n") == (1.0, "the smallest N that was looked at")
    assert planning.least(x, y + 0.4, 0.3, "n")[0] == math.inf
    assert planning.least(x, np.array([math.inf, 0.5, 0.4]), 0.5, "n")[0] == 10.0
    assert planning.least(x, np.full(3, math.inf), 0.5, "n")[0] == math.inf


def test_if_the_request_is_not_enough_a_smaller_one_is_not_either() -> None:
    x = np.array([1.0, 10.0, 100.0])
    y = [Estimate(0.4, 0.3, 0.5), Estimate(0.6, 0.4, 0.7), Estimate(0.1, 0.05, 0.3)]
    found = planning.enough(x, y, 10.0, 0.5, "n")
    assert found.value == pytest.approx(13.0)
    # At the lower ends of the predictions it is enough, so less may be, too.
    assert found.low == 1.0
    assert found.high > found.value
    unsure = planning.enough(x, [Estimate(each.value) for each in y], 10.0, 0.5, "n")
    assert unsure.value == found.value
    assert math.isnan(unsure.low)
    assert math.isnan(unsure.high)


def test_relative_errors_of_a_product_add_as_squares() -> None:
    product = Estimate(2.0, 1.0, 4.0).times(Estimate(3.0, 1.0, 9.0))
    assert product.value == 6.0
    assert math.log(product.high / 6.0) == pytest.approx(math.hypot(math.log(2.0), math.log(3.0)))
    assert math.log(6.0 / product.low) == pytest.approx(math.hypot(math.log(2.0), math.log(3.0)))
    assert math.isnan(Estimate(2.0).times(Estimate(3.0)).high)
    unbounded = Estimate(2.0, 1.0, math.inf).times(Estimate(3.0, 1.0, 9.0))
    assert (unbounded.low, unbounded.high) == (product.low, math.inf)
