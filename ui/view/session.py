"""Bring session and address together before a page's view is taken: links, presets, scenarios.

A knob's value is its widget's, else what the link or a move gave the session. The address wins at
the first drawing of a session, which a browser may know from a server that has ended, and on Back
and Forward.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import streamlit as st

from abcdp_core import __version__
from abcdp_core.base.parameters import ParameterError, Scalar, text_of
from ui.server import streamlit_internals
from ui.view import controls_spec, link, page_table
from ui.view.controls_spec import FIRST_SCENARIO, HIDE, LOCK, NO_PRESET
from ui.view.page import Page
from ui.view.view import View, look

VISIT = "_visit"
SCENE, LAST_SCENE = "overview.scene", "8"

Place = tuple[str, int]
"""A lesson and its step, counted from 1."""


@dataclasses.dataclass
class Visit:
    """What a session knows beside its knobs; changed in place, as to touch it may end a run.

    Attributes:
        has_read, is_drawn: whether the link was read, and whether a page was drawn.
        notices, note: what of the link was in vain, in Markdown; that numbers may differ.
        pin: what the link pins, until a figure is pinned.
        scenarios: scenario -> its knobs as they were left; the last is the one that is shown.
        step: the step of a lesson that was opened last.
        is_moved: whether the address was changed for widgets that are still to be drawn.
        class_link: the page on which the dialog of a class link is open.
    """

    has_read: bool = False
    is_drawn: bool = False
    notices: tuple[str, ...] = ()
    note: str = ""
    pin: str = ""
    scenarios: dict[str, dict[str, Scalar]] = dataclasses.field(default_factory=dict)
    step: Place | None = None
    is_moved: bool = False
    class_link: str = ""


def visit() -> Visit:
    """Return this session's."""
    return st.session_state.setdefault(VISIT, Visit())


def begin(page: Page, ready: Callable[[str], None]) -> View:
    """Return a page's view as session and address have it; at the first run, read the link."""
    here, before = visit(), look(page)
    goes_back = streamlit_internals.goes_back()
    by_address = goes_back or not here.has_read
    view = _as_address_says(before) if by_address else before
    if brought := _brought_view(view):
        view = moved(view, {page.view: brought})
    ready(view.scenario)
    if here.has_read:
        view = _follow_scenario(before, view, is_set=not goes_back)
    else:
        here.has_read = True
        here.scenarios[view.scenario] = {}
        view = _read_link(view)
    if goes_back or not here.is_drawn:
        drawn = {key: view.value(key) for key in (*view.knobs_of_page, *controls_spec.SWITCHES)}
        # What is not drawn keeps its value, whatever another page's address says of it.
        view = moved(before if goes_back else view, drawn)
    if goes_back:
        enter(view)
    return view


def _as_address_says(view: View) -> View:
    values = {key: value for key, value in view.values.items() if key not in view.page.keys}
    return dataclasses.replace(view, values=values, texts=st.query_params.to_dict())


def moved(view: View, values: Mapping[str, Scalar], page: Page | None = None) -> View:
    """Move knobs before anything is drawn; return the view then, of another page if one is given.

    A new widget begins as the address said when the run began, and the address does not follow it.
    So what has no widget yet is written there, and the page begins again (:func:`end`).
    """
    st.session_state.update(values)
    found = dataclasses.replace(view, page=page or view.page, values={**view.values, **values})
    if found.page != view.page:
        return found
    to_come = ({*found.knobs_of_page} | {*st.query_params}) - streamlit_internals.bound_keys()
    for key in sorted(values.keys() & to_come - found.fixed - {*controls_spec.EVERYWHERE}):
        text, said = text_of(values[key]), st.query_params.get(key)
        is_usual = values[key] == found.knob(key).default
        if said != text and not (is_usual and said is None):
            set_query_param(key, "" if is_usual else text)
            visit().is_moved = True
    return found


def end(view: View) -> None:
    """Have the address hold what has no widget; run again if it was changed for those to come."""
    here = visit()
    # An address leaves out defaults; the version says which they are.
    set_query_param(link.VERSION, __version__)
    set_query_param(LOCK, ",".join(view.locked))
    set_query_param(HIDE, ",".join(view.hidden))
    drawn_elsewhere = view.knobs_of_page if view.page.fills else ()
    kept = {*view.fixed, *drawn_elsewhere} & view.values.keys() - streamlit_internals.bound_keys()
    for key in sorted(kept):
        is_usual = key not in view.fixed and view.values[key] == view.knob(key).default
        set_query_param(key, "" if is_usual else text_of(view.values[key]))
    place = _step(view) or ("", "")
    for key, said in zip(controls_spec.ALWAYS_SEEN, place, strict=True):
        set_query_param(key, str(said))
    if here.is_moved:
        here.is_moved = False
        st.rerun()
    here.is_drawn = True


def set_query_param(key: str, text: str) -> None:
    """Have the address hold what no widget does, or drop it if that is empty."""
    if st.query_params.get(key, "") == text:
        return
    if text:
        st.query_params[key] = text
    else:
        del st.query_params[key]


def comes_to_step(view: View) -> bool:
    """Return whether a person has come to a step of a lesson that was not opened yet."""
    if (step := _step(view)) is None:
        enter(view)
    return step not in (None, visit().step)


def enter(view: View) -> None:
    """Remember that the step is open.

    Not before it is: a press that comes first begins the page again, which then has to open it.
    """
    visit().step = _step(view)


