"""How statistics are drawn: means over runs with their bands, errors, histograms, boxes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core.figures.builders import Array, band, hollow, line, panel, points, stack
from abcdp_core.figures.looks import (
    BOTH,
    GREY,
    NON_PRIVATE,
    PALE,
    PRIOR,
    PRIVATE,
    PURPLE,
    TRUTH,
    Style,
    styles,
    translucent,
)

if TYPE_CHECKING:
    import pandas as pd

SYMBOLS = {"epsilon_abc": "ε_abc", "epsilon_total": "ε_total", "c": "c", "n": "N"}
"""Column -> how it is written."""

PRIOR_MEAN = Style("prior mean", GREY, "dot")
"""The error of whoever looks at no data at all."""

RIVAL = Style("counts with noise, no ABC", PURPLE, "longdashdot", "star")
"""The error of whoever releases the sufficient counts where a likelihood exists."""

UNLEARNT = Style("σ not clearly learnt", GREY, "dot", "diamond")
"""What is little else than the prior."""

DECADES = {"mae": 1.3, "mse": 2.6}
"""Metric -> how far below the prior's error an axis reaches."""

ROOM = 1.4
"""Times so far where the rival that needs no simulation is drawn."""

BINS = 20
"""Bars of a histogram of a parameter."""


def in_panel(trace: go.Scatter, index: int) -> go.Scatter:
    """A trace in a panel; the first panel's stands in the legend for those of all."""
    return trace.update(showlegend=index == 0, legendgroup=trace.name, **panel(index))


def named_once(figure: go.Figure) -> None:
    """Let the legend show each name once, where it stands for traces in several panels."""
    shown: set[str] = set()
    for trace in figure.data:
        if trace.showlegend is not False:
            trace.update(showlegend=trace.name not in shown, legendgroup=trace.name)
            shown.add(trace.name)


# --------------------------------------------------------------------------- means over runs


def run_line(
    statistics: pd.DataFrame, along: str, style: Style, index: int = 0, called: str | None = None
) -> list[go.Scatter]:
    """A line of means over runs with its 95 % band; marks are open where runs accepted nothing.

    Args:
        statistics: of one line, by :func:`abcdp_core.summaries.over_runs`.
        along: the column along the axis.
        style: of the line.
        index: number of its panel.
        called: what the column along the axis is; by its own symbol if not given.
    """
    part = statistics.sort_values(along)
    x, y = part[along].to_numpy(), part["mean"].to_numpy()
    low, high, empty = (part[name].to_numpy() for name in ("low", "high", "empty_share"))
    traces = []
    text = f"{called or SYMBOLS[along]} = %{{x}}: %{{y:.4g}}"
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


def run_lines(
    statistics: pd.DataFrame,
    each: str,
    along: str,
    called: Callable[[float], str],
    index: int = 0,
) -> list[go.Scatter]:
    """Lines of means over runs, as :func:`run_line` draws each.

    Args:
        statistics: by :func:`abcdp_core.summaries.over_runs`.
        each: the column that has a line for each value.
        along: the column along the axis.
        called: what a line is called.
        index: number of the panel.
    """
    values = sorted(statistics[each].unique().tolist())
    named = zip(styles([called(value) for value in values]), values, strict=True)
    return [
        trace
        for style, value in named
        for trace in run_line(statistics[statistics[each] == value], along, style, index)
    ]


def error_axes(
    figure: go.Figure,
    metric: str,
    prior: float,
    ends: tuple[float, float],
    panels: int = 1,
    *,
    rival: bool = False,
) -> go.Figure:
    """Draw the prior's error in every panel, and let it fix the range of the errors.

    So a knob moves the curves and not the axis.

    Args:
        figure: with errors on its y axis.
        metric: ``mae`` or ``mse``.
        prior: error of the prior mean.
        ends: of the line along the x axis.
        panels: how many there are.
        rival: whether there has to be room for :data:`RIVAL`, far below.
    """
    for index in range(panels):
        mean = line(np.array(ends), np.full(2, prior), PRIOR_MEAN)
        mean.update(mode="lines+markers", marker={"color": GREY, "size": 4})
        figure.add_trace(in_panel(mean, index))
    floor = math.log10(prior) - DECADES[metric] * (ROOM if rival else 1.0)
    return figure.update_yaxes(type="log", range=[floor, math.log10(2.0 * prior)], dtick=1)


