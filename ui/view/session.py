"""Bring session and address together before a page's view is taken: links, presets, scenarios."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from abcdp_core import __version__
from abcdp_core.parameters import ParameterError, Scalar, text_of
from ui.view import controls_spec, link, page_table
from ui.view.controls_spec import FIRST_SCENARIO, NO_PRESET, SHARED
from ui.view.page import Page
from ui.view.view import View, look

LINK_READ, NOTICES, VERSION_NOTE, PIN_ASKED = "_link_read", "_notices", "_version_note", "_pin"
SCENARIO, KEPT, AGAIN = "_scenario", "_kept_by_scenario", "_again"
FOLLOWED, RESTORED = "_followed", "_restored"
SCENE, LAST_SCENE = "overview.scene", "8"


def begin(page: Page, ready: Callable[[str], None]) -> None:
    """Have the session ready for a page's view; at its first run, read the link."""
    begin_again()
    st.session_state.update(st.session_state.pop(RESTORED, {}))
    if (brought := _brought_view(look(page))) and brought != look(page).shown:
        st.session_state[page.view] = brought
    ready(look(page).scenario)
    if LINK_READ in st.session_state:
        _follow_scenario(page)
    else:
        st.session_state[LINK_READ] = True
        st.session_state[SCENARIO] = look(page).scenario
        _read_link(page)
    # An address leaves out defaults; the version says which they are.
    keep(link.VERSION, __version__)
    for key in (controls_spec.LOCK, controls_spec.HIDE):
        keep(key, ",".join(st.session_state.get(key, ())))
    _keep_fixed(page)


def follow_widgets(view: View) -> None:
    """Run again, once, if widgets took other values than the view has.

    On Back and Forward the address wins, which Streamlit tells each widget as it is drawn. A
    browser that a new session does not know says what its knobs were; there the address wins, too.
    """
    now = look(view.page)
    moved = {key: view.held(key) for key in view.knobs_of_page if now.held(key) != view.held(key)}
    if moved and not st.session_state.get(FOLLOWED, False):
        if FOLLOWED not in st.session_state:
            st.session_state[RESTORED] = moved
        st.session_state[FOLLOWED] = True
        st.rerun()
    st.session_state[FOLLOWED] = False


ENTERED = "_lesson_entered"
"""Key of the lesson's step that was opened last."""


def begin_lesson(view: View) -> None:
    """At the start of a session, leave alone the knobs that a link sets beside the lesson."""
    if ENTERED not in st.session_state:
        own = view.texts.keys() & {*page_table.known_keys()} - {*controls_spec.EVERYWHERE}
        st.session_state[ENTERED] = _step(view) if own else None


def comes_to_step(view: View) -> bool:
    """Return whether a person has come to a step of a lesson that was not opened yet."""
    if (step := _step(view)) is None:
        enter(view)
    return step not in (None, st.session_state.get(ENTERED))


def enter(view: View) -> None:
    """Remember that the step is open.

    Not before it is: a press that comes first begins the page again, which then has to open it.
    """
    st.session_state[ENTERED] = _step(view)


def _step(view: View) -> tuple[str, int] | None:
    return None if view.lesson is None else (view.lesson[0].name, view.lesson[1])


def of_page(page: Page) -> set[str]:
    """Return the keys of a link that mean something on a page."""
    return {*SHARED, *controls_spec.EVERYWHERE, *page.own, "preset"}


def _keep_fixed(page: Page) -> None:
    """Have the address hold the knobs of other pages that the link locks or hides."""
    fixed = {
        *st.session_state.get(controls_spec.LOCK, ()),
        *st.session_state.get(controls_spec.HIDE, ()),
    }
    for key in ({*page_table.known_keys()} - of_page(page)) & fixed & {*st.session_state}:
        value = st.session_state[key]
        keep(key, "" if value == controls_spec.find(key).default else text_of(value))


def keep(key: str, text: str) -> None:
    """Have the address hold something that is no knob's value, or drop it if that is empty."""
    if st.query_params.get(key, "") == text:
        return
    if text:
        st.query_params[key] = text
    else:
        del st.query_params[key]


def leads_to(page: Page) -> Page | None:
    """Return another page, if the link that begins a session asks for a preset of it.

    The first page had scenarios once; they are on the one of the posterior.
    """
    if LINK_READ in st.session_state:
        return None
    if SCENE in page.own and st.query_params.get("scenario", FIRST_SCENARIO) != FIRST_SCENARIO:
        return page_table.by_file("posterior")
    if (asked := st.query_params.get("preset", NO_PRESET)) == NO_PRESET:
        return None
    owner = link.owner(asked, (page, *page_table.shown()))
    return None if owner == page else owner


