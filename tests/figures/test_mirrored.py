"""Histograms with and without noise: nothing is lost, nothing is where it does not belong."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from abcdp_core import figures as fig
from abcdp_core.figures.mirrored import FILLED

AXES = {"a": (0.0, 1.0), "b": (0.0, 1.0)}


def rows(release: str, parameter: str, first: int, value: np.ndarray) -> pd.DataFrame:
    columns = {"sample": first + np.arange(len(value)), "weight": 1.0 / max(len(value), 1)}
    return pd.DataFrame({"release": release, "parameter": parameter, "value": value, **columns})


def drawn(count: int, *, bars: bool) -> go.Figure:
    """Draw as many values of each release."""
    value, prior = np.linspace(0.01, 0.6, count), np.linspace(0.0, 0.99, 100)
    parts = [
        rows(release, name, first, of)
        for name in AXES
        for release, first, of in (
            *(("private", 0, value), ("non-private", count, value), ("prior", 0, prior)),
        )
    ]
    truth = np.array([0.2, 0.3])
    return fig.mirrored(AXES, truth, pd.concat(parts, ignore_index=True), "title", bars=bars)


def named(figure: go.Figure, name: str) -> list[go.Scatter | go.Bar]:
    return [trace for trace in figure.data if trace.name == name]


@pytest.mark.parametrize("bars", [True, False])
def test_bars_hold_every_sample_at_the_scale_of_the_prior(bars: bool) -> None:
    figure = drawn(20 if bars else 200, bars=bars)
    private, below = named(figure, "private"), named(figure, "non-private")
    prior = named(figure, "prior")
    assert len(prior) == 2 * len(AXES)
    total = np.sum(private[0].y)
    assert np.sum(below[0].y) == pytest.approx(-total)
    # Both ends of each step.
    assert np.sum(prior[0].y) == pytest.approx(2.0 * total)
    assert max(np.max(np.abs(trace.y)) for trace in [*private, *below]) == FILLED < 1.0
    assert not named(drawn(0, bars=bars), "private")


@pytest.mark.parametrize("count", [2, 5, 60])
def test_labels_of_an_axis_have_room_above_the_next_row(count: int) -> None:
    axes = {f"p{place}": (0.0, 1.0 + place) for place in range(count)}
    parts = [rows("private", name, 0, np.linspace(0.1, 0.9, 5)) for name in axes]
    mirrored = fig.mirrored(axes, None, pd.concat(parts), "title")
    ends = [(0.0, end) for _, end in axes.values()]
    for figure in (mirrored, fig.stack(list(axes), "title", "x", ends, 80)):
        domains = sorted(axis.domain for axis in figure.select_yaxes())
        room = np.array([high[0] - low[1] for low, high in itertools.pairwise(domains)])
        assert np.all(room * (figure.layout.height - 130) >= 35.9)
        assert all(high - low > 0.0 for low, high in domains)
