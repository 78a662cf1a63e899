"""Unbiased linear-time estimator of MMD², for comparison (MATH M5; [G12] Section 6).

It averages h(z_i, z_j) = k(x_i, x_j) + k(y_i, y_j) − k(x_i, y_j) − k(x_j, y_i) over disjoint pairs
of points. It may be negative and is not a distance. For a kernel with values in [0, 1], replacing
one point changes one of N/2 terms by at most 2, and the estimate by at most 4/N. Lemma 1 concerns
the distance, not this estimator.
"""

from __future__ import annotations

import math

import numpy as np

from abcdp_core.base.arrays import Array


def linear_time_squared_mmd(x: Array, y: Array, bandwidth: float) -> tuple[float, float]:
    """Estimate MMD² and the standard error of the estimate.

    Args:
        x, y: points ``(n, p)`` each, ``n`` even and at least 4.
        bandwidth: of the Gaussian kernel.

    Raises:
        ValueError: the shapes differ, or ``n`` is odd or below 4.
    """
    if x.shape != y.shape or len(x) % 2 or len(x) < 4:
        raise ValueError("the linear-time estimator needs two sets of the same even size, >= 4.")

    def k(a: Array, b: Array) -> Array:
        return np.exp(-np.sum((a - b) ** 2, axis=1) / (2.0 * bandwidth**2))

    x1, x2, y1, y2 = x[::2], x[1::2], y[::2], y[1::2]
    h = k(x1, x2) + k(y1, y2) - k(x1, y2) - k(x2, y1)
    return float(h.mean()), float(h.std(ddof=1) / math.sqrt(len(h)))


def sensitivity(n: int) -> float:
    """Bound the change in the estimate from one of ``n`` points: 4/n, rounded up."""
    return math.nextafter(4.0 / n, math.inf)
