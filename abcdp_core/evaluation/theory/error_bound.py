"""Bound on the distance between the private and non-private posterior means ([P21] Theorem 2).

For a function f with K_T = max‖f(θ_t)‖, non-private decisions τ_t, private ones τ̃_t, c' = Στ_t and
c = Στ̃_t (MATH B1):

E‖(1/c) Σ f(θ_t) τ̃_t − (1/c') Σ f(θ_t) τ_t‖ ≤ (2 K_T / c') Σ_t G_b(|ρ_t − ε_abc|)

and by Markov's inequality the error is at most a with probability at least (MATH B2)

1 − (4 K_T / (3 a c')) Σ_t exp(−|ρ_t − ε_abc| / 2b).

**Scope.** Proved for a run over all T draws that never stops, given that both keep something, with
``resample`` off and b fixed beforehand. The error never exceeds 2 K_T, so a larger bound is
vacuous. As N grows, b falls like 1/N and the bound goes to 0 (MATH B3).
"""

from __future__ import annotations

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.evaluation.theory import flip


def largest_norm(values: Array) -> float:
    """Return K_T for values f(θ_t) of shape ``(T, d)``."""
    return float(np.linalg.norm(values, axis=1).max())


def expected_error(rho: Array, epsilon_abc: float, noise_scale: float, largest: float) -> float:
    """Bound the expected error from above (MATH B1); ``inf`` if nothing is kept without noise.

    Args:
        rho: distances ``(T,)``.
        epsilon_abc: similarity threshold.
        noise_scale: b ≥ 0.
        largest: K_T.
    """
    accepted = np.count_nonzero(rho <= epsilon_abc)
    if accepted == 0:
        return float("inf")
    flips = flip.flip_probability(rho, epsilon_abc, noise_scale).sum()
    return float(2.0 * largest / accepted * flips)


def probability_within(
    error: float, rho: Array, epsilon_abc: float, noise_scale: float, largest: float
) -> float:
    """Bound the probability of an error of at most ``error`` from below, by 0 or more (MATH B2)."""
    accepted = np.count_nonzero(rho <= epsilon_abc)
    if accepted == 0:
        return 0.0
    if noise_scale == 0:
        return 1.0
    decay = np.exp(-np.abs(rho - epsilon_abc) / (2.0 * noise_scale)).sum()
    return float(max(0.0, 1.0 - 4.0 * largest / (3.0 * error * accepted) * decay))
