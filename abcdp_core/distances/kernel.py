"""The Gaussian kernel: bounds, sensitivities and the choice of its bandwidth.

k(x, y) = exp(−‖x − y‖² / (2ℓ²)) with bandwidth ℓ, bounded by B_k = 1 (MATH M1).

The MMD is the distance between mean embeddings. Replacing one of N points moves one embedding by at
most sup‖φ(x) − φ(x')‖ / N, and the distance by no more (triangle inequality). The paper's Lemma 1
bounds the supremum by 2√B_k; for a kernel that is never negative it is √(2B_k) (MATH M2). The lemma
holds for the MMD only, not for its square, which the paper calls by the same name (MATH M1).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SHARP_BOUND = math.sqrt(2.0)
"""sup ‖φ(x) − φ(x')‖ for a kernel with values in [0, 1]."""

PUBLISHED_BOUND = 2.0
"""The same supremum as [P21] Lemma 1 bounds it."""

SCRIPT_BOUND = 1.0
"""What the published script of [P21] Figure 1 uses; it is too small, so it is *not private*."""


def mmd_sensitivity(n: int, which: str = "sharp", kernel_error: float = 0.0) -> float:
    """Sensitivity of the MMD to replacing one of ``n`` points (MATH M2), rounded up.

    Args:
        n: points of the private data set, at least 1.
        which: ``sharp`` √2/n, ``published`` 2/n, or ``script`` 1/n, which is not private.
        kernel_error: how far the kernel in use may be from the Gaussian, absolute.

    Raises:
        ValueError: ``which`` is none of these.
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
    """Refuse what only the published script has.

    Raises:
        ValueError: ``which`` is neither ``sharp`` nor ``published``.
    """
    if which not in ("sharp", "published"):
        raise ValueError(f"sensitivity = {which}: must be one of sharp, published.")


def median_bandwidth(simulated: Array) -> float:
    """Median distance between pairs of simulated points ``(m, p)`` (MATH M6).

    Only ever called with simulated data: taken from the private data the bandwidth would itself be
    a release that nobody accounts for, as in the published COVID script.
    """
    # Imported here: it takes half a second, and most sessions never ask for this.
    from scipy.spatial.distance import pdist

    return float(np.median(pdist(simulated)))
