"""Draw verdicts: our number beside the paper's and the limit of the claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from abcdp_core import figures
from abcdp_core.base.arrays import Array
from abcdp_core.base.sentences import counted
from abcdp_core.figures import Style
from abcdp_core.figures.ranked import AROUND
from abcdp_core.publish.claims.contrasts import Outcome
from abcdp_core.publish.claims.report import MARKS, counts, in_words, measured, rounded

OURS = Style("ours", figures.CATEGORIES[0], marker="circle")
PAPER = Style("the paper's number", figures.TRUTH.color, marker="diamond-open")
LIMIT = Style("limit", figures.GUIDE.color, "dash")

SHADES: dict[Outcome, tuple[str, str]] = {
    "agrees": (figures.CATEGORIES[0], figures.GROUND),
    "agrees in direction": (figures.CATEGORIES[4], figures.GROUND),
    "does not": (figures.CATEGORIES[3], figures.GROUND),
    "undecided": (figures.translucent(figures.GUIDE.color, 0.45), figures.BLACK),
    "not testable": (figures.translucent(figures.GUIDE.color, 0.15), figures.BLACK),
}
"""Verdict -> color of its bar, and of the text on it."""

ROW = 26
"""Pixels per claim."""

PAPER_ROW = 48
"""Pixels per paper: its name, and its bar below."""

SMALLEST = 11
"""Smallest size of the text on a bar, in points."""

FARTHEST = 4.0
"""Multiple of the paper's number beyond which a row is an arrow at the edge."""


def totals(table: pd.DataFrame, names: Mapping[str, str]) -> figures.CaptionedFigure:
    """Draw the verdicts on each paper's stated claims, one bar per paper."""
    rows = table[table["standing"] == "paper"]
    by_paper = {
        tag: counts(rows[rows["source"] == tag]) for tag in names if (rows["source"] == tag).any()
    }
    every = counts(rows[rows["id"] != ""])
    judged, agree = sum(every.values()), every.get("agrees", 0)
    chart = figures.figure(
        f"Our results agree with {agree} of {counted(judged, 'claim')}",
        "number of claims",
        "",
        height=AROUND + PAPER_ROW * len(by_paper),
    )
    places = np.arange(len(by_paper), dtype=float)
    for outcome, (color, ink) in SHADES.items():
        numbers = [each.get(outcome, 0) for each in by_paper.values()]
        if not any(numbers):
            continue
        labels = [f"{MARKS[outcome]} {number}" if number else "" for number in numbers]
        bar = go.Bar(
            x=np.array(numbers),
            y=places,
            orientation="h",
            name=in_words(outcome),
            text=labels,
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            width=0.48,
            marker={"color": color, "line": {"color": figures.GROUND, "width": 2}},
            textfont={"color": ink},
            hovertemplate=f"%{{x}}: {in_words(outcome)}<extra></extra>",
        )
        chart.add_trace(bar)
    for place, tag in zip(places, by_paper, strict=True):
        words = figures.words(
            0.0, place - 0.22, f"<b>{names[tag]}</b>", figures.BLACK, "bottom left"
        )
        chart.add_annotation(words | {"bgcolor": None})
    # A bar too small for readable text has none.
    small = {"mode": "hide", "minsize": SMALLEST}
    chart.update_layout(barmode="stack", showlegend=False, uniformtext=small)
    chart.update_yaxes(
        range=[len(by_paper) - 0.6, -0.7],
        tickvals=[],
        showline=False,
        showgrid=False,
        zeroline=False,
    )
    text = " ".join(
        f"{names[tag]}: {', '.join(f'{n} {in_words(name)[2:]}' for name, n in each.items())}."  # type: ignore[arg-type]
        for tag, each in by_paper.items()
    )
    return figures.CaptionedFigure(chart, f"{chart.layout.title.text}. {text}")


