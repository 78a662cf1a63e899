"""Figures of verdicts: what we measured beside the paper's number and what the claim needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures
from abcdp_core.figures import Style
from abcdp_core.ledger.report import in_words, rounded

OURS = Style("ours, with its interval", figures.PURPLE, marker="circle")
PAPER = Style("the paper's number", figures.GREY, marker="diamond-open")
LIMIT = Style("what the claim compares it with", figures.GREY, "dash")

ROW = 26
"""Pixels of a claim among others."""

FARTHEST = 4.0
"""Multiples of the paper's number beyond which a row is drawn at the edge."""


def one(row: pd.Series[Any]) -> go.Figure:
    """A claim on the scale of its own estimate.

    Args:
        row: of a report's table, with an estimate.
    """
    places = row[["ours", "low", "high", "limit", "paper_value"]].to_numpy(float)
    finite = places[np.isfinite(places)]
    room = 0.08 * (float(np.ptp(finite)) or abs(float(finite[0])) or 1.0)
    ends = (float(finite.min()) - room, float(finite.max()) + room)
    ours, low, high, limit, paper = np.clip(places, *ends)
    chart = figures.figure(_title(row), row["measure"], "", height=230)
    chart.add_trace(
        figures.line(np.array([limit, limit]), np.array([0.0, 1.0]), LIMIT, hoverinfo="x+name")
    )
    if np.isfinite(paper):
        chart.add_trace(_mark(np.array([paper]), np.array([0.75]), PAPER))
    at = np.array([0.35])
    chart.add_trace(_mark(np.array([ours]), at, OURS, np.array([low]), np.array([high])))
    chart.update_xaxes(range=ends, exponentformat="power")
    chart.update_yaxes(range=[0, 1], visible=False, fixedrange=True)
    return chart


def _title(row: pd.Series[Any]) -> str:
    paper = f", the paper {rounded(row['paper_value'])}" if np.isfinite(row["paper_value"]) else ""
    return f"{row['item']} {in_words(row['verdict'])}: ours {rounded(row['ours'])}{paper}"


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows whose estimate can be given as a multiple of the paper's number."""
    return rows[np.isfinite(rows["ours"]) & np.isfinite(rows["paper_value"] / rows["paper_value"])]


def against_papers(rows: pd.DataFrame) -> go.Figure:
    """Ours as a multiple of the paper's number, a row for each claim.

    Units differ from claim to claim; the multiple has none.

    Args:
        rows: of a report's table, from :func:`comparable`.
    """
    paper = rows["paper_value"].to_numpy(float)
    ours = rows["ours"].to_numpy(float) / paper
    ends = np.sort([rows["low"].to_numpy(float) / paper, rows["high"].to_numpy(float) / paper], 0)
    shown = np.clip(np.array([ours, *ends]), -FARTHEST, FARTHEST)
    within = int(((ends[0] <= 1.0) & (ends[1] >= 1.0)).sum())
    height = 190 + ROW * len(rows)
    title = f"In {within} of {len(rows)} claims our interval includes the paper's number"
    chart = figures.figure(title, "ours as a multiple of the paper's number", "", height)
    places = np.arange(len(rows), dtype=float)
    edge = np.array([-1.0, len(rows)])
    chart.add_trace(figures.line(np.ones(2), edge, PAPER, hoverinfo="skip"))
    chart.add_trace(_mark(shown[0], places, OURS, shown[1], shown[2]))
    words = zip(rows["item"], rows["verdict"], strict=True)
    chart.update_yaxes(
        tickvals=places,
        ticktext=[f"{item} {in_words(verdict)}" for item, verdict in words],
        range=[len(rows) - 0.5, -0.5],
    )
    chart.update_xaxes(range=[min(0.0, shown.min()) - 0.1, max(1.0, shown.max()) + 0.1])
    return chart


def _mark(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    style: Style,
    low: NDArray[np.float64] | None = None,
    high: NDArray[np.float64] | None = None,
) -> go.Scatter:
    """Marks with intervals along the horizontal axis."""
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
