"""All lessons, each with the button that begins it and its print view."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit, urlunsplit

import streamlit as st

from abcdp_core import lessons
from abcdp_core.figures import Drawn
from abcdp_core.lessons import Lesson, Step, numbers, printed
from abcdp_core.lessons.printed import Picture, Sheet
from abcdp_core.output import images
from abcdp_core.output.formats import ExportError
from abcdp_core.parameters import Scalar, text_of
from abcdp_core.results import Result
from ui import drawings, export, jobs, knobs, lesson, link, locks, router, served, share, watch
from ui.job import Request
from ui.page import Page

PRINTED = "_lesson_printed"
"""Name of the lesson whose print view was asked for last."""

Found = Mapping[Request, Result]
"""The results of a lesson's runs."""


def show() -> None:
    """One card a lesson."""
    for number, each in enumerate(lessons.load().values(), 1):
        with st.container(key=f"lesson-card-{each.name}", border=True, gap="small"):
            with st.container(horizontal=True, vertical_alignment="center"):
                with st.container(key=f"lesson-about-{each.name}", width="stretch", gap=None):
                    # Of one text: two without a gap would lie on each other.
                    st.markdown(f"## {number} · {each.title}\n\n{each.lead}")
                    st.caption(" · ".join(step.title for step in each.steps))
                st.button(
                    "Begin",
                    key=f"lesson-begin-{each.name}",
                    on_click=partial(lesson.begin_with, each.name),
                    disabled=locks.is_fixed("lesson"),
                    help=locks.REASON if locks.is_fixed("lesson") else None,
                )
                st.button(
                    "Print view",
                    key=f"lesson-print-{each.name}",
                    on_click=partial(_ask, each.name),
                )
            if st.session_state.get(PRINTED) == each.name:
                _print_view(number, each)


def _ask(name: str) -> None:
    st.session_state[PRINTED] = name


# ------------------------------------------------------------------------------------ print view


def _print_view(number: int, chosen: Lesson) -> None:
    """The numbers as they are computed; when they are there, the file."""
    url = share.for_visitors(st.context.url or "", served.settings())
    make = partial(_file, jobs.session_id(), number, chosen, url)
    # One after the other has the same names, so that of another lesson nothing goes on.
    requests = {f"print-{place}": each for place, each in enumerate(requests_of(chosen))}

    def offer(grown: Mapping[str, Result], _: bool) -> None:
        found = {requests[name]: each for name, each in grown.items() if not each.is_partial}
        if len(found) < len(requests):
            return
        st.download_button(
            "Save the print view (HTML)",
            data=partial(make, found),
            file_name=f"lesson-{number}-{chosen.name}.html",
            mime="text/html",
            key=f"lesson-file-{chosen.name}",
            on_click="ignore",
            type="primary",
        )
        only_here = urlsplit(url).hostname in share.OWN_NAMES
        st.caption(
            "A page for the printer, on A4 or Letter. Open the file and print it; leave out the "
            "last pages if the answers are to stay with you. With figures it takes a few seconds."
            + (f" {ONLY_HERE}" if only_here else "")
        )

    if requests:
        watch.growing_together(requests, offer, former=False, waiting=lambda: None)
    else:
        offer({}, False)


ONLY_HERE = (
    "Its codes and addresses name this computer by a name that works nowhere else. Before you "
    "print it for others, open the program by the address that they use."
)


def _requests(step: Step) -> dict[str, Request]:
    return {
        name: Request(run.experiment, step.params(name), lesson.SEED)
        for name, run in step.runs.items()
    }


def requests_of(chosen: Lesson) -> tuple[Request, ...]:
    """All runs that a lesson's numbers need, each once: steps share equal ones."""
    every = (request for step in chosen.steps for request in _requests(step).values())
    return tuple(dict.fromkeys(every))


def _file(who: str, number: int, chosen: Lesson, url: str, found: Found) -> bytes:
    """The print view, with figures if they can be drawn here."""
    drawn = figures_of(chosen, found)
    pictures: Mapping[int, Picture] = {}
    if drawn and images.obstacle() is None:
        with export.turn_of(who):
            pictures = _pictures(drawn)
    return page(number, chosen, url, found, pictures).encode()