def _read_link(page: Page) -> None:
    known = {*page_table.known_keys()}
    notices = _read_lists(known - {*controls_spec.EVERYWHERE})
    view, stands = look(page), st.query_params.to_dict()
    for key in controls_spec.FOR_A_CLASS:
        stands.pop(key, None)
    asked = link.of_today(stands, known, page.own)
    if brought := _brought_view(view):
        # A new widget takes what the address says, however late the browser draws it. What only
        # the session says is sent once, and lost if the page is drawn again before that.
        asked[page.view] = brought
    if SCENE in page.own and asked.keys() & {*controls_spec.FOUR}:
        # What links asked of this page before it told a story.
        asked.setdefault(SCENE, LAST_SCENE)
    # Only what the link asks for: a knob of another page loads the study it belongs to.
    found = {key: view.knob(key) for key in asked.keys() & known}
    # What is not used here may be meant for another page, so for the scenario of the others.
    here = of_page(page) - page.unused(view.shown).keys()
    found |= {
        key: controls_spec.find(key, page.every)
        for key in found.keys() - here
        if not _allows(found[key], asked[key])
    }
    reading = link.read(asked, found)
    st.session_state[NOTICES] = (*notices, *reading.notices)
    st.session_state[VERSION_NOTE] = reading.note
    for key in found.keys() & reading.query.keys() - {*SHARED, *page.own, "preset"}:
        # For another page: Streamlit would lose it on the way there.
        st.session_state[key] = found[key].parameter.parse(key, reading.query[key])
    if reading.query != stands:
        st.query_params.from_dict(reading.query | {link.VERSION: __version__})
        st.rerun()


def _read_lists(known: set[str]) -> tuple[str, ...]:
    """Take the lists of knobs in the link; return notices, in Markdown, of what was in vain."""
    found = {key: ",".join(st.query_params.get_all(key)) for key in controls_spec.FOR_A_CLASS}
    seen = {*known, "projector"}
    locked, in_vain = link.read_names(
        controls_spec.LOCK, found[controls_spec.LOCK], {*seen, *controls_spec.ALWAYS_SEEN}
    )
    hidden, also = link.read_names(
        controls_spec.HIDE,
        found[controls_spec.HIDE],
        {*seen, *controls_spec.ALWAYS_SEEN},
        controls_spec.ALWAYS_SEEN,
    )
    st.session_state[controls_spec.LOCK], st.session_state[controls_spec.HIDE] = locked, hidden
    # Read by `ui.widgets.compare` once the knobs are known.
    st.session_state[PIN_ASKED] = found[controls_spec.PIN]
    return in_vain + also


def _allows(knob: controls_spec.Knob, text: str) -> bool:
    try:
        knob.parameter.parse("knob", text)
    except ParameterError:
        return False
    return True


def _brought_view(view: View) -> str:
    """Return which view of the page a preset in force brings with it; empty if none."""
    owners = (name for name, shown in view.page.views.items() if view.preset(shown[0]) is not None)
    return next(owners, "")


def move_to(values: Mapping[str, Scalar], here: Page, page: Page) -> None:
    """Move several knobs at once, which may be those of another scenario, and that too."""
    _keep_by_scenario(here, str(st.session_state[SCENARIO]))
    # A new widget begins as the address says. Before anything was drawn all are new; later, a knob
    # with a single value in a scenario has no widget there. The seed always has one.
    bare: set[str] = set()
    if page == here:
        is_drawn = "seed" in st.session_state
        new = {*controls_spec.BY_SCENARIO} if is_drawn else {*SHARED, *page.own}
        bare = values.keys() & new - {*st.session_state}
    for key, value in values.items():
        st.session_state[key] = value
    st.session_state[SCENARIO] = scenario = look(page).scenario
    for key in sorted(bare):
        usual = controls_spec.find(key, page.every, scenario).default
        keep(key, "" if values[key] == usual else text_of(values[key]))
    st.session_state[AGAIN] = bool(bare)


def begin_again() -> None:
    """Run again if knobs were moved that have to be in the address before their widgets."""
    if st.session_state.pop(AGAIN, False):
        st.rerun()


def leave_scenario(page: Page) -> None:
    """Have a page show the scenario that it begins with."""
    st.query_params.pop(page.chooser, None)
    st.session_state[page.chooser] = controls_spec.find(page.chooser).default
    # A new widget begins as the address said when the run began.
    st.session_state[AGAIN] = True


def _follow_scenario(page: Page) -> None:
    """Give each scenario the knobs' values that were set for it."""
    before, now = st.session_state[SCENARIO], look(page).scenario
    if before == now:
        return
    kept = _keep_by_scenario(page, before)
    st.session_state[SCENARIO] = now
    for key in controls_spec.BY_SCENARIO:
        start = controls_spec.find(key, scenario=now).default
        st.session_state[key] = kept.get(now, {}).get(key, start)
    view = look(page)
    for key in controls_spec.LIMITED_BY_SCENARIO:
        # A widget cannot have a value that it does not offer.
        if key in st.session_state and key in page.own:
            st.session_state[key] = view.standing(key, now)


def _keep_by_scenario(page: Page, scenario: str) -> dict[str, dict[str, Scalar]]:
    """Remember the knobs' values in a scenario; return those of all."""
    view = look(page)
    kept: dict[str, dict[str, Scalar]] = st.session_state.setdefault(KEPT, {})
    kept[scenario] = {key: view.standing(key, scenario) for key in controls_spec.BY_SCENARIO}
    return kept
