from __future__ import annotations

import pytest

from ui import steps


@pytest.fixture(autouse=True)
def threads_only(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Long studies of a page are done by threads, except in the tests of jobs and in a browser.

    Worker processes would import all that a study computes with, to do a few tiny tasks.
    """
    if request.path.stem != "test_jobs":
        monkeypatch.setattr(steps, "_processes", lambda: None)
