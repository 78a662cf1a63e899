"""Figures that stand on white by themselves, as a file does."""

from __future__ import annotations

import math
import textwrap

import plotly.graph_objects as go

from abcdp_core.results import Result

WIDTH = 900
"""Width of a static figure in pixels; a PNG has twice as many."""

FONT = "Arial, Helvetica, 'Liberation Sans', 'DejaVu Sans', sans-serif"
INK = "#1F1F1F"
GRID = "#E4E4E4"


def title_of(result: Result, figure: go.Figure) -> str:
    """The title as one line; a result that is not complete says so."""
    text = " ".join((figure.layout.title.text or "").replace("<br>", " ").split())
    partial = f"partial result: {result.done} of {result.total} tasks"
    return " · ".join(part for part in (text, partial if result.is_partial else "") if part)


def on_paper(figure: go.Figure, title: str) -> go.Figure:
    """A copy that stands on white by itself, with room for its whole title.

    On a page colours and fonts come from the page's theme; a file has none.

    Args:
        figure: left as it is.
        title: for the copy, in as many lines as it needs; empty for none.
    """
    copy = go.Figure(figure)
    # No-break spaces: "ε_abc = 0.1" stays in one line.
    lines = textwrap.wrap(title.replace(" = ", "\u00a0=\u00a0"), TITLE_CHARACTERS)
    plot = (figure.layout.height or HEIGHT) - _margin(figure, "t") - _margin(figure, "b")
    plot = max(plot, LOWEST)
    # Plotly hangs a single line below its place but writes the first of several lines above it.
    pad = 16 if len(lines) < 2 else 30
    top = pad + TITLE_LINE * len(lines) + _room_above(copy, plot)
    copy.update_layout(
        title={"text": "<br>".join(lines), "font": {"size": 18}, "automargin": False}
        | {"x": 0.0, "xanchor": "left", "y": 1.0, "yanchor": "top", "yref": "container"}
        | {"pad": {"t": pad, "l": 12}},
        height=top + plot + BOTTOM,
        margin={"t": top, "l": 84, "r": 24, "b": BOTTOM},
        paper_bgcolor="#FFFFFF",
        plot_bgcolor="#FFFFFF",
        font={"family": FONT, "color": INK},
    )
    lines_of_axes = {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": INK, "tickcolor": INK}
    copy.update_xaxes(**lines_of_axes)
    copy.update_yaxes(**lines_of_axes)
    return copy


HEIGHT = 440
LOWEST = 240
BOTTOM = 72
TITLE_CHARACTERS = 84
TITLE_LINE = 26
LINE = 26


def _margin(figure: go.Figure, side: str) -> float:
    own = figure.layout.margin[side]
    shared = figure.layout.template.layout.margin[side]
    return float(own if own is not None else shared if shared is not None else 80)


def _room_above(figure: go.Figure, plot: float) -> float:
    """Pixels between plot and title: titles of panels, then the legend by its texts' lengths."""
    panels = any(note.yref == "paper" and note.y == 1 for note in figure.layout.annotations)
    names = {trace.name for trace in figure.data if trace.name and trace.showlegend is not False}
    if figure.layout.showlegend is False or not names:
        return LINE * panels
    raised = ((figure.layout.legend.y or 1.0) - 1.0) * plot
    widest = 48 + 8 * max(len(name) for name in names)
    rows = math.ceil(len(names) / max(1, (WIDTH - 100) // widest))
    return max(raised, LINE * panels) + LINE * rows
