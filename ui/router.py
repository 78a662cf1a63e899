"""Draw a page: look up its view, and put around it what holds everywhere.

A page file ends with ``router.run(main)``. On a fresh server, a deep link runs that file without
``app.py``; then :func:`run` goes through :func:`main`, which runs the page again with its view.
"""

from __future__ import annotations

import copy
import functools
import itertools
import operator
import threading
from collections.abc import Callable, Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from abcdp_core import __version__
from abcdp_core.base import glossary, registry
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.places import ASSETS
from abcdp_core.models import simulators
from ui.server import render_lock, settings, streamlit_internals
from ui.verbatim import LONGEST_BLAME, verbatim
from ui.view import page_table, session
from ui.view.link import VERSION
from ui.view.page import Page
from ui.view.view import View, look
from ui.widgets import compare, controls

_drawing = threading.local()
"""Has the view that this thread draws a page with."""


def run(page: Callable[[View], None]) -> None:
    """Run a page with its view; called by the page's file."""
    view = getattr(_drawing, "view", None)
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
    from abcdp_core.models.own_model.user_errors import OwnError

    if not isinstance(error, OwnError):
        raise error
    st.error(
        f"A model that was added to this server cannot be used. {verbatim(error, LONGEST_BLAME)} "
        f"Open the page again without what follows `?` in its address."
    )


def _draw(place: DeltaGenerator) -> None:
    """Find the page and its view, then draw it."""
    st.set_page_config(page_icon=ASSETS / "icon.png", layout="wide")
    listed = page_table.shown()
    pages = {page: copy.copy(_entry(page.file, page.title, page.help)) for page in listed}
    chosen = st.navigation([*pages.values()], position="hidden")
    if (code := st.query_params.get("poll")) and settings.here().poll:
        _poll(code, st.query_params.get("host"))
        return
    page = next(page for page, entry in pages.items() if entry.title == chosen.title)
    if (owner := session.leads_to(page)) is not None:
        st.switch_page(page_table.path_of(owner.file), query_params=st.query_params.to_dict())
    leave = functools.partial(session.leave_scenario, page)
    view = session.begin(page, functools.partial(_prepare_scales, place, leave))
    view = _follow_lesson(view)
    compare.begin(view, functools.partial(_prepare_scales, place, compare.leave))
    session.end(view)
    _style("style.css")
    if view.projector:
        _style("projector.css")
    with st.sidebar, st.container(key="sidebar"):
        _navigation(page, pages)
        controls.sidebar(view, __version__)
    _drawing.view = view
    try:
        with st.container(key="page"):
            if settings.is_framed():
                controls.whole_page(view)
            controls.notices()
            if view.lesson is not None:
                # Imported here: most pages are seen without a lesson.
                from ui.parts import lesson

                lesson.panel(view)
            if not page.fills:
                _heading(page)
            chosen.run()
            controls.on_paper(view)
    finally:
        _drawing.view = None


def _prepare_scales(place: DeltaGenerator, leave: Callable[[], None], scenario: str) -> None:
    """Wait for the simulations by which the knobs of an added model get their bounds."""
    added = registry.module_that_added("SCENARIO", scenario)
    if added is not None and (model := simulators.load(scenario).model) is not None:
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
    with st.container(key="page"):
        if secret is None:
            phone.show(code)
        else:
            view = look(page_table.by_file("live_poll"), st.query_params.to_dict())
            if view.projector:
                _style("projector.css")
            screen.show(view, code, secret)


def _style(name: str) -> None:
    st.html(ASSETS / name)


def _follow_lesson(view: View) -> View:
    """Go to the page of a lesson's step that a person has just come to, with its knobs."""
    if not session.comes_to_step(view):
        return view
    assert view.step is not None, "a step is come to"
    if view.step.page != view.page.file and streamlit_internals.came_by_link():
        session.enter(view)
        return view
    from ui.parts import lesson

    opened = lesson.open_step(view)
    if opened.page == view.page:
        session.enter(opened)
        return opened
    # Streamlit lets nobody else say what was drawn here.
    bound = streamlit_internals.bound_keys()
    said = {key: text for key, text in lesson.in_address(opened).items() if key not in bound}
    query = {VERSION: __version__, **said}
    return st.switch_page(page_table.path_of(opened.page.file), query_params=query)


@functools.cache
def _entry(file: str, title: str, note: str) -> st.Page:
    """Return a page as Streamlit knows it; made once, as that looks at every folder above it.

    Streamlit notes in it whether the page may be run, so each run has a copy.
    """
    return st.Page(page_table.path_of(file), title=title, help=note[0].upper() + note[1:])


def _navigation(here: Page, pages: Mapping[Page, st.Page]) -> None:
    """Show links to all pages in groups, folded but for the one of this page.

    Streamlit's own sections fail the accessibility check.
    """
    with st.container(key="navigation", gap=None):
        for group, found in itertools.groupby(pages, operator.attrgetter("group")):
            with st.expander(group, expanded=here.group == group):
                for page in found:
                    st.page_link(pages[page])
