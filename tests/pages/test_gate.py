"""Who is let through the gate: own names, own origins, and only where visitors ask."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartParser
from starlette.requests import ClientDisconnect
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.file_util import get_static_dir
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.testing.v1 import AppTest
from streamlit.watcher import LocalSourcesWatcher
from streamlit.web.server.app_discovery import discover_asgi_app

from tests.pages.app import ROOT, SMALL, settled
from ui import files, gate
from ui.gate import Gate, refusal
from ui.served import Served

CLASS = Served(hosts=("class.example.org", "192.168.1.5", "[fe80::1]"), to_others=True)
RELEASES = Served()


def scope(
    path: str = "/",
    method: str = "GET",
    host: str | None = "localhost:8501",
    query: str = "",
    **headers: str,
) -> dict[str, Any]:
    """A request as a server hands it on; a websocket's handshake has the method ``WS``."""
    named = {} if host is None else {"host": host}
    texts = named | {name.replace("_", "-"): text for name, text in headers.items()}
    common = {
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), text.encode()) for name, text in texts.items()],
    }
    return common | (
        {"type": "websocket"} if method == "WS" else {"type": "http", "method": method}
    )


@pytest.fixture(autouse=True)
def other_tests_log_what_they_like(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate.log, "write_seldom", lambda: None)


@pytest.mark.parametrize("host", ["localhost:8501", "127.0.0.1:8501", "[::1]:8501", "LOCALHOST"])
def test_this_machine_may_always_ask(host: str) -> None:
    assert refusal(scope(host=host), RELEASES) is None


@pytest.mark.parametrize(
    "host", ["class.example.org", "Class.Example.org:443", "192.168.1.5:8501", "[fe80::1]:8501"]
)
def test_a_name_of_the_settings_may_be_used_and_no_other_server_knows_it(host: str) -> None:
    assert refusal(scope(host=host), CLASS) is None
    assert refusal(scope(host=host), RELEASES) == gate.NOT_BY_THIS_NAME


@pytest.mark.parametrize(
    "host",
    [
        *(None, "", ":8501", "evil.example", "localhost.evil.example", "localhost:8501:8501"),
        *("evil.example:8501", "localhost:", "localhost:x", "localhost:٣", "x@localhost"),
        *(
            "localhost/",
            "localhost,evil.example",
            "*",
            "::1",
            "[::1",
            "192.168.1.50",
            "local\thost",
        ),
    ],
)
def test_any_other_name_is_refused_whatever_is_asked_for(host: str | None) -> None:
    for asked in (scope(host=host), scope(gate.STREAM, "WS", host=host)):
        assert refusal(asked, CLASS) == gate.NOT_BY_THIS_NAME


def test_two_names_are_none() -> None:
    asked = scope()
    asked["headers"].append((b"host", b"localhost:8501"))
    assert refusal(asked, RELEASES) == gate.NOT_BY_THIS_NAME


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:8501", "localhost:8501"),
        ("https://class.example.org", "class.example.org"),
        ("http://192.168.1.5:8501", "192.168.1.5:8501"),
    ],
)
def test_own_origin_is_let_through(origin: str, host: str) -> None:
    assert refusal(scope(gate.STREAM, "WS", host=host, origin=origin), CLASS) is None


def test_behind_a_proxy_with_a_name_of_its_own_the_origin_is_one_of_the_settings() -> None:
    for scheme in ("http", "https"):
        asked = scope(gate.STREAM, "WS", origin=f"{scheme}://class.example.org")
        assert refusal(asked, CLASS) is None
        assert refusal(asked, RELEASES) == gate.NOT_FROM_THERE
    other_port = scope(gate.STREAM, "WS", origin="https://class.example.org:444")
    assert refusal(other_port, CLASS) == gate.NOT_FROM_THERE


def test_what_is_no_browser_has_no_origin() -> None:
    assert refusal(scope(gate.STREAM, "WS"), RELEASES) is None


