"""What of a page is on the first screen, and whether all that is seen agrees, in the browser."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping

from playwright.sync_api import Locator, TimeoutError

from abcdp_core.parameters import text_of
from tests.browser.conftest import CARD, PATIENCE, SIZE, WAIT_BEFORE_PROGRESS, Visit
from ui.view import controls_spec, page_table

HEADLINE = "[data-testid=stMain] h1:visible"
KNOBS = "[data-testid=stSidebar] [data-testid=stSlider]:visible"
BUDGET = "[data-testid=stSidebar] [class*=epsilon_total]:visible"
FIGURES = "[data-testid=stMain] .js-plotly-plot:visible"
CARDS = ".st-key-overview .js-plotly-plot:visible"
PLAYER = ".player :is(.controls, .whole, .zoom, .known, .person)"

FIRST = """((document.querySelector(
    "[data-testid=stMain] :is([class*=st-key-chart-]:has(.js-plotly-plot), .st-key-headline)"
)?.className ?? "").match(/st-key-\\S+/) ?? [null])[0]"""
"""Which figure is the first of the page, by its key, or the player by what stands above it.
Another class of it changes while a script is going on."""

START = "[class*=st-key-start-] button"

SEEN: Mapping[tuple[str, int], int] = {("overview", 1400): 4, ("overview", 1280): 2}
"""Page and width -> figures on its first screen; one on any other."""

TALL = ("budgets",)
"""Views whose figure has a row for each of many settings, and is scrolled."""

TELEPHONE = 390, 844

MOMENT = 250
"""Milliseconds between two looks at what may be on its way to its place."""


def views(visit: Visit) -> Iterator[str]:
    """Show one view of a page after the other, and give their names; its own if it has none."""
    keys = [key for key in page_table.by_file(visit.name).own if key.endswith(".view")]
    for key in keys:
        visit.page.set_viewport_size(SIZE)
        for view in map(str, controls_spec.SCREEN[key].parameter.options):
            choice = visit.page.get_by_role("radio", name=view, exact=True)
            if not choice.is_checked():
                before = visit.page.evaluate(FIRST)
                choice.click()
                _wait_for_another(visit, before)
            yield view
    if not keys:
        yield visit.name


def _wait_for_another(visit: Visit, before: str | None) -> None:
    """Wait until the first figure is another; a page may ask before it computes one."""
    another = f"![before, null].includes({FIRST})"
    either = f"before => {another} || document.querySelector('{START}')"
    visit.page.wait_for_function(either, arg=before, timeout=PATIENCE)
    for button in visit.page.locator(START).all()[:1]:
        # A button that goes away before it is clicked belonged to what was just replaced.
        with contextlib.suppress(TimeoutError):
            button.click(timeout=WAIT_BEFORE_PROGRESS / 6)
    visit.page.wait_for_function(f"before => {another}", arg=before, timeout=PATIENCE)
    visit.settle()


def outside(visit: Visit, width: int, height: int, view: str = "") -> str:
    """Return what of knobs, headline and main figure can only be seen by scrolling."""
    visit.page.set_viewport_size({"width": width, "height": height})
    return _at_last(visit, lambda: _outside(visit, width, height, view))


def _outside(visit: Visit, width: int, height: int, view: str) -> str:
    parts = {
        "headline": [visit.page.locator(HEADLINE).first],
        "knob": visit.page.locator(KNOBS).all()[: len(controls_spec.FOUR)],
        "figure": [] if view in TALL else _main(visit, SEEN.get((visit.name, width), 1)),
    }
    boxes = [(name, _box(element)) for name, elements in parts.items() for element in elements]
    return ", ".join(f"{name} {box}" for name, box in boxes if not _within(box, width, height))


def _at_last(visit: Visit, wrong: Callable[[], str]) -> str:
    """Return what is wrong once everything is in its place: it may be on its way there."""
    for _ in range(WAIT_BEFORE_PROGRESS // MOMENT):
        if not (found := wrong()):
            break
        visit.page.wait_for_timeout(MOMENT)
    return found


def covered(visit: Visit) -> str:
    """Return why on a telephone the budget's knob and the figure cannot be seen together."""
    width, height = TELEPHONE
    visit.page.set_viewport_size({"width": width, "height": height})
    # A table is laid out anew a moment after the window.
    visit.page.wait_for_function(
        f"document.querySelector('[data-testid=stMain]').scrollWidth <= {width}"
    )
    knob = visit.page.locator(BUDGET)
    return _at_last(visit, lambda: _apart(visit, knob, height)) if knob.count() else ""


