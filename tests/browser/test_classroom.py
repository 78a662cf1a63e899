"""A class in the browser: locked knobs, the dialog that makes their link, a pinned figure."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.visit import SIZE, Visit, without_violations

FLIPS = "When noise flips a decision"

WIDE, NARROW, TELEPHONE = (1400, 900), (1000, 800), (390, 844)


def test_a_teacher_makes_a_link_and_a_student_opens_it(visit: Visit) -> None:
    visit.open("posterior", c="20")
    visit.page.goto(the_link_is_made(visit))
    visit.rest()
    what_is_locked_is_shown_and_what_is_hidden_is_not(visit)
    it_stays_on_another_page(visit)
    a_student_can_leave(visit)


def the_link_is_made(visit: Visit) -> str:
    visit.page.get_by_role("button", name="Make a class link").focus()
    visit.page.keyboard.press("Enter")
    visit.rest()
    dialog = visit.page.get_by_role("dialog")
    made = dialog.get_by_role("textbox", name="Link for the class")
    expect(made).to_have_value(re.compile("c=20"))
    choose(visit, "c", "locked")
    expect(made).to_have_value(re.compile("lock=c&"))
    choose(visit, "noise_draw", "hidden")
    expect(made).to_have_value(re.compile("hide=noise_draw"))
    expect(dialog.get_by_role("img", name="QR code").locator("svg")).to_be_visible()
    expect(dialog).to_contain_text("This link works only on this computer")
    expect(dialog).to_contain_text("Copied. This is the link for the class.")
    address = made.input_value()
    assert visit.page.evaluate("navigator.clipboard.readText()") == address
    without_violations(visit.page)
    visit.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    return address


def choose(visit: Visit, key: str, kind: str) -> None:
    group = visit.page.locator(f".st-key-class-posterior-{key}")
    group.get_by_role("radio", name=kind).click()
    visit.rest()


def what_is_locked_is_shown_and_what_is_hidden_is_not(visit: Visit) -> None:
    expect(visit.page.locator(".st-key-locked-c")).to_contain_text("c = 20")
    expect(visit.page.locator(".st-key-c [data-testid=stSlider]:visible")).to_have_count(0)
    expect(visit.page.get_by_role("button", name="New noise")).to_have_count(0)
    assert "c = 20" in visit.title
    expect(visit.page.locator(".st-key-locked-knobs")).to_contain_text("locked or hidden")
    without_violations(visit.page)


def it_stays_on_another_page(visit: Visit) -> None:
    visit.go_to(FLIPS)
    expect(visit.page.locator(".st-key-locked-c")).to_contain_text("c = 20")
    expect(visit.page).to_have_url(re.compile("flip_probability.*lock=c"))


def a_student_can_leave(visit: Visit) -> None:
    visit.press("Unlock")
    expect(visit.page.locator(".st-key-c [data-testid=stSlider]:visible")).to_have_count(1)
    expect(visit.page.get_by_role("button", name="New noise")).to_be_visible()
    expect(visit.page).not_to_have_url(re.compile("lock="))


@pytest.mark.slow
def test_a_pinned_figure_stands_beside_the_next(visit: Visit) -> None:
    visit.open("posterior", c="10")
    visit.page.get_by_role("button", name="Pin", exact=True).focus()
    visit.page.keyboard.press("Enter")
    visit.rest()
    expect(visit.page.get_by_text("Pinned as A")).to_be_visible()
    visit.move("c", "ArrowRight")
    letters = visit.page.locator(".letter")
    expect(letters).to_have_text(["A c\u00a0=\u00a010", "B c\u00a0=\u00a020"])
    expect(visit.page).to_have_url(re.compile("pin=c%3A10|pin=c:10"))
    they_stand_beside_each_other_on_the_same_axes(visit)
    without_violations(visit.page)
    visit.press("Swap")
    expect(letters).to_have_text(["A c\u00a0=\u00a020", "B c\u00a0=\u00a010"])
    visit.press("Unpin")
    expect(letters).to_have_count(0)
    expect(visit.page).not_to_have_url(re.compile("pin="))


def they_stand_beside_each_other_on_the_same_axes(visit: Visit) -> None:
    charts = visit.page.locator(".st-key-pinned .js-plotly-plot")
    expect(charts).to_have_count(2)
    for (width, height), beside in ((WIDE, True), (NARROW, False), (TELEPHONE, False)):
        visit.page.set_viewport_size({"width": width, "height": height})
        visit.rest()
        first, second = visit.page.evaluate(PLACES)
        assert (abs(first["top"] - second["top"]) < 1) == beside, (width, first, second)
        assert (first["right"] <= second["left"]) == beside, (width, first, second)
    visit.page.set_viewport_size(SIZE)
    ranges = charts.evaluate_all(
        "plots => plots.map(each => [each.layout.xaxis.range, each.layout.yaxis.range])"
    )
    assert ranges[0] == ranges[1]


PLACES = """[...document.querySelectorAll(".st-key-pinned .js-plotly-plot")].map(
    each => each.getBoundingClientRect().toJSON())"""
