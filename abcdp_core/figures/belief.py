"""Draw what ε means to a person: a belief before and after a release."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import plotly.graph_objects as go

from abcdp_core import figures as fig
from abcdp_core.privacy import belief
from abcdp_core.privacy.promise import ends, reach


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
