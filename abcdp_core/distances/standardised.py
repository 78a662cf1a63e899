r"""Distance between a few numbers that add up over records, each on a scale of its own.

$$\rho(Y^*, Y) = \min(\|w\,(s(Y^*) / n - s(Y) / n)\|_2\, m,\ C)$$

with a weight for each number and the usual size m, at which the distance is that of the numbers
themselves. Where records are added or removed n is private, and there is no division by it.

One record moves the weighted numbers by at most their L2 sensitivity, and so the distance (triangle
inequality); a bound C never makes that more (MATH M7).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from abcdp_core.distances.kernel import check_sensitivity
from abcdp_core.distances.summaries import EPSILON, ClippedSummaries

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Standardised(ClippedSummaries):
    """Euclidean distance of weighted sums over records, at most ``bound``.

    Attributes:
        usual: records at which the numbers stand for themselves; ``None`` where n is private.
    """

    usual: int | None

    def _share(self, n: int) -> float:
        return 1.0 if self.usual is None else self.usual / n

    def statistic(self, data: Array) -> Array:
        """Weighted numbers ``(..., k)`` of data sets ``(..., n, d)``."""
        return self.reduce(data) * (np.array(self.weights) * self._share(data.shape[-2]))

    def combine(self, first: Array, n_first: int, second: Array, n_second: int) -> Array:
        """Numbers of both parts together."""
        if self.usual is None:
            return first + second
        total = n_first + n_second
        return first * (n_first / total) + second * (n_second / total)

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Most that one of ``n`` records can change the distance; with room for rounding.

        Raises:
            ValueError: ``which`` is none of these.
        """
        check_sensitivity(which)
        return min(self.statistic_sensitivity(n) + 1000.0 * EPSILON * self.bound, self.bound)

    def statistic_sensitivity(self, n: int) -> float:
        """Most (L2) that one of ``n`` records can move the weighted numbers."""
        return self.length * self._share(n) * (1.0 + 100.0 * EPSILON)
