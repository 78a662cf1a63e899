"""What is shipped for pages and lessons is there, and is what the program computes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from abcdp_core import lessons, runner, store, studies
from abcdp_core.results import Result
from tests.reference.kept import RELATIVE, TOLERANCE
from tools import first_view
from ui.jobs.job import Request
from ui.parts.lesson_print import requests_of

REMAKE = "run python -m tools.first_view results"

OF_LESSONS = [
    *dict.fromkeys(each for lesson in lessons.load().values() for each in requests_of(lesson))
]
QUICK = ("posterior", "truncation-interval")
"""Studies of which a shipped result is computed again in every run of the tests."""


def name_of(request: Request) -> str:
    return store.shipped_file(request.experiment, request.params, request.seed).stem


def loaded(request: Request) -> Result:
    return store.shipped(studies.load(request.experiment), request.params, request.seed)


def check_again(request: Request) -> None:
    """Compute a result again and compare every table."""
    there = loaded(request).tables
    study = studies.load(request.experiment)
    again = runner.run_to_end(study, request.params, request.seed).tables
    assert there.keys() == again.keys(), REMAKE
    for name, table in again.items():
        # Timings differ from run to run.
        ours, theirs = (
            each.drop(columns="seconds", errors="ignore") for each in (table, there[name])
        )
        tolerance = TOLERANCE.get(request.experiment, RELATIVE)
        pd.testing.assert_frame_equal(theirs, ours, check_dtype=False, rtol=tolerance, obj=REMAKE)


@pytest.mark.parametrize("request_", OF_LESSONS, ids=name_of)
def test_every_answer_of_a_lesson_is_shipped(request_: Request) -> None:
    assert store.is_shipped(request_.experiment, request_.params, request_.seed), REMAKE
    result = loaded(request_)
    assert not result.is_partial
    assert result.summary


@pytest.mark.parametrize("study", QUICK)
def test_a_shipped_result_is_what_the_program_computes(study: str) -> None:
    check_again(next(each for each in OF_LESSONS if each.experiment == study))


def test_another_result_would_be_seen() -> None:
    request = next(each for each in OF_LESSONS if each.experiment == "flip-guideline")
    table = loaded(request).tables["main"].copy()
    column = table.select_dtypes(float).columns[0]
    table[column] *= 1.0 + 1e-6
    with pytest.raises(AssertionError):
        pd.testing.assert_frame_equal(table, loaded(request).tables["main"], rtol=1e-9)
    assert np.isfinite(table[column]).any()


@pytest.mark.slow
def test_everything_shipped_is_what_pages_ask_for_and_the_program_computes() -> None:
    wanted = first_view.requests()
    files = {store.shipped_file(each.experiment, each.params, each.seed) for each in wanted}
    assert files == {*store.SHIPPED.glob("*.npz")}, REMAKE
    for request in wanted:
        check_again(request)
