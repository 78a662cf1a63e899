"""Histograms with and without noise: nothing is lost, nothing is where it does not belong."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from abcdp_core import figures as fig
from abcdp_core.figures.mirrored import FILLED, SHAPE

AXES = {"a": (0.0, 1.0), "b": (0.0, 1.0)}


def samples(count: int, shared: int = 0, **releases: int) -> pd.DataFrame:
    """Draws ``0 .. count − 1`` of each release but for the offset of ``shared`` fewer."""
    parts = []
    for release, first in {"private": 0, "non-private": count - shared}.items():
        for name in AXES:
            value = np.linspace(0.01, 0.6, count) if count else np.zeros(0)
            sample = np.arange(first, first + count)
            weight = np.full(count, 1.0 / max(count, 1))
            parts.append(named(release, name, sample, value, weight))
    for name in AXES:
        prior = np.linspace(0.0, 0.99, 100)
        parts.append(named("prior", name, np.arange(100), prior, np.full(100, 0.01)))
    return pd.concat(parts, ignore_index=True)


def named(
    release: str, parameter: str, sample: np.ndarray, value: np.ndarray, weight: np.ndarray
) -> pd.DataFrame:
    columns = {"sample": sample, "value": value, "weight": weight}
    return pd.DataFrame({"release": release, "parameter": parameter, **columns})


def drawn(count: int, shared: int = 0, *, bars: bool = False) -> go.Figure:
    return fig.mirrored(AXES, np.array([0.2, 0.3]), samples(count, shared), "title", bars=bars)


def named_traces(figure: go.Figure, name: str) -> list[go.Scatter | go.Bar]:
    return [trace for trace in figure.data if trace.name == name]


def test_few_samples_are_dots_private_above_and_the_others_below() -> None:
    figure = drawn(10, shared=4)
    for release, side in (("private", 1.0), ("non-private", -1.0)):
        traces = named_traces(figure, release)
        assert len(traces) == len(AXES)
        for trace in traces:
            assert trace.mode == "markers"
            assert len(trace.x) == 10
            assert np.all(side * np.asarray(trace.y) > 0)
            assert list(trace.marker.color).count(fig.BOTH.color) == 4


@pytest.mark.parametrize("bars", [True, False])
def test_bars_hold_every_sample_at_the_scale_of_the_prior(bars: bool) -> None:
    figure = drawn(20 if bars else 200, bars=bars)
    private, below = named_traces(figure, "private"), named_traces(figure, "non-private")
    prior = named_traces(figure, "prior")
    assert len(prior) == 2 * len(AXES)
    total = np.sum(private[0].y)
    assert np.sum(below[0].y) == pytest.approx(-total)
    # Both ends of each step.
    assert np.sum(prior[0].y) == pytest.approx(2.0 * total)
    assert max(np.max(np.abs(trace.y)) for trace in [*private, *below]) == FILLED < 1.0
    assert not named_traces(drawn(0), "private")


def test_the_axis_shows_the_prior_but_for_its_ends_and_the_truth() -> None:
    narrow = samples(10)
    narrow.loc[narrow.release == "prior", "value"] *= 0.4
    low, high = fig.mirrored(AXES, np.array([0.2, 0.3]), narrow, "title").layout.xaxis.range
    assert (low, high) == (0.0, pytest.approx(0.4))


def test_beside_dots_the_prior_shows_its_shape_and_hides_none_of_them() -> None:
    figure = drawn(10)
    names = [trace.name for trace in figure.data if trace.yaxis in (None, "y")]
    first = min(names.index(release) for release in ("private", "non-private"))
    assert names[:first] == ["prior", "prior", "truth"]
    tops = [np.max(np.abs(trace.y)) for trace in named_traces(figure, "prior")]
    assert max(tops) == pytest.approx(SHAPE)
    steps = np.asarray(named_traces(figure, "prior")[0].y)[::2]
    shares = np.histogram(np.linspace(0.0, 0.99, 100), len(steps), (0.0, 1.0))[0]
    np.testing.assert_allclose(steps / steps.max(), shares / shares.max())


@pytest.mark.parametrize("count", [2, 3, 5, 60])
def test_labels_of_an_axis_have_room_above_the_next_row(count: int) -> None:
    axes = {f"p{place}": (0.0, 1.0 + place) for place in range(count)}
    parts = [
        named("private", name, np.arange(5), np.linspace(0.1, 0.9, 5), np.full(5, 0.2))
        for name in axes
    ]
    mirrored = fig.mirrored(axes, None, pd.concat(parts), "title")
    ends = [(0.0, end) for _, end in axes.values()]
    for figure in (mirrored, fig.stack(list(axes), "title", "x", ends, 80)):
        domains = sorted(axis.domain for axis in figure.select_yaxes())
        room = np.array([high[0] - low[1] for low, high in itertools.pairwise(domains)])
        assert np.all(room * (figure.layout.height - 130) >= 35.9)
        assert all(high - low > 0.0 for low, high in domains)
