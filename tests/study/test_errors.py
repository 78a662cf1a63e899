"""Errors against the truth: the smallest of them, and sentences about it."""

from __future__ import annotations

import functools
import math

import pytest

from abcdp_core.studies import mse_curves
from abcdp_core.study.errors import LeastError
from tests import results

BUDGETS = (1.0, 100.0, math.inf)
SMALL = mse_curves.Params(
    c=(5, 20), epsilon_abc=(0.2,), n=(300,), epsilon_total=BUDGETS, runs=3, pool_size=500
)

result_of = functools.partial(results.changed, mse_curves, SMALL)


def test_the_best_setting_has_the_least_error_of_all_runs_and_of_each() -> None:
    tables = result_of().tables
    least = LeastError("the sparse vector", ("c",))
    found = least.table(tables["main"], "mae")
    assert tuple(found.epsilon_total) == BUDGETS
    means = tables["main"].groupby(["epsilon_total", "c"]).mae.mean()
    assert found.mae.tolist() == [means[budget].min() for budget in BUDGETS]
    assert found.c.tolist() == [means[budget].idxmin() for budget in BUDGETS]
    best = least.best_of_runs().make(None, tables)
    assert len(best) == 3 * 3
    for row in best.itertuples():
        part = tables["main"].query(f"run == {row.run} and epsilon_total == {row.epsilon_total}")
        assert row.best == part.c[part.mse.idxmin()]


@pytest.mark.parametrize(
    ("budgets", "end"),
    [
        (BUDGETS, "times the error without noise"),
        ((100.0,), "% of the prior's error"),
        ((0.001,), "better than the prior"),
    ],
)
def test_a_title_compares_with_what_is_there(budgets: tuple[float, ...], end: str) -> None:
    figure = mse_curves.figures(result_of(epsilon_total=budgets))["mae"].figure
    assert figure.layout.title.text.endswith(end)


def test_the_rival_has_the_error_of_counts_and_is_drawn_where_it_is() -> None:
    rival = result_of().tables["rival"]
    # (1 − Σθ²) / (5N) without noise (MATH E7).
    large = rival[rival.epsilon_total >= 100.0].mse.mean()
    assert 0.2 * 0.709 / 1500 < large < 5.0 * 0.709 / 1500
    figure = mse_curves.figures(result_of())["mse"].figure
    (line,) = [each for each in figure.data if each.name == "counts with noise, no ABC"]
    assert line.y == pytest.approx(rival.groupby("epsilon_total").mse.mean().to_numpy())
