"""Errors against the truth: the least of them, what is said of it, and how they are drawn."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from abcdp_core import runner
from abcdp_core.experiments import mse_curves
from abcdp_core.results import Result
from abcdp_core.study.errors import LeastError

BUDGETS = (1.0, 100.0, math.inf)


@functools.cache
def result_of(**changes: object) -> Result:
    usual = {"c": (5, 20), "epsilon_abc": (0.2,), "n": (300,), "epsilon_total": BUDGETS, "runs": 3}
    params = mse_curves.Params(pool_size=500, **usual | changes)
    return runner.run_to_end(mse_curves, params, seed=1)


def test_the_best_setting_has_the_least_mean_error() -> None:
    main = result_of().tables["main"]
    found = LeastError("Sparse vector", ("c",)).table(main, "mae")
    assert tuple(found.epsilon_total) == BUDGETS
    means = main.groupby(["epsilon_total", "c"]).mae.mean()
    assert found.mae.tolist() == [means[budget].min() for budget in BUDGETS]
    assert found.c.tolist() == [means[budget].idxmin() for budget in BUDGETS]


def test_the_best_setting_of_each_run_has_its_least_error() -> None:
    tables = result_of().tables
    best = LeastError("Sparse vector", ("c",)).best_of_runs().make(None, tables)
    assert len(best) == 3 * 3
    for row in best.itertuples():
        part = tables["main"].query(f"run == {row.run} and epsilon_total == {row.epsilon_total}")
        assert row.best == part.c[part.mse.idxmin()]


def test_only_settings_that_vary_are_named() -> None:
    assert "ε_abc" not in result_of().summary
    assert "(c = 5)" in result_of().summary
    alone = result_of(c=(5,), epsilon_total=(1.0,), runs=1)
    assert alone.summary.startswith("Over 1 run, the least mean absolute error is 0.")
    assert "with ε_total = 1; the prior mean's is 0.128." in alone.summary
    assert "with ε_total = 1 (" not in alone.summary


def test_a_title_compares_with_what_is_there() -> None:
    def title(**changes: object) -> str:
        figure = mse_curves.figures(result_of(**changes))["mae"].figure
        return str(figure.layout.title.text)

    assert title().endswith("times the error without noise")
    assert title(epsilon_total=(100.0,)).endswith("% of the prior's error")
    assert title(epsilon_total=(0.001,)).endswith("better than the prior")


def test_lines_and_panels_follow_what_varies() -> None:
    main = result_of().tables["main"]
    figure = mse_curves.figures(result_of())["mae"].figure
    lines = {trace.name: trace for trace in figure.data if trace.fill is None}
    assert {"c = 5", "c = 20", "prior mean", "counts with noise, no ABC"} <= lines.keys()
    means = main[main.c == 5].groupby("epsilon_total").mae.mean()
    # Without noise it is drawn right of all budgets.
    assert lines["c = 5"].x.tolist() == [1.0, 100.0, 400.0]
    assert lines["c = 5"].y == pytest.approx(means.to_numpy())
    assert "∞" in figure.layout.xaxis.ticktext
    ends = " ".join(figure.layout.yaxis2.ticktext)
    assert all(name in ends for name in ("c = 5", "c = 20", "prior mean", "no ABC"))
    panels = mse_curves.figures(result_of(n=(100, 300), resample=(True, False)))["mae"].figure
    assert {each.text for each in panels.layout.annotations} == {
        f"N = {n}, {kept}" for n in (100, 300) for kept in ("threshold kept", "threshold redrawn")
    }


def test_marks_are_open_where_runs_accepted_nothing() -> None:
    result = result_of(epsilon_abc=(0.05,), c=(5,))
    main = result.tables["main"]
    share = (main.accepted == 0).groupby(main.epsilon_total).mean()
    assert 0.0 in share.tolist()
    assert share.max() > 0.0
    drawn = mse_curves.figures(result)["mae"].figure.data
    line = next(trace for trace in drawn if trace.mode == "lines+markers")
    for budget, symbol in zip(share.index, line.marker.symbol, strict=True):
        assert symbol.endswith("-open") == (share[budget] > 0.0)


def test_the_rival_is_drawn_where_it_is() -> None:
    rival = result_of().tables["rival"]
    assert set(rival.epsilon_total) == set(BUDGETS)
    # (1 − Σθ²) / (5N) without noise (MATH E7).
    large = rival[rival.epsilon_total >= 100.0].mse.mean()
    assert 0.2 * 0.709 / 1500 < large < 5.0 * 0.709 / 1500
    figure = mse_curves.figures(result_of())["mse"].figure
    (line,) = [each for each in figure.data if each.name == "counts with noise, no ABC"]
    assert line.y == pytest.approx(rival.groupby("epsilon_total").mse.mean().to_numpy())
    assert np.isfinite(figure.layout.yaxis.range).all()
