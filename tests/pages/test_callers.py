"""Connections that ask for nothing are let go, so that others find room."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Any
from unittest.mock import Mock

import pytest
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.server import ServerState

from ui import callers, gate, served

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
HANDSHAKE = (
    GET + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


class Line(asyncio.Transport):
    """What is sent over a connection, and whether it is open."""

    peer = ("127.0.0.1", 1234)

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

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return Mock(getpeername=lambda: self.peer) if name == "socket" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.high, self.low = high, low

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
    for name in ("connection_made", "connection_lost", "data_received"):
        monkeypatch.setattr(H11Protocol, name, getattr(H11Protocol, name))
    for name in ("pause_writing", "resume_writing"):
        monkeypatch.setattr(H11Protocol, name, getattr(H11Protocol, name))
    for name in ("on_response_complete", "handle_websocket_upgrade", "shutdown"):
        monkeypatch.setattr(H11Protocol, name, getattr(H11Protocol, name))
    callers.have_patience()
    callers._waiting.clear()
    callers._reading.clear()
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

    call.config = config  # type: ignore[attr-defined]
    return call


def test_who_begins_a_request_and_does_not_end_it_is_let_go(
    calls: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "PATIENCE", 0.01)
    monkeypatch.setattr(callers, "PATIENCE_AFTER_AN_ANSWER", 0.02)

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
    # The one that is being answered takes nobody's room.
    assert asyncio.run(call()) == [True, False, False, True, True]


def test_where_many_wait_room_is_made_by_the_address_that_has_most(
    calls: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "MOST_WAITING", 4)

    async def call(heads: list[bytes], froms: list[str]) -> list[bool]:
        asked = []
        for head, host in zip(heads, froms, strict=True):
            monkeypatch.setattr(Line, "peer", (host, 1234))
            asked.append(await calls(head))
            asked[-1][0].pause_writing()
        are_open = [line.is_open for _, line in asked]
        for connection, _ in asked:
            connection.connection_lost(None)
        return are_open

    said = b"GET /slow" + GET[5:]
    honest_first = ["192.0.2.1", *["198.51.100.7"] * 5, "192.0.2.1"]
    assert asyncio.run(call([said + b"\r\n"] * 7, honest_first)) == [
        True, False, False, False, True, True, True,
    ]  # fmt: skip
    # Through a proxy all come from one; it says where from.
    proxied = dataclasses.replace(served.settings(), behind_proxy=True)
    monkeypatch.setattr(served, "settings", lambda: proxied)
    told = [said + b"X-Real-IP: %s\r\n\r\n" % host.encode() for host in honest_first]
    assert asyncio.run(call(told, ["127.0.0.1"] * 7)) == [
        True, False, False, False, True, True, True,
    ]  # fmt: skip


def test_who_reads_none_of_the_answer_is_let_go_and_keeps_nobody_out(
    calls: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "PATIENCE_WITH_READERS", 0.05)
    monkeypatch.setattr(callers, "PATIENCE_AFTER_AN_ANSWER", 0.05)
    monkeypatch.setattr(callers, "MOST_WAITING", 3)
    said = b"GET /slow" + GET[5:] + b"\r\n"

    async def call() -> list[list[bool]]:
        readers = [await calls(said) for _ in range(5)]
        for connection, _ in readers:
            connection.pause_writing()
        # This one goes on.
        readers[4][0].resume_writing()
        other = await calls(GET + b"\r\n")
        at_once = [line.is_open for _, line in (*readers, other)]
        await asyncio.sleep(0.1)
        kept = [*callers._waiting, *callers._reading]
        later = [line.is_open for _, line in readers]
        # Else what is cancelled at the end waits to be read.
        for connection, _ in readers:
            connection.connection_lost(None)
        return [at_once, later, kept]

    at_once, later, kept = asyncio.run(call())
    assert at_once == [False, False, True, True, True, True]
    assert later == [False, False, False, False, True]
    assert not kept


def test_a_server_that_ends_waits_for_no_reader_who_has_gone(
    calls: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "PATIENCE_AT_THE_END", 0.01)

    async def call() -> list[bool]:
        readers = [await calls(b"GET /slow" + GET[5:] + b"\r\n") for _ in range(2)]
        for connection, _ in readers:
            connection.pause_writing()
        readers[0][0].shutdown()
        await asyncio.sleep(0.05)
        are_open = [line.is_open for _, line in readers]
        for connection, _ in readers:
            connection.connection_lost(None)
        return are_open

    assert asyncio.run(call()) == [False, True]


def test_who_takes_an_answer_that_was_complete_may_ask_for_as_long_as_others(
    calls: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stood in no line then, and were kept as long as they liked."""
    monkeypatch.setattr(callers, "PATIENCE_AFTER_AN_ANSWER", 0.05)

    async def call() -> tuple[bool, bool]:
        connection, line = await calls(GET + b"\r\n")
        connection.pause_writing()
        connection.resume_writing()
        connection.data_received(b"G")
        waits = connection in callers._waiting
        await asyncio.sleep(0.1)
        return waits, line.is_open

    assert asyncio.run(call()) == (True, False)


