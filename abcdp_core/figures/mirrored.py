"""Histograms of a private release and of one without noise, mirrored at a line per parameter.

Above the line stands what is private, below it what is not; one dot a sample where there are few,
bars where there are many. Behind both is the prior: of as many samples where there are bars, only
its shape where there are dots, beside which so wide a spread would not be seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core.figures.builders import TICKS, Array, panel, span
from abcdp_core.figures.looks import (
    BOTH,
    NON_PRIVATE,
    PALE,
    PRIOR,
    PRIVATE,
    TEMPLATE,
    TRUTH,
    Style,
    translucent,
)

if TYPE_CHECKING:
    import pandas as pd

MOST_DOTS, TALLEST = 30, 6
"""Samples of a release, and dots in a stack, up to which each sample is a dot."""

DOTS, BARS = 40, 20
"""Bins of either."""

SHOWN = 0.99
"""Part of the prior's draws that an axis shows; what is beyond stands in the outermost bin."""

FILLED = 0.92
"""Part of the room between two lines that the tallest stack fills."""

SHAPE = 0.6
"""Part of the room between two lines that the prior fills where only its shape is shown."""

ROW, DOT = 56, 9
"""Pixels of a row, and of a dot where there is room."""

SIDES = ((PRIVATE, 1.0, "triangle-down"), (NON_PRIVATE, -1.0, "triangle-up"))
"""Which way each grows, and the mark of its mean."""


@dataclass(frozen=True)
class _Row:
    """One parameter: its axis, and the samples of each release."""

    ends: tuple[float, float]
    samples: Mapping[str, pd.DataFrame]

    def bins(self, release: str, count: int) -> NDArray[np.int64]:
        """The bin of each sample; of those beyond the ends the outermost."""
        edges = np.linspace(*self.ends, count + 1)
        values = self.samples[release].value.to_numpy()
        found: NDArray[np.int64] = np.searchsorted(edges[1:-1], values, side="right")
        return found

    def heights(self, release: str, count: int, size: int) -> Array:
        """Samples in each of ``count`` bins, by weight, where all are ``size``."""
        if release not in self.samples:
            return np.zeros(count)
        weights = self.samples[release].weight.to_numpy()
        shares = np.bincount(self.bins(release, count), weights, minlength=count)
        return np.asarray(size * shares, dtype=float)

    def size(self, release: str) -> int:
        """Number of samples."""
        return len(self.samples.get(release, ()))


def mirrored(
    axes: Mapping[str, tuple[float, float]],
    truth: Array | None,
    samples: pd.DataFrame,
    title: str,
    settings: str = "",
    *,
    bars: bool = False,
) -> go.Figure:
    """Histograms of every parameter, a row each.

    Args:
        axes: parameter -> ends of its values.
        truth: of the parameters ``(d,)``, if it is known.
        samples: with columns ``release, sample, parameter, value, weight``.
        title: of the figure.
        settings: below it.
        bars: also where there are few samples.
    """
    rows = _rows(axes, truth, samples)
    sizes = {style.name: next(iter(rows.values())).size(style.name) for style, _, _ in SIDES}
    few = not bars and max(sizes.values()) <= MOST_DOTS
    dots = few and _tallest(rows, sizes, DOTS) <= TALLEST
    count = DOTS if dots else BARS
    unit = FILLED / max(_tallest(rows, sizes, count), 3.0 if dots else 1.0)
    highest = max(float(row.heights(PRIOR.name, BARS, 1).max()) for row in rows.values()) or 1.0
    # Plain dictionaries, checked once at the end: plotly's objects check each change of each trace,
    # which takes longer than the private step.
    traces: list[dict[str, Any]] = []
    for index, row in enumerate(rows.values()):
        place = panel(index)
        for style, side, _ in SIDES:
            prior = unit * row.heights(PRIOR.name, BARS, sizes[style.name])
            if dots:
                prior = SHAPE * row.heights(PRIOR.name, BARS, 1) / highest
            traces.append(place | _outline(row, side * prior, PRIOR))
        if truth is not None:
            # Behind the samples, of which it would hide some.
            traces.append(place | _upright(float(truth[index])))
        for style, side, arrow in SIDES:
            if row.size(style.name):
                if dots:
                    traces.append(place | _dots(row, style, side * unit))
                else:
                    heights = row.heights(style.name, BARS, sizes[style.name])
                    traces.append(place | _bars(row, side * unit * heights, style))
                traces.append(place | _mean(row, style, side, arrow))
    shown = [style for style, _, _ in SIDES if sizes[style.name]]
    layout = {
        "template": TEMPLATE,
        "title": {"text": title} | ({"subtitle": {"text": settings}} if settings else {}),
        "height": 130 + (ROW if _together(rows) else ROW + TICKS) * len(rows),
        "annotations": [_legend(shown, dots, known=truth is not None)],
        "showlegend": False,
        "barmode": "overlay",
        "bargap": 0.0,
    }
    return go.Figure({"data": traces, "layout": layout | _axes(rows)})


