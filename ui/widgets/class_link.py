"""Make the link that a class opens, in a dialog, with its QR code.

It opens this page as its knobs are, or a lesson at a step. Each knob of the page that opens is
free, locked or hidden (:mod:`ui.view.locks`). Nothing of it is kept, and this page does not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import streamlit as st

from abcdp_core.base.parameters import Scalar
from abcdp_core.publish import lessons
from ui.server import settings
from ui.view import controls_spec, link, page_table, session, steps
from ui.view.page import Page
from ui.view.view import View
from ui.widgets import share

FREE, LOCKED, HIDDEN = "free", "locked", "hidden"

NO_PROTECTION = "Locking keeps a class focused. It is not security: *Unlock* on the page undoes it."


@dataclass(frozen=True)
class Target:
    """What a link opens: `values` are what it says, `stand` what the page's knobs then are.

    With `others`, keys that can be locked besides the knobs of the page.
    """

    label: str
    page: Page
    values: Mapping[str, Scalar]
    stand: Mapping[str, Scalar]
    view: Scalar | None
    others: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Knobs that can be locked or hidden."""
        own = [key for key in self.page.knobs(self.view) if key != "figures.format"]
        preset = ["preset"] if "preset" in self.stand else []
        return (*own, *preset, *self.others)


def show(view: View, values: Mapping[str, Scalar]) -> None:
    """Show the dialog, with what this page's link holds."""
    _dialog(view, _targets(view, values))


def _targets(view: View, values: Mapping[str, Scalar]) -> list[Target]:
    """Return this page, and each step of each lesson."""
    own = {
        key: value
        for key, value in values.items()
        if key not in (controls_spec.LOCK, controls_spec.HIDE)
    }
    label = f"This page, {view.page.title}, with its current settings"
    found = [Target(label, view.page, own, own, view.shown)]
    for number, each in enumerate(lessons.load().values(), 1):
        for place, step in enumerate(each.steps, 1):
            opened = page_table.by_file(step.page)
            stand = steps.knobs_of(step, opened)
            asked: dict[str, Scalar] = {"lesson": each.name, "step": place}
            usual = controls_spec.find(opened.view).default if opened.view else None
            shown = stand.get(opened.view, usual) if opened.view else None
            label = f"Lesson {number}, step {place}: {step.title}"
            found.append(
                Target(label, opened, asked, asked | stand, shown, controls_spec.ALWAYS_SEEN)
            )
    return found


def _close() -> None:
    session.visit().class_link = ""


@st.dialog("Make a class link", width="large", on_dismiss=_close)
def _dialog(view: View, targets: list[Target]) -> None:
    """Show its parts; only it runs again when something in it changes."""
    labels = [target.label for target in targets]
    choices, made = st.columns((3, 2), gap="large")
    with choices:
        chosen = st.selectbox("It opens", labels, key="class-opens")
        target = targets[labels.index(chosen)]
        kinds = _kinds(view, target)
        projector = st.toggle("In lecture mode", view.projector, key="class-projector")
    address = of(view.page, target, kinds, projector=projector)
    code, note = share.code(address), reachable(address)
    with made:
        too_long = "" if code else "The link is too long for a QR code. "
        share.inline(address, code, f"{too_long}{note}")
        st.caption(NO_PROTECTION)


def _kinds(view: View, target: Target) -> dict[str, str]:
    """Let each knob be chosen as free, locked or hidden."""
    names = {key: f"class-{target.page.file}-{key}" for key in target.keys}
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("**Knobs**", width="content")
        for kind in (FREE, LOCKED, HIDDEN):
            st.button(f"All {kind}", key=f"class-all-{kind}", on_click=_all, args=(names, kind))
    found = {}
    with st.grid(2, min_column_width=220, gap="small"):
        for key, name in names.items():
            value, label = target.stand.get(key), controls_spec.short(key)
            if value is not None:
                label = f"{label} = {controls_spec.display_value(key, value)}"
            options = [FREE, LOCKED, *([HIDDEN] if key not in controls_spec.ALWAYS_SEEN else [])]
            now = HIDDEN if key in view.hidden else LOCKED if key in view.locked else FREE
            kind = st.segmented_control(label, options, default=now, required=True, key=name)
            found[key] = str(kind)
    return found


def _all(names: Mapping[str, str], kind: str) -> None:
    for key, name in names.items():
        cannot = kind == HIDDEN and key in controls_spec.ALWAYS_SEEN
        st.session_state[name] = LOCKED if cannot else kind


def of(page: Page, target: Target, kinds: Mapping[str, str], *, projector: bool) -> str:
    """Return the full link."""
    here = share.for_visitors(st.context.url or "", settings.current())
    lists = {
        name: ",".join(key for key, each in kinds.items() if each == kind)
        for name, kind in ((controls_spec.LOCK, LOCKED), (controls_spec.HIDE, HIDDEN))
    }
    screen = {"projector": True} if projector else {}
    values = {**target.values, **{key: text for key, text in lists.items() if text}, **screen}
    return link.address(share.elsewhere(here, page, target.page), values)


def reachable(address: str) -> str:
    """Return who can open a link, in a sentence."""
    parts = urlsplit(address)
    if parts.hostname in settings.OWN_NAMES:
        return f"{share.ONLY_HERE} Start the program with abcdp app --class instead."
    return f"The students' devices must be able to reach {parts.netloc}: ask one student to try."
