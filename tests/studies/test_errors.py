"""Errors: exact over noise where that can be checked, under their bound, least at their best."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pandas as pd
import pytest

from abcdp_core.base.streams import generator
from abcdp_core.evaluation import error_curve, error_gaps
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.models import pool
from abcdp_core.models.simulators import covid, uniform_mixture
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.run.results import Result
from abcdp_core.studies import error_bound, error_by_size, expected_error, mse_curves
from abcdp_core.studies.engine.errors import LeastError
from tests import results
from tests.statistics import assert_mean_of_repeats, rejects

# ------------------------------------------------------------------------------ against the budget

EXPECTED = expected_error.Params(n=100, pool_size=400, epsilon_abc=0.3, epsilon_total=20.0, runs=2)


def test_simulated_releases_have_the_exact_error_and_not_that_of_half_the_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(expected_error, "NOISES", 2000)
    task = expected_error.tasks(EXPECTED, 1)[0]
    simulated = expected_error.work(task).tables["releases"].private_mse.to_numpy()
    main = results.changed(expected_error, EXPECTED).tables["main"]
    own = main[(main.c == EXPECTED.c) & (main.run == 0)].set_index("epsilon_total").mse
    repeats, nothing = simulated[:, None], np.zeros(1)
    assert_mean_of_repeats(repeats, np.array([own[EXPECTED.epsilon_total]]), nothing)
    assert rejects(assert_mean_of_repeats, repeats, np.array([own[10.0]]), nothing)


def test_few_nodes_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    coarse = results.changed(expected_error, EXPECTED).tables["main"].query("run == 0")
    monkeypatch.setattr(error_curve, "NODES", 128)
    fine = [
        error_curve.mse(expected_error._setting(EXPECTED, c, 0, 1), epsilon_total)
        for c, epsilon_total in zip(coarse.c, coarse.epsilon_total, strict=True)
    ]
    np.testing.assert_allclose(np.sqrt(coarse.mse), np.sqrt(fine), rtol=0.01)


def test_half_the_noise_is_found_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    right = results.changed(expected_error, EXPECTED, noises=25)
    assert error_gaps.agrees(right.tables["gaps"])
    usual = sparse_vector.run

    def halved(rho, epsilon_abc, event, rng):  # type: ignore[no-untyped-def]
        threshold, query = event.threshold_scale / 2, event.query_scale / 2
        less = dataclasses.replace(event, threshold_scale=threshold, query_scale=query)
        return usual(rho, epsilon_abc, less, rng)

    monkeypatch.setattr(sparse_vector, "run", halved)
    much = dataclasses.replace(EXPECTED, noises=200)
    rows = expected_error.work(expected_error.tasks(much, 1)[0]).tables
    wrong = expected_error.collect(much, rows)
    assert not error_gaps.agrees(wrong.tables["gaps"])
    assert "they differ from the curves" in expected_error.figures(wrong)["error"].sentence


@pytest.mark.parametrize(("others", "tested"), [(0, 0), (19, 0), (20, 1)])
def test_releases_that_are_nearly_all_the_same_are_not_tested(others: int, tested: int) -> None:
    # With few of a rarer kind, or none by chance, their spread is no measure of the gap.
    run = np.arange(100) % 2
    errors = np.where(np.arange(100) < others, 0.05, 0.02)
    expected = np.where(run, 0.0261, 0.0259)
    simulated = {"c": 1, "epsilon_total": 0.1, "run": run, "mse": errors, "expected_mse": expected}
    table = error_gaps.of(pd.DataFrame(simulated))
    assert table.gap.count() == table.low.count() == table.high.count() == tested
    assert error_gaps.agrees(table)


# ------------------------------------------------------------------------- by the number of values

SHARES = error_by_size.Params(n=300, pool_size=300, epsilon_abc=0.3, c=5, epsilon_total=5.0, runs=3)
CURVE = error_by_size.Params(
    scenario="covid", n=18, pool_size=400, epsilon_abc=0.3, c=3, epsilon_total=20.0, runs=3
)


def assert_releases_have_the_error(
    found: Result, rho: np.ndarray, sensitivity: float, estimates: np.ndarray, truth: np.ndarray
) -> None:
    """Simulate releases of run 1 at the largest size, and measure them in another way.

    ``estimates`` has a row for each draw of the pool, and a last one for the prior mean.
    """
    params = found.params
    row = found.tables["main"].query(f"n == {params.n} and run == 1").iloc[0]
    event = sparse_vector.calibrate(params.epsilon_total, sensitivity, params.c, resample=False)
    errors = np.empty((2000, 1))
    for noise in range(2000):
        rng = generator(1, "noise", noise)
        made, _ = sparse_vector.run(rho, params.epsilon_abc, event, rng)
        kept = made.indices if len(made.indices) else [-1]
        errors[noise] = ((estimates[kept].mean(axis=0) - truth) ** 2).mean()
    assert_mean_of_repeats(errors, np.array([row.mse]), np.zeros(1))
    assert rejects(assert_mean_of_repeats, errors, np.array([row.non_private_mse]), np.zeros(1))
    assert row.prior_mse == pytest.approx(((estimates[-1] - truth) ** 2).mean())


def test_simulated_releases_of_shares_have_this_error() -> None:
    public = pool.PublicSide(pool.key_for(MIXTURE, 300, 300, 1), 300)
    made, found = public.simulated(1), results.changed(error_by_size, SHARES)
    estimates = np.vstack([made.theta, uniform_mixture.SCENARIO.prior_mean])
    truth = public.simulated_theta(1)
    assert_releases_have_the_error(found, made.rho, made.sensitivity(), estimates, truth)
    for n, is_known in ((12, True), (300, True), (301, False)):
        assert (error_by_size.at(found, n) is not None) == is_known


def test_simulated_releases_of_a_curve_have_this_error_in_parts_of_the_range() -> None:
    theta = covid.prior(generator(1, "curves"), 400)
    truth = error_by_size.within(generator(1, "curve", 1))
    days, metric = covid.days(18), covid.distance()
    every, series = covid.curves(theta, days), covid.curves(truth[None], days)[0]
    assert covid.SCENARIO.domain[0] <= series.min() < series.max() <= covid.SCENARIO.domain[1]
    statistics = metric.statistic(covid.with_days(every))
    rho = metric.compare(statistics, metric.statistic(covid.with_days(series)))
    estimates, width = np.vstack([every, np.zeros(18)]), 5000.0
    found = results.changed(error_by_size, CURVE)
    assert_releases_have_the_error(
        found, rho, metric.sensitivity(18), estimates / width, series / width
    )


# ---------------------------------------------------------------------------------- their bound

BOUND = error_bound.Params(
    n=(100, 1000, 5000), pool_size=1000, runs=20, epsilon_total=20.0, epsilon_abc=0.2
)


def test_errors_are_under_both_bounds_and_fall_as_n_grows() -> None:
    # MATH B1, B3.
    tables = results.changed(error_bound, BOUND).tables
    means = tables["main"].groupby("n")[["error", "bound", "noise_scale"]].mean()
    assert (means.error <= means.bound).all()
    assert (tables["main"].error <= tables["main"].trivial).all()
    for column in means:
        assert means[column].is_monotonic_decreasing
    # MATH B2.
    for row in tables["within"].itertuples():
        errors = tables["main"].query("n == @row.n").error.dropna()
        assert row.exceeds == (errors > row.distance).mean()
        assert row.exceeds_low <= row.allowed
    assert tables["within"].allowed.between(0.001, 0.999).any()


def test_where_nothing_is_close_the_theorem_does_not_apply() -> None:
    nothing = {"n": (5000,), "pool_size": 100, "runs": 2, "epsilon_abc": 0.001}
    found = results.changed(error_bound, BOUND, **nothing)
    assert np.isinf(found.tables["main"].bound).all()
    assert (found.tables["within"].allowed == 1.0).all()


# --------------------------------------------------------------------------------- the least errors

BUDGETS = (1.0, 100.0, math.inf)
LEAST = mse_curves.Params(
    c=(5, 20), epsilon_abc=(0.2,), n=(300,), epsilon_total=BUDGETS, runs=3, pool_size=500
)

least = functools.partial(results.changed, mse_curves, LEAST)


def test_the_noise_scale_is_the_theorems_and_without_noise_a_redraw_changes_nothing() -> None:
    main = least(resample=(True, False), n=(100, 300), sensitivity="published").tables["main"]
    finite, plain = (main[np.isfinite(main.epsilon_total) == kind] for kind in (True, False))
    pieces = np.where(finite["resample"], 2 * finite.c, finite.c + 1)
    np.testing.assert_allclose(
        finite.noise_scale, pieces * 2 / finite.n / finite.epsilon_total, rtol=1e-9
    )
    assert (plain.noise_scale == 0).all()
    kept, redrawn = (plain[plain["resample"] == value].mae.to_numpy() for value in (False, True))
    np.testing.assert_array_equal(kept, redrawn)


def test_the_best_setting_has_the_least_error_and_the_rival_that_of_counts() -> None:
    tables = least().tables
    found = LeastError("the sparse vector", ("c",)).table(tables["main"], "mae")
    assert tuple(found.epsilon_total) == BUDGETS
    means = tables["main"].groupby(["epsilon_total", "c"]).mae.mean()
    assert found.mae.tolist() == [means[budget].min() for budget in BUDGETS]
    assert found.c.tolist() == [means[budget].idxmin() for budget in BUDGETS]
    # (1 − Σθ²) / (5N) without noise (MATH E7).
    rival = tables["rival"]
    large = rival[rival.epsilon_total >= 100.0].mse.mean()
    assert 0.2 * 0.709 / 1500 < large < 5.0 * 0.709 / 1500
