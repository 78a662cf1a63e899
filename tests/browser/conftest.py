"""One server for all tests of the app as it is, and a browser that notes every request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser import chromium
from tests.browser.server import command, free_port, running
from tests.browser.visit import SIZE, WAIT_BEFORE_PROGRESS, Visit, watched

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Most pages live for seconds, so compiling all of a script and drawing motion do not pay.
    "--js-flags=--max-lazy",
    "--force-prefers-reduced-motion",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser that is being closed leaves sockets for the collector."""
    ignored = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(ignored)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server that begins with an empty cache."""
    port = free_port()
    with running(command(port), port, tmp_path_factory.mktemp("server")) as address:
        yield address


# Not for the session: while it is there, other tests of the same process cannot use asyncio.
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


@pytest.fixture(scope="module")
def window(context: BrowserContext) -> Iterator[Page]:
    """A window that stays: in a new one the scripts of the app are compiled anew."""
    page = context.new_page()
    yield page
    page.close()


@pytest.fixture
def visit(window: Page, server: str) -> Iterator[Visit]:
    """The window that stays, as it was at first."""
    window.goto("about:blank")
    window.set_viewport_size(SIZE)
    window.emulate_media(color_scheme="null", reduced_motion="null")
    with watched(Visit(window, server)) as visit:
        yield visit
