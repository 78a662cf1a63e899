"""What the knobs stand at: the widget's value, else the link's, else the default.

Streamlit holds the values: a widget's key is its name in the link, and ``bind="query-params"``
keeps the two the same and carries the values from page to page. This module only reads them.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from abcdp_core import __version__, experiments
from abcdp_core.parameters import ParameterError, Params, Scalar, text_of
from ui import knobs, link
from ui.knobs import NO_PRESET, SHARED
from ui.page import Page

LINK_READ = "_link_read"
NOTICES = "_notices"
VERSION_NOTE = "_version_note"
PAGE = "_page"
SCENARIO = "_scenario"
AGAIN = "_again"
KEPT = "_kept_by_scenario"
PIN_ASKED = "_pin_asked"

_instead: ContextVar[Mapping[str, Scalar] | None] = ContextVar("instead", default=None)
"""Values that hold in place of the knobs' own, see :func:`at`."""


@dataclasses.dataclass(frozen=True)
class _Settled:
    """What nothing changes any more while a page is drawn, and what is asked for at each knob.

    Attributes:
        page: the one on screen.
        scenario: that it shows.
        listed: ``lock`` or ``hide`` -> names of knobs.
    """

    page: Page
    scenario: str
    listed: Mapping[str, tuple[str, ...]]


_settled: ContextVar[_Settled | None] = ContextVar("settled", default=None)


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """Look up once what the knobs and the page ask for some eight hundred times.

    Callbacks and parts of a page that run again by themselves are outside of it.
    """
    listing = {key: listed(key) for key in (knobs.LOCK, knobs.HIDE)}
    token = _settled.set(_Settled(on_screen(), scenario_in_force(), listing))
    try:
        yield
    finally:
        _settled.reset(token)


def begin(page: Page, known: Iterable[str], ready: Callable[[str], None]) -> None:
    """Remember the page and, at the first run of a session, read the link.

    Args:
        page: the one on screen.
        known: keys of the knobs of all pages.
        ready: called with the scenario on screen before any of its knobs is asked for.
    """
    st.session_state[PAGE] = page
    begin_again()
    if LINK_READ in st.session_state and is_gone_back():
        _follow_address(page)
    _follow_preset(page)
    ready(scenario_in_force())
    if LINK_READ in st.session_state:
        _follow_scenario()
    else:
        st.session_state[LINK_READ] = True
        st.session_state[SCENARIO] = scenario_in_force()
        _read_link(page, known)
    # An address leaves out what stands at its default: which that is, the version tells.
    keep(link.VERSION, __version__)
    for key in (knobs.LOCK, knobs.HIDE):
        keep(key, ",".join(listed(key)))
    _keep_fixed(page, known)


def of_page(page: Page) -> set[str]:
    """Keys of a link that mean something on a page; all others are for other pages."""
    return {*SHARED, *knobs.EVERYWHERE, *page.own, "preset"}


