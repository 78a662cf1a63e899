"""Who calls this server and asks for nothing: such connections are let go.

uvicorn waits for the rest of a request as long as its sender likes, and takes as many connections
as files may be open. So somebody who begins a thousand requests and ends none kept all others out
where 1024 files may be open, and with four thousand wherever this program may choose that itself.
A proxy has limits of its own; this holds without one, too.
"""

from __future__ import annotations

import asyncio
import logging

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 20.0
"""Seconds that a connection may take to ask for something, or for something more."""

MOST_WAITING = 512
"""Connections that may take that time: of more, the one that has taken the most is closed. A whole
class that opens the page has about as many, each for a moment."""

OF_NO_USE = {
    "Invalid HTTP request received.",
    "Unsupported upgrade request.",
}
"""What would be logged for each request that is none: as often as anybody likes."""

_waiting: dict[H11Protocol, asyncio.TimerHandle] = {}
"""Connections that may wait for a request, and until when; in the order in which they began to."""


def _waits(connection: H11Protocol) -> bool:
    """Whether it has no request that is being answered."""
    return connection.cycle is None or connection.cycle.response_complete


def _wait_for(connection: H11Protocol) -> None:
    """Let a connection ask for something."""
    _leave(connection)
    until = connection.loop.call_later(PATIENCE, _let_go, connection)
    _waiting[connection] = until
    if len(_waiting) > MOST_WAITING and (longest := next(filter(_waits, _waiting), None)):
        _let_go(longest)


def _let_go(connection: H11Protocol) -> None:
    _leave(connection)
    if _waits(connection):
        connection.transport.abort()


def _leave(connection: H11Protocol) -> None:
    if (until := _waiting.pop(connection, None)) is not None:
        until.cancel()


_made, _lost = H11Protocol.connection_made, H11Protocol.connection_lost
_answered, _upgraded = H11Protocol.on_response_complete, H11Protocol.handle_websocket_upgrade


def _connection_made(self: H11Protocol, transport: asyncio.Transport) -> None:
    _made(self, transport)
    _wait_for(self)


def _connection_lost(self: H11Protocol, exc: Exception | None) -> None:
    _leave(self)
    _lost(self, exc)


def _on_response_complete(self: H11Protocol) -> None:
    _wait_for(self)
    _answered(self)


def _handle_websocket_upgrade(self: H11Protocol, event: h11.Request) -> None:
    _leave(self)
    _upgraded(self, event)
    # Of a handshake with a long line or a body nothing is read: it would be left without an answer
    # as long as its sender likes, and a traceback would be logged when more of it comes.
    if not getattr(self.transport.get_protocol(), "handshake_initiated", True):
        self.send_400_response("This is no handshake.")


def _is_of_use(record: logging.LogRecord) -> bool:
    return record.getMessage() not in OF_NO_USE


def have_patience() -> None:
    """Have it with all who call from now on, and no more; there is no setting for it."""
    H11Protocol.connection_made = _connection_made  # type: ignore[method-assign]
    H11Protocol.connection_lost = _connection_lost  # type: ignore[method-assign]
    H11Protocol.on_response_complete = _on_response_complete  # type: ignore[method-assign]
    H11Protocol.handle_websocket_upgrade = _handle_websocket_upgrade  # type: ignore[method-assign]
    logging.getLogger("uvicorn.error").addFilter(_is_of_use)
