"""Probability that noise flips a decision ([P21] Lemma 2, Proposition 1).

Z = m − ν is threshold noise minus query noise, with m ~ Lap(b) and ν ~ Lap(2b). Its density is
(MATH F1)

f_Z(z) = (2 exp(−|z|/2b) − exp(−|z|/b)) / (6b)

and its tail, for a ≥ 0,

G_b(a) = P(Z > a) = (4 exp(−a/2b) − exp(−a/b)) / 6.

Noise flips the decision about a draw at distance ρ with probability G_b(|ρ − ε_abc|) (MATH F2).

**Scope.** This is exact when the threshold noise is fresh, and without ``resample`` also at every
step of a run that would never stop. Among runs *still going*, low thresholds are over-represented
because their runs last longer: then fewer draws are wrongly kept and more are wrongly rejected than
G_b says.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from abcdp_core.base.arrays import Array


def density(z: ArrayLike, noise_scale: float) -> Array:
    """Return f_Z(z) for ``noise_scale`` b > 0 (MATH F1)."""
    a = np.abs(np.asarray(z, dtype=float)) / noise_scale
    return (2.0 * np.exp(-a / 2.0) - np.exp(-a)) / (6.0 * noise_scale)


def tail(a: ArrayLike, noise_scale: float) -> Array:
    """Return G_b(a) = P(Z > a) for a ≥ 0 and ``noise_scale`` b ≥ 0 (MATH F1); G_0 is 0."""
    a = np.asarray(a, dtype=float)
    if noise_scale == 0:
        return np.zeros_like(a)
    scaled = a / noise_scale
    return (4.0 * np.exp(-scaled / 2.0) - np.exp(-scaled)) / 6.0


def cumulative(z: ArrayLike, noise_scale: float) -> Array:
    """Return P(Z ≤ z) (MATH F1)."""
    z = np.asarray(z, dtype=float)
    upper = tail(np.abs(z), noise_scale)
    return np.where(z >= 0, 1.0 - upper, upper)


def flip_probability(rho: ArrayLike, epsilon_abc: float, noise_scale: float) -> Array:
    """Return G_b(|ρ − ε_abc|), the probability that noise flips the decision (MATH F2)."""
    return tail(np.abs(np.asarray(rho, dtype=float) - epsilon_abc), noise_scale)
