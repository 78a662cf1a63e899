"""A class in the browser: locked knobs, the dialog that makes their link, a pinned figure."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import SIZE, Visit

FLIPS = "When noise flips a decision"

pytestmark = [
    pytest.mark.xdist_group("browser"),
    # A browser that is being closed leaves sockets for the collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

WIDE, NARROW, TELEPHONE = (1400, 900), (1000, 800), (390, 844)


def test_a_teacher_makes_a_link_and_a_student_opens_it(look: Visit) -> None:
    look.open("posterior", c="20")
    look.page.goto(the_link_is_made(look))
    look.page.wait_for_selector("svg.main-svg", state="attached")
    look.settle()
    what_is_locked_is_shown_and_what_is_hidden_is_not(look)
    it_stays_on_another_page(look)
    a_student_can_leave(look)


def the_link_is_made(look: Visit) -> str:
    button = look.page.get_by_role("button", name="Make a class link")
    button.focus()
    look.page.keyboard.press("Enter")
    dialog = look.page.get_by_role("dialog")
    made = dialog.get_by_role("textbox", name="Link for the class")
    expect(made).to_have_value(re.compile("c=20"))
    choose(look, "c", "locked")
    expect(made).to_have_value(re.compile("lock=c&"))
    choose(look, "noise_draw", "hidden")
    expect(made).to_have_value(re.compile("hide=noise_draw"))
    expect(dialog.get_by_role("img", name="QR code").locator("svg")).to_be_visible()
    expect(dialog).to_contain_text("This link works only on this computer")
    expect(dialog).to_contain_text("Copied. This is the link for the class.")
    address = made.input_value()
    assert look.page.evaluate("navigator.clipboard.readText()") == address
    nothing_for_axe_to_find(look)
    look.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    return address


def choose(look: Visit, key: str, kind: str) -> None:
    group = look.page.locator(f".st-key-class-posterior-{key}")
    group.get_by_role("radio", name=kind).click()
    expect(group.get_by_role("radio", name=kind)).to_be_checked()


def what_is_locked_is_shown_and_what_is_hidden_is_not(look: Visit) -> None:
    expect(look.page.locator(".st-key-locked-c")).to_contain_text("c = 20")
    expect(look.page.locator(".st-key-c [data-testid=stSlider]:visible")).to_have_count(0)
    expect(look.page.get_by_role("button", name="New noise")).to_have_count(0)
    assert "c = 20" in look.title
    expect(look.page.locator(".st-key-locked-knobs")).to_contain_text("locked or hidden")
    nothing_for_axe_to_find(look)


def it_stays_on_another_page(look: Visit) -> None:
    look.page.get_by_role("link", name=FLIPS).click()
    expect(look.page.get_by_role("heading", name=FLIPS, exact=True)).to_be_visible()
    expect(look.page.locator(".st-key-locked-c")).to_contain_text("c = 20")
    expect(look.page).to_have_url(re.compile("flip_probability.*lock=c"))


def a_student_can_leave(look: Visit) -> None:
    look.page.get_by_role("button", name="Unlock").click()
    # While pages change, that of the one before may stand there, too.
    expect(look.page.locator(".st-key-c [data-testid=stSlider]:visible")).to_have_count(1)
    expect(look.page.get_by_role("button", name="New noise")).to_be_visible()
    expect(look.page).not_to_have_url(re.compile("lock="))


def test_a_pinned_figure_stands_beside_the_next(look: Visit) -> None:
    look.open("posterior", c="10")
    look.page.get_by_role("button", name="Pin", exact=True).focus()
    look.page.keyboard.press("Enter")
    expect(look.page.get_by_text("Pinned as A")).to_be_visible()
    look.settle()
    look.page.locator(".st-key-c input").focus()
    look.page.keyboard.press("ArrowRight")
    letters = look.page.locator(".letter")
    expect(letters).to_have_text(["A c\u00a0=\u00a010", "B c\u00a0=\u00a020"])
    expect(look.page).to_have_url(re.compile("pin=c%3A10|pin=c:10"))
    look.settle()
    they_stand_beside_each_other_on_the_same_axes(look)
    nothing_for_axe_to_find(look)
    look.page.get_by_role("button", name="Swap", exact=True).click()
    expect(letters).to_have_text(["A c\u00a0=\u00a020", "B c\u00a0=\u00a010"])
    look.page.get_by_role("button", name="Unpin", exact=True).click()
    expect(letters).to_have_count(0)
    expect(look.page).not_to_have_url(re.compile("pin="))


def they_stand_beside_each_other_on_the_same_axes(look: Visit) -> None:
    charts = look.page.locator(".st-key-pinned .js-plotly-plot")
    expect(charts).to_have_count(2)
    for (width, height), beside in ((WIDE, True), (NARROW, False), (TELEPHONE, False)):
        look.page.set_viewport_size({"width": width, "height": height})
        look.page.wait_for_function(f"{PLACES}.every(each => each.right <= {width})")
        first, second = look.page.evaluate(PLACES)
        assert (abs(first["top"] - second["top"]) < 1) == beside, (width, first, second)
        assert (first["right"] <= second["left"]) == beside, (width, first, second)
    look.page.set_viewport_size(SIZE)
    ranges = charts.evaluate_all(
        "plots => plots.map(each => [each.layout.xaxis.range, each.layout.yaxis.range])"
    )
    assert ranges[0] == ranges[1]


PLACES = """[...document.querySelectorAll(".st-key-pinned .js-plotly-plot")].map(
    each => each.getBoundingClientRect().toJSON())"""


def nothing_for_axe_to_find(look: Visit) -> None:
    """In the light and in the dark."""
    look.page.mouse.move(SIZE["width"] - 2, 2)
    for scheme in ("light", "dark"):
        look.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        look.settle()
        found = Axe().run(look.page)
        assert found.violations_count == 0, f"{scheme}: {found.generate_report()}"
    look.page.emulate_media(color_scheme="light")
