"""Back and Forward in the browser lead from page to page, each as it was left."""

from __future__ import annotations

import functools
from pathlib import Path

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer

SCRIPT = Path(__file__).parents[1] / "assets" / "history.js"


def by_page() -> None:
    """Let the browser remember an address for each page that was opened, and no others."""
    _component()(key="history", height=0)


@functools.cache
def _component() -> ComponentRenderer:
    html, js = '<div class="history" hidden></div>', SCRIPT.read_text(encoding="utf-8")
    return st.components.v2.component("history", html=html, js=js)
