"""What an attacker tries from outside: hostile links, foreign web sites, unknown names.

The server is started as the README tells a lecturer to, and all that it asks the network is noted.
"""

from __future__ import annotations

import http.client
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ROOT, Visit, free_port, running

pytestmark = [
    pytest.mark.xdist_group("browser"),
    # A browser that is being closed leaves sockets for the collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

IMAGE = "![](http://192.0.2.1/seen.png)"
"""An address that is nobody's (RFC 5737)."""

LECTURER = "127.0.0.2"
"""An address of this machine that is not its usual one."""

NOTE = """
import json, sys

WATCHED = ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostby", "urllib.")

def note(event, arguments):
    if event.startswith(WATCHED):
        with open({file!r}, "a") as file:
            print(event, arguments[-1] if event == "socket.connect" else arguments, file=file)

sys.addaudithook(note)
note("socket.connect", [" ".join(sys.orig_argv)])
"""
"""Python runs it as it starts, in workers too: every connection and look-up goes to a file, after
a first line that says who writes."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file with all that the server asks the network."""
    return tmp_path_factory.mktemp("asked") / "asked.txt"


@pytest.fixture(scope="module")
def server(asked: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port()
    (line,) = re.findall(r"^    (make serve .*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    line = re.sub(r"HOSTS=\S+", f"HOSTS={LECTURER}", line)
    (asked.parent / "sitecustomize.py").write_text(NOTE.format(file=str(asked)))
    said = subprocess.run(
        [*shlex.split(line), "--dry-run", f"PORT={port}", "BIN=BIN", "ARGS="],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    start = said.stdout.replace("\\\n", " ").splitlines()[-1]
    assert "BIN/python -m streamlit run app.py" in start
    command = ["env", *shlex.split(start.replace("BIN/python", shlex.quote(sys.executable)))]
    folder = tmp_path_factory.mktemp("server")
    with running(command, port, folder, PYTHONPATH=str(asked.parent)) as address:
        yield address


def status(address: str, path: str = "/", method: str = "GET", **headers: str) -> int:
    """What a request to this machine is answered with."""
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(address).port, timeout=20)
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    connection.request(method, path, headers=named)
    answer = connection.getresponse()
    connection.close()
    return answer.status


def handshake(address: str, **headers: str) -> int:
    return status(
        address,
        "/_stcore/stream",
        Connection="Upgrade",
        Upgrade="websocket",
        Sec_WebSocket_Version="13",
        Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==",
        **headers,
    )


def test_only_a_visitor_gets_a_connection_and_nobody_is_asked(server: str, asked: Path) -> None:
    here = urlsplit(server).netloc
    there = f"{LECTURER}:{urlsplit(server).port}"
    for host in (here, there):
        assert handshake(server, Host=host, Origin=f"http://{host}") == 101
        assert handshake(server, Host=host, Origin=f"https://{host}") == 101
    for origin in ("http://evil.example", "null", f"http://{there}", "http://localhost"):
        assert handshake(server, Host=here, Origin=origin) == 403
    for host in ("evil.example", f"evil.example:{urlsplit(server).port}", "192.0.2.1"):
        assert handshake(server, Host=host, Origin=f"http://{host}") == 403
        assert status(server, Host=host) == 403
    assert asked_of_others(asked) == []


def test_a_trace_would_see_a_look_up(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(NOTE.format(file=str(tmp_path / "asked.txt")))
    program = "import socket; socket.socket(2, 2).connect(('192.0.2.1', 1))"
    subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": str(tmp_path)}, check=False)
    assert "192.0.2.1" in asked_of_others(tmp_path / "asked.txt")[0]


def asked_of_others(asked: Path) -> list[str]:
    """Connections and look-ups that were noted."""
    first, *others = asked.read_text().splitlines()
    assert first.startswith("socket.connect /")
    return [line for line in others if not line.startswith("socket.connect /")]


def test_nothing_is_there_but_what_visitors_need(server: str) -> None:
    assert status(server, "/_stcore/health") == 200
    for path in ("metrics", "agent/mcp", "agent/openapi.json", "script-health-check"):
        assert status(server, f"/_stcore/{path}") == 404
    assert status(server, "/_stcore/upload_file/a/b", "PUT", Content_Length="9") == 404
    assert status(server, "/?" + "x" * 20_000) == 414
    assert status(server, "/", "POST") == 405


def test_text_of_a_link_is_text(visit: Visit) -> None:
    visit.open("posterior", c=IMAGE, version=IMAGE, **{IMAGE: ":material/face: $x^2$ :red[y]"})
    notice = visit.page.get_by_role("alert").filter(has_text="Not everything in the link")
    note = visit.page.get_by_role("status").filter(has_text="Numbers may differ")
    expect(note.locator("code")).to_have_text(f"version = {IMAGE}")
    for text in (f"c = {IMAGE}", f"{IMAGE} = "):
        expect(notice.locator("code").filter(has_text=text)).to_have_count(1)
    expect(notice).to_contain_text("$x^2$ :red[y]")
    for markup in ("img", "a", ".katex", "[data-testid=stIconMaterial]"):
        expect(notice.get_by_test_id("stMarkdownContainer").locator(markup)).to_have_count(0)
        expect(note.get_by_test_id("stMarkdownContainer").locator(markup)).to_have_count(0)
    assert not visit.foreign()


def test_students_come_by_the_lecturers_address(visit: Visit, asked: Path) -> None:
    address = visit.server.replace("localhost", LECTURER)
    visit.server = address
    visit.open("posterior")
    expect(visit.page.get_by_role("heading", name="Posterior")).to_be_visible()
    assert {urlsplit(url).hostname for url in visit.requests} <= {LECTURER, None}
    # A page that wants something from elsewhere does not get it.
    visit.page.evaluate("fetch('http://192.0.2.1/').catch(() => document.title = 'refused')")
    visit.page.wait_for_function("document.title == 'refused'")
    assert asked_of_others(asked) == []
    visit.requests = [url.replace(LECTURER, "localhost") for url in visit.requests]
