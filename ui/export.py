"""Downloads: one zip per page with figures, data, settings and command; each figure as a file."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import streamlit as st
from streamlit.proto.BackMsg_pb2 import BackendOperationRequest
from streamlit.proto.ForwardMsg_pb2 import BackendOperationResponse
from streamlit.runtime.backend_operation_handler import DeferredFileHandler
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError

from abcdp_core.figures import Drawn
from abcdp_core.output import bundle, citation, images, single
from abcdp_core.output.formats import FORMATS, STATIC, ExportError
from abcdp_core.results import Result
from ui import controls, drawings, gate, jobs
from ui.job import Job
from ui.turns import Turns

_turns = Turns()
"""Who has pictures drawn: each time that is a browser of its own, with ten processes."""

OF_ONE = 2
"""Files of one session that are made or wait for it: who presses a second button has both."""

_threads = ThreadPoolExecutor(OF_ONE * gate.MOST_VISITORS, "download")
"""One for each that may wait. Streamlit has few, so that three pages that waited for pictures, and
asked for more meanwhile, kept all others from files of any kind, for hours."""

_hands = Turns()
"""Who has a file made that needs no browser, one at a time: it takes Python's lock from the pages
that are being drawn. Who waits for a browser has none of these meanwhile."""

_mine = threading.local()

FETCHED = 60.0
"""Seconds in which a browser fetches a file that was made for it. Streamlit drops it when pages
have been drawn twice, whosever they are: with a few visitors more, within a second."""

HELD_BYTES = 256 * 2**20
"""What these files may take in all: a figure as HTML has five megabytes, and who opens pages only
for them has two at each. Of more, those of the session that got its last one first are let go."""

WAITED_FOR = 175.0
"""Seconds. Streamlit's browsers give a file up after 180, and whoever is next still waits."""

BUSY = "Two files are being made for this page. Press again when they have come."
FAILED = "This file could not be made."

log = logging.getLogger(__name__)

_asking: Counter[str] = Counter()
_held: dict[str, threading.Timer] = {}
_sizes: dict[str, list[int]] = {}
_guard = threading.Lock()


class RefusedError(Exception):
    """This download is not made; one sentence says why."""


def _say_why() -> None:
    """Let a button say why its file is not made.

    Streamlit says of whatever goes wrong that it failed, and logs a traceback each time.
    """

    async def handle(
        self: DeferredFileHandler,
        request: BackendOperationRequest,
        session_id: str,
    ) -> BackendOperationResponse:
        answer = BackendOperationResponse(request_id=request.request_id)
        file = request.deferred_file.file_id
        with _guard:
            if _asking[session_id] >= OF_ONE:
                answer.error_msg = BUSY
                return answer
            _asking[session_id] += 1
        made = _threads.submit(_made, self._get_media_file_mgr(), file, session_id)
        # Who leaves does not wait for its end, and the thread goes on until then.
        made.add_done_callback(lambda _: _done(session_id))
        try:
            answer.deferred_file.url = await asyncio.wrap_future(made)
        except MediaFileStorageError as error:
            answer.error_msg = _words(error.__cause__)
        return answer

    # There is no setting for this.
    DeferredFileHandler.handle = handle  # type: ignore[method-assign]


def _made(files: MediaFileManager, file: str, who: str) -> str:
    """Make a file; returns where it can be had."""
    with _hands_on(who):
        place = files.execute_deferred(file)
    name = place.rpartition("/")[2].partition(".")[0]
    stored = files.read_file(name)
    _keep(files, name, 0 if stored is None else stored.content_size, who)
    return place


def _keep(files: MediaFileManager, made: str, size: int, who: str) -> None:
    """Hold a file until it was fetched, and of those made for a session only the last ones."""
    name = _name(who)
    with files._lock:
        held = files._files_by_session_and_coord[name]
        # As long as it is held under any place, in the order in which they were made.
        held[str(time.monotonic_ns())] = made
        for place in [*held][:-OF_ONE]:
            del held[place]
    with _guard:
        if (former := _held.pop(who, None)) is not None:
            former.cancel()
        _held[who] = threading.Timer(FETCHED, _let_go, (files, name, who))
        _held[who].daemon = True
        _held[who].start()
        _sizes[who] = [*_sizes.pop(who, ()), size][-OF_ONE:]
        while len(_sizes) > 1 and sum(map(sum, _sizes.values())) > HELD_BYTES:
            first = next(iter(_sizes))
            del _sizes[first]
            _held.pop(first).cancel()
            files.clear_session_refs(_name(first))


def _name(who: str) -> str:
    """What files made for a session are held by."""
    return f"made for {who}"


def _let_go(files: MediaFileManager, name: str, who: str) -> None:
    files.clear_session_refs(name)
    with _guard:
        if _held.get(who) is threading.current_thread():
            del _held[who], _sizes[who]


