"""Exact probabilities of the sparse vector technique with Gaussian noise, to check S6 with."""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, special

from abcdp_core.base.arrays import Array
from abcdp_core.mechanisms.gaussian_sparse_vector import GaussianSparseVector
from tests.oracles.outcomes import Pattern, stretches


def log_probability(
    pattern: Pattern, rho: Array, epsilon_abc: float, event: GaussianSparseVector
) -> float:
    """Logarithm of the exact probability that a run decides as ``pattern`` says.

    As in :func:`.sparse_vector.log_probability`, with normal distribution functions. The integrand
    over the threshold noise is analytic and falls off at least as fast as its density, so the
    trapezoid rule is exact to rounding.
    """
    kinks, signs = rho[: len(pattern)] - epsilon_abc, np.where(pattern, 1.0, -1.0)
    return math.fsum(
        _log_integral(kinks[part], signs[part], event)
        for part in stretches(pattern, resample=event.resample)
    )


def _log_integral(kinks: Array, signs: Array, event: GaussianSparseVector) -> float:
    """Logarithm of the integral of density of m times Π Φ(±(m − kink)/σ₂); both ``(s,)``."""
    b1, b2 = event.threshold_scale, event.query_scale

    def log_factors(m: Array) -> Array:
        return special.log_ndtr(signs * (m[..., None] - kinks) / b2)

    def slope(m: float) -> float:
        z = signs * (m - kinks) / b2
        hazards = np.exp(-0.5 * z**2 - special.log_ndtr(z)) / math.sqrt(2.0 * math.pi)
        return float(np.sum(signs * hazards) / b2 - m / b1**2)

    reach = len(kinks) * b1**2 / b2
    peak = optimize.brentq(slope, min(0.0, *kinks) - reach - b1, max(0.0, *kinks) + reach + b1)
    width = 1.0 / math.sqrt(1.0 / b1**2 + len(kinks) / b2**2)
    # The integrand falls off from its peak at least as exp(−m²/2σ₁²); 9.5 of them are e^−45.
    m = peak + np.arange(-9.5 * b1, 9.5 * b1, width / 2.0)
    logarithms = log_factors(m).sum(axis=-1) - 0.5 * (m / b1) ** 2
    return float(special.logsumexp(logarithms)) + math.log(
        width / 2.0 / (b1 * math.sqrt(2.0 * math.pi))
    )
