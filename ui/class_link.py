"""*Make a class link*: a dialog that makes the link a class opens, with a QR code of it.

What it opens is this page as its knobs stand, or a lesson at a step, which sets its own. For each
knob of the page that opens, the one who makes the link says whether it is free, locked or hidden
(:mod:`ui.locks`), and whether the link is for the projector of the hall. The link is made anew with
every choice; nothing of it is kept, and nothing on this page changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import streamlit as st

from abcdp_core import lessons
from abcdp_core.parameters import Scalar
from ui import knobs, lesson, link, served, share, state
from ui.page import Page

OPEN = "_class_link_of"
FREE, LOCKED, HIDDEN = "free", "locked", "hidden"

NO_PROTECTION = (
    "Locking keeps a class on one thing. It is no protection: *Unlock* on the page, or an address "
    "changed by hand, undoes it."
)


@dataclass(frozen=True)
class Target:
    """What a link opens.

    Attributes:
        label: as it is chosen.
        page: the page.
        values: key -> what the link says of it.
        stand: key -> what the knobs of the page then stand at.
        view: the view that is shown then.
        others: keys that can be locked besides the knobs of the page.
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


def offer(values: Mapping[str, Scalar], pages: Iterable[Page]) -> None:
    """The button, and the dialog once it was pressed.

    Args:
        values: what the link to this page holds.
        pages: those of this server.
    """
    page = state.on_screen()
    st.button("Make a class link", key="class-link", on_click=_open, args=(page.file,))
    if st.session_state.get(OPEN, page.file) != page.file:
        # Left by the browser's own way back.
        _close()
    if OPEN in st.session_state:
        _dialog(_targets(values, {each.file: each for each in pages}))


def _open(file: str) -> None:
    st.session_state[OPEN] = file


def _close() -> None:
    st.session_state.pop(OPEN, None)


def _targets(values: Mapping[str, Scalar], pages: Mapping[str, Page]) -> list[Target]:
    """This page, and each step of each lesson."""
    page = state.on_screen()
    own = {key: value for key, value in values.items() if key not in (knobs.LOCK, knobs.HIDE)}
    found = [Target(f"This page, {page.title}, as it stands", page, own, own, state.view())]
    for number, each in enumerate(lessons.load().values(), 1):
        for place, step in enumerate(each.steps, 1):
            opened = pages[step.page]
            stand = lesson.knobs_of(step, opened)
            asked: dict[str, Scalar] = {"lesson": each.name, "step": place}
            view = stand.get(opened.view, _default(opened.view)) if opened.view else None
            label = f"Lesson {number}, step {place}: {step.title}"
            found.append(Target(label, opened, asked, asked | stand, view, knobs.ALWAYS_SEEN))
    return found


def _default(key: str) -> Scalar:
    return knobs.find(key).default


@st.dialog("Make a class link", width="large", on_dismiss=_close)
def _dialog(targets: list[Target]) -> None:
    """Its parts from top to bottom; only it is run again when something in it changes."""
    labels = [target.label for target in targets]
    choices, made = st.columns((3, 2), gap="large")
    with choices:
        chosen = st.selectbox("It opens", labels, key="class-opens")
        target = targets[labels.index(chosen)]
        kinds = _kinds(target)
        projector = st.toggle(
            "For the projector", bool(state.held("projector")), key="class-projector"
        )
    address = of(target, kinds, projector=projector)
    note = reachable(address)
    if not (code := share.code(address)):
        note = f"The link is too long for a QR code. {note}"
    with made:
        share.inline({"link": address, "code": code, "note": note})
        st.caption(NO_PROTECTION)


def _kinds(target: Target) -> dict[str, str]:
    """Knob -> free, locked or hidden, as chosen."""
    names = {key: f"class-{target.page.file}-{key}" for key in target.keys}
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("**Knobs**", width="content")
        for kind in (FREE, LOCKED, HIDDEN):
            st.button(f"All {kind}", key=f"class-all-{kind}", on_click=_all, args=(names, kind))
    found = {}
    with st.grid(2, min_column_width=220, gap="small"):
        for key, name in names.items():
            options = [FREE, LOCKED, *([HIDDEN] if key not in knobs.ALWAYS_SEEN else [])]
            kind = st.segmented_control(
                _said(target, key), options, default=_now(key), required=True, key=name
            )
            found[key] = str(kind)
    return found


def _said(target: Target, key: str) -> str:
    """A knob with what it stands at, if that is known."""
    name = knobs.short(key)
    value = target.stand.get(key)
    return name if value is None else f"{name} = {knobs.said(key, value)}"


def _now(key: str) -> str:
    """What a knob is on this page."""
    if key in state.listed(knobs.HIDE):
        return HIDDEN
    return LOCKED if key in state.listed(knobs.LOCK) else FREE


def _all(names: Mapping[str, str], kind: str) -> None:
    for key, name in names.items():
        st.session_state[name] = LOCKED if (key, kind) in _UNSEEN else kind


_UNSEEN = {(key, HIDDEN) for key in knobs.ALWAYS_SEEN}


def of(target: Target, kinds: Mapping[str, str], *, projector: bool) -> str:
    """The full link.

    Args:
        target: what it opens.
        kinds: knob -> free, locked or hidden.
        projector: whether the page is for the wall of a hall.
    """
    here = share.for_visitors(st.context.url or "", served.settings())
    lists = {knobs.LOCK: _named(kinds, LOCKED), knobs.HIDE: _named(kinds, HIDDEN)}
    screen = {"projector": True} if projector else {}
    values = {**target.values, **{key: text for key, text in lists.items() if text}, **screen}
    return link.address(elsewhere(here, state.on_screen(), target.page), values)


def _named(kinds: Mapping[str, str], kind: str) -> str:
    return ",".join(key for key, each in kinds.items() if each == kind)


def elsewhere(url: str, here: Page, there: Page) -> str:
    """The address of another page of this server.

    Args:
        url: of the page that is open, without what follows the question mark.
        here: that page; the first one has no name in an address.
        there: the other one.
    """
    parts = urlsplit(url)
    base = parts.path.rstrip("/").removesuffix(f"/{here.file}")
    name = "" if there.file == FIRST else there.file
    return urlunsplit(parts._replace(path=f"{base}/{name}"))


FIRST = "overview"
"""The page that an address without a name opens."""


def reachable(address: str) -> str:
    """Who can open a link, in a sentence."""
    parts = urlsplit(address)
    if parts.hostname in share.OWN_NAMES:
        return f"{share.ONLY_HERE} Start the program with make serve, and make the link there."
    return f"The devices of the class have to reach {parts.netloc}: ask one student to try."
