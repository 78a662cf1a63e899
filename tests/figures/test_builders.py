"""What figures of several studies are built from: parts, names, ticks."""

from __future__ import annotations

import itertools

import numpy as np
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
