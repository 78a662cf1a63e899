"""How far two distributions of outcomes ``(k,)`` are apart, in either order."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from abcdp_core.base.arrays import Array


def hockey_stick(p: Array, q: Array, epsilon: float) -> float:
    """Return the smallest δ at ε, given probabilities."""
    return max(
        float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())
        for one, other in ((p, q), (q, p))
    )


def renyi(log_p: Array, log_q: Array, alpha: float) -> float:
    """Return the Rényi divergence of order α, given logarithms of probabilities."""
    return max(
        float(special.logsumexp(alpha * one + (1.0 - alpha) * other)) / (alpha - 1.0)
        for one, other in ((log_p, log_q), (log_q, log_p))
    )
