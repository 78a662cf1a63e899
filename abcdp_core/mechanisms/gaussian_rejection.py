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

import functools
import math
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core import parameters as par
from abcdp_core.mechanisms import (
    Budget,
    Distances,
    Mechanism,
    Part,
    Prepared,
    PublicSide,
    Release,
    thresholds,
)
from abcdp_core.parameters import Params
from abcdp_core.privacy import (
    Event,
    GaussianRejection,
    NonPrivate,
    composition,
    gaussian_series,
    rejection,
)
from abcdp_core.privacy.rejection import calibrate

Array = NDArray[np.float64]


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
    event = setting.event(len(comparison.rho))
    return run(comparison.rho, setting.epsilon_abc, event, rng)


def run(
    rho: Array, epsilon_abc: float, event: Event, rng: np.random.Generator
) -> tuple[Release, Trace]:
    """Decide about all distances ``(T,)`` with the noise of an event; without, if it has none."""
    noisy_distance = rho
    if isinstance(event, GaussianRejection):
        clipped = np.clip(rho, 0.0, event.bound)
        noisy_distance = clipped + event.scale * rng.standard_normal(len(rho))
    accepted = noisy_distance <= epsilon_abc
    indices = np.flatnonzero(accepted)
    weights = np.full(len(indices), 1.0 / max(len(indices), 1))
    trace = Trace(noisy_distance, accepted, rho <= epsilon_abc)
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


# ---------------------------------------------------------------------------------- the contract

BOUND_SETS = 10
BOUND_QUANTILE = 0.05
"""Distances are clipped to this quantile of those of so many simulated data sets ([P22])."""


@dataclass(frozen=True)
class Options(Params):
    """What a person may choose."""

    epsilon_abc: float = thresholds.EPSILON_ABC.field(0.1)
    sensitivity: str = par.SENSITIVITY.field("sharp")


def learn(public: PublicSide, options: Options) -> float:
    """B_ρ, from simulated data sets only (MATH R3)."""
    return _bound(public)


@functools.lru_cache(maxsize=16)
def _bound(public: PublicSide) -> float:
    return bound_quantile(thresholds.simulated(public, BOUND_SETS), BOUND_QUANTILE)


def calibrated(
    public: PublicSide, options: Options, bound: float | None, budget: Budget, accountant: str
) -> GaussianRejection:
    """The noise of all T decisions; without a bound distances are clipped to the largest one.

    ``linear`` adds up what they cost (MATH R2); ``advanced`` and ``optimal`` compose them with a δ.
    As the decisions follow from T noisy distances, with a δ they cost no more than those do, by any
    accountant of a Gaussian series; ``direct`` is its exact one.
    """
    sensitivity = public.distance.sensitivity(public.n, options.sensitivity)
    clipped_to = public.distance.bound if bound is None else bound
    of_run = (sensitivity, clipped_to, options.epsilon_abc)
    steps = public.pool_size
    if accountant == "linear":
        return calibrate(budget.epsilon_total, *of_run, steps)
    if accountant in composition.ACCOUNTANTS and accountant != "rdp":
        each = composition.largest_per_query_epsilon(
            budget.epsilon_total, steps, budget.delta, accountant
        )
        return GaussianRejection(*of_run, calibrate(each, *of_run, 1).scale, steps)
    series = gaussian_series.calibrate(
        budget.epsilon_total,
        budget.delta,
        steps,
        sensitivity,
        "exact" if accountant == "direct" else accountant,
    )
    return GaussianRejection(*of_run, series.scale, steps)


def released(
    prepared: Prepared, comparison: Distances, rng: np.random.Generator
) -> tuple[Release, Trace]:
    """Decide about all distances of a comparison."""
    return run(comparison.rho, prepared.options.epsilon_abc, prepared.event, rng)


def parts(prepared: Prepared) -> tuple[Part, ...]:
    """Every decision costs the same, accepted or rejected."""
    event, pool_size = cast(GaussianRejection, prepared.event), prepared.public.pool_size
    share = rejection.pure_epsilon(event) / pool_size
    return (Part("decision about a draw", pool_size, event.scale, share, "ε"),)


MECHANISMS = (
    Mechanism(
        name="gaussian-rejection",
        title="Rejection with Gaussian noise",
        description="The decision about every draw of the pool: Gaussian noise on every clipped "
        "distance; each decision is paid for.",
        source="[P22] Theorem 3.1",
        options=Options(),
        takes=("epsilon_abc", "sensitivity"),
        accountants={
            "linear": "pure",
            "advanced": "approximate",
            "optimal": "approximate",
            "rdp-classic": "approximate",
            "rdp": "approximate",
            "direct": "approximate",
        },
        calibrate=calibrated,
        release=released,
        parts=parts,
        learn=learn,
        grid=thresholds.thresholds,
        noise_needs_learnt=False,
    ),
)
