from __future__ import annotations

import pytest

from ui import steps
from ui.job import Job


@pytest.fixture(autouse=True)
def threads_only(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Long studies of a page are done by threads, except in the tests of jobs and in a browser.

    Worker processes would import all that a study computes with, to do a few tiny tasks.
    """
    if request.path.stem != "test_jobs":
        monkeypatch.setattr(steps, "_processes", lambda: None)


@pytest.fixture(autouse=True)
def nothing_asks(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """However slow the machine, no study asks whether to go on, except in the tests of jobs."""
    if request.path.stem != "test_jobs":
        monkeypatch.setattr(Job, "check_asked", lambda *_: None)
