"""The distance between numbers of data sets: its value, bound and what one unit can move."""

from __future__ import annotations

import numpy as np
import pytest

from abcdp_core.distances.summaries import ClippedSummaries

DISTANCE = ClippedSummaries(lambda data: data[..., 0], (1.0, 0.5), 1.0, 3.0)


def test_it_is_euclidean_with_weights_up_to_its_bound() -> None:
    data = np.array([[[0.0], [0.0]], [[0.6], [1.6]], [[100.0], [0.0]]])
    statistics = DISTANCE.statistic(data)
    assert DISTANCE.compare(statistics, statistics[0]) == pytest.approx([0.0, 1.0, 3.0], rel=1e-15)


def test_its_sensitivity_is_the_length_of_a_change_and_never_above_the_bound() -> None:
    assert 1.0 <= DISTANCE.sensitivity(5) < 1.0 + 1e-11
    assert DISTANCE.sensitivity(5) == DISTANCE.sensitivity(500, "published")
    assert 1.0 <= DISTANCE.statistic_sensitivity(5) < 1.0 + 1e-12
    assert ClippedSummaries(DISTANCE.reduce, (1.0,), 7.0, 3.0).sensitivity(1) == 3.0
    assert 0.0 < DISTANCE.error < 1e-10
    with pytest.raises(ValueError, match="must be one of sharp, published"):
        DISTANCE.sensitivity(5, "script")
