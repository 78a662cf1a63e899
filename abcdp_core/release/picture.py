"""Draw rows of intervals and marks, one per parameter, as a figure and as parts of a page.

On the page, positions are fractions of a row's width, so that text and marks keep their size on a
phone and on paper.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core.base.arrays import Array

Marks = Sequence[tuple[fig.Style, Array]]

PLAIN = {"dash": "solid", "marker": "circle"}

INTERVAL = fig.PRIVATE.called("90 % interval")
KEPT = fig.PRIVATE.called("kept draw", marker="line-ns-open")
MEAN = fig.PRIVATE.called("mean of the kept draws", marker="diamond")
ESTIMATE = fig.PRIVATE.called("mean", marker="diamond")
PRIOR_INTERVAL = fig.PRIOR.called("90 % interval of the prior", **PLAIN)
PRIOR = fig.PRIOR.called("prior mean", dash="solid", marker="line-ns-open")
MADE = fig.THEORY.called("90 % of the model's simulations", **PLAIN)
RELEASED = fig.PRIVATE.called("released")
WITHOUT_NOISE = fig.NON_PRIVATE.called("without noise", marker="line-ns-open")

SIZES = {
    **{KEPT.name: (18, 2), MEAN.name: (13, 0), ESTIMATE.name: (13, 0), PRIOR.name: (30, 2)},
    **{RELEASED.name: (11, 0), WITHOUT_NOISE.name: (30, 2)},
}
"""Name of a style -> size of its marks and width of their lines."""

WIDTHS = {INTERVAL.name: 6, PRIOR_INTERVAL.name: 2, MADE.name: 6}
"""Name of a style -> width of a line."""

LONGEST_LINE = 27
"""Characters of a name beside its marks that fit on a phone."""

MOST_STEPS = 5
"""Steps between ticks whose labels fit on a phone."""

SUPERSCRIPTS = str.maketrans(
    "-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
)


@dataclass(frozen=True)
class Row:
    """A row of a picture.

    Attributes:
        name, said: the parameter and its value in words; may be empty.
        low, high: ends of its axis.
        marks: styles with positions ``(m,)`` of marks, or both ends of a line.
    """

    name: str
    said: str
    low: float
    high: float
    marks: Marks = field(repr=False)


def figure(rows: Sequence[Row], title: str, settings: str, unit: str) -> go.Figure:
    """Return a figure of rows, the top row first; ``unit`` is the title of the axis."""
    axes = [(row.low, row.high) for row in rows]
    height = 44 if len(set(axes)) == 1 else 80
    drawn = fig.stack([""] * len(rows), title, unit, axes, row_height=height)
    drawn.update_layout(title={"subtitle": {"text": settings}}, showlegend=False)
    for place, row in enumerate(rows):
        panel = fig.panel(place)
        for style, x in row.marks:
            drawn.add_trace(_mark(style, x).update(**panel))
        name = "<br>".join(textwrap.wrap(row.name, LONGEST_LINE))
        below = f"<br>{row.said}" if row.said else ""
        axis = drawn.layout["yaxis" + panel["yaxis"][1:]]
        axis.update(tickvals=[0.5], ticktext=[f"<b>{name}</b>{below}"])
    return drawn.update_yaxes(showline=False, ticks="", showgrid=False)


def _mark(style: fig.Style, x: Array) -> go.Scatter:
    height = np.full(len(x), 0.5)
    if style.name in WIDTHS:
        return fig.line(x, height, style).update(line={"width": WIDTHS[style.name]})
    size, width = SIZES[style.name]
    return fig.points(x, height, style).update(marker={"size": size, "line": {"width": width}})


def strips(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return rows for the template: ``name``, ``said``, ``ticks``, ``marks``, ``has_labels``.

    Positions are percentages of the width. Rows that share an axis keep sharing it.
    """
    shared = len({(row.low, row.high) for row in rows}) == 1
    wide = [_around(row) for row in rows]
    if shared:
        wide = [(min(low for low, _ in wide), max(high for _, high in wide))] * len(wide)
    shapes = []
    for place, (row, (low, high)) in enumerate(zip(rows, wide, strict=True)):

        def at(value: float, low: float = low, high: float = high) -> float:
            return round(100.0 * (value - low) / (high - low), 2)

        marks = [mark for style, x in row.marks for mark in _places(style, [*map(at, x)])]
        ticked = [(at(value), text) for value, text in ticks(low, high)]
        has_labels = not shared or place == len(rows) - 1
        shapes.append(
            {"name": row.name, "said": row.said, "ticks": ticked, "marks": marks}
            | {"has_labels": has_labels}
        )
    return shapes


def _around(row: Row) -> tuple[float, float]:
    """The row's axis, extended to all of its marks."""
    places = [float(value) for _, x in row.marks for value in x]
    return min([row.low, *places]), max([row.high, *places])


def _places(style: fig.Style, x: list[float]) -> list[dict[str, Any]]:
    """One line, or a mark at each position."""
    if style.name in WIDTHS:
        line = {"x": x[0], "end": x[-1], "width": WIDTHS[style.name]}
        return [{"kind": "line", "color": style.color, **line}]
    size, width = SIZES[style.name]
    kind = "tick" if width else "diamond" if style.marker == "diamond" else "circle"
    shape = {"kind": kind, "color": style.color, "half": size / 2, "width": width}
    return [{"x": each, **shape} for each in x]


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return a few round values of an axis with their labels."""
    rough = (high - low) / MOST_STEPS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1.0, 2.0, 5.0, 10.0) if size * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    finest = math.floor(math.log10(step) + 1e-9)
    # Enough digits to distinguish two ticks, also on an axis far from 0.
    figures = max(3, 1 + math.floor(math.log10(max(abs(low), abs(high)))) - finest)
    return [
        (number * step, _written(number * step, max(0, -finest), figures))
        for number in range(first, last + 1)
    ]


def _written(value: float, digits: int, figures: int) -> str:
    """The label of a tick; with a power of ten if it would be long."""
    if digits > 4 or abs(value) >= 1e7:
        mantissa, _, power = f"{value:.{figures}g}".partition("e")
        text = f"{mantissa} × 10{str(int(power)).translate(SUPERSCRIPTS)}" if power else mantissa
    else:
        text = f"{value:,.{digits}f}"
    return text.replace("-", "\u2212") if value else "0"
