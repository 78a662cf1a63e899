"""The app as a person meets it: a real server, a real browser, links, downloads, accessibility."""

from __future__ import annotations

import contextlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from abcdp_core import __version__
from tests.browser import screens
from tests.browser.conftest import PATIENCE, ROOT, SIZE, Visit, watched
from ui.view import controls_spec, page_table

FLIPS = "When noise flips a decision"

pytestmark = [
    pytest.mark.xdist_group("browser"),
    # A browser that is being closed leaves sockets for the collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_journey(visit: Visit) -> None:
    a_deep_link_is_the_first_request_to_a_fresh_server(visit)
    new_noise_changes_the_private_side_only(visit)
    the_keyboard_moves_a_knob_and_figure_and_link_follow(visit)
    the_camera_saves_pictures_from_the_browser(visit)
    the_zip_holds_figures_data_settings_and_command(visit)
    another_page_keeps_the_knobs(visit)
    the_full_link_holds_every_value_and_opens_the_same_view(visit)


def a_deep_link_is_the_first_request_to_a_fresh_server(visit: Visit) -> None:
    visit.open("posterior", epsilon_total="0.03", c="37", **{"mse-curves.runs": "1000"})
    assert "ε_total = 0.03" in visit.title
    assert "c = 37" in visit.title
    expect(visit.page.get_by_role("link", name=FLIPS)).to_be_visible()
    expect(visit.page.get_by_role("heading", name="Posterior")).to_be_visible()


def new_noise_changes_the_private_side_only(visit: Visit) -> None:
    error = visit.page.get_by_text("The root mean squared error is")
    before = error.inner_text()
    visit.page.get_by_role("button", name="New noise").click()
    expect(visit.page.get_by_text("Noise number 1")).to_be_visible()
    expect(visit.page).to_have_url(re.compile("noise_draw=1"))
    expect(error).not_to_have_text(before)
    non_private = re.compile(r"\S+ without noise")
    assert non_private.findall(before) == non_private.findall(error.inner_text())


def the_keyboard_moves_a_knob_and_figure_and_link_follow(visit: Visit) -> None:
    visit.page.locator(".st-key-epsilon_total input").focus()
    visit.page.keyboard.press("ArrowLeft")
    shows(visit, "ε_total = 0.02")
    expect(visit.page).to_have_url(re.compile("epsilon_total=0.02"))


TRIES = 60


def the_camera_saves_pictures_from_the_browser(visit: Visit) -> None:
    assert camera(visit, "svg").startswith(b"<svg")
    visit.page.get_by_role("radio", name="png").click()
    expect(visit.page).to_have_url(re.compile("figures.format=png"))
    visit.settle()
    assert camera(visit, "png").startswith(b"\x89PNG")


def camera(visit: Visit, form: str) -> bytes:
    """The first figure as its camera button saves it.

    The figure takes a new format some moments after the page has it, and nothing shows when.
    """
    for _ in range(TRIES):
        visit.page.get_by_test_id("stPlotlyChart").first.hover()
        with visit.page.expect_download() as download:
            visit.page.get_by_role("button", name="Download plot").first.click()
        if download.value.suggested_filename == f"posterior-posterior.{form}":
            break
        visit.page.wait_for_timeout(500)
    else:
        pytest.fail(f"{download.value.suggested_filename} after {TRIES} tries")
    return Path(download.value.path()).read_bytes()


def the_zip_holds_figures_data_settings_and_command(visit: Visit) -> None:
    visit.page.get_by_role("button", name="Prepare this page as a zip").click()
    save = visit.page.get_by_role("button", name="Save posterior.zip")
    expect(save).to_be_visible(timeout=120_000)
    with visit.page.expect_download() as download:
        save.click()
    content = zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes()))
    assert content.testzip() is None
    names = content.namelist()
    for end in ("posterior.csv", "posterior.decisions.csv", "posterior.json", ".html"):
        assert [name for name in names if name.endswith(end)], names
    assert [name for name in names if name.endswith((".svg", "note.txt"))], names
    assert "abcdp run posterior" in content.read("posterior.json").decode()


