"""A server of its own on a free port, and a browser that reports every request it makes."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Request,
    Response,
    ViewportSize,
    expect,
    sync_playwright,
)

from abcdp_core import __version__
from tests.browser import chromium

ROOT = Path(__file__).parents[2]

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

SIZE: ViewportSize = {"width": 1400, "height": 900}

IDLE = '[data-testid="stApp"][data-test-script-state="notRunning"]'

CARD = "[class*=st-key-lesson-card]"
"""What the page of lessons has instead of figures."""

SMALL = {"pool_size": "500", "n": "1000"}
"""Settings whose pool is made in a moment."""

WAIT_BEFORE_PROGRESS, PATIENCE = 60_000, 240_000
"""Milliseconds until a missing thing is a failure, and until missing work is: machines that run
tests can be busy, and worker processes give way to all other tests."""


PROBED = re.compile(r"/[a-z_]+/_stcore/(health|host-config)")
"""What Streamlit's page asks for first when it is opened at a deep link: it finds out whether the
app is served below that path by whether there is an answer. The two refusals, which browsers note
in their console, are what keeps it from taking a page's name for such a path."""


@dataclass
class Visit:
    """A browser window on the server, and the name of the page that it was opened for."""

    page: Page
    server: str
    name: str = ""
    requests: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def open(self, path: str, **query: str) -> None:
        """Open a page by its address and wait until its first figure stands, or its cards."""
        asked = urlencode(SMALL | {"version": __version__} | query)
        self.page.goto(f"{self.server}/{path}?{asked}")
        self.page.wait_for_selector(f"svg.main-svg, canvas, {CARD}", state="attached")
        self.settle()

    def settle(self) -> None:
        """Wait until no script is going on."""
        self.page.wait_for_selector(IDLE)

    def upload(self, file: Path) -> None:
        """Give a file of 300 values for a release."""
        self.page.locator("input[type=file]").set_input_files(file)
        expect(self.page.get_by_text("series of 300 values")).to_be_visible()

    def give(self, file: Path) -> None:
        """Type the bounds of the values of a file of one's own, and give it."""
        self.page.get_by_label("Lowest possible value").fill("0")
        self.page.get_by_label("Highest possible value").fill("100")
        self.page.keyboard.press("Enter")
        # The uploader is drawn anew when the bounds are known; a file given before that is lost.
        expect(self.page.get_by_text("What you will learn")).to_be_visible()
        self.settle()
        self.upload(file)

    def choose(self, key: str, name: str) -> None:
        """Choose from a list that opens."""
        self.page.locator(f".st-key-{key} input").click()
        self.page.get_by_role("option", name=name, exact=True).click()

    @property
    def title(self) -> str:
        """Title of the first figure, in one line."""
        words = self.page.locator(".finding").first.text_content() or ""
        return words.replace("\u00a0", " ")

    def note(self, request: Request) -> None:
        """Remember a request."""
        self.requests.append(request.url)

    def note_answer(self, response: Response) -> None:
        """Remember what was refused, but for what has to be."""
        if response.status >= 400 and not PROBED.fullmatch(urlsplit(response.url).path):
            self.refused.append(f"{response.status} {response.url}")

    def foreign(self) -> list[str]:
        """Requests that left this machine."""
        hosts = {url: urlsplit(url).hostname for url in self.requests}
        return [url for url, host in hosts.items() if host not in ("localhost", None, "")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a fresh server with an empty cache."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with running(command, port, tmp_path_factory.mktemp("server")) as address:
        yield address


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port: int = free.getsockname()[1]
        return port


@contextlib.contextmanager
def running(
    command: Sequence[str], port: int, folder: Path, cwd: Path = ROOT, **environment: str
) -> Iterator[str]:
    """A server from its first answer until it is no longer needed; gives its address."""
    own = os.environ | {"ABCDP_CACHE_DIR": str(folder / "cache")} | environment
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(command, cwd=cwd, env=own, stdout=log, stderr=log)
        try:
            _wait_until_up(f"http://localhost:{port}", process)
            yield f"http://localhost:{port}"
        finally:
            process.terminate()
            process.wait(timeout=WAIT_BEFORE_PROGRESS / 1000)


def _wait_until_up(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if _health(address) == b"ok":
            return
        time.sleep(0.1)
    raise RuntimeError("the server did not start")


def _health(address: str) -> bytes:
    """The body, because every path answers 200."""
    try:
        with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5) as answer:
            body: bytes = answer.read()
            return body
    except OSError:
        return b""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = chromium.find()
    if path is None:
        pytest.fail("no Chromium: run python -m tests.browser.chromium")
    with sync_playwright() as playwright:
        expect.set_options(timeout=WAIT_BEFORE_PROGRESS)
        yield playwright.chromium.launch(executable_path=path, args=ARGUMENTS)


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=SIZE, permissions=["clipboard-read", "clipboard-write"])
    context.set_default_timeout(WAIT_BEFORE_PROGRESS)
    yield context
    context.close()


@pytest.fixture
def visit(context: BrowserContext, server: str) -> Iterator[Visit]:
    """A window of its own."""
    page = context.new_page()
    with watched(Visit(page, server)) as visit:
        yield visit
        page.close()


@pytest.fixture(scope="module")
def window(context: BrowserContext) -> Iterator[Page]:
    """A window that stays: in a new one the scripts of the app are compiled anew."""
    page = context.new_page()
    yield page
    page.close()


@pytest.fixture
def look(window: Page, server: str) -> Iterator[Visit]:
    """The window that stays, as it was at first, for who opens an address and only looks."""
    window.goto("about:blank")
    window.set_viewport_size(SIZE)
    window.emulate_media(color_scheme="null")
    with watched(Visit(window, server)) as visit:
        yield visit


@contextlib.contextmanager
def watched(visit: Visit) -> Iterator[Visit]:
    """All that it asks for must stay on this machine."""
    visit.page.on("request", visit.note)
    visit.page.on("response", visit.note_answer)
    yield visit
    visit.page.remove_listener("request", visit.note)
    visit.page.remove_listener("response", visit.note_answer)
    assert visit.requests
    assert not visit.refused
    assert not visit.foreign()