def test_who_reads_slowly_is_asked_for_more_long_before_the_time_is_over(calls: Call) -> None:
    """A reader's time begins again as soon as what the system took for it becomes less."""

    async def read_before_more_is_wanted() -> int:
        loop, made = asyncio.get_running_loop(), []

        def protocol() -> H11Protocol:
            made.append(H11Protocol(calls.config, ServerState(), {}))  # type: ignore[attr-defined]
            return made[-1]

        async with await loop.create_server(protocol, "127.0.0.1", 0) as server:
            with socket.socket() as reader:
                reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                reader.setblocking(False)
                await loop.sock_connect(reader, server.sockets[0].getsockname())
                await loop.sock_sendall(reader, GET)
                await asyncio.sleep(0.05)
                line = made[0].transport
                line.write(bytes(8_000_000))
                waits, read = line.get_write_buffer_size(), 0
                while line.get_write_buffer_size() == waits:
                    read += len(await loop.sock_recv(reader, 4096))
                return read

    slowest = 1000  # bytes a second: of 80 browsers with 6 connections each over 4 Mbit/s
    assert asyncio.run(read_before_more_is_wanted()) < slowest * callers.PATIENCE_WITH_READERS / 3


def test_what_was_asked_for_is_being_read_until_the_system_has_taken_all_of_it(calls: Call) -> None:
    """uvicorn closed after 5 s for want of another request, while the answer was on its way."""

    async def call() -> None:
        connection, line = await calls(GET + b"\r\n")
        # Nothing may wait in the program without being one that is read.
        assert (line.high, line.low) == (1, 0)
        until, _ = callers._waiting[connection]
        left = until.when() - connection.loop.time()
        assert left == pytest.approx(callers.PATIENCE_AFTER_AN_ANSWER, abs=1.0)
        # uvicorn's own time is over, also where the connection ends by a reset.
        assert connection.timeout_keep_alive_task is None
        # An open page sends as others do.
        _, page = await calls(HANDSHAKE + b"\r\n")
        assert page.high is None

    asyncio.run(call())


def test_a_request_with_a_long_head_is_one(calls: Call) -> None:
    long = GET.replace(b"GET /", b"GET /?" + b"a" * gate.LONGEST_ADDRESS)
    _, line = asyncio.run(calls(long + b"X: " + b"a" * 8_000 + b"\r\n\r\n"))
    assert line.sent.startswith(b"HTTP/1.1 204")


LINES = b"a:\r\n"


@pytest.mark.parametrize(
    "parts",
    [
        (GET + 10_000 * b"a:\n" + b"\n",),
        (GET + 90 * LINES, 90 * LINES),
        (GET + b"\r\n" + GET + 5000 * LINES + b"\r\n",),
    ],
    ids=["at once", "in parts", "after another"],
)
def test_a_head_of_thousands_of_lines_is_not_looked_at(
    parts: tuple[bytes, ...], calls: Call
) -> None:
    async def call() -> tuple[H11Protocol, Line]:
        connection, line = await calls(parts[0])
        for part in parts[1:]:
            connection.data_received(part)
        return connection, line

    connection, line = asyncio.run(call())
    assert b"HTTP/1.1 400" in line.sent
    assert not line.is_open
    assert len(connection.headers or []) < 5


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_a_body_may_have_any_number_of_lines(end: bytes, calls: Call) -> None:
    head = GET + 80 * LINES + b"Content-Length: 5000" + end + end
    _, line = asyncio.run(calls(head.replace(b"GET", b"PUT") + 5000 * b"\n"))
    assert line.sent.startswith(b"HTTP/1.1 204")
    assert line.is_open


def test_of_a_body_without_an_end_no_more_is_read_and_its_sender_is_let_go(calls: Call) -> None:
    head = b"PUT /" + GET[5:] + b"Transfer-Encoding: chunked\r\n\r\n"

    async def call() -> None:
        connection, line = await calls(head + b"1\r\nx\r\n" * 20_000)
        assert line.sent.startswith(b"HTTP/1.1 204")
        assert not line.is_open
        assert not connection.cycle.body

    asyncio.run(call())