def _apart(visit: Visit, knob: Locator, height: int) -> str:
    """Return why knob and figure cannot be seen together now; empty if they can."""
    if not (figures := _main(visit, 1)):
        return "the figure is being drawn again"
    figure = figures[-1]
    if visit.name in SCROLLED:
        figure.evaluate("each => each.scrollIntoView({block: 'center'})")
    top, box = _box(knob)["y"], _box(figure)
    seen = min(box["y"] + box["height"], top) - max(box["y"], 0)
    if 0 < top < height and seen >= min(box["height"], ENOUGH * height):
        return ""
    return f"{seen:.0f} pixels of the figure are seen, and the knob is at {top:.0f} of {height}"


ENOUGH = 0.33
"""Part of a telephone's height on which a figure can be read; a taller one is scrolled."""

SCROLLED = ("overview", "adaptive_truncation", "your_own_data")
"""Pages that begin with more than choosers: a headline, a headline and a player, a form."""


def _main(visit: Visit, count: int) -> list[Locator]:
    """Return the figures that a page is about."""
    for other in (PLAYER, CARD):
        if (parts := visit.page.locator(other)).count():
            return parts.all() if other == PLAYER else [parts.first]
    figures = visit.page.locator(CARDS if visit.name == "overview" else FIGURES)
    figures.nth(count - 1).wait_for()
    return figures.all()[:count]


def _box(element: Locator) -> Mapping[str, float]:
    # What is drawn again has no place for a moment.
    box = element.bounding_box() or {"x": -1, "y": -1, "width": 0, "height": 0}
    return {name: round(float(value)) for name, value in box.items()}  # type: ignore[arg-type]


def _within(box: Mapping[str, float], width: int, height: int) -> bool:
    right, bottom = box["x"] + box["width"], box["y"] + box["height"]
    return min(box["x"], box["y"]) >= 0 and right <= width and bottom <= height


AGREE = """([path, usual, before]) => {
    const shown = document.querySelector(
        '[data-testid=stApp][data-test-script-state=notRunning] .finding:not([data-stale=true] *)');
    const title = shown?.textContent.replaceAll("\u00a0", " ") ?? "";
    const address = new URL(location).searchParams;
    const scenario = address.get("scenario") ?? "uniform-mixture";
    const names = { epsilon_total: "ε_total", c: "c", n: "N" };
    const asked = Object.keys(names).map((key) => address.get(key) ?? usual[scenario][key]);
    const agree = Object.entries(names).every(([key, name], at) => {
        const knob = document.querySelector(`.st-key-${key} [data-testid=stSliderThumbValue]`);
        const said = `${name} = ${Number(asked[at]).toLocaleString("en-US")},`;
        // A knob with one value has no slider.
        return [undefined, asked[at]].includes(knob?.textContent) && `${title},`.includes(said);
    });
    const found = [path, scenario, ...asked].join(" ");
    // A page may be drawn once more; what is seen has to last.
    const lasts = location.pathname === path && agree && found === globalThis.lastFound;
    globalThis.lasts = lasts ? globalThis.lasts + 1 : 0;
    globalThis.lastFound = found;
    return found !== before && globalThis.lasts > 3 && found;
}"""
"""Path, scenario, budget, c and N, once address, knobs and picture of a page agree on them."""

USUAL = {
    scenario: {
        key: text_of(controls_spec.find(key, scenario=scenario).default)
        for key in ("epsilon_total", "c", "n")
    }
    for scenario in map(str, controls_spec.find("scenario").parameter.options)
}


def agreed(visit: Visit, path: str, before: str = "") -> str:
    """What is shown, once all that is seen of it agrees and it is not what was shown before."""
    asked = [path, USUAL, before]
    return str(visit.page.wait_for_function(AGREE, arg=asked, polling=MOMENT).json_value())
