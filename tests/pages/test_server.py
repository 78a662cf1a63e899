"""Settings of a served instance, and requests that it refuses before Streamlit sees them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pages.app import opened, texts
from ui import start
from ui.server import settings
from ui.server.http_filter import HttpFilter
from ui.server.settings import ServerSettings, read
from ui.view import page_table

OTHERS = {"SERVED": "1", "HOSTS": "class.example.org"}


def settings_of(environment: dict[str, str]) -> ServerSettings:
    return read({f"ABCDP_{name}": text for name, text in environment.items()})


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, ServerSettings()),
        ({"SERVED": "0", "HOSTS": " ", "WORK_LIMIT": " "}, ServerSettings()),
        # Others get less, unless more is said.
        (OTHERS, ServerSettings(("class.example.org",), 60.0, False, False, to_others=True)),
        (
            OTHERS | {"WORK_LIMIT": "none", "OWN_DATA": "1", "BUDGET": "term", "RUN_BY": "X"},
            ServerSettings(("class.example.org",), None, True, False, "term", "X", to_others=True),
        ),
        # Each holds for a person alone, too.
        ({"WORK_LIMIT": " 2.5 ", "OWN_DATA": "0"}, ServerSettings((), 2.5, False)),
        (
            {"HOSTS": "A.Example.org, b ,,b,192.168.1.5,::1,[FE80::1]"},
            ServerSettings(("a.example.org", "b", "192.168.1.5", "[::1]", "[fe80::1]")),
        ),
        (
            {"FRAMES": "https://Moodle.example.org, http://b:8080,"},
            ServerSettings(frames=("https://moodle.example.org", "http://b:8080")),
        ),
    ],
)
def test_settings_of_an_environment(environment: dict[str, str], found: ServerSettings) -> None:
    assert settings_of(environment) == found


REFUSED = {
    "HOSTS": ["http://a.org", "a.org:8501", "*", "a b", "a..b", "192.168.1.256", "ü.org"],
    "WORK_LIMIT": ["0.99", "86401", "nan", "a minute"],
    "SERVED": ["yes"],
    "FRAMES": ["a.org", "https://a.org/", "*", "https://*.a.org", "https://a.org; script-src *"],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_allowed_ends_the_start_in_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in REFUSED[name]:
        monkeypatch.setattr(settings, "current", lambda text=text: settings_of({name: text}))
        with pytest.raises(SystemExit, match=rf"^ABCDP_{name} = '.*': must be .*\.$"):
            start.middleware()
    with pytest.raises(settings.SettingsError, match="ABCDP_HOSTS has to say"):
        settings_of({"SERVED": "1"})


SHARED = ServerSettings(to_others=True, run_by="Statistics ![](http://192.0.2.1) $x$")


@pytest.mark.parametrize(
    ("at", "shown", "is_local"),
    [
        ("http://localhost:8501", ServerSettings(), True),
        ("http://127.0.0.1:8501/your_own_data", ServerSettings(), True),
        # Through a tunnel to this computer; and served to others on it.
        ("https://abc.example.org", ServerSettings(), False),
        ("http://localhost:8501", SHARED, False),
    ],
)
def test_a_visitor_of_somebody_elses_server_is_told(
    at: str, shown: ServerSettings, is_local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "current", lambda: shown)
    app = opened("your_own_data", at=at)
    footer = "\n".join(str(each.value) for each in app.sidebar.caption)
    host = f", run by ` {shown.run_by} `." if shown.run_by else "."
    assert ("Nothing leaves this computer." in footer) == is_local
    assert (f"{host} Your settings go to this server, and the" in footer) != is_local
    warned = [f"**This is a shared server**{host}" in str(each.value) for each in app.warning]
    assert warned == [True] * (not is_local)


def test_settings_may_be_streamlits_secrets_and_a_refusal_names_the_host(tmp_path: Path) -> None:
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "secrets.toml").write_text('ABCDP_HOSTS = "abc.example.org"\n')
    program = "from ui import start; print(start.middleware()[0].kwargs['settings'].hosts)"
    path = {"PYTHONPATH": str(Path(__file__).parents[2])}
    said = subprocess.check_output(
        [sys.executable, "-c", program], cwd=tmp_path, env=os.environ | path, text=True
    )
    assert said == "('abc.example.org',)\n"
    (_, body), _ = answers("http", headers_of("10.0.0.7:8501\nx"))
    assert b"the name '10.0.0.7:8501\\nx'," in body["body"]


def test_there_is_no_page_for_own_data_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {page.file for page in page_table.shown()}
    monkeypatch.setattr(settings, "current", lambda: ServerSettings(own_data=False))
    assert files - {page.file for page in page_table.shown()} == {"your_own_data"}
    app = opened("your_own_data")
    assert not app.exception
    # The first page is there in its place.
    assert any(each.key == "story" for each in app.get("bidi_component"))
    assert "Your own data" not in texts(app)
    assert not app.get("file_uploader")


def test_a_framed_page_offers_no_release_and_no_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "is_framed", lambda: True)
    for page in ("your_own_data", "published_queries"):
        app = opened(page)
        assert not app.exception
        assert not app.get("file_uploader")
        (link,) = [each for each in app.get("link_button") if "tab" in each.proto.label]
        assert "version=" in link.proto.url
        assert "embed" not in link.proto.url
    app = opened("live_poll")
    (said,) = [str(each.value) for each in app.info]
    assert said.startswith("In a frame there are no live polls")
    assert not [each for each in app.button if "poll" in (each.key or "")]


# ------------------------------------------------------------------------------------ its requests

CLASS = ServerSettings(hosts=("class.example.org", "192.168.1.5", "[fe80::1]"))

Headers = list[tuple[bytes, bytes]]


def headers_of(host: str | None = "localhost:8501", *origins: str) -> Headers:
    named = [("host", host), *(("origin", origin) for origin in origins)]
    return [(name.encode(), text.encode()) for name, text in named if text is not None]


def answers(
    kind: str, headers: Headers, settings: ServerSettings = CLASS, query: bytes = b""
) -> Any:
    """Return what the filter sends, and the scope that Streamlit then sees, if it is asked."""
    sent: list[dict[str, Any]] = []
    seen: list[dict[str, Any]] = []

    async def streamlit(scope: Any, _: Any, send: Any) -> None:
        seen.append(scope)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": b"yes"})

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": kind, "path": "/", "headers": headers, "query_string": query}
    asyncio.run(HttpFilter(streamlit, settings)(scope, None, send))  # type: ignore[arg-type]
    return sent, seen


def is_allowed(headers: Headers, settings: ServerSettings = CLASS) -> bool:
    """Whether a request is passed on; by http and by websocket alike."""
    found = {}
    for kind, refusal in (("http", 403), ("websocket", 1008)):
        sent, seen = answers(kind, headers, settings)
        found[kind] = bool(seen)
        assert seen or sent[0].get("status", sent[0].get("code")) == refusal
    assert len({*found.values()}) == 1
    return found["http"]


HOSTS = {
    "own": ["localhost", "127.0.0.1:8501", "[::1]:8501", "[::1]", "LOCALHOST"],
    "class": ["class.example.org", "Class.Example.org:443", "192.168.1.5:8501", "[fe80::1]:8501"],
    "foreign": [
        *(None, "", ":8501", "evil.example", "evil.example:8501", "localhost.evil.example", "*"),
        *("localhost:8501:8501", "localhost:x", "x@localhost", "localhost,evil.example", "[::1"),
    ],
}


@pytest.mark.parametrize("group", HOSTS)
def test_only_the_names_of_this_machine_and_of_the_settings_are_answered(group: str) -> None:
    for host in HOSTS[group]:
        assert is_allowed(headers_of(host)) == (group != "foreign"), host
        assert is_allowed(headers_of(host), ServerSettings()) == (group == "own"), host
    assert not is_allowed(headers_of() + headers_of())


OWN = [
    ("localhost:8501", "http://localhost:8501"),
    ("Localhost:8501", "HTTP://localhost:8501"),
    # A proxy asks by a name of its own.
    ("localhost:8501", "https://class.example.org"),
]
FOREIGN = [
    *("http://evil.example", "null", "", "http://localhost", "http://localhost:3000", "file://"),
    *("http://localhost:8501.evil.example", "http://127.0.0.1:8501", "http://localhost:8501/"),
    *("http://x@localhost:8501", "https://class.example.org:444"),
]


@pytest.mark.parametrize(
    ("host", "origin", "allowed"),
    [*((*own, True) for own in OWN), *(("localhost:8501", text, False) for text in FOREIGN)],
)
def test_only_own_pages_may_ask(host: str, origin: str, allowed: bool) -> None:
    assert is_allowed(headers_of(host, origin)) == allowed
    assert not is_allowed(headers_of(host, origin, origin))


def test_streamlit_sees_no_origin_that_it_could_look_up() -> None:
    _, (seen,) = answers("websocket", headers_of("localhost", "http://localhost"))
    assert seen["headers"] == headers_of("localhost")
    _, seen = answers("lifespan", [])
    assert [each["type"] for each in seen] == ["lifespan"]


@pytest.mark.parametrize("host", ["localhost", "evil.example"])
def test_every_answer_says_that_nothing_may_be_loaded_from_elsewhere(host: str) -> None:
    (start, body), _ = answers("http", headers_of(host))
    assert body["body"] == b"yes" or b"ABCDP_HOSTS" in body["body"]
    headers = dict(start["headers"])
    policy = headers[b"content-security-policy"].decode()
    assert policy.startswith("default-src 'self'")
    assert not [part for part in policy.split() if "*" in part or "http" in part or "ws" in part]
    assert headers[b"x-content-type-options"] == b"nosniff"


@pytest.mark.parametrize(
    ("query", "framed"),
    [(b"", False), (b"embed=true&n=5", True), (b"n=5&embed=true", True), (b"xembed=true", False)],
)
def test_other_sites_may_frame_only_a_page_that_knows_it(query: bytes, framed: bool) -> None:
    sites = "https://moodle.example.org", "http://b:8080"
    (start, _), _ = answers("http", headers_of(), ServerSettings(frames=sites), query)
    policies = [text for name, text in start["headers"] if name == b"content-security-policy"]
    (ancestors,) = [text.decode().partition("frame-ancestors ")[2] for text in policies]
    assert ancestors.split() == ["'self'", *(sites if framed else ())]
