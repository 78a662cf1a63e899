"""Every page and view fits the screen, and axe finds nothing; a sample of them by make test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser import screens
from tests.browser.visit import SIZE, Visit, watched, without_violations
from ui.view import page_table

OUTSIDE_OUR_REACH = "[data-testid=stFileUploaderDropzone]"
"""Streamlit's own markup: a role beside a label, of minor impact, that no setting changes."""

FEW = {"n": "100", "mse-curves.runs": "1", "adaptive-truncation.n": "100"} | {
    "adaptive-truncation.particles": "100",
    "compare-mechanisms.runs": "2",
    "coverage.runs": "5",
    "plan.runs": "2",
    "soft-abc.runs": "1",
    "gaussian-rejection.runs": "1",
}
"""What makes every page quick to open."""

QUICK = "overview"
"""The page that is looked at by make test; the others by make test-all."""

OPENED = [
    pytest.param(page.file, marks=() if page.file == QUICK else pytest.mark.slow)
    for page in page_table.TABLE
]


@pytest.fixture(scope="module", params=OPENED)
def opened(window: Page, server: str, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """Each page, opened once for all that is asked of every page."""
    window.goto("about:blank")
    with watched(Visit(window, server, request.param)) as visit:
        visit.open("" if visit.name == "overview" else visit.name, **FEW)
        yield visit


def test_each_view_is_laid_out_for_the_screen(opened: Visit) -> None:
    """Knobs, headline and main figure are seen at once; on a telephone budget and figure are."""
    wrong = {}
    for view in screens.views(opened):
        for width, height in ((1400, 900), (1280, 720)):
            wrong[view, width] = screens.outside(opened, width, height, view)
        wrong[view, "telephone"] = screens.covered(opened)
    assert not any(wrong.values()), {at: found for at, found in wrong.items() if found}


def test_nothing_for_axe_to_find(opened: Visit) -> None:
    opened.page.set_viewport_size(SIZE)
    without_violations(opened.page, OUTSIDE_OUR_REACH)
    charts, buttons = (
        opened.page.locator(f".js-plotly-plot{each}") for each in ("", " .modebar-btn")
    )
    assert buttons.count() <= TOOLS * charts.count()


TOOLS = 3
"""Stops of the Tab key at a figure: save it, reset its axes, fill the screen with it."""


def test_a_projector_shows_the_first_figure_and_nothing_to_set(visit: Visit) -> None:
    visit.open("", n="100", projector="true")
    assert not screens.outside(visit, *SIZE.values())
    expect(visit.page.locator(".modebar-btn")).to_have_count(0)
    expect(visit.page.get_by_role("link", name="Posterior", exact=True)).to_have_count(0)
    visit.press("Share")
    without_violations(visit.page)
    visit.page.keyboard.press("Escape")
    # On paper there is nothing to be set.
    sidebar = visit.page.get_by_test_id("stSidebar")
    expect(sidebar).to_be_visible()
    paper = visit.page.locator(".on-paper")
    expect(paper).to_be_hidden()
    visit.page.emulate_media(media="print")
    expect(sidebar).to_be_hidden()
    expect(paper).to_contain_text("n=100")
    expect(paper).to_be_visible()
    visit.page.emulate_media(media="null")
    # Where there is more than a figure, its sentence, the label and the link, it is left out.
    visit.open("posterior")
    visit.page.emulate_media(media="print")
    for shown in (".finding", ".js-plotly-plot", ".on-paper"):
        expect(visit.page.locator(shown).first).to_be_visible()
    for hidden in ("#download", ".st-key-choosers", "[data-testid=stExpander]"):
        expect(visit.page.locator(hidden).first).to_be_hidden()
    visit.page.emulate_media(media="null")


def test_on_a_telephone_a_lesson_has_its_knobs_true_bars_and_numbers_as_they_are_read(
    visit: Visit,
) -> None:
    width, height = screens.TELEPHONE
    visit.page.set_viewport_size({"width": width, "height": height})
    visit.page.add_init_script(RAW)
    visit.page.goto(f"{visit.server}/?lesson=every-yes&step=9")
    visit.rest()
    assert not visit.page.evaluate("window.raw")
    for knob in ("epsilon_total", "c", "n", "new-noise"):
        expect(visit.page.locator(f".st-key-{knob}").first).to_be_in_viewport()
    assert visit.page.locator(f".st-key-n {THUMB}").inner_text() == "5,000"
    visit.page.get_by_role("slider", name="Your guess").press("End")
    visit.press("Show the answer")
    guess, answer = visit.page.locator(".guess i").evaluate_all(
        "bars => bars.map((bar) => bar.getBoundingClientRect().width)"
    )
    assert answer / guess == pytest.approx(0.95, abs=0.01)
    visit.press("Leave the lesson")
    expect(visit.page.locator(".st-key-c").first).not_to_be_in_viewport()


RAW = """window.raw = false;
const list = () => document.querySelector("[data-testid=stSidebarNav]");
new MutationObserver(() => { window.raw ||= !!list(); })
    .observe(document, { childList: true, subtree: true });"""
"""Sees whether Streamlit's own list of pages is ever there."""

THUMB = "[data-testid=stSliderThumbValue]"
