"""Presses at random moments: whatever is computed, they lead to the page that was asked for."""

from __future__ import annotations

import random
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from abcdp_core import __version__
from abcdp_core.publish import lessons
from tests.browser.visit import Visit
from ui.view import page_table

LINKS = ("posterior", "flip_probability", "adaptive_truncation", "papers")
KNOBS = ("c", "epsilon_total", "n")

PRESS = """([place, name]) => {
    const seen = [...document.querySelectorAll(place)].filter((each) => !each.disabled);
    const found = seen.find((each) => !name || each.textContent.trim() === name);
    found?.focus();
    if (found && found.tagName !== "INPUT") found.click();
    return found !== undefined;
}"""
"""A person does not wait until what they press is at rest, as Playwright does."""


def press(visit: Visit, place: str, name: str = "") -> bool:
    """Press what is there, whatever goes on; return whether it was there."""
    return bool(visit.page.evaluate(PRESS, [place, name]))


def follow(visit: Visit, chance: random.Random) -> str:
    """Press a link to another page than the one in the address; return that page's title."""
    page = page_table.by_file(chance.choice([each for each in LINKS if each != shown(visit)]))
    assert press(visit, "[data-testid=stSidebar] a", page.title)
    return page.title


def shown(visit: Visit) -> str:
    """The page in the address."""
    return urlsplit(visit.page.url).path.strip("/") or "overview"


def go_on(visit: Visit, chance: random.Random) -> bool:
    """Press one of a lesson's buttons; return whether it was there."""
    key = chance.choice(("next", "next", "back", "return"))
    return press(visit, f".st-key-lesson-{key} button")


def move(visit: Visit, chance: random.Random) -> None:
    """Move a knob by some steps, or draw new noise."""
    if chance.random() < 1 / 3:
        press(visit, ".st-key-new-noise button")
    elif press(visit, f".st-key-{chance.choice(KNOBS)} input"):
        for _ in range(chance.randint(1, 9)):
            visit.page.keyboard.press("ArrowRight")


def come_to_the_page_asked_for(visit: Visit, seed: int) -> None:
    """Press several things, the last of which leads to a page, which must be there then."""
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 4)):
        chance.choice((follow, go_on, move, move))(visit, chance)
        visit.page.wait_for_timeout(1000 * chance.random() * chance.choice((0.02, 0.1, 0.5)))
    is_lesson = chance.random() < 1 / 2 and go_on(visit, chance)
    title = "" if is_lesson else follow(visit, chance)
    visit.rest()
    assert not visit.page.get_by_test_id("stException").count(), seed
    # The last thing of the sidebar.
    assert visit.page.locator("[data-testid=stSidebar] .st-key-room").count() == 1, seed
    if is_lesson:
        assert not visit.page.get_by_text("continues on another page").count(), seed
        return
    page = page_table.by_file(shown(visit))
    assert page.title == title, seed
    if not page.fills:
        assert visit.page.locator("h1").first.text_content() == title, seed


@pytest.mark.parametrize(
    "seeds", [range(6), pytest.param(range(10, 110), marks=pytest.mark.slow)], ids=len
)
def test_presses_at_random_moments_lead_to_the_page_asked_for(visit: Visit, seeds: range) -> None:
    chance = random.Random(seeds.start)
    for seed in seeds:
        if seed % 10 == 0:
            # Any lesson, so that its buttons are there.
            visit.open("posterior", lesson=chance.choice([*lessons.load()]), step="1")
        come_to_the_page_asked_for(visit, seed)


def test_a_knob_that_is_still_on_its_way_undoes_no_press(visit: Visit) -> None:
    visit.page.goto(f"{visit.server}/posterior?lesson=one-person&step=3&version={__version__}")
    visit.rest()
    visit.page.locator(".st-key-c input").focus()
    visit.page.keyboard.press("ArrowRight")
    # Its value is sent after the press.
    assert press(visit, ".st-key-lesson-next button", "Next lesson")
    visit.rest()
    expect(visit.page.get_by_text("Lesson 2").first).to_be_visible()
