"""Requests under a foreign name or from a foreign page are refused before Streamlit sees them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ui.server.http_filter import HttpFilter
from ui.server.settings import ServerSettings

CLASS = ServerSettings(hosts=("class.example.org", "192.168.1.5", "[fe80::1]"))

Headers = list[tuple[bytes, bytes]]


def headers_of(host: str | None = "localhost:8501", *origins: str) -> Headers:
    named = [("host", host), *(("origin", origin) for origin in origins)]
    return [(name.encode(), text.encode()) for name, text in named if text is not None]


def answers(kind: str, headers: Headers, settings: ServerSettings = CLASS) -> Any:
    """Return what the filter sends, and the scope that Streamlit then sees, if it is asked."""
    sent: list[dict[str, Any]] = []
    seen: list[dict[str, Any]] = []

    async def streamlit(scope: Any, _: Any, send: Any) -> None:
        seen.append(scope)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": b"yes"})

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": kind, "path": "/", "headers": headers}
    asyncio.run(HttpFilter(streamlit, settings)(scope, None, send))  # type: ignore[arg-type]
    return sent, seen


def is_allowed(kind: str, headers: Headers, settings: ServerSettings = CLASS) -> bool:
    sent, seen = answers(kind, headers, settings)
    if not seen:
        refusal = sent[0].get("status", sent[0].get("code"))
        assert refusal == {"http": 403, "websocket": 1008}[kind]
    return bool(seen)


HOSTS = {
    "own": ["localhost", "localhost:8501", "127.0.0.1:8501", "[::1]:8501", "[::1]", "LOCALHOST"],
    "class": ["class.example.org", "Class.Example.org:443", "192.168.1.5:8501", "[fe80::1]:8501"],
    "foreign": [
        *(None, "", ":8501", "evil.example", "evil.example:8501", "localhost.evil.example", "*"),
        *("localhost:8501:8501", "localhost:", "localhost:x", "x@localhost", "localhost/", "::1"),
        *("localhost,evil.example", "[::1", "192.168.1.50"),
    ],
}


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("group", "host"), [(group, host) for group, hosts in HOSTS.items() for host in hosts]
)
def test_only_the_names_of_this_machine_and_of_the_settings_are_answered(
    kind: str, group: str, host: str | None
) -> None:
    assert is_allowed(kind, headers_of(host)) == (group != "foreign")
    assert is_allowed(kind, headers_of(host), ServerSettings()) == (group == "own")


OWN = [
    ("localhost:8501", "http://localhost:8501"),
    ("Localhost:8501", "HTTP://localhost:8501"),
    ("192.168.1.5:8501", "http://192.168.1.5:8501"),
    ("class.example.org", "https://class.example.org"),
    # A proxy asks by a name of its own.
    ("localhost:8501", "https://class.example.org"),
]
FOREIGN = [
    *("http://evil.example", "null", "", "http://localhost", "http://localhost:3000", "file://"),
    *("http://localhost:8501.evil.example", "http://evil.example/localhost:8501"),
    *("http://127.0.0.1:8501", "ftp://localhost:8501", "localhost:8501", "http://localhost:8501/"),
    *("http://x@localhost:8501", "https://class.example.org:444"),
]


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("host", "origin", "allowed"),
    [*((*own, True) for own in OWN), *(("localhost:8501", text, False) for text in FOREIGN)],
)
def test_only_own_pages_may_ask(kind: str, host: str, origin: str, allowed: bool) -> None:
    assert is_allowed(kind, headers_of(host, origin)) == allowed


def test_two_hosts_or_two_origins_are_refused_even_if_both_are_own() -> None:
    assert not is_allowed("http", headers_of() + headers_of())
    assert not is_allowed("http", headers_of("localhost", "http://localhost", "http://localhost"))


def test_streamlit_sees_no_origin_that_it_could_look_up() -> None:
    _, (seen,) = answers("websocket", headers_of("localhost", "http://localhost"))
    assert seen["headers"] == headers_of("localhost")


@pytest.mark.parametrize("host", ["localhost", "evil.example"])
def test_every_answer_says_that_nothing_may_be_loaded_from_elsewhere(host: str) -> None:
    (start, body), _ = answers("http", headers_of(host))
    assert body["body"] == b"yes" or b"ABCDP_HOSTS" in body["body"]
    headers = dict(start["headers"])
    policy = headers[b"content-security-policy"].decode()
    assert policy.startswith("default-src 'self'")
    assert not [part for part in policy.split() if "*" in part or "http" in part or "ws" in part]
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"referrer-policy"] == b"same-origin"


def test_the_start_and_end_of_the_server_are_passed_on() -> None:
    _, seen = answers("lifespan", [])
    assert seen == [{"type": "lifespan", "path": "/", "headers": []}]
