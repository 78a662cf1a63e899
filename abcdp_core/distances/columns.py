"""A distance that looks at some coordinates of each point, each in a unit of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from abcdp_core.distances import Distance

Array = NDArray[np.float64]


class Within:
    """What a distance that prepares points for an ``inner`` one has from that."""

    inner: Distance

    @property
    def bound(self) -> float:
        """Largest distance."""
        return self.inner.bound

    @property
    def error(self) -> float:
        """Bound on the error of the squared distance."""
        return self.inner.error

    def combine(self, first: Array, n_first: int, second: Array, n_second: int) -> Array:
        """Statistics of the unions of two parts with ``n_first`` and ``n_second`` points."""
        return self.inner.combine(first, n_first, second, n_second)

    def compare(self, statistics: Array, statistic: Array) -> Array:
        """Distances ``(T,)`` of data sets with statistics ``(T, D)`` to one with ``(D,)``."""
        return self.inner.compare(statistics, statistic)


@dataclass(frozen=True)
class Columns(Within):
    """A distance between points after a choice and scaling of their coordinates.

    Replacing a point replaces what is looked at of it, so sensitivity and bound are the inner ones.

    Args:
        inner: distance of the points as they are then.
        units: coordinate of a point -> its unit, above 0; the others are left out.
    """

    inner: Distance
    units: tuple[tuple[int, float], ...]

    def statistic(self, data: Array) -> Array:
        """Reduce data sets ``(..., n, p)`` to the inner statistics."""
        return self.inner.statistic(
            np.stack([data[..., column] / unit for column, unit in self.units], axis=-1)
        )

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Most that replacing one of ``n`` points can change the distance."""
        return self.inner.sensitivity(n, which)

    def statistic_sensitivity(self, n: int) -> float:
        """Most (L2) that one of ``n`` points can move the statistic."""
        return self.inner.statistic_sensitivity(n)