@pytest.mark.parametrize(
    "origin",
    [
        *("http://evil.example", "null", "", "http://localhost", "http://localhost:3000"),
        *("http://localhost:8501.evil.example", "http://evil.example/localhost:8501"),
        *("http://127.0.0.1:8501", "ftp://localhost:8501", "file://", "localhost:8501"),
        *("http://x@localhost:8501", "http://localhost:8501/", "http://localhost:8501 x"),
    ],
)
@pytest.mark.parametrize(
    ("path", "method"),
    [(gate.STREAM, "WS"), (f"{gate.UPLOAD}a/b", "PUT"), ("/", "GET"), (gate.ANSWERED[0], "GET")],
)
def test_any_other_origin_is_refused(origin: str, path: str, method: str) -> None:
    assert refusal(scope(path, method, origin=origin), RELEASES) == gate.NOT_FROM_THERE


def test_two_origins_are_refused() -> None:
    asked = scope(gate.STREAM, "WS", origin="http://localhost:8501")
    asked["headers"].append((b"origin", b"http://localhost:8501"))
    assert refusal(asked, RELEASES) == gate.NOT_FROM_THERE


@pytest.mark.parametrize(
    "path", ["/", "/posterior", "/static/js/x.js", "/media/x.csv", "/favicon.png", *gate.ANSWERED]
)
def test_what_a_page_is_made_of_can_be_had(path: str) -> None:
    assert refusal(scope(path), RELEASES) is None
    assert refusal(scope(path, "HEAD"), RELEASES) is None
    for method in ("POST", "OPTIONS", "PUT", "DELETE", "TRACE"):
        assert refusal(scope(path, method), RELEASES) == gate.NOT_SO


@pytest.mark.parametrize(
    "path",
    [
        *("/_stcore/metrics", "/_stcore/metrics/", "/_stcore", "/_stcore/", "/_stcore/stream"),
        *("/_stcore/agent/mcp", "/_stcore/agent/interact", "/_stcore/script-health-check"),
        *("/component/a/b", "/auth/login", "/oauth2callback", "/app/static/x"),
        *("/_stcore/health/", "/_stcore/health/x", "/_stcore/bidi-components/x"),
    ],
)
def test_what_no_visitor_asks_for_is_not_there(path: str) -> None:
    assert refusal(scope(path), RELEASES) == gate.NOT_HERE


@pytest.mark.parametrize("path", ["/", "/_stcore/streams", "/posterior/_stcore/stream"])
def test_a_handshake_anywhere_else_is_refused(path: str) -> None:
    assert refusal(scope(path, "WS"), RELEASES) == gate.NOT_HERE


def test_files_are_taken_only_where_there_is_the_page_for_them() -> None:
    upload = scope(f"{gate.UPLOAD}session/file", "PUT", content_length="100")
    assert refusal(upload, RELEASES) is None
    assert refusal(upload, Served(own_data=False)) == gate.NOT_HERE
    assert refusal(scope(f"{gate.UPLOAD}a/b"), RELEASES) == gate.NOT_SO


def test_below_a_path_the_same_holds() -> None:
    assert refusal(scope("/abc/_stcore/stream", "WS"), RELEASES, "/abc") is None
    assert refusal(scope("/abc/_stcore/metrics"), RELEASES, "/abc") == gate.NOT_HERE


def test_only_a_file_is_sent_and_an_address_has_an_end() -> None:
    longest = "x" * (gate.LONGEST_ADDRESS - 1)
    assert refusal(scope(query=longest), RELEASES) is None
    assert refusal(scope(query=f"{longest}x"), RELEASES) == gate.TOO_LONG
    assert refusal(scope(gate.STREAM, "WS", query=f"{longest}x"), RELEASES) == gate.TOO_LONG
    assert refusal(scope(content_length="0"), RELEASES) is None
    for headers in ({"content_length": "1"}, {"transfer_encoding": "chunked"}):
        assert refusal(scope(**headers), RELEASES) == gate.TOO_LARGE
    assert refusal(scope(f"{gate.UPLOAD}a/b", "PUT", content_length="1"), RELEASES) is None
    unsaid = scope(f"{gate.UPLOAD}a/b", "PUT", transfer_encoding="chunked")
    assert refusal(unsaid, RELEASES) == gate.HOW_LARGE


def answers(asked: dict[str, Any], kind: str = "text/plain", **more: Any) -> list[dict[str, Any]]:
    """What the gate sends, with an app behind it that says yes to everything."""
    sent: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", kind.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"yes"})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nothing of a request's body is read at the gate")

    asyncio.run(Gate(app, RELEASES, **more)(asked, receive, send))
    return sent


