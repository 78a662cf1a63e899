"""Widgets; and components that the browser draws, from the files in ``assets``."""

from __future__ import annotations

import functools
from typing import Any

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer

from abcdp_core.base.places import ASSETS
from abcdp_core.publish.output.scripts import joined


@functools.cache
def component(
    name: str, js: str, html: str = "<span hidden></span>", css: str = ""
) -> ComponentRenderer:
    """Return a component; its parts are texts, or names of files in ``assets``."""
    parts: dict[str, Any] = {"js": js, "html": html, "css": css}
    for kind, part in parts.items():
        if part.endswith(f".{kind}"):
            path = ASSETS / part
            parts[kind] = joined(path) if kind == "js" else path.read_text(encoding="utf-8")
    return st.components.v2.component(name, **parts)
