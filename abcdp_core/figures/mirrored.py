"""Histograms of a private release and of one without noise, mirrored at a line per parameter.

Above the line stands what is private, below it what is not; one dot a sample where there are few,
bars where there are many. Behind both is the prior: of as many samples where there are bars, only
its shape where there are dots, beside which so wide a spread would not be seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array
from abcdp_core.figures.builders import CORNER, TICKS, bold, panel, stacked, titled
from abcdp_core.figures.looks import (
    BOTH,
    NON_PRIVATE,
    PALE,
    PRIOR,
    PRIVATE,
    TRUTH,
    Style,
    translucent,
)

if TYPE_CHECKING:
    import pandas as pd

MOST_DOTS, TALLEST = 30, 6
"""Samples of a release, and dots in a stack, up to which each sample is a dot."""

DOTS, BARS = 40, 20  # Bins of either

SHOWN = 0.99
"""Part of the prior's draws that an axis shows; what is beyond stands in the outermost bin."""

STEPS = 20  # Steps of an axis: it ends at one
FILLED = 0.92  # Part of the room between two lines that the tallest stack fills
SHAPE = 0.6  # Part of the room between two lines that the prior fills where only its shape is shown
ROW, DOT = 56, 9  # Pixels of a row, and of a dot where there is room

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
        return np.searchsorted(edges[1:-1], values, side="right")

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
    names: Mapping[str, str] | None = None,
    x: str = "value of the parameter",
) -> go.Figure:
    """Draw histograms of every parameter, a row each.

    Args:
        axes: parameter -> ends of its values.
        truth: of the parameters ``(d,)``, if it is known.
        samples: with columns ``release, sample, parameter, value, weight``.
        title: of the figure.
        settings: below it.
        bars: also where there are few samples.
        names: parameter -> name of its row, instead of its own.
        x: title of the horizontal axis.
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
        "title": titled(title, settings),
        "annotations": [_legend(shown, dots, known=truth is not None)],
        "barmode": "overlay",
        "bargap": 0.0,
    }
    ends = [row.ends for row in rows.values()]
    layout |= strips([(names or {}).get(row, row) for row in rows], ends, x, ROW)
    return go.Figure({"data": traces, "layout": layout})


def _rows(
    axes: Mapping[str, tuple[float, float]], truth: Array | None, samples: pd.DataFrame
) -> dict[str, _Row]:
    """Each parameter; those with the same ends of values keep one axis."""
    groups: dict[str, dict[str, pd.DataFrame]] = {name: {} for name in axes}
    for (release, name), part in samples.groupby(["release", "parameter"]):
        groups[str(name)][str(release)] = part
    priors = [groups[name].get(PRIOR.name) for name in axes]
    inside = np.array(
        [
            ends if prior is None else np.quantile(prior.value, (1.0 - SHOWN, SHOWN))
            for ends, prior in zip(axes.values(), priors, strict=True)
        ]
    )
    shown = shown_ends(list(axes.values()), inside, truth)
    return {name: _Row(ends, groups[name]) for name, ends in zip(axes, shown, strict=True)}


def shown_ends(
    axes: Sequence[tuple[float, float]], inside: Array, truth: Array | None
) -> list[tuple[float, float]]:
    """Ends of each axis in steps, so that few changes move them; one for all if all are alike.

    Args:
        axes: ends of all values that there may be.
        inside: ends of what has to be shown ``(d, 2)``.
        truth: of the parameters ``(d,)``, to be shown as well; NaN where it is not known.
    """
    ends = []
    known = np.full(len(axes), np.nan) if truth is None else truth
    for (low, high), (least, most), true in zip(axes, inside, known, strict=True):
        step = (high - low) / STEPS
        first = math.floor((np.fmin(least, true - step) - low) / step)
        last = math.ceil((np.fmax(most, true + step) - low) / step)
        ends.append((max(low, low + step * first), min(high, low + step * last)))
    if len(set(axes)) == 1:
        lows, highs = zip(*ends, strict=True)
        return [(min(lows), max(highs))] * len(axes)
    return ends


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


def strips(
    names: Sequence[str], ends: Sequence[tuple[float, float]], x: str, row: int
) -> dict[str, Any]:
    """The layout of a strip per name, from -1 to 1; without gaps where one axis serves all.

    Args:
        names: of the strips, top first.
        ends: of each x axis.
        x, row: title of the lowest one; pixels of a strip.
    """
    together, count = len(set(ends)) == 1, len(names)
    height = row if together else row + TICKS
    gap = 0.0 if together else TICKS / (height * count)
    layout = stacked(names, x, height, gap, ends, shared=together)
    for index, name in enumerate(names):
        ids = panel(index)
        if together and index < count - 1:
            layout["xaxis" + ids["xaxis"][1:]] |= {"showline": False, "ticks": ""}
        upright = layout["yaxis" + ids["yaxis"][1:]]
        del upright["title"]
        upright |= {
            **{"range": [-1.0, 1.0], "tickvals": [0.0], "ticktext": [name], "ticks": ""},
            **{"zerolinecolor": PALE, "zerolinewidth": 1, "showgrid": False, "showline": False},
        }
    return layout | {"showlegend": False}


def _legend(shown: list[Style], dots: bool, *, known: bool) -> dict[str, Any]:
    """What stands above and below the lines, in the colors of it."""
    called = {PRIVATE.name: "private", NON_PRIVATE.name: "no noise"}
    words = [
        *(bold(called[each.name], each.color) for each in shown),
        *(["● both"] if dots and len(shown) > 1 else []),
        *(["▾ mean"] if shown else []),
        *(["│ truth"] if known else []),
        "┄ prior",
    ]
    return CORNER | {"text": "  ".join(words)}
