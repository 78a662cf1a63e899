"""Knobs that a link locks or hides, so that a class looks at one thing.

The link names them: ``lock=c,n`` and ``hide=seed``. A locked knob is shown with its value, a hidden
one not at all; neither can be moved, nor can what would move it along (a preset, a scenario, *New
noise*, a click on a mark). A step of a lesson sets its knobs all the same; with ``lock=lesson``
nobody begins or leaves one. This is not security: *Unlock* is a button.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from abcdp_core.base.parameters import Scalar
from ui.view import controls_spec
from ui.view.view import View

REASON = "Set by the author of this link."
WOULD_MOVE = "Another choice would change what this link locks."

HARMLESS = ("noise_draw", "figures.format")
"""Knobs that no preset moves."""


def button(view: View, key: str, *, disabled: bool = False) -> dict[str, Any]:
    """Return what a button that moves a knob is disabled by, with the reason as its help."""
    fixed = key in view.fixed
    return {"disabled": disabled or fixed, "help": REASON if fixed else None}


def here(view: View) -> tuple[str, ...]:
    """Return the knobs of this page that cannot be moved."""
    return tuple(key for key in view.knobs_of_page if key in view.fixed)


def elsewhere(view: View) -> list[str]:
    """Return the knobs of other pages that cannot be moved."""
    return sorted(view.fixed - {*view.page.keys})


def reason(view: View, key: str) -> str:
    """Return why a knob cannot be moved; empty if it can."""
    if key in view.fixed:
        return REASON
    if key == "preset" and not {*here(view)} <= {*HARMLESS}:
        return WOULD_MOVE
    if key == view.page.view and view.has_preset and reason(view, "preset"):
        # Choosing a view lets go of the preset.
        return WOULD_MOVE
    if key == view.page.chooser:
        knob = controls_spec.find(key)
        found = offered(view, key, knob.parameter.options)
        return "" if len(found) > 1 and knob.default in found else WOULD_MOVE
    return ""


def offered(view: View, key: str, options: Sequence[Scalar]) -> list[Scalar]:
    """Return the choices of a knob that move no locked one."""
    if key != view.page.chooser or not view.fixed:
        return list(options)
    kept = {*controls_spec.BY_SCENARIO, *view.page.limited()} & {*here(view)}
    if not kept:
        return list(options)
    now = view.page.scenario(view.value(key))
    return [option for option in options if view.page.scenario(option) == now]


def if_free(view: View, key: str, text: str) -> str:
    """Return what a page says of moving a knob; empty if it cannot be moved."""
    return "" if key in view.fixed else text


def let_go() -> None:
    """Show all knobs and let them be moved again."""
    for key in (controls_spec.LOCK, controls_spec.HIDE):
        st.session_state[key] = ()


def in_link(view: View) -> dict[str, str]:
    """Return what a link says of locked and hidden knobs."""
    lists = {controls_spec.LOCK: view.locked, controls_spec.HIDE: view.hidden}
    return {key: ",".join(names) for key, names in lists.items() if names}


def in_words(view: View) -> str:
    """Return that the link fixes knobs of this page; empty if it fixes none."""
    fixed = here(view)
    kinds = {"hidden" if key in view.hidden else "locked" for key in fixed}
    if not fixed:
        return ""
    whom = "One knob is" if len(fixed) == 1 else "Some knobs are"
    return f"{whom} {' or '.join(sorted(kinds, reverse=True))} by this link."