def _rows(
    axes: Mapping[str, tuple[float, float]], truth: Array | None, samples: pd.DataFrame
) -> dict[str, _Row]:
    """Each parameter; those with the same ends of values keep one axis."""
    groups: dict[str, dict[str, pd.DataFrame]] = {name: {} for name in axes}
    for (release, name), part in samples.groupby(["release", "parameter"]):
        groups[str(name)][str(release)] = part
    shown = {
        name: _shown(ends, groups[name].get(PRIOR.name), None if truth is None else truth[row])
        for row, (name, ends) in enumerate(axes.items())
    }
    if len(set(axes.values())) == 1:
        lows, highs = zip(*shown.values(), strict=True)
        shown = dict.fromkeys(axes, (min(lows), max(highs)))
    return {name: _Row(shown[name], groups[name]) for name in axes}


def _shown(
    ends: tuple[float, float], prior: pd.DataFrame | None, truth: float | None
) -> tuple[float, float]:
    """Ends of an axis: of the prior's draws but for a few, in steps, with the truth within."""
    low, high = ends
    if prior is None:
        return ends
    step = (high - low) / 20.0
    inside = list(np.quantile(prior.value, (1.0 - SHOWN, SHOWN)))
    if truth is not None:
        inside += [truth - step, truth + step]
    first, last = math.floor((min(inside) - low) / step), math.ceil((max(inside) - low) / step)
    return max(low, low + step * first), min(high, low + step * last)


def _together(rows: Mapping[str, _Row]) -> bool:
    """Whether one axis serves all."""
    return len({row.ends for row in rows.values()}) == 1


def _tallest(rows: Mapping[str, _Row], sizes: Mapping[str, int], count: int) -> float:
    return max(
        float(row.heights(release, count, size).max())
        for row in rows.values()
        for release, size in sizes.items()
    )


def _middles(row: _Row, count: int) -> Array:
    edges = np.linspace(*row.ends, count + 1)
    return np.asarray((edges[:-1] + edges[1:]) / 2.0)


def _bars(row: _Row, heights: Array, style: Style) -> dict[str, Any]:
    return {
        "type": "bar",
        "x": _middles(row, len(heights)),
        "y": heights,
        "name": style.name,
        "marker": {"color": translucent(style.color, 0.75), "line": {"width": 0}},
        "hoverinfo": "skip",
    }


