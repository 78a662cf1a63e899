"""Random features: their norm, and squared distances that are unbiased with a stated error."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from abcdp_core.models.distances.quadratic import QuadraticMMD
from abcdp_core.models.distances.random_features import RandomFeatures
from tests.statistics import assert_mean, rejects

BOTH = pytest.mark.parametrize("paired", [True, False], ids=["paired", "shifted"])


def terms(features: RandomFeatures, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Independent estimates of MMD², one per frequency ``(F,)``."""
    squared = (features.statistic(x) - features.statistic(y)) ** 2 * features.frequencies
    return squared.reshape(2, -1).sum(axis=0) if features.paired else squared


@BOTH
def test_sensitivity_and_bound_follow_from_the_largest_norm_which_is_reached(paired: bool) -> None:
    features = RandomFeatures(0.6, paired=paired)
    points = np.random.default_rng(1).normal(0.0, 10.0, (1000, 1, 1))
    norms = np.linalg.norm(features.statistic(points), axis=1)
    if paired:
        assert norms == pytest.approx(1.0, abs=1e-14)
    else:
        assert norms.max() <= math.sqrt(2.0)
    diameter = 2.0 if paired else 2.0 * math.sqrt(2.0)
    assert features.bound == diameter
    assert features.sensitivity(50) == pytest.approx(diameter / 50, rel=1e-15)
    assert features.statistic_sensitivity(50) == features.sensitivity(50)
    # In rational arithmetic: n Δ is never below 2, or √8.
    for n in (*range(1, 1001), 5000, 20_000):
        assert (n * Fraction(features.sensitivity(n))) ** 2 >= (4 if paired else 8)
    # One frequency: two points half a turn apart are as far apart as features can be.
    single = RandomFeatures(1.0, frequencies=1, paired=paired)
    omega, shift = float(single.omega[0, 0]), float(single.shift[0])
    start = 0.0 if paired else -shift / omega
    here, there = single.statistic(np.array([start, start + math.pi / omega])[:, None, None])
    assert np.linalg.norm(here - there) == pytest.approx(single.sensitivity(1), rel=1e-12)


@BOTH
@pytest.mark.parametrize("dimension", [1, 3])
def test_the_squared_distance_is_unbiased(paired: bool, dimension: int) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(0.0, 0.5, (12, dimension)), rng.normal(0.5, 0.7, (9, dimension))
    features = RandomFeatures(0.6, dimension, frequencies=200_000, paired=paired)
    wrong = RandomFeatures(1.8, dimension, frequencies=200_000, paired=paired)
    exact = float(
        sum(
            sign * np.exp(-np.sum((a[:, None] - b) ** 2, axis=2) / (2.0 * 0.6**2)).mean()
            for a, b, sign in ((x, x, 1), (y, y, 1), (x, y, -2))
        )
    )
    high = features.bound**2
    assert_mean(terms(features, x, y), exact, 0.0, high)
    assert rejects(assert_mean, terms(wrong, x, y), exact, 0.0, high)


@BOTH
def test_the_error_is_within_the_stated_bound(paired: bool) -> None:
    # The bound is for 99 % of seeds; Hoeffding's inequality is loose, so all ten keep to it.
    rng = np.random.default_rng(3)
    x, y = rng.uniform(0.0, 5.0, (40, 1)), rng.beta(2.0, 5.0, (40, 1)) * 5.0
    quadratic = QuadraticMMD(0.6)
    exact = float(quadratic.compare(x[None, :, 0], y[:, 0])[0]) ** 2
    for seed in range(10):
        features = RandomFeatures(0.6, frequencies=50, paired=paired, seed=seed)
        found = terms(features, x, y).mean()
        assert abs(found - exact) <= features.error
        squared = features.compare(features.statistic(x)[None], features.statistic(y)) ** 2
        assert squared == pytest.approx(found, rel=1e-12)
