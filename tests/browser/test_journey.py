"""The app as a person meets it: a real server, a real browser, links, downloads, accessibility."""

from __future__ import annotations

import dataclasses
import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Route, expect

from abcdp_core import __version__
from abcdp_core.base.places import ASSETS
from abcdp_core.publish.output import player
from abcdp_core.publish.output.scripts import joined
from abcdp_core.run import runner
from abcdp_core.studies import adaptive_truncation
from tests.browser import screens
from tests.browser.visit import Visit, asks
from ui.view import controls_spec

FLIPS = "When noise flips a decision"

PEOPLE = {"adaptive-truncation.n": "100", "adaptive-truncation.particles": "100"}


def test_journey(visit: Visit) -> None:
    a_deep_link_shows_what_it_says(visit)
    new_noise_changes_the_private_side_only(visit)
    the_keyboard_moves_a_knob_and_figure_and_link_follow(visit)
    the_camera_saves_pictures_from_the_browser(visit)
    another_page_keeps_the_knobs(visit)
    the_full_link_holds_every_value_and_opens_the_same_view(visit)


def a_deep_link_shows_what_it_says(visit: Visit) -> None:
    visit.open("posterior", epsilon_total="0.03", c="37", **{"mse-curves.runs": "1000"})
    assert "ε_total = 0.03" in visit.title
    assert "c = 37" in visit.title
    expect(visit.page.get_by_role("link", name=FLIPS)).to_be_visible()
    expect(visit.page.get_by_role("heading", name="Posterior")).to_be_visible()


def new_noise_changes_the_private_side_only(visit: Visit) -> None:
    error = visit.page.get_by_text("The root mean squared error is")
    before = error.inner_text()
    visit.press("New noise")
    expect(visit.page.get_by_text("Noise number 1")).to_be_visible()
    expect(visit.page).to_have_url(re.compile("noise_draw=1"))
    expect(error).not_to_have_text(before)
    non_private = re.compile(r"\S+ without noise")
    assert non_private.findall(before) == non_private.findall(error.inner_text())


def the_keyboard_moves_a_knob_and_figure_and_link_follow(visit: Visit) -> None:
    visit.move("epsilon_total", "ArrowLeft")
    assert "ε_total = 0.02" in visit.title
    expect(visit.page).to_have_url(re.compile("epsilon_total=0.02"))


def the_camera_saves_pictures_from_the_browser(visit: Visit) -> None:
    assert camera(visit, "svg").startswith(b"<svg")
    visit.choose("png")
    expect(visit.page).to_have_url(re.compile("figures.format=png"))
    assert camera(visit, "png").startswith(b"\x89PNG")


def camera(visit: Visit, form: str) -> bytes:
    """The first figure as its camera button saves it."""
    visit.page.get_by_test_id("stPlotlyChart").first.hover()
    with visit.page.expect_download() as download:
        visit.page.get_by_role("button", name="Download plot").first.click()
    assert download.value.suggested_filename == f"posterior-posterior.{form}"
    return Path(download.value.path()).read_bytes()


def another_page_keeps_the_knobs(visit: Visit) -> None:
    visit.go_to(FLIPS)
    assert "ε_total = 0.02" in visit.title
    # What the address leaves out is this version's default, so the version stays in it.
    expect(visit.page).to_have_url(re.compile("flip_probability.*epsilon_total=0.02"))
    expect(visit.page).to_have_url(re.compile(f"version={__version__}"))


def the_full_link_holds_every_value_and_opens_the_same_view(visit: Visit) -> None:
    visit.go_to("Posterior")
    assert "c = 37, N = 1,000" in visit.title
    address = shared(visit)
    for name in (*controls_spec.SHARED, "posterior.view", "version"):
        assert f"{name}=" in address
    chart = visit.page.get_by_test_id("stPlotlyChart").first
    title, said = visit.title, chart.get_attribute("aria-label")
    visit.page.goto(address)
    visit.rest()
    assert (visit.title, chart.get_attribute("aria-label")) == (title, said)
    expect(visit.page.get_by_role("alert")).to_have_count(0)


