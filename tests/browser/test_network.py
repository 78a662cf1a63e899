"""A served instance answers only to its own names, and neither it nor its pages ask anybody else.

All that the server asks the network is noted, as are all requests of the browser.
"""

from __future__ import annotations

import functools
import http.client
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from abcdp_core.__main__ import main
from tests.browser.server import command, free_port, running
from tests.browser.visit import Visit

IMAGE = "![](http://192.0.2.1/seen.png)"
"""An address that is nobody's (RFC 5737)."""

LECTURER = "127.0.0.2"
"""An address of this machine that is not its usual one."""

NOTE = """
import sys

WATCHED = ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostby", "urllib.")

def note(event, arguments):
    if event.startswith(WATCHED):
        with open({file!r}, "a") as file:
            print(event, arguments[-1] if event == "socket.connect" else arguments, file=file)

sys.addaudithook(note)
note("socket.connect", ["/python"])
"""
"""Python runs it as it starts, in workers too: every connection and look-up goes to a file."""


def noting(folder: Path) -> dict[str, str]:
    """Return an environment in which Python notes what it asks the network."""
    (folder / "sitecustomize.py").write_text(NOTE.format(file=str(folder / "asked.txt")))
    return {"PYTHONPATH": str(folder)}


def asked_of_others(folder: Path) -> list[str]:
    """Connections and look-ups that were noted, but for those to processes of this machine."""
    lines = (folder / "asked.txt").read_text().splitlines()
    assert "socket.connect /python" in lines
    return [line for line in lines if not line.startswith("socket.connect /")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    """Address of another site, which shows the files of a folder."""
    shown = folder / "site"
    shown.mkdir()
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(shown))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{site.server_port}"
        site.shutdown()


@pytest.fixture(scope="module")
def server(folder: Path, site: str) -> Iterator[str]:
    port = free_port()
    everywhere = command(port, "--server.address", "0.0.0.0")
    served = {"ABCDP_SERVED": "1", "ABCDP_HOSTS": LECTURER, **noting(folder)}
    with running(everywhere, port, folder, **served, ABCDP_FRAMES=site) as address:
        yield address


def test_a_look_up_would_be_noted(tmp_path: Path) -> None:
    program = "import socket; socket.socket(2, 2).connect(('192.0.2.1', 1))"
    subprocess.run([sys.executable, "-c", program], env=noting(tmp_path), check=False)
    assert "192.0.2.1" in asked_of_others(tmp_path)[0]


def status(address: str, *, host: str, origin: str = "") -> int:
    """Return what a page, or the handshake of an origin, is answered with on this machine."""
    asked = {"Connection": "Upgrade", "Upgrade": "websocket", "Origin": origin}
    asked |= {"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(address).port, timeout=20)
    path = "/_stcore/stream" if origin else "/"
    connection.request("GET", path, headers={"Host": host, **(asked if origin else {})})
    answer = connection.getresponse()
    connection.close()
    return answer.status


def test_a_served_instance_refuses_foreign_names_and_pages_and_asks_nobody(
    visit: Visit, folder: Path
) -> None:
    here, there = urlsplit(visit.server).netloc, f"{LECTURER}:{urlsplit(visit.server).port}"
    for host in (here, there):
        assert status(visit.server, host=host) == 200
        assert status(visit.server, host=host, origin=f"http://{host}") == 101
    for host, origin in (
        *(("evil.example", each) for each in ("", "http://evil.example")),
        *((here, each) for each in ("http://evil.example", "null", f"http://{here}.evil.example")),
    ):
        assert status(visit.server, host=host, origin=origin) == 403

    visit.server = f"http://{there}"
    visit.open("posterior", c=IMAGE, version=IMAGE, **{IMAGE: ":material/face: $x^2$ :red[y]"})
    notice = visit.page.get_by_role("alert").filter(has_text="Some of the link")
    expect(notice.locator("code").filter(has_text=f"c = {IMAGE}")).to_have_count(1)
    for markup in ("img", "a", ".katex", "[data-testid=stIconMaterial]"):
        expect(notice.get_by_test_id("stMarkdownContainer").locator(markup)).to_have_count(0)
    assert {urlsplit(url).hostname for url in visit.requests} <= {LECTURER, None}
    # A page that wants something from elsewhere does not get it.
    visit.page.evaluate("fetch('http://192.0.2.1/').catch(() => document.title = 'refused')")
    visit.page.wait_for_function("document.title == 'refused'")
    assert asked_of_others(folder) == []
    visit.requests = [url.replace(LECTURER, "localhost") for url in visit.requests]


FRAMES = """<!doctype html><title>Course</title>
<iframe name=app src="{app}/posterior?embed=true&n=1000&pool_size=500" width=1200
height=800></iframe>
<iframe name=unsaid src="{app}/posterior"></iframe>
<iframe name=story src=story.html sandbox=allow-scripts></iframe>
"""


def test_another_site_frames_a_page_with_its_keys_and_a_link_back_and_the_story(
    browser: Browser, server: str, site: str, folder: Path
) -> None:
    assert main(["story", "--out", str(folder / "site" / "story.html")]) == 0
    (folder / "site" / "course.html").write_text(FRAMES.format(app=server))
    page = browser.new_page()
    page.goto(f"{site}/course.html")
    app, unsaid, story = (page.frame(name) for name in ("app", "unsaid", "story"))
    expect(app.locator(".finding").first).to_contain_text("error")
    assert unsaid.url.startswith("chrome-error:")
    app.locator(".st-key-c input").focus()
    page.keyboard.press("ArrowRight")
    expect(app.locator(".stPlotlyChart").first).to_be_visible()
    app.wait_for_url(re.compile(r"[?&]c=(?!10\b)"))
    with page.context.expect_page() as opened:
        app.get_by_role("link", name="Open in a new tab").press("Enter")
    assert opened.value.url.startswith(f"{server}/posterior?".replace("localhost", LECTURER))
    assert "embed" not in opened.value.url
    opened.value.close()
    app.get_by_role("link", name="When noise flips a decision").press("Enter")
    expect(app.get_by_role("heading", name="When noise flips a decision")).to_be_visible()
    assert "embed=true" in app.url
    story.get_by_role("button", name="Next").focus()
    page.keyboard.press("ArrowRight")
    expect(story.locator(".live")).to_contain_text("Guess 2: ")
    page.close()