def is_gone_back() -> bool:
    """Whether the browser went back to an address, or forward."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def _follow_address(page: Page) -> None:
    """Have the knobs stand at what an address says that the browser shows again.

    Streamlit gives that to each widget as it is drawn, when much was already asked for.
    """
    _keep_by_scenario(str(st.session_state[SCENARIO]))
    for key in of_page(page) - {*knobs.FOR_A_CLASS}:
        st.session_state.pop(key, None)
    st.session_state[SCENARIO] = scenario_in_force()
    st.session_state[PIN_ASKED] = st.query_params.get(knobs.PIN, "")


def _keep_fixed(page: Page, known: Iterable[str]) -> None:
    """Have the address say what another page's knobs stand at that the link locks or hides.

    Otherwise a page without them, once it is loaded again, would only know that they are.
    """
    fixed = {*listed(knobs.LOCK), *listed(knobs.HIDE)}
    for key in ({*known} - of_page(page)) & fixed & {*st.session_state}:
        value = st.session_state[key]
        keep(key, "" if value == knobs.find(key).default else text_of(value))


def keep(key: str, text: str) -> None:
    """Have the address say something that is no knob's value, or nothing of it if that is empty.

    Streamlit forgets it from page to page.
    """
    if st.query_params.get(key, "") == text:
        return
    if text:
        st.query_params[key] = text
    else:
        del st.query_params[key]


def listed(key: str) -> tuple[str, ...]:
    """Names of the knobs that the link locks or hides.

    Args:
        key: ``lock`` or ``hide``.
    """
    if (found := _settled.get()) is not None:
        return found.listed[key]
    names: tuple[str, ...] = st.session_state.get(key, ())
    return names


def leads_to(page: Page, pages: Iterable[Page]) -> Page | None:
    """Another page, where the link that opens one asks for a preset of that other."""
    asked = st.query_params.get("preset", NO_PRESET)
    if LINK_READ in st.session_state or asked == NO_PRESET:
        return None
    owner = link.owner(asked, (page, *pages))
    return None if owner == page else owner


def _read_link(page: Page, known: Iterable[str]) -> None:
    notices = _read_lists({*known} - {*knobs.EVERYWHERE})
    stands, scenario = st.query_params.to_dict(), str(st.session_state[SCENARIO])
    for key in knobs.FOR_A_CLASS:
        stands.pop(key, None)
    asked = link.of_today(stands, {*known}, page.own)
    if (brought := _view_of_preset(page)) and asked.get(page.view) != brought:
        # A new widget takes what the address says.
        asked.pop(page.view, None)
    unused = page.unused(view())
    # Only what the link asks for: each knob of another page would load the study it belongs to.
    found = {key: knobs.find(key, page.every, scenario) for key in asked.keys() & {*known}}
    # What is not used here may be meant for another page, so for the scenario of the others.
    here = of_page(page) - unused.keys()
    elsewhere = {key: knobs.find(key, page.every) for key in found.keys() - here}
    found |= {
        key: knob for key, knob in elsewhere.items() if not _allows(found[key], asked.get(key))
    }
    times = {key: len(st.query_params.get_all(key)) for key in stands}
    reading = link.read(asked, found, times)
    st.session_state[NOTICES] = (*notices, *reading.notices)
    st.session_state[VERSION_NOTE] = reading.note
    for key in found.keys() & reading.query.keys() - {*SHARED, *page.own, "preset"}:
        # For another page: Streamlit would lose it on the way there.
        st.session_state[key] = found[key].parameter.parse(key, reading.query[key])
    if reading.query != stands:
        st.query_params.from_dict(reading.query | {link.VERSION: __version__})
        st.rerun()


def _read_lists(known: set[str]) -> tuple[str, ...]:
    """Take what the link says of knobs; what of a list it cannot have, in Markdown."""
    found = {key: ",".join(st.query_params.get_all(key)) for key in knobs.FOR_A_CLASS}
    seen = {*known, "projector"}
    locked, in_vain = link.read_names(knobs.LOCK, found[knobs.LOCK], {*seen, *knobs.ALWAYS_SEEN})
    hidden, also = link.read_names(
        knobs.HIDE, found[knobs.HIDE], {*seen, *knobs.ALWAYS_SEEN}, knobs.ALWAYS_SEEN
    )
    st.session_state[knobs.LOCK], st.session_state[knobs.HIDE] = locked, hidden
    # Read by :mod:`ui.pin` once it is known what the knobs stand at.
    st.session_state[PIN_ASKED] = found[knobs.PIN]
    return in_vain + also


def move_to(values: Mapping[str, Scalar], page: Page) -> None:
    """Move several knobs at once, which may be those of another scenario, and that too.

    Args:
        values: key -> value.
        page: the one that is shown then.
    """
    _keep_by_scenario(str(st.session_state[SCENARIO]))
    # A new widget begins as the address said when the page was begun. Before anything was drawn all
    # are new; then a knob that has one value in a scenario has no widget there. The seed has one
    # wherever anything was drawn.
    bare: set[str] = set()
    if page == on_screen():
        is_drawn = "seed" in st.session_state
        new = {*knobs.BY_SCENARIO} if is_drawn else {*SHARED, *page.own}
        bare = values.keys() & new - {*st.session_state}
    for key, value in values.items():
        st.session_state[key] = value
    st.session_state[SCENARIO] = scenario = _scenario_of(page)
    for key in sorted(bare):
        usual = knobs.find(key, page.every, scenario).default
        keep(key, "" if values[key] == usual else text_of(values[key]))
    st.session_state[AGAIN] = bool(bare)


def begin_again() -> None:
    """Have what was moved to stand in the address before a widget is made of it."""
    if st.session_state.pop(AGAIN, False):
        st.rerun()


def _allows(knob: knobs.Knob, text: str | None) -> bool:
    with contextlib.suppress(ParameterError):
        return text is None or knob.parameter.parse("knob", text) is not None
    return False


def scenario_in_force() -> str:
    """The scenario that the page shows."""
    if (found := _settled.get()) is not None and not is_elsewhere():
        return found.scenario
    return _scenario_of(on_screen())


def _scenario_of(page: Page) -> str:
    if not page.chooser:
        return knobs.FIRST_SCENARIO
    # A preset brings its scenario with it.
    chosen = [preset(name) for name in page.every] if _presets_are_asked_for() else []
    brought = [str(vars(each)["scenario"]) for each in chosen if each and hasattr(each, "scenario")]
    return brought[0] if brought else page.scenario(_standing(page.chooser, knobs.FIRST_SCENARIO))


def leave_scenario() -> None:
    """Have the page show the scenario that it begins with."""
    key = on_screen().chooser
    st.query_params.pop(key, None)
    st.session_state[key] = knobs.find(key).default


def _follow_preset(page: Page) -> None:
    """A preset brings its view with it."""
    brought = _view_of_preset(page)
    if brought and brought != held(page.view):
        st.session_state[page.view] = brought


def _view_of_preset(page: Page) -> str:
    """The view that a preset in force brings with it; empty if there is none."""
    owners = (view for view, shown in page.views.items() if preset(shown[0]) is not None)
    return next(owners, "")


def _follow_scenario() -> None:
    """Each scenario keeps the knobs' values that were set for it."""
    before, now = st.session_state[SCENARIO], scenario_in_force()
    if before == now:
        return
    kept = _keep_by_scenario(before)
    st.session_state[SCENARIO] = now
    for key in knobs.BY_SCENARIO:
        start = knobs.find(key, scenario=now).default
        st.session_state[key] = kept.get(now, {}).get(key, start)
    for key in knobs.LIMITED_BY_SCENARIO:
        # A widget cannot stand at what it does not offer; another page has a scenario of its own.
        if key in st.session_state and key in on_screen().own:
            st.session_state[key] = _standing(key, now)