def shared(visit: Visit) -> str:
    """The link that Share copies; where that is not allowed, the same one is selected."""
    share = visit.page.get_by_role("button", name="Share", exact=True)
    dialog = visit.page.get_by_role("dialog", name="Share this view")
    share.click()
    expect(dialog).to_contain_text("Copied")
    expect(dialog.get_by_role("img", name="QR code").locator("svg")).to_be_visible()
    copied = visit.page.evaluate("navigator.clipboard.readText()")
    visit.page.keyboard.press("Escape")
    expect(share).to_be_focused()
    visit.page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    share.click()
    expect(dialog).to_contain_text("is selected")
    assert visit.page.evaluate("getSelection().toString()") in (copied, "")
    assert dialog.get_by_role("textbox").input_value() == copied
    dialog.get_by_role("button", name="Close").click()
    return str(copied)


@pytest.mark.slow
def test_the_zip_holds_figures_data_settings_and_command(visit: Visit) -> None:
    visit.open("posterior")
    visit.press("Prepare this page as a zip")
    with visit.page.expect_download() as download:
        visit.page.get_by_role("button", name="Save posterior.zip").click()
    content = zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes()))
    assert content.testzip() is None
    names = content.namelist()
    for end in ("posterior.csv", "posterior.decisions.csv", "posterior.json", ".html"):
        assert [name for name in names if name.endswith(end)], names
    assert [name for name in names if name.endswith((".svg", "note.txt"))], names
    assert "abcdp run posterior" in content.read("posterior.json").decode()


def test_a_preset_leads_to_its_page_and_view_and_another_view_lets_go_of_it(visit: Visit) -> None:
    held: list[Route] = []
    visit.page.route("**/ButtonGroup.*.js", lambda route: held.append(route))
    # A result that does not come with the program: the page is drawn without it, and again.
    asked = PEOPLE | {"preset": "y23-intervals", "seed": "7", "version": __version__}
    visit.page.goto(f"{visit.server}/posterior?{urlencode(asked)}")
    expect(visit.page.locator(".finding").first).to_contain_text("The best interval around μ is ")
    # On a slow line the script of its choosers comes only now.
    for route in held:
        route.continue_()
    assert held
    visit.page.unroute("**/ButtonGroup.*.js")
    visit.rest()
    expect(visit.page).to_have_url(re.compile("/adaptive_truncation.*preset=y23-intervals"))
    expect(visit.page.get_by_text("A preset sets some knobs")).to_be_visible()
    expect(visit.page.get_by_role("radio", name="best interval")).to_be_checked()
    visit.choose("live")
    expect(visit.page.get_by_role("button", name="Step forward")).to_be_visible()
    expect(visit.page.get_by_text("A preset sets some knobs")).to_have_count(0)


def test_people_answer_and_the_player_obeys(visit: Visit) -> None:
    visit.open("adaptive_truncation", **PEOPLE)
    said = visit.page.locator(".state")
    person = visit.page.get_by_role("slider", name="Person", exact=True)
    # It waits at the first person.
    expect(said).to_have_text("person 1 of 100")
    expect(visit.page.get_by_role("button", name="Play")).to_be_visible()
    visit.page.get_by_role("button", name="Step forward").click()
    expect(said).to_have_text("person 2 of 100")
    person.press("ArrowRight")
    expect(said).to_have_text("person 3 of 100")
    person.press("End")
    expect(said).to_have_text("person 100 of 100")
    expect(visit.page.locator(".player tbody tr")).to_have_count(4)
    visit.page.get_by_label("Way of asking that is shown close").select_option("symbols")
    visit.page.get_by_role("button", name="Reset", exact=True).click()
    expect(said).to_have_text("person 1 of 100")
    # A click in a picture goes to the person there.
    visit.page.locator("canvas.known").click(position={"x": 130, "y": 60})
    expect(said).not_to_have_text("person 1 of 100")
    visit.page.get_by_role("button", name="Reset", exact=True).click()
    visit.page.emulate_media(reduced_motion="reduce")
    visit.page.get_by_label("Speed").select_option("2")
    visit.page.get_by_role("button", name="Play").click()
    expect(visit.page.get_by_role("button", name="Pause")).to_be_visible()
    expect(said).to_have_text("person 100 of 100")


