"""The gate: what reaches Streamlit of all that others send.

Streamlit answers any name it is called by, so that a foreign web site which points its own name at
this machine speaks for the visitor (DNS rebinding). A handshake from a foreign web site makes it
ask an outside service for its own address, and everybody waits meanwhile. And it answers where
nobody here asks. So before it sees a request, this looks at four things: by which name it comes,
from which web site, where to and how large. What does not fit gets a line of plain text, no more.
An open page goes on talking: of what it says, only that is handed on for which there is a use here.
Streamlit would empty its caches for everybody at the word of any browser.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from google.protobuf.message import Message as Part
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnected
from streamlit.file_util import get_static_dir
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.watcher import LocalSourcesWatcher

from ui import addresses, callers, files, index_page, log, lost, open_files, served

STREAM, UPLOAD = "/_stcore/stream", "/_stcore/upload_file/"

MADE, STATIC = "/media/", "/static/"
"""Where the files are that pages made, and Streamlit's parts: they are sent as they are."""

ANSWERED = ("/_stcore/health", "/_stcore/host-config")
"""What Streamlit's page asks its server for; all else under `CLOSED` is for others."""

CLOSED = ("/_stcore", "/component", "/auth", "/oauth2callback", "/app/static")
"""Where there is nothing for visitors but what is named above: metrics, agents, components of
others, signing in, a folder of files."""

LONGEST_ADDRESS = 16_384
"""Bytes of path and query: ten times the longest link of ours."""

MOST_VISITORS = 250
"""Open pages at a time: three large classes of eighty, and some. Each takes memory as long as it is
open. Who gets them is in :class:`Places`."""

PIECE = 1 << 16
"""Bytes of an answer that are written at once. Who reads slowly goes on reading then; of a file
written as a whole all has to be read in the time for one piece, and others wait meanwhile."""

ANOTHER_COPY = (b"range", b"if-range", b"accept-encoding")
"""By what somebody gets a copy of their own of a file, of a page or of Streamlit. Hundreds that
nobody reads have gigabytes, or are compressed for half a minute; the file itself is there once.
Streamlit leaves static ones as they are by the path alone, which can be written in other ways."""

MOST_FILES = 2
"""Files of one visitor that are being sent or wait for their page to read them."""

MOST_SENT = 32
"""The same of all: each takes its size, be it sent ever so slowly."""

SENDING = 60.0
"""Seconds that a file may be on its way: at 40 kB a second the largest arrives in time."""

UNREAD = 300.0
"""Seconds after which a file is dropped that no page has read."""

TAKEN = 204
"""What Streamlit answers when it has taken a file."""

MOST_NAMES = 16
"""Files that a page may say at once that it wants to send: for half a million, which fit into one
message, Streamlit works for half a minute, and for nobody else."""

MOST_VALUES = 1000
"""Members of all lists in a message: widgets, the values of each, names. Ours have a few hundred.
Streamlit works on each, and keeps some of them as long as the page is open."""

OF_A_WIDGET = "$$"
"""How the name of each widget begins. By another one Streamlit would keep what is said of it among
the values of the program's own."""

LONGEST_NAME = 256
"""Characters of a name in a message: it may be written to the log."""

PER_SECOND, AT_ONCE = 20.0, 100
"""Messages of one page that are heard: so many a second, and so many that were saved up. Pages poll
twice a second in a few places; people are slower than that. Were the others left to wait, who sent
them and went would keep a place as long as they do."""

SMALL, FEW, USUAL = 10_000, 50, 100
"""Bytes, and values beyond those that pages usually say, for which a message counts once more: each
value is worked on repeatedly."""

HEARD = ("rerun_script", "stop_script", "app_heartbeat", "file_urls_request")
OPERATIONS = ("deferred_file", "dataframe_chunk")
"""What an open page may say: of its operations, those that bring a download or rows of a table."""

