"""Supports: what is moved on their scale stays inside, and away from edges is moved straight."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core.supports import ALL_REALS, NEAREST, SIMPLEX, box

Array = NDArray[np.float64]

WEIGHTS = np.random.default_rng(1).dirichlet(np.ones(5), 200)
DISTANCE = np.array([0.01, 0.02, 0.03, 0.05, 0.1])


def test_there_and_back_is_where_it_was() -> None:
    far = WEIGHTS[(WEIGHTS > NEAREST * DISTANCE).all(axis=1)]
    assert len(far) > 150
    back = SIMPLEX.from_unconstrained(SIMPLEX.to_unconstrained(far, DISTANCE), DISTANCE)
    assert back == pytest.approx(far, rel=1e-12)
    assert ALL_REALS.to_unconstrained(far, DISTANCE) is far
    assert ALL_REALS.from_unconstrained(far, DISTANCE) is far


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("distance", [1e-9, 0.01, 1.0])
def test_whatever_comes_back_is_inside(size: float, distance: float) -> None:
    values = size * np.random.default_rng(2).standard_normal((500, 5))
    weights = SIMPLEX.from_unconstrained(values, np.full(5, distance))
    assert np.isfinite(weights).all()
    assert SIMPLEX.contains(weights).all()


def test_a_corner_is_neither_an_infinity_nor_far_from_its_neighbours() -> None:
    corner = np.eye(5)
    values = SIMPLEX.to_unconstrained(corner, DISTANCE)
    assert np.isfinite(values).all()
    # A prior draw this far from the others would lead a regression alone.
    assert (values / DISTANCE).min() > -7.0
    assert SIMPLEX.from_unconstrained(values, DISTANCE) == pytest.approx(corner, abs=1e-3)


def test_between_log_ratios_and_no_change() -> None:
    moved = np.array([0.3, -0.2, 0.1, 0.0, -0.1])

    def shifted(distance: float, shift: Array) -> Array:
        distances = np.full(5, distance)
        values = SIMPLEX.to_unconstrained(WEIGHTS, distances) + shift
        return SIMPLEX.from_unconstrained(values, distances)

    # Within a large distance of every edge: weights are multiplied.
    ratio = WEIGHTS * np.exp(moved)
    ratio /= ratio.sum(axis=1, keepdims=True)
    inside = (WEIGHTS > 0.01).all(axis=1)
    assert shifted(10.0, 10.0 * moved)[inside] == pytest.approx(ratio[inside], rel=0.05)
    # Far from all of them: weights are added to, and keep adding up to 1.
    small = 0.01 * (moved - moved.mean())
    assert shifted(1e-4, small)[inside] == pytest.approx((WEIGHTS + small)[inside], abs=1e-6)


def test_who_is_inside() -> None:
    theta = np.array([[0.5, 0.5], [1.0, 0.0], [1.1, -0.1], [0.5, 0.4]])
    assert SIMPLEX.contains(theta).tolist() == [True, True, False, False]
    assert ALL_REALS.contains(theta).all()


# -------------------------------------------------------------------------- box

LOW, HIGH = np.array([0.0, -2.0, 100.0]), np.array([1.0, 3.0, 400.0])
BOX = box(LOW, HIGH)
INSIDE = np.random.default_rng(3).uniform(LOW, HIGH, (500, 3))
EDGE = np.array([LOW, HIGH])


@pytest.mark.parametrize("part", [1e-6, 0.01, 0.3, 10.0])
def test_a_box_there_and_back(part: float) -> None:
    distance = part * (HIGH - LOW)
    room = np.minimum(INSIDE - LOW, HIGH - INSIDE)
    far = INSIDE[(room > NEAREST * distance).all(axis=1)]
    assert len(far) > 400
    values = BOX.to_unconstrained(far, distance)
    assert BOX.from_unconstrained(values, distance) == pytest.approx(far, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("part", [1e-9, 0.01, 1.0])
def test_whatever_comes_back_is_in_the_box(part: float) -> None:
    distance = part * (HIGH - LOW)
    for size in (1e-9, 1.0, 1e9):
        values = size * np.random.default_rng(4).standard_normal((500, 3))
        assert BOX.contains(BOX.from_unconstrained(values, distance)).all()
    values = BOX.to_unconstrained(EDGE, distance)
    assert np.isfinite(values).all()
    assert BOX.from_unconstrained(values, distance) == pytest.approx(EDGE, rel=1e-2, abs=1e-2)


def test_a_box_changes_nothing_far_from_its_edges() -> None:
    distance = 0.01 * (HIGH - LOW)
    middle = (LOW + HIGH) / 2.0 + 0.2 * (INSIDE - (LOW + HIGH) / 2.0)
    assert BOX.to_unconstrained(middle, distance) == pytest.approx(middle, rel=1e-12)
    # Order is kept where it does change something.
    line = np.linspace(LOW + 1e-3, HIGH - 1e-3, 100)
    assert (np.diff(BOX.to_unconstrained(line, 100.0 * distance), axis=0) > 0.0).all()


def test_a_box_knows_what_is_outside() -> None:
    assert BOX.contains(
        np.array([[0.5, 0.0, 200.0], [1.1, 0.0, 200.0], [0.5, -2.1, 200.0]])
    ).tolist() == [
        True,
        False,
        False,
    ]
    for low, high in (([0.0], [0.0]), ([0.0], [np.inf]), ([np.nan], [1.0])):
        with pytest.raises(ValueError, match="must be finite, low < high"):
            box(np.array(low), np.array(high))
