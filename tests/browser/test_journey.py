"""The app as a person meets it: a real server, a real browser, links, downloads, accessibility."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import SMALL, Visit
from ui import knobs, router

pytestmark = [
    pytest.mark.xdist_group("browser"),
    # A browser that is being closed leaves sockets for the collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_first_request_to_a_fresh_server_is_a_deep_link(visit: Visit) -> None:
    visit.open("posterior", epsilon_total="0.7", c="37")
    assert "ε_total = 0.7" in visit.title
    assert "c = 37" in visit.title
    expect(visit.page.get_by_role("link", name="Flip probability")).to_be_visible()
    expect(visit.page.get_by_role("heading", name="Posterior")).to_be_visible()


def test_keyboard_moves_a_knob_and_the_figure_and_the_link_follow(visit: Visit) -> None:
    visit.open("posterior")
    visit.page.locator(".st-key-epsilon_total input").focus()
    visit.page.keyboard.press("ArrowLeft")
    expect(visit.page.locator(".gtitle").first).to_contain_text(nbsp("ε_total = 0.5"))
    expect(visit.page).to_have_url(re.compile("epsilon_total=0.5"))
    visit.page.get_by_role("link", name="Flip probability").click()
    expect(visit.page.get_by_role("heading", name="Flip probability", exact=True)).to_be_visible()
    expect(visit.page.locator(".gtitle").first).to_contain_text(nbsp("ε_total = 0.5"))
    expect(visit.page).to_have_url(re.compile("flip_probability.*epsilon_total=0.5"))


def test_new_noise_changes_the_private_side_only(visit: Visit) -> None:
    visit.open("posterior", epsilon_total="0.01")
    before = visit.page.get_by_text("Mean absolute error of the posterior mean").inner_text()
    visit.page.get_by_role("button", name="New noise").click()
    expect(visit.page.get_by_text("Noise draw number 1")).to_be_visible()
    expect(visit.page).to_have_url(re.compile("noise=1"))
    visit.settle()
    after = visit.page.get_by_text("Mean absolute error of the posterior mean").inner_text()
    assert before != after
    non_private = re.compile(r"non-private \S+ \(\d+ accepted\)")
    assert non_private.search(before)[0] == non_private.search(after)[0]  # type: ignore[index]


def test_bad_link_shows_a_notice(visit: Visit) -> None:
    visit.open("posterior", epsilon_total="99999", no_such_knob="1")
    notice = visit.page.get_by_role("alert").filter(has_text="Not everything in the link")
    expect(notice).to_contain_text("epsilon_total = 99999: must be a number from 0.001 to 1000")
    expect(notice).to_contain_text("no_such_knob")
    assert "ε_total = 1000" in visit.title
    expect(visit.page).to_have_url(re.compile("epsilon_total=1000"))


def test_full_link_holds_every_value_and_opens_the_same_view(visit: Visit) -> None:
    visit.open("posterior", epsilon_total="0.2", noise="3")
    visit.page.get_by_role("button", name="Copy full link").click()
    code = visit.page.get_by_test_id("stPopoverBody").get_by_test_id("stCode")
    expect(code).to_contain_text("version=")
    address = code.inner_text().strip()
    for name in (*knobs.SHARED, "posterior.view", "version"):
        assert f"{name}=" in address
    title, summary = visit.title, visit.page.get_by_test_id("stPlotlyChart").first
    said = summary.get_attribute("aria-label")
    visit.page.goto(address)
    visit.page.wait_for_selector("svg.main-svg", state="attached")
    visit.settle()
    assert visit.title == title
    assert visit.page.get_by_test_id("stPlotlyChart").first.get_attribute("aria-label") == said
    expect(visit.page.get_by_role("alert")).to_have_count(0)


def test_camera_saves_pictures_from_the_browser(visit: Visit) -> None:
    visit.open("posterior")
    assert camera(visit, "svg").startswith(b"<svg")
    visit.page.get_by_test_id("stButtonGroup").get_by_role("radio", name="png").click()
    expect(visit.page).to_have_url(re.compile("figures.format=png"))
    visit.settle()
    assert camera(visit, "png").startswith(b"\x89PNG")


def camera(visit: Visit, form: str) -> bytes:
    """The first figure as its camera button saves it."""
    visit.page.get_by_test_id("stPlotlyChart").first.hover()
    with visit.page.expect_download() as download:
        visit.page.get_by_role("button", name="Download plot").first.click()
    assert download.value.suggested_filename == f"posterior-posterior.{form}"
    return Path(download.value.path()).read_bytes()


def test_zip_holds_figures_data_settings_and_command(visit: Visit) -> None:
    visit.open("posterior")
    with visit.page.expect_download(timeout=120_000) as download:
        visit.page.get_by_role("button", name="This page as a zip").click()
    content = zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes()))
    assert content.testzip() is None
    names = content.namelist()
    for end in ("posterior.csv", "posterior.decisions.csv", "posterior.json", ".html"):
        assert [name for name in names if name.endswith(end)], names
    assert [name for name in names if name.endswith((".svg", "note.txt"))], names
    assert "python -m abcdp_core run posterior" in content.read("posterior.json").decode()


def test_long_work_is_cancelled_and_keeps_what_is_done(visit: Visit) -> None:
    visit.open("privacy_and_accuracy", **{"mse-curves.runs": "1000"})
    visit.page.get_by_role("button", name="Cancel").click()
    stopped = visit.page.get_by_text(re.compile(r"Stopped: \d+ of 1000 parts done"))
    expect(stopped).to_be_visible()
    expect(visit.page.locator(".gtitle").first).to_be_attached()
    expect(visit.page.get_by_role("button", name="Continue")).to_be_visible()


@pytest.mark.parametrize("page", [page.file for page in router.TABLE])
def test_nothing_for_axe_to_find_and_fits_a_telephone(visit: Visit, page: str) -> None:
    visit.open("" if page == "start" else page, **{"mse-curves.runs": "1"})
    for scheme in ("light", "dark"):
        visit.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        visit.settle()
        found = Axe().run(visit.page)
        assert found.violations_count == 0, f"{scheme}: {found.generate_report()}"
    visit.page.set_viewport_size({"width": 390, "height": 844})
    width = visit.page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert width <= 390


def nbsp(text: str) -> str:
    """As figure titles hold it: no break inside a setting."""
    return text.replace(" ", "\u00a0")


def test_small_settings_are_settings() -> None:
    assert set(SMALL) <= set(knobs.SHARED)
