"""All lessons, each with the button that begins it and its print view."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from urllib.parse import urlsplit

import streamlit as st

from abcdp_core import studies
from abcdp_core.base.parameters import Scalar
from abcdp_core.figures import CaptionedFigure
from abcdp_core.publish import lessons
from abcdp_core.publish.lessons import numbers, printed
from abcdp_core.publish.lessons.printed import Picture, Sheet
from abcdp_core.publish.lessons.reading import Lesson
from abcdp_core.publish.lessons.step import Step
from abcdp_core.run import store
from abcdp_core.run.results import Result
from ui.figures import charts, downloads
from ui.jobs.job import Request
from ui.parts import lesson
from ui.server import settings
from ui.view import controls_spec, link, locks, page_table, steps
from ui.view.page import Page
from ui.view.view import View
from ui.widgets import share

Found = Mapping[Request, Result]
"""The results of a lesson's runs."""

ONLY_HERE = (
    "Its codes and addresses work only on this computer. To print it for others, first open the "
    "program by the address that they will use."
)


def show(view: View) -> None:
    """Show one card for each lesson."""
    for number, each in enumerate(lessons.load().values(), 1):
        with st.container(key=f"lesson-card-{each.name}", border=True, gap="small"):
            with st.container(horizontal=True, vertical_alignment="center"):
                with st.container(key=f"lesson-about-{each.name}", width="stretch", gap=None):
                    # Of one text: two without a gap would lie on each other.
                    st.markdown(f"## {number} · {each.title}\n\n{each.lead}")
                    st.caption(" · ".join(step.title for step in each.steps))
                begin, free = partial(lesson.begin_with, each.name), locks.button(view, "lesson")
                st.button("Begin", key=f"lesson-begin-{each.name}", on_click=begin, **free)
                ask = partial(setattr, lesson.reader(), "printed", each.name)
                st.button("Print view", key=f"lesson-print-{each.name}", on_click=ask)
            if lesson.reader().printed == each.name:
                _print_view(view, number, each)


def _print_view(view: View, number: int, chosen: Lesson) -> None:
    """Offer the lesson as a file for the printer."""
    url = share.for_visitors(st.context.url or "", settings.current())

    def file() -> bytes:
        found = {
            each: store.shipped(studies.load(each.experiment), each.params, each.seed)
            for each in requests_of(chosen)
        }
        pictures = printed.pictures(figures_of(chosen, found))
        return page(number, chosen, view.page, url, found, pictures).encode()

    name = f"lesson-{number}-{chosen.name}.html"
    key = f"lesson-file-{chosen.name}"
    downloads.prepare(key, "the print view", name, "text/html", (chosen,), file)
    only_here = urlsplit(url).hostname in settings.OWN_NAMES
    st.caption(
        "A page for the printer, on A4 or Letter. Open the file and print it; leave out the "
        "last pages to keep the answers to yourself. With figures it takes a few seconds."
        + (f" {ONLY_HERE}" if only_here else "")
    )


def requests_of(chosen: Lesson) -> tuple[Request, ...]:
    """Return all runs that a lesson's numbers need, each once: steps share equal ones."""
    every = (request for step in chosen.steps for request in steps.requests(step).values())
    return tuple(dict.fromkeys(every))


def page(
    number: int, chosen: Lesson, here: Page, url: str, found: Found, pictures: Mapping[int, Picture]
) -> str:
    """Return the print view, with pictures for answers by the place of their step."""
    sheets = []
    for place, step in enumerate(chosen.steps, 1):
        opens = page_table.by_file(step.page)
        asked: dict[str, Scalar] = {"lesson": chosen.name, "step": place}
        address = link.address(share.elsewhere(url, here, opens), asked)
        tables = {name: found[request].tables for name, request in steps.requests(step).items()}
        known, words = numbers.of(step, tables), settings_of(step, opens)
        code, picture = share.code(address), pictures.get(place)
        sheets.append(Sheet(step, known, opens.title, words, address, code, picture))
    return printed.page(chosen, number, sheets, steps.SEED)


def settings_of(step: Step, opens: Page) -> tuple[str, ...]:
    """Return what a step's knobs are set to, in words, as far as its page uses them."""
    values = steps.knobs_of(step, opens)
    unused = opens.unused(values.get(opens.view))
    scenario = steps.scenario_of(step, opens)
    found = []
    for key in (key for key in step.knobs if key not in unused):
        label, value = opens.knob(key, scenario).parameter.label, values[key]
        sign, gloss, _ = label.partition(" · ")
        text = controls_spec.display_value(key, value)
        # As in `c = 10` and `Show: many releases`.
        found.append(f"{sign} = {text}" if gloss else f"{sign}: {text}")
    return tuple(found)


def figures_of(chosen: Lesson, found: Found) -> dict[int, tuple[Result, CaptionedFigure]]:
    """Return place of a step with a question -> the figure for its answer; each figure once."""
    figures: dict[int, tuple[Result, CaptionedFigure]] = {}
    for place, step in enumerate(chosen.steps, 1):
        for request in steps.requests(step).values() if step.question else ():
            result = found[request]
            for name, drawn in charts.drawn(result).items():
                seen = place in figures or any(drawn is each for _, each in figures.values())
                if step.look == f"chart-{result.experiment}-{name}" and not seen:
                    figures[place] = result, drawn
    return figures
