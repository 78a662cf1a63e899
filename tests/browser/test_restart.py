"""A server that was started again knows no page: what it then draws is right for the link."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser import screens
from tests.browser.server import command, free_port, running
from tests.browser.visit import Visit, asks


@pytest.mark.slow
def test_a_page_that_the_server_forgot_is_right_for_its_link(
    context: BrowserContext, tmp_path: Path
) -> None:
    port = free_port()
    with running(command(port), port, tmp_path) as address:
        visit = Visit(context.new_page(), address)
        # What the first picture needs comes with the program.
        visit.open("posterior", scenario="tuberculosis", n="100", c="20")
        left = screens.agreed(visit)
    with running(command(port), port, tmp_path):
        visit.rest()
        visit.move("epsilon_total", "ArrowRight")
        moved = screens.agreed(visit)
        assert moved == left.replace(" 0.2 ", " 0.5 ")
        # The browser sends along what c was for the scenario before.
        visit.page.locator(".st-key-named-scenario input").click()
        visit.page.get_by_role("option", name="Five shares", exact=True).click()
        chosen = screens.agreed(visit)
        assert chosen != moved
        visit.page.reload()
        assert screens.agreed(visit) == chosen
    visit.page.close()


def test_a_release_is_one_document_and_nothing_is_released_twice(
    context: BrowserContext, tmp_path: Path
) -> None:
    """On a fresh server a deep link is the first request, as it is here."""
    port, file = free_port(), tmp_path / "mine.csv"
    file.write_text("income\n" + "\n".join(f"{value % 97}.61803" for value in range(300)))
    saved: list[str] = []
    with running(command(port), port, tmp_path) as address:
        visit = Visit(context.new_page(), address)
        visit.page.on("download", lambda download: saved.append(download.suggested_filename))
        visit.open("your_own_data", epsilon_total="20")
        visit.give(file)
        button = visit.page.get_by_role("button", name="Release", exact=True)
        expect(button).to_be_disabled()
        visit.page.get_by_text("I want to spend ε_total = 20").click()
        expect(button).to_be_enabled()
        with visit.page.expect_download() as download:
            button.click()
        document = json.loads(Path(download.value.path()).read_text())
        assert (document["mode"], document["n"]) == ("release", 300)
        assert document["cost"]["epsilon"] <= 20
        visit.rest()
        expect(visit.page.get_by_role("button", name="Release 1 as JSON")).to_be_visible()
        expect(button).to_be_disabled()
        assert not asks(visit.page)
        # The port may hold any digits.
        assert "97" not in visit.page.url.partition("?")[2]
    with running(command(port), port, tmp_path):
        visit.rest()
        for key, budget in (("ArrowRight", "50"), ("ArrowLeft", "20")):
            visit.move("epsilon_total", key)
            expect(visit.page).to_have_url(re.compile(f"epsilon_total={budget}"))
            expect(button).to_have_count(0)
        # The same numbers at the same budget are confirmed anew.
        visit.upload(file)
        expect(visit.page.get_by_role("checkbox", name="I want to spend")).not_to_be_checked()
        expect(button).to_be_disabled()
    assert saved == ["release-1.json"]
    visit.page.close()
