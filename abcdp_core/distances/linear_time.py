"""The linear-time unbiased estimator of MMD² (MATH M5; [G12] Section 6), to compare with.

It averages h(z_i, z_j) = k(x_i, x_j) + k(y_i, y_j) − k(x_i, y_j) − k(x_j, y_i) over disjoint pairs
of points. It may be negative and is not a distance. One replaced point changes one of N/2 terms by
at most 2 for a kernel with values in [0, 1], so the estimate by at most 4/N. Lemma 1 is about the
distance and says nothing of this estimate.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def linear_time_squared_mmd(x: Array, y: Array, bandwidth: float) -> tuple[float, float]:
    """Estimate of MMD² and its standard error.

    Args:
        x, y: points ``(n, p)`` each, ``n`` even and at least 4.
        bandwidth: of the Gaussian kernel.

    Raises:
        ValueError: the shapes differ, or ``n`` is odd or below 4.
    """
    if x.shape != y.shape or len(x) % 2 or len(x) < 4:
        raise ValueError("the linear-time estimator needs two sets of the same even size, >= 4.")

    def k(a: Array, b: Array) -> Array:
        values: Array = np.exp(-np.sum((a - b) ** 2, axis=1) / (2.0 * bandwidth**2))
        return values

    x1, x2, y1, y2 = x[::2], x[1::2], y[::2], y[1::2]
    h = k(x1, x2) + k(y1, y2) - k(x1, y2) - k(x2, y1)
    return float(h.mean()), float(h.std(ddof=1) / math.sqrt(len(h)))


def sensitivity(n: int) -> float:
    """Most that one of ``n`` points changes the estimate: 4/n, rounded up."""
    return math.nextafter(4.0 / n, math.inf)