def one(row: pd.Series[Any]) -> go.Figure:
    """Draw a claim on the scale of its estimate."""
    places = row[["ours", "low", "high", "limit", "paper_value"]].to_numpy(float)
    finite = places[np.isfinite(places)]
    # Room for the text at the edge.
    room = 0.3 * (float(np.ptp(finite)) or abs(float(finite[0])) or 1.0)
    ends = (float(finite.min()) - room, float(finite.max()) + room)
    ours, low, high, limit, paper = np.clip(places, *ends)
    chart = figures.figure(_title(row), row["measure"], "", height=280)
    chart.add_trace(figures.line(np.array([limit, limit]), np.array([0.0, 1.0]), LIMIT))
    chart.add_trace(_words(limit, 1.0, f"limit {rounded(row['limit'])}", ends))
    if np.isfinite(paper):
        chart.add_trace(_mark(np.array([paper]), np.array([0.6]), PAPER))
        chart.add_trace(_words(paper, 0.68, f"the paper {rounded(row['paper_value'])}", ends))
    chart.add_trace(
        _mark(np.array([ours]), np.array([0.2]), OURS, np.array([low]), np.array([high]))
    )
    chart.add_trace(_words(ours, 0.28, f"ours {measured(row)}", ends))
    chart.update_xaxes(range=ends)
    chart.update_yaxes(range=[0, 1.2], visible=False, fixedrange=True)
    chart.update_layout(showlegend=False)
    return chart


def _title(row: pd.Series[Any]) -> str:
    return f"{row['item']} {in_words(row['verdict'])}"


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose estimate has a ratio to the paper's number."""
    return rows[np.isfinite(rows["ours"]) & np.isfinite(rows["paper_value"] / rows["paper_value"])]


def against_papers(rows: pd.DataFrame) -> go.Figure:
    """Draw the ratio of our number to the paper's, which has no unit, one row per claim."""
    paper = rows["paper_value"].to_numpy(float)
    ours = rows["ours"].to_numpy(float) / paper
    ends = np.sort([rows["low"].to_numpy(float) / paper, rows["high"].to_numpy(float) / paper], 0)
    shown = np.clip(np.array([ours, *ends]), -FARTHEST, FARTHEST)
    within = int(((ends[0] <= 1.0) & (ends[1] >= 1.0)).sum())
    title = f"Our interval contains the paper's number for {within} of {len(rows)} claims"
    axis = "our number divided by the paper's"
    chart = figures.figure(title, axis, "", height=190 + ROW * len(rows))
    places = np.arange(len(rows), dtype=float)
    one_line = Style(PAPER.name, PAPER.color, "dash")
    chart.add_trace(figures.line(np.ones(2), np.array([-0.5, len(rows) - 0.5]), one_line))
    marks = _mark(shown[0], places, OURS, shown[1], shown[2])
    beyond = [ours > FARTHEST, ours < -FARTHEST]
    marks.marker.symbol = np.select(beyond, ["triangle-right", "triangle-left"], OURS.marker)
    chart.add_trace(marks)
    chart.update_yaxes(
        tickvals=places,
        ticktext=[f"{row['item']} {MARKS[row['verdict']]}" for _, row in rows.iterrows()],
        range=[len(rows) - 0.5, -0.5],
    )
    chart.update_xaxes(range=[min(0.0, shown.min()) - 0.1, max(1.0, shown.max()) + 0.1])
    return chart


def _mark(
    x: Array, y: Array, style: Style, low: Array | None = None, high: Array | None = None
) -> go.Scatter:
    """Return markers with horizontal intervals."""
    bars = None
    if low is not None and high is not None:
        bars = {"type": "data", "array": high - x, "arrayminus": x - low, "thickness": 3}
    return go.Scatter(
        x=x,
        y=y,
        mode="markers",
        name=style.name,
        error_x=bars,
        marker={"color": style.color, "symbol": style.marker, "size": 13, "line": {"width": 2}},
        hoverinfo="x+name",
    )


def _words(x: float, y: float, text: str, ends: tuple[float, float]) -> go.Scatter:
    """Return a text above a point, toward the middle of the axis."""
    share = (x - ends[0]) / (ends[1] - ends[0])
    side = "right" if share < 0.4 else "left" if share > 0.6 else "center"
    return go.Scatter(
        x=np.array([x]),
        y=np.array([y]),
        text=[text],
        mode="text",
        textposition=f"top {side}",
        cliponaxis=False,
        hoverinfo="skip",
        name=text,
    )
