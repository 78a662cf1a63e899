"""Widgets made from parameters: the sidebar that all pages share, and what a page asks itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import streamlit as st

from abcdp_core.parameters import Scalar, text_of
from ui import class_link, knobs, labels, locks, pin, share, state
from ui.knobs import FOUR, MORE, SHARED
from ui.page import Page
from ui.state import held

# --------------------------------------------------------------------------------------- sidebar


def notices() -> None:
    """What the link asked for and could not have, until dismissed."""
    texts = st.session_state.get(state.NOTICES, ())
    if note := st.session_state.get(state.VERSION_NOTE):
        with st.container(key="version-note"):
            st.info(note)
            st.button("Dismiss", key="dismiss-note", on_click=_forget, args=(state.VERSION_NOTE,))
    if not texts:
        return
    lines = "\n".join(f"- {text}" for text in texts[:NOTICES_SHOWN])
    if len(texts) > NOTICES_SHOWN:
        lines += f"\n- and {len(texts) - NOTICES_SHOWN:,} more."
    with st.container(key="notices"):
        st.warning(f"Not everything in the link could be used:\n\n{lines}")
        st.button("Dismiss", on_click=_forget, args=(state.NOTICES,))


def _forget(key: str) -> None:
    st.session_state.pop(key, None)


NOTICES_SHOWN = 12
"""Lines about a link; a link that is not made by an attacker has fewer."""


def sidebar(version: str, pages: Iterable[Page]) -> None:
    """The shared knobs that the page uses, in their fixed order, Share and the link for a class.

    Args:
        version: of the program.
        pages: those of this server.
    """
    page = state.on_screen()
    preset, unused = _set_by_preset(page), page.unused(state.view())
    with st.sidebar:
        _knobs(FOUR, preset, unused)
        if "noise_draw" not in unused and not locks.is_hidden("noise_draw"):
            _new_noise(preset.get("noise_draw", "") or locks.reason("noise_draw"))
        if any(_is_seen(page, name, unused) for name in MORE):
            with st.expander("More"):
                _knobs(MORE, preset, unused)
        _locked()
        with st.container(horizontal=True, vertical_alignment="center", key="room"):
            values = _shared(page)
            share.show(values)
            class_link.offer(values, pages)
            widget("projector")
        st.caption(f"ABCDP Explorer {version}{labels.run_by()}. {labels.where_to()}")
        # Not shown, but there: a widget that is left out loses its value for the other pages.
        with st.container(key="unused"):
            widget("lesson")
            widget("step")
            for name in SHARED:
                if name in unused:
                    widget(name, unused[name])
                    if name in page.instead and not _is_seen(page, name, unused):
                        widget(page.key_of(name), unused[name])
                elif not _is_seen(page, name, unused):
                    widget(page.key_of(name))


def _knobs(names: tuple[str, ...], preset: dict[str, str], unused: dict[str, str]) -> None:
    page = state.on_screen()
    for name in names:
        if _is_seen(page, name, unused):
            widget(page.key_of(name), preset.get(name, ""))


def _is_seen(page: Page, name: str, unused: Mapping[str, str]) -> bool:
    """Whether a shared knob, or what is in its place, is shown on the page."""
    used = name in page.in_place(state.view()) or name not in unused
    return used and not locks.is_hidden(page.key_of(name))


def _locked() -> None:
    """That knobs are locked or hidden, and the way out."""
    if words := locks.in_words():
        with st.container(
            key="locked-knobs", horizontal=True, vertical_alignment="center", gap="small"
        ):
            st.caption(words, width="content")
            st.button("Unlock", key="unlock", type="tertiary", on_click=locks.let_go)


def _set_by_preset(page: Page) -> dict[str, str]:
    """Shared knob -> the values that the preset gives it instead."""
    chosen = [params for name in page.every if (params := state.preset(name)) is not None]
    if not chosen:
        return {}
    values = chosen[0].to_text()
    values.pop("noise_draw", None)
    return {
        name: f"The preset sets {values[name].replace(',', ', ')}."
        for name in SHARED
        if name in values
    }


def _new_noise(reason: str) -> None:
    """The button that draws the next noise with everything public unchanged."""
    st.button(
        "New noise",
        key="new-noise",
        on_click=_next_noise,
        disabled=bool(reason),
        width="stretch",
        help="Draws the privacy noise anew. Data, pool and knobs stay as they are.",
    )
    st.caption(reason or f"Noise draw number {held('noise_draw')}")


def _next_noise() -> None:
    high = int(knobs.find("noise_draw").parameter.high)
    st.session_state["noise_draw"] = (int(held("noise_draw")) + 1) % (high + 1)


def _shared(page: Page) -> dict[str, Scalar]:
    """What the address with all values holds; Streamlit's own leaves out defaults.

    That this screen is a projector is for nobody else to have.
    """
    keys = [*SHARED, *page.own, *(["preset"] if state.offers_presets(page) else [])]
    if held("lesson") != knobs.NO_LESSON:
        keys += ["lesson", "step"]
    # A knob of another page that is locked has to be so where it stands.
    fixed = {key: st.session_state[key] for key in locks.elsewhere() if key in st.session_state}
    return {key: held(key) for key in keys} | fixed | locks.in_link() | pin.in_link()


# --------------------------------------------------------------------------------------- widgets


def widget(
    key: str,
    reason: str = "",
    on_change: Callable[[], None] | None = None,
) -> None:
    """One knob as the widget that fits its kind.

    Args:
        key: its name in the link.
        reason: why it cannot be moved here; it can if this is empty.
        on_change: called when a person has changed it.

    Raises:
        NotGrantedError: it can be moved, and the page may not use it.
    """
    if not reason:
        state.check(key)
    fixed = locks.reason(key)
    if fixed and not locks.is_hidden(key):
        _value(key, fixed, reason)
    if fixed:
        # The value is the widget's, wherever it stands.
        with st.container(key=f"unused-fixed-{key.replace('.', '-')}"):
            _movable(key, fixed, on_change)
        return
    if said := _movable(key, reason, on_change):
        st.caption(said)


def _value(key: str, why: str, reason: str) -> None:
    """A knob that the link does not let move: its name, where it stands, and a lock.

    Args:
        key: its name in the link.
        why: it cannot be moved.
        reason: why it could not be moved anyway, if so.
    """
    with st.container(key=f"locked-{key.replace('.', '-')}", gap=None):
        st.markdown(
            f"{knobs.short(key)} = **{knobs.said(key, held(key))}** :material/lock:", help=why
        )
        if reason:
            st.caption(reason)


def _movable(key: str, reason: str, on_change: Callable[[], None] | None) -> str:
    """The widget of a knob; returns why it cannot be moved, if so."""
    knob = knobs.find(key, state.on_screen().every, state.scenario_in_force())
    shared: dict[str, Any] = {
        "label": knob.parameter.label,
        "key": key,
        "help": knob.parameter.help or None,
        "disabled": bool(reason),
        "bind": "query-params",
        "on_change": on_change,
    }
    if knob.parameter.kind == "switch":
        st.toggle(value=bool(knob.default), **shared)
    elif knob.parameter.kind == "choice":
        _choice(knob, shared)
    elif len(knob.parameter.options) == 1:
        # A slider needs two places.
        st.text_input(
            knob.parameter.label, text_of(knob.default), disabled=True, help=shared["help"]
        )
        reason = reason or "The only value of this scenario."
    elif knob.parameter.options or knob.parameter.steps:
        offered = knobs.choices(knob.parameter, knob.default, held(key))
        st.select_slider(options=offered, value=knob.default, format_func=text_of, **shared)
    else:
        low, high = int(knob.parameter.low), int(knob.parameter.high)
        st.number_input(min_value=low, max_value=high, value=int(knob.default), step=1, **shared)
    return reason


def _choice(knob: knobs.Knob, shared: dict[str, Any]) -> None:
    options = list(knob.parameter.options)
    if not shared["disabled"]:
        options = locks.offered(shared["key"], options)
    if shared["key"] in knobs.NAMES:
        _named(knob, options, shared)
    elif side_by_side(shared["key"]):
        st.segmented_control(options=options, default=knob.default, required=True, **shared)
    else:
        st.selectbox(options=options, index=options.index(knob.default), **shared)


def side_by_side(key: str) -> bool:
    """Whether all choices of a knob are shown beside each other, and not as a list to unfold."""
    knob = knobs.find(key, state.on_screen().every, state.scenario_in_force())
    fits = len(knob.parameter.options) <= MOST_SIDE_BY_SIDE or key.endswith(".view")
    return fits and key not in LISTS


def _named(knob: knobs.Knob, options: list[Scalar], shared: dict[str, Any]) -> None:
    """A choice by names that people have for it.

    What is bound to the link would put these names there, and old links would be lost. So that one
    stays out of sight, and what is chosen is handed on to it.
    """
    key = shared["key"]
    seen = f"named-{key}"
    st.session_state[seen] = held(key)

    def hand_on() -> None:
        st.session_state[key] = st.session_state[seen]
        if shared["on_change"] is not None:
            shared["on_change"]()

    with st.container(key=f"unused-{key.replace('.', '-')}"):
        offered = list(knob.parameter.options)
        st.segmented_control(options=offered, default=knob.default, required=True, **shared)
    named: dict[str, Any] = {
        "options": options,
        "format_func": lambda option: knobs.NAMES[key][option],
        **shared,
        **{"key": seen, "bind": None, "on_change": hand_on},
    }
    if len(options) > MOST_SIDE_BY_SIDE:
        st.selectbox(**named)
    else:
        st.segmented_control(required=True, **named)


LISTS = ("preset", "plan.scenario")
"""Knobs whose choices have names too long to stand beside each other."""

MOST_SIDE_BY_SIDE = 4
"""Choices that fit beside each other on a telephone, in two lines."""


def own(*keys: str) -> None:
    """The page's own knobs, side by side where there is room."""
    seen = [key for key in keys if not locks.is_hidden(key)]
    for key in {*keys} - {*seen}:
        widget(key)
    if not seen:
        return
    with st.container(
        horizontal=True, gap="large", vertical_alignment="top", key=f"own-knobs-{keys[0]}"
    ):
        for key in seen:
            slider = knobs.find(key, state.on_screen().every).parameter.kind in ("real", "integer")
            with st.container(width=SLIDER_WIDTH if slider else "content", gap=None):
                widget(key)


def more(*keys: str) -> None:
    """The page's own knobs that few need, folded."""
    if all(map(locks.is_hidden, keys)):
        own(*keys)
        return
    with st.expander("More settings"):
        own(*keys)


def view() -> str:
    """The chooser of what the page shows; to choose lets go of a preset."""
    key = state.on_screen().view
    with st.container(width="content"):
        widget(key, on_change=_own_settings)
    return str(held(key))


def _own_settings() -> None:
    if not locks.reason("preset"):
        st.session_state["preset"] = knobs.NO_PRESET


SLIDER_WIDTH = 270
"""Pixels: fits a telephone."""
