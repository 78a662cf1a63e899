"""Knobs that a link locks or hides, so that a class looks at one thing.

The link names them: ``lock=c,n`` and ``hide=seed``. :mod:`ui.state` reads both lists when a session
begins, keeps them in the session and puts them back into the address of every page. A locked knob
is shown with its value, a hidden one not at all; neither can be moved: not by itself, and not by
what would move it along (a preset, another scenario, *New noise*, a click on a mark). What comes of
a hidden knob is still told, by the captions and settings of figures.

A step of a lesson sets its knobs all the same: its words are about them, and whoever made the link
has chosen the lesson, or left it free. With ``lock=lesson`` nobody begins or leaves one.

This is no security: an address can be changed by hand, and :func:`let_go` is a button.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from abcdp_core.parameters import Scalar
from ui import knobs, state

REASON = "Set by whoever made this link."
WOULD_MOVE = "Another choice would move what this link locks."

HARMLESS = ("noise_draw", "figures.format")
"""Knobs that no preset moves."""


def is_hidden(key: str) -> bool:
    """Whether a knob is not to be seen."""
    return key in state.listed(knobs.HIDE)


def is_fixed(key: str) -> bool:
    """Whether the link keeps a knob from being moved, be it seen or not."""
    return is_hidden(key) or key in state.listed(knobs.LOCK)


def here() -> tuple[str, ...]:
    """The knobs of this page that cannot be moved."""
    return tuple(key for key in state.knobs_of_page() if is_fixed(key))


def elsewhere() -> list[str]:
    """The knobs of other pages that cannot be moved."""
    here = state.of_page(state.on_screen())
    listed = dict.fromkeys([*state.listed(knobs.LOCK), *state.listed(knobs.HIDE)])
    return [key for key in listed if key not in here]


def reason(key: str) -> str:
    """Why a knob cannot be moved; empty if it can."""
    if is_fixed(key):
        return REASON
    if key == "preset" and not {*here()} <= {*HARMLESS}:
        return WOULD_MOVE
    page = state.on_screen()
    if key == page.view and state.has_preset() and reason("preset"):
        # To choose a view is to let go of the preset.
        return WOULD_MOVE
    return WOULD_MOVE if key == page.chooser and not _has_choice(key) else ""


def _has_choice(key: str) -> bool:
    """Whether a knob can be moved without moving a locked one, to where it begins too."""
    knob = knobs.find(key)
    found = offered(key, knob.parameter.options)
    return len(found) > 1 and knob.default in found


def offered(key: str, options: Sequence[Scalar]) -> list[Scalar]:
    """The choices of a knob that move no other one that is locked."""
    page, kept = state.on_screen(), {*knobs.BY_SCENARIO, *knobs.LIMITED_BY_SCENARIO} & {*here()}
    if key != page.chooser or not kept:
        return list(options)
    now = page.scenario(state.held(key))
    return [option for option in options if page.scenario(option) == now]


def if_free(key: str, text: str) -> str:
    """What a page says of moving a knob; nothing where that cannot be done."""
    return "" if is_fixed(key) else text


def let_go() -> None:
    """All knobs can be seen and moved again, where they stand."""
    for key in (knobs.LOCK, knobs.HIDE):
        st.session_state[key] = ()


def in_link() -> dict[str, str]:
    """What of it a link says."""
    found = {key: ",".join(state.listed(key)) for key in (knobs.LOCK, knobs.HIDE)}
    return {key: text for key, text in found.items() if text}


def in_words() -> str:
    """That the link has set knobs of this page; empty if it has not."""
    fixed = here()
    kinds = {"hidden" if is_hidden(key) else "locked" for key in fixed}
    if not fixed:
        return ""
    whom = "One knob is" if len(fixed) == 1 else "Some knobs are"
    return f"{whom} {' or '.join(sorted(kinds, reverse=True))} by this link."
