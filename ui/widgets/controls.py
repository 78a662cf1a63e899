"""Widgets made from parameters: the sidebar that all pages share, and a page's own knobs."""

from __future__ import annotations

import functools
import html
from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from abcdp_core.base.parameters import Scalar, text_of
from ui.figures import labels
from ui.server import settings
from ui.view import controls_spec, link, locks, session
from ui.view.controls_spec import FOUR, MORE, SHARED
from ui.view.view import View
from ui.widgets import compare, component, share


def notices() -> None:
    """Show what the link asked for and could not have, until dismissed."""
    here = session.visit()
    if here.note:
        with st.container(key="version-note"):
            st.info(here.note)
            args = here, "note", ""
            st.button("Dismiss", key="dismiss-note", on_click=setattr, args=args)
    if here.notices:
        lines = "\n".join(f"- {text}" for text in here.notices)
        with st.container(key="notices"):
            st.warning(f"Some of the link could not be used:\n\n{lines}")
            st.button("Dismiss", on_click=setattr, args=(here, "notices", ()))


def sidebar(view: View, version: str) -> None:
    """Show the shared knobs that the page uses, in their fixed order, and the ways to share it."""
    preset, key_of = _set_by_preset(view), view.page.key_of
    there = set() if view.page.fills else {*view.knobs_of_page} - {*view.hidden}
    seen = [name for name in SHARED if key_of(name) in there]

    def show(names: Iterable[str]) -> None:
        for name in names:
            if name in seen:
                widget(view, key_of(name), preset.get(name, ""))

    show(FOUR)
    if "noise_draw" in seen:
        _new_noise(view, preset.get("noise_draw", "") or locks.reason(view, "noise_draw"))
    if not {*MORE}.isdisjoint(seen):
        with st.expander("Advanced"):
            show(MORE)
    if words := locks.in_words(view):
        with st.container(key="locked-knobs", horizontal=True, vertical_alignment="center"):
            st.caption(words, width="content")
            st.button("Unlock", key="unlock", type="tertiary", on_click=locks.let_go)
    with st.container(horizontal=True, vertical_alignment="center", key="room"):
        values = _for_link(view)
        share.show(values)
        component("knobs", "knobs.js")(key="knobs", height=0)
        _class_link(view, values)
        widget(view, "projector")
    st.caption(f"ABCDP Explorer {version}{labels.run_by()}. {labels.where_to()}")


def whole_page(view: View) -> None:
    """Link to the same page, with its knobs, outside the frame that it is shown in."""
    st.link_button("Open in a new tab", _address(view), type="tertiary")


def on_paper(view: View) -> None:
    """Show the page's link with its knobs where the page is printed, and only there."""
    st.html(f'<p class="on-paper">{html.escape(_address(view))}</p>')


def _address(view: View) -> str:
    page = share.for_visitors(st.context.url or "", settings.current())
    return link.address(page, _for_link(view))


def _class_link(view: View, values: Mapping[str, Scalar]) -> None:
    """Show the button of the class link, and the dialog once it was pressed on this page."""
    here, file = session.visit(), view.page.file
    args = here, "class_link", file
    st.button("Make a class link", key="class-link", on_click=setattr, args=args)
    if here.class_link == file:
        # Imported here: it knows the steps of all lessons.
        from ui.widgets import class_link

        class_link.show(view, values)
    else:
        # The browser's own way back leaves it open.
        here.class_link = ""


def _set_by_preset(view: View) -> dict[str, str]:
    """Return shared knob -> the values that the preset gives it instead."""
    chosen = [params for name in view.page.every if (params := view.preset(name)) is not None]
    values = chosen[0].to_text() if chosen else {}
    return {
        name: f"The preset sets {values[name].replace(',', ', ')}."
        for name in SHARED
        if name in values and name != "noise_draw"
    }


def _new_noise(view: View, reason: str) -> None:
    """Show the button that draws the next noise with everything public unchanged."""
    high = int(view.knob("noise_draw").parameter.high)

    def draw_next() -> None:
        # The session's number, not the view's: a second press may come before the page is drawn.
        now = int(st.session_state.get("noise_draw", 0))
        st.session_state["noise_draw"] = (now + 1) % (high + 1)

    about = "Draw new privacy noise. Data, pool and knobs stay the same."
    st.button("New noise", "new-noise", about, draw_next, disabled=bool(reason), width="stretch")
    st.caption(reason or f"Noise number {view.value('noise_draw')}")


def _for_link(view: View) -> dict[str, Scalar]:
    """Return what a link with all values holds; that this is a projector is for nobody else."""
    keys = [*SHARED, *view.page.own, *(["preset"] if view.offers_presets else [])]
    if view.lesson is not None:
        keys += ["lesson", "step"]
    # A locked knob of another page keeps its value there.
    fixed = {key: view.values[key] for key in locks.elsewhere(view) if key in view.values}
    values = {key: view.value(key) for key in keys}
    return values | fixed | locks.in_link(view) | compare.in_link(view)