def _keep_by_scenario(scenario: str) -> dict[str, dict[str, Scalar]]:
    """Remember what the knobs of a scenario stand at; returns what is known of all."""
    kept: dict[str, dict[str, Scalar]] = st.session_state.setdefault(KEPT, {})
    kept[scenario] = {key: _standing(key, scenario) for key in knobs.BY_SCENARIO}
    return kept


def current(key: str) -> Scalar:
    """The value in force: the widget's, else the link's, else the default.

    Of a shared knob in whose place the page has one of its own, it is that one's.

    Raises:
        NotGrantedError: the page may not use the knob.
    """
    key = on_screen().key_of(key)
    check(key)
    return held(key)


def check(*keys: str) -> None:
    """Refuse knobs that the page's line in the router's table does not grant.

    Raises:
        NotGrantedError: names page and knob.
    """
    on_screen().check_knobs(keys, view())


def check_experiment(name: str) -> None:
    """Refuse an experiment that the page's line in the router's table does not grant.

    Raises:
        NotGrantedError: names page and experiment.
    """
    on_screen().check_experiment(name, view())


def is_own(key: str) -> bool:
    """Whether the page has a knob of its own by this name."""
    return key in on_screen().own


def view() -> Scalar | None:
    """The view in force, on a page that has views."""
    return held(on_screen().view) if on_screen().view else None


def held(key: str) -> Scalar:
    """The value in force, whether or not the page on screen uses it."""
    return _standing(
        key, knobs.FIRST_SCENARIO if key == on_screen().chooser else scenario_in_force()
    )


def _standing(key: str, scenario: str) -> Scalar:
    """What a knob stands at, if that is allowed in a scenario; else its default there."""
    knob = knobs.find(key, on_screen().every, scenario)
    value = (_instead.get() or {}).get(key, st.session_state.get(key))
    with contextlib.suppress(ParameterError):
        if value is not None:
            return knob.parameter.check(key, value)
        if key in st.query_params:
            return knob.parameter.parse(key, st.query_params[key])
    return knob.default


@contextlib.contextmanager
def at(values: Mapping[str, Scalar]) -> Iterator[None]:
    """What is asked for within is as if some knobs stood elsewhere; none of them moves.

    Args:
        values: key -> value there.
    """
    token = _instead.set(values)
    try:
        yield
    finally:
        _instead.reset(token)


def is_elsewhere() -> bool:
    """Whether knobs are taken to stand elsewhere than they do."""
    return _instead.get() is not None


def knobs_of_page() -> tuple[str, ...]:
    """Keys of the knobs that the page takes while it shows what it shows."""
    page = on_screen()
    return (*page.knobs(view()), *(["preset"] if offers_presets(page) else []))


def on_screen() -> Page:
    """The page's line of the table."""
    found = _settled.get()
    return st.session_state[PAGE] if found is None else found.page


# --------------------------------------------------------------------------------------- presets


def preset(experiment: str) -> Params | None:
    """The preset in force, ``None`` for the person's own settings."""
    return experiments.load(experiment).PRESETS.get(_preset_name())


def _preset_name() -> str:
    name = str(st.session_state.get("preset") or st.query_params.get("preset", NO_PRESET))
    return experiments.RETIRED.get(name, name)


def _presets_are_asked_for() -> bool:
    """Whether a preset may be in force; to find out which one loads studies."""
    return _preset_name() != NO_PRESET


def offers_presets(page: Page) -> bool:
    """Whether there are settings of papers to choose on a page."""
    return any(experiments.load(name).PRESETS for name in page.every)


def has_preset() -> bool:
    """Whether a preset is in force on this page."""
    return any(preset(name) is not None for name in on_screen().every)
