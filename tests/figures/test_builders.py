"""What figures of several studies are built from: parts, lines over runs, names, ticks."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from abcdp_core import figures as fig
from abcdp_core.figures.builders import span, spread


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


DRAWN: dict[str, Callable[[list[str]], go.Figure]] = {
    "rows": lambda names: fig.rows(names, "title", "x"),
    "rows apart": lambda names: fig.rows(names, "title", "x", shared=False),
    "stack": lambda names: fig.stack(names, "title", "x", [(0.0, 1.0)] * len(names)),
    "stack apart": lambda names: fig.stack(
        names, "title", "x", [(0.0, 1.0 + place) for place in range(len(names))]
    ),
    "panels": lambda names: fig.panels(names, "title", "x", "y"),
}


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_a_figure_has_as_many_parts_as_there_are_names(
    draw: Callable[[list[str]], go.Figure],
) -> None:
    for count in (1, 8, 22):
        figure = draw([f"row {number}" for number in range(count)])
        assert len(list(figure.select_yaxes())) == count


def test_a_line_over_runs_is_sorted_has_its_band_and_open_marks_where_nothing_is_kept() -> None:
    columns = {
        "epsilon_total": [2.0, 1.0], "mean": [0.2, 0.3], "low": [0.1, 0.25], "high": [0.3, 0.35],
        "empty_share": [0.0, 0.4],
    }  # fmt: skip
    band, line = fig.run_line(pd.DataFrame(columns), "epsilon_total", fig.PRIVATE, 1)
    assert line.x.tolist() == [1.0, 2.0]
    assert line.y.tolist() == [0.3, 0.2]
    assert band.y.tolist() == [0.35, 0.3, 0.1, 0.25]
    assert (line.xaxis, band.xaxis, line.showlegend) == ("x2", "x2", False)
    assert list(line.marker.symbol) == ["circle-open", "circle"]
    assert line.customdata[:, 2].tolist() == [40.0, 0.0]


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
