"""The estimate of linear time: its mean, its standard error and its sensitivity."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from abcdp_core.models.distances import linear_time
from tests.oracles.kernel import gaussian_kernel
from tests.search import most

BANDWIDTH = 0.6


def test_it_is_unbiased() -> None:
    # Enumerate all data sets of four points from two small distributions.
    x, chance_x = np.array([[0.0], [0.5], [2.0]]), np.array([0.5, 0.3, 0.2])
    y, chance_y = np.array([[0.2], [1.0]]), np.array([0.6, 0.4])
    expectation = 0.0
    for i in itertools.product(range(3), repeat=4):
        for j in itertools.product(range(2), repeat=4):
            data = x[list(i)], y[list(j)]
            estimate, _ = linear_time.linear_time_squared_mmd(*data, BANDWIDTH)
            expectation += estimate * np.prod(chance_x[list(i)]) * np.prod(chance_y[list(j)])
    points, signed = np.concatenate([x, y]), np.concatenate([chance_x, -chance_y])
    squared = signed @ gaussian_kernel(points, points, BANDWIDTH) @ signed
    assert expectation == pytest.approx(squared, rel=1e-12)


def test_the_standard_error_is_that_of_a_mean_of_independent_terms() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    estimate, error = linear_time.linear_time_squared_mmd(x, y, BANDWIDTH)
    pairs = [
        linear_time.linear_time_squared_mmd(np.tile(a, (2, 1)), np.tile(b, (2, 1)), BANDWIDTH)[0]
        for a, b in zip(x.reshape(20, 2, 2), y.reshape(20, 2, 2), strict=True)
    ]
    assert estimate == pytest.approx(np.mean(pairs), rel=1e-12)
    assert error == pytest.approx(np.std(pairs, ddof=1) / math.sqrt(20), rel=1e-12)


def test_sensitivity_is_reached_and_not_exceeded() -> None:
    def change(places: np.ndarray) -> float:
        x, y, other = places[:4, None], places[4:8, None], places[8]
        neighbour = x.copy()
        neighbour[0] = other
        before, after = (
            linear_time.linear_time_squared_mmd(data, y, BANDWIDTH)[0] for data in (x, neighbour)
        )
        return abs(before - after)

    limit = linear_time.sensitivity(4)
    found = most(change, 9.0, 9)
    assert 0.8 * limit < found <= limit
    worst = np.array([0.0, 0.0, 5.0, 5.0, 9.0, 9.0, 5.0, 5.0, 9.0])
    assert change(worst) == pytest.approx(limit, rel=1e-12)

    for n in range(4, 1000, 2):
        assert n * Fraction(linear_time.sensitivity(n)) > 4
