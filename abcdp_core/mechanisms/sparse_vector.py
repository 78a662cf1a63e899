"""ABCDP by the sparse vector technique ([P21] Algorithm 1; MATH S1-S5).

Once at the start the threshold becomes ε_abc + m with m ~ Lap(b₁). Each draw's distance becomes
ρ_t + ν_t with ν_t ~ Lap(b₂), and the draw is accepted if ρ_t + ν_t ≤ ε_abc + m. After an
acceptance, with ``resample``, m is drawn anew. The run stops at ``c`` acceptances or at the end of
the pool; if the end comes first, fewer come back, never padded (MATH S4). Without noise this is
rejection ABC: the first ``c`` draws with ρ_t ≤ ε_abc (MATH S5).

Noise is drawn at scale 1 and then scaled, so that a change of budget, threshold or c moves the same
noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numba
import numpy as np
from numpy.typing import NDArray

from abcdp_core.mechanisms import Distances, Release
from abcdp_core.privacy import Event, NonPrivate, SparseVector
from abcdp_core.privacy.sparse_vector import calibrate

Array = NDArray[np.float64]

MECHANISM = "sparse-vector"


@dataclass(frozen=True)
class Setting:
    """What is asked of a run; public.

    Attributes:
        epsilon_total: privacy budget; ``inf`` for no noise.
        epsilon_abc: similarity threshold, in the unit of the distance.
        c: acceptances after which the run stops.
        resample: whether the threshold's noise is redrawn after each acceptance.
        sensitivity: Δ the noise is calibrated for.
        threshold_share: part of the budget for the threshold; ``None`` for the paper's split.
    """

    epsilon_total: float
    epsilon_abc: float
    c: int
    resample: bool
    sensitivity: float
    threshold_share: float | None = None

    def event(self) -> Event:
        """The event of a run, which holds its noise scales."""
        if math.isinf(self.epsilon_total):
            return NonPrivate()
        return calibrate(
            self.epsilon_total,
            self.sensitivity,
            self.c,
            resample=self.resample,
            threshold_share=self.threshold_share,
        )


@dataclass(frozen=True)
class Trace:
    """What happened inside, for teaching; never published. One entry per draw looked at (s,).

    Attributes:
        noisy_distance: ρ_t + ν_t.
        noisy_threshold: ε_abc + m as it stood for draw t.
        accepted: the private decision.
        non_private: whether ρ_t ≤ ε_abc.
    """

    noisy_distance: Array = field(repr=False)
    noisy_threshold: Array = field(repr=False)
    accepted: NDArray[np.bool_] = field(repr=False)
    non_private: NDArray[np.bool_] = field(repr=False)


def draw_noise(rng: np.random.Generator, steps: int, c: int) -> tuple[Array, Array]:
    """Laplace noise of scale 1: for the queries ``(steps,)``, then for the thresholds ``(c,)``.

    The thresholds come last, so that another ``c`` leaves all that both share as it was.
    """
    return rng.laplace(size=steps), rng.laplace(size=c)


def release(
    comparison: Distances, setting: Setting, rng: np.random.Generator
) -> tuple[Release, Trace]:
    """Run the mechanism once over all distances of a comparison."""
    rho = comparison.rho
    event = setting.event()
    if isinstance(event, SparseVector):
        query_noise, threshold_noise = draw_noise(rng, len(rho), setting.c)
        noisy_distance = rho + event.query_scale * query_noise
        noisy_threshold = setting.epsilon_abc + event.threshold_scale * threshold_noise
    else:
        noisy_distance = rho
        noisy_threshold = np.full(setting.c, setting.epsilon_abc)
    return decide(
        rho, noisy_distance, noisy_threshold, setting.epsilon_abc, setting.resample, event
    )


def decide(
    rho: Array,
    noisy_distance: Array,
    noisy_threshold: Array,
    epsilon_abc: float,
    resample: bool,
    event: Event,
) -> tuple[Release, Trace]:
    """What a run with this noise accepts, and what happened in it.

    Args:
        rho: distances ``(T,)``.
        noisy_distance: the same with noise ``(T,)``.
        noisy_threshold: ``(c,)``, as :func:`scan` takes it.
        epsilon_abc: similarity threshold without noise.
        resample: whether the threshold changes after each acceptance.
        event: for the release.
    """
    indices, stopped_at = scan(noisy_distance, noisy_threshold, len(noisy_threshold), resample)
    accepted = np.zeros(stopped_at, dtype=bool)
    accepted[indices] = True
    redraws = np.concatenate([[0], np.cumsum(accepted[:-1])]) if resample else 0
    trace = Trace(
        noisy_distance=noisy_distance[:stopped_at],
        noisy_threshold=np.broadcast_to(noisy_threshold[redraws], stopped_at),
        accepted=accepted,
        non_private=rho[:stopped_at] <= epsilon_abc,
    )
    weights = np.full(len(indices), 1.0 / max(len(indices), 1))
    return Release(indices, weights, stopped_at, event), trace


@numba.njit(cache=True, nogil=True)
def scan(
    noisy_distance: Array, noisy_threshold: Array, c: int, resample: bool
) -> tuple[NDArray[np.int64], int]:
    """Indices of the first ``c`` acceptances and the number of draws looked at.

    Args:
        noisy_distance: ``(T,)``.
        noisy_threshold: ``(c,)``, the k-th in force after k acceptances; only the first without
            ``resample``.
        c: acceptances after which to stop.
        resample: whether the threshold changes after each acceptance.
    """
    indices = np.empty(c, dtype=np.int64)
    count = 0
    threshold = noisy_threshold[0]
    for t in range(len(noisy_distance)):
        if noisy_distance[t] <= threshold:
            indices[count] = t
            count += 1
            if count == c:
                return indices, t + 1
            if resample:
                threshold = noisy_threshold[count]
    return indices[:count], len(noisy_distance)