def another_page_keeps_the_knobs(visit: Visit) -> None:
    visit.page.get_by_role("link", name=FLIPS).click()
    expect(visit.page.get_by_role("heading", name=FLIPS, exact=True)).to_be_visible()
    shows(visit, "ε_total = 0.02")
    # What the address leaves out is this version's default, so the version stays in it.
    expect(visit.page).to_have_url(re.compile("flip_probability.*epsilon_total=0.02"))
    expect(visit.page).to_have_url(re.compile(f"version={__version__}"))


def the_full_link_holds_every_value_and_opens_the_same_view(visit: Visit) -> None:
    visit.page.get_by_role("link", name="Posterior").click()
    expect(visit.page.get_by_role("heading", name="Posterior", exact=True)).to_be_visible()
    shows(visit, "c = 37, N = 1,000")
    address = shared(visit)
    for name in (*controls_spec.SHARED, "posterior.view", "version"):
        assert f"{name}=" in address
    chart = visit.page.get_by_test_id("stPlotlyChart").first
    title, said = visit.title, chart.get_attribute("aria-label")
    visit.page.goto(address)
    visit.page.wait_for_selector("svg.main-svg", state="attached")
    visit.settle()
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


QUICK = ("overview", "case_studies")
"""Pages that are looked at by make test; the others by make test-all."""

OPENED = [
    pytest.param(page.file, marks=() if page.file in QUICK else pytest.mark.slow)
    for page in page_table.TABLE
]


