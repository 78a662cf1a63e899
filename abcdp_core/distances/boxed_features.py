r"""Random Fourier features of records with several bounded columns (MATH M4).

Each column is clipped into its public bounds and brought to $[0, 1]$, so that one bandwidth $\ell$
serves them all. With frequencies $\omega_f \sim N(0, 1/\ell^2)$ in $R^d$, public and the same for
everybody, the features are those of :mod:`.random_features`, paired:

$$\varphi(x) = (\cos \omega_f x, \sin \omega_f x)_f / \sqrt F, \qquad \|\varphi(x)\| = 1 .$$

**Sensitivity.** Replacing one of n records moves the mean feature by
$\|\varphi(x) - \varphi(x')\| / n$, and so the distance to any fixed data set (triangle inequality).
As cosines of a difference,

$$\|\varphi(x) - \varphi(x')\|^2 = 2 - 2 g(x - x'), \qquad
g(\delta) = \frac1F \sum_f \cos(\omega_f \delta),$$

which is at most 4 whatever the frequencies are: $2/n$ is a bound in any dimension. In two columns
the smallest value of g over the box of differences $[-1, 1]^2$ is found on a grid. Since
$|\nabla g| \le \frac1F \sum_f \|\omega_f\| = L$, and every difference is within half a diagonal
r of a node, $g \ge \min_{\text{nodes}} g - L r$ everywhere. As $g(\delta) = g(-\delta)$, half
of the box will do. The number used is above the supremum, never below.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from abcdp_core.distances.columns import Within
from abcdp_core.distances.kernel import check_sensitivity
from abcdp_core.distances.random_features import RandomFeatures

Array = NDArray[np.float64]

FREQUENCIES = 100
"""A pool keeps twice as many numbers of each data set: 16 MB for 10 000 draws at each size."""

MARGIN = 0.02
"""Most that the grid may be off, in units of g."""

MOST_NODES = 1000
"""Along a column; the narrowest bandwidths have a larger margin than that."""

ROUNDING = 1e-9
"""Room for what is rounded in features and in the grid's values."""


@dataclass(frozen=True)
class BoxedFeatures(Within):
    """MMD between data sets of records ``(n, d)`` in a box, by random features.

    Attributes:
        low, high: public bounds of each column ``(d,)``.
        bandwidth: of the Gaussian kernel, in parts of each column's range.
        frequencies: how many; the statistic has twice as many numbers.
        seed: of the frequencies, which are public.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    bandwidth: float
    frequencies: int = FREQUENCIES
    seed: int = 0
    inner: RandomFeatures = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Draw the frequencies."""
        asked = self.bandwidth, len(self.low)
        made = RandomFeatures(*asked, frequencies=self.frequencies, seed=self.seed)
        object.__setattr__(self, "inner", made)

    def statistic(self, data: Array) -> Array:
        """Mean features: ``(..., n, d)`` to ``(..., D)``."""
        low, high = np.array(self.low), np.array(self.high)
        return self.inner.statistic((np.clip(data, low, high) - low) / (high - low))

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Most that one of ``n`` records can change the distance, rounded up.

        Args:
            n: records of the private data.
            which: ``published``, 2/n; or ``sharp``, over differences within the box.

        Raises:
            ValueError: ``which`` is none of these.
        """
        check_sensitivity(which)
        most = reach(self) if which == "sharp" else 2.0
        return math.nextafter(most * (1.0 + ROUNDING) / n, math.inf)

    def statistic_sensitivity(self, n: int) -> float:
        """The same: the distance is the Euclidean one between statistics."""
        return self.sensitivity(n)


@functools.lru_cache(maxsize=32)
def reach(distance: BoxedFeatures) -> float:
    """An upper bound on ‖φ(x) − φ(x')‖ over the box (module docstring); 2 beyond two columns."""
    omega = distance.inner.omega
    if len(omega) != 2:
        return 2.0
    slope = float(np.linalg.norm(omega, axis=0).mean())
    steps = min(MOST_NODES, max(10, math.ceil(slope / (math.sqrt(2.0) * MARGIN))))
    first = np.linspace(0.0, 1.0, steps + 1)[:, None] * omega[0]
    second = np.linspace(-1.0, 1.0, 2 * steps + 1)[:, None] * omega[1]
    # The cosine of a sum: two products of matrices instead of a cosine for each node.
    cosines = np.cos(first) @ np.cos(second).T - np.sin(first) @ np.sin(second).T
    lowest = float(cosines.min()) / omega.shape[1] - slope / (math.sqrt(2.0) * steps)
    return min(2.0, math.sqrt(2.0 - 2.0 * lowest))