POLICY = "; ".join(
    [
        *("default-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:", "base-uri 'self'"),
        *("form-action 'self'", "frame-ancestors 'self'", "object-src 'none'"),
    ]
)
"""What a page may load: its own server's files and what it makes itself, nothing from elsewhere.
Streamlit's pages need scripts and styles in the page and code made while they run."""

HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}


@functools.cache
def drawing_code() -> str:
    """Where the code is that draws figures; empty where Streamlit has it by another name.

    It is as large as all else together, and Streamlit's page asks for it when the first figure is
    there. Named beside the page, it is loaded while the figure is being drawn.
    """
    folder = Path(get_static_dir())
    found = next(folder.glob("static/js/PlotlyChart.*.js"), None)
    return f"/{found.relative_to(folder).as_posix()}" if found else ""


@dataclass(frozen=True)
class Refusal:
    """What a request gets instead of an answer."""

    status: int
    sentence: str


NOT_HERE = Refusal(404, "There is nothing here.")
NOT_SO = Refusal(405, "This cannot be asked for in this way.")
NOT_BY_THIS_NAME = Refusal(
    403,
    f"This server does not go by this name. Who runs it can add the name to {served.HOSTS}, as the "
    'README says under "Serve it to others".',
)
NOT_FROM_THERE = Refusal(403, "Another web site may not ask this server.")
TOO_LONG = Refusal(414, "This address is too long.")
TOO_LARGE = Refusal(413, "Nothing is to be sent here.")
HOW_LARGE = Refusal(411, "It has to be said how large a file is.")
TOO_MANY = Refusal(429, "Other files have to be read first.")
TOO_SLOW = Refusal(408, "This file was on its way for too long.")
FULL = Refusal(503, "There are too many visitors at the moment.")


Opened = Callable[[str], None]
"""Is told of the path whenever a browser asks for it."""


def middleware(opened: Opened | None = None) -> list[Middleware]:
    """The gate for this process's settings; ends the program if those are not allowed.

    Args:
        opened: is told what is asked for.
    """
    try:
        settings = served.settings()
    except served.ServedError as error:
        sys.exit(str(error))
    open_files.allow()
    _look_for_no_changes()
    callers.have_patience()
    log.write_seldom()
    files.stay_in_memory()
    below = str(st.get_option("server.baseUrlPath")).strip("/")
    below = f"/{below}" if below else ""
    return [Middleware(Gate, settings=settings, below=below, opened=opened)]


def _look_for_no_changes() -> None:
    """Look at no module's file where nobody wants to know that one has changed.

    Streamlit would look at all of them, some thousand, for each page that is opened, and again
    where another was loaded; while pictures are computed everybody waits seconds for that.
    """
    if st.get_option("server.fileWatcherType") == "none":
        LocalSourcesWatcher.update_watched_modules = _nothing  # type: ignore[method-assign]


def _nothing(self: LocalSourcesWatcher) -> None:
    """Do nothing."""


