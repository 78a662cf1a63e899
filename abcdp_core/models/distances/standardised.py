r"""Distance between weighted sums over records.

$$\rho(Y^*, Y) = \min(\|w\,(s(Y^*) / n - s(Y) / n)\|_2\, m,\ C)$$

with a weight w for each sum and a reference size m, at which the distance is between the sums
themselves. Where records are added or removed, n is private and the sums are not divided by it.

One record moves the weighted sums by at most their L2 sensitivity, and the distance by no more
(triangle inequality). The bound C never increases the change (MATH M7).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.models.distances.kernel import check_sensitivity
from abcdp_core.models.distances.summaries import EPSILON, ClippedSummaries


@dataclass(frozen=True)
class Standardised(ClippedSummaries):
    """Euclidean distance of weighted sums over records, at most ``bound``.

    Attributes:
        usual: reference size m; ``None`` where n is private.
    """

    usual: int | None

    def _share(self, n: int) -> float:
        return 1.0 if self.usual is None else self.usual / n

    def statistic(self, data: Array) -> Array:
        """Reduce data sets ``(..., n, d)`` to weighted sums ``(..., k)``."""
        return self.reduce(data) * (np.array(self.weights) * self._share(data.shape[-2]))

    def combine(self, first: Array, n_first: int, second: Array, n_second: int) -> Array:
        """Combine the sums of two parts with ``n_first`` and ``n_second`` records."""
        if self.usual is None:
            return first + second
        total = n_first + n_second
        return first * (n_first / total) + second * (n_second / total)

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Bound the change in distance from one of ``n`` records, with a margin for rounding.

        Raises:
            ValueError: ``which`` has another value.
        """
        check_sensitivity(which)
        return min(self.statistic_sensitivity(n) + 1000.0 * EPSILON * self.bound, self.bound)

    def statistic_sensitivity(self, n: int) -> float:
        """Bound the L2 change in the weighted sums from one of ``n`` records."""
        return self.length * self._share(n) * (1.0 + 100.0 * EPSILON)
