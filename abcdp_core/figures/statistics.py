"""What statistics, mechanisms and ways of asking look like on every page.

Means over runs have bands, errors and histograms their lines, and families of mechanisms colors.
"""

from __future__ import annotations

import dataclasses
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array
from abcdp_core.base.sentences import SYMBOLS
from abcdp_core.figures.builders import band, hollow, line, panel
from abcdp_core.figures.looks import CATEGORIES, DASHES, GREY, MARKERS, NON_PRIVATE, OLIVE, Style

if TYPE_CHECKING:
    import pandas as pd

PRIOR_MEAN = Style("prior mean", GREY, "dot")  # The error of whoever looks at no data at all

RIVAL = Style("counts with noise, no ABC", OLIVE, "longdashdot", "star")
RIVAL_WITHOUT_NOISE = dataclasses.replace(RIVAL, name="counts without noise, no ABC")
"""The error of whoever releases the sufficient counts where a likelihood exists."""

UNLEARNT = Style("σ not clearly learned", GREY, "dot", "diamond")
"""What is little else than the prior."""


def in_panel(trace: go.Scatter, index: int) -> go.Scatter:
    """A trace in a panel; the first panel's stands in the legend for those of all."""
    return trace.update(showlegend=index == 0, legendgroup=trace.name, **panel(index))


def named_once(figure: go.Figure) -> None:
    """Let the legend show each name once, whichever panels have it; bands only if they ask."""
    shown: set[str] = set()
    for trace in figure.data:
        if trace.fill is None or trace.showlegend:
            trace.update(showlegend=trace.name not in shown, legendgroup=trace.name)
            shown.add(trace.name)


def run_line(
    statistics: pd.DataFrame, along: str, style: Style, index: int = 0
) -> list[go.Scatter]:
    """A line of means over runs with its 95 % band; marks are open where runs accepted nothing.

    Args:
        statistics: of one line, by :func:`abcdp_core.base.summaries.over_runs`.
        along: the column along the axis.
        style: of the line.
        index: number of its panel.
    """
    part = statistics.sort_values(along)
    x, y = part[along].to_numpy(), part["mean"].to_numpy()
    low, high, empty = (part[name].to_numpy() for name in ("low", "high", "empty_share"))
    traces = []
    text = f"{SYMBOLS[along]} = %{{x}}: %{{y:.4g}}"
    if np.isfinite(low).all():
        traces.append(band(x, low, high, style).update(legendgroup=style.name, **panel(index)))
        text += ", 95 % interval %{customdata[0]:.4g} to %{customdata[1]:.4g}"
    if empty.any():
        text += "; %{customdata[2]:.0f} % of the runs accepted nothing"
    marks = in_panel(line(x, y, style), index).update(
        mode="lines+markers",
        marker={"color": style.color, "symbol": style.marker, "size": 8},
        customdata=np.column_stack([low, high, 100.0 * empty]),
        hovertemplate=f"{text}<extra>{style.name}</extra>",
    )
    return [*traces, hollow(marks, empty)]


def outline(edges: Array, heights: Array, style: Style, index: int = 0) -> go.Scatter:
    """A histogram as a stepped outline, of bars between ``edges (k + 1,)``."""
    return in_panel(line(np.repeat(edges, 2)[1:-1], np.repeat(heights, 2), style), index)


def evenly(table: pd.DataFrame, most: int) -> pd.DataFrame:
    """At most so many rows of a table, evenly spread over it."""
    if len(table) <= most:
        return table
    return table.iloc[np.linspace(0, len(table) - 1, most).astype(int)]


def boxes(x: NDArray[Any], y: Array, style: Style) -> go.Box:
    """Box plots with their means, one for each name in ``x (k,)``, of values ``y (k,)``."""
    return go.Box(
        x=x,
        y=y,
        name=style.name,
        line={"color": style.color, "width": 1.5},
        marker={"color": style.color, "symbol": style.marker, "size": 4, "opacity": 0.6},
        boxmean=True,
    )


FAMILIES = (
    (
        *("sparse-vector", "sparse-vector-approximate", "gaussian-sparse-vector"),
        *("nearest-selection", "nearest-selection-approximate"),
    ),
    ("gaussian-rejection",),
    (
        *("private-embedding", "embedding-estimate", "embedding-noise-aware"),
        "embedding-noise-ignored",
    ),
    ("noisy-counts", "private-summary", "private-summary-large-unit"),
    ("soft-weights",),
)
"""Mechanisms that do nearly the same."""


def mechanism(name: str) -> Style:
    """How a mechanism looks on every page.

    Args:
        name: its code name, or ``non-private``. One that no family has gets the look that its
            name stands for.
    """
    if name == NON_PRIVATE.name:
        return NON_PRIVATE
    for color, family in zip(CATEGORIES, FAMILIES, strict=True):
        if name in family:
            place = family.index(name)
            return Style(called(name), color, DASHES[place], MARKERS[place])
    number = zlib.crc32(name.encode())
    return Style(called(name), CATEGORIES[number % len(CATEGORIES)], DASHES[-1], MARKERS[-1])


def called(name: str) -> str:
    """A mechanism's code name as words."""
    return name.replace("-", " ").replace("gaussian", "Gaussian")


def code_name(words: str) -> str:
    """What :func:`called` made words of."""
    return words.replace(" ", "-").lower()


_LOOKS = {
    "truncation": Style("truncation", CATEGORIES[0], "solid", "circle"),
    "fixed": Style("fixed", CATEGORIES[1], "dash", "square"),
    "optimal": Style("optimal", CATEGORIES[2], "solid", "diamond"),
    "sign": Style("sign", CATEGORIES[4], "dash", "square"),
    "placed right": Style("placed right", CATEGORIES[4], "dot", "triangle-up"),
}
"""A sign is never seen beside an interval that is placed right; the fourth color is too close to
that of optimal symbols on a dark ground."""


def way_of_asking(name: str) -> Style:
    """How a way of asking looks.

    Args:
        name: ``truncation`` in an interval that follows the answers, in a ``fixed`` one or in one
            that was ``placed right``; a ``sign`` or ``optimal`` symbols.
    """
    return _LOOKS[name]
