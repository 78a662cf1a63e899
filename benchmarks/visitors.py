"""Visitors without a browser: they speak the protocol of the app's pages, many in one process."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

PAGE = "posterior"
KNOB = "epsilon_total"

BUDGET = re.compile(r"_total&nbsp;=&nbsp;([0-9.,]+)")
"""Where the title above a figure says what it was drawn for."""


@dataclass
class Seen:
    """What a visitor lived through.

    Attributes:
        waits: seconds from a move of the knob to the first picture for it or a later one; of
            moves that a later one overtook, those of the first count.
        moves: how often the knob was moved.
        pictures: how many came.
        told_to_wait: how often the page said the place in line.
        errors: what went wrong, in words.
    """

    waits: list[float] = field(default_factory=list)
    moves: int = 0
    pictures: int = 0
    told_to_wait: int = 0
    errors: list[str] = field(default_factory=list)


class Visitor:
    """One tab with a page open.

    Args:
        browser: its connection.
        query: of the address, such as ``n=1000``.
        seed: of the moves.
    """

    def __init__(self, browser: ClientConnection, query: str = "", seed: int = 0) -> None:
        self._browser, self._query = browser, query
        self.random = random.Random(seed)
        self._polls: dict[str, asyncio.Task[None]] = {}
        self._knob: Any = None
        self._title = ""
        self._widget = ""
        self._place = -1
        self._asked: list[tuple[float, float]] = []
        self._drawn = asyncio.Event()
        self.seen = Seen()

    async def listen(self) -> None:
        """Take what the server sends until it or the visitor goes."""
        try:
            async for content in self._browser:
                if isinstance(content, bytes):
                    self._take(ForwardMsg.FromString(content))
        except Exception as error:  # noqa: BLE001 - counted as what it is
            self.seen.errors.append(type(error).__name__)
        self.leave()

    def leave(self) -> None:
        """Ask for nothing more."""
        for fragment in list(self._polls):
            self._stop_polling(fragment)

    async def open(self) -> None:
        """Open the page and wait until its first picture is there."""
        await self.rerun()
        await self._drawn.wait()

    async def move(self) -> None:
        """Set the knob to another of its values."""
        values = [float(text) for text in self._knob.options]
        place = self.random.choice([n for n in range(len(values)) if n != self._place])
        self._place = place
        self._asked.append((time.monotonic(), values[place]))
        self.seen.moves += 1
        request = BackMsg()
        state = request.rerun_script.widget_states.widgets.add(id=self._widget)
        state.string_array_value.data.append(self._knob.options[place])
        await self._send(request)

    async def rerun(self, fragment: str = "") -> None:
        """Have the page run, or a part of it that runs again by itself."""
        request = BackMsg()
        request.rerun_script.fragment_id = fragment
        request.rerun_script.is_auto_rerun = bool(fragment)
        await self._send(request)

    async def _send(self, request: BackMsg) -> None:
        request.rerun_script.page_name = PAGE
        request.rerun_script.query_string = self._query
        with contextlib.suppress(ConnectionClosed):
            await self._browser.send(request.SerializeToString())

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "delta":
            self._take_element(message.delta.new_element)
        elif kind == "auto_rerun":
            again = message.auto_rerun
            self._stop_polling(again.fragment_id)
            self._polls[again.fragment_id] = asyncio.create_task(
                self._poll(again.fragment_id, again.interval)
            )
        elif kind == "new_session" and not message.metadata.run.fragment_ids:
            for fragment in list(self._polls):
                self._stop_polling(fragment)
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string

    def _take_element(self, element: Any) -> None:
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.seen.errors.append(element.exception.type)
        elif kind == "slider" and KNOB in element.slider.id.split("-"):
            self._knob, self._widget = element.slider, element.slider.id
        elif kind == "progress":
            self.seen.told_to_wait += " in line" in element.progress.text
        elif kind == "alert":
            self.seen.told_to_wait += "drawn before" in element.alert.body
        elif kind == "html" and "finding" in element.html.body:
            self._title = element.html.body
        elif kind == "plotly_chart":
            self._take_picture()

    def _take_picture(self) -> None:
        self._drawn.set()
        found = BUDGET.search(self._title)
        drawn_for = [n for n, (_, value) in enumerate(self._asked) if found and _is(found, value)]
        if drawn_for:
            self.seen.pictures += 1
            self.seen.waits.append(time.monotonic() - self._asked[0][0])
            del self._asked[: drawn_for[-1] + 1]

    def unanswered(self) -> float:
        """Seconds since the first move that no picture followed yet."""
        return time.monotonic() - self._asked[0][0] if self._asked else 0.0

    def _stop_polling(self, fragment: str) -> None:
        if (poll := self._polls.pop(fragment, None)) is not None:
            poll.cancel()

    async def _poll(self, fragment: str, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            await self.rerun(fragment)


def _is(found: re.Match[str], value: float) -> bool:
    return float(found.group(1).rstrip(".,").replace(",", "")) == value


@contextlib.asynccontextmanager
async def visiting(address: str, query: str = "", seed: int = 0) -> AsyncIterator[Visitor]:
    """A visitor who has just connected and goes at the end."""
    # The server takes visitors from its own pages only.
    async with connect(
        f"ws://{address}/_stcore/stream",
        origin=f"http://{address}",  # type: ignore[arg-type]
        max_size=None,
        open_timeout=60,
    ) as browser:
        visitor = Visitor(browser, query, seed)
        listening = asyncio.create_task(visitor.listen())
        try:
            yield visitor
        finally:
            listening.cancel()
            visitor.leave()
