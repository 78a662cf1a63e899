"""Empty figures with the shared template, and the traces that studies put in them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from abcdp_core.base.arrays import Array
from abcdp_core.figures.looks import GROUND, PRIOR, TEMPLATE, TRUTH, Style, translucent


def figure(title: str, x: str, y: str, height: int = 440, settings: str = "") -> go.Figure:
    """An empty figure with the shared template.

    Args:
        title: what it shows, or what it finds.
        x, y: of the axes.
        height: in pixels.
        settings: of what is shown, in a smaller line below a title that is a finding.
    """
    return go.Figure({"layout": layout(title, x, y, height, settings)})


def layout(title: str, x: str, y: str, height: int = 440, settings: str = "") -> dict[str, Any]:
    """The layout of :func:`figure`, for one that is put together before it is checked."""
    axes = {"xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y}}}
    return {"template": TEMPLATE, "title": titled(title, settings), "height": height} | axes


def titled(title: str, settings: str) -> dict[str, Any]:
    """A title, and what is below it in a smaller line."""
    return {"text": title} | ({"subtitle": {"text": settings}} if settings else {})


def line(x: Array, y: Array, style: Style, **kwargs: object) -> go.Scatter:
    """A line in its style."""
    return go.Scatter(
        x=x,
        y=y,
        mode="lines",
        name=style.name,
        line={"color": style.color, "dash": style.dash, "width": 2.5},
        **kwargs,
    )


def together(x: Array, every: Array, style: Style) -> go.Scatter:
    """Thin lines ``(s, k)`` at the same places ``(k,)``, in one trace with gaps between them."""
    y = np.pad(every, ((0, 0), (0, 1)), constant_values=np.nan)
    thin = line(np.tile(np.append(x, np.nan), len(y)), y.ravel(), style)
    return thin.update(line={"width": 1.5, "dash": "solid"}, opacity=0.6)


def points(
    x: Array, y: Array, style: Style, low: Array | None = None, high: Array | None = None
) -> go.Scatter:
    """Markers in their style, with intervals from ``low`` to ``high`` where they are given."""
    bars = None
    if low is not None and high is not None:
        ends = {"array": high - y, "arrayminus": y - low}
        bars = {"type": "data", "thickness": 1.2, "width": 0, **ends}
    return go.Scatter(
        x=x,
        y=y,
        mode="markers",
        name=style.name,
        error_y=bars,
        marker={
            "color": style.color,
            "symbol": style.marker,
            "size": 7,
            # A mark that is a line is not drawn without a width of its own.
            "line": {"width": 2.5, "color": style.color} if "line" in style.marker else None,
        },
    )


def own_mark(x: float, y: float, name: str) -> go.Scatter:
    """Return a large ring around what a person has set."""
    return points(np.array([x]), np.array([y]), TRUTH.called(name)).update(
        marker={"size": 16, "symbol": "circle-open", "line": {"width": 3, "color": TRUTH.color}}
    )


def note(figure: go.Figure, x: float, y: float, text: str, color: str, place: str) -> None:
    """Words at a point of the plot, in the units of its axes, in the color of what they name.

    ``place`` is the side of the words that is at the point: ``bottom left`` is above, to the right.
    """
    logarithmic = figure.layout.xaxis.type == "log"
    figure.add_annotation(words(math.log10(x) if logarithmic else x, y, text, color, place))


LONGEST = 31
"""Characters of a line of a name: longer ones break, so that marks have room on a telephone."""


def end_labels(
    figure: go.Figure,
    labels: Sequence[tuple[float, str, str]],
    shown: tuple[float, float],
    gap: float = 0.06,
) -> None:
    """Names of lines in the margin right of their ends, moved apart where they would touch.

    The names are those of an axis of their own, for which plotly makes room however long they are.

    Args:
        figure: gets them; has no second vertical axis.
        labels: where a line ends, its name and its color.
        shown: ends of the vertical axis, in its units.
        gap: smallest distance of two names, as part of the axis.
    """
    low, high = (_position(figure, end) for end in shown)
    ordered = sorted(labels)
    wanted = [min(max(_position(figure, y), low), high) for y, _, _ in ordered]
    nowhere = np.full(1, np.nan)
    figure.add_trace(go.Scatter(x=nowhere, y=nowhere, yaxis="y2", name="names", showlegend=False))
    figure.update_layout(
        yaxis2={
            **{"overlaying": "y", "side": "right", "range": [low, high], "showgrid": False},
            **{"ticks": "", "showline": False, "zeroline": False, "automargin": True},
            "tickvals": spread(wanted, gap * (high - low), low, high),
            "ticktext": [
                f'<span style="color:{color}">{in_short_lines(name)}</span>'
                for _, name, color in ordered
            ],
        }
    )


def in_short_lines(name: str) -> str:
    """A name in short lines; one with markup as it is."""
    if "<" in name:
        return name
    return "<br>".join(textwrap.wrap(name, LONGEST))


def spread(wanted: Sequence[float], step: float, low: float, high: float) -> list[float]:
    """Sorted places at least ``step`` apart, near those wanted and within both ends if they fit."""
    placed: list[float] = []
    for place in wanted:
        placed.append(max(place, placed[-1] + step) if placed else place)
    over = max(0.0, placed[-1] - high) if placed else 0.0
    for index in reversed(range(len(placed))):
        limit = high if index == len(placed) - 1 else placed[index + 1] - step
        if over:
            placed[index] = max(min(placed[index], limit), low)
    return placed


def _position(figure: go.Figure, value: float) -> float:
    """A value on the vertical axis: of a logarithmic one its exponent."""
    return math.log10(value) if figure.layout.yaxis.type == "log" else value


def words(x: float, y: float, text: str, color: str, place: str) -> dict[str, Any]:
    """What :func:`note` adds, for a layout that is not a figure's yet; of a logarithm its value."""
    vertical, horizontal = place.split()
    return {
        "x": x,
        "y": y,
        "text": text,
        "showarrow": False,
        "font": {"color": color},
        "bgcolor": translucent(GROUND, 0.75),
        "borderpad": 1,
        "xanchor": horizontal,
        "yanchor": vertical,
        "yshift": {"bottom": 4, "top": -4, "middle": 0}[vertical],
    }


