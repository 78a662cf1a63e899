"""The Fourier series against the quadratic form, the kernel, a plain mean and quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core.models.distances.fourier import FourierMMD
from abcdp_core.models.distances.quadratic import QuadraticMMD

DOMAINS = {
    "uniform mixture": (0.0, 5.0, 0.6),
    "wide": (0.0, 100.0, 1.0),
    "widest": (-500.0, 500.0, 2.7),
    "tiny": (2.0, 2.001, 0.6),
    "smooth": (0.0, 5.0, 20.0),
    "far from zero": (1e6, 1e6 + 5.0, 0.6),
}


def points_in(domain: tuple[float, float, float], *shape: int) -> NDArray[np.float64]:
    """Points ``(*shape, 1)`` of a domain and its ends, with another distribution in each set."""
    low, high, _ = domain
    rng = np.random.default_rng(1)
    shapes = rng.uniform(0.2, 2.0, size=(*shape[:-1], 1))
    unit = rng.random(shape) ** shapes
    unit[..., 0], unit[..., 1] = 0.0, 1.0
    return (low + (high - low) * unit)[..., None]


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_it_equals_the_quadratic_form_and_the_kernel_within_the_stated_error(
    domain: tuple[float, float, float],
) -> None:
    fast, exact = FourierMMD(*domain), QuadraticMMD(domain[2])
    data = points_in(domain, 8, 101)
    # The last set equals the first; near 0 the quadratic form has an error of 1e-8.
    data[-1] = data[0]
    found = fast.compare(fast.statistic(data), fast.statistic(data[0]))
    expected = exact.compare(exact.statistic(data), exact.statistic(data[0]))
    assert found == pytest.approx(expected, abs=1e-7, rel=0.0)
    assert found**2 == pytest.approx(expected**2, abs=fast.error + 1e-15, rel=0.0)
    assert found[-1] == 0.0
    points = points_in(domain, 400)
    features = fast.statistic(points[:, None])
    # Extended precision, so that the reference's own rounding does not count.
    apart = np.subtract.outer(points[:, 0], points[:, 0]).astype(np.longdouble)
    truth = np.exp(-(apart**2) / (2.0 * np.longdouble(domain[2]) ** 2))
    largest = float(np.max(np.abs(features @ features.T - truth)))
    # The bound is not vacuous.
    assert largest <= fast.kernel_error <= 100 * largest


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 1000])
def test_a_statistic_is_the_mean_over_points_clipped_to_the_domain(n: int) -> None:
    # Sizes around the block of 64 are the likely ones to fail.
    mmd = FourierMMD(0.0, 5.0, 0.6)
    outside = np.random.default_rng(2).uniform(-1.0, 6.0, (n, 1))
    data = np.clip(outside, 0.0, 5.0)
    k = np.arange(1, mmd.frequencies + 1)
    angle = k * mmd.step * (data - 2.5)
    expected = np.concatenate([[n], np.cos(angle).sum(axis=0), np.sin(angle).sum(axis=0)]) / n
    scale = np.sqrt(np.concatenate([mmd.weights, mmd.weights[1:]]))
    assert mmd.statistic(data) == pytest.approx(scale * expected, abs=1e-13)
    assert np.array_equal(mmd.statistic(outside), mmd.statistic(data))
    many = mmd.statistic(np.broadcast_to(data, (2, 3, n, 1)))
    assert np.array_equal(many[1, 2], mmd.statistic(data))


@pytest.mark.parametrize("ends", [(0.0, 1.0), (2.0, 3.0), (0.5, 4.75)])
def test_moments_of_a_uniform_point_are_those_of_quadrature(ends: tuple[float, float]) -> None:
    mmd, (low, high) = FourierMMD(0.0, 5.0, 0.6), ends
    node, weight = np.polynomial.legendre.leggauss(120)
    points = (low + high) / 2.0 + (high - low) / 2.0 * node
    features, weight = mmd.statistic(points[:, None, None]), weight / 2.0
    mean, covariance = mmd.moments(low, high)
    expected = weight @ features
    assert mean == pytest.approx(expected, abs=1e-13, rel=0.0)
    apart = features - expected
    assert covariance == pytest.approx((weight[:, None] * apart).T @ apart, abs=1e-13, rel=0.0)