@contextlib.contextmanager
def _hands_on(who: str) -> Iterator[None]:
    _hands.begin(who)
    _mine.works = True
    try:
        yield
    finally:
        _rest()


def _rest() -> None:
    """Let others make files, if this thread does."""
    if getattr(_mine, "works", False):
        _mine.works = False
        _hands.end()


def _done(who: str) -> None:
    with _guard:
        _asking[who] -= 1
        if not _asking[who]:
            del _asking[who]


def _words(error: BaseException | None) -> str:
    """What a button says of what went wrong; what nobody expects is logged."""
    if isinstance(error, RefusedError | ExportError):
        return str(error)
    if error is not None:
        log.error("a download failed", exc_info=error)
    return FAILED


_say_why()


def block(name: str, *found: Result | Job) -> None:
    """The download of a page, and the format that the cameras save.

    Args:
        name: of the file, without ending.
        found: every result on the page; of a job, its latest when the button is pressed.
    """
    who = jobs.session_id()
    st.header("Download")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        st.download_button(
            "This page as a zip",
            data=lambda: zip_for(who, _results(found)),
            file_name=f"{name}.zip",
            mime="application/zip",
            key="zip",
            on_click="ignore",
        )
        with st.container(width="content"):
            controls.widget("figures.format")
    st.caption(
        "The zip holds each figure of a run as SVG, PNG, PDF and HTML with its caption, its data "
        "as CSV, its settings as JSON, how to cite it, and the command that makes every number "
        "again. It takes a few seconds, as do single pictures; press two buttons at most "
        "meanwhile. Where a class presses together they come one after the other, and whoever has "
        "waited for three minutes has to press again. Pictures need a browser on the server; "
        "without one a note in the zip says so, and the cameras still work. Single figures are "
        "files too: unfold what is below them."
    )
    label = "The commands that make these figures again"
    with st.expander(label, key="commands", on_change="rerun") as folded:
        for line in bundle.commands(_results(found)) if folded.open else ():
            st.code(line, language="bash", wrap_lines=True)


def figure(key: str, found: Result, name: str, drawn: Drawn, tables: Sequence[str]) -> None:
    """A figure as files of its own, each with its caption, and the caption to be copied.

    Args:
        key: names the figure on the page.
        found: what it is from.
        name: of the figure.
        drawn: the figure and its sentence.
        tables: names of those it was drawn from.
    """
    who, why_not = jobs.session_id(), images.obstacle()
    with st.container(horizontal=True, gap="small"):
        for suffix, mime in single.MIME.items():
            st.download_button(
                suffix.upper(),
                data=functools.partial(one_for, who, found, name, drawn, tables, suffix),
                file_name=f"{found.experiment}.{name}.{suffix}",
                mime=mime,
                key=f"{suffix}-{key}",
                on_click="ignore",
                disabled=suffix in STATIC and why_not is not None,
            )
    st.caption(
        "HTML needs no network and no other file. The tables below come as CSV."
        + (f" {why_not}" if why_not else "")
    )
    title = images.title_of(found, drawn.figure)
    text = f"{title}. {images.caption(found, drawn)} {citation.TEXT}"
    st.code(text, language=None, wrap_lines=True)


def one_for(
    who: str, found: Result, name: str, drawn: Drawn, tables: Sequence[str], suffix: str
) -> bytes:
    """A figure as a file for a session; what needs a browser is made when its turn comes.

    Raises:
        RefusedError: the session has left meanwhile.
        ExportError: a static figure could not be drawn.
    """
    if suffix not in STATIC:
        return single.file_of(found, name, drawn, tables, suffix)
    with turn_of(who):
        return single.file_of(found, name, drawn, tables, suffix)


def _results(found: Sequence[Result | Job]) -> list[Result]:
    """The results there are by now."""
    latest = [item.result if isinstance(item, Job) else item for item in found]
    return [result for result in latest if result is not None]


def zip_for(who: str, results: Sequence[Result]) -> bytes:
    """A session's zip, made when its turn comes.

    Raises:
        RefusedError: it has left meanwhile.
    """
    with turn_of(who):
        return page_zip(results)


@contextlib.contextmanager
def turn_of(who: str) -> Iterator[None]:
    """A session's turn to have pictures drawn.

    Raises:
        RefusedError: it has left meanwhile, or its browser waits no longer.
    """
    _rest()
    asked = time.monotonic()
    _turns.begin(who)
    try:
        if not jobs.is_there(who) or time.monotonic() - asked > WAITED_FOR:
            raise RefusedError(FAILED)
        yield
    finally:
        _turns.end()


def page_zip(results: Sequence[Result]) -> bytes:
    """The zip; where pictures cannot be drawn it holds the rest and a note that says why."""
    found = [(result, drawings.drawn(result)) for result in results]
    return bundle.zip_bytes(found, FORMATS)
