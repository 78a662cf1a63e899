"""What figures are built from: parts, names, ticks, histograms, axes of two figures."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from abcdp_core import figures as fig
from abcdp_core.figures.builders import span, spread
from abcdp_core.figures.joined import joined


@pytest.mark.parametrize("count", [1, 2, 7, 1000])
def test_parts_lie_side_by_side_in_the_figure(count: int) -> None:
    for gap in (0.0, 0.03, 0.5):
        parts = [span(index, count, gap) for index in range(count)]
        ends = [0.0, *(end for part in parts for end in part), 1.0]
        assert parts[0][0] == 0.0
        assert parts[-1][1] == pytest.approx(1.0)
        assert all(high - low >= 0.5 / count for low, high in parts)
        assert all(low <= high + 1e-12 for low, high in itertools.pairwise(ends))
        assert max(ends) == 1.0


@pytest.mark.parametrize("count", [1, 8, 22])
def test_a_figure_has_as_many_parts_as_there_are_names(count: int) -> None:
    names = [f"row {number}" for number in range(count)]
    ends = [(0.0, 1.0 + place) for place in range(count)]
    for figure in (
        fig.rows(names, "title", "x"),
        fig.rows(names, "title", "x", shared=False),
        fig.stack(names, "title", "x", ends[:1] * count),
        fig.stack(names, "title", "x", ends),
        fig.panels(names, "title", "x", "y"),
    ):
        assert len(list(figure.select_yaxes())) == count


@pytest.mark.parametrize(
    "wanted", [[0.5, 0.5, 0.5], [0.9, 0.95, 1.0], [0.0, 0.0, 1.0], [0.2], [], [0.0, 0.01, 0.02]]
)
def test_names_are_moved_apart_and_stay_within_the_axis(wanted: list[float]) -> None:
    places = spread(wanted, 0.1, 0.0, 1.0)
    assert len(places) == len(wanted)
    assert (np.diff(places) >= 0.1 - 1e-12).all()
    assert all(0.0 <= place <= 1.0 + 1e-12 for place in places)


@pytest.mark.parametrize(("low", "high"), [(0.001, 1.0), (0.05, 10.0), (1e-5, 0.1), (1.0, 1100.0)])
def test_ticks_are_plain_and_few_and_the_ends_are_seen(low: float, high: float) -> None:
    axis = fig.plain_ticks(low, high)
    values, texts, ends = (np.array(axis[key]) for key in ("tickvals", "ticktext", "range"))
    assert 2 <= len(values) <= 5
    assert [float(text.replace(",", "")) for text in texts] == pytest.approx(values)
    assert not any("e" in text for text in texts)
    assert ends[0] < np.log10(values[0])
    assert np.log10(values[-1]) < ends[1]


# --------------------------------------------------------------------------- with and without noise


@pytest.mark.parametrize("count", [2, 5, 60])
def test_labels_of_an_axis_have_room_above_the_next_row(count: int) -> None:
    axes = {f"p{place}": (0.0, 1.0 + place) for place in range(count)}
    kept = {"release": "private", "sample": range(5), "weight": 0.2, "value": np.linspace(0, 1, 5)}
    samples = pd.concat([pd.DataFrame(kept | {"parameter": name}) for name in axes])
    mirrored = fig.mirrored(axes, None, samples, "title")
    ends = [(0.0, end) for _, end in axes.values()]
    for figure in (mirrored, fig.stack(list(axes), "title", "x", ends, 80)):
        domains = sorted(axis.domain for axis in figure.select_yaxes())
        room = np.array([high[0] - low[1] for low, high in itertools.pairwise(domains)])
        assert np.all(room * (figure.layout.height - 130) >= 35.9)
        assert all(high - low > 0.0 for low, high in domains)


# --------------------------------------------------------------------- two figures on the same axes


def on_axis(values: list[float], title: str = "x", **axis: object) -> go.Figure:
    figure = fig.figure("A finding", title, "y", height=300)
    figure.add_scatter(x=np.array(values), y=np.array([0.0, 1.0]))
    figure.update_xaxes(axis)
    return figure


def ranges(first: go.Figure, second: go.Figure) -> list[tuple[float, float] | None]:
    return [each.layout.xaxis.range for each in joined(first, second)]


def test_ranges_that_builders_set_are_joined_and_the_figures_left_alone() -> None:
    first, second = on_axis([0, 1], range=[0.0, 2.0]), on_axis([0, 1], range=[-1.0, 1.0])
    assert ranges(first, second) == [(-1.0, 2.0)] * 2
    assert first.layout.xaxis.range == (0.0, 2.0)
    upside_down = on_axis([0, 1], range=[5.0, 1.0])
    assert ranges(upside_down, on_axis([0, 1], range=[3.0, -1.0])) == [(5.0, -1.0)] * 2


def test_ranges_left_to_the_browser_hold_all_data_with_their_bars() -> None:
    second = go.Figure(on_axis([10.0, 30.0]))
    second.data[0].error_x = {"array": np.array([0.0, 5.0]), "arrayminus": np.array([20.0, 0.0])}
    low, high = ranges(on_axis([0.0, 1.0]), second)[0]
    assert -12.5 < low < -10.0
    assert 35.0 < high < 37.5
    tozero = [on_axis([2.0, high], rangemode="tozero") for high in (3.0, 4.0)]
    assert ranges(*tozero) == [(0.0, 4.1)] * 2


@pytest.mark.parametrize("other", [{"title": "days"}, {"type": "log"}])
def test_axes_of_other_things_stay_as_they_are(other: dict[str, object]) -> None:
    first, second = on_axis([0, 1], range=[0.0, 2.0]), on_axis([1, 2], range=[-1.0, 1.0], **other)
    assert ranges(first, second) == [(0.0, 2.0), (-1.0, 1.0)]


def test_panels_follow_their_axis_and_a_second_scale_moves_along() -> None:
    first, second = on_axis([0, 1], range=[0.0, 1.0]), on_axis([0, 1], range=[0.0, 2.0])
    for figure in (first, second):
        figure.add_scatter(x=[0], y=[0], xaxis="x2", yaxis="y2")
        figure.update_layout(
            xaxis2={"matches": "x", "range": figure.layout.xaxis.range},
            yaxis={"range": [0.0, 1.0]},
            yaxis2={"overlaying": "y", "range": [10.0, 20.0]},
        )
    second.update_layout(yaxis={"range": [-1.0, 1.0]})
    one, other = joined(first, second)
    assert one.layout.xaxis2.range == other.layout.xaxis2.range == (0.0, 2.0)
    assert one.layout.yaxis.range == other.layout.yaxis.range == (-1.0, 1.0)
    # Zero of the first axis stands at 10 of the other, as before.
    assert one.layout.yaxis2.range == (0.0, 20.0)
    assert other.layout.yaxis2.range == (10.0, 20.0)
