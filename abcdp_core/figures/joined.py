"""Two figures of the same kind on the same axes, to be seen beside each other.

Each axis that both have, of the same kind and with the same title, gets the smallest range that
holds both. Ends that a builder leaves to the browser are taken from the data. Rows that stand for
other things in the one than in the other stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

Range = tuple[float, float]

ROOM = 0.05
"""Part of the data's range that is left free at each end of an axis, where a builder leaves it to
the browser."""


def joined(first: go.Figure, second: go.Figure) -> tuple[go.Figure, go.Figure]:
    """Copies of two figures with the same ranges, and of the same height.

    Args:
        first, second: left as they are.
    """
    names = sorted(_axes(first) & _axes(second))
    shared = {name: ranges for name in names if (ranges := _ranges(name, first, second))}
    ticks = {name: _all_ticks(first.layout[name], second.layout[name]) for name in shared}
    heights = [each for each in (first.layout.height, second.layout.height) if each is not None]
    copies = []
    for figure in (first, second):
        copy = go.Figure(figure)
        for name in _axes(figure):
            base = _base(figure, name)
            if base in shared:
                copy.layout[name].range = _place(figure, name, shared[base])
            if base in shared and not figure.layout[name].overlaying:
                copy.layout[name].update(ticks[base])
        copy.layout.height = max(heights, default=None)
        copies.append(copy)
    return copies[0], copies[1]


def _base(figure: go.Figure, name: str) -> str:
    """The axis whose range decides over that of another one, or itself."""
    axis = figure.layout[name]
    short: str = axis.overlaying or axis.matches or ""
    return f"{short[0]}axis{short[1:]}" if short else name


def _place(figure: go.Figure, name: str, base: Range) -> Range | None:
    """The range of an axis once that of its base is known; another scale of it moves along."""
    before, own = _shown(figure, _base(figure, name)), _shown(figure, name)
    if not figure.layout[name].overlaying:
        return base
    if before is None or own is None or before[0] == before[1]:
        return own
    scale = (own[1] - own[0]) / (before[1] - before[0])
    return own[0] + scale * (base[0] - before[0]), own[1] + scale * (base[1] - before[1])


def _all_ticks(one: Any, other: Any) -> dict[str, Any]:
    """Marks of an axis that both figures have; nothing where the browser places them."""
    if one.tickvals is None or other.tickvals is None:
        return {}
    words = _ticks(one) | _ticks(other)
    if words:
        places = sorted(words)
        return {"tickvals": places, "ticktext": [words[place] for place in places]}
    return {"tickvals": sorted({*map(float, one.tickvals), *map(float, other.tickvals)})}


def _axes(figure: go.Figure) -> set[str]:
    """Names of a figure's axes, as ``xaxis2``."""
    each = [*figure.select_xaxes(), *figure.select_yaxes()]
    return {axis.plotly_name for axis in each}


def _ranges(name: str, first: go.Figure, second: go.Figure) -> Range | None:
    """What an axis of two figures is to show; ``None`` to leave it as it is."""
    one, other = first.layout[name], second.layout[name]
    same = one.type == other.type and one.title.text == other.title.text
    if not same or one.overlaying or one.matches or not _agree(_ticks(one), _ticks(other)):
        return None
    ranges = _shown(first, name), _shown(second, name)
    if ranges[0] is None or ranges[1] is None:
        return None
    ends = [*ranges[0], *ranges[1]]
    upright = ranges[0][0] <= ranges[0][1]
    return (min(ends), max(ends)) if upright else (max(ends), min(ends))


def _ticks(axis: Any) -> dict[float, str]:
    """Where an axis has words, and which."""
    if axis.tickvals is None or axis.ticktext is None:
        return {}
    return dict(zip(map(float, axis.tickvals), map(str, axis.ticktext), strict=False))


def _agree(one: Mapping[float, str], other: Mapping[float, str]) -> bool:
    """Whether no place has other words in the one than in the other."""
    return all(one[place] == other[place] for place in one.keys() & other.keys())


def _shown(figure: go.Figure, name: str) -> Range | None:
    """The range of an axis, in its own units; ``None`` if it is not one of numbers."""
    axis = figure.layout[name]
    if axis.range is not None:
        low, high = map(float, axis.range)
        return low, high
    if axis.type not in (None, "linear"):
        return None
    try:
        values = np.concatenate(list(_values(figure, name)))
    except ValueError:
        return None
    values = values[np.isfinite(values)]
    if not values.size:
        return None
    low, high = float(values.min()), float(values.max())
    room = ROOM * (high - low)
    if axis.rangemode == "tozero" and low >= 0.0:
        return 0.0, high + room
    return low - room, high + room


def _values(figure: go.Figure, name: str) -> Iterator[NDArray[np.float64]]:
    """The numbers that traces have on an axis, of bars their feet too.

    Raises:
        ValueError: they are no numbers.
    """
    letter, number = name[0], name[5:]
    for trace in figure.data:
        if (getattr(trace, f"{letter}axis", None) or letter) != f"{letter}{number}":
            continue
        if trace.type not in ("scatter", "scattergl", "bar"):
            raise ValueError(f"A {trace.type} has more than these numbers.")
        if trace[letter] is None:
            continue
        numbers = np.asarray(trace[letter], dtype=float)
        yield numbers
        if trace.type == "bar" and letter == "y":
            yield np.zeros(1)
        if (bars := trace[f"error_{letter}"]).array is not None:
            above = np.asarray(bars.array, dtype=float)
            below = above if bars.arrayminus is None else np.asarray(bars.arrayminus, dtype=float)
            yield numbers + above
            yield numbers - below