def test_a_refusal_is_a_sentence_and_the_app_is_not_asked() -> None:
    start, body = answers(scope(host="evil.example"))
    assert start["status"] == 403
    assert b"ABCDP_HOSTS" in body["body"]
    assert answers(scope(gate.STREAM, "WS", origin="null")) == [
        {"type": "websocket.close", "code": 1008}
    ]


def test_an_answer_says_that_nothing_may_be_loaded_from_elsewhere() -> None:
    start, body = answers(scope())
    assert body["body"] == b"yes"
    headers = dict(start["headers"])
    policy = headers[b"content-security-policy"].decode()
    assert not {part for part in policy.split() if "*" in part or "http" in part or "ws" in part}
    assert headers[b"x-content-type-options"] == b"nosniff"


def test_a_page_names_the_code_that_draws_figures_and_nothing_else_does() -> None:
    path = gate.drawing_code()
    assert (Path(get_static_dir()) / path.removeprefix("/")).is_file()
    for kind, below, wanted in [
        ("text/html; charset=utf-8", "", f"<{path}>; rel=modulepreload"),
        ("text/html", "/abc", f"</abc{path}>; rel=modulepreload"),
        ("application/json", "", None),
    ]:
        start, _ = answers(scope(f"{below}/posterior"), kind, below=below)
        link = dict(start["headers"]).get(b"link")
        assert (link and link.decode()) == wanted


def test_a_large_answer_is_sent_in_pieces_and_others_have_their_turn_between() -> None:
    """Written as a whole, a slow reader would have to take all of it within twenty seconds."""
    content, turns = bytes(range(256)) * 1000, 0

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": content, "more_body": True})
        await send({"type": "http.response.body", "body": b"end"})

    async def asking() -> list[dict[str, Any]]:
        sent: list[dict[str, Any]] = []

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async def send(message: Any) -> None:
            sent.append(message)

        busy = asyncio.ensure_future(other())
        await Gate(app, RELEASES)(scope(), AsyncMock(), send)
        busy.cancel()
        return sent

    start, *pieces = asyncio.run(asking())
    assert start["type"] == "http.response.start"
    assert b"".join(each["body"] for each in pieces) == content + b"end"
    assert max(len(each["body"]) for each in pieces) == gate.PIECE
    assert [each.get("more_body", False) for each in pieces] == [True] * (len(pieces) - 1) + [False]
    assert turns >= len(content) // gate.PIECE


def test_nobody_gets_a_copy_of_a_file_of_their_own() -> None:
    """A few hundred that nobody reads had five gigabytes."""
    seen: list[set[str]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append({name.decode() for name, _ in scope["headers"]})

    mine = {"range": "bytes=1-", "if_range": "x", "accept_encoding": "gzip"}
    for path in ("/abc/media/f.html", "/abc/static/f.js", "/abc/./static/f.js"):
        asyncio.run(Gate(app, RELEASES, "/abc")(scope(path, **mine), AsyncMock(), AsyncMock()))
    assert seen == [{"host"}] * 3


def test_what_is_opened_is_told_below_which_path_the_app_may_be() -> None:
    told: list[str] = []
    answers(scope("/abc/posterior"), below="/abc", opened=told.append)
    answers(scope("/abc/posterior", host="evil.example"), below="/abc", opened=told.append)
    assert told == ["/posterior"]


def test_streamlit_sees_no_origin_that_it_could_look_up() -> None:
    seen: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope)

    for method in ("WS", "GET"):
        asked = scope(
            gate.STREAM if method == "WS" else "/", method, origin="http://localhost:8501"
        )
        asyncio.run(Gate(app, RELEASES)(asked, None, None))  # type: ignore[arg-type]
        assert seen.pop()["headers"] == [(b"host", b"localhost:8501")]


def test_so_many_visitors_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "MOST_VISITORS", 2)
    refused: list[Any] = []

    async def send(message: Any) -> None:
        refused.append(message)

    async def visit() -> None:
        leave = asyncio.Event()

        door = Gate(app_of(leave), RELEASES)
        asked = scope(gate.STREAM, "WS")

        async def come() -> None:
            await door(asked, None, send)  # type: ignore[arg-type]

        for _ in range(2):
            inside = [asyncio.create_task(come()) for _ in range(2)]
            await asyncio.sleep(0)
            await come()
            leave.set()
            await asyncio.gather(*inside)
            leave.clear()

    asyncio.run(visit())
    assert refused == [{"type": "websocket.close", "code": 1008}] * 2


