"""Bounds, sensitivities and bandwidth of the Gaussian kernel.

k(x, y) = exp(−‖x − y‖² / (2ℓ²)) with bandwidth ℓ is bounded by B_k = 1 (MATH M1).

The MMD is the distance between mean embeddings. Replacing one of N points moves one embedding by at
most sup‖φ(x) − φ(x')‖ / N, and the distance by no more (triangle inequality). Lemma 1 of the paper
bounds the supremum by 2√B_k; for a kernel that is never negative it is √(2B_k) (MATH M2). The lemma
holds for the MMD but not for its square, for which the paper uses the same name (MATH M1).
"""

from __future__ import annotations

import math

import numpy as np

from abcdp_core.base.arrays import Array

SHARP_BOUND = math.sqrt(2.0)
"""sup ‖φ(x) − φ(x')‖ for a kernel with values in [0, 1]."""

PUBLISHED_BOUND = 2.0
"""Bound on the same supremum in [P21] Lemma 1."""

SCRIPT_BOUND = 1.0
"""Used by the published script of [P21] Figure 1; it is too small, so it is *not private*."""


def mmd_sensitivity(n: int, which: str = "sharp", kernel_error: float = 0.0) -> float:
    """Return the sensitivity of the MMD to replacing one of ``n`` points (MATH M2), rounded up.

    Args:
        n: points of the private data set, at least 1.
        which: ``sharp`` √2/n, ``published`` 2/n, or ``script`` 1/n, which is not private.
        kernel_error: bound on the absolute error of the kernel in use.

    Raises:
        ValueError: ``which`` has another value.
    """
    bounds = {
        "sharp": math.sqrt(2.0 + 4.0 * kernel_error),
        "published": PUBLISHED_BOUND,
        "script": SCRIPT_BOUND,
    }
    if which not in bounds:
        raise ValueError(f"sensitivity = {which}: must be one of {', '.join(bounds)}.")
    return math.nextafter(bounds[which] / n, math.inf)


def check_sensitivity(which: str) -> None:
    """Check the name of a sensitivity.

    Raises:
        ValueError: ``which`` is neither ``sharp`` nor ``published``.
    """
    if which not in ("sharp", "published"):
        raise ValueError(f"sensitivity = {which}: must be one of sharp, published.")


class MeanEmbedding:
    """Base for a distance that is Euclidean between means of features over points."""

    def combine(self, first: Array, n_first: int, second: Array, n_second: int) -> Array:
        """Average the statistics of two parts with ``n_first`` and ``n_second`` points."""
        total = n_first + n_second
        return first * (n_first / total) + second * (n_second / total)

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        """Bound the change in distance from one of ``n`` points."""
        raise NotImplementedError

    def statistic_sensitivity(self, n: int) -> float:
        """Return the same bound: the distance is Euclidean between statistics."""
        return self.sensitivity(n)


def median_bandwidth(simulated: Array) -> float:
    """Return the median distance between pairs of simulated points ``(m, p)`` (MATH M6).

    Never call it with private data: the bandwidth would be a release that no budget pays for, as in
    the published COVID script.
    """
    # Imported here because it takes half a second and most sessions never need it.
    from scipy.spatial.distance import pdist

    return float(np.median(pdist(simulated)))
