"""Distance between sets of outbreaks: the mean over pairs of a clipped distance of summaries.

ρ(Y*, Y) = (1/n) Σ_j min(d(Y*_j, Y_j), C)

The j-th outbreak of one set is compared with the j-th of the other, by their eight summaries: d is
Euclidean, each difference multiplied by its weight, and two of them relative to the observed value
(MATH M8; Lintusaari et al., Wellcome Open Research 4:14, 2019). Relative to which of the two sets
matters, so this is no metric: the *second* one is the observed one.

Replacing one outbreak changes one of n terms, each from 0 to C: sensitivity C/n (MATH M7), however
far apart outbreaks can be. [P21] only says that it clips by C; that is its script.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from abcdp_core.distances.kernel import check_sensitivity

Array = NDArray[np.float64]

WEIGHTS = np.array([1.0, 1.0, 2.0, 10.0, 100.0, 100.0, 10.0, 10.0])
"""Of observations, clusters, largest cluster, mean difference of the four largest, shares of
clusters of size 1 and of size 2, and months spanned and months with cases of the largest."""

RELATIVE = slice(4, 6)
"""The shares, of which relative errors are taken."""

EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class ClippedOutbreaks:
    """Mean of the distances of n pairs of outbreaks, each at most ``clip``."""

    clip: float = 200.0

    @property
    def bound(self) -> float:
        """Largest distance, up to rounding."""
        return self.clip

    @property
    def error(self) -> float:
        """What the mean of up to 1000 terms can round, of the square."""
        return 4000.0 * EPSILON * self.clip**2

    def statistic(self, data: Array) -> Array:
        """The summaries in a row, ``(..., n, 8)`` to ``(..., 8n)``."""
        return data.reshape(*data.shape[:-2], -1)

    def combine(self, first: Array, n_first: int, second: Array, n_second: int) -> Array:
        """All outbreaks of both parts, those of the first one first."""
        return np.concatenate([first, second], axis=-1)

    def compare(self, statistics: Array, statistic: Array) -> Array:
        """Distances ``(T,)`` of T sets of outbreaks to the observed one."""
        observed = statistic.reshape(-1, len(WEIGHTS))
        weights = np.tile(WEIGHTS, (len(observed), 1))
        # Relative to 0 the error is infinite or undefined; either counts as the largest distance.
        with np.errstate(divide="ignore", invalid="ignore"):
            weights[:, RELATIVE] /= observed[:, RELATIVE]
            return np.array([self._compare(row, observed, weights) for row in statistics])

    def _compare(self, row: Array, observed: Array, weights: Array) -> float:
        differences = weights * (row.reshape(observed.shape) - observed)
        return float(np.fmin(np.linalg.norm(differences, axis=1), self.clip).mean())

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Most that replacing one of ``n`` outbreaks can change the distance (MATH M7).

        Both values are C/n, the published and the sharp one, with room for rounding: a mean of n
        terms of at most C is computed to n units in the last place of C, whatever the order.

        Raises:
            ValueError: ``which`` is none of these.
        """
        check_sensitivity(which)
        return self.clip * (1.0 / n + 2.0 * (n + 1) * EPSILON)

    def statistic_sensitivity(self, n: int) -> float:
        """Infinite: the statistic is the data itself."""
        return math.inf
