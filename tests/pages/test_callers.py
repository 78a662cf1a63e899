"""Connections that ask for nothing are let go, so that others find room."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from ui import callers

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
HANDSHAKE = (
    GET + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


class Line(asyncio.Transport):
    """What is sent over a connection, and whether it is open."""

    def __init__(self) -> None:
        super().__init__()
        self.sent, self.is_open = b"", True

    def write(self, data: Any) -> None:
        self.sent += bytes(data)

    def close(self) -> None:
        self.is_open = False

    abort = close

    def is_closing(self) -> bool:
        return not self.is_open

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol

    def get_protocol(self) -> Any:
        return self.protocol

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line.getMessage() for line in caplog.records if line.levelno >= logging.WARNING]


async def answer(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await asyncio.Event().wait()
    elif scope["path"] == "/slow":
        await asyncio.Event().wait()
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


Call = Callable[[bytes], Awaitable[tuple[H11Protocol, Line]]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Call:
    for name in ("connection_made", "connection_lost"):
        monkeypatch.setattr(H11Protocol, name, getattr(H11Protocol, name))
    for name in ("on_response_complete", "handle_websocket_upgrade"):
        monkeypatch.setattr(H11Protocol, name, getattr(H11Protocol, name))
    callers.have_patience()
    callers._waiting.clear()
    config = Config(answer, ws="websockets-sansio", log_config=None)
    config.load()

    async def call(said: bytes) -> tuple[H11Protocol, Line]:
        connection, line = H11Protocol(config, ServerState(), {}), Line()
        connection.connection_made(line)
        if said:
            connection.data_received(said)
        for _ in range(10):
            await asyncio.sleep(0)
        return connection, line

    return call


def test_who_begins_a_request_and_does_not_end_it_is_let_go(
    calls: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "PATIENCE", 0.01)

    async def call() -> list[bool]:
        said = (b"", GET, GET + b"\r\n", GET[:-1] + b"\r\n\r\n", HANDSHAKE + b"\r\n")
        lines = [(await calls(text))[1] for text in (*said, b"GET /slow" + GET[5:] + b"\r\n")]
        await asyncio.sleep(0.05)
        assert not callers._waiting
        return [line.is_open for line in lines]

    # One that was answered may ask again, for so long; one being answered is left in peace.
    assert asyncio.run(call()) == [False, False, False, False, True, True]


def test_where_many_wait_the_one_that_has_waited_longest_makes_room(
    calls: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "MOST_WAITING", 3)

    async def call() -> list[bool]:
        slow = await calls(b"GET /slow" + GET[5:] + b"\r\n")
        asked = [await calls(GET) for _ in range(4)]
        late = await calls(GET + b"\r\n")
        assert late[1].sent.startswith(b"HTTP/1.1 204")
        for connection, _ in (slow, *asked, late):
            connection.connection_lost(None)
        assert not callers._waiting
        return [line.is_open for _, line in (slow, *asked)]

    monkeypatch.setattr(Line, "close", lambda _: None)
    assert asyncio.run(call()) == [True, False, False, False, True]


def test_a_connection_that_became_a_page_does_not_count(calls: Call) -> None:
    async def call() -> None:
        _, line = await calls(HANDSHAKE + b"\r\n")
        assert line.sent.startswith(b"HTTP/1.1 101")
        assert not callers._waiting

    asyncio.run(call())


@pytest.mark.parametrize(
    "said",
    [
        HANDSHAKE.replace(b"GET /", b"GET /" + b"a" * 9000),
        HANDSHAKE + b"X: " + b"a" * 9000 + b"\r\n",
        HANDSHAKE + b"X: a\r\n" * 200,
        HANDSHAKE + b"Content-Length: 5\r\n",
    ],
    ids=["address", "header", "headers", "body"],
)
def test_a_handshake_that_is_not_read_gets_an_answer_and_no_traceback(
    said: bytes, calls: Call, caplog: pytest.LogCaptureFixture
) -> None:
    async def call() -> bytes:
        _, line = await calls(said + b"\r\n")
        # So nothing more is read.
        assert not line.is_open
        return line.sent

    assert asyncio.run(call()).startswith(b"HTTP/1.1 400")
    assert not warned(caplog)


def test_what_is_no_request_leaves_nothing_in_the_log(
    calls: Call, caplog: pytest.LogCaptureFixture
) -> None:
    async def call() -> None:
        await calls(b"\x16\x03\x01\r\n\r\n")
        await calls(GET + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n")

    asyncio.run(call())
    logging.getLogger("uvicorn.error").warning("something else")
    assert warned(caplog) == ["something else"]