DRAW = """async ([source, html, data]) => {
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    globalThis.component ??= (await import(address)).default;
    if (!document.body.children.length) document.body.innerHTML = html;
    component({ data, parentElement: document.body });
}"""
"""Draws a component of the app on an empty page, or draws it again."""


def test_a_step_to_a_person_who_has_not_answered_yet_is_taken_once_they_have(
    context: BrowserContext,
) -> None:
    study = adaptive_truncation.Params(n=3, particles=10)
    found = runner.run_to_end(adaptive_truncation, study, 1)
    parts = joined(ASSETS / "player.js"), (ASSETS / "player.html").read_text(encoding="utf-8")
    alone = context.new_page()
    for people, said in (
        (1, "person 1 of 3, waiting for the next"),
        (2, "person 2 of 3"),
        (3, "person 2 of 3"),
    ):
        some = dataclasses.replace(found, tables={"main": found.tables["main"].head(people)})
        alone.evaluate(DRAW, [*parts, player.frames({"adaptive": some}) | {"summary": ""}])
        if people == 1:
            expect(alone.locator(".state")).to_have_text("person 1 of 3")
            alone.get_by_role("button", name="Step forward").click()
        expect(alone.locator(".state")).to_have_text(said)
    alone.close()


def test_a_browser_asks_while_a_release_is_made_and_saves_each_once(
    context: BrowserContext,
) -> None:
    alone = context.new_page()
    source = (ASSETS / "leaving.js").read_text(encoding="utf-8")
    saved: list[str] = []
    alone.on("download", lambda download: saved.append(download.suggested_filename))
    numbers, whole = "release-1-numbers.json", "release-1.json"
    for making, file, is_asked in (
        (True, "", True),
        (False, numbers, False),
        (True, numbers, True),
    ):
        data = {"session": "a", "making": making, "file": file, "text": "{}" if file else ""}
        alone.evaluate(DRAW, [source, "", data])
        assert asks(alone) == is_asked
    with alone.expect_download():
        alone.evaluate(DRAW, [source, "", data | {"making": False, "file": whole}])
    assert saved == [numbers, whole]
    alone.close()


@pytest.mark.slow
def test_back_and_forward_show_knobs_and_a_picture_that_agree_with_the_address(
    visit: Visit,
) -> None:
    visit.open("posterior", epsilon_total="0.5", c="20")
    left = []
    for link in ("", FLIPS, "Posterior"):
        if link:
            visit.go_to(link)
        visit.move("epsilon_total", "ArrowLeft")
        left.append(screens.agreed(visit))
    assert len({each.split()[2] for each in left}) == 3, left
    for go, at in (
        (visit.page.go_back, 1),
        (visit.page.go_back, 0),
        (visit.page.go_forward, 1),
        (visit.page.go_forward, 2),
    ):
        go_until(visit, go, left[at])
    # A chooser of the page alone is drawn below the knobs that go back with it.
    visit.choose("many releases")
    expect(visit.page).to_have_url(re.compile(MANY))
    visit.go_to(FLIPS)
    screens.agreed(visit)
    go_until(visit, visit.page.go_back, left[0])
    expect(visit.page.get_by_role("radio", name="one release")).to_be_checked()


STOPS = 12
"""Entries that three page links make in a browser's history at most: Streamlit notes some twice."""

MANY = "posterior.view=many"


def go_until(visit: Visit, go: Callable[[], object], wanted: str) -> None:
    """Go through the history until something is shown; all that is seen agrees at every stop."""
    for _ in range(STOPS):
        go()
        visit.rest()
        # The title of many releases says other settings.
        if MANY not in visit.page.url and screens.agreed(visit) == wanted:
            return
    pytest.fail(f"{wanted} is not shown after {STOPS} stops")
