"""A figure that stays beside the next one: A against B, on the same axes.

*Pin* keeps what the knobs of the page stand at; that is A. From then on whatever the page draws
with the knobs as they are, B, stands beside the same figure with the knobs of A. Both are computed
by the same studies, found in the same caches, and grow alike: A is asked for as the page asks for
B, while :func:`ui.state.at` lets the knobs be taken to stand elsewhere.

Data flow: *Pin*, or ``pin=c:10`` in a link → the knobs of A, in the session → `Pinned` result
→ both figures with joined axes. The address holds the knobs of A that differ from those of B; with
none there is nothing to compare, and nothing in it. Another page lets go of A. While a preset is in
force, nothing is pinned: its knobs are not those on the screen.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from abcdp_core.figures import Drawn
from abcdp_core.parameters import ParameterError, Params, Scalar
from abcdp_core.results import Result
from ui import charts, drawings, knobs, labels, link, locks, state, watch
from ui.job import Job, Request
from ui.page import Page
from ui.verbatim import verbatim

HELD = "_pin"
MOVED = "_pin_moved"
NAME = "pinned"
"""What the pinned study is called among those that a page watches."""

Ask = Callable[[], tuple[Params, int]]
"""What the knobs stand for, where they stand or are taken to stand: parameters and seed."""

SAID = 4
"""Differences that are told one by one."""


@dataclass(frozen=True)
class Pinned:
    """What is to stand beside a figure.

    Attributes:
        result: of A; ``None`` if there is nothing to show, or not yet.
        note: why there is nothing, in Markdown; empty otherwise.
        stale: whether what is shown as B is for former settings, as the new one is not there yet.
    """

    result: Result | None = None
    note: str = ""
    stale: bool = False


# ------------------------------------------------------------------------------------ what is kept


def begin(page: Page, ready: Callable[[str], None]) -> None:
    """Read what a link asks for, let go of another page's figure, and keep the address right.

    Args:
        page: the one on screen.
        ready: called with the scenario of A before any of its knobs is asked for.
    """
    st.session_state.pop(MOVED, None)
    if asked := st.session_state.get(state.PIN_ASKED, ""):
        _read(page, asked, ready)
        # Not before: who moves a knob while A's scenario is made ready begins again.
        st.session_state[state.PIN_ASKED] = ""
    if _of_page() != page.file:
        st.session_state.pop(HELD, None)
    state.keep(knobs.PIN, in_link().get(knobs.PIN, ""))


def leave() -> None:
    """Pin nothing, whatever the link asks for."""
    st.session_state[state.PIN_ASKED] = ""
    st.query_params.pop(knobs.PIN, None)


def _read(page: Page, asked: str, ready: Callable[[str], None]) -> None:
    if not page.pins:
        notices: tuple[str, ...] = (f"{verbatim(knobs.PIN)}: this page pins no figure.",)
    else:
        chooser = {key: knobs.find(key, page.every) for key in _pinnable() if key == page.chooser}
        with state.at(link.read_pairs(knobs.PIN, asked, chooser)[0]):
            scenario = state.scenario_in_force()
        ready(scenario)
        known = {key: knobs.find(key, page.every, scenario) for key in _pinnable()}
        values, notices = link.read_pairs(knobs.PIN, asked, known | chooser)
        if values:
            st.session_state[HELD] = page.file, {**_now(), **values}
    st.session_state[state.NOTICES] = (*st.session_state.get(state.NOTICES, ()), *notices)


def _of_page() -> str:
    """File of the page whose figure is pinned."""
    return str(st.session_state.get(HELD, ("",))[0])


def _held() -> Mapping[str, Scalar]:
    """What the knobs of A stand at; empty if nothing is pinned."""
    values: Mapping[str, Scalar] = st.session_state.get(HELD, ("", {}))[1]
    return values


def _pinnable() -> list[str]:
    """Knobs that say how a figure is; not which one it is."""
    others = "preset", "figures.format"
    return [key for key in state.knobs_of_page() if not key.endswith(".view") and key not in others]


def _now() -> dict[str, Scalar]:
    return {key: state.held(key) for key in _pinnable()}


def _differences() -> dict[str, tuple[Scalar, Scalar]]:
    """Key -> what it stands at in A and in B, where that is not the same."""
    if not _held():
        return {}
    now = _now()
    with state.at(_held()):
        then = _now()
    return {key: (then[key], now[key]) for key in now if then[key] != now[key]}


def in_link() -> dict[str, str]:
    """What of it a link says."""
    values = {key: pair[0] for key, pair in _differences().items()}
    return {knobs.PIN: link.pairs(values)} if values else {}


def _pin() -> None:
    st.session_state[HELD] = state.on_screen().file, _now()
    st.session_state[MOVED] = True


def _unpin() -> None:
    st.session_state.pop(HELD, None)
    st.session_state[MOVED] = True


def _swap() -> None:
    """What was A is what the knobs stand at, and the other way round."""
    now = _now()
    # All of them: what stands at the start of one scenario may not be that of the other.
    with state.at(_held()):
        then = _now()
    state.move_to(then, state.on_screen())
    st.session_state[HELD] = state.on_screen().file, now
    st.session_state[MOVED] = True


# -------------------------------------------------------------------------------- what is computed


def result(experiment: str, ask: Ask) -> tuple[Result, Pinned]:
    """The complete result of a quick study, as :func:`ui.watch.result` gives it, and A's.

    Args:
        experiment: which.
        ask: its parameters and the seed.
    """
    found = watch.result(experiment, *ask())
    request, note = _request(experiment, ask)
    return found, Pinned(watch.beside(NAME, request) if request else None, note)


DrawTwo = Callable[[Result, Pinned], None]


def growing(experiment: str, ask: Ask, draw: DrawTwo) -> Job:
    """A study that grows while it is watched, as :func:`ui.watch.growing` has it, and A's with it.

    Args:
        experiment: which.
        ask: its parameters and the seed.
        draw: shows a result and A's.
    """
    asked = Request(experiment, *ask())
    request, note = _request(experiment, ask)
    requests = {experiment: asked}
    if request is not None and request != asked:
        requests[NAME] = request

    def both(found: Mapping[str, Result], _: bool) -> None:
        now = found[experiment]
        stale = (now.params, now.seed) != (asked.params, asked.seed)
        beside = now if request == asked and not stale else found.get(NAME)
        draw(now, Pinned(beside if request else None, note, stale))

    return watch.growing_together(requests, both, main=experiment)[experiment]


def _request(experiment: str, ask: Ask) -> tuple[Request | None, str]:
    """What A asks for, if it is anything; else why not, in Markdown."""
    if not _differences() or state.has_preset():
        return None, ""
    try:
        with state.at(_held()):
            return Request(experiment, *ask()), ""
    except ParameterError as error:
        return None, f"The pinned settings do not go together: {verbatim(error)}"


# ------------------------------------------------------------------------------------ what is seen


def show(
    key: str,
    draw: Callable[[Result], Drawn],
    found: Result,
    pinned: Pinned,
    below: Callable[[str, Drawn, Result], None],
    clicked: charts.Clicked | None = None,
) -> None:
    """A figure with *Pin*, or beside the pinned one.

    Args:
        key: names the figure on the page.
        draw: makes it of a result; asked twice, the second time with the knobs of A.
        found: the result with the knobs as they are.
        pinned: what is to stand beside it.
        below: shows what belongs below a figure, given what tells it from the other one.
        clicked: called when a person clicks a point of B.
    """
    now, then = draw(found), None
    if pinned.result is not None:
        with state.at(_held()):
            then = draw(pinned.result)
    if then is None or then is now:
        with st.container(gap=None):
            _head(now, pinned, same=then is now and not pinned.stale)
            charts.show(key, now, clicked, titled=False)
        below("", now, found)
    else:
        results = pinned.result or found, found
        _beside(key, (then, now), results, below, clicked, stale=pinned.stale)
    if st.session_state.pop(MOVED, False):
        # A click in a part of the page: the rest has to know.
        st.rerun()


def _head(drawn: Drawn, pinned: Pinned, *, same: bool) -> None:
    """A figure's title with the button that pins it, and why nothing stands beside it."""
    with st.container(horizontal=True, gap="small", key="figure-head"):
        st.html(charts.title(drawn.figure), width="stretch")
        if state.has_preset():
            pass
        elif _held():
            st.button("Unpin", key="unpin", type="tertiary", on_click=_unpin, help=UNPIN)
        else:
            st.button("Pin", key="pin", type="tertiary", on_click=_pin, help=HELP)
    if state.has_preset() and _held():
        st.caption("Nothing stands beside it while a preset is in force.")
    elif pinned.note:
        st.warning(pinned.note, icon="⚠️")
    elif same:
        st.caption(f"{_changes()}: this figure is the same for both.")
    elif _held() and not _differences():
        st.caption("Pinned as A. Move a knob: the figure it makes, B, will stand beside this one.")


