"""Error curves: runs are addressed, and the least errors are those of the best settings."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from abcdp_core.studies import mse_curves
from abcdp_core.study.errors import LeastError
from tests import results

BUDGETS = (1.0, 100.0, math.inf)
SMALL = mse_curves.Params(
    c=(5, 20), epsilon_abc=(0.2,), n=(300,), epsilon_total=BUDGETS, runs=3, pool_size=500
)

run = functools.partial(results.changed, mse_curves, SMALL)


def test_the_noise_scale_is_the_theorems_and_without_noise_a_redraw_changes_nothing() -> None:
    main = run(resample=(True, False), n=(100, 300), sensitivity="published").tables["main"]
    finite, plain = (main[np.isfinite(main.epsilon_total) == kind] for kind in (True, False))
    pieces = np.where(finite["resample"], 2 * finite.c, finite.c + 1)
    np.testing.assert_allclose(
        finite.noise_scale, pieces * 2 / finite.n / finite.epsilon_total, rtol=1e-9
    )
    assert (plain.noise_scale == 0).all()
    kept, redrawn = (plain[plain["resample"] == value].mae.to_numpy() for value in (False, True))
    np.testing.assert_array_equal(kept, redrawn)


def test_a_setting_is_marked_where_its_errors_are() -> None:
    result = run()
    here = {"n": 300.0, "c": 5.0, "epsilon_abc": 0.2, "epsilon_total": 1.0}
    main = result.tables["main"].query("c == 5 and epsilon_total == 1")
    figure = mse_curves.figures(result)["mae"].figure
    marked, _ = mse_curves.mark(figure, result, "mae", **here)
    assert marked.data[-1].y.tolist() == pytest.approx([main.mae.mean()])
    assert mse_curves.mark(figure, result, "mae", **here | {"c": 6.0}) == (figure, "")


def test_the_best_setting_has_the_least_error_of_all_runs_and_of_each() -> None:
    tables = run().tables
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


def test_the_rival_has_the_error_of_counts() -> None:
    rival = run().tables["rival"]
    # (1 − Σθ²) / (5N) without noise (MATH E7).
    large = rival[rival.epsilon_total >= 100.0].mse.mean()
    assert 0.2 * 0.709 / 1500 < large < 5.0 * 0.709 / 1500
