"""The MMD by its definition: all pairs, diagonal included (MATH M1).

MMD²(X, Y) = mean k(x, x') + mean k(y, y') − 2 mean k(x, y)

This V-statistic is a squared distance, so it is never negative. It costs O(N²) per pair of data
sets; the other forms are tested against it.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from abcdp_core.distances import kernel
from abcdp_core.libraries import available_threads

Array = NDArray[np.float64]

FEW = 100
"""Data sets below which starting threads takes longer than comparing."""


@dataclass(frozen=True)
class QuadraticMMD:
    """MMD of data sets of points with p coordinates, every pair of points visited.

    Its ``error`` is what three means over all pairs can round.
    """

    bandwidth: float
    dimension: int = 1

    bound = kernel.SHARP_BOUND
    error = 100.0 * float(np.finfo(float).eps)

    def statistic(self, data: Array) -> Array:
        """The points themselves, one after the other: ``(..., n, p)`` to ``(..., n·p)``."""
        return data.reshape(*data.shape[:-2], -1)

    def combine(self, first: Array, n_first: int, second: Array, n_second: int) -> Array:
        """All points of both parts."""
        return np.concatenate([first, second], axis=-1)

    def compare(self, statistics: Array, statistic: Array) -> Array:
        """Distances ``(T,)`` of ``T`` data sets to one; O(T·N²), shared by the processors."""
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
        """Sensitivity to one of ``n`` points (MATH M2), of the distance as it is computed.

        Near 0 the root turns a rounding error e of the square into √e: that is the margin of the
        sharp value, 3e-7. The published value is larger anyway.
        """
        sensitivity = kernel.mmd_sensitivity(n, which)
        return sensitivity + 2.0 * math.sqrt(self.error) if which == "sharp" else sensitivity

    def statistic_sensitivity(self, n: int) -> float:
        """Infinite: the statistic is the data itself."""
        return math.inf


@numba.njit(cache=True, nogil=True)
def _squared(sets: Array, points: Array, bandwidth: float) -> Array:
    """MMD² ``(T,)`` of the sets ``(T, n, p)`` to the points ``(m, p)``, up to rounding."""
    squared = np.empty(len(sets))
    own = _mean_kernel(points, points, bandwidth)
    for t in range(len(sets)):
        within = _mean_kernel(sets[t], sets[t], bandwidth)
        squared[t] = own + within - 2.0 * _mean_kernel(sets[t], points, bandwidth)
    return squared


@numba.njit(cache=True, nogil=True)
def _mean_kernel(x: Array, y: Array, bandwidth: float) -> float:
    """Mean of the kernel over all pairs, added up without loss however many they are (Kahan)."""
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
