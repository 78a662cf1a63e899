"""Figures of several parts: however many there are, each has its room."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import plotly.graph_objects as go
import pytest

from abcdp_core import figures as fig
from abcdp_core.figures.builders import span


@pytest.mark.parametrize("gap", [0.0, 0.03, 0.16, 0.5])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 40, 1000])
def test_parts_lie_side_by_side_in_the_figure(count: int, gap: float) -> None:
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


@pytest.mark.parametrize("count", [1, 2, 8, 12, 22, 40])
@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_a_figure_has_as_many_parts_as_there_are_names(
    draw: Callable[[list[str]], go.Figure], count: int
) -> None:
    figure = draw([f"row {number}" for number in range(count)])
    assert len(list(figure.select_yaxes())) == count