@pytest.mark.parametrize(
    ("held", "guests", "got"),
    [
        ([], 250, 250),
        ([], 251, 250),
        ([120, 120], 80, 80),
        ([125, 125], 80, 80),
        ([250], 80, 80),
        ([250], 200, 125),
        ([125, 125], 200, 83),
        ([83, 83, 83], 1, 1),
        ([84, 83, 83], 1, 1),
        ([1] * 250, 1, 0),
        ([2, *[1] * 248], 1, 1),
        ([2, *[1] * 248], 2, 1),
    ],
)
def test_a_class_and_a_stranger_are_let_in_whatever_two_others_hold(
    held: list[int], guests: int, got: int
) -> None:
    places, here = gate.Places(gate.MOST_VISITORS), list[tuple[str, asyncio.Event]]()

    def come(address: str, count: int) -> int:
        taken = [place for _ in range(count) if (place := places.take(address)) is not None]
        here.extend((address, place) for place in taken)
        return len(taken)

    for number, count in enumerate(held):
        assert come(f"other {number}", count) == count
    assert come("guests", guests) == got
    # Where as many addresses as there are places have one each, there is none to be given up.
    assert come("stranger", 1) == (len(held) < 100)
    assert sum(not place.is_set() for _, place in here) <= gate.MOST_VISITORS
    for address, place in here:
        places.leave(address, place)
    assert not places._taken


def test_who_took_a_place_last_gives_it_back_and_stays_away() -> None:
    places = gate.Places(gate.MOST_VISITORS)
    taken = [places.take("many") for _ in range(gate.MOST_VISITORS)]
    own = places.take("one")
    assert own is not None
    assert [place.is_set() for place in taken if place] == [*[False] * 249, True]
    for _ in range(3):
        assert places.take("many") is None
    places.leave("many", taken[-1])  # type: ignore[arg-type]
    assert places.take("many") is None
    places.leave("one", own)
    assert places.take("many") is not None


