"""Rows of marks and names at the ends of lines: nothing collides, ticks are plain numbers."""

from __future__ import annotations

import numpy as np
import pytest

from abcdp_core import figures as fig
from abcdp_core.figures.builders import spread


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
    values, texts = axis["tickvals"], axis["ticktext"]
    assert isinstance(values, list)
    assert isinstance(texts, list)
    assert 2 <= len(values) <= 5
    assert [float(text.replace(",", "")) for text in texts] == pytest.approx(values)
    assert not any("e" in text for text in texts)
    ends = axis["range"]
    assert isinstance(ends, list)
    assert ends[0] < np.log10(values[0])
    assert np.log10(values[-1]) < ends[1]
