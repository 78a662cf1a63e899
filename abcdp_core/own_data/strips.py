"""The figure of a released document as a part of a page that needs no script: a strip per row.

It shows what the document's own figure shows, read from it: the same rows, axes and marks. Places
are shares of a strip's width, so that text and marks keep their size on a telephone and on paper.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

HEIGHT = 40
"""Of a strip, in pixels; marks are in its middle."""

MOST_STEPS = 5
"""Between ticks: their numbers have room on a telephone."""

SUPERSCRIPTS = str.maketrans(
    "-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
)

STYLE = """
.strips {{ display: grid; grid-template-columns: minmax(7rem, max-content) 1fr;
  column-gap: 1.6rem; align-items: start; margin: 0.8rem 1.2rem 0.5rem 0; }}
.strips .name {{ line-height: 1.25; padding: 0.1rem 0; max-width: 17rem; }}
.strips .name b {{ display: block; }}
.strips svg {{ display: block; overflow: visible; width: 100%; }}
.strips text {{ font: 11px {font}; fill: {grey}; }}
.strips .axis {{ grid-column: 2; color: {grey}; font-size: 0.8rem; text-align: center; }}
@media screen and (max-width: 34rem) {{
  .strips {{ grid-template-columns: 1fr; margin: 0.8rem 0.6rem; }}
  .strips .axis {{ grid-column: 1; }}
  .strips .name {{ max-width: none; padding: 0.6rem 0 0; }}
  .strips .name b {{ display: inline; margin-right: 0.5rem; }}
}}
"""


@dataclass(frozen=True)
class Strip:
    """A row of a figure.

    Attributes:
        name, said: what it is about, and its value in words; may be empty.
        low, high: ends of its axis, with every mark between them.
        marks: traces.
        unit: title of its axis; may be empty.
    """

    name: str
    said: str
    low: float
    high: float
    marks: tuple[go.Scatter, ...]
    unit: str


def drawn(figure: go.Figure, words: str) -> str:
    """A figure of rows in HTML.

    Args:
        figure: of a document.
        words: that say what it shows, for who does not see it.
    """
    rows = strips_of(figure)
    shared = len({(row.low, row.high) for row in rows}) == 1
    parts = []
    for place, row in enumerate(rows):
        last = place == len(rows) - 1
        said = f"{html.escape(row.said)}" if row.said else ""
        parts.append(f'<div class="name"><b>{html.escape(row.name)}</b>{said}</div>')
        parts.append(_strip(row, with_ticks=last or not shared))
        if row.unit:
            parts.append(f'<div class="axis">{html.escape(row.unit)}</div>')
    inside = "\n".join(parts)
    return f'<div class="strips" role="img" aria-label="{html.escape(words)}">\n{inside}\n</div>'


def strips_of(figure: go.Figure) -> list[Strip]:
    """The rows of a figure, top first. Rows with one axis keep one, whatever lies beyond its ends.

    Raises:
        KeyError, TypeError: it is no figure of rows.
    """
    numbers = ["", *(str(number) for number in range(2, len(figure.data) + 2))]
    found = [number for number in numbers if f"xaxis{number}" in figure.layout]
    ranges = [tuple(figure.layout[f"xaxis{number}"].range) for number in found]
    marks = [
        tuple(each for each in figure.data if (each.xaxis or "x") == f"x{number}")
        for number in found
    ]
    wide = [_around(ends[0], ends[1], each) for ends, each in zip(ranges, marks, strict=True)]
    if len(set(ranges)) == 1:
        wide = [(min(low for low, _ in wide), max(high for _, high in wide))] * len(wide)
    rows = []
    for number, (low, high), each in zip(found, wide, marks, strict=True):
        name, _, said = figure.layout[f"yaxis{number}"].ticktext[0].partition("</b>")
        unit = figure.layout[f"xaxis{number}"].title.text or ""
        rows.append(Strip(_plain(name), _plain(said), low, high, each, _plain(unit)))
    return rows


def _plain(text: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", text.replace("<br>", " "))).strip()


def _around(low: float, high: float, marks: Sequence[go.Scatter]) -> tuple[float, float]:
    """An axis that every mark is on."""
    places = [float(x) for each in marks for x in each.x]
    return min([low, *places]), max([high, *places])


def _strip(row: Strip, *, with_ticks: bool) -> str:
    def at(value: float) -> str:
        return f"{100.0 * (value - row.low) / (row.high - row.low):.2f}%"

    middle, bottom = HEIGHT / 2, HEIGHT + 20 if with_ticks else HEIGHT
    parts = []
    for value, text in ticks(row.low, row.high):
        parts.append(
            f'<line x1="{at(value)}" x2="{at(value)}" y1="0" y2="{HEIGHT}" stroke="#E4E4E4"/>'
        )
        if with_ticks:
            parts.append(
                f'<text x="{at(value)}" y="{HEIGHT + 13}" text-anchor="middle">{text}</text>'
            )
    if with_ticks:
        parts.append(f'<line x1="0" x2="100%" y1="{HEIGHT}" y2="{HEIGHT}" stroke="#9AA1A9"/>')
    parts += [_mark(each, float(x), at, middle) for each in row.marks for x in _places(each)]
    return f'<svg height="{bottom}" aria-hidden="true">{"".join(parts)}</svg>'


def _places(trace: go.Scatter) -> list[Any]:
    """Where its marks are; of a line, where it begins."""
    places = list(trace.x)
    return places[:1] if trace.mode == "lines" else places


def _mark(trace: go.Scatter, x: float, at: Any, y: float) -> str:
    if trace.mode == "lines":
        color, width, end = trace.line.color, trace.line.width or 2, float(trace.x[-1])
        return (
            f'<line x1="{at(x)}" x2="{at(end)}" y1="{y}" y2="{y}" stroke="{color}" '
            f'stroke-width="{width}"/>'
        )
    color, half = trace.marker.color, (trace.marker.size or 8) / 2
    symbol = str(trace.marker.symbol or "circle")
    if symbol.startswith("line-ns"):
        width = trace.marker.line.width or 2
        return (
            f'<line x1="{at(x)}" x2="{at(x)}" y1="{y - half}" y2="{y + half}" stroke="{color}" '
            f'stroke-width="{width}"/>'
        )
    look = f'fill="{color}"'
    shape = (
        f'<path d="M0 {-half}L{half} 0L0 {half}L{-half} 0z" {look}/>'
        if symbol.startswith("diamond")
        else f'<circle r="{half}" {look}/>'
    )
    return f'<svg x="{at(x)}" y="{y}" width="1" height="1" overflow="visible">{shape}</svg>'


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round values of an axis and how they are written, with few steps between them."""
    rough = (high - low) / MOST_STEPS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1.0, 2.0, 5.0, 10.0) if size * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    # So many digits as tell two ticks apart, also of an axis that is far from 0.
    most = max(abs(low), abs(high))
    figures = max(3, 1 + math.floor(math.log10(most)) - math.floor(math.log10(step) + 1e-9))
    return [
        (number * step, _said(number * step, digits, figures)) for number in range(first, last + 1)
    ]


def _said(value: float, digits: int, figures: int) -> str:
    """A tick in words; with a power of ten where it would be long."""
    if digits > 4 or abs(value) >= 1e7:
        mantissa, _, power = f"{value:.{figures}g}".partition("e")
        text = f"{mantissa} × 10{str(int(power)).translate(SUPERSCRIPTS)}" if power else mantissa
    else:
        text = f"{value:,.{digits}f}"
    return text.replace("-", "\u2212") if value else "0"
