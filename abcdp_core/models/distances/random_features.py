"""Approximate the MMD by random Fourier features, for many dimensions or wide ranges (MATH M4).

k(x, y) ≈ φ(x)·φ(y) with frequencies ω ~ N(0, 1/ℓ²), in one of two forms:

* ``paired``: φ(x) = (cos ωx, sin ωx)/√F for F frequencies, as in the published code. Its norm is 1,
  so replacing one point moves a mean embedding by at most 2/N.
* ``shifted``: φ(x) = √(2/D) cos(ωx + u), as in [P22] Appendix C. Its norm is at most √2, so the
  sensitivity is 2√2/N.

Products of these features can be negative, so the kernel's sharper bound √2/N does not hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from abcdp_core.models.distances.kernel import MeanEmbedding


@dataclass(frozen=True)
class RandomFeatures(MeanEmbedding):
    """MMD between data sets of points in ``R^p``, approximated by random features.

    Args:
        bandwidth: of the Gaussian kernel, in the unit of the points.
        dimension: coordinates p per point.
        frequencies: number of frequencies; the statistic has twice as many numbers if ``paired``.
        paired: whether to use the paired form.
        seed: seed of the public frequencies.
    """

    bandwidth: float
    dimension: int = 1
    frequencies: int = 500
    paired: bool = True
    seed: int = 0
    omega: Array = field(init=False, compare=False, repr=False)
    shift: Array = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Draw the frequencies."""
        rng = generator(self.seed, "random-features")
        shape = (self.dimension, self.frequencies)
        object.__setattr__(self, "omega", rng.standard_normal(shape) / self.bandwidth)
        object.__setattr__(self, "shift", rng.uniform(0.0, 2.0 * math.pi, self.frequencies))

    @property
    def bound(self) -> float:
        """Largest distance: twice the largest norm of a feature vector."""
        return 2.0 if self.paired else 2.0 * math.sqrt(2.0)

    @property
    def error(self) -> float:
        """Bound on the error of MMD² for one pair of sets, with probability 99 % over frequencies.

        Hoeffding's inequality over F independent terms of range at most 4 (paired) or 8 (shifted)
        gives range · √(ln(2/0.01) / (2F)).
        """
        spread = 4.0 if self.paired else 8.0
        return spread * math.sqrt(math.log(2.0 / 0.01) / (2.0 * self.frequencies))

    def statistic(self, data: Array) -> Array:
        """Reduce data sets ``(..., n, p)`` to mean features ``(..., D)``."""
        angle = data @ self.omega
        if self.paired:
            means = [np.cos(angle).mean(axis=-2), np.sin(angle).mean(axis=-2)]
            return np.concatenate(means, axis=-1) / math.sqrt(self.frequencies)
        mean: Array = np.cos(angle + self.shift).mean(axis=-2)
        return mean * math.sqrt(2.0 / self.frequencies)

    def compare(self, statistics: Array, statistic: Array) -> Array:
        """Return Euclidean distances ``(T,)`` between statistics ``(T, D)`` and ``(D,)``."""
        return np.linalg.norm(statistics - statistic, axis=-1)

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Bound the change from one of ``n`` points: 2/n paired, 2√2/n shifted, rounded up."""
        return math.nextafter(self.bound / n, math.inf)
