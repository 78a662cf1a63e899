r"""Soft ABCDP: a weight for every draw, from its distance with Gaussian noise (MATH W1-W3).

[P22] Theorems 3.2 and 3.3. Each draw's distance, in units of the threshold, becomes

$$\tilde D_t = \rho_t / \epsilon_{abc} + N(0, \sigma^2) \tag{W1}$$

and its weight is proportional to $\exp(-\max(\tilde D_t, 0))$: as in the published code, negative
values count as 0. Weights are normalized over all T draws of the pool. One person moves
$\rho_t / \epsilon_{abc}$ by at most $\Delta / \epsilon_{abc}$, for every draw. So the weights are
post-processing of T Gaussian releases.

Without noise it is K2-ABC, with weights proportional to $\exp(-\rho_t^q / \epsilon_{abc})$, q > 0.

Noise is drawn at scale 1 and then scaled, so another budget or threshold reuses it.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.mechanisms import Budget, Distances, Mechanism, Part, Prepared, PublicSide, Release
from abcdp_core.mechanisms.thresholds import DistanceOptions, temperatures
from abcdp_core.privacy import Event, GaussianSeries, NonPrivate, composition, gaussian_series
from abcdp_core.privacy.calibration import check_positive
from abcdp_core.privacy.gaussian_series import gaussian_unit_scale

# ----------------------------------------------------------------------------------- what it costs


def calibrate(
    epsilon_total: float,
    delta: float,
    sensitivity: float,
    epsilon_abc: float,
    steps: int,
    accountant: str = "exact",
) -> GaussianSeries:
    """Return the least noise whose cost is at most the budget, in units of the threshold.

    Sensitivity and threshold, above 0, are in the unit of the distance; other arguments and errors
    are those of :func:`.gaussian_series.calibrate`.
    """
    moved = _in_units(sensitivity, epsilon_abc)
    return gaussian_series.calibrate(epsilon_total, delta, steps, moved, accountant)


def _in_units(sensitivity: float, epsilon_abc: float) -> float:
    """Return Δ in units of the threshold, rounded up."""
    check_positive(sensitivity=sensitivity, epsilon_abc=epsilon_abc)
    return math.nextafter(sensitivity / epsilon_abc, math.inf)


# --------------------------------------------------------------------------------------- the run


def weights_of(distances: Array) -> Array:
    """Return weights ``(T,)`` that sum to 1, proportional to exp(−max(D, 0)) for distances D."""
    projected = np.maximum(distances, 0.0)
    # Relative to the largest weight, so that not all of them underflow.
    relative = np.exp(projected.min() - projected)
    return relative / relative.sum()


def run(scaled: Array, event: Event, rng: np.random.Generator) -> Release:
    """Weight all draws once, with the noise of an event.

    Args:
        scaled: distances ``(T,)`` in units of the threshold, ρ_t / ε_abc; without noise
            ρ_t^q / ε_abc. T is at least 1.
        event: holds the noise scale; :class:`NonPrivate` for none.
        rng: source of all noise.

    Raises:
        TypeError: the event is of another kind.
    """
    if isinstance(event, GaussianSeries):
        noisy = scaled + event.scale * rng.standard_normal(len(scaled))
    elif isinstance(event, NonPrivate):
        noisy = scaled
    else:
        raise TypeError(f"{type(event).__name__} is not an event of soft weights.")
    return Release(np.arange(len(scaled)), weights_of(noisy), len(scaled), event)


# ---------------------------------------------------------------------------------- the contract


def calibrated(
    public: PublicSide, options: DistanceOptions, fitted: None, budget: Budget, accountant: str
) -> GaussianSeries:
    """Return the noise of all T distances, in units of the threshold.

    ``linear`` splits budget and δ evenly; ``advanced`` spends half of δ on the distances and half
    on their composition; the others account for the series as one.
    """
    sensitivity = public.distance.sensitivity(public.n, options.sensitivity)
    moved = _in_units(sensitivity, options.epsilon_abc)
    epsilon_total, delta, steps = budget.epsilon_total, budget.delta, public.pool_size
    if accountant == "linear":
        unit = gaussian_unit_scale(epsilon_total / steps, delta / steps)
    elif accountant == "advanced":
        half = delta / 2.0
        each = composition.largest_per_query_epsilon(epsilon_total, steps, half, "advanced")
        unit = gaussian_unit_scale(each, half / steps)
    else:
        return calibrate(epsilon_total, delta, sensitivity, options.epsilon_abc, steps, accountant)
    return GaussianSeries(moved, moved * unit, steps)


def released(prepared: Prepared, comparison: Distances, rng: np.random.Generator) -> Release:
    """Weight all draws of a comparison."""
    return run(comparison.rho / prepared.options.epsilon_abc, prepared.event, rng)


def parts(prepared: Prepared) -> tuple[Part, ...]:
    """Return the cost of one weight, the same for all."""
    event, pool_size = cast(GaussianSeries, prepared.event), prepared.public.pool_size
    moved = event.sensitivity / event.scale
    scale = event.scale * prepared.options.epsilon_abc
    return (Part("weight of a draw", pool_size, scale, moved, "μ"),)


MECHANISMS = (
    Mechanism(
        name="soft-weights",
        title="Soft weights",
        description="Gives every draw of the pool a weight, with Gaussian noise on its distance; "
        "each weight is paid for.",
        source="[P22] Theorems 3.2 and 3.3",
        options=DistanceOptions(epsilon_abc=0.01),
        takes=("epsilon_abc", "sensitivity"),
        accountants=Mechanism.with_delta("exact", "linear", "advanced", "rdp-classic", "rdp"),
        calibrate=calibrated,
        release=released,
        parts=parts,
        grid=temperatures,
    ),
)