BEGIN, EMPTY, PING = b"\x02\x80\0\0\0\0", b"\x00\x80\0\0\0\0", b"\x89\x80\0\0\0\0"


@pytest.mark.parametrize("said", [BEGIN + EMPTY * 10_000, PING * 10_000], ids=["pieces", "pings"])
def test_who_says_nothing_many_times_is_not_listened_to(said: bytes, calls: Call) -> None:
    async def call() -> None:
        _, line = await calls(HANDSHAKE + b"\r\n")
        page = line.protocol
        begun = said[: callers.FRAMES_AT_ONCE // 2 * len(PING)]
        page.data_received(begun)
        assert line.is_open
        before = len(line.sent)
        page.data_received(said)
        assert not line.is_open
        assert len(line.sent) - before < 4 * callers.PIECE
        assert len(page.frames) < callers.PIECE

    asyncio.run(call())


def test_who_speaks_before_the_answer_is_let_go_without_a_traceback(
    calls: Call, caplog: pytest.LogCaptureFixture
) -> None:
    async def call() -> None:
        # What is sent with the handshake is not looked at; this comes after it.
        _, line = await calls(b"")
        connection = H11Protocol(calls.config, ServerState(), {})  # type: ignore[attr-defined]
        connection.connection_made(line)
        connection.data_received(HANDSHAKE + b"\r\n")
        line.protocol.data_received(EMPTY)
        assert not line.is_open
        line.protocol.conn.parser_exc = ValueError()
        line.protocol.handle_parser_exception()
        assert not warned(caplog)

    asyncio.run(call())


def test_text_that_is_none_leaves_no_traceback(
    calls: Call, caplog: pytest.LogCaptureFixture
) -> None:
    async def call() -> None:
        _, line = await calls(HANDSHAKE + b"\r\n")
        line.protocol.data_received(b"\x81\x82\0\0\0\0\xff\xfe")
        assert not line.is_open
        assert not warned(caplog)

    asyncio.run(call())


def test_a_message_that_is_not_ended_takes_no_more_than_one_that_is_read(calls: Call) -> None:
    async def call() -> None:
        _, line = await calls(HANDSHAKE + b"\r\n")
        page, piece = line.protocol, b"\x80\xff" + (40_000).to_bytes(8) + b"\0" * 40_004
        for first in (b"\x02", b"\x00", b"\x00"):
            assert line.is_open
            page.data_received(first + piece[1:])
        assert not line.is_open

    asyncio.run(call())


def test_a_page_that_reads_nothing_is_gone_when_its_time_is_over(
    calls: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "PATIENCE", 0.01)
    # There is always something that it has not read.
    monkeypatch.setattr(Line, "close", lambda _: None)

    async def call() -> None:
        _, line = await calls(HANDSHAKE + b"\r\n")
        line.protocol.keepalive_timeout()
        # Streamlit takes it so; another error would be logged with its traceback.
        with pytest.raises(ClientDisconnected):
            await line.protocol.send({"type": "websocket.send", "bytes": b"x"})
        await asyncio.sleep(0.05)
        assert not line.is_open

    asyncio.run(call())


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


@pytest.mark.parametrize(
    "said",
    [
        HANDSHAKE + b"Content-Length: 5\r\n",
        HANDSHAKE + b"X: " + b"a" * 9000 + b"\r\n",
        HANDSHAKE.replace(b"Version: 13", b"Version: 1"),
    ],
    ids=["body", "header", "version"],
)
def test_who_reads_nothing_and_then_says_what_is_no_handshake_is_let_go(
    said: bytes, calls: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "PATIENCE", 0.01)
    # Until what was sent before is taken it does not close.
    monkeypatch.setattr(Line, "close", lambda line: setattr(line, "closing", True))
    monkeypatch.setattr(Line, "is_closing", lambda line: getattr(line, "closing", False))

    async def call() -> tuple[bool, bool]:
        _, line = await calls(said + b"\r\n")
        closing = line.is_closing()
        await asyncio.sleep(0.05)
        return closing, line.is_open

    assert asyncio.run(call()) == (True, False)


def test_what_is_no_request_leaves_nothing_in_the_log(
    calls: Call, caplog: pytest.LogCaptureFixture
) -> None:
    async def call() -> None:
        await calls(b"\x16\x03\x01\r\n\r\n")
        await calls(GET + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n")

    asyncio.run(call())
    logging.getLogger("uvicorn.error").warning("something else")
    assert warned(caplog) == ["something else"]