def _step(view: View) -> Place | None:
    return None if view.lesson is None else (view.lesson[0].name, view.lesson[1])


def leads_to(page: Page) -> Page | None:
    """Return another page, if the link that begins a session asks for a preset of it.

    The first page had scenarios once; they are on the one of the posterior.
    """
    if visit().has_read:
        return None
    if SCENE in page.own and st.query_params.get("scenario", FIRST_SCENARIO) != FIRST_SCENARIO:
        return page_table.by_file("posterior")
    if (asked := st.query_params.get("preset", NO_PRESET)) == NO_PRESET:
        return None
    owner = link.owner(asked, (page, *page_table.shown()))
    return None if owner == page else owner


def _read_link(view: View) -> View:
    """Take in what the link says; correct the address, and note what of it was in vain."""
    here, page, known = visit(), view.page, {*page_table.known_keys()}
    view, notices = _read_lists(view, known - {*controls_spec.EVERYWHERE})
    stands = {key: text for key, text in view.texts.items() if key not in controls_spec.FOR_A_CLASS}
    asked = link.of_today(stands, known, page.own)
    if page.view in view.values:
        # A preset has brought it. A new widget takes what the address says, however late the
        # browser draws it. What only the session says is sent once, and lost if the page is drawn
        # again before that.
        asked[page.view] = str(view.values[page.view])
    if SCENE in page.own and asked.keys() & {*controls_spec.FOUR}:
        # What links asked of this page before it told a story.
        asked.setdefault(SCENE, LAST_SCENE)
    # Only what the link asks for: a knob of another page loads the study it belongs to.
    found = {key: view.knob(key) for key in asked.keys() & known}
    # What is not used here may be meant for another page, so for the scenario of the others.
    used = {*page.keys} - page.unused(view.shown)
    found |= {
        key: page.knob(key) for key in found.keys() - used if not _allows(found[key], asked[key])
    }
    reading = link.read(asked, found)
    here.notices, here.note = (*notices, *reading.notices), reading.note
    values = {
        key: found[key].parameter.parse(key, reading.query[key])
        for key in found.keys() & reading.query.keys()
    }
    if reading.query != stands:
        st.query_params.from_dict(reading.query | {link.VERSION: __version__})
        here.is_moved = True
    view = moved(dataclasses.replace(view, texts={}), values)
    if values.keys() - {*controls_spec.EVERYWHERE}:
        # A lesson leaves alone the knobs that a link sets beside it.
        enter(view)
    return view


def _read_lists(view: View, known: set[str]) -> tuple[View, tuple[str, ...]]:
    """Take the lists of knobs in the link; return notices, in Markdown, of what was in vain."""
    found = {key: ",".join(st.query_params.get_all(key)) for key in controls_spec.FOR_A_CLASS}
    seen = {*known, "projector", *controls_spec.ALWAYS_SEEN}
    locked, in_vain = link.read_names(LOCK, found[LOCK], seen)
    hidden, also = link.read_names(HIDE, found[HIDE], seen, controls_spec.ALWAYS_SEEN)
    st.session_state[LOCK], st.session_state[HIDE] = locked, hidden
    # Read by `ui.widgets.compare` once the knobs are known.
    visit().pin = found[controls_spec.PIN]
    return dataclasses.replace(view, locked=locked, hidden=hidden), in_vain + also


def _allows(knob: controls_spec.Knob, text: str) -> bool:
    try:
        knob.parameter.parse("knob", text)
    except ParameterError:
        return False
    return True


def _brought_view(view: View) -> str:
    """Return which view of the page a preset in force brings with it; empty if it is shown."""
    if view.preset_name == NO_PRESET:
        return ""
    owners = (name for name, shown in view.page.views.items() if view.preset(shown[0]) is not None)
    found = next(owners, "")
    return "" if found == view.shown else found


def move_to(view: View, values: Mapping[str, Scalar], page: Page) -> View:
    """Move several knobs at once, which may be those of another scenario, and that too."""
    found = moved(view, values, page)
    _leave_scenario(view, found.scenario)
    return found


def leave_scenario(page: Page) -> None:
    """Have a page show the scenario that it begins with."""
    st.session_state[page.chooser] = page.knob(page.chooser).default
    set_query_param(page.chooser, "")
    # A new widget begins as the address said when the run began.
    visit().is_moved = True


def _follow_scenario(before: View, view: View, *, is_set: bool) -> View:
    """Give each scenario the knobs' values that were set for it, unless the address says them."""
    now = view.scenario
    if next(reversed(visit().scenarios), now) == now:
        return view
    kept = _leave_scenario(before, now)
    if not is_set:
        return view
    starts = {key: view.knob(key).default for key in controls_spec.BY_SCENARIO}
    view = moved(view, {**starts, **kept})
    # A widget cannot have a value that it does not offer.
    limited = view.page.limited() & view.values.keys()
    return moved(view, {key: view.value(key) for key in limited})


def _leave_scenario(view: View, now: str) -> dict[str, Scalar]:
    """Remember the knobs' values in the scenario that is left; return those of another one."""
    known = visit().scenarios
    left = next(reversed(known))
    known[left] = {key: view.value_in_scenario(key, left) for key in controls_spec.BY_SCENARIO}
    known[now] = known.pop(now, {})
    return known[now]
