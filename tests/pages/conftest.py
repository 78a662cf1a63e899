from __future__ import annotations

import math

import pytest

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