def _outline(row: _Row, heights: Array, style: Style) -> dict[str, Any]:
    """The tops of bars, as a line in steps above a pale ground."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.repeat(np.linspace(*row.ends, len(heights) + 1), 2)[1:-1],
        "y": np.repeat(heights, 2),
        "name": style.name,
        "line": {"color": style.color, "dash": style.dash, "width": 1.2},
        "fill": "tozeroy",
        "fillcolor": translucent(style.color, 0.12),
        "hoverinfo": "skip",
    }


def _dots(row: _Row, style: Style, unit: float) -> dict[str, Any]:
    """One dot a sample, stacked in bins; those that both releases kept stand nearest the line."""
    other = NON_PRIVATE if style is PRIVATE else PRIVATE
    part = row.samples[style.name]
    kept = row.samples[other.name]["sample"] if other.name in row.samples else ()
    sample, value = part["sample"].to_numpy(), part.value.to_numpy()
    both, bins = np.isin(sample, kept), row.bins(style.name, DOTS)
    order = np.lexsort((value, ~both, bins))
    bins = bins[order]
    first = np.searchsorted(bins, bins)
    level = np.arange(len(bins)) - first
    return {
        "type": "scatter",
        "mode": "markers",
        "name": style.name,
        "x": _middles(row, DOTS)[bins],
        "y": unit * (level + 0.5),
        "marker": {
            "color": [BOTH.color if each else style.color for each in both[order]],
            "size": min(DOT, 0.5 * ROW * abs(unit)),
            "symbol": "circle",
        },
        "customdata": np.column_stack([sample[order], value[order]]),
        "hovertemplate": "draw %{customdata[0]}: %{customdata[1]:.4~r}",
    }


def _mean(row: _Row, style: Style, side: float, arrow: str) -> dict[str, Any]:
    part = row.samples[style.name]
    ring = {"width": 1, "color": BOTH.color}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"mean, {style.name}",
        "x": np.array([np.average(part.value, weights=part.weight)]),
        "y": np.array([0.1 * side]),
        "marker": {"color": style.color, "symbol": arrow, "size": 12, "line": ring},
    }


def _upright(truth: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": TRUTH.name,
        "x": np.full(2, truth),
        "y": np.array([-1.0, 1.0]),
        "line": {"color": TRUTH.color, "dash": TRUTH.dash, "width": 2.5},
    }


def _axes(rows: Mapping[str, _Row]) -> dict[str, Any]:
    """Rows with their names; without gaps where one axis serves all."""
    together, count = _together(rows), len(rows)
    gap = 0.0 if together else TICKS / ((ROW + TICKS) * count)
    layout: dict[str, Any] = {}
    for index, (name, row) in enumerate(rows.items()):
        ids, last = panel(index), index == count - 1
        x: dict[str, Any] = {
            "anchor": ids["yaxis"],
            "range": list(row.ends),
            "showticklabels": last or not together,
        }
        if last:
            x["title"] = {"text": "value of the parameter"}
        elif together:
            x |= {"showline": False, "ticks": ""}
        if together and index:
            x["matches"] = "x"
        layout["xaxis" + ids["xaxis"][1:]] = x
        layout["yaxis" + ids["yaxis"][1:]] = {
            "anchor": ids["xaxis"],
            "domain": span(count - 1 - index, count, gap),
            "range": [-1.0, 1.0],
            "tickvals": [0.0],
            "ticktext": [name],
            "ticks": "",
            "zerolinecolor": PALE,
            "zerolinewidth": 1,
            "showgrid": False,
            "showline": False,
        }
    return layout


def _legend(shown: list[Style], dots: bool, *, known: bool) -> dict[str, Any]:
    """What stands above and below the lines, in the colours of it."""
    called = {PRIVATE.name: "private", NON_PRIVATE.name: "no noise"}
    words = [
        *(f'<b><span style="color:{each.color}">{called[each.name]}</span></b>' for each in shown),
        *(["● both"] if dots and len(shown) > 1 else []),
        *(["▾ mean"] if shown else []),
        *(["│ truth"] if known else []),
        "┄ prior",
    ]
    return {
        "text": "  ".join(words),
        "showarrow": False,
        **{"x": 1.0, "xref": "paper", "xanchor": "right"},
        **{"y": 1.0, "yref": "paper", "yanchor": "bottom"},
    }
