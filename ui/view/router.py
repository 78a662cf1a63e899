"""Draw a page: look up its view, and put around it what holds everywhere.

A page file ends with ``router.run(main)``. On a fresh server, a deep link runs that file without
``app.py``; then :func:`run` goes through :func:`main`, which runs the page again with its view.
"""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from abcdp_core import __version__, glossary, registry
from abcdp_core.parameters import ParameterError
from abcdp_core.places import ASSETS
from ui.figures.verbatim import LONGEST_BLAME, verbatim
from ui.server import render_lock, settings, streamlit_internals
from ui.view import controls_spec, page_table, session
from ui.view.link import VERSION
from ui.view.page import Page
from ui.view.view import View, look
from ui.widgets import compare, controls

DRAWN, CURRENT = "_drawn", "_current"


@dataclass
class Current:
    """The view that a session's page is being drawn with."""

    view: View | None = None


def _current() -> Current:
    found: Current = st.session_state.setdefault(CURRENT, Current())
    return found


def run(page: Callable[[View], None]) -> None:
    """Run a page with its view; called by the page's file."""
    view = _current().view
    if view is None:
        main()
        st.stop()
    page(view)


def main() -> None:
    """Draw the page when its turn comes."""
    with render_lock.turn():
        # Always there, so that what comes below keeps its place.
        place = st.empty()
        try:
            _draw(place)
        except ParameterError as error:
            _blame(error)


def _blame(error: ParameterError) -> None:
    """Say what a model that was added to this server does wrong; raise any other error again."""
    # Imported here: most servers have no added model.
    from abcdp_core.own_model.user_errors import OwnError

    if not isinstance(error, OwnError):
        raise error
    st.error(
        f"A model that was added to this server cannot be used. {verbatim(error, LONGEST_BLAME)} "
        f"Open the page again without what follows `?` in its address."
    )


def _draw(place: DeltaGenerator) -> None:
    """Find the page and its view, then draw it."""
    st.set_page_config(page_icon=ASSETS / "icon.png", layout="wide")
    pages = [copy.copy(_entry(page.file, page.title, page.help)) for page in page_table.shown()]
    chosen = st.navigation(pages, position="hidden")
    if (code := st.query_params.get("poll")) and settings.current().poll:
        _poll(code, st.query_params.get("host"))
        return
    page = page_table.shown()[[entry.title for entry in pages].index(chosen.title)]
    if (owner := session.leads_to(page)) is not None:
        st.switch_page(page_table.path_of(owner.file), query_params=st.query_params.to_dict())
    leave = functools.partial(session.leave_scenario, page)
    session.begin(page, functools.partial(_prepare_scales, place, leave))
    _follow_lesson(page)
    st.session_state[DRAWN] = True
    compare.begin(page, functools.partial(_prepare_scales, place, compare.leave))
    view = look(page)
    _style("style.css")
    if view.projector:
        _style("projector.css")
    with st.sidebar:
        _navigation(page, pages)
    controls.sidebar(view, __version__)
    controls.notices()
    if view.lesson is not None:
        # Imported here: most pages are seen without a lesson.
        from ui.parts import lesson

        lesson.panel(view)
    if not page.fills:
        _heading(page)
    current = _current()
    current.view = view
    try:
        chosen.run()
    finally:
        current.view = None
    session.follow_widgets(view)


def _prepare_scales(place: DeltaGenerator, leave: Callable[[], None], scenario: str) -> None:
    """Wait for the simulations by which the knobs of an added model get their bounds."""
    model = getattr(registry.module_that_added("SCENARIO", scenario), "MODEL", None)
    if model is not None:
        # Imported here: most servers have no added model.
        from ui.jobs import added_model

        added_model.prepare_scales(place, leave, scenario, model)


def _heading(page: Page) -> None:
    """Show the page's heading and what the page shows."""
    with st.container(horizontal=True, vertical_alignment="center", key="title"):
        st.title(page.title, width="content", anchor=False)
        st.html(f"<p>{glossary.marked(page.help)}</p>", width="content")


def _poll(code: str, secret: str | None) -> None:
    """Show a live poll: to its lecturer, or to somebody who answers."""
    # Inside the function: no page needs them.
    from ui.poll import phone, screen

    _style("style.css")
    if secret is None:
        phone.show(code)
    else:
        view = look(page_table.by_file("live_poll"))
        if view.projector:
            _style("projector.css")
        screen.show(view, code, secret)


def _style(name: str) -> None:
    st.html(ASSETS / name)


def _follow_lesson(page: Page) -> None:
    """Go to the page of a lesson's step that a person has just come to."""
    view = look(page)
    session.begin_lesson(view)
    # Knobs that have a widget here; one with a single value in a scenario has none.
    there = {*page.own, *controls_spec.SHARED, "lesson", "step"} & {*st.session_state}
    if not session.comes_to_step(view):
        return
    assert view.step is not None, "a step is come to"
    if view.step.page != page.file and streamlit_internals.came_by_link():
        session.enter(view)
        return
    from ui.parts import lesson

    if (opens := lesson.open_step(view)) == page.file:
        session.enter(view)
        return
    # Streamlit refuses to switch without a query, as knobs are bound to the one there is, and lets
    # nobody else say what was drawn here.
    drawn = there if DRAWN in st.session_state else set()
    said = {key: text for key, text in lesson.in_address(look(page)).items() if key not in drawn}
    st.switch_page(page_table.path_of(opens), query_params={VERSION: __version__, **said})


@functools.cache
def _entry(file: str, title: str, note: str) -> st.Page:
    """Return a page as Streamlit knows it; made once, as that looks at every folder above it.

    Streamlit notes in it whether the page may be run, so each run has a copy.
    """
    return st.Page(page_table.path_of(file), title=title, help=note[0].upper() + note[1:])


def _navigation(here: Page, entries: Sequence[st.Page]) -> None:
    """Show links to all pages in groups, folded but for the one of this page.

    Streamlit's own sections fail the accessibility check.
    """
    with st.container(key="navigation", gap=None):
        lines = zip(page_table.shown(), entries, strict=True)
        for group, found in itertools.groupby(lines, lambda line: line[0].group):
            with st.expander(group, expanded=here.group == group):
                for _, entry in found:
                    st.page_link(entry)