@pytest.fixture(scope="module", params=OPENED)
def opened(window: Page, server: str, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """Each page, opened once for all that is asked of every page."""
    window.goto("about:blank")
    with watched(Visit(window, server, request.param)) as visit:
        visit.open("" if visit.name == "overview" else visit.name, **FEW)
        yield visit


SOON = 10_000
"""Milliseconds."""

CANCEL = "[class*=st-key-cancel-] button"


def finish(visit: Visit) -> None:
    """Have all computed; on a busy machine a study may ask first, and that takes long."""
    expect(visit.page.locator(CANCEL)).to_have_count(0, timeout=PATIENCE)
    while visit.page.locator(screens.START).count():
        # A button that goes away before it is clicked belonged to what was just replaced.
        with contextlib.suppress(PlaywrightTimeoutError):
            visit.page.locator(screens.START).first.click(timeout=SOON)
        visit.settle()
        expect(visit.page.locator(CANCEL)).to_have_count(0, timeout=PATIENCE)


def test_each_view_is_laid_out_for_the_screen(opened: Visit) -> None:
    """Knobs, headline and main figure are seen at once; on a telephone budget and figure are."""
    wrong = {}
    for view in screens.views(opened):
        finish(opened)
        for width, height in ((1400, 900), (1280, 720)):
            wrong[view, width] = screens.outside(opened, width, height, view)
        wrong[view, "telephone"] = screens.covered(opened)
    assert not any(wrong.values()), {at: found for at, found in wrong.items() if found}


def test_nothing_for_axe_to_find(opened: Visit) -> None:
    opened.page.set_viewport_size(SIZE)
    # What the pointer is over may show its help, outside of all landmarks.
    opened.page.mouse.move(SIZE["width"] - 2, 2)
    # What is drawn again and again is pale in between.
    finish(opened)
    for scheme in ("light", "dark"):
        opened.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        opened.settle()
        for _ in range(LOOKS):
            found = Axe().run(opened.page, context={"exclude": [[OUTSIDE_OUR_REACH]]})
            if not found.violations_count:
                break
            # A color may be on its way from one scheme to the other.
            opened.page.wait_for_timeout(1000)
        assert found.violations_count == 0, f"{scheme}: {found.generate_report()}"
    charts, buttons = (
        opened.page.locator(f".js-plotly-plot{each}") for each in ("", " .modebar-btn")
    )
    assert buttons.count() <= TOOLS * charts.count()


LOOKS = 30
"""At a page that has been moved, until all is in its place."""

TOOLS = 3
"""Stops of the Tab key at a figure: save it, reset its axes, fill the screen with it."""


def test_nothing_for_axe_to_find_on_a_projector_and_in_what_share_opens(look: Visit) -> None:
    look.open("", n="100", projector="true")
    assert not screens.outside(look, SIZE["width"], SIZE["height"])
    expect(look.page.locator(".modebar-btn")).to_have_count(0)
    expect(look.page.get_by_role("link", name=FLIPS, exact=True)).to_have_count(0)
    for scheme in ("light", "dark"):
        look.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        look.settle()
        for opened in (False, True):
            if opened:
                look.page.get_by_role("button", name="Share", exact=True).click()
            found = Axe().run(look.page)
            assert found.violations_count == 0, f"{scheme}, {opened}: {found.generate_report()}"
        look.page.keyboard.press("Escape")
    # On paper there is nothing to be set.
    sidebar = look.page.get_by_test_id("stSidebar")
    expect(sidebar).to_be_visible()
    look.page.emulate_media(media="print")
    expect(sidebar).to_be_hidden()
    look.page.emulate_media(media="null")


PEOPLE = {"adaptive-truncation.n": "100", "adaptive-truncation.particles": "100"}


def test_people_answer_and_the_player_obeys(visit: Visit) -> None:
    visit.open("adaptive_truncation", **PEOPLE)
    expect(visit.page.get_by_role("button", name="Cancel")).to_have_count(0)
    said = visit.page.locator(".state")
    person = visit.page.get_by_role("slider", name="Person", exact=True)
    # It waits at the first person. A run that is still drawn would take the focus away.
    expect(said).to_have_text("person 1 of 100")
    visit.settle()
    expect(visit.page.get_by_role("button", name="Play")).to_be_visible()
    visit.page.get_by_role("button", name="Step forward").click()
    expect(said).to_have_text("person 2 of 100")
    person.press("ArrowRight")
    expect(said).to_have_text("person 3 of 100")
    # On a busy machine people are still answering, or the page asks whether they should.
    finish = visit.page.get_by_role("button", name="Finish", exact=True)
    for _ in range(120):
        person.press("End")
        if said.inner_text() == "person 100 of 100":
            break
        if finish.is_visible():
            # The button may disappear before it is clicked.
            with contextlib.suppress(PlaywrightTimeoutError):
                finish.click(timeout=SOON)
        visit.page.wait_for_timeout(500)
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
    visit.page.get_by_label("Speed").select_option("5")
    visit.page.get_by_role("button", name="Play").click()
    expect(visit.page.get_by_role("button", name="Pause")).to_be_visible()
    expect(said).to_have_text("person 100 of 100")


def test_a_release_from_a_file_and_its_document(visit: Visit, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("income\n" + "\n".join(f"{value % 97}.61803" for value in range(300)))
    visit.open("your_own_data", epsilon_total="20")
    visit.give(file)
    button = visit.page.get_by_role("button", name="Release", exact=True)
    expect(button).to_be_disabled()
    visit.page.get_by_text("I want to spend ε_total = 20").click()
    expect(button).to_be_enabled()
    with visit.page.expect_download() as download:
        button.click()
    assert download.value.suggested_filename == "release-1.json"
    document = json.loads(Path(download.value.path()).read_text())
    assert (document["mode"], document["n"]) == ("release", 300)
    assert document["cost"]["epsilon"] <= 20
    expect(visit.page.get_by_role("button", name="Release 1 as JSON")).to_be_visible()
    expect(button).to_be_disabled()
    visit.settle()
    assert not visit.page.evaluate(ASKS)
    # The port may hold any digits.
    assert "97" not in visit.page.url.partition("?")[2]


ASKS = "!dispatchEvent(new Event('beforeunload', { cancelable: true }))"
"""Whether a browser would ask its user, were the page loaded again now."""


def test_a_browser_asks_while_a_release_is_made_and_saves_each_once(
    context: BrowserContext,
) -> None:
    alone = context.new_page()
    source = (ROOT / "assets" / "leaving.js").read_text(encoding="utf-8")
    draw = """async ([source, data]) => {
        const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
        (await import(address)).default({ data });
    }"""
    saved: list[str] = []
    alone.on("download", lambda download: saved.append(download.suggested_filename))
    numbers, whole = "release-1-numbers.json", "release-1.json"
    for making, file, asks in ((True, "", True), (False, numbers, False), (True, numbers, True)):
        data = {"session": "a", "making": making, "file": file, "text": "{}" if file else ""}
        alone.evaluate(draw, [source, data])
        assert alone.evaluate(ASKS) == asks
    with alone.expect_download():
        alone.evaluate(draw, [source, data | {"making": False, "file": whole}])
    assert saved == [numbers, whole]
    alone.close()


@pytest.mark.slow
def test_back_and_forward_show_knobs_and_a_picture_that_agree_with_the_address(
    visit: Visit,
) -> None:
    posterior, flip = "/posterior", "/flip_probability"
    visit.open("posterior", epsilon_total="0.5", c="20")
    left = []
    for path, link in ((posterior, ""), (flip, FLIPS), (posterior, "Posterior")):
        if link:
            visit.page.get_by_role("link", name=link, exact=True).click()
        before = screens.agreed(visit, path)
        visit.page.locator(".st-key-epsilon_total input").focus()
        visit.page.keyboard.press("ArrowLeft")
        left.append(screens.agreed(visit, path, before))
    assert len({each.split()[2] for each in left}) == 3, left
    for go, at in (
        (visit.page.go_back, 1),
        (visit.page.go_back, 0),
        (visit.page.go_forward, 1),
        (visit.page.go_forward, 2),
    ):
        go_until(visit, go, left[at])
    # A chooser of the page alone is drawn below the knobs that go back with it.
    visit.page.get_by_role("radio", name="many releases").click()
    expect(visit.page).to_have_url(re.compile(MANY))
    visit.settle()
    visit.page.get_by_role("link", name=FLIPS).click()
    screens.agreed(visit, flip)
    go_until(visit, visit.page.go_back, left[0])
    expect(visit.page.get_by_role("radio", name="one release")).to_be_checked()


STOPS = 12
"""Entries that three page links make in a browser's history at most: Streamlit notes some twice."""


def go_until(visit: Visit, go: Callable[[], object], wanted: str) -> None:
    """Go through the history until something is shown; all that is seen agrees at every stop."""
    for _ in range(STOPS):
        go()
        visit.settle()
        if MANY in visit.page.url:
            # Its title says other settings.
            continue
        if screens.agreed(visit, urlsplit(visit.page.url).path) == wanted:
            return
    pytest.fail(f"{wanted} is not shown after {STOPS} stops")


MANY = "posterior.view=many"


def test_a_preset_leads_to_its_page_and_view_and_another_view_lets_go_of_it(visit: Visit) -> None:
    visit.open("posterior", preset="y23-intervals")
    expect(visit.page).to_have_url(re.compile("/adaptive_truncation.*preset=y23-intervals"))
    shows(visit, "The best interval around μ is ")
    expect(visit.page.get_by_text("A preset sets some knobs")).to_be_visible()
    visit.page.get_by_role("radio", name="live").click()
    expect(visit.page.get_by_role("button", name="Step forward")).to_be_visible()
    expect(visit.page.get_by_text("A preset sets some knobs")).to_have_count(0)


def shows(visit: Visit, text: str) -> None:
    """Wait until the first figure's title says so; it breaks no line inside a setting."""
    expect(visit.page.locator(".finding").first).to_contain_text(
        text.replace(" = ", "\u00a0=\u00a0")
    )
