"""Mean clipped distance between the summaries of paired outbreaks.

ρ(Y*, Y) = (1/n) Σ_j min(d(Y*_j, Y_j), C)

The j-th outbreaks of both sets are compared by their eight summaries: d is Euclidean, with a weight
for each difference, and two differences are relative to the observed value (MATH M8; Lintusaari et
al., Wellcome Open Research 4:14, 2019). The *second* set is the observed one. Swapping the sets
changes the distance, so it is not a metric.

Replacing one outbreak changes one of n terms, each from 0 to C: the sensitivity is C/n (MATH M7).
[P21] states only that the distance is clipped at C; the rest comes from its script.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.models.distances.kernel import check_sensitivity

WEIGHTS = np.array([1.0, 1.0, 2.0, 10.0, 100.0, 100.0, 10.0, 10.0])
"""For observations, clusters, largest cluster, mean difference of the four largest, shares of
clusters of size 1 and of size 2, and for the largest cluster months spanned and months with cases.
"""

RELATIVE = slice(4, 6)
"""The shares, which are compared by relative error."""

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
        """Bound on the rounding error of the squared mean of up to 1000 terms."""
        return 4000.0 * EPSILON * self.clip**2

    def statistic(self, data: Array) -> Array:
        """Flatten summaries ``(..., n, 8)`` to ``(..., 8n)``."""
        return data.reshape(*data.shape[:-2], -1)

    def combine(self, first: Array, n_first: int, second: Array, n_second: int) -> Array:
        """Concatenate the outbreaks of both parts."""
        return np.concatenate([first, second], axis=-1)

    def compare(self, statistics: Array, statistic: Array) -> Array:
        """Return the distances ``(T,)`` from T sets of outbreaks to the observed one."""
        observed = statistic.reshape(-1, len(WEIGHTS))
        weights = np.tile(WEIGHTS, (len(observed), 1))
        # An error relative to 0 is infinite or undefined and counts as the largest distance.
        with np.errstate(divide="ignore", invalid="ignore"):
            weights[:, RELATIVE] /= observed[:, RELATIVE]
            return np.array([self._compare(row, observed, weights) for row in statistics])

    def _compare(self, row: Array, observed: Array, weights: Array) -> float:
        differences = weights * (row.reshape(observed.shape) - observed)
        return float(np.fmin(np.linalg.norm(differences, axis=1), self.clip).mean())

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Bound the change in distance when one of ``n`` outbreaks is replaced (MATH M7).

        The published and the sharp value are both C/n, plus a margin for rounding: a mean of n
        terms of at most C has an error of at most n units in the last place of C.

        Raises:
            ValueError: ``which`` has another value.
        """
        check_sensitivity(which)
        return self.clip * (1.0 / n + 2.0 * (n + 1) * EPSILON)

    def statistic_sensitivity(self, n: int) -> float:
        """Return infinity, since the statistic is the data."""
        return math.inf
