"""A server that was started again knows no page: what it then draws is right for the link."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser import screens
from tests.browser.conftest import Visit, free_port, running

pytestmark = [
    pytest.mark.xdist_group("browser"),
    # A browser that is being closed leaves sockets for the collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CONNECTED = '[data-testid="stApp"][data-test-connection-state="CONNECTED"]'


def command(port: int) -> list[str]:
    return [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]


def test_a_page_that_the_server_forgot_is_right_for_its_link(
    context: BrowserContext, tmp_path: Path
) -> None:
    port, path = free_port(), "/posterior"
    with running(command(port), port, tmp_path) as address:
        visit = Visit(context.new_page(), address)
        # What the first picture needs comes with the program.
        visit.open("posterior", scenario="tuberculosis", n="100", c="20")
        left = screens.agreed(visit, path)
    with running(command(port), port, tmp_path):
        visit.page.wait_for_selector(CONNECTED)
        visit.page.locator(".st-key-epsilon_total input").focus()
        visit.page.keyboard.press("ArrowRight")
        moved = screens.agreed(visit, path, left)
        assert moved == left.replace(" 0.2 ", " 0.5 ")
        # The browser sends along what c was for the scenario before.
        visit.choose("named-scenario", "Five shares")
        chosen = screens.agreed(visit, path, moved)
        visit.page.reload()
        assert screens.agreed(visit, path) == chosen
    visit.page.close()


def test_nothing_is_released_twice(context: BrowserContext, tmp_path: Path) -> None:
    port, file = free_port(), tmp_path / "mine.csv"
    file.write_text("income\n" + "\n".join(f"{value % 97}.61803" for value in range(300)))
    saved: list[str] = []
    with running(command(port), port, tmp_path) as address:
        visit = Visit(context.new_page(), address)
        visit.page.on("download", lambda download: saved.append(download.suggested_filename))
        visit.open("your_own_data", epsilon_total="20")
        visit.give(file)
        visit.page.get_by_text("I want to spend ε_total = 20").click()
        with visit.page.expect_download():
            visit.page.get_by_role("button", name="Release", exact=True).click()
    with running(command(port), port, tmp_path):
        visit.page.wait_for_selector(CONNECTED)
        visit.page.locator(".st-key-epsilon_total input").focus()
        for key, budget in (("ArrowRight", "50"), ("ArrowLeft", "20")):
            visit.page.keyboard.press(key)
            expect(visit.page).to_have_url(re.compile(f"epsilon_total={budget}"))
            visit.settle()
            expect(visit.page.get_by_role("button", name="Release", exact=True)).to_have_count(0)
        # The same numbers at the same budget are confirmed anew.
        visit.upload(file)
        expect(visit.page.get_by_role("checkbox", name="I want to spend")).not_to_be_checked()
        expect(visit.page.get_by_role("button", name="Release", exact=True)).to_be_disabled()
    assert saved == ["release-1.json"]
    visit.page.close()
