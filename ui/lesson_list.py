"""All lessons, each with the button that begins it."""

from __future__ import annotations

from functools import partial

import streamlit as st

from abcdp_core import lessons
from ui import lesson, locks


def show() -> None:
    """One card a lesson."""
    for number, each in enumerate(lessons.load().values(), 1):
        with st.container(
            key=f"lesson-card-{each.name}",
            border=True,
            horizontal=True,
            vertical_alignment="center",
        ):
            with st.container(width="stretch", gap=None):
                st.markdown(f"## {number} · {each.title}")
                st.markdown(each.lead)
                st.caption(" · ".join(step.title for step in each.steps))
            st.button(
                "Begin",
                key=f"lesson-begin-{each.name}",
                on_click=partial(lesson.go, 1, each.name),
                disabled=locks.is_fixed("lesson"),
                help=locks.REASON if locks.is_fixed("lesson") else None,
            )
