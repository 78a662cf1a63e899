"""The MMD by its definition, over all pairs including the diagonal (MATH M1).

MMD²(X, Y) = mean k(x, x') + mean k(y, y') − 2 mean k(x, y)

This V-statistic is a squared distance, so it is never negative. It takes O(N²) per pair of data
sets. The other forms are tested against it.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numba
import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.base.libraries import available_threads
from abcdp_core.models.distances import kernel

FEW = 100
"""With fewer data sets, starting threads takes longer than comparing."""


@dataclass(frozen=True)
class QuadraticMMD:
    """MMD between data sets of points with p coordinates, over all pairs.

    ``error`` bounds the rounding of three means over all pairs.
    """

    bandwidth: float
    dimension: int = 1

    bound = kernel.SHARP_BOUND
    error = 100.0 * float(np.finfo(float).eps)

    def statistic(self, data: Array) -> Array:
        """Flatten points ``(..., n, p)`` to ``(..., n·p)``."""
        return data.reshape(*data.shape[:-2], -1)

    def combine(self, first: Array, n_first: int, second: Array, n_second: int) -> Array:
        """Concatenate the points of both parts."""
        return np.concatenate([first, second], axis=-1)

    def compare(self, statistics: Array, statistic: Array) -> Array:
        """Return the distances ``(T,)`` from T data sets to one in O(T·N²), using threads."""
        sets = np.ascontiguousarray(statistics).reshape(len(statistics), -1, self.dimension)
        points = np.ascontiguousarray(statistic).reshape(-1, self.dimension)
        if len(sets) < FEW:
            return np.sqrt(np.maximum(_squared(sets, points, self.bandwidth), 0.0))
        parts = np.array_split(sets, available_threads())
        with ThreadPoolExecutor(len(parts)) as threads:
            done = [threads.submit(_squared, part, points, self.bandwidth) for part in parts]
            squared = np.concatenate([future.result() for future in done])
        return np.sqrt(np.maximum(squared, 0.0))

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Bound the change in the computed distance from one of ``n`` points (MATH M2).

        Near 0 the root turns a rounding error e of the square into √e, so the sharp value includes
        a margin of 3e-7. The published value is larger anyway.
        """
        sensitivity = kernel.mmd_sensitivity(n, which)
        return sensitivity + 2.0 * math.sqrt(self.error) if which == "sharp" else sensitivity

    def statistic_sensitivity(self, n: int) -> float:
        """Return infinity, since the statistic is the data."""
        return math.inf


@numba.njit(cache=True, nogil=True)
def _squared(sets: Array, points: Array, bandwidth: float) -> Array:
    """Return MMD² ``(T,)`` between sets ``(T, n, p)`` and points ``(m, p)``, up to rounding."""
    squared = np.empty(len(sets))
    own = _mean_kernel(points, points, bandwidth)
    for t in range(len(sets)):
        within = _mean_kernel(sets[t], sets[t], bandwidth)
        squared[t] = own + within - 2.0 * _mean_kernel(sets[t], points, bandwidth)
    return squared


@numba.njit(cache=True, nogil=True)
def _mean_kernel(x: Array, y: Array, bandwidth: float) -> float:
    """Return the mean of the kernel over all pairs, by Kahan summation."""
    factor = -0.5 / bandwidth**2
    total, lost = 0.0, 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            distance = 0.0
            for k in range(x.shape[1]):
                distance += (x[i, k] - y[j, k]) ** 2
            term = math.exp(factor * distance) - lost
            raised = total + term
            lost = (raised - total) - term
            total = raised
    return total / (len(x) * len(y))
