"""Draws near a released vector and their regression, in cases small enough for closed forms."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest

from abcdp_core.mechanisms.regression_adjustment import caution, near, nearest, posterior
from abcdp_core.privacy import NonPrivate
from abcdp_core.transforms import ALL_REALS, box

ZERO_TO_TEN = box(np.zeros(1), np.full(1, 10.0))
TOO_SMALL = "A pool of {} is too small to move {} by a regression ({}); their intervals are wide."


@pytest.mark.parametrize(
    ("pool_size", "fewest", "words"),
    [
        (1, (), ""),
        (999, (1000,), TOO_SMALL.format("999", "draws", "1,000")),
        (1000, (1000, 1000), "A pool of 1,000 is less than twice the 1,000 draws"),
        (1999, (300, 1000), "A pool of 1,999 is less than twice the 300 to 1,000 draws"),
        (2000, (1000,), ""),
        (300, (300, 1000), TOO_SMALL.format("300", "some draws", "300 to 1,000")),
        (299, (300, 1000), TOO_SMALL.format("299", "draws", "300 to 1,000")),
    ],
)
def test_of_a_small_pool_it_is_said_what_moving_takes(
    pool_size: int, fewest: Collection[int], words: str
) -> None:
    said = caution(pool_size, fewest)
    assert said.startswith(words)
    assert bool(said) == bool(words)


def test_weights_fall_with_the_square_of_the_distance_to_the_farthest() -> None:
    away = np.array([[9.0, 0.0], [3.0, 4.0], [0.0, 1.0], [2.0, 0.0], [0.0, 0.0]])
    found = near(away, 4)
    assert found.indices.tolist() == [1, 2, 3, 4]
    assert np.array_equal(found.away, away[1:])
    assert found.weights == pytest.approx(np.array([0.0, 24.0, 21.0, 25.0]) / 70.0, rel=1e-14)
    assert near(np.array([[1.0], [-1.0]]), 2).weights.tolist() == [0.5, 0.5]
    assert near(np.zeros((2, 3)), 2).weights.tolist() == [0.5, 0.5]
    assert nearest(np.array([2.0, 1.0, 1.0, 3.0]), 2).tolist() == [1, 2]


def test_on_a_plane_all_draws_are_moved_to_its_height_at_the_release() -> None:
    away = np.random.default_rng(1).normal(size=(30, 2))
    theta = np.stack([2.0 + 3.0 * away[:, 0] - away[:, 1], away[:, 1]], axis=1)
    found = posterior(near(away, 20), NonPrivate(), ALL_REALS, theta, move=True)
    assert found.samples == pytest.approx(np.tile([2.0, 0.0], (20, 1)), abs=1e-12)
    assert found.made is not None
    assert (found.made.way, found.made.importance_size, found.made.outside) == ("moved", 0.0, 0.0)


def test_the_scale_is_bent_within_half_of_what_the_plane_leaves_open() -> None:
    wide, support = near(np.array([[-2.0], [-1.0], [1.0], [2.0], [5.0]]), 5), ZERO_TO_TEN
    values = np.array([[2.0], [1.0], [3.0], [6.0], [7.0]])
    root = np.sqrt(wide.weights)

    def straightened(heights: np.ndarray) -> np.ndarray:
        slope = np.polyfit(wide.away[:, 0], heights[:, 0], 1, w=root)[0]
        return heights - slope * wide.away

    apart = straightened(values)
    apart -= wide.weights @ apart
    bend = 0.5 * np.sqrt(wide.weights @ apart**2)
    moved = straightened(support.to_unconstrained(values, bend))
    found = posterior(wide, NonPrivate(), support, values, move=True)
    assert found.samples == pytest.approx(support.from_unconstrained(moved, bend), rel=1e-9)


def test_draws_that_stay_are_counted_where_they_are_outside_the_support() -> None:
    away, theta = np.array([[0.0], [1.0], [2.0]]), np.array([[-1.0], [0.5], [0.6]])
    support = box(np.zeros(1), np.ones(1))
    found = posterior(near(away, 3), NonPrivate(), support, theta, move=False, importance_size=7.0)
    assert found.samples is None
    assert found.made is not None
    assert (found.made.way, found.made.importance_size) == ("kept", 7.0)
    assert found.made.outside == pytest.approx(4.0 / 7.0)


def test_a_parameter_that_is_always_the_same_stays_so() -> None:
    away, theta = np.linspace(-1.0, 1.0, 50)[:, None], np.full((50, 1), 3.0)
    found = posterior(near(away, 20), NonPrivate(), ZERO_TO_TEN, theta, move=True)
    assert found.samples is not None
    assert found.samples == pytest.approx(np.full((20, 1), 3.0))
