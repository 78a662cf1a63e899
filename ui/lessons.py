r"""What ε means to a person: odds, and what an attacker believes before and after.

A release that is ε-differentially private changes the odds of any statement about one person by at
most the factor $e^{\epsilon}$. So an attacker who believed it with probability $p$ believes it
afterwards with a probability between (EXPERIENCE: what explains ε)

$$\frac{p}{p + (1-p)e^{\epsilon}} \quad\text{and}\quad
\frac{pe^{\epsilon}}{pe^{\epsilon} + 1 - p}.$$
"""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from abcdp_core import figures as fig

Array = NDArray[np.float64]

LARGEST_EXPONENT = 500.0
"""Beyond, an exponential is no number of a computer; beliefs are 0 and 1 long before."""


def belief(prior: Array, epsilon: float) -> tuple[Array, Array]:
    """Least and largest probability after a release, for probabilities ``(k,)`` before it."""
    weight = math.exp(-min(epsilon, LARGEST_EXPONENT))
    low = prior * weight / (prior * weight + (1.0 - prior))
    high = prior / (prior + (1.0 - prior) * weight)
    return low, high


def odds(epsilon: float) -> str:
    """The factor e^ε in words."""
    if epsilon <= 0.05:
        return f"{100 * math.expm1(epsilon):.2g} %"
    factor = math.exp(min(epsilon, LARGEST_EXPONENT))
    return f"a factor of {factor:,.3g}" if factor < 1e6 else "a factor of more than a million"


def meaning(epsilon: float) -> str:
    """What ε_total promises, in two sentences with numbers."""
    low, high = (float(value[0]) for value in belief(np.array([0.5]), epsilon))
    return (
        f"An attacker who thinks it 50 in 100 that your point has a certain value can think it "
        f"{_in_hundred(low)} to {_in_hundred(high)} in 100 after the release, whatever else they "
        f"know. No statement about one person changes its odds by more than {odds(epsilon)}."
    )


def _in_hundred(value: float) -> str:
    if 0.01 <= value <= 0.99:
        return f"{100 * value:.0f}"
    return f"{100 * value:.2f}"


def judgement(epsilon: float) -> str:
    """How strong that is, in a few words."""
    if epsilon <= 0.1:
        return "very strong: the release would look almost the same without you"
    if epsilon <= 1.0:
        return "strong: an attacker learns little about any one person"
    if epsilon <= 5.0:
        return "moderate: a determined attacker may learn a good deal"
    return "weak: the worst case is close to no protection"


def belief_figure(epsilon: float) -> go.Figure:
    """Belief after against belief before, as a band between the two bounds."""
    prior = np.linspace(0.0, 1.0, 201)
    low, high = belief(prior, epsilon)
    figure = fig.figure(
        f"What an attacker can come to believe, ε_total = {epsilon:g}",
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
