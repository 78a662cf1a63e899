"""Downloads: one at a time, since each has a browser started for its pictures."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from abcdp_core import figures as fig
from abcdp_core.figures import Drawn
from abcdp_core.output import citation, single
from abcdp_core.parameters import Params
from abcdp_core.results import Result
from tests.pages.app import opened, settled
from ui import export, jobs

SOON = 20.0
CHART = Drawn(fig.figure("Title", "x", "y"), "It shows.")
RESULT = Result("toy", Params(), {}, "", "")


@pytest.fixture
def everybody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "is_there", lambda who: who != "gone")


@pytest.mark.usefixtures("everybody_is_there")
def test_pictures_are_drawn_for_one_session_at_a_time_and_two_files_for_each(
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
    monkeypatch.setattr(single, "file_of", lambda *given: given[-1].encode())
    with ThreadPoolExecutor() as pool:
        first = pool.submit(export.zip_for, "a", [])
        assert begun.wait(SOON)
        second = pool.submit(export.one_for, "a", RESULT, "name", CHART, (), "svg")
        while export._asking["a"] < export.OF_ONE:
            assert not second.done()
        with pytest.raises(export.RefusedError):
            export.zip_for("a", [])
        others = [pool.submit(export.zip_for, who, []) for who in ("b", "gone")]
        go.set()
        assert first.result(SOON) == others[0].result(SOON) == b"zip"
        assert second.result(SOON) == b"svg"
        with pytest.raises(export.RefusedError):
            others[1].result(SOON)
    assert most == 1
    assert not export._asking
    assert export.zip_for("a", []) == b"zip"


def test_below_a_figure_are_its_files_and_a_caption_to_copy() -> None:
    app = opened("posterior")
    app.session_state["numbers-posterior-decisions"] = True
    app = settled(app.run())
    assert not app.exception
    labels = [button.proto.label for button in app.get("download_button")]
    assert [label for label in labels if label in map(str.upper, single.MIME)] == [
        "HTML", "SVG", "PNG", "PDF", "JSON"
    ]  # fmt: skip
    assert any(code.value.endswith(citation.TEXT) for code in app.code)


@pytest.mark.usefixtures("everybody_is_there")
def test_what_needs_no_browser_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single, "file_of", lambda *given: given[-1].encode())
    export._turns.begin()
    try:
        assert export.one_for("a", RESULT, "name", CHART, (), "html") == b"html"
    finally:
        export._turns.end()
    assert export.one_for("a", RESULT, "name", CHART, (), "svg") == b"svg"
    with pytest.raises(export.RefusedError):
        export.one_for("gone", RESULT, "name", CHART, (), "svg")
