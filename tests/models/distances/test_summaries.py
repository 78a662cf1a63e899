"""Clipped distances between a few numbers: value, bound and sensitivity."""

from __future__ import annotations

import math

import numpy as np
import pytest

from abcdp_core.models.distances.standardised import Standardised
from abcdp_core.models.distances.summaries import ClippedSummaries

CLIPPED = ClippedSummaries(lambda data: data[..., 0], (1.0, 0.5), 1.0, 3.0)


def sums(data: np.ndarray) -> np.ndarray:
    return data.sum(axis=-2)


# One record moves each of two sums by at most 1.
LENGTH = math.hypot(0.5, 2.0)
PUBLIC = Standardised(sums, (0.5, 2.0), LENGTH, 6.0, usual=10)
PRIVATE = Standardised(sums, (0.5, 2.0), LENGTH, 6.0, usual=None)


def test_distances_are_euclidean_with_weights_and_clipped() -> None:
    data = np.array([[[0.0], [0.0]], [[0.6], [1.6]], [[100.0], [0.0]]])
    statistics = CLIPPED.statistic(data)
    assert CLIPPED.compare(statistics, statistics[0]) == pytest.approx([0.0, 1.0, 3.0], rel=1e-15)
    here = np.random.default_rng(0).random((10, 2))
    others = PUBLIC.statistic(np.stack([here + 0.1, here + 9.0]))
    assert PUBLIC.compare(others, PUBLIC.statistic(here)) == pytest.approx([LENGTH, 6.0])
    # Only a public number of records divides the sums.
    double = np.concatenate([here, here])
    assert PUBLIC.statistic(double) == pytest.approx(PUBLIC.statistic(here))
    assert PRIVATE.statistic(double) == pytest.approx(2.0 * PRIVATE.statistic(here))


@pytest.mark.parametrize("n", [5, 10, 40])
def test_a_record_moves_sums_by_at_most_the_sensitivity(n: int) -> None:
    data = np.zeros((n, 2))
    data[0] = 1.0
    moved = np.linalg.norm(PUBLIC.statistic(data) - PUBLIC.statistic(np.zeros((n, 2))))
    assert moved <= PUBLIC.statistic_sensitivity(n) == pytest.approx(moved)
    assert PUBLIC.statistic_sensitivity(n) <= PUBLIC.sensitivity(n) == pytest.approx(moved)
    assert PRIVATE.sensitivity(n) == PRIVATE.sensitivity(7)


def test_sensitivities_have_room_for_rounding_and_never_exceed_the_bound() -> None:
    assert 1.0 < CLIPPED.statistic_sensitivity(5) < CLIPPED.sensitivity(5) < 1.0 + 1e-11
    assert CLIPPED.sensitivity(5) == CLIPPED.sensitivity(500, "published")
    assert ClippedSummaries(sums, (1.0,), 7.0, 3.0).sensitivity(1) == 3.0
    assert PUBLIC.sensitivity(1) == 6.0
    assert 0.0 < CLIPPED.error < PUBLIC.error < 1e-9
    for distance in (CLIPPED, PUBLIC):
        with pytest.raises(ValueError, match="must be one of sharp, published"):
            distance.sensitivity(5, "script")
