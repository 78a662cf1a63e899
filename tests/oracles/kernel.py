"""The Gaussian kernel as a matrix: every pair of points at once."""

from __future__ import annotations

import numpy as np

from abcdp_core.base.arrays import Array


def gaussian_kernel(x: Array, y: Array, bandwidth: float) -> Array:
    """Kernel matrix ``(n, m)`` of points ``(n, p)`` and ``(m, p)``."""
    squared = np.zeros((len(x), len(y)))
    for coordinate in range(x.shape[1]):
        squared += np.subtract.outer(x[:, coordinate], y[:, coordinate]) ** 2
    return np.exp(-squared / (2.0 * bandwidth**2))
