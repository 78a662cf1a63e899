"""Clipped distance between a few weighted numbers of each data set.

ρ(Y*, Y) = min(‖w (s(Y*) − s(Y))‖₂, C)

One unit moves the weighted numbers by at most their L2 sensitivity, and the distance by no more
(triangle inequality). The bound C never increases the change (MATH M7).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.models.distances.kernel import check_sensitivity

EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class ClippedSummaries:
    """Euclidean distance of weighted numbers, at most ``bound``.

    Attributes:
        reduce: maps data sets ``(..., n, p)`` to numbers ``(..., k)``.
        weights: weights ``(k,)`` of the numbers, or a single one for all.
        length: L2 sensitivity of the weighted numbers to one unit.
        bound: largest distance.
    """

    reduce: Callable[[Array], Array] = field(repr=False)
    weights: tuple[float, ...]
    length: float
    bound: float

    @property
    def error(self) -> float:
        """Bound on the rounding error of the squared distance for up to a hundred numbers."""
        return 1000.0 * EPSILON * self.bound**2

    def statistic(self, data: Array) -> Array:
        """Reduce data sets ``(..., n, p)`` to weighted numbers ``(..., k)``."""
        return self.reduce(data) * np.array(self.weights)

    def combine(self, first: Array, n_first: int, second: Array, n_second: int) -> Array:
        """Raise ValueError: the numbers of two parts do not determine those of the whole."""
        raise ValueError("the numbers of two parts do not determine those of the whole.")

    def compare(self, statistics: Array, statistic: Array) -> Array:
        """Return the distances ``(T,)`` from statistics ``(T, k)`` to one statistic ``(k,)``."""
        return np.minimum(np.linalg.norm(statistics - statistic, axis=-1), self.bound)

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Bound the change in distance from one unit for any n, with a margin for rounding.

        Raises:
            ValueError: ``which`` has another value.
        """
        check_sensitivity(which)
        return min(self.length + 1000.0 * EPSILON * self.bound, self.bound)

    def statistic_sensitivity(self, n: int) -> float:
        """Bound the L2 change in the weighted numbers from one unit."""
        return self.length * (1.0 + 100.0 * EPSILON)
