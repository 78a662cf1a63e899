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


# Of both, what the first picture needs comes with the program.
FIRST, OTHER = "uniform-mixture", "tuberculosis"


@pytest.mark.parametrize(
    ("asked", "other"), [({}, OTHER), ({"scenario": OTHER, "n": "100", "c": "20"}, FIRST)]
)
def test_a_page_that_the_server_forgot_is_right_for_its_link(
    context: BrowserContext, tmp_path: Path, asked: dict[str, str], other: str
) -> None:
    port, path = free_port(), "/posterior"
    with running(command(port), port, tmp_path) as address:
        visit = Visit(context.new_page(), address)
        visit.open("posterior", **asked)
        left = screens.agreed(visit, path)
    with running(command(port), port, tmp_path):
        visit.page.wait_for_selector(CONNECTED)
        visit.page.locator(".st-key-epsilon_total input").focus()
        visit.page.keyboard.press("ArrowRight")
        moved = screens.agreed(visit, path, left)
        assert moved == left.replace(" 0.2 ", " 0.5 ")
    with running(command(port), port, tmp_path):
        visit.page.wait_for_selector(CONNECTED)
        # The browser sends along what c was for the scenario before.
        visit.choose("scenario", other)
        chosen = screens.agreed(visit, path, moved)
        visit.page.reload()
        assert screens.agreed(visit, path) == chosen
    visit.page.close()


def test_nothing_is_released_twice(context: BrowserContext, tmp_path: Path) -> None:
    port, file = free_port(), tmp_path / "mine.csv"
    file.write_text("income\n" + "\n".join(f"{value % 97}.61803" for value in range(300)))
    saved: list[str] = []

    def give_file() -> None:
        visit.page.locator("input[type=file]").set_input_files(file)
        expect(visit.page.get_by_text("series of 300 values")).to_be_visible()

    with running(command(port), port, tmp_path) as address:
        visit = Visit(context.new_page(), address)
        visit.page.on("download", lambda download: saved.append(download.suggested_filename))
        visit.open("your_own_data", epsilon_total="20")
        visit.page.get_by_label("Lowest possible value").fill("0")
        visit.page.get_by_label("Highest possible value").fill("100")
        visit.page.keyboard.press("Enter")
        expect(visit.page.get_by_text("What you will learn")).to_be_visible()
        visit.settle()
        give_file()
        visit.page.get_by_text("I want to spend ε_total = 20").click()
        with visit.page.expect_download():
            visit.page.get_by_role("button", name="Release", exact=True).click()
    with running(command(port), port, tmp_path):
        visit.page.wait_for_selector(CONNECTED)
        visit.page.locator(".st-key-epsilon_total input").focus()
        visit.page.keyboard.press("ArrowRight")
        expect(visit.page).to_have_url(re.compile("epsilon_total=50"))
        visit.settle()
        expect(visit.page.locator("input[type=file]")).to_be_attached()
        expect(visit.page.get_by_role("button", name="Release", exact=True)).to_have_count(0)
        visit.page.keyboard.press("ArrowLeft")
        expect(visit.page).to_have_url(re.compile("epsilon_total=20"))
        visit.settle()
        # The same numbers at the same budget are confirmed anew.
        give_file()
        expect(visit.page.get_by_role("checkbox", name="I want to spend")).not_to_be_checked()
        expect(visit.page.get_by_role("button", name="Release", exact=True)).to_be_disabled()
    assert saved == ["release-1.json"]
    visit.page.close()
