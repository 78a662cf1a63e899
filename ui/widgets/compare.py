"""Compare two settings: a pinned figure, A, beside the one that the knobs make now, B.

*Pin*, or ``pin=c:10`` in a link, keeps the knobs of the page as they are. From then on the same
figure is drawn for both, on the same axes. The address holds the knobs of A that differ from those
of B. Another page lets go of A; while a preset is in force nothing is pinned.
"""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from abcdp_core.base.parameters import ParameterError, Scalar
from abcdp_core.figures import CaptionedFigure
from abcdp_core.run.results import Result
from ui.figures import charts, labels
from ui.jobs import progress
from ui.jobs.job import Job, Request
from ui.verbatim import verbatim
from ui.view import controls_spec, link, locks, session
from ui.view.view import View

HELD = "_pinned"
NAME = "pinned"
"""Name of the pinned study among those that a page watches."""

SAID = 4
"""Differences that are shown one by one."""

NARROW, WIDE = 380, 640
"""Pixels that each of two figures needs beside the other, on a screen and on a wall."""

HELP = "Keep this figure beside the next one, on the same axes."
SWAP = "Exchange A and B."
STALE = "updating; your previous settings are shown"

Ask = Callable[[View], Request]


@dataclass(frozen=True)
class Pinned:
    """A's result, if there is one; why there is none, in Markdown; and if B's is of before."""

    result: Result | None = None
    note: str = ""
    stale: bool = False


def begin(view: View, ready: Callable[[str], None]) -> None:
    """Read what a link pins, let go of another page's figure, and keep the address right."""
    here = session.visit()
    if here.pin:
        _read(view, here, ready)
        # Not before: a knob that moves while A's scenario is made ready begins this again.
        here.pin = ""
    if st.session_state.get(HELD, ("",))[0] != view.page.file:
        st.session_state.pop(HELD, None)
    session.set_query_param(controls_spec.PIN, in_link(view).get(controls_spec.PIN, ""))


def leave() -> None:
    """Pin nothing, whatever the link asks for."""
    session.visit().pin = ""
    st.query_params.pop(controls_spec.PIN, None)


def _read(view: View, here: session.Visit, ready: Callable[[str], None]) -> None:
    page, asked = view.page, here.pin
    notices: tuple[str, ...] = (f"{verbatim(controls_spec.PIN)}: this page pins no figure.",)
    if page.pins:
        pinnable = [*_comparable_values(view)]
        chooser = {key: view.knob(key) for key in pinnable if key == page.chooser}
        scenario = view.at(link.read_pairs(controls_spec.PIN, asked, chooser)[0]).scenario
        ready(scenario)
        known = {key: view.knob(key, scenario) for key in pinnable}
        values, notices = link.read_pairs(controls_spec.PIN, asked, known | chooser)
        if values:
            st.session_state[HELD] = page.file, {**_comparable_values(view), **values}
    here.notices += notices


def _held() -> Mapping[str, Scalar]:
    """Return the knobs of A; empty if nothing is pinned."""
    return st.session_state.get(HELD, ("", {}))[1]


def _comparable_values(view: View) -> dict[str, Scalar]:
    """Return the knobs that change how a figure looks, not those that choose which one it is."""
    others = "preset", "figures.format"
    keys = [key for key in view.knobs_of_page if not key.endswith(".view") and key not in others]
    return {key: view.value(key) for key in keys}


def _pinned(view: View) -> dict[str, Scalar]:
    """Return the same knobs as they are in A."""
    pinned = view.at(_held())
    return {key: pinned.value(key) for key in _comparable_values(view)}


def _differences(view: View) -> dict[str, tuple[Scalar, Scalar]]:
    """Return key -> its values in A and in B, where they differ."""
    if not _held():
        return {}
    now, then = _comparable_values(view), _pinned(view)
    return {key: (then[key], now[key]) for key in now if then[key] != now[key]}


def in_link(view: View) -> dict[str, str]:
    """Return what a link says of A."""
    values = {key: pair[0] for key, pair in _differences(view).items()}
    return {controls_spec.PIN: link.pairs(values)} if values else {}


def _pin(view: View) -> None:
    st.session_state[HELD] = view.page.file, _comparable_values(view)


def _unpin() -> None:
    st.session_state.pop(HELD, None)


def _swap(view: View) -> None:
    # All of A's knobs: defaults of one scenario may not be those of the other.
    session.move_to(view, _pinned(view), view.page)
    _pin(view)


def result(view: View, ask: Ask) -> tuple[Result, Pinned]:
    """Return the complete result of a quick study, as :func:`progress.result` does, and A's."""
    found = progress.result(ask(view))
    request, note = _request(view, ask)
    return found, Pinned(progress.result_or_former(NAME, request) if request else None, note)


DrawTwo = Callable[[Result, Pinned], None]


