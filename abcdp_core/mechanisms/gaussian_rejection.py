"""Rejection ABC with Gaussian noise on every distance ([P22] Theorem 3.1; MATH R1-R3).

Each draw's distance is clipped to [0, B_ρ] and becomes ρ_t + N(0, σ²); the draw is accepted if that
is at most ε_abc. All T decisions are released: nothing stops the run, and every decision costs the
same, however far its distance is from the threshold. Distances beyond the bound all count as the
bound, so that no decision is ever too certain. Without noise nothing is clipped: it is rejection
ABC over the whole pool.

The bound is public. A small quantile of the distances between *simulated* data sets allows less
noise, at the price of telling draws beyond it no longer apart (MATH R3).

Noise is drawn at scale 1 and then scaled, so that a change of budget, threshold or bound moves the
same noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from abcdp_core.mechanisms import Distances, Release
from abcdp_core.privacy import Event, GaussianRejection, NonPrivate
from abcdp_core.privacy.rejection import calibrate

Array = NDArray[np.float64]

MECHANISM = "gaussian-rejection"


@dataclass(frozen=True)
class Setting:
    """What is asked of a run; public.

    Attributes:
        epsilon_total: privacy budget of all decisions together; ``inf`` for no noise.
        epsilon_abc: similarity threshold, in the unit of the distance; may exceed the bound.
        bound: B_ρ, distances are clipped to ``[0, bound]``; chosen without the private data.
        sensitivity: Δ of a distance before it is clipped.
        accountant: ``exact`` or ``published``, which needs more noise.
    """

    epsilon_total: float
    epsilon_abc: float
    bound: float
    sensitivity: float
    accountant: str = "exact"

    def event(self, steps: int) -> Event:
        """The event of a run over ``steps`` draws, which holds its noise scale."""
        if math.isinf(self.epsilon_total):
            return NonPrivate()
        return calibrate(
            self.epsilon_total,
            self.sensitivity,
            self.bound,
            self.epsilon_abc,
            steps,
            self.accountant,
        )


@dataclass(frozen=True)
class Trace:
    """What happened inside, for teaching; never published. One entry per draw (T,).

    Attributes:
        noisy_distance: clipped distance plus noise; the distance itself without noise.
        accepted: the private decision.
        non_private: whether ρ_t ≤ ε_abc.
    """

    noisy_distance: Array = field(repr=False)
    accepted: NDArray[np.bool_] = field(repr=False)
    non_private: NDArray[np.bool_] = field(repr=False)


def release(
    comparison: Distances, setting: Setting, rng: np.random.Generator
) -> tuple[Release, Trace]:
    """Run the mechanism once over all distances of a comparison."""
    rho = comparison.rho
    event = setting.event(len(rho))
    noisy_distance = rho
    if isinstance(event, GaussianRejection):
        clipped = np.clip(rho, 0.0, event.bound)
        noisy_distance = clipped + event.scale * rng.standard_normal(len(rho))
    accepted = noisy_distance <= setting.epsilon_abc
    indices = np.flatnonzero(accepted)
    weights = np.full(len(indices), 1.0 / max(len(indices), 1))
    trace = Trace(noisy_distance, accepted, rho <= setting.epsilon_abc)
    return Release(indices, weights, len(rho), event), trace


def bound_quantile(distances: Array, quantile: float) -> float:
    """B_ρ: a quantile of distances, of any shape, between *simulated* data sets (MATH R3).

    [P22] calls the small one "top 5 percentile": most distances exceed it, so it is the 5 %
    quantile. Distances of the private data have no place here.

    Raises:
        ValueError: the quantile does not lie in (0, 1], or comes out as no positive number.
    """
    if not 0.0 < quantile <= 1.0:
        raise ValueError(f"quantile = {quantile}: must lie above 0 and not above 1.")
    bound = float(np.quantile(distances, quantile))
    if not 0.0 < bound < math.inf:
        raise ValueError(f"bound = {bound}: simulated data sets have no positive distance.")
    return bound
