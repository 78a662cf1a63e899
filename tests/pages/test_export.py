"""Downloads: one at a time, since each has a browser started for its pictures."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ui import export, jobs

SOON = 20.0


@pytest.fixture
def everybody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "is_there", lambda who: who != "gone")


@pytest.mark.usefixtures("everybody_is_there")
def test_pictures_are_drawn_for_one_session_at_a_time_and_once_for_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go, at_once, most = threading.Event(), threading.Event(), 0, 0

    def page_zip(results: object) -> bytes:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        begun.set()
        assert go.wait(SOON)
        at_once -= 1
        return b"zip"

    monkeypatch.setattr(export, "page_zip", page_zip)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(export.zip_for, "a", [])
        assert begun.wait(SOON)
        others = [pool.submit(export.zip_for, who, []) for who in ("b", "gone")]
        with pytest.raises(export.RefusedError):
            export.zip_for("a", [])
        go.set()
        assert first.result(SOON) == others[0].result(SOON) == b"zip"
        with pytest.raises(export.RefusedError):
            others[1].result(SOON)
    assert most == 1
    assert export.zip_for("a", []) == b"zip"
