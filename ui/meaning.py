r"""What ε means to a person: odds, and what an attacker believes before and after.

What comes out of an ε-differentially private release is at most $e^{\epsilon}$ times as likely with
one record as with another in its place. For one who knows all other records, the odds of any
statement about this one change by no more than that factor: believed with probability $p$ before,
it is believed afterwards with a probability between

$$\frac{p}{p + (1-p)e^{\epsilon}} \quad\text{and}\quad
\frac{pe^{\epsilon}}{pe^{\epsilon} + 1 - p}.$$

Where records tell about one another, someone who knows fewer of them may learn more: a release
about many people teaches about each of them, whether their record is in it or not.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from decimal import ROUND_DOWN, ROUND_UP, Decimal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core.figures import Drawn
from abcdp_core.privacy import belief

Array = NDArray[np.float64]


def odds(epsilon: float) -> str:
    """The factor e^ε in words: a bound, so what is printed is never below it."""
    if epsilon > 14.0:
        return f"a factor of e^{epsilon:g}, more than a million"
    factor = math.exp(epsilon)
    digits = max(0, 2 - math.floor(math.log10(math.expm1(epsilon))))
    place = Decimal(1).scaleb(-digits)
    return f"a factor of {Decimal(math.nextafter(factor, math.inf)).quantize(place, ROUND_UP):,}"


STRENGTHS = {0.1: "very strong", 1.0: "strong", 5.0: "moderate", math.inf: "weak"}
"""Largest ε_total -> what it is called."""


def meaning(epsilon: float) -> str:
    """What ε_total promises, to whom, with numbers."""
    strength = next(word for limit, word in STRENGTHS.items() if epsilon <= limit)
    return (
        f"ε_total = {epsilon:g} is a **{strength}** guarantee: putting another record in place of "
        f"yours changes the probability of any result by at most {odds(epsilon)}. Take someone who "
        f"knows everybody else's record and believes with 50 % that yours has a certain value. "
        f"After the release they believe it with {_range(epsilon)}. Someone who knows less may "
        f"learn more about you, as from any study of many people: ε_total limits only how much the "
        f"release depends on your record."
    )


CERTAIN = 5e-4
"""A belief below is called almost 0."""


def _ends(epsilon: float) -> tuple[float, float]:
    """Where a belief of 50 % can get, in per cent."""
    low, high = belief(np.array([0.5]), epsilon)
    return 100.0 * float(low[0]), 100.0 * float(high[0])


def _said(epsilon: float) -> tuple[str, str]:
    """The same with as many digits as tell it from 50 % and from 0, rounded outwards."""
    low, _ = _ends(epsilon)
    if low < 100.0 * CERTAIN:
        return "almost 0 %", "almost 100 %"
    digits = max(0, 1 - math.floor(math.log10(min(low, 50.0 - low))))
    place = Decimal(1).scaleb(-digits)
    least = Decimal(math.nextafter(low, 0.0)).quantize(place, ROUND_DOWN)
    texts = (f"{end:f}" for end in (least, 100 - least))
    short = [text.rstrip("0").rstrip(".") if digits else text for text in texts]
    return f"{short[0]} %", f"{short[1]} %"


def _range(epsilon: float) -> str:
    """Where a belief of 50 % can get, in words."""
    low, high = _said(epsilon)
    if low.startswith("almost"):
        return f"anything from {low} to {high}"
    return f"{low} to {high}"


def promise_in_short(epsilon: float) -> str:
    """What ε_total promises, in two sentences."""
    return (
        f"Someone who knows everyone else's record, and believes a statement about yours with "
        f"50 %, then believes it with {_range(epsilon)}. The odds change by at most "
        f"{odds(epsilon)}."
    )


ICONS, IN_A_ROW = 100, 25

TRACK = 10.0
"""Part of the axis, in per cent, that a text at the end of the range needs."""


@functools.lru_cache(maxsize=32)
def icons(epsilon: float) -> Drawn:
    """How far a belief of 50 % can move: on a scale, and as a hundred icons, rounded outwards."""
    low, high = _ends(epsilon)
    figure = fig.figure(f"What ε_total = {epsilon:g} promises one person", "", "")
    figure.add_trace(_bar(0.0, 100.0, fig.translucent(fig.GUIDE.color, 0.3), "0 to 100 %"))
    figure.add_trace(_bar(low, high, fig.PRIVATE.color, "belief afterwards"))
    half = fig.line(np.full(2, 50.0), np.array([0.55, 1.45]), fig.TRUTH)
    figure.add_trace(half.update(name="50 % before", hoverinfo="name"))
    fig.note(figure, 50.0, 1.45, "50 % before", fig.TRUTH.color, "bottom center")
    for place, text, side in zip((low, high), _said(epsilon), ("left", "right"), strict=True):
        # Beside the words above the middle there is no room: ends stand below the scale.
        at = min(place, 50.0 - TRACK) if side == "left" else max(place, 50.0 + TRACK)
        at = float(np.clip(at, 0.0, 100.0))
        edge = "left" if at < TRACK else "right" if at > 100.0 - TRACK else "center"
        words = f"<b>{text}</b>"
        fig.note(figure, at, 0.6, words, fig.PRIVATE.color, f"top {edge}")
    least, most = math.floor(low), math.ceil(high)
    number = np.arange(ICONS)
    x = (number % IN_A_ROW + 0.5) * 100.0 / IN_A_ROW
    y = -1.1 - 0.62 * (number // IN_A_ROW)
    groups = (
        (number < least, fig.PRIVATE.color, f"at least {least} of 100"),
        ((number >= least) & (number < most), fig.translucent(fig.PRIVATE.color, 0.4), "possible"),
        (number >= most, fig.translucent(fig.REJECTED.color, 0.5), f"never: at most {most} of 100"),
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
    words = (
        f"Of 100 such statements at least {least} are true (full),<br>"
        f"at most {most} (with the pale ones)."
    )
    fig.note(figure, 0.0, -3.3, words, fig.TRUTH.color, "top left")
    figure.layout.annotations[-1].align = "left"
    figure.update_xaxes(visible=False, range=[-1.0, 101.0])
    figure.update_yaxes(visible=False, range=[-4.8, 2.2])
    return Drawn(figure.update_layout(showlegend=False), promise_in_short(epsilon))


def _bar(low: float, high: float, color: str, name: str) -> go.Scatter:
    """A thick stretch of the scale."""
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
    """Belief after against belief before, as a band between the two bounds."""
    prior = np.linspace(0.0, 1.0, 201)
    low, high = belief(prior, epsilon)
    figure = fig.figure(
        f"A belief of 50 % can become {_range(epsilon)}",
        "belief before the release",
        "belief after it",
        height=400,
        settings=f"ε_total = {epsilon:g}, for someone who knows everybody else's record",
    )
    after = dataclasses.replace(fig.PRIVATE, name="belief after the release")
    unchanged = dataclasses.replace(fig.GUIDE, name="nothing learnt")
    figure.add_traces(
        [
            fig.band(prior, low, high, after),
            fig.line(prior, high, after).update(name="most"),
            fig.line(prior, low, after).update(name="least"),
            fig.line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), unchanged),
            _half(epsilon),
        ]
    )
    fig.note(figure, 0.0, 1.0, " most that one can then believe", after.color, "top left")
    fig.note(figure, 1.0, 0.0, "least that one can then believe ", after.color, "bottom right")
    ticks = {"tickvals": [0.0, 0.25, 0.5, 0.75, 1.0], "tickformat": ".0%", "range": [0, 1]}
    figure.update_xaxes(**ticks)
    return figure.update_yaxes(**ticks).update_layout(showlegend=False)


def _half(epsilon: float) -> go.Scatter:
    """The case of 50 % before as an upright interval."""
    low, high = (end / 100.0 for end in _ends(epsilon))
    style = dataclasses.replace(fig.TRUTH, name="50 % before", marker="square")
    trace = fig.line(np.array([0.5, 0.5]), np.array([low, high]), style)
    return trace.update(mode="lines+markers", marker={"symbol": style.marker, "size": 9})
