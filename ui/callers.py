"""Who calls this server and keeps it waiting or busy for nothing: such connections are let go.

uvicorn waits for the rest of a request as long as its sender likes, and as long for a reader to
take the answer; it takes as many connections as files may be open. So somebody who begins a
thousand requests and ends none, or reads none of their answers, kept all others out where 1024
files may be open, and with four thousand wherever this program may choose that itself. And it works
for as many pieces of a message, be they empty, as somebody can send: one connection held it up for
half a minute. A proxy has limits of its own; this holds without one, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import socket
from collections import Counter
from collections.abc import Iterator
from typing import Any

import h11
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from ui import addresses, open_files, served

PATIENCE = 20.0
"""Seconds that a connection may take to ask for something."""

PATIENCE_WITH_READERS = 120.0
"""Seconds that it may take to go on reading what it asked for. Where a class opens the page over
one line, some of their connections have nothing of it for a minute."""

PATIENCE_AT_THE_END = 5.0
"""The same when the server ends, which waits for them."""

PATIENCE_AFTER_AN_ANSWER = 60.0
"""Seconds that it may take to ask for something more: what the system took of the answer may still
be on its way over such a line, and then what is asked is. Closed in that moment, as after uvicorn's
5 s, it may never hear of it, and waits for ever."""

MOST_WAITING = 1000
"""Connections that may take that time to ask, and as many to read: of more, one of the address that
has most of them is closed, the one that has taken the most. A class that opens the page has six for
each browser, for half a minute on a slow line; so 160 can. Fewer where few files may be open, as
who reads a file has two of them."""

MOST_SENT_AHEAD, MOST_UNSENT = 1 << 18, 1 << 14
"""Bytes that the system takes before they are read, of each connection, and those of them that it
has not sent. It asks for more when a third is gone, and most are sent: of the megabytes that it
would take itself, that is too late for who reads a kB a second, and of thousands who read nothing
it keeps them all."""

PIECE, BEGINNING = 1024, 32_768
"""Bytes of an open page, and of others, that are looked at together: of the smallest pieces of a
message they hold hundreds; the head of a request fits into them."""

MOST_LINES = 100
"""Lines of a request's head. A browser sends two dozen and a proxy some more; each is worked on for
microseconds, and in the bytes of a head there may be ten thousand."""

LARGEST_MESSAGE = 100_000
"""Bytes of a message of an open page: a pasted problem has up to 64 kB, all else some thousands. Of
lists written as text Streamlit makes ones that take twenty times as much, as long as a page is
open; and while a message is not complete, what there is of it waits."""

FRAMES_PER_SECOND, FRAMES_AT_ONCE = 50.0, 500
"""Frames of an open page, so many a second and so many that were saved up. A browser sends a large
message in a few dozen, and an answer to each ping."""

OF_NO_USE = {
    "Invalid HTTP request received.",
    "Unsupported upgrade request.",
}
"""What would be logged for each request that is none: as often as anybody likes."""

END_OF_HEAD = re.compile(rb"\n\r?\n")

Line = dict[H11Protocol, tuple[asyncio.TimerHandle, str]]

_waiting: Line = {}
"""Connections that may wait for a request, until when, and where they come from; in the order in
which they began to."""

_reading: Line = {}
"""The same of those that have not taken what was sent to them."""


def _wait_in(line: Line, connection: H11Protocol, seconds: float) -> None:
    """Let a connection take its time."""
    _leave(connection)
    until = connection.loop.call_later(seconds, _let_go, connection)
    line[connection] = until, _address_of(connection)
    if len(line) > min(MOST_WAITING, open_files.quarter()):
        _let_go(_first_of_most(line))


def _address_of(connection: H11Protocol) -> str:
    asked = {"client": connection.client, "headers": connection.headers or []}
    return addresses.of_request(asked, served.settings())


def _first_of_most(line: Line) -> H11Protocol:
    (most, _), *_ = Counter(address for _, address in line.values()).most_common(1)
    return next(connection for connection, (_, address) in line.items() if address == most)


def _let_go(connection: H11Protocol) -> None:
    _leave(connection)
    connection.transport.abort()


def _leave(connection: H11Protocol) -> None:
    for line in (_waiting, _reading):
        if (place := line.pop(connection, None)) is not None:
            place[0].cancel()


def _leave_if_answered(connection: H11Protocol) -> None:
    """A connection whose request is being answered keeps nobody waiting."""
    if connection.cycle is not None and not connection.cycle.response_complete:
        _leave(connection)


def _pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[begin : begin + size] for begin in range(0, len(data), size))


_made, _lost = H11Protocol.connection_made, H11Protocol.connection_lost
_received = H11Protocol.data_received
_paused, _resumed = H11Protocol.pause_writing, H11Protocol.resume_writing
_answered, _upgraded = H11Protocol.on_response_complete, H11Protocol.handle_websocket_upgrade
_ended = H11Protocol.shutdown


def _connection_made(self: H11Protocol, transport: asyncio.Transport) -> None:
    _made(self, transport)
    # Some systems refuse it for a connection that is gone again already.
    with contextlib.suppress(OSError):
        line = transport.get_extra_info("socket")
        line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST_SENT_AHEAD)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, MOST_UNSENT)
    # All that waits to be taken is what is being read. One of TLS would wait for 0 to become less.
    transport.set_write_buffer_limits(high=1, low=0)
    _wait_in(_waiting, self, PATIENCE)
    following = self.conn.next_event

    def next_event() -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        if self.conn.their_state is h11.IDLE and _lines_of_head(self.conn) > MOST_LINES:
            raise h11.RemoteProtocolError("this head has too many lines")
        return h11.NEED_DATA if _is_endless(self) else following()

    # Of a body that is not read nothing is looked at, not even what came with its head; and a head
    # is looked at before each of its lines is.
    self.conn.next_event = next_event  # type: ignore[method-assign]


def _lines_of_head(connection: h11.Connection) -> int:
    """Lines that have come of the head of the next request."""
    data, _ = connection.trailing_data
    end = END_OF_HEAD.search(data)
    return data.count(b"\n", 0, end.start() if end else len(data))


def _connection_lost(self: H11Protocol, exc: Exception | None) -> None:
    _leave(self)
    _lost(self, exc)


def _data_received(self: H11Protocol, data: bytes) -> None:
    for piece in _pieces(data, BEGINNING):
        _received(self, piece)
        if self.transport.is_closing() or self not in self.connections:
            return
        if _is_endless(self):
            self.flow.pause_reading()
            break
    _leave_if_answered(self)


def _is_endless(connection: H11Protocol) -> bool:
    """Whether more of a body is to come whose length was not said. No page sends such a one.

    Each of its chunks costs work, and a chunk may be a byte.
    """
    return connection.conn.their_state is h11.SEND_BODY and any(
        name == b"transfer-encoding" for name, _ in connection.headers
    )


def _pause_writing(self: H11Protocol) -> None:
    _paused(self)
    _wait_in(_reading, self, PATIENCE_WITH_READERS)


def _resume_writing(self: H11Protocol) -> None:
    if self in _reading:
        _leave(self)
        # The answer may have been complete before it was taken.
        if self.cycle is not None and self.cycle.response_complete:
            _wait_in(_waiting, self, PATIENCE_AFTER_AN_ANSWER)
    _resumed(self)


def _on_response_complete(self: H11Protocol) -> None:
    if self not in _reading:
        _wait_in(_waiting, self, PATIENCE_AFTER_AN_ANSWER)
    if _is_endless(self):
        self.transport.close()
    _answered(self)
    # Its own, which a connection that is reset would leave behind.
    self._unset_keepalive_if_required()
    if self not in _reading:
        _leave_if_answered(self)


def _shutdown(self: H11Protocol) -> None:
    _ended(self)
    if self in _reading:
        _wait_in(_reading, self, PATIENCE_AT_THE_END)


def _handle_websocket_upgrade(self: H11Protocol, event: h11.Request) -> None:
    _leave(self)
    self.transport.set_write_buffer_limits()
    self.ws_protocol_class = OpenPage
    self.config.ws_max_size = LARGEST_MESSAGE
    _upgraded(self, event)
    # Of a handshake with a long line or a body nothing is read: it would be left without an answer
    # as long as its sender likes, and a traceback would be logged when more of it comes.
    if not getattr(self.transport.get_protocol(), "handshake_initiated", True):
        self.send_400_response("This is no handshake.")
    if self.transport.is_closing():
        # It waits until what was sent before is taken, in neither line.
        self.loop.call_later(PATIENCE, self.transport.abort)


class OpenPage(WebSocketsSansIOProtocol):
    """The connection of an open page; what it is told counts by frames, whatever is in them."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._due = -float("inf")

    def data_received(self, data: bytes) -> None:
        """Look at what has come, as long as it is not too much, or too early."""
        if self.handshake_initiated and not self.handshake_complete:
            self.transport.abort()
            return
        for piece in _pieces(data, PIECE):
            super().data_received(piece)
            if self.transport.is_closing():
                return

    def handle_events(self) -> None:
        """Count frames before anything is done for them."""
        now, saved = self.loop.time(), FRAMES_AT_ONCE / FRAMES_PER_SECOND
        self._due = max(self._due, now - saved) + len(self.conn.events) / FRAMES_PER_SECOND
        if self._due > now:
            self.transport.abort()
        else:
            super().handle_events()

    def handle_parser_exception(self) -> None:
        """Close for who says what is no frame, be it after the end: that would be an error."""
        if self.conn.close_sent is None:
            self.transport.abort()
        else:
            super().handle_parser_exception()

    def handle_text(self, event: Frame) -> None:
        """Close: no page says it, and what is no text would be logged with a traceback."""
        self.transport.close()

    def keepalive_timeout(self) -> None:
        """Close for who does not answer, and do not wait until they have read all before that."""
        super().keepalive_timeout()
        self._end()

    async def send(self, message: ASGISendEvent) -> None:
        """Say that the page is gone to who sends to it after its end, instead of an error."""
        if self.handshake_complete and self.close_sent:
            raise ClientDisconnected
        await super().send(message)

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        """The same for who is not to be answered any more."""
        super().on_task_complete(task)
        self._end()

    def _end(self) -> None:
        self.loop.call_later(PATIENCE, self.transport.abort)


def _is_of_use(record: logging.LogRecord) -> bool:
    return record.getMessage() not in OF_NO_USE


def have_patience() -> None:
    """Have it with all who call from now on, and no more; there is no setting for it."""
    H11Protocol.connection_made = _connection_made  # type: ignore[method-assign]
    H11Protocol.connection_lost = _connection_lost  # type: ignore[method-assign]
    H11Protocol.data_received = _data_received  # type: ignore[method-assign]
    H11Protocol.pause_writing = _pause_writing  # type: ignore[method-assign]
    H11Protocol.resume_writing = _resume_writing  # type: ignore[method-assign]
    H11Protocol.on_response_complete = _on_response_complete  # type: ignore[method-assign]
    H11Protocol.shutdown = _shutdown  # type: ignore[method-assign]
    H11Protocol.handle_websocket_upgrade = _handle_websocket_upgrade  # type: ignore[method-assign]
    logging.getLogger("uvicorn.error").addFilter(_is_of_use)
