"""Select and scale coordinates of each point for another distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.models.distances import Distance


class Within:
    """Base for a distance that transforms points for an ``inner`` one."""

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
        """Combine statistics of two parts with ``n_first`` and ``n_second`` points."""
        return self.inner.combine(first, n_first, second, n_second)

    def compare(self, statistics: Array, statistic: Array) -> Array:
        """Return the distances ``(T,)`` from statistics ``(T, D)`` to one statistic ``(D,)``."""
        return self.inner.compare(statistics, statistic)


@dataclass(frozen=True)
class Columns(Within):
    """A distance on selected, scaled coordinates; its sensitivity and bound are the inner ones.

    Args:
        inner: distance between the selected and scaled points.
        units: pairs of a coordinate and its unit, above 0; other coordinates are dropped.
    """

    inner: Distance
    units: tuple[tuple[int, float], ...]

    def statistic(self, data: Array) -> Array:
        """Reduce data sets ``(..., n, p)`` to the inner statistics."""
        return self.inner.statistic(
            np.stack([data[..., column] / unit for column, unit in self.units], axis=-1)
        )

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Bound the change in distance when one of ``n`` points is replaced."""
        return self.inner.sensitivity(n, which)

    def statistic_sensitivity(self, n: int) -> float:
        """Bound the L2 change in the statistic from one of ``n`` points."""
        return self.inner.statistic_sensitivity(n)
