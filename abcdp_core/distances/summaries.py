"""Distance between a few numbers kept of each data set, as a statistic states them.

ρ(Y*, Y) = min(‖w (s(Y*) − s(Y))‖₂, C)

with a weight for each number. One unit moves the weighted numbers by at most their L2 sensitivity,
and so the distance (triangle inequality); a bound C never makes that more (MATH M7).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from abcdp_core.distances.kernel import check_sensitivity

Array = NDArray[np.float64]

EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class ClippedSummaries:
    """Euclidean distance of weighted numbers, at most ``bound``.

    Attributes:
        reduce: data sets ``(..., n, p)`` to numbers ``(..., k)``.
        weights: of the numbers ``(k,)``; a single one serves them all.
        length: the most by which one unit moves the weighted numbers, L2.
        bound: largest distance.
    """

    reduce: Callable[[Array], Array] = field(repr=False)
    weights: tuple[float, ...]
    length: float
    bound: float

    @property
    def error(self) -> float:
        """Bound on the rounding error of the squared distance, for up to a hundred numbers."""
        return 1000.0 * EPSILON * self.bound**2

    def statistic(self, data: Array) -> Array:
        """Weighted numbers ``(..., k)`` of data sets ``(..., n, p)``."""
        return self.reduce(data) * np.array(self.weights)

    def combine(self, first: Array, n_first: int, second: Array, n_second: int) -> Array:
        """Never asked for where data sets have one size; the numbers of parts say too little.

        Raises:
            ValueError: always.
        """
        raise ValueError("numbers of two parts do not tell those of the whole.")

    def compare(self, statistics: Array, statistic: Array) -> Array:
        """Distances ``(T,)`` of data sets with statistics ``(T, k)`` to one with ``(k,)``."""
        return np.minimum(np.linalg.norm(statistics - statistic, axis=-1), self.bound)

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Most that one unit can change the distance, whatever n is; with room for rounding.

        Raises:
            ValueError: ``which`` is none of these.
        """
        check_sensitivity(which)
        return min(self.length + 1000.0 * EPSILON * self.bound, self.bound)

    def statistic_sensitivity(self, n: int) -> float:
        """Most (L2) that one unit can move the weighted numbers."""
        return self.length * (1.0 + 100.0 * EPSILON)
