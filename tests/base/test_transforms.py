"""Bijectors: values moved on their scale stay inside, and far from edges the scale is linear."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from abcdp_core.base.arrays import Array
from abcdp_core.base.transforms import ALL_REALS, NEAREST, SIMPLEX, Bijector, box

WEIGHTS = np.random.default_rng(1).dirichlet(np.ones(5), 500)
NEAR = np.array([0.01, 0.02, 0.03, 0.05, 0.1])
LOW, HIGH = np.array([0.0, -2.0, 100.0]), np.array([1.0, 3.0, 400.0])
BOX = box(LOW, HIGH)
INSIDE = np.random.default_rng(3).uniform(LOW, HIGH, (500, 3))

ROOM = np.minimum(INSIDE - LOW, HIGH - INSIDE)
"""Distance to the nearer bound."""


@pytest.mark.parametrize(
    ("support", "theta", "room", "distance"),
    [(SIMPLEX, WEIGHTS, WEIGHTS, NEAR)]
    + [(BOX, INSIDE, ROOM, part * (HIGH - LOW)) for part in (1e-6, 0.3, 10.0)],
)
def test_from_unconstrained_inverts_to_unconstrained(
    support: Bijector, theta: Array, room: Array, distance: Array
) -> None:
    far = theta[(room > NEAREST * distance).all(axis=1)]
    assert len(far) > 350
    back = support.from_unconstrained(support.to_unconstrained(far, distance), distance)
    assert back == pytest.approx(far, rel=1e-9, abs=1e-9)
    assert ALL_REALS.to_unconstrained(far, distance) is far
    assert ALL_REALS.from_unconstrained(far, distance) is far


@pytest.mark.parametrize(
    ("support", "width", "edge"),
    [(SIMPLEX, np.ones(5), np.eye(5)), (BOX, HIGH - LOW, np.array([LOW, HIGH]))],
)
def test_any_real_values_come_back_inside_and_an_edge_is_near_its_neighbors(
    support: Bijector, width: Array, edge: Array
) -> None:
    normal = np.random.default_rng(2).standard_normal((500, len(width)))
    for part, size in itertools.product((1e-9, 0.01, 1.0), (1e-9, 1.0, 1e9)):
        theta = support.from_unconstrained(size * normal, part * width)
        assert np.isfinite(theta).all()
        assert support.contains(theta).all()
    distance = NEAR if support is SIMPLEX else 0.01 * width
    values = support.to_unconstrained(edge, distance)
    # A draw much farther from the others would dominate a regression.
    assert (np.abs(values - edge) / distance).max() < 8.0
    assert support.from_unconstrained(values, distance) == pytest.approx(edge, rel=1e-2, abs=1e-3)


def test_the_scale_is_a_log_ratio_near_edges_and_linear_far_from_them() -> None:
    moved = np.array([0.3, -0.2, 0.1, 0.0, -0.1])

    def shifted(distance: float, shift: Array) -> Array:
        distances = np.full(5, distance)
        values = SIMPLEX.to_unconstrained(WEIGHTS, distances) + shift
        return SIMPLEX.from_unconstrained(values, distances)

    # Near every edge, weights are multiplied.
    ratio = WEIGHTS * np.exp(moved)
    ratio /= ratio.sum(axis=1, keepdims=True)
    inside = (WEIGHTS > 0.01).all(axis=1)
    assert shifted(10.0, 10.0 * moved)[inside] == pytest.approx(ratio[inside], rel=0.05)
    # Far from every edge, weights are shifted and still add up to 1.
    small = 0.01 * (moved - moved.mean())
    assert shifted(1e-4, small)[inside] == pytest.approx((WEIGHTS + small)[inside], abs=1e-6)


def test_far_from_its_edges_a_box_changes_nothing_and_near_them_it_keeps_the_order() -> None:
    distance = 0.01 * (HIGH - LOW)
    middle = (LOW + HIGH) / 2.0 + 0.2 * (INSIDE - (LOW + HIGH) / 2.0)
    assert BOX.to_unconstrained(middle, distance) == pytest.approx(middle, rel=1e-12)
    line = np.linspace(LOW + 1e-3, HIGH - 1e-3, 100)
    assert (np.diff(BOX.to_unconstrained(line, 100.0 * distance), axis=0) > 0.0).all()
    points = np.array([[0.5, 0.0, 200.0], [1.1, 0.0, 200.0], [0.5, -2.1, 200.0]])
    assert BOX.contains(points).tolist() == [True, False, False]
    weights = np.array([[0.5, 0.5], [1.0, 0.0], [1.1, -0.1], [0.5, 0.4]])
    assert SIMPLEX.contains(weights).tolist() == [True, True, False, False]
    for low, high in ((0.0, 0.0), (0.0, np.inf), (np.nan, 1.0)):
        with pytest.raises(ValueError, match="must be finite, low < high"):
            box(np.array([low]), np.array([high]))
