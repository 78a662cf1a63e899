"""What is shipped for pages and lessons is there, and is what the program computes."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

from abcdp_core import studies
from abcdp_core.base import cache
from abcdp_core.evaluation import error_curve
from abcdp_core.models import pool
from abcdp_core.models.pool import making
from abcdp_core.models.simulators import uniform_mixture
from abcdp_core.publish import lessons
from abcdp_core.run import runner, store
from abcdp_core.run.results import Result, Tables
from abcdp_core.studies import expected_error
from tests.reference.kept import RELATIVE, TOLERANCE
from tools import first_view
from ui.jobs.job import Request
from ui.parts.lesson_print import requests_of

REMAKE = "run python -m tools.first_view and python -m tools.first_view results"

OF_LESSONS = [
    *dict.fromkeys(each for lesson in lessons.load().values() for each in requests_of(lesson))
]
QUICK = ("posterior", "truncation-interval")
"""Studies of which a shipped result is computed again in every run of the tests."""

PARAMS = expected_error.Params()
KEY = pool.key_for(uniform_mixture.SCENARIO, PARAMS.n, PARAMS.pool_size, first_view.SEED)


def loaded(request: Request) -> Result:
    return store.shipped(studies.load(request.experiment), request.params, request.seed)


def assert_computed(request: Request, there: Tables) -> None:
    """Compute a result again and compare every table."""
    study = studies.load(request.experiment)
    again = runner.run_to_end(study, request.params, request.seed).tables
    assert there.keys() == again.keys(), REMAKE
    tolerance = TOLERANCE.get(request.experiment, RELATIVE)
    for name in again:
        # Timings differ from run to run.
        ours = again[name].drop(columns="seconds", errors="ignore")
        theirs = there[name].drop(columns="seconds", errors="ignore")
        pd.testing.assert_frame_equal(theirs, ours, check_dtype=False, rtol=tolerance, obj=REMAKE)


def test_every_answer_of_a_lesson_is_shipped() -> None:
    assert OF_LESSONS
    for request in OF_LESSONS:
        assert store.is_shipped(request.experiment, request.params, request.seed), REMAKE
        result = loaded(request)
        assert not result.is_partial
        assert result.summary


@pytest.mark.parametrize("study", QUICK)
def test_a_shipped_result_is_what_the_program_computes(study: str) -> None:
    request = next(each for each in OF_LESSONS if each.experiment == study)
    tables = loaded(request).tables
    assert_computed(request, tables)
    if study == QUICK[0]:
        name, table = next(iter(tables.items()))
        column = table.select_dtypes(float).columns[0]
        other = table.assign(**{column: table[column] * (1.0 + 1e-6)})
        with pytest.raises(AssertionError):
            assert_computed(request, tables | {name: other})


@pytest.mark.slow
def test_everything_shipped_is_what_pages_ask_for_and_the_program_computes() -> None:
    wanted = first_view.requests()
    files = {store.shipped_file(each.experiment, each.params, each.seed) for each in wanted}
    assert files == {*store.SHIPPED.glob("*.npz")}, REMAKE
    for request in wanted:
        assert_computed(request, loaded(request).tables)


# --------------------------------------------------------------------------- the first page


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
    theta = pool.observed_comparison(KEY, n).theta
    np.testing.assert_array_equal(theta[: pool.CHUNK], some["theta"])
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
    # Files made by other code are not loaded.
    entry = KEY.entry("comparison")
    assert cache.load(entry) is not None, REMAKE
    assert cache.load(cache.Entry(entry.path, entry.label + " ")) is None
