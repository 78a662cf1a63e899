r"""Random Fourier features of records with several bounded columns (MATH M4).

Each column is clipped to its public bounds and rescaled to $[0, 1]$, so one bandwidth $\ell$ fits
all columns. The frequencies $\omega_f \sim N(0, 1/\ell^2)$ in $R^d$ are public and fixed. The
features are the paired ones of :mod:`.random_features`:

$$\varphi(x) = (\cos \omega_f x, \sin \omega_f x)_f / \sqrt F, \qquad \|\varphi(x)\| = 1 .$$

**Sensitivity.** Replacing one of n records moves the mean feature by
$\|\varphi(x) - \varphi(x')\| / n$, and the distance to any fixed data set by no more (triangle
inequality). Since

$$\|\varphi(x) - \varphi(x')\|^2 = 2 - 2 g(x - x'), \qquad
g(\delta) = \frac1F \sum_f \cos(\omega_f \delta),$$

is at most 4 for any frequencies, $2/n$ is a bound in any dimension. For two columns, the minimum of
g over the box of differences $[-1, 1]^2$ is bounded on a grid. Since
$|\nabla g| \le \frac1F \sum_f \|\omega_f\| = L$ and every difference is within half a diagonal
r of a node, $g \ge \min_{\text{nodes}} g - L r$ everywhere. As $g(\delta) = g(-\delta)$, half
the box is enough. The number used is never below the supremum.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.models.distances.columns import Within
from abcdp_core.models.distances.kernel import check_sensitivity
from abcdp_core.models.distances.random_features import RandomFeatures

FREQUENCIES = 100
"""A pool keeps two numbers per frequency: 16 MB for 10 000 draws of each data size."""

MARGIN = 0.02
"""Largest error of the grid, in units of g."""

MOST_NODES = 1000
"""Largest number of steps along a column; very narrow bandwidths exceed :data:`MARGIN`."""

ROUNDING = 1e-9
"""Relative margin for rounding in features and grid values."""


@dataclass(frozen=True)
class BoxedFeatures(Within):
    """MMD between data sets of records ``(n, d)`` in a box, by random features.

    Attributes:
        low, high: public bounds of each column ``(d,)``.
        bandwidth: of the Gaussian kernel, as a fraction of each column's range.
        frequencies: number of frequencies; the statistic has twice as many numbers.
        seed: seed of the public frequencies.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    bandwidth: float
    frequencies: int = FREQUENCIES
    seed: int = 0
    inner: RandomFeatures = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Draw the frequencies."""
        shape = self.bandwidth, len(self.low), self.frequencies
        object.__setattr__(self, "inner", RandomFeatures(*shape, seed=self.seed))

    def statistic(self, data: Array) -> Array:
        """Reduce data sets ``(..., n, d)`` to mean features ``(..., D)``."""
        low, high = np.array(self.low), np.array(self.high)
        return self.inner.statistic((np.clip(data, low, high) - low) / (high - low))

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Bound the change in distance from one of ``n`` records, rounded up.

        Args:
            n: number of private records.
            which: ``published``, 2/n; or ``sharp``, over differences within the box.

        Raises:
            ValueError: ``which`` has another value.
        """
        check_sensitivity(which)
        most = reach(self) if which == "sharp" else 2.0
        return math.nextafter(most * (1.0 + ROUNDING) / n, math.inf)

    def statistic_sensitivity(self, n: int) -> float:
        """Return the same bound: the distance is Euclidean between statistics."""
        return self.sensitivity(n)


@functools.lru_cache(maxsize=32)
def reach(distance: BoxedFeatures) -> float:
    """Bound ‖φ(x) − φ(x')‖ over the box; 2 unless there are two columns."""
    omega = distance.inner.omega
    if len(omega) != 2:
        return 2.0
    slope = float(np.linalg.norm(omega, axis=0).mean())
    steps = min(MOST_NODES, max(10, math.ceil(slope / (math.sqrt(2.0) * MARGIN))))
    first = np.linspace(0.0, 1.0, steps + 1)[:, None] * omega[0]
    second = np.linspace(-1.0, 1.0, 2 * steps + 1)[:, None] * omega[1]
    # Two matrix products for the cosine of a sum are faster than a cosine for each node.
    cosines = np.cos(first) @ np.cos(second).T - np.sin(first) @ np.sin(second).T
    lowest = float(cosines.min()) / omega.shape[1] - slope / (math.sqrt(2.0) * steps)
    return min(2.0, math.sqrt(2.0 - 2.0 * lowest))
