"""Two figures on the same axes."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from abcdp_core import figures as fig
from abcdp_core.figures.joined import joined


def drawn(values: list[float], title: str = "x", **axis: object) -> go.Figure:
    figure = fig.figure("A finding", title, "y", height=300)
    figure.add_scatter(x=np.array(values), y=np.array([0.0, 1.0]))
    figure.update_xaxes(axis)
    return figure


def ranges(first: go.Figure, second: go.Figure) -> list[tuple[float, float] | None]:
    return [each.layout.xaxis.range for each in joined(first, second)]


def test_ranges_that_builders_set_are_joined_and_the_figures_left_alone() -> None:
    first, second = drawn([0, 1], range=[0.0, 2.0]), drawn([0, 1], range=[-1.0, 1.0])
    assert ranges(first, second) == [(-1.0, 2.0)] * 2
    assert first.layout.xaxis.range == (0.0, 2.0)
    upside_down = drawn([0, 1], range=[5.0, 1.0])
    assert ranges(upside_down, drawn([0, 1], range=[3.0, -1.0])) == [(5.0, -1.0)] * 2


def test_ranges_left_to_the_browser_hold_all_data_with_their_bars() -> None:
    second = go.Figure(drawn([10.0, 30.0]))
    second.data[0].error_x = {"array": np.array([0.0, 5.0]), "arrayminus": np.array([20.0, 0.0])}
    low, high = ranges(drawn([0.0, 1.0]), second)[0]
    assert -12.5 < low < -10.0
    assert 35.0 < high < 37.5
    tozero = [drawn([2.0, high], rangemode="tozero") for high in (3.0, 4.0)]
    assert ranges(*tozero) == [(0.0, 4.1)] * 2


@pytest.mark.parametrize("other", [{"title": "days"}, {"type": "log"}])
def test_axes_of_other_things_stay_as_they_are(other: dict[str, object]) -> None:
    first, second = drawn([0, 1], range=[0.0, 2.0]), drawn([1, 2], range=[-1.0, 1.0], **other)
    assert ranges(first, second) == [(0.0, 2.0), (-1.0, 1.0)]


def test_panels_follow_their_axis_and_a_second_scale_moves_along() -> None:
    first, second = drawn([0, 1], range=[0.0, 1.0]), drawn([0, 1], range=[0.0, 2.0])
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
