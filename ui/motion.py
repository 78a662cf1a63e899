"""Marks of a chart move from where the former noise had them to where the next one has."""

from __future__ import annotations

import functools
from pathlib import Path

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer

SCRIPT = Path(__file__).parents[1] / "assets" / "motion.js"


def of(chart: str) -> None:
    """Let the marks of a chart move whenever it is drawn with other numbers.

    Only those that have a number of their own (``ids``), and that move up or down. The browser
    does it, and does not where its user wants less motion.

    Args:
        chart: its key, as :func:`charts.show` has it.
    """
    _component()(key=f"motion-{chart}", data={"chart": chart}, height=0)


@functools.cache
def _component() -> ComponentRenderer:
    html, js = '<div class="motion" hidden></div>', SCRIPT.read_text(encoding="utf-8")
    return st.components.v2.component("motion", html=html, js=js)
