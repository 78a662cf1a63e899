"""Downloads: one at a time, since each has a browser started for its pictures."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from streamlit.proto.BackMsg_pb2 import BackendOperationRequest
from streamlit.proto.ForwardMsg_pb2 import BackendOperationResponse
from streamlit.runtime.backend_operation_handler import DeferredFileHandler
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from abcdp_core import figures as fig
from abcdp_core.figures import Drawn
from abcdp_core.output import citation, single
from abcdp_core.output.formats import ExportError
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
def test_pictures_are_drawn_for_one_session_at_a_time(
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
        others = [pool.submit(export.zip_for, who, []) for who in ("b", "gone")]
        go.set()
        assert first.result(SOON) == others[0].result(SOON) == b"zip"
        assert second.result(SOON) == b"svg"
        with pytest.raises(export.RefusedError):
            others[1].result(SOON)
    assert most == 1
    assert export.zip_for("a", []) == b"zip"


@pytest.mark.usefixtures("everybody_is_there")
def test_who_waits_for_pictures_has_two_files_and_keeps_nobody_from_others() -> None:
    files = MediaFileManager(MemoryMediaFileStorage("/media"))
    handler = DeferredFileHandler(lambda: files)

    def drawn() -> bytes:
        with export.turn_of("anybody"):
            return b"picture"

    async def ask(who: str, make: Callable[[], bytes]) -> BackendOperationResponse:
        request = BackendOperationRequest(request_id="7")
        request.deferred_file.file_id = files.add_deferred(make, "text/csv", "0", "x.csv")
        return await asyncio.wait_for(handler.handle(request, who), SOON)

    async def all_ask() -> None:
        export._turns.begin()
        try:
            # As many as Streamlit has threads on any machine, which is 32 at most.
            asked = [asyncio.ensure_future(ask(f"{n // 2}", drawn)) for n in range(34)]
            await asyncio.sleep(0)
            assert (await ask("0", lambda: b"x")).error_msg == export.BUSY
            assert (await ask("other", lambda: b"x")).deferred_file.url
        finally:
            export._turns.end()
        assert all(answer.deferred_file.url for answer in await asyncio.gather(*asked))

    asyncio.run(all_ask())
    assert not export._asking
    assert not export._hands.taken


@pytest.mark.usefixtures("everybody_is_there")
def test_what_a_browser_waits_for_no_longer_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "page_zip", lambda _: b"zip")
    with ThreadPoolExecutor() as pool:
        with export.turn_of("a"):
            late = pool.submit(export.zip_for, "b", [])
            while not export._turns.waiting:
                time.sleep(0.01)
            monkeypatch.setattr(export, "WAITED_FOR", 0.0)
        with pytest.raises(export.RefusedError):
            late.result(SOON)
    monkeypatch.setattr(export, "WAITED_FOR", SOON)
    assert export.zip_for("c", []) == b"zip"


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


@pytest.mark.parametrize(
    ("error", "said", "logged"),
    [
        (export.RefusedError(export.BUSY), export.BUSY, False),
        (ExportError("No browser."), "No browser.", False),
        (ValueError("1 2 3"), export.FAILED, True),
    ],
)
def test_a_button_says_why_its_file_is_not_made(
    error: Exception, said: str, logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def make() -> bytes:
        raise error

    files = MediaFileManager(MemoryMediaFileStorage("/media"))
    file = files.add_deferred(make, "text/csv", "0", "x.csv")
    request = BackendOperationRequest(request_id="7")
    request.deferred_file.file_id = file
    answer = asyncio.run(DeferredFileHandler(lambda: files).handle(request, "a"))
    assert (answer.request_id, answer.error_msg) == ("7", said)
    assert [record.exc_info[1] for record in caplog.records if record.exc_info] == [error] * logged
    request.deferred_file.file_id = "another"
    answer = asyncio.run(DeferredFileHandler(lambda: files).handle(request, "a"))
    assert answer.error_msg == export.FAILED


def test_a_file_that_is_made_can_be_had() -> None:
    files = MediaFileManager(MemoryMediaFileStorage("/media"))
    request = BackendOperationRequest(request_id="7")
    request.deferred_file.file_id = files.add_deferred(lambda: b"x", "text/csv", "0", "x.csv")
    answer = asyncio.run(DeferredFileHandler(lambda: files).handle(request, "a"))
    assert answer.deferred_file.url.startswith("/media/")
    assert not answer.error_msg


def test_a_file_is_there_until_its_browser_has_fetched_it_however_often_pages_are_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    storage = MemoryMediaFileStorage("/media")
    files = MediaFileManager(storage)
    handler = DeferredFileHandler(lambda: files)

    def made(content: bytes) -> str:
        request = BackendOperationRequest(request_id="7")
        file = files.add_deferred(lambda: content, "text/csv", "0", "x.csv")
        request.deferred_file.file_id = file
        return asyncio.run(handler.handle(request, "a")).deferred_file.url

    def there() -> list[bool]:
        for _ in range(3):
            files.remove_orphaned_files()
        names = [url.rpartition("/")[2].partition(".")[0] for url in urls]
        return [files.read_file(name) is not None for name in names]

    urls = [made(content) for content in (b"1", b"2", b"3")]
    # Who asks for ever more of them fills no memory.
    assert there() == [False, True, True]
    timer = export._held["a"]
    timer.cancel()
    timer.function(*timer.args)
    assert there() == [False, False, False]
    monkeypatch.setattr(export, "FETCHED", 0.0)
    urls = [made(b"4")]
    export._held.get("a", timer).join(SOON)
    assert there() == [False]


def test_files_that_wait_to_be_fetched_take_so_much_memory_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(export, "HELD_BYTES", 8)
    monkeypatch.setattr(export, "_sizes", {})
    monkeypatch.setattr(export, "_held", {})
    files = MediaFileManager(MemoryMediaFileStorage("/media"))
    handler = DeferredFileHandler(lambda: files)

    def made(content: bytes, who: str) -> str:
        request = BackendOperationRequest(request_id="7")
        file = files.add_deferred(lambda: content, "text/csv", "0", "x.csv")
        request.deferred_file.file_id = file
        url = asyncio.run(handler.handle(request, who)).deferred_file.url
        for _ in range(3):
            files.remove_orphaned_files()
        return url.rpartition("/")[2].partition(".")[0]

    def there() -> list[bool]:
        return [files.read_file(name) is not None for name in names]

    names = [made(b"aaa", "a"), made(b"bbb", "b"), made(b"AA", "a")]
    assert there() == [True, True, True]
    # Who got the last one before all others did is let go first.
    names.append(made(b"ccc", "c"))
    assert there() == [True, False, True, True]
    # One file is there however large it is.
    names = [made(b"d" * 9, "d")]
    assert there() == [True]
    assert [*export._held] == [*export._sizes] == ["d"]
    for timer in export._held.values():
        timer.cancel()
