"""Draw what ε means to a person: a belief before and after a release."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core.figures import CaptionedFigure
from abcdp_core.privacy import belief
from abcdp_core.privacy.promise import ends, promise_in_short, reach, said

Array = NDArray[np.float64]


ICONS, IN_A_ROW = 100, 25

TRACK = 10.0  # Part of the axis, in per cent, that a text at the end of the range needs


@functools.lru_cache(maxsize=32)
def icons(epsilon: float) -> CaptionedFigure:
    """Draw how far a belief of 50 % can move: on a scale and as 100 icons, rounded outwards."""
    low, high = ends(epsilon)
    figure = fig.figure(f"What ε_total = {epsilon:g} promises one person", "", "")
    figure.add_trace(_bar(0.0, 100.0, fig.translucent(fig.GUIDE.color, 0.3), "0 to 100 %"))
    figure.add_trace(_bar(low, high, fig.THEORY.color, "belief afterwards"))
    half = fig.line(np.full(2, 50.0), np.array([0.55, 1.45]), fig.TRUTH)
    figure.add_trace(half.update(name="50 % before", hoverinfo="name"))
    fig.note(figure, 50.0, 1.45, "50 % before", fig.TRUTH.color, "bottom center")
    for place, text, side in zip((low, high), said(epsilon), ("left", "right"), strict=True):
        # Beside the words above the middle there is no room: ends stand below the scale.
        at = min(place, 50.0 - TRACK) if side == "left" else max(place, 50.0 + TRACK)
        at = float(np.clip(at, 0.0, 100.0))
        edge = "left" if at < TRACK else "right" if at > 100.0 - TRACK else "center"
        words = f"<b>{text}</b>"
        fig.note(figure, at, 0.6, words, fig.THEORY.color, f"top {edge}")
    least, most = math.floor(low), math.ceil(high)
    number = np.arange(ICONS)
    x = (number % IN_A_ROW + 0.5) * 100.0 / IN_A_ROW
    y = -1.1 - 0.62 * (number // IN_A_ROW)
    groups = (
        (number < least, fig.THEORY.color, f"at least {least} of 100"),
        ((number >= least) & (number < most), fig.translucent(fig.THEORY.color, 0.4), "possible"),
        (
            number >= most,
            fig.translucent(fig.REJECTED.color, 0.5),
            f"more than {most} of 100: never",
        ),
    )
    for chosen, color, name in groups:
        marks = go.Scatter(
            x=x[chosen],
            y=y[chosen],
            mode="markers",
            name=name,
            marker={"size": 13, "color": color},
            hoverinfo="name",
        )
        figure.add_trace(marks)
    words = f"Full dots: at least {least} of 100. With the pale dots: at most {most}."
    fig.note(figure, 0.0, -3.3, words, fig.TRUTH.color, "top left")
    figure.layout.annotations[-1].align = "left"
    figure.update_xaxes(visible=False, range=[-1.0, 101.0])
    figure.update_yaxes(visible=False, range=[-4.4, 2.2])
    return CaptionedFigure(figure.update_layout(showlegend=False), promise_in_short(epsilon))


def _bar(low: float, high: float, color: str, name: str) -> go.Scatter:
    """Return a thick stretch of the scale."""
    return go.Scatter(
        x=np.array([low, low, high, high]),
        y=np.array([0.7, 1.3, 1.3, 0.7]),
        mode="lines",
        fill="toself",
        fillcolor=color,
        # A range that is too narrow to be filled can still be seen.
        line={"width": 2, "color": color},
        name=name,
        hoverinfo="name",
    )


@functools.lru_cache(maxsize=32)
def belief_figure(epsilon: float) -> go.Figure:
    """Draw belief after against belief before, as a band between the two bounds."""
    prior = np.linspace(0.0, 1.0, 201)
    low, high = belief(prior, epsilon)
    figure = fig.figure(
        f"A belief of 50 % can become {reach(epsilon)}",
        "belief before the release",
        "belief after it",
        height=400,
        settings=f"ε_total = {epsilon:g}, for someone who knows everybody else's record",
    )
    after = dataclasses.replace(fig.THEORY, name="belief after the release")
    unchanged = dataclasses.replace(fig.GUIDE, name="nothing learned")
    figure.add_traces(
        [
            fig.band(prior, low, high, after),
            fig.line(prior, high, after).update(name="most"),
            fig.line(prior, low, after).update(name="least"),
            fig.line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), unchanged),
            _half(epsilon),
        ]
    )
    fig.note(figure, 0.0, 1.0, " the most they can then believe", after.color, "top left")
    fig.note(figure, 1.0, 0.0, "the least they can then believe ", after.color, "bottom right")
    ticks = {"tickvals": [0.0, 0.25, 0.5, 0.75, 1.0], "tickformat": ".0%", "range": [0, 1]}
    figure.update_xaxes(**ticks)
    return figure.update_yaxes(**ticks).update_layout(showlegend=False)


def _half(epsilon: float) -> go.Scatter:
    """Return the case of 50 % before as an upright interval."""
    low, high = (end / 100.0 for end in ends(epsilon))
    style = dataclasses.replace(fig.TRUTH, name="50 % before", marker="square")
    trace = fig.line(np.array([0.5, 0.5]), np.array([low, high]), style)
    return trace.update(mode="lines+markers", marker={"symbol": style.marker, "size": 9})