ABOVE: dict[str, Any] = {"y": 1.0, "yref": "paper", "yanchor": "bottom", "showarrow": False}
CORNER = {"x": 1.0, "xref": "paper", "xanchor": "right"} | ABOVE
"""Where words stand just above the plot, and at its right end."""


def key(figure: go.Figure, words: Sequence[tuple[str, str]]) -> None:
    """What marks and lines are called, each with its color, in a line above the plot."""
    figure.add_annotation(CORNER, text="   ".join(bold(text, color) for text, color in words))


def bold(text: str, color: str) -> str:
    """Words in bold and in a color."""
    return f'<b><span style="color:{color}">{text}</span></b>'


def band(x: Array, low: Array, high: Array, style: Style) -> go.Scatter:
    """A shaded band between ``low`` and ``high``, without a legend entry of its own."""
    return go.Scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([high, low[::-1]]),
        mode="lines",
        fill="toself",
        fillcolor=translucent(style.color, 0.18),
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
        name=f"{style.name}, 95 % interval",
    )


def hollow(trace: go.Scatter, empty_share: Array) -> go.Scatter:
    """The same marks, open where a share ``(k,)`` of the runs accepted nothing."""
    symbol = trace.marker.symbol or "circle"
    symbols = np.where(empty_share > 0, f"{symbol}-open", symbol)
    return trace.update(
        marker={"symbol": symbols, "line": {"width": 2, "color": trace.marker.color}}
    )


def no_better(figure: go.Figure, prior: float, index: int = 0, along: str = "y") -> go.Figure:
    """Shade where errors, along an axis that has a range, are no better than the prior's."""
    ids, across = panel(index), "y" if along == "x" else "x"
    return figure.add_shape(
        type="rect",
        **{f"{across}0": 0, f"{across}1": 1, f"{across}ref": f"{ids[f'{across}axis']} domain"},
        # Beyond every axis, also if it is stretched to compare two figures.
        **{f"{along}0": prior, f"{along}1": 1e4 * prior, f"{along}ref": ids[f"{along}axis"]},
        **{"fillcolor": translucent(PRIOR.color, 0.18), "line_width": 0, "layer": "below"},
    )