# -------------------------------------------------------------------------- distributions


def outline(edges: Array, heights: Array, style: Style, index: int = 0) -> go.Scatter:
    """A histogram as a stepped outline, of bars between ``edges (k + 1,)``."""
    return in_panel(line(np.repeat(edges, 2)[1:-1], np.repeat(heights, 2), style), index)


def truth_line(value: float, index: int = 0) -> go.Scatter:
    """The true value of a parameter as an upright line in its row."""
    return in_panel(line(np.full(2, value), np.array([0.0, 1.0]), TRUTH), index)


MOST_DOTS, TALLEST = 30, 10
"""Samples of a release, and dots in a bin, up to which each sample is a dot."""

SHOWN_OF_PRIOR = 0.99
"""Part of the prior's draws that an axis shows; what is beyond counts in the outermost bin."""

BETWEEN = 0.92
"""Part of the room between two rows that bars or dots fill at most."""

_SIDES = ((PRIVATE, 1.0, "triangle-down"), (NON_PRIVATE, -1.0, "triangle-up"))


def mirrored(
    axes: Mapping[str, tuple[float, float]],
    truth: Array | None,
    samples: pd.DataFrame,
    title: str,
    *,
    bars: bool = False,
) -> go.Figure:
    """Histograms of every parameter, a row each: private above its line, non-private below it.

    One dot a sample where there are few, else bars; the prior's is scaled to as many samples.

    Args:
        axes: parameter -> ends of its values.
        truth: of the parameters ``(d,)``, if it is known.
        samples: with columns ``release, sample, parameter, value, weight``.
        title: of the figure.
        bars: also where there are few samples.
    """
    groups = {key: part for key, part in samples.groupby(["release", "parameter"])}
    sizes = {style.name: _size(groups, style.name, next(iter(axes))) for style, _, _ in _SIDES}
    ends = _ends(axes, groups, truth)
    binned = {
        (style.name, name): _counts(groups.get((style.name, name)), ends[name], sizes[style.name])
        for style, _, _ in _SIDES
        for name in axes
    }
    tallest = max(1.0, *(counts.max() for counts in binned.values()))
    dots = not bars and max(sizes.values()) <= MOST_DOTS and bool(tallest <= TALLEST)
    figure = stack(list(axes), title, "value of the parameter", list(ends.values()), ROW)
    for row, name in enumerate(axes):
        for style, side, arrow in _SIDES:
            part = groups.get((style.name, name))
            prior = groups.get((PRIOR.name, name))
            edges = np.linspace(*ends[name], BINS + 1)
            unit = side * BETWEEN / max(tallest, 4.0)
            if prior is not None:
                expected = _counts(prior, ends[name], sizes[style.name])
                shade = outline(edges, unit * expected, PRIOR, row)
                shade.update(fill="tozeroy", fillcolor=translucent(PRIOR.color, 0.25))
                figure.add_trace(shade.update(line={"width": 0}, hoverinfo="skip"))
            if part is None:
                continue
            if dots:
                other = groups.get((_other_side(style).name, name))
                figure.add_trace(_dots(part, other, edges, unit, style, row))
            else:
                heights = unit * binned[style.name, name]
                figure.add_trace(outline(edges, heights, style, row).update(fill="tozeroy"))
            mean = float(np.average(part.value, weights=part.weight))
            mark = points(np.array([mean]), np.array([side * 0.08]), style)
            mark.update(name=f"mean, {style.name}", marker={"symbol": arrow, "size": 12})
            figure.add_trace(in_panel(mark, row))
        if truth is not None:
            upright = line(np.full(2, truth[row]), np.array([-1.0, 1.0]), TRUTH)
            figure.add_trace(in_panel(upright, row))
        x, y = (figure.layout[f"{axis[0]}axis{axis[1:]}"] for axis in panel(row).values())
        y.update(range=[-1.0, 1.0], tickvals=[0.0], ticktext=[name], title=None, ticks="")
        y.update(zerolinecolor=PALE, zerolinewidth=1, showgrid=False, showline=False)
        if len(set(ends.values())) == 1:
            y.domain = [1.0 - (row + 1) / len(axes), 1.0 - row / len(axes)]
            if row < len(axes) - 1:
                x.update(showline=False, ticks="", showgrid=True)
    return _explained(figure, dots, known=truth is not None).update_layout(showlegend=False)


