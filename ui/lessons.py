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

import functools
import math

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig
from abcdp_core.figures import Drawn

Array = NDArray[np.float64]

LARGEST_EXPONENT = 500.0
"""Beyond, an exponential is no number of a computer; beliefs are 0 and 1 long before."""


def belief(prior: Array, epsilon: float) -> tuple[Array, Array]:
    """Least and largest probability after a release, for probabilities ``(k,)`` before it.

    For one who knows all records but the one that the probability is about.
    """
    weight = math.exp(-min(epsilon, LARGEST_EXPONENT))
    low = prior * weight / (prior * weight + (1.0 - prior))
    high = prior / (prior + (1.0 - prior) * weight)
    return low, high


def odds(epsilon: float) -> str:
    """The factor e^ε in words."""
    if epsilon > 14.0:
        return f"a factor of e^{epsilon:g}, more than a million"
    factor = math.exp(epsilon)
    return f"a factor of {factor:.4g}" if factor < 1000.0 else f"a factor of {factor:,.0f}"


STRENGTHS = {0.1: "very strong", 1.0: "strong", 5.0: "moderate", math.inf: "weak"}
"""Largest ε_total -> what it is called."""


def meaning(epsilon: float) -> str:
    """What ε_total promises, to whom, with numbers."""
    strength = next(word for limit, word in STRENGTHS.items() if epsilon <= limit)
    return (
        f"ε_total = {epsilon:g} is a **{strength}** guarantee: putting another record in place of "
        f"yours changes the probability of any result by at most {odds(epsilon)}. Take an attacker "
        f"who knows everybody else's record and thinks it 50 in 100 that yours has a certain "
        f"value. After the release they can think it {_in_hundred(epsilon)} in 100. Someone who "
        f"knows less may learn more about you, as from any study of many people: ε_total bounds "
        f"only how much the release depends on your record."
    )


CERTAIN = 5e-4
"""A belief below is called almost 0."""


def _in_hundred(epsilon: float) -> str:
    """Where a belief of 50 in 100 can get, with as many digits as tell it from 50 and from 0."""
    low, high = (100.0 * float(value[0]) for value in belief(np.array([0.5]), epsilon))
    if low < 100.0 * CERTAIN:
        return "anything from almost 0 to almost 100"
    digits = max(0, 1 - math.floor(math.log10(min(low, 50.0 - low))))
    return f"about {low:.{digits}f} to {high:.{digits}f}"


def promise_in_short(epsilon: float) -> str:
    """What ε_total promises, in a line."""
    return (
        f"Who knows everyone else's record and thinks a statement about yours 50 in 100 likely can "
        f"then think it {_in_hundred(epsilon)} in 100."
    )


ICONS, IN_A_ROW = 100, 20


@functools.lru_cache(maxsize=32)
def icons(epsilon: float) -> Drawn:
    """A hundred icons: how far a belief of 50 in 100 can move, rounded to the wider side."""
    low, high = (100.0 * float(value[0]) for value in belief(np.array([0.5]), epsilon))
    least, most = math.floor(low), math.ceil(high)
    number = np.arange(ICONS)
    x, y = number % IN_A_ROW, ICONS // IN_A_ROW - 1 - number // IN_A_ROW
    figure = fig.figure(f"What ε_total = {epsilon:g} promises one person", "", "")
    groups = (
        (number < least, fig.PRIVATE.color, f"at least {least}"),
        ((number >= least) & (number < most), fig.translucent(fig.PRIVATE.color, 0.4), "possible"),
        (number >= most, fig.translucent(fig.REJECTED.color, 0.5), f"at most {most}"),
    )
    for chosen, color, name in groups:
        figure.add_trace(
            go.Scatter(
                x=x[chosen],
                y=y[chosen],
                mode="markers",
                name=name,
                marker={"size": 17, "color": color},
                hoverinfo="name",
            )
        )
    half = fig.line(np.full(2, IN_A_ROW / 2 - 0.5), np.array([1.5, 2.5]), fig.TRUTH)
    figure.add_trace(half.update(name="50 before", hoverinfo="name"))
    words = (
        f"Full: at least {least}. Pale: up to {most}, rounded outwards. Line: 50, before.<br>"
        f"Odds change by at most {odds(epsilon)}."
    )
    fig.note(figure, -0.5, -0.7, words, fig.BLACK, "top left")
    figure.update_xaxes(visible=False, range=[-0.8, IN_A_ROW - 0.2])
    figure.update_yaxes(visible=False, range=[-2.4, ICONS / IN_A_ROW - 0.4])
    text = f"{promise_in_short(epsilon)} Odds change by at most {odds(epsilon)}."
    return Drawn(figure.update_layout(showlegend=False), text)


@functools.lru_cache(maxsize=32)
def belief_figure(epsilon: float) -> go.Figure:
    """Belief after against belief before, as a band between the two bounds."""
    prior = np.linspace(0.0, 1.0, 201)
    low, high = belief(prior, epsilon)
    figure = fig.figure(
        f"Belief about your record, for one who knows all others, ε_total = {epsilon:g}",
        "belief before the release",
        "belief after it",
        height=400,
    )
    after = fig.Style("at most and at least", fig.VERMILLION)
    unchanged = fig.Style("unchanged", fig.GREY, "dot")
    figure.add_traces(
        [
            fig.band(prior, low, high, after),
            fig.line(prior, high, after),
            fig.line(prior, low, after).update(showlegend=False),
            fig.line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), unchanged),
            _half(epsilon),
        ]
    )
    figure.update_xaxes(range=[0, 1], tickformat=".0%")
    return figure.update_yaxes(range=[0, 1], tickformat=".0%")


def _half(epsilon: float) -> go.Scatter:
    """The case of 50 : 50 as an upright interval."""
    low, high = (float(value[0]) for value in belief(np.array([0.5]), epsilon))
    style = fig.Style("50 : 50 before", fig.BLUE, "solid", "square")
    trace = fig.line(np.array([0.5, 0.5]), np.array([low, high]), style)
    return trace.update(mode="lines+markers", marker={"symbol": style.marker, "size": 9})
