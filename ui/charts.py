"""A figure on the screen: text for a projector and a telephone, a summary for a screen reader."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from ui import state

TITLE_WIDTH = 48
"""Characters of a title in a line, so that it fits a telephone."""

LINE_HEIGHT = 21
"""Pixels of a line of the title."""

TEXT = {"light": "#16181C", "dark": "#E8EAED"}
"""Colour of all text, as in the theme; plotly's own greys are too pale for a projector."""


Clicked = Callable[[str, float], None]
"""What is told of a point that a person clicked: name of its series, and where it is."""


def show(key: str, chart: go.Figure, summary: str, clicked: Clicked | None = None) -> None:
    """A chart that keeps its place and zoom while its data change.

    Args:
        key: names the chart on the page, and its file.
        chart: the figure.
        summary: what it shows, for those who cannot see it.
        clicked: called when a person clicks a point.
    """
    names = [str(trace.name) for trace in chart.data]
    saved = {"format": str(state.current("figures.format")), "filename": key, "scale": 2}
    st.plotly_chart(
        readable(chart, TEXT.get(str(st.context.theme.type))),
        theme="streamlit",
        width="stretch",
        key=f"chart-{key}",
        on_select=functools.partial(_tell, f"chart-{key}", names, clicked) if clicked else "ignore",
        selection_mode="points",
        alt=summary,
        config={"displaylogo": False, "toImageButtonOptions": saved, "responsive": True},
    )


def _tell(key: str, names: list[str], clicked: Clicked) -> None:
    """Pass the clicked point on."""
    points = st.session_state[key].get("selection", {}).get("points", [])
    if points:
        clicked(names[points[0]["curve_number"]], float(points[0]["x"]))


def readable(chart: go.Figure, color: str | None) -> go.Figure:
    """A copy with larger text of one colour, the title in short lines and the legend below."""
    # Edited as plain dictionaries: plotly's own updates take longer than the rest of a page.
    plain = chart.to_dict()
    layout: dict[str, Any] = plain["layout"]
    for name in {"xaxis", "yaxis"} | {key for key in layout if key[1:].startswith("axis")}:
        axis = layout.setdefault(name, {})
        axis["tickfont"] = _font(14, color)
        axis["title"] = {**axis.get("title", {}), "font": _font(15, color)}
    for note in layout.get("annotations", ()):
        note["font"] = _font(14, color)
    title = _lines(layout.get("title", {}).get("text", ""))
    layout["title"] = {
        "text": "<br>".join(title),
        "font": _font(16, color),
        "yref": "container",
        "y": 1 - 14 / layout.get("height", 450),
        "yanchor": "top",
    }
    above = len(title) + any(note.get("text") for note in layout.get("annotations", ()))
    layout["margin"] = {"t": 30 + LINE_HEIGHT * above}
    layout["legend"] = {"font": _font(14, color), "yref": "container", "y": 0, "yanchor": "bottom"}
    layout["font"] = _font(15, color)
    return go.Figure(plain)


def _font(size: int, color: str | None) -> dict[str, Any]:
    return {"size": size, "color": color} if color else {"size": size}


def _lines(title: str) -> list[str]:
    """The title in lines that break between settings, never inside one."""
    return textwrap.wrap(title.replace(" = ", "\u00a0=\u00a0"), TITLE_WIDTH)