def test_a_place_given_to_others_ends_the_connection_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gate, "MOST_VISITORS", 2)
    ended: list[tuple[str, int]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        ended.append((scope["client"][0], (await receive())["code"]))

    async def visits() -> None:
        door = Gate(app, RELEASES)

        async def come(host: str) -> None:
            stays = asyncio.Event()

            async def receive() -> Any:
                await stays.wait()

            asked = scope(gate.STREAM, "WS") | {"client": (host, 1)}
            await door(asked, receive, None)  # type: ignore[arg-type]

        inside = [asyncio.create_task(come(host)) for host in "aab"]
        (done, _) = await asyncio.wait(inside, timeout=0.5, return_when=asyncio.FIRST_COMPLETED)
        assert done == {inside[1]}
        for task in inside:
            task.cancel()
        await asyncio.gather(*inside, return_exceptions=True)
        assert not door._places._taken

    asyncio.run(visits())
    assert ended == [("a", 1013)]


def app_of(leave: asyncio.Event) -> Any:
    """An app whose visitors stay until they are to leave."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await leave.wait()

    return app


def heard(*said: dict[str, Any]) -> list[dict[str, Any]]:
    """What of a page's messages is handed on, up to the end of the connection."""
    left = [*said, {"type": "websocket.disconnect"}]
    seen: list[dict[str, Any]] = []

    async def receive() -> Any:
        return left.pop(0)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while not seen or seen[-1]["type"] != "websocket.disconnect":
            seen.append(await receive())

    asyncio.run(Gate(app, RELEASES)(scope(gate.STREAM, "WS"), receive, None))  # type: ignore[arg-type]
    return seen


def says(message: BackMsg) -> dict[str, Any]:
    return {"type": "websocket.receive", "bytes": message.SerializeToString()}


def test_of_what_a_page_says_is_heard_what_there_is_a_use_for() -> None:
    state = ClientState(page_name="posterior")
    rerun, stop = says(BackMsg(rerun_script=state)), says(BackMsg(stop_script=True))
    zipped = BackMsg()
    zipped.backend_operation_request.deferred_file.file_id = "zip"
    assert heard(rerun, says(zipped), stop)[:3] == [rerun, says(zipped), stop]
    install = BackMsg()
    install.backend_operation_request.install_skills.SetInParent()
    empty = BackMsg()
    empty.backend_operation_request.request_id = "x"
    useless = [
        *(BackMsg(clear_cache=True), BackMsg(set_run_on_save=True), BackMsg(load_git_info=True)),
        *(BackMsg(debug_shutdown_runtime=True), install, empty, BackMsg()),
    ]
    assert heard(*map(says, useless), rerun)[0] == rerun


@pytest.mark.parametrize("text", ["x\nforged", "\x1b[31m", "\u202e", "x" * 9])
def test_no_name_in_a_message_writes_lines_or_commands_to_the_log(text: str) -> None:
    messages = [BackMsg() for _ in range(9)]
    (rerun, page, script, file, request, session, table, zone, language) = messages
    zone.rerun_script.context_info.timezone = text
    language.rerun_script.context_info.locale = text
    rerun.rerun_script.fragment_id = text
    page.rerun_script.page_name = text
    script.rerun_script.page_script_hash = text
    file.backend_operation_request.deferred_file.file_id = text
    for each in (request, session, table):
        each.backend_operation_request.dataframe_chunk.SetInParent()
    request.backend_operation_request.request_id = text
    session.backend_operation_request.session_id = text
    chunk = table.backend_operation_request.dataframe_chunk
    (name, *_) = [each.name for each in chunk.DESCRIPTOR.fields if each.type == each.TYPE_STRING]
    setattr(chunk, name, text)
    assert {gate.is_of_use(each) for each in messages} == {text.isprintable()}


def test_a_page_says_few_names_and_short_ones() -> None:
    """For half a million names of files Streamlit's event loop works for half a minute."""
    asked = BackMsg()
    asked.file_urls_request.request_id = "x" * gate.LONGEST_NAME
    asked.file_urls_request.file_names.extend(["series.csv"] * gate.MOST_NAMES)
    assert gate.is_of_use(asked)
    asked.file_urls_request.file_names.append("")
    assert not gate.is_of_use(asked)
    long = BackMsg()
    long.backend_operation_request.deferred_file.file_id = "x" * (gate.LONGEST_NAME + 1)
    assert not gate.is_of_use(long)


def test_a_page_says_few_values_at_once_whatever_of() -> None:
    """Of 199,000 names of messages, or 480,000 texts of one widget, 13 to 27 MB were kept."""

    def of_use(widgets: int, texts: int, kept: int) -> bool:
        said = BackMsg()
        said.rerun_script.cached_message_hashes.extend(["x"] * kept)
        for _ in range(widgets):
            said.rerun_script.widget_states.widgets.add(id="$$ID-c").bool_value = True
        if texts:
            first = said.rerun_script.widget_states.widgets[0]
            first.string_array_value.data.extend([""] * texts)
        return len(heard(says(said))) > 1

    most = gate.MOST_VALUES
    at_most = [(most, 0, 0), (1, most - 1, 0), (0, 0, most), (most - 200, 100, 100)]
    assert [of_use(*counts) for counts in at_most] == [True] * 4
    above = [(most + 1, 0, 0), (1, most, 0), (0, 0, most + 1), (most - 200, 101, 100)]
    assert [of_use(*counts) for counts in above] == [False] * 4


@pytest.mark.parametrize(("name", "is_heard"), [("$$ID-0-c", True), ("c", False), ("", False)])
def test_what_a_page_says_of_a_widget_is_of_one(name: str, is_heard: bool) -> None:
    """By a plain name it is a value of the session's, and the page ended in an error."""
    said = BackMsg()
    said.rerun_script.widget_states.widgets.add(id=name).bool_value = True
    assert gate.is_of_use(said) == is_heard


def test_who_says_many_values_is_heard_less_often() -> None:
    """Ten pages with 990 widgets in each of eight messages a second held everybody."""
    said = BackMsg()
    for _ in range(990):
        said.rerun_script.widget_states.widgets.add(id="$$ID-c").bool_value = True
    many = says(said)
    assert len(heard(*[many] * 10)) <= 6


def test_of_too_many_values_none_is_looked_at() -> None:
    """To go through those of a large message would hold everybody."""
    said = BackMsg()
    said.rerun_script.widget_states.widgets.extend([WidgetState()] * (gate.MOST_VALUES + 1))
    assert next(gate._lengths(said)) == gate._values(said) == gate.MOST_VALUES + 1


@pytest.mark.parametrize(
    ("url", "is_heard"),
    [
        ("", True),
        ("http://localhost:8501/posterior?c=%C3%A9", True),
        ("https://[2001:db8::7]/some/where/plan", True),
        ("http://[::1", False),
        ("http://\u2100/", False),
        ("http://\u2100\x1bc/", False),
        ("http://localhost:forged/", False),
        ("http://localhost:99999/", False),
        ("http://localhost/\x1b[31m", False),
        (f"http://localhost/{'x' * gate.LONGEST_ADDRESS}", False),
    ],
)
def test_what_a_page_says_of_its_own_address_is_one_and_not_long(url: str, is_heard: bool) -> None:
    """Of what is none there was a traceback with it in the log; long ones were kept for ever."""
    said = BackMsg()
    said.rerun_script.context_info.url = url
    assert gate.is_of_use(said) == is_heard


def test_a_page_opened_by_a_message_has_no_longer_link_than_one_opened_by_a_browser() -> None:
    """Of 65,000 pins the reading took 5 s, while no page of anybody's was drawn."""
    said = BackMsg()
    said.rerun_script.query_string = "pin=".ljust(gate.LONGEST_ADDRESS, "x")
    assert gate.is_of_use(said)
    said.rerun_script.query_string += "x"
    assert not gate.is_of_use(said)


@pytest.mark.parametrize(
    ("path", "kind", "is_page"),
    [
        ("/", "text/html; charset=utf-8", True),
        ("/posterior", "text/html", True),
        ("/media/report.html", "text/html", False),
        ("/static/js/index.js", "text/javascript", False),
    ],
)
def test_streamlits_page_gets_what_it_lacks_and_nothing_else_does(
    path: str, kind: str, is_page: bool
) -> None:
    page = b"<html><head><title>A</title></head></html>"
    sent: list[Any] = []
    former = {"if-none-match": "x", "if-modified-since": "y"}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        # Who has a page without the script is not told that it is the same.
        assert (former.items() <= dict(Headers(scope=scope)).items()) != is_page
        headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(page))]
        headers.append((b"etag", b"x"))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": page})

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(Gate(app, RELEASES)(scope(path, **former), AsyncMock(), send))
    start, body = sent
    headers = Headers(raw=start["headers"])
    assert int(headers["content-length"]) == len(body["body"])
    assert (b"</script>" in body["body"]) == is_page
    assert (b'<meta name="google" content="notranslate">' in body["body"]) == is_page
    assert (body["body"] == page) != is_page
    assert ("etag" in headers) != is_page


