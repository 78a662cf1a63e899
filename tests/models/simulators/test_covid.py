"""Cumulative cases as a polynomial: the curve, its prior, and the distances of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from abcdp_core.models.distances.quadratic import QuadraticMMD
from abcdp_core.models.simulators import covid
from tests.statistics import assert_distribution, rejects


def test_a_curve_is_the_polynomial_with_a_standard_normal_prior() -> None:
    a0, a1, a2, a3 = 0.3, -2.0, 5.0, 7.0
    points = covid.simulate(np.random.default_rng(1), np.array([[a0, a1, a2, a3]]), 18)
    days, counts = points[0].T
    assert days.tolist() == list(range(18))
    expected = [a3 + a2 * t + a1 * t**2 + a0 * t**3 for t in range(18)]
    assert counts == pytest.approx(expected, rel=1e-14)
    # A series of another length covers the same days.
    assert covid.from_series(np.arange(35.0))[:, 0] == pytest.approx(np.linspace(0.0, 17.0, 35))
    for values in covid.prior(np.random.default_rng(2), 20_000).T:
        assert_distribution(values, stats.norm.cdf)
        assert rejects(assert_distribution, 1.1 * values, stats.norm.cdf)


def test_values_are_compared_as_in_the_paper_and_pairs_by_the_product_of_two_kernels() -> None:
    (x,) = covid.simulate(np.random.default_rng(3), np.array([[0.5, 0.1, -0.2, 1.0]]), 18)
    y = covid.SCENARIO.observed

    def kernel(x: np.ndarray, y: np.ndarray) -> float:
        difference = (x[:, None] - y[None]) / np.array([covid.DAY_BANDWIDTH, bandwidth])
        return float(np.exp(-0.5 * (difference**2).sum(axis=-1)).mean())

    for bandwidth in (456.0, 1000.0):
        values, pairs = covid.distance(bandwidth), covid.distance(bandwidth, "pairs")
        found = values.compare(values.statistic(x[None]), values.statistic(y))
        plain = QuadraticMMD(bandwidth).compare(x[None, :, 1], covid.CASES)
        assert found == pytest.approx(plain, rel=1e-12)
        (found,) = pairs.compare(pairs.statistic(x[None]), pairs.statistic(y))
        expected = kernel(x, x) + kernel(y, y) - 2.0 * kernel(x, y)
        assert found**2 == pytest.approx(expected, abs=1e-13)


def test_the_bandwidth_is_near_the_median_distance_of_simulated_counts() -> None:
    rng = np.random.default_rng(5)
    points = covid.simulate(rng, covid.prior(rng, 20_000), 18)
    first, second = np.split(points[np.arange(20_000), rng.integers(18, size=20_000), 1], 2)
    assert np.median(np.abs(first - second)) == pytest.approx(covid.SCENARIO.bandwidth, rel=0.1)
