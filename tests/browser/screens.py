"""What of a page is on the first screen, and whether all that is seen agrees, in the browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from playwright.sync_api import Locator

from abcdp_core.base.parameters import text_of
from tests.browser.visit import SIZE, Visit
from ui.view import controls_spec, page_table

CARD = "[class*=st-key-lesson-card]"
"""What the page of lessons has instead of figures."""

HEADLINE = "[data-testid=stMain] h1:visible"
KNOBS = "[data-testid=stSidebar] [data-testid=stSlider]:visible"
BUDGET = "[data-testid=stSidebar] [class*=epsilon_total]:visible"
FIGURES = "[data-testid=stMain] .js-plotly-plot:visible"
PLAYER = ":is(.player :is(.controls, .whole, .zoom, .known, .person), .story :is(canvas, .row))"

TALL = ("budgets",)
"""Views whose figure has a row for each of many settings, and is scrolled."""

TELEPHONE = 390, 844


def views(visit: Visit) -> Iterator[str]:
    """Show one view of a page after the other, and give their names; its own if it has none."""
    keys = [key for key in page_table.by_file(visit.name).own if key.endswith(".view")]
    for key in keys:
        for view in map(str, controls_spec.SCREEN[key].parameter.options):
            visit.page.set_viewport_size(SIZE)
            visit.choose(view)
            yield view
    if not keys:
        yield visit.name


def outside(visit: Visit, width: int, height: int, view: str = "") -> str:
    """Return what of knobs, headline and main figure can only be seen by scrolling."""
    visit.page.set_viewport_size({"width": width, "height": height})
    visit.rest()
    parts = {
        "headline": [visit.page.locator(HEADLINE).first],
        "knob": visit.page.locator(KNOBS).all()[: len(controls_spec.FOUR)],
        "figure": [] if view in TALL else _main(visit),
    }
    boxes = [(name, _box(element)) for name, elements in parts.items() for element in elements]
    return ", ".join(f"{name} {box}" for name, box in boxes if not _within(box, width, height))


def covered(visit: Visit) -> str:
    """Return why on a telephone the budget's knob and the figure cannot be seen together."""
    width, height = TELEPHONE
    visit.page.set_viewport_size({"width": width, "height": height})
    visit.rest()
    knob = visit.page.locator(BUDGET)
    if not knob.count():
        return ""
    figure = _main(visit)[-1]
    if visit.name in SCROLLED:
        figure.evaluate("each => each.scrollIntoView({block: 'center'})")
        visit.rest()
    top, box = _box(knob)["y"], _box(figure)
    seen = min(box["y"] + box["height"], top) - max(box["y"], 0)
    if 0 < top < height and seen >= min(box["height"], ENOUGH * height):
        return ""
    return f"{seen:.0f} pixels of the figure are seen, and the knob is at {top:.0f} of {height}"


ENOUGH = 0.33
"""Part of a telephone's height on which a figure can be read; a taller one is scrolled."""

SCROLLED = ("adaptive_truncation", "your_own_data")
"""Pages that begin with more than choosers: a headline and a player, a form."""


def _main(visit: Visit) -> list[Locator]:
    """Return the figures that a page is about."""
    for other in (PLAYER, CARD):
        if (parts := visit.page.locator(other)).count():
            return parts.all() if other == PLAYER else [parts.first]
    figures = visit.page.locator(FIGURES)
    figures.first.wait_for()
    return figures.all()[:1]


def _box(element: Locator) -> Mapping[str, float]:
    box = element.bounding_box() or {"x": -1, "y": -1, "width": 0, "height": 0}
    return {name: round(float(value)) for name, value in box.items()}  # type: ignore[arg-type]


def _within(box: Mapping[str, float], width: int, height: int) -> bool:
    right, bottom = box["x"] + box["width"], box["y"] + box["height"]
    return min(box["x"], box["y"]) >= 0 and right <= width and bottom <= height


SHOWN = """usual => {
    const title = document.querySelector(".finding").textContent.replaceAll("\u00a0", " ");
    const address = new URL(location).searchParams;
    const scenario = address.get("scenario") ?? "uniform-mixture";
    const names = { epsilon_total: "ε_total", c: "c", n: "N" };
    const asked = Object.keys(names).map((key) => address.get(key) ?? usual[scenario][key]);
    const apart = Object.entries(names).flatMap(([key, name], at) => {
        const knob = document.querySelector(`.st-key-${key} [data-testid=stSliderThumbValue]`);
        const number = Number(asked[at]).toLocaleString("en-US"), said = `${name} = ${number},`;
        // A knob with one value has no slider.
        const agree = [undefined, number].includes(knob?.textContent);
        const is = `${said} ${knob?.textContent}; ${title}`;
        return agree && `${title},`.includes(said) ? [] : [is];
    });
    return [[location.pathname, scenario, ...asked].join(" "), apart.join("; ")];
}"""
"""Path, scenario, budget, c and N as the address says; where knobs and picture say otherwise."""

USUAL = {
    scenario: {
        key: text_of(controls_spec.find(key, scenario=scenario).default)
        for key in ("epsilon_total", "c", "n")
    }
    for scenario in map(str, controls_spec.find("scenario").parameter.options)
}


def agreed(visit: Visit) -> str:
    """Return what is shown, in a page at rest: the address, the knobs and the picture agree."""
    visit.rest()
    found, apart = visit.page.evaluate(SHOWN, USUAL)
    assert not apart, apart
    return str(found)