def test_who_says_more_than_a_page_is_heard_no_more() -> None:
    stop = says(BackMsg(stop_script=True))
    assert heard(*[stop] * gate.AT_ONCE) == [
        *[stop] * gate.AT_ONCE,
        {"type": "websocket.disconnect"},
    ]
    more = heard(*[stop] * (gate.AT_ONCE + 60))
    # Some went by while these were sent.
    assert gate.AT_ONCE < len(more) < gate.AT_ONCE + 60
    assert more[-1] == {"type": "websocket.disconnect", "code": 1008}


def test_a_large_message_counts_for_many_and_one_too_large_is_not_read() -> None:
    state = ClientState(page_name="posterior")
    state.widget_states.widgets.add(id="$$".ljust(90_000, "x"))
    large = says(BackMsg(rerun_script=state))
    assert 5 <= len(heard(*[large] * 20)) < 15
    state.widget_states.widgets.add(id="x" * 10_000)
    too_large = says(BackMsg(rerun_script=state))
    assert heard(too_large, large) == [{"type": "websocket.disconnect", "code": 1009}]


@pytest.mark.parametrize(
    "said", [{"text": "hello"}, {"bytes": None, "text": "hello"}, {"bytes": b"\xff" * 9}]
)
def test_who_does_not_speak_as_pages_do_is_heard_no_more(said: dict[str, Any]) -> None:
    """Streamlit would write a traceback for each."""
    (end,) = heard({"type": "websocket.receive"} | said, says(BackMsg(stop_script=True)))
    assert end["type"] == "websocket.disconnect"