def growing(view: View, ask: Ask, draw: DrawTwo) -> Job:
    """Show a study that grows, as :func:`progress.growing` does, and A's with it."""
    asked = ask(view)
    request, note = _request(view, ask)
    requests = {asked.experiment: asked}
    if request is not None and request != asked:
        requests[NAME] = request

    def both(found: Mapping[str, Result], _: bool) -> None:
        now = found[asked.experiment]
        stale = (now.params, now.seed) != (asked.params, asked.seed)
        beside = now if request == asked and not stale else found.get(NAME)
        draw(now, Pinned(beside if request else None, note, stale))

    return progress.growing_together(requests, both, main=asked.experiment)[asked.experiment]


def _request(view: View, ask: Ask) -> tuple[Request | None, str]:
    """Return what A asks for, if anything; else why not, in Markdown."""
    if view.has_preset or not _differences(view):
        return None, ""
    try:
        return ask(view.at(_held())), ""
    except ParameterError as error:
        return None, f"The pinned settings do not go together: {verbatim(error)}"


Below = Callable[[str, CaptionedFigure, Result], None]


def show(
    view: View,
    key: str,
    draw: Callable[[View, Result], CaptionedFigure],
    found: Result,
    pinned: Pinned | None,
    below: Below,
    clicked: charts.Clicked | None = None,
) -> None:
    """Show a figure, with *Pin* or beside the pinned one if it can be pinned."""
    now = draw(view, found)
    if pinned is None:
        charts.show(view, key, now, clicked)
        below("", now, found)
        return
    then = None if pinned.result is None else draw(view.at(_held()), pinned.result)
    if pinned.result is None or then is None or then is now:
        with st.container(gap=None):
            _head(view, now, pinned, same=then is now and not pinned.stale)
            charts.show(view, key, now, clicked, titled=False)
        below("", now, found)
    else:
        with st.container(key="pinned", gap="small"):
            _changes_line(view)
            joined = charts.on_shared_axes(then, now)
            beside = st.grid(2, min_column_width=WIDE if view.projector else NARROW, gap="medium")
            with beside.container():
                with st.container(gap=None):
                    _title(view, 0, then)
                    charts.show(view, f"{NAME}-{key}", joined[0], titled=False)
                below(NAME, then, pinned.result)
                if (said := labels.promise(pinned.result)) != labels.promise(found):
                    st.caption(f"Privacy label of A: {said}.")
            with beside.container():
                with st.container(gap=None):
                    _title(view, 1, now, stale=pinned.stale)
                    charts.show(view, key, joined[1], clicked, titled=False)
                below("", now, found)


def _unpin_button() -> None:
    unpin = progress.for_whole_page(_unpin)
    st.button("Unpin", key="unpin", type="tertiary", on_click=unpin, help="Remove A.")


def _head(view: View, drawn: CaptionedFigure, pinned: Pinned, *, same: bool) -> None:
    """Show a figure's title with the button that pins it, and why nothing is beside it."""
    with st.container(horizontal=True, gap="small", key="figure-head", wrap=False):
        st.html(charts.title(drawn.figure), width="stretch")
        if _held() and not view.has_preset:
            _unpin_button()
        elif not view.has_preset:
            pin = progress.for_whole_page(functools.partial(_pin, view))
            st.button("Pin", key="pin", type="tertiary", on_click=pin, help=HELP)
    if view.has_preset and _held():
        st.caption("A preset shows no second figure.")
    elif pinned.note:
        st.warning(pinned.note, icon="⚠️")
    elif same:
        st.caption(f"{_changes(view)}: this makes no difference to the figure.")
    elif _held() and not _differences(view):
        st.caption("Pinned as A. Move a knob, and figure B appears beside it.")


def _changes_line(view: View) -> None:
    """Show what differs, with the buttons that swap A and B or let go of A."""
    fixed = not view.fixed.isdisjoint(_differences(view))
    why = locks.WOULD_MOVE if fixed else SWAP
    swap = progress.for_whole_page(functools.partial(_swap, view))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**A → B:** {_changes(view)}", width="stretch")
        st.button("Swap", "swap", why, swap, disabled=fixed, type="tertiary")
        _unpin_button()


def _title(view: View, at: int, drawn: CaptionedFigure, *, stale: bool = False) -> None:
    """Show a figure's letter with what is its own, and its title."""
    pairs = _differences(view).items()
    own = ", ".join(
        f"{controls_spec.short(key)} = {controls_spec.display_value(key, pair[at])}"
        for key, pair in pairs
    )
    told = STALE if stale else html.escape(own).replace(" = ", "&nbsp;=&nbsp;")
    st.html(f'<p class="letter"><b>{"AB"[at]}</b> {told}</p>{charts.title(drawn.figure)}')


def _changes(view: View) -> str:
    """Return what differs between A and B, as in ``c = 10 → 100``."""
    told = [
        f"{controls_spec.short(key)} = "
        f"{controls_spec.display_value(key, then)} → {controls_spec.display_value(key, now)}"
        for key, (then, now) in _differences(view).items()
    ]
    more = f" and {len(told) - SAID} more" if len(told) > SAID else ""
    return ", ".join(told[:SAID]) + more
