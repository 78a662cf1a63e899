"""Rows of marks: a name on the left of each, its number and interval along one axis.

Names stand in the margin and never over marks, however narrow the page is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from abcdp_core.base.arrays import Array
from abcdp_core.figures.builders import (
    ABOVE,
    figure,
    hollow,
    in_short_lines,
    no_better,
    panel,
    panels,
    plain_ticks,
)
from abcdp_core.figures.looks import PRIOR, Style

if TYPE_CHECKING:
    import pandas as pd

AROUND = 132  # Pixels of a figure that are not rows: title, settings and axis


def ranked(
    names: Sequence[str], title: str, x: str, settings: str = "", row_height: int = 34
) -> go.Figure:
    """An empty figure with a row of so many pixels for each name, the first one on top."""
    height = AROUND + row_height * max(len(names), 3)
    empty = figure(title, x, "", height=height, settings=settings)
    return empty.update_yaxes(row_axis(names)).update_layout(showlegend=False)


def row_axis(names: Sequence[str]) -> dict[str, object]:
    """A vertical axis with a row for each name, the first one on top."""
    return {
        "range": [len(names) - 0.5, -0.5],
        "tickvals": list(range(len(names))),
        "ticktext": [in_short_lines(name) for name in names],
        **{"ticks": "", "showline": False, "zeroline": False, "title": None},
    }


def marked(
    names: Sequence[str],
    marks: pd.DataFrame,
    words: tuple[str, str, str],
    ends: tuple[float, float] | None = None,
    lines: Sequence[tuple[float, Style, str]] = (),
    *,
    prior: float | None = None,
    row_height: int = 34,
) -> go.Figure:
    """Rows with marks and their intervals, one trace for each style.

    Args:
        names: of the rows.
        marks: with ``place``, number of the row, ``style`` and ``value``; it may have ``low`` and
            ``high``, and ``open``, whether a mark is. Where no value is known there is no mark.
        words: title, name of the axis, and settings.
        ends: of a logarithmic axis, where marks beyond are drawn; of shares if not given.
        lines: at most two upright ones: where, style and name.
        prior: error of the prior mean, one of the lines; beyond is no better.
        row_height: in pixels.
    """
    drawn = ranked(names, *words, row_height)
    drawn.update_xaxes(plain_ticks(*ends) if ends else SHARES)
    if prior is not None:
        lines = [*lines, (prior, PRIOR, "prior")]
        no_better(drawn, prior, along="x")
    # Names of two lines are on the sides turned away from each other.
    sides = ["right", "left"] if len(lines) > 1 else ["center"]
    for side, each in zip(sides, sorted(lines, key=lambda each: each[0]), strict=False):
        upright(drawn, *each, side)
    for style, part in marks[np.isfinite(marks.value)].groupby("style", sort=False):
        trace = _row_marks(part, style, ends)
        if "open" in part:
            trace = hollow(trace, part.open.to_numpy())
        drawn.add_trace(trace)
    return drawn


def marked_panels(
    ranges: Mapping[str, tuple[float, float]],
    names: Sequence[str],
    marks: pd.DataFrame,
    words: tuple[str, str],
) -> go.Figure:
    """Panels with the same rows, each with marks and intervals along an axis of its own.

    Args:
        ranges: name of each panel -> ends of its axis.
        names: of the rows.
        marks: of :func:`marked`, and with ``panel``, its number.
        words: title and settings.
    """
    height = 200 + 2 * (40 + 24 * len(names))
    drawn = panels(list(ranges), words[0], "", "", rows=2, height=height, settings=words[1])
    for index, ends in enumerate(ranges.values()):
        for style, part in marks[marks.panel == index].groupby("style", sort=False):
            drawn.add_trace(_row_marks(part, style).update(panel(index)))
        axis = {"matches": None, "range": list(ends), "nticks": 4, "tickangle": 0}
        drawn.layout["xaxis" + panel(index)["xaxis"][1:]].update(axis)
    return drawn.update_yaxes(row_axis(names)).update_layout(showlegend=False)


SHARES = {"range": [0.0, 1.02], "tickvals": [0.0, 0.25, 0.5, 0.75, 1.0]}
"""An axis of shares, with room for marks at 1."""


def _row_marks(
    part: pd.DataFrame, style: Any, ends: tuple[float, float] | None = None
) -> go.Scatter:
    """The marks of a style, those beyond the ends of the axis there."""
    columns = [name for name in ("value", "low", "high") if name in part]
    value, *bars = part[columns].clip(*ends or (None, None)).to_numpy(float).T
    return row_marks(value, part.place.to_numpy(float), style, *bars)


def row_marks(
    x: Array,
    places: Array,
    style: Style,
    low: Array | None = None,
    high: Array | None = None,
) -> go.Scatter:
    """Marks of a series at its places, with intervals from ``low`` to ``high``.

    Args:
        x: along the axis ``(k,)``.
        places: numbers of the rows ``(k,)``, whole or between two.
        style: of the series.
        low, high: ends of the intervals ``(k,)``; NaN where there is none.
    """
    bars = None
    if low is not None and high is not None and np.isfinite(low).any():
        above, below = np.nan_to_num(high - x), np.nan_to_num(x - low)
        bars = {"type": "data", "array": above, "arrayminus": below, "thickness": 2, "width": 0}
    return go.Scatter(
        x=x,
        y=places,
        mode="markers",
        name=style.name,
        error_x=bars,
        marker={"color": style.color, "symbol": style.marker, "size": 11},
        cliponaxis=False,
    )


def upright(figure: go.Figure, x: float, style: Style, text: str, place: str) -> None:
    """A line from bottom to top where a reference is, with its name above the plot.

    Args:
        figure, x, style: gets it; where, in the units of the axis; of the line.
        text, place: its name; which side of that is at the line, ``left``, ``center`` or ``right``.
    """
    look = {"color": style.color, "dash": style.dash or "solid", "width": 2}
    ends = {"x0": x, "x1": x, "y0": 0.0, "y1": 1.0, "yref": "paper"}
    figure.add_shape(ends, type="line", layer="below", line=look)
    at = math.log10(x) if figure.layout.xaxis.type == "log" else x
    figure.add_annotation(ABOVE, x=at, text=text, font={"color": style.color}, xanchor=place)