class Gate:
    """Lets through what a visitor's browser sends, and refuses the rest.

    Args:
        app: what is behind the gate.
        settings: who may come.
        below: the path under which the app is served, without a slash at its end.
        opened: is told what is asked for.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: served.Served,
        below: str = "",
        opened: Opened | None = None,
    ) -> None:
        self._app, self._opened = app, opened
        self._settings = settings
        self._below = below
        self._places = Places(open_files.room_for(MOST_VISITORS))
        self._room = Places(MOST_SENT)
        # Session and file -> the address that it comes from, and its place.
        self._sent: dict[tuple[str, str], tuple[str, asyncio.Event]] = {}
        self._unread: dict[tuple[str, str], tuple[str, asyncio.Event]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection, or have it answered."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif found := refusal(scope, self._settings, self._below):
            await _refuse(found, scope, receive, send)
        elif scope["type"] == "http" and scope["method"] == "PUT":
            await self._take_file(scope, receive, send)
        elif scope["type"] == "http":
            path = scope["path"].removeprefix(self._below)
            if self._opened is not None:
                self._opened(path)
            asked = _without(scope, b"origin", *ANOTHER_COPY)
            answer = _with_headers(send, self._below)
            if not path.startswith((MADE, STATIC)):
                asked = _without(asked, *index_page.FORMERLY)
                answer = index_page.with_additions(answer)
            await self._app(asked, receive, _in_pieces(answer))
        else:
            await self._let_in(scope, receive, send)

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a page talk as long as it is open, if there is a place left, and for its address."""
        address = addresses.of_request(scope, self._settings)
        place = self._places.take(address)
        if place is None:
            await _refuse(FULL, scope, receive, send)
            return
        lost.caller.set(address)
        try:
            # Who leaves while something is sent to them is no error; Streamlit takes what it then
            # reads for text, and a traceback was logged.
            with contextlib.suppress(WebSocketDisconnected):
                talk = _heard(_until(place, receive, OVER))
                await self._app(_without(scope, b"origin"), talk, send)
        finally:
            self._places.leave(address, place)

    async def _take_file(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a file through if few lie there, and not for ever."""
        path = scope["path"].removeprefix(self._below).removeprefix(UPLOAD)
        session, _, file = path.partition("/")
        address = addresses.of_request(scope, self._settings)
        key = session, file
        place = None if key in self._sent else self._room_for(session, address)
        if place is None:
            await _refuse(TOO_MANY, scope, receive, send)
            return
        self._sent[key] = address, place
        answered = 0

        async def noting(message: Message) -> None:
            nonlocal answered
            answered = message.get("status", answered)
            await send(message)

        try:
            # Who leaves in the middle, as by closing the page, is no error; a traceback was logged.
            with contextlib.suppress(ClientDisconnect):
                async with asyncio.timeout(SENDING):
                    headed = _with_headers(noting, self._below)
                    coming = _until(place, receive, LEFT)
                    await self._app(_without(scope, b"origin"), coming, headed)
        except TimeoutError:
            if not answered:
                await _refuse(TOO_SLOW, scope, receive, noting)
        finally:
            del self._sent[key]
            # Of others nothing lies there, and a timer with a long name would be kept for each.
            if answered == TAKEN:
                if key in self._unread:
                    # It was sent once before.
                    self._room.leave(*self._unread[key])
                self._unread[key] = address, place
                self._leave_places()
                asyncio.get_running_loop().call_later(UNREAD, files.remove, session, file)
            else:
                self._room.leave(address, place)
        if place.is_set() and not answered:
            await _refuse(TOO_MANY, scope, receive, send)

    def _room_for(self, session: str, address: str) -> asyncio.Event | None:
        """A place for one more file, if need be that of another; ``None`` if there is none."""
        for key, (where, place) in list(self._unread.items()):
            if not files.is_unread(*key):
                self._room.leave(where, place)
                del self._unread[key]
        if sum(key[0] == session for key in (*self._sent, *self._unread)) >= MOST_FILES:
            return None
        found = self._room.take(address)
        self._leave_places()
        return found

    def _leave_places(self) -> None:
        """Remove the files whose places others have."""
        for key, (_, place) in list(self._unread.items()):
            if place.is_set():
                files.remove(*key)
                del self._unread[key]


class Places:
    """Who has which of the places for open pages, or for files.

    As long as there are free ones whoever comes gets one. Then who comes gets one of the address
    that has most, the one it took last, if that one still has as many as the comer's own
    afterwards. So n addresses that want all they can get have an n-th part each: a class behind one
    address is let in, and a stranger, whatever one or two others hold.

    Args:
        count: how many there are.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._taken: dict[str, list[asyncio.Event]] = {}

    def take(self, address: str) -> asyncio.Event | None:
        """A place, which is to be left when this is set; ``None`` if there is none."""
        own = self._taken.get(address, [])
        if sum(map(len, self._taken.values())) >= self._count:
            most = max(self._taken.values(), key=len)
            if len(most) <= len(own) + 1:
                return None
            most.pop().set()
        place = asyncio.Event()
        self._taken[address] = [*own, place]
        return place

    def leave(self, address: str, place: asyncio.Event) -> None:
        """Let others have it, if it is not theirs already."""
        left = [other for other in self._taken.get(address, ()) if other is not place]
        self._taken.pop(address, None)
        if left:
            self._taken[address] = left


OVER: Message = {"type": "websocket.disconnect", "code": 1013}
LEFT: Message = {"type": "http.disconnect"}


def _until(given_up: asyncio.Event, receive: Receive, last: Message) -> Receive:
    """The same until the place is given to others, and then that who speaks has left."""

    async def receiving() -> Message:
        said, end = asyncio.ensure_future(receive()), asyncio.ensure_future(given_up.wait())
        try:
            await asyncio.wait((said, end), return_when=asyncio.FIRST_COMPLETED)
            if said.done() and not given_up.is_set():
                return said.result()
            return last
        finally:
            said.cancel()
            end.cancel()

    return receiving


def _heard(receive: Receive) -> Receive:
    """The same without what a page has no reason to say.

    What no page says at all, or so fast, ends the connection.
    """
    clock, due = asyncio.get_running_loop().time, -math.inf

    async def receiving() -> Message:
        nonlocal due
        while True:
            message = await receive()
            if message["type"] != "websocket.receive":
                return message
            content = message.get("bytes") or b""
            if len(content) > callers.LARGEST_MESSAGE:
                return {"type": "websocket.disconnect", "code": 1009}
            try:
                said = BackMsg.FromString(content)
            except DecodeError:
                return {"type": "websocket.disconnect", "code": 1002}
            values = _values(said)
            pace = (1 + len(content) / SMALL + max(0, values - USUAL) / FEW) / PER_SECOND
            due = max(due, clock() - AT_ONCE / PER_SECOND) + pace
            if due > clock():
                return {"type": "websocket.disconnect", "code": 1008}
            if message.get("text") is not None:
                return {"type": "websocket.disconnect", "code": 1003}
            if values <= MOST_VALUES and is_of_use(said):
                return message

    return receiving


def is_of_use(said: BackMsg) -> bool:
    """Whether a message of a page is handed on.

    Its names are written to the log as they stand; line breaks would forge entries, escapes command
    the terminal of who reads it, and long ones fill the disk.
    """
    rerun, asked = said.rerun_script, said.backend_operation_request
    known = said.WhichOneof("type") in HEARD or asked.WhichOneof("payload") in OPERATIONS
    names = [rerun.fragment_id, rerun.page_script_hash, rerun.page_name]
    names += [rerun.context_info.timezone, rerun.context_info.locale]
    names += [asked.request_id, asked.session_id, asked.deferred_file.file_id]
    names.append(said.file_urls_request.request_id)
    names += [text for _, text in asked.dataframe_chunk.ListFields() if isinstance(text, str)]
    few = len(said.file_urls_request.file_names) <= MOST_NAMES
    own = all(each.id.startswith(OF_A_WIDGET) for each in rerun.widget_states.widgets)
    plain = all(len(name) <= LONGEST_NAME and name.isprintable() for name in names)
    # No browser could have asked for a longer one, and half a megabyte of pins takes seconds.
    short = len(rerun.query_string) <= LONGEST_ADDRESS
    return known and few and own and plain and short and _is_address(rerun.context_info.url)


def _values(said: BackMsg) -> int:
    """Members of all lists in a message, counted until they are too many."""
    count = 0
    for length in _lengths(said):
        count += length
        if count > MOST_VALUES:
            break
    return count


def _lengths(part: Part) -> Iterator[int]:
    """Of the lists in a message of a page, each before what is in it."""
    for field, value in part.ListFields():
        if field.is_repeated:
            yield len(value)
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                yield from _lengths(each)


def _is_address(url: str) -> bool:
    """Whether a page may say that this is its address: links and codes are made of it and kept.

    What is none would raise an error wherever it is read, and be logged with it.
    """
    if len(url) > LONGEST_ADDRESS or not url.isprintable():
        return False
    try:
        # To read the port raises an error where it is none.
        return urlsplit(url).port != 0
    except ValueError:
        return False


def _without(scope: Scope, *names: bytes) -> Scope:
    """The same request without some of its headers.

    Without its origin Streamlit has no reason to look a web site up.
    """
    headers = [(name, text) for name, text in scope["headers"] if name not in names]
    return {**scope, "headers": headers}


async def _refuse(found: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await PlainTextResponse(found.sentence, found.status, HEADERS)(scope, receive, send)
    else:
        # A handshake that is refused with a sentence leaves a line in uvicorn's log each time.
        await send({"type": "websocket.close", "code": 1008})


def _with_headers(send: Send, below: str) -> Send:
    """The same, adding to each answer what its page may load, and to a page what it soon will."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            is_page = headers.get("content-type", "").startswith(index_page.PAGE)
            if is_page and (drawing := drawing_code()):
                headers["link"] = f"<{below}{drawing}>; rel=modulepreload"
        await send(message)

    return sending


def _in_pieces(send: Send) -> Send:
    """The same, one piece after the other, as they are read; others have their turn in between."""

    async def sending(message: Message) -> None:
        body = memoryview(message.get("body", b""))
        while len(body) > PIECE:
            await send({**message, "body": bytes(body[:PIECE]), "more_body": True})
            await asyncio.sleep(0)
            body = body[PIECE:]
        await send({**message, "body": bytes(body)} if "body" in message else message)

    return sending


def refusal(scope: Scope, settings: served.Served, below: str = "") -> Refusal | None:
    """Why a request is refused; ``None`` if it is not.

    Args:
        scope: of a request or a handshake, as ASGI has it.
        settings: who may come.
        below: the path under which the app is served, without a slash at its end.
    """
    headers = Headers(scope=scope)
    return (
        _by_name(headers, settings)
        or _by_origin(headers, settings)
        or _by_place(scope, settings, scope["path"].removeprefix(below))
        or _by_size(scope, headers)
    )


def _by_name(headers: Headers, settings: served.Served) -> Refusal | None:
    """Whether it is called by a name of its own, whatever the port."""
    hosts = headers.getlist("host")
    named = host_name(hosts[0]) if len(hosts) == 1 else ""
    return None if named in (*served.HERE, *settings.hosts) else NOT_BY_THIS_NAME


def host_name(host: str) -> str:
    """The name in a Host header, in lower case; empty if that is not a name and a port."""
    name, colon, port = host.lower().rpartition(":")
    if not colon or host.endswith("]"):
        return host.lower()
    return name if port.isdigit() and port.isascii() else ""


def _by_origin(headers: Headers, settings: served.Served) -> Refusal | None:
    """Whether a request that says which web site it comes from comes from this one.

    That is the one it asks for, letter by letter; behind a proxy that asks in a name of its own, it
    is one of the names in the settings. What is no browser says nothing; a browser always does,
    except when a link is followed.
    """
    names = (headers["host"], *settings.hosts)
    own = {f"{scheme}://{name}" for name in names for scheme in ("http", "https")}
    origins = headers.getlist("origin")
    return None if len(origins) < 2 and {*origins} <= own else NOT_FROM_THERE


def _by_place(scope: Scope, settings: served.Served, path: str) -> Refusal | None:
    """Whether there is something to be had, and in this way."""
    if scope["type"] == "websocket":
        return None if path == STREAM else NOT_HERE
    if settings.own_data and path.startswith(UPLOAD):
        return None if scope["method"] in ("PUT", "DELETE") else NOT_SO
    if path not in ANSWERED and any(path == at or path.startswith(f"{at}/") for at in CLOSED):
        return NOT_HERE
    return None if scope["method"] in ("GET", "HEAD") else NOT_SO


def _by_size(scope: Scope, headers: Headers) -> Refusal | None:
    """Whether it is larger than what a visitor sends; Streamlit limits uploads and messages."""
    if len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
        return TOO_LONG
    unsaid = "transfer-encoding" in headers
    if scope.get("method") == "PUT":
        return HOW_LARGE if unsaid else None
    return TOO_LARGE if unsaid or headers.get("content-length", "0") != "0" else None
