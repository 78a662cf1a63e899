from __future__ import annotations

import math

import pytest

from abcdp_core.posterior import outcome, rounds
from abcdp_core.release import summary_request
from ui.jobs import job, work


@pytest.fixture(autouse=True)
def threads_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have long studies done by threads.

    Worker processes would import all that a study computes with, to do a few tiny tasks.
    """
    monkeypatch.setattr(work, "processes", lambda: None)


@pytest.fixture(autouse=True)
def nothing_asks(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """However slow the machine, let no study ask whether to go on, but in the tests of jobs."""
    if request.path.stem != "test_jobs":
        monkeypatch.setattr(job, "PROBE", math.inf)


@pytest.fixture
def quick_releases(few_simulations: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use few simulations for a release; how exact a posterior is, is for other tests."""
    monkeypatch.setattr(outcome.of_found, "__defaults__", (None, 100))
    monkeypatch.setattr(summary_request, "FIRST", 1000)
    monkeypatch.setattr(rounds, "_next_size", lambda *_: 0)