ROW = 56
"""Pixels of a row."""

DOT = 9
"""Pixels of a dot, if there is room."""


def _other_side(style: Style) -> Style:
    return NON_PRIVATE if style is PRIVATE else PRIVATE


def _size(groups: Mapping[Any, pd.DataFrame], release: str, parameter: str) -> int:
    part = groups.get((release, parameter))
    return 0 if part is None else len(part)


def _ends(
    axes: Mapping[str, tuple[float, float]],
    groups: Mapping[Any, pd.DataFrame],
    truth: Array | None,
) -> dict[str, tuple[float, float]]:
    """Ends of each axis: of the prior's draws but for a few, rounded, with the truth within."""
    found = {}
    for row, (name, (low, high)) in enumerate(axes.items()):
        prior, step = groups.get((PRIOR.name, name)), (high - low) / 20.0
        shown = np.array([low, high])
        if prior is not None:
            shown = np.quantile(prior.value, (1.0 - SHOWN_OF_PRIOR, SHOWN_OF_PRIOR))
        inside = shown if truth is None else [*shown, truth[row] - step, truth[row] + step]
        first = low + step * math.floor((min(inside) - low) / step)
        last = low + step * math.ceil((max(inside) - low) / step)
        found[name] = (max(low, first), min(high, last))
    if len(set(axes.values())) == 1:
        widest = min(a for a, _ in found.values()), max(b for _, b in found.values())
        return dict.fromkeys(axes, widest)
    return found


def _bins(values: Array, edges: Array) -> NDArray[np.int64]:
    """The bin of each value; of those beyond the ends the outermost."""
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)


def _counts(part: pd.DataFrame | None, ends: tuple[float, float], size: int) -> Array:
    """Samples in each bin ``(BINS,)``, by weight, where all are ``size``."""
    if part is None:
        return np.zeros(BINS)
    where = _bins(part.value.to_numpy(), np.linspace(*ends, BINS + 1))
    return size * np.bincount(where, part.weight.to_numpy(), minlength=BINS)


def _dots(
    part: pd.DataFrame,
    other: pd.DataFrame | None,
    edges: Array,
    unit: float,
    style: Style,
    row: int,
) -> go.Scatter:
    """One dot a sample, stacked in bins; those that both releases kept stand nearest the line."""
    both = part["sample"].isin([] if other is None else other["sample"])
    part = part.assign(both=both, bin=_bins(part.value.to_numpy(), edges))
    part = part.sort_values(["bin", "both", "value"], ascending=[True, False, True])
    level = part.groupby("bin").cumcount().to_numpy()
    middle = (edges[:-1] + edges[1:]) / 2.0
    trace = points(middle[part.bin], unit * (level + 0.5), style)
    trace.update(
        marker={
            "color": [BOTH.color if both else style.color for both in part.both],
            "size": min(DOT, 0.5 * ROW * abs(unit)),
            "line": {"width": 0},
            "symbol": "circle",
        },
        customdata=part[["sample", "value"]].to_numpy(),
        hovertemplate=f"{style.name}: draw %{{customdata[0]}}, %{{customdata[1]:.3f}}<extra></extra>",
    )
    return in_panel(trace, row)


def _explained(figure: go.Figure, dots: bool, *, known: bool) -> go.Figure:
    """What stands above and below the lines, in the colours of it."""
    above = f'<b><span style="color:{PRIVATE.color}">private above</span></b>'
    below = f'<b><span style="color:{NON_PRIVATE.color}">without noise below</span></b>'
    both = ["● kept by both"] * dots
    rest = [*both, "▾ mean", *(["│ truth"] * known), "shaded: prior"]
    figure.add_annotation(
        text=" · ".join([above, below, *rest]),
        showarrow=False,
        **{"x": 1.0, "xref": "paper", "xanchor": "right"},
        **{"y": 1.0, "yref": "paper", "yanchor": "bottom"},
    )
    return figure


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