def page(
    number: int, chosen: Lesson, url: str, found: Found, pictures: Mapping[int, Picture]
) -> str:
    """The print view.

    Args:
        number: of the lesson, from 1.
        chosen: the lesson.
        url: of any page, as visitors reach it.
        found: its results.
        pictures: place of a step, from 1 -> a figure for its answer.
    """
    sheets = [
        _sheet(chosen, place, url, found, pictures.get(place))
        for place in range(1, len(chosen.steps) + 1)
    ]
    return printed.page(chosen, number, sheets, lesson.SEED)


def _sheet(chosen: Lesson, place: int, url: str, found: Found, picture: Picture | None) -> Sheet:
    step = chosen.steps[place - 1]
    opens = next(each for each in router.TABLE if each.file == step.page)
    address = address_of(opens, url, {"lesson": chosen.name, "step": place})
    tables = {name: found[request].tables for name, request in _requests(step).items()}
    return Sheet(
        step,
        numbers.of(step, tables),
        opens.title,
        settings_of(step, opens),
        address,
        share.code(address),
        picture,
    )


def address_of(opens: Page, url: str, values: Mapping[str, Scalar]) -> str:
    """The address of a page on the server of another one.

    Args:
        opens: the page.
        url: of the other one.
        values: knobs that it sets.
    """
    parts = urlsplit(url)
    folder = parts.path.rpartition("/")[0]
    # The first page of all stands in the folder itself.
    name = "" if opens == router.TABLE[0] else opens.file
    place = urlunsplit(parts._replace(path=f"{folder}/{name}", query="", fragment=""))
    return link.address(place, values)


def settings_of(step: Step, opens: Page) -> tuple[str, ...]:
    """What a step's knobs stand at, in words, as far as its page uses them."""
    values = lesson.knobs_of(step, opens)
    unused = opens.unused(values.get(opens.view))
    scenario = lesson.scenario_of(step, opens)
    return tuple(
        _setting(knobs.find(key, opens.every, scenario).parameter.label, values[key])
        for key in step.knobs
        if key not in unused
    )


def _setting(label: str, value: Scalar) -> str:
    """A knob with its value: ``c = 10``, ``Show: many releases``."""
    sign, gloss, _ = label.partition(" · ")
    text = f"{value:,}" if isinstance(value, int) else text_of(value)
    return f"{sign} = {text}" if gloss else f"{sign}: {text}"


# --------------------------------------------------------------------------------------- figures


def figures_of(chosen: Lesson, found: Found) -> dict[int, tuple[Result, Drawn]]:
    """Place of a step with a question, from 1 -> the figure for its answer; each figure once."""
    figures: dict[int, tuple[Result, Drawn]] = {}
    for place, step in enumerate(chosen.steps, 1):
        shown = _figure(step, found) if step.question else None
        if shown and not any(shown[1] is drawn for _, drawn in figures.values()):
            figures[place] = shown
    return figures


def _figure(step: Step, found: Found) -> tuple[Result, Drawn] | None:
    """The figure that stands out in a step, if it is a result's."""
    for request in _requests(step).values():
        result = found[request]
        for name, drawn in drawings.drawn(result).items():
            if step.look in (f"chart-{result.experiment}-{name}", f"chart-overview-{name}"):
                return result, drawn
    return None


def _pictures(drawn: Mapping[int, tuple[Result, Drawn]]) -> Mapping[int, Picture]:
    """The figures as SVG, drawn by one browser; none if it fails, as the words say what counts."""
    with TemporaryDirectory() as folder:
        orders = {
            place: images.images_of(result, {"": each}, Path(folder), ["svg"], str(place))[0]
            for place, (result, each) in drawn.items()
        }
        try:
            images.draw([*orders.values()])
        except ExportError:
            return {}
        return {
            place: Picture(order.path.read_bytes(), drawn[place][1].sentence)
            for place, order in orders.items()
        }