def panels(
    titles: Sequence[str],
    title: str,
    x: str,
    y: str,
    rows: int = 1,
    height: int = 440,
    gap: float = 0.16,
    settings: str = "",
) -> go.Figure:
    """An empty figure with panels that share their axes, filled row by row.

    Args:
        titles: one per panel.
        title, x, y: of the whole and of the axes.
        rows: number of rows the panels are spread over.
        height: of the whole, in pixels.
        gap: between two rows, as part of the height.
        settings: below the title.
    """
    columns = -(-len(titles) // rows)
    layout: dict[str, Any] = {"template": TEMPLATE, "title": titled(title, settings)}
    layout["height"] = height
    annotations = []
    for index, text in enumerate(titles):
        row, column = divmod(index, columns)
        left, right = span(column, columns, 0.03)
        bottom, top = span(rows - 1 - row, rows, gap)
        ids = panel(index)
        layout["xaxis" + ids["xaxis"][1:]] = {
            "domain": [left, right],
            "anchor": ids["yaxis"],
            "matches": "x" if index else None,
            "title": {"text": x} if row == rows - 1 else None,
        }
        layout["yaxis" + ids["yaxis"][1:]] = {
            "domain": [bottom, top],
            "anchor": ids["xaxis"],
            "matches": "y" if index else None,
            "showticklabels": column == 0,
            "title": {"text": y} if column == 0 else None,
        }
        place = {"x": (left + right) / 2, "y": top, "xref": "paper", "yref": "paper"}
        words = {"text": text, "showarrow": False, "xanchor": "center", "yanchor": "bottom"}
        annotations.append(place | words)
    return go.Figure(layout=layout | {"annotations": annotations})


TICKS = 36
"""Pixels under a row for the labels of an axis of its own; in fewer they lie on the next row."""


def stacked(
    names: Sequence[str],
    x: str,
    row_height: int,
    gap: float,
    ends: Sequence[tuple[float, float]] = (),
    *,
    shared: bool,
) -> dict[str, Any]:
    """The layout of wide rows one above the other, for a figure that is not checked yet.

    Args:
        names: of the rows, top first.
        x: title of the lowest axis.
        row_height: in pixels.
        gap: between two rows, as part of the height; without shared axes there is room for labels.
        ends: of each row's x axis; the browser's if not given.
        shared: whether the rows have one x axis.
    """
    layout: dict[str, Any] = {"template": TEMPLATE, "height": 130 + row_height * len(names)}
    for index, name in enumerate(names):
        ids, last = panel(index), index == len(names) - 1
        layout["xaxis" + ids["xaxis"][1:]] = {
            "anchor": ids["yaxis"],
            "range": list(ends[index]) if ends else None,
            "matches": "x" if shared and index else None,
            "showticklabels": last or not shared,
            **({"title": {"text": x}} if last else {}),
        }
        layout["yaxis" + ids["yaxis"][1:]] = {
            "anchor": ids["xaxis"],
            "domain": span(len(names) - 1 - index, len(names), gap),
            "title": {"text": name},
        }
    return layout


def stack(
    names: Sequence[str],
    title: str,
    x: str,
    ranges: Sequence[tuple[float, float]],
    row_height: int = 100,
) -> go.Figure:
    """An empty figure with one wide row per name; x axes are shared where their ranges are one.

    Args:
        names: of the rows, top first.
        title, x: of the whole and of the lowest axis.
        ranges: of each row's x axis.
        row_height: of one row, in pixels.
    """
    shared = len(set(ranges)) == 1
    gap = 0.05 if shared else TICKS / (row_height * len(names))
    drawn = go.Figure(layout=stacked(names, x, row_height, gap, ranges, shared=shared))
    return drawn.update_yaxes(range=[0, 1], tickvals=[0, 0.5]).update_layout(title_text=title)


def rows(
    names: Sequence[str],
    title: str,
    x: str,
    row_height: int = 220,
    settings: str = "",
    *,
    shared: bool = True,
) -> go.Figure:
    """An empty figure with one wide panel per name, one above the other.

    Args:
        names: of the y axes, top first.
        title, x: of the whole and of the lowest axis.
        row_height: of one row, in pixels.
        settings: below the title.
        shared: whether they have one x axis; else each has its own, called by the row's name.
    """
    gap = 0.06 if shared else 0.5 / len(names)
    drawn = go.Figure(layout=stacked(names, x, row_height, gap, shared=shared))
    if not shared:
        for axis, name in zip(drawn.select_xaxes(), names, strict=True):
            axis.title.text = name
        drawn.update_yaxes(title_text="share")
    return drawn.update_layout(title=titled(title, settings))


def panel(index: int) -> dict[str, str]:
    """The axes of a panel, to be passed to a trace."""
    number = str(index + 1) if index else ""
    return {"xaxis": f"x{number}", "yaxis": f"y{number}"}


def span(index: int, count: int, gap: float) -> tuple[float, float]:
    """Ends of one of several equal parts of a figure's height or width.

    Args:
        index: of the part.
        count: of parts.
        gap: between two; of many parts it is at most half of what each has with it.
    """
    gap = min(gap, 0.5 / count)
    size = (1.0 - gap * (count - 1)) / count
    start = index * (size + gap)
    # A rounding beyond the end is refused as a domain.
    return start, min(start + size, 1.0)


def plain_ticks(low: float, high: float, most: int = 5) -> dict[str, object]:
    """A logarithmic axis from ``low`` to ``high`` with ticks in plain numbers, both ends included.

    Args:
        low, high: ends, above 0.
        most: ticks at most.
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        values = [step * 10.0**decade for decade in decades for step in steps]
        values = [value for value in values if low * 0.999 <= value <= high * 1.001]
        if len(values) <= most:
            break
    else:
        values = values[:: -(-len(values) // most)]
    room = EDGE * math.log10(high / low)
    return {
        "type": "log",
        # Room for the labels of ticks that stand on an end: past the figure they are not drawn.
        "range": [math.log10(low) - room, math.log10(high) + room],
        "tickvals": values,
        "ticktext": [plain(value) for value in values],
        "tickangle": 0,
    }


EDGE = 0.03  # Part of a logarithmic axis that is added at both ends


def plain(value: float) -> str:
    """A number of a tick in plain digits, as 0.001 or 20,000."""
    if value >= 1.0:
        return f"{value:,.10g}"
    return f"{value:.{max(0, 1 - math.floor(math.log10(value)))}f}".rstrip("0").rstrip(".")
