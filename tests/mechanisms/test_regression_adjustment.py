"""Draws near a released vector and their regression, in cases small enough for closed forms."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest

from abcdp_core.base.transforms import ALL_REALS, Bijector, box
from abcdp_core.mechanisms import PosteriorInfo, Release
from abcdp_core.mechanisms.regression_adjustment import caution, posterior
from abcdp_core.privacy import NonPrivate

ZERO_TO_TEN = box(np.zeros(1), np.full(1, 10.0))


@pytest.mark.parametrize(
    ("pool_size", "fewest", "words"),
    [
        *((1, (), ""), (2000, (1000,), "")),
        (999, (1000,), "needs 1,000 draws; the pool has 999, so the intervals"),
        (1999, (300, 1000), "A pool of 1,999 is less than twice the 300 to 1,000 draws"),
        (300, (300, 1000), "needs 300 to 1,000 draws; the pool has 300, so some intervals"),
    ],
)
def test_a_small_pool_has_a_warning(pool_size: int, fewest: Collection[int], words: str) -> None:
    found = caution(pool_size, fewest)
    assert words in found
    assert bool(found) == bool(words)


def near(
    away: np.ndarray, theta: np.ndarray, fewest: int, support: Bijector = ALL_REALS
) -> Release:
    return posterior(away, NonPrivate(), support, theta, fewest, importance_size=7.0)


def test_weights_fall_with_the_square_of_the_distance_to_the_farthest() -> None:
    away = np.array([[9.0, 0.0], [3.0, 4.0], [0.0, 1.0], [2.0, 0.0], [0.0, 0.0]])
    found = near(away, away, 4)
    assert found.indices.tolist() == [1, 2, 3, 4]
    assert found.weights == pytest.approx(np.array([0.0, 24.0, 21.0, 25.0]) / 70.0, rel=1e-14)
    for equal in (np.array([[1.0], [-1.0]]), np.zeros((2, 3))):
        assert near(equal, equal, 2).weights.tolist() == [0.5, 0.5]


def test_on_a_plane_all_draws_are_moved_to_its_height_at_the_release() -> None:
    away = np.random.default_rng(1).normal(size=(30, 2))
    theta = np.stack([2.0 + 3.0 * away[:, 0] - away[:, 1], away[:, 1]], axis=1)
    found = near(away, theta, 20)
    assert found.samples == pytest.approx(np.tile([2.0, 0.0], (20, 1)), abs=1e-12)
    assert found.made == PosteriorInfo("moved", 7.0, 0.0)
    # A parameter that is always the same stays so, on a bent scale too.
    still = near(away, np.full((30, 1), 3.0), 20, ZERO_TO_TEN)
    assert still.samples == pytest.approx(np.full((20, 1), 3.0))


def test_the_bend_of_the_scale_is_half_a_residual_standard_deviation() -> None:
    away, support = np.array([[-2.0], [-1.0], [1.0], [2.0], [5.0]]), ZERO_TO_TEN
    values = np.array([[2.0], [1.0], [3.0], [6.0], [7.0]])
    found = near(away, values, 5, support)

    def straightened(heights: np.ndarray) -> np.ndarray:
        slope = np.polyfit(away[:, 0], heights[:, 0], 1, w=np.sqrt(found.weights))[0]
        return heights - slope * away

    apart = straightened(values)
    apart -= found.weights @ apart
    bend = 0.5 * np.sqrt(found.weights @ apart**2)
    moved = straightened(support.to_unconstrained(values, bend))
    assert found.samples == pytest.approx(support.from_unconstrained(moved, bend), rel=1e-9)


def test_draws_of_a_small_pool_stay_and_are_counted_outside_the_support() -> None:
    away, theta = np.array([[0.0], [1.0], [2.0]]), np.array([[-1.0], [0.5], [0.6]])
    found = near(away, theta, 4, box(np.zeros(1), np.ones(1)))
    assert found.samples is None
    assert found.made == PosteriorInfo("kept", 7.0, pytest.approx(4.0 / 7.0))
