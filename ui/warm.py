"""The server visits its own pages before anybody comes.

What a first visitor would wait for is there then: code is imported, compiled functions are loaded,
what the pages show with nothing moved is computed and drawn. A visit is a session without a
browser, which goes the way of every other, so it does whatever a page does.

The visits begin once the server answers, and give way: as soon as a page of somebody else waits for
its turn, or a study of theirs is asked for, the visit ends. What it has found until then stays, and
it is made again when nothing else goes on. While a browser loads what it needs to show a page, that
page is the next one. Nothing depends on the visits: one that fails is left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import AsyncIterator, Iterator

from streamlit import runtime
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.session_manager import SessionClient

from ui import jobs, lost, router, served, steps, turns

log = logging.getLogger(__name__)

ENOUGH = 60.0
"""Seconds that a visit takes at most; it gives way at any time."""

LOOK = 0.02
"""Seconds between two looks whether somebody came."""

PAUSE = 0.1
"""Seconds between two looks whether they are gone."""

QUIET = 4.0
"""Seconds without anybody else after which the next page is visited: a browser on this machine
needs the processors longer than the server does."""

PLAYER = "player"
"""The one picture that Plotly does not draw, by the name of its component (:mod:`ui.player`)."""


class Visits:
    """Visits each page once."""

    def __init__(self) -> None:
        self._pages: tuple[str, ...] = ()
        self._left: list[str] = []
        self._opened: str | None = None
        self._last = -math.inf

    def expect(self, path: str) -> None:
        """Somebody's browser begins to open a page: there is a moment left to draw it before.

        Args:
            path: of the address; it may be that of something else.
        """
        page = path.strip("/")
        if page in self._pages:
            self._last = time.monotonic()
        if page in self._left:
            self._opened = page

    @contextlib.asynccontextmanager
    async def beside_the_server(self, _: object) -> AsyncIterator[None]:
        """Visits for as long as a server goes on, which waits for none of them."""
        if served.settings().visits:
            self._pages = ("", *(page.file for page in router.shown()[1:]))
        lost.keep()
        task = asyncio.create_task(self.go())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            # The interpreter would wait until they have finished what a visit had begun.
            jobs.service().close()
            steps.let_go()

    async def go(self) -> None:
        """Visit one page after the other, the first one first."""
        self._left = list(self._pages)
        while self._left:
            page = self._left[0] if self._opened is None else self._opened
            self._opened = None
            try:
                complete = await self.visit(page)
            except Exception as error:  # noqa: BLE001 - visitors get the page all the same
                log.warning("a page was not drawn beforehand (%s)", type(error).__name__)
                complete = True
            if complete:
                self._left.remove(page)
            if self._opened not in self._left:
                self._opened = None
            while self._left and self._opened is None and self._somebody_is_here():
                await asyncio.sleep(PAUSE)

    def _somebody_is_here(self) -> bool:
        if turns.are_taken() or jobs.service().works_for_others(""):
            self._last = time.monotonic()
        return time.monotonic() - self._last < QUIET

    async def visit(self, page: str) -> bool:
        """Draw a page as it is with nothing moved; whether there was time to.

        Args:
            page: its name in the address, which the first one has none of.
        """
        server, browser, service = runtime.get_instance(), Browser(), jobs.service()
        # The script of the visit before may not have seen yet that it is over.
        while turns.are_taken():
            await asyncio.sleep(LOOK)
        who = server.connect_session(browser, {})
        try:
            server.handle_backmsg(who, _asking_for(page))
            end = time.monotonic() + ENOUGH
            while not browser.has_seen and (now := time.monotonic()) < end:
                await asyncio.sleep(LOOK)
                if turns.are_waited_for() or service.works_for_others(who):
                    self._last = now
                    return False
                if self._opened not in (None, page):
                    return False
                for fragment in browser.due(now):
                    server.handle_backmsg(who, _asking_for(page, fragment))
            return True
        finally:
            service.leave(who)
            server.close_session(who)


class Browser(SessionClient):
    """Takes what a page sends, and knows which of its parts are to be asked for again.

    Attributes:
        has_seen: whether a page is there with its first picture, or with all that it has.
    """

    def __init__(self) -> None:
        self.has_seen = False
        self._has_picture = False
        self._intervals: dict[str, float] = {}
        self._due: dict[str, float] = {}

    def write_forward_msg(self, msg: ForwardMsg) -> None:
        """Take one message."""
        kind = msg.WhichOneof("type")
        if kind == "new_session" and not msg.metadata.run.fragment_ids:
            self._intervals.clear()
            self._due.clear()
        elif kind == "delta":
            element = msg.delta.new_element
            self._has_picture |= (
                element.WhichOneof("type") == "plotly_chart"
                or element.bidi_component.component_name == PLAYER
            )
        elif kind == "auto_rerun":
            self._intervals[msg.auto_rerun.fragment_id] = msg.auto_rerun.interval
        elif kind == "script_finished":
            # What asks to be drawn again waits for something.
            self.has_seen = self._has_picture or not self._intervals

    def due(self, now: float) -> Iterator[str]:
        """Parts that are to be drawn again by now."""
        for fragment, interval in list(self._intervals.items()):
            if self._due.setdefault(fragment, now + interval) <= now:
                self._due[fragment] = now + interval
                yield fragment


def _asking_for(page: str, fragment: str = "") -> BackMsg:
    """A browser's request to draw a page, or a part of it again."""
    request = BackMsg()
    request.rerun_script.page_name = page
    request.rerun_script.fragment_id = fragment
    request.rerun_script.is_auto_rerun = bool(fragment)
    request.rerun_script.context_info.color_scheme = "light"
    return request
