"""Shipped files of the first page are current and equal to computed ones."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from abcdp_core import cache, error_curve, pool
from abcdp_core.pool import making
from abcdp_core.simulators import uniform_mixture
from abcdp_core.studies import expected_error
from tools import first_view

REMAKE = "assets/first is of other code: run python -m tools.first_view"
PARAMS = expected_error.Params()
KEY = pool.key_for(uniform_mixture.SCENARIO, PARAMS.n, PARAMS.pool_size, first_view.SEED)


@pytest.mark.usefixtures("empty_cache")
def test_the_first_page_makes_no_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("error_curve.mse", "pool.making.build"):
        monkeypatch.setattr(f"abcdp_core.{kind}", lambda *_: pytest.fail(REMAKE))
    first_view.draw()


@pytest.mark.usefixtures("empty_cache")
def test_shipped_distances_and_errors_are_those_computed() -> None:
    """Compare a chunk of draws with every data set, and one point of the error curve."""
    some = making.simulate_chunk(KEY, 0)
    metric, n = KEY.metric(), PARAMS.n
    np.testing.assert_array_equal(
        pool.observed_comparison(KEY, n).theta[: pool.CHUNK], some["theta"]
    )
    for run in range(PARAMS.runs):
        data = pool.observed_data(dataclasses.replace(KEY, run=run), n)
        rho = metric.compare(some[str(n)], metric.statistic(data))
        shipped = pool.distances(KEY, n, run)
        assert shipped.shape == (PARAMS.pool_size,)
        np.testing.assert_allclose(shipped[: pool.CHUNK], rho, rtol=1e-9)
    setting = expected_error._setting(PARAMS, PARAMS.c, 3, first_view.SEED)
    usual = (*expected_error.BUDGETS, math.inf)
    kept = dict(zip(usual, error_curve.kept(setting, usual), strict=True))
    assert kept[0.2] == pytest.approx(error_curve.mse(setting, 0.2), rel=1e-9)


@pytest.mark.usefixtures("empty_cache")
def test_files_made_by_other_code_are_not_loaded() -> None:
    entry = KEY.entry("comparison")
    assert cache.holds(entry), REMAKE
    other = cache.Entry(entry.path, entry.label + " ")
    assert not cache.holds(other)
    assert cache.load(other) is None
    assert cache.load(entry) is not None
