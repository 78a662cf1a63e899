from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from abcdp_core.distances import kernel, maximum_mean_discrepancy
from abcdp_core.distances.fourier import FourierMMD
from abcdp_core.distances.quadratic import QuadraticMMD
from abcdp_core.distances.random_features import RandomFeatures


@pytest.mark.parametrize("kernel_error", [0.0, FourierMMD(0.0, 5.0, 0.6).kernel_error, 0.1])
def test_sensitivity_is_never_rounded_down(kernel_error: float) -> None:
    # In rational arithmetic: (n Δ)² >= 2 + 4 error, the squared diameter of the feature vectors.
    for n in (*range(1, 2001), 3000, 5000, 10_000, 20_000):
        delta = Fraction(kernel.mmd_sensitivity(n, "sharp", kernel_error))
        assert (n * delta) ** 2 >= 2 + 4 * Fraction(kernel_error)
        assert n * Fraction(kernel.mmd_sensitivity(n, "published")) >= 2


def test_sensitivities_are_sharp_published_and_from_the_script() -> None:
    found = [kernel.mmd_sensitivity(100, which) for which in ("sharp", "published", "script")]
    assert found == pytest.approx([math.sqrt(2.0) / 100, 0.02, 0.01], rel=1e-15)


@pytest.mark.parametrize("distance", [FourierMMD(0.0, 5.0, 0.05), QuadraticMMD(0.05)])
def test_two_points_far_apart_reach_the_bound(
    distance: FourierMMD | QuadraticMMD,
) -> None:
    near, far = (distance.statistic(np.full((3, 1), at)) for at in (0.0, 5.0))
    assert distance.bound == math.sqrt(2.0)
    assert distance.compare(near[None], far)[0] == pytest.approx(distance.bound, rel=1e-9)


def test_the_median_bandwidth_is_the_median_over_pairs() -> None:
    points = np.array([[0.0], [1.0], [3.0], [7.0]])
    # Distances 1, 2, 3, 4, 6, 7.
    assert kernel.median_bandwidth(points) == 3.5
    assert kernel.median_bandwidth(np.array([[0.0, 0.0], [3.0, 4.0]])) == 5.0


def test_the_form_is_chosen_by_cost() -> None:
    assert isinstance(maximum_mean_discrepancy(0.0, 5.0, 0.6), FourierMMD)
    assert isinstance(maximum_mean_discrepancy(0.0, 5.0, 0.6, n=22), QuadraticMMD)
    assert isinstance(maximum_mean_discrepancy(0.0, 5.0, 0.6, n=23), FourierMMD)
    assert isinstance(maximum_mean_discrepancy(0.0, 5.0, 0.01), RandomFeatures)
    assert isinstance(maximum_mean_discrepancy(0.0, 5.0, 0.01, n=100), QuadraticMMD)
    assert isinstance(maximum_mean_discrepancy(0.0, 5.0, 0.6, dimension=2), RandomFeatures)