def test_few_files_lie_on_the_server_and_none_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    unread, answered = set[tuple[str, str]](), list[int]()
    monkeypatch.setattr(gate.files, "is_unread", lambda *file: file in unread)
    monkeypatch.setattr(gate.files, "remove", lambda *file: unread.remove(file))

    async def send(message: Any) -> None:
        answered.append(message.get("status", 0))

    async def visit(sent: list[tuple[str, str]]) -> list[int]:
        """Who sends from where; how many are taken and refused, then and after some time."""
        read = asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await read.wait()
            unread.add(tuple(scope["path"].removeprefix(gate.UPLOAD).split("/")))
            await send({"type": "http.response.start", "status": 204, "headers": []})

        door = Gate(app, RELEASES)
        counts = []
        for again in range(2):
            on_the_way = []
            for number, (session, host) in enumerate(sent):
                path = f"{gate.UPLOAD}{session}/{again} {number}"
                asked = scope(path, "PUT") | {"client": (host, 1)}
                on_the_way.append(asyncio.create_task(door(asked, None, send)))  # type: ignore[arg-type]
                await asyncio.sleep(0)
            read.set()
            await asyncio.gather(*on_the_way)
            counts += [answered.count(204), answered.count(429)]
            answered.clear()
        await asyncio.sleep(0.02)
        assert not door._sent
        assert not unread
        return counts

    monkeypatch.setattr(gate, "UNREAD", 0.01)
    assert asyncio.run(visit([("a", "x"), ("a", "y"), ("a", "z"), ("b", "x")])) == [3, 1, 1, 3]
    monkeypatch.setattr(gate, "MOST_SENT", 8)
    assert asyncio.run(visit([(f"{n}", "x") for n in range(9)])) == [8, 1, 0, 9]


