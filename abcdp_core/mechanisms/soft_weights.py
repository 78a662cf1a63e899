r"""Soft ABCDP: a weight for every draw, from its distance with Gaussian noise (MATH W1-W3).

[P22] Theorems 3.2 and 3.3. Each draw's distance, in units of the threshold, becomes

$$\tilde D_t = \rho_t / \epsilon_{abc} + N(0, \sigma^2) \tag{W1}$$

and its weight is proportional to $\exp(-\max(\tilde D_t, 0))$: as in the published code, negative
values count as 0. Weights are normalised over all T draws of the pool. One data point moves
$\rho_t / \epsilon_{abc}$ by at most $\Delta / \epsilon_{abc}$, for every draw: a series of T
Gaussian releases, of which the weights are post-processing.

Without noise it is K2-ABC, with weights proportional to $\exp(-\rho_t^q / \epsilon_{abc})$, q > 0.

Weights are computed in logarithms from the largest one on, so that they never vanish all together.
Noise is drawn at scale 1 and then scaled, so that a change of budget or threshold moves the same
noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core import parameters as par
from abcdp_core.mechanisms import Budget, Distances, Mechanism, Part, Prepared, PublicSide, Release
from abcdp_core.mechanisms.thresholds import EPSILON_ABC, temperatures
from abcdp_core.parameters import Params
from abcdp_core.privacy import Event, GaussianSeries, NonPrivate, composition, gaussian_series
from abcdp_core.privacy.calibration import check_positive
from abcdp_core.privacy.local import gaussian_unit_scale

Array = NDArray[np.float64]


# ----------------------------------------------------------------------------------- what it costs


def calibrate(
    epsilon_total: float,
    delta: float,
    sensitivity: float,
    epsilon_abc: float,
    steps: int,
    accountant: str = "exact",
) -> GaussianSeries:
    """The least noise whose cost is at most the budget, in units of the threshold.

    Args:
        epsilon_total: privacy budget, above 0.
        delta: δ, between 0 and 1.
        sensitivity: Δ of a distance, above 0.
        epsilon_abc: similarity threshold, in the unit of the distance; above 0.
        steps: T, draws of the pool, at least 1.
        accountant: ``exact``, ``rdp`` or ``rdp-classic``; the latter need more noise.

    Raises:
        ValueError: an argument is out of range.
    """
    moved = _in_units(sensitivity, epsilon_abc)
    return gaussian_series.calibrate(epsilon_total, delta, steps, moved, accountant)


def _in_units(sensitivity: float, epsilon_abc: float) -> float:
    """Δ in units of the threshold, rounded up."""
    check_positive(sensitivity=sensitivity, epsilon_abc=epsilon_abc)
    return math.nextafter(sensitivity / epsilon_abc, math.inf)


# --------------------------------------------------------------------------------------- the run


@dataclass(frozen=True)
class Trace:
    """What happened inside, for teaching; never published. One entry per draw (T,).

    Attributes:
        noisy_distance: D̃_t, before negative values count as 0.
        non_private: weights without noise.
    """

    noisy_distance: Array = field(repr=False)
    non_private: Array = field(repr=False)


def weights_of(distances: Array) -> Array:
    """Weights ``(T,)`` that sum to 1, proportional to exp(−max(D, 0)) for each distance D."""
    projected = np.maximum(distances, 0.0)
    relative = np.exp(projected.min() - projected)
    weights: Array = relative / relative.sum()
    return weights


def run(scaled: Array, event: Event, rng: np.random.Generator) -> tuple[Release, Trace]:
    """Weights of all draws from distances ``(T,)`` in units of the threshold, T at least 1.

    Args:
        scaled: ρ_t / ε_abc, or without noise ρ_t^q / ε_abc.
        event: holds the noise scale; :class:`NonPrivate` for none.
        rng: source of all chance.

    Raises:
        TypeError: the event is of another kind.
    """
    if isinstance(event, GaussianSeries):
        noisy = scaled + event.scale * rng.standard_normal(len(scaled))
    elif isinstance(event, NonPrivate):
        noisy = scaled
    else:
        raise TypeError(f"{type(event).__name__} is not an event of soft weights.")
    published = Release(np.arange(len(scaled)), weights_of(noisy), len(scaled), event)
    return published, Trace(noisy, weights_of(scaled))


# ---------------------------------------------------------------------------------- the contract


@dataclass(frozen=True)
class Options(Params):
    """What a person may choose."""

    epsilon_abc: float = EPSILON_ABC.field(0.01)
    sensitivity: str = par.SENSITIVITY.field("sharp")


def calibrated(
    public: PublicSide, options: Options, fitted: None, budget: Budget, accountant: str
) -> GaussianSeries:
    """The noise of all T distances, in units of the temperature.

    ``linear`` shares budget and δ out evenly; ``advanced`` takes half of δ for the distances and
    half for their composition; the others account for the series as one.
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


def released(
    prepared: Prepared, comparison: Distances, rng: np.random.Generator
) -> tuple[Release, Trace]:
    """Weights of all draws of a comparison."""
    return run(comparison.rho / prepared.options.epsilon_abc, prepared.event, rng)


def parts(prepared: Prepared) -> tuple[Part, ...]:
    """Every weight costs the same."""
    event, pool_size = cast(GaussianSeries, prepared.event), prepared.public.pool_size
    moved = event.sensitivity / event.scale
    scale = event.scale * prepared.options.epsilon_abc
    return (Part("weight of a draw", pool_size, scale, moved, "μ"),)


MECHANISMS = (
    Mechanism(
        name="soft-weights",
        title="Soft weights",
        description="A weight for every draw of the pool: Gaussian noise on every distance; each "
        "weight is paid for.",
        source="[P22] Theorems 3.2 and 3.3",
        options=Options(),
        takes=("epsilon_abc", "sensitivity"),
        accountants=Mechanism.with_delta("exact", "linear", "advanced", "rdp-classic", "rdp"),
        calibrate=calibrated,
        release=released,
        parts=parts,
        grid=temperatures,
    ),
)
