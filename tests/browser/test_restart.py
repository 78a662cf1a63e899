"""A server that was started again knows no page: what is pressed is not drawn of nothing."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import Visit, free_port, running

CONNECTED = '[data-testid="stApp"][data-test-connection-state="CONNECTED"]'


def test_a_page_that_the_server_forgot_is_loaded_again_by_its_address(
    context: BrowserContext, tmp_path: Path
) -> None:
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with running(command, port, tmp_path) as address:
        visit = Visit(context.new_page(), address)
        visit.open("posterior", scenario="tuberculosis", n="100", c="20")
        visit.page.evaluate("window.before = true")
    with running(command, port, tmp_path):
        visit.page.wait_for_selector(CONNECTED)
        # Streamlit would draw uniform-mixture with what stood there for tuberculosis.
        visit.page.get_by_role("combobox", name="Scenario").click()
        visit.page.get_by_role("option", name="uniform-mixture", exact=True).click()
        visit.page.wait_for_function("window.before === undefined")
        visit.page.wait_for_selector("svg.main-svg", state="attached")
        visit.settle()
        expect(visit.page).not_to_have_url(re.compile("scenario="))
        drawn = visit.title
        visit.page.reload()
        visit.page.wait_for_selector("svg.main-svg", state="attached")
        visit.settle()
        assert visit.title == drawn
        visit.page.get_by_role("button", name="New noise").click()
        expect(visit.page).to_have_url(re.compile("noise_draw="))
        visit.page.close()