HELP = "Keeps this figure beside the next one, on the same axes."
UNPIN = "Lets go of A."
STALE = "is being computed; this is for the former settings"


def _beside(
    key: str,
    drawn: tuple[Drawn, Drawn],
    results: tuple[Result, Result],
    below: Callable[[str, Drawn, Result], None],
    clicked: charts.Clicked | None,
    *,
    stale: bool,
) -> None:
    """A and B; one above the other where there is no room."""
    with st.container(key="pinned", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**A → B:** {_changes()}", width="stretch")
            fixed = any(map(locks.is_fixed, _differences()))
            st.button(
                "Swap",
                key="swap",
                type="tertiary",
                on_click=_swap,
                disabled=fixed,
                help=locks.WOULD_MOVE if fixed else "A becomes B, and B becomes A.",
            )
            st.button("Unpin", key="unpin", type="tertiary", on_click=_unpin, help=UNPIN)
        places = st.columns(2, gap="medium")
        names = "A", "B"
        joined = drawings.beside(*drawn)
        for at, place in enumerate(places):
            with place, st.container(gap=None):
                st.html(_title(names[at], at, drawn[at], stale=stale and at == 1))
                charts.show(
                    f"{NAME}-{key}" if at == 0 else key,
                    joined[at],
                    clicked if at == 1 else None,
                    titled=False,
                )
            with place:
                below(NAME if at == 0 else "", drawn[at], results[at])
        said = [labels.promise(each) for each in results]
        if said[0] != said[1]:
            places[0].caption(f"Privacy label of A: {said[0]}.")


def _title(name: str, at: int, drawn: Drawn, *, stale: bool = False) -> str:
    """The letter of a figure with what is its own, and its title, as HTML."""
    if stale:
        return f'<p class="letter"><b>{name}</b> {STALE}</p>{charts.title(drawn.figure)}'
    pairs = _differences().items()
    own = ", ".join(f"{knobs.short(key)} = {knobs.said(key, pair[at])}" for key, pair in pairs)
    told = html.escape(own).replace(" = ", "&nbsp;=&nbsp;")
    return f'<p class="letter"><b>{name}</b> {told}</p>{charts.title(drawn.figure)}'


def _changes() -> str:
    """What differs between A and B, as in ``c = 10 → 100``."""
    pairs = list(_differences().items())
    told = [
        f"{knobs.short(key)} = {knobs.said(key, then)} → {knobs.said(key, now)}"
        for key, (then, now) in pairs[:SAID]
    ]
    more = len(pairs) - SAID
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")