_text = functools.lru_cache(maxsize=4096, typed=True)(text_of)


LISTS = ("preset", "plan.scenario")
"""Knobs whose choices have names too long to be side by side."""

MOST_SIDE_BY_SIDE = 4
"""Choices that fit beside each other on a telephone, in two lines."""

SLIDER_WIDTH = 270
"""Pixels: fits a telephone."""


def _drop_preset() -> None:
    st.session_state["preset"] = controls_spec.NO_PRESET


def widget(view: View, key: str, reason: str = "") -> None:
    """Show one knob as the widget that fits its kind; to choose another view drops a preset.

    Raises:
        NotGrantedError: it can be moved, and the page may not use it.
    """
    if not reason:
        view.check(key)
    if key in view.hidden:
        return
    if fixed := locks.reason(view, key):
        with st.container(key=f"locked-{key.replace('.', '-')}", gap=None):
            value = controls_spec.display_value(key, view.value(key))
            st.markdown(f"{controls_spec.short(key)} = **{value}** :material/lock:", help=fixed)
    else:
        reason = _movable(view, key, reason)
    if reason:
        st.caption(reason)


def _movable(view: View, key: str, reason: str) -> str:
    """Show the widget of a knob; return why it cannot be moved, if so."""
    knob = view.knob(key)
    parameter = knob.parameter
    shared: dict[str, Any] = {
        "label": parameter.label,
        "key": key,
        "help": parameter.help or None,
        "disabled": bool(reason),
        "bind": "query-params",
        "on_change": _drop_preset if key == view.page.view and view.has_preset else None,
    }
    if parameter.kind == "switch":
        st.toggle(value=bool(knob.default), **shared)
    elif parameter.kind == "choice":
        _choice(view, knob, shared)
    elif len(parameter.options) == 1:
        # A slider needs two places.
        only = controls_spec.display_value(key, knob.default)
        st.text_input(parameter.label, only, disabled=True, help=shared["help"])
        reason = reason or "The only value of this scenario."
    elif parameter.options or parameter.steps:
        offered = controls_spec.choices(parameter, knob.default, view.value(key))
        st.select_slider(options=offered, value=knob.default, format_func=_text, **shared)
        if ends := controls_spec.ENDS.get(key):
            st.html(f'<p class="ends"><span>{ends[0]}</span><span>{ends[1]}</span></p>')
    else:
        low, high = int(parameter.low), int(parameter.high)
        st.number_input(min_value=low, max_value=high, value=int(knob.default), step=1, **shared)
    return reason


def _choice(view: View, knob: controls_spec.Knob, shared: dict[str, Any]) -> None:
    key, options = shared["key"], list(knob.parameter.options)
    if not shared["disabled"]:
        options = locks.offered(view, key, options)
    if controls_spec.names_of(key):
        _named(view, knob, options, shared)
    elif side_by_side(view, key):
        st.segmented_control(options=options, default=knob.default, required=True, **shared)
    else:
        st.selectbox(options=options, index=options.index(knob.default), **shared)


def side_by_side(view: View, key: str) -> bool:
    """Whether all choices of a knob are shown beside each other, not as a list to unfold."""
    fits = len(view.knob(key).parameter.options) <= MOST_SIDE_BY_SIDE or key.endswith(".view")
    return fits and key not in LISTS


def _named(
    view: View, knob: controls_spec.Knob, options: list[Scalar], shared: dict[str, Any]
) -> None:
    """Show a choice by names that people have for it.

    Bound to the link, they would be in there, and old links would be lost. So the bound widget
    stays out of sight and is handed what is chosen.
    """
    key = shared["key"]
    seen = f"named-{key}"
    st.session_state[seen] = view.value(key)

    def hand_on() -> None:
        st.session_state[key] = st.session_state[seen]

    with st.container(key=f"unused-{key.replace('.', '-')}"):
        offered = list(knob.parameter.options)
        st.segmented_control(options=offered, default=knob.default, required=True, **shared)
    named: dict[str, Any] = {
        **shared,
        **{"options": options, "format_func": controls_spec.names_of(key).__getitem__},
        **{"key": seen, "bind": None, "on_change": hand_on},
    }
    if len(options) > MOST_SIDE_BY_SIDE or key in LISTS:
        st.selectbox(**named)
    else:
        st.segmented_control(required=True, **named)


def page_controls(view: View, *keys: str) -> None:
    """Show the page's own knobs, side by side where there is room."""
    seen = [key for key in keys if key not in view.hidden]
    if not seen:
        return
    with st.container(horizontal=True, gap="large", key=f"own-knobs-{keys[0]}"):
        for key in seen:
            slider = view.knob(key).parameter.kind in ("real", "integer")
            with st.container(width=SLIDER_WIDTH if slider else "content", gap=None):
                widget(view, key)


def advanced_controls(view: View, *keys: str) -> None:
    """Show the page's own knobs that few need, folded."""
    if {*keys} - {*view.hidden}:
        with st.expander("Advanced"):
            page_controls(view, *keys)