@pytest.mark.parametrize("is_sent", [True, False])
def test_where_there_is_no_room_a_file_of_who_has_most_leaves(
    is_sent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five addresses with 32 files of four bytes kept everybody else from sending one."""
    unread = set[str]()
    monkeypatch.setattr(gate, "MOST_SENT", 8)
    monkeypatch.setattr(gate.files, "is_unread", lambda _, file: file in unread)
    monkeypatch.setattr(gate.files, "remove", lambda _, file: unread.discard(file))
    read = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if (await receive())["type"] == "http.disconnect":
            raise ClientDisconnect
        unread.add(scope["path"].rpartition("/")[2])
        await send({"type": "http.response.start", "status": 204, "headers": []})

    async def receive() -> Any:
        await read.wait()
        return {"type": "http.request"}

    async def visit() -> None:
        door, said = Gate(app, RELEASES), dict[str, int]()

        def put(address: str, number: int) -> asyncio.Task[None]:
            name = f"{address}{number}"

            async def send(message: Any) -> None:
                said.setdefault(name, message.get("status", 0))

            asked = scope(f"{gate.UPLOAD}{name}/{name}", "PUT") | {"client": (address, 1)}
            return asyncio.create_task(door(asked, receive, send))  # type: ignore[arg-type]

        if not is_sent:
            read.set()
        on_the_way = []
        for address, number in [*itertools.product("x", range(8)), *itertools.product("yz", "123")]:
            on_the_way.append(put(address, number))
            await asyncio.sleep(0.001)
        read.set()
        await asyncio.gather(*on_the_way)
        there = sorted(name[0] for name in unread)
        assert there == [*"xxxyyyzz"]
        taken = [name for name, status in said.items() if status == 204]
        assert len(taken) == (8 if is_sent else 13)
        assert set(said.values()) == {204, 429}
        assert not door._sent
        # What was read leaves its place, and who sends the same again takes no other.
        unread.clear()
        for _ in range(3):
            await put("v", 0)
        assert {address: len(places) for address, places in door._room._taken.items()} == {"v": 1}

    asyncio.run(visit())


def test_a_file_that_never_arrives_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "SENDING", 0.01)
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    door = Gate(app, RELEASES)
    asyncio.run(door(scope(f"{gate.UPLOAD}a/b", "PUT"), None, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 408
    assert not door._sent


def test_a_file_that_no_page_has_read_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = MemoryUploadedFileManager("/upload")
    monkeypatch.setattr(files, "_manager", lambda: manager)
    for name in "12":
        manager.add_file("gone", UploadedFileRec(name, "x.csv", "text/csv", b"1"))
    assert files.is_unread("gone", "1")
    assert not files.is_unread("gone", "3")
    assert not files.is_unread("other", "1")
    assert not manager.file_storage.keys() & {"other"}
    files.remove("gone", "1")
    files.remove("gone", "2")
    files.remove("gone", "2")
    assert not manager.file_storage


def test_nothing_is_kept_of_a_file_that_was_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer with its name would be: up to 16 kB each, for minutes, at a thousand a second."""
    removed: list[tuple[str, str]] = []
    monkeypatch.setattr(gate, "UNREAD", 0.0)
    monkeypatch.setattr(gate.files, "remove", lambda *file: removed.append(file))

    async def visit(status: int) -> None:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": status, "headers": []})

        async def send(message: Any) -> None: ...

        await Gate(app, RELEASES)(scope(f"{gate.UPLOAD}a/b", "PUT"), None, send)  # type: ignore[arg-type]
        await asyncio.sleep(0.01)

    asyncio.run(visit(403))
    assert not removed
    asyncio.run(visit(gate.TAKEN))
    assert removed == [("a", "b")]


def test_who_leaves_in_the_middle_of_a_file_leaves_no_traceback() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise ClientDisconnect

    door = Gate(app, RELEASES)
    asyncio.run(door(scope(f"{gate.UPLOAD}a/b", "PUT"), None, None))  # type: ignore[arg-type]
    assert not door._sent


def test_a_large_file_is_not_written_to_the_disk_on_its_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(MultiPartParser, "spool_max_size", MultiPartParser.spool_max_size)
    gate.middleware()
    line = b"-" * 10
    parts = (line, b'Content-Disposition: form-data; name="f"; filename="x.csv"', b"", b"1" * 2**21)
    body = b"\r\n".join((*parts, line + b"--", b""))

    async def stream() -> AsyncIterator[bytes]:
        yield body

    async def is_written() -> bool:
        headers = Headers({"content-type": f"multipart/form-data; boundary={line[2:].decode()}"})
        file = (await MultiPartParser(headers, stream()).parse())["f"]
        assert isinstance(file, UploadFile)
        assert file.size == 2**21
        with file.file:
            return bool(file.file._rolled)  # type: ignore[attr-defined]

    assert not asyncio.run(is_written())


def test_a_setting_that_is_not_allowed_ends_the_start_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ABCDP_HOSTS", "http://x")
    gate.served.settings.cache_clear()
    with pytest.raises(SystemExit, match=r"^ABCDP_HOSTS = http://x: must be names"):
        gate.middleware()


def test_the_file_that_defines_the_server_is_the_script_that_tests_run() -> None:
    """Else one of the two would be looked after by nobody."""
    assert discover_asgi_app(ROOT / "app.py").import_string == "app:app"
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params.update(SMALL)
    (headline,) = settled(app.run()).title
    assert re.fullmatch(r"\d+ of \d+", headline.value)


def test_who_leaves_while_something_is_sent_leaves_no_error() -> None:
    async def page(scope: Any, receive: Any, send: Any) -> None:
        seen = WebSocket(scope, receive, send)
        await seen.accept()
        with contextlib.suppress(WebSocketDisconnect):
            await seen.send_bytes(b"a picture")
        await seen.receive_bytes()

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        if message["type"] == "websocket.send":
            raise OSError

    door = Gate(page, RELEASES)
    asyncio.run(door(scope(gate.STREAM, "WS"), receive, send))
    assert not door._places._taken


@pytest.mark.parametrize(("watched", "looks"), [("none", False), ("auto", True)])
def test_no_module_is_looked_at_unless_changes_are_watched_for(
    watched: str, looks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[object] = []
    monkeypatch.setattr(LocalSourcesWatcher, "update_watched_modules", looked.append)
    monkeypatch.setattr(gate.st, "get_option", {"server.fileWatcherType": watched}.get)
    gate._look_for_no_changes()
    LocalSourcesWatcher.update_watched_modules(None)  # type: ignore[arg-type]
    assert bool(looked) == looks


def test_the_server_watches_for_no_changes() -> None:
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert settings["server"]["fileWatcherType"] == "none"
    assert "_look_for_no_changes" in gate.middleware.__code__.co_names
