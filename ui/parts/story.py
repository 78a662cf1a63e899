"""The story on the first page: the browser plays it, and the program's knobs are its sliders."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from typing import Any

import streamlit as st

from abcdp_core import __version__
from abcdp_core.base.parameters import ParameterError, Scalar
from abcdp_core.publish.output import story
from ui.view import page_table, session
from ui.view.view import View
from ui.widgets import component, controls

KNOBS = {
    "epsilonTotal": "epsilon_total",
    "epsilonAbc": "epsilon_abc",
    "c": "c",
    "n": "n",
    "noise": "noise_draw",
    "redrawn": "resample",
    "scene": session.SCENE,
}
"""Name in the browser -> key of the knob."""

ADDRESS = "story/draws.bin"
"""Where the server has the draws (:mod:`ui.start`), from the address of the first page."""


def show(view: View) -> None:
    """Show the story at its scene, and below the last one where to go on."""
    data = {
        **story.looks(),
        "links": [],
        "address": f"{ADDRESS}?{__version__}",
        "setting": {name: view.value(key) for name, key in KNOBS.items()},
        "projector": view.projector,
        "held": [name for name, key in KNOBS.items() if key in view.fixed],
    }
    play = component("story", "story/component.js", "story/story.html", "story/story.css")
    play(key="story", data=data, on_settled_change=functools.partial(settle, view))
    # Bound to the link, and out of sight.
    with st.container(key="unused-scene"):
        controls.widget(view, session.SCENE)
    if str(view[session.SCENE]) == session.LAST_SCENE:
        with st.container(horizontal=True, key="onwards"):
            for page in page_table.shown():
                if words := story.LINKS.get(page.file):
                    st.page_link(page_table.path_of(page.file), label=words)


def settle(view: View) -> None:
    """Move the knobs to what the browser let go of."""
    asked: Mapping[str, Any] = (st.session_state.get("story") or {}).get("settled") or {}
    for name, key in KNOBS.items():
        if name in asked and key not in view.fixed:
            with contextlib.suppress(ParameterError):
                st.session_state[key] = _checked(view, key, asked[name])


def _checked(view: View, key: str, value: Any) -> Scalar:
    """Return a value from the browser, where whole numbers have no kind of their own.

    Raises:
        ParameterError: the knob cannot have it.
    """
    usual = view.knob(key)
    return usual.parameter.check(key, type(usual.default)(value))
