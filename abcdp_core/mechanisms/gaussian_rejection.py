r"""Rejection ABC with Gaussian noise on every distance ([P22] Theorem 3.1; MATH R1-R3).

Each draw's distance is clipped to [0, B_ρ] and becomes ρ_t + N(0, σ²); the draw is kept if that is
at most ε_abc. All T decisions are released, and each costs the same. Without noise nothing is
clipped: it is rejection ABC over the whole pool.

The bound is public. A small quantile of the distances between *simulated* data sets allows less
noise, but draws beyond it all look alike (MATH R3).

Noise is drawn at scale 1 and then scaled, so that another budget, threshold or bound reuses it.

**What it costs.** A draw is kept if $\rho + N(0, \sigma^2) \le \epsilon_{abc}$, with $\rho$ clipped
to $[0, B_\rho]$ and moved by at most $\Delta$ by one person. No decision is rarer than

$$p = \Phi(x/\sigma), \qquad x = \min(\epsilon_{abc} - B_\rho,\; -\epsilon_{abc}) \le -B_\rho/2,$$

the first if keeping at $\rho = B_\rho$ is the rarest decision, the second if rejecting at 0 is.

*Published* ([P22] Theorem 3.1): one decision is $\epsilon$-differentially private with

$$\epsilon = h(\sigma) = \min\bigl(1, \Delta / \sqrt{2\pi\sigma^2}\bigr) \,/\, \Phi(x/\sigma).
\tag{R1}$$

*Exact:* with $\Delta' = \min(\Delta, B_\rho)$, the most by which two clipped distances differ,

$$\epsilon = \ln \Phi((x + \Delta')/\sigma) - \ln \Phi(x/\sigma). \tag{R2}$$

Because $\ln\Phi$ is concave, a shift by $\Delta'$ changes it most where its argument is smallest,
at $x/\sigma$. Both bounds strictly decrease in $\sigma$, reach every positive value, and hold for
$\epsilon_{abc} > B_\rho$ too, where rejections are rare. At worst every decision loses as much, so
the costs of all $T$ add up: $\epsilon_{total} = T \epsilon$.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import cast

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.mechanisms import Budget, Distances, Mechanism, Part, Prepared, PublicSide, Release
from abcdp_core.mechanisms.thresholds import SETS, DistanceOptions, simulated, thresholds
from abcdp_core.privacy import (
    Cost,
    Event,
    GaussianSeries,
    NonPrivate,
    composition,
    cost,
    gaussian_series,
    tradeoff,
)
from abcdp_core.privacy.calibration import (
    check_counts,
    check_one_of,
    check_positive,
    smallest_satisfying,
)

ACCOUNTANTS = ("published", "exact")

ROUNDING = 1e-14
"""Relative error allowed for in a logarithm of Φ."""


# ----------------------------------------------------------------------------------- what it costs


@dataclass(frozen=True)
class GaussianRejection(Event):
    """Decisions about clipped distances with Gaussian noise, all of them released (MATH R1, R2).

    Attributes:
        sensitivity: most that one person can change a distance.
        bound: distances are clipped to ``[0, bound]``.
        epsilon_abc: threshold.
        scale: standard deviation of the noise.
        steps: how many decisions.
    """

    sensitivity: float
    bound: float
    epsilon_abc: float
    scale: float
    steps: int


@cost.register
def _(event: GaussianRejection, delta: float = 0.0) -> Cost:
    return Cost(pure_epsilon(event))


@tradeoff.curve.register
def _(event: GaussianRejection, false_alarm: Array) -> tradeoff.Curve:
    shift = min(event.sensitivity, event.bound)
    series = GaussianSeries(shift, event.scale, event.steps)
    lines = tradeoff.approximate(pure_epsilon(event), 0.0, false_alarm)
    noisy = tradeoff.gaussian(gaussian_series.joint_mu(series), false_alarm)
    return tradeoff.Curve(false_alarm, np.maximum(lines, noisy), "bound")


def decision_epsilon(event: GaussianRejection, accountant: str = "exact") -> float:
    """Return ε of one decision, rounded up; ``inf`` without noise.

    Args:
        event: what was done.
        accountant: ``published`` for R1, ``exact`` for R2.

    Raises:
        ValueError: the accountant is neither.
    """
    check_one_of(ACCOUNTANTS, accountant=accountant)
    if event.scale == 0:
        return math.inf
    # Imported here, so that starting needs no SciPy.
    from scipy import special

    place = min(event.epsilon_abc - event.bound, -event.epsilon_abc)
    rarest = float(special.log_ndtr(place / event.scale))
    change = math.log(event.sensitivity) - math.log(event.scale) - 0.5 * math.log(2.0 * math.pi)
    logarithm = min(0.0, change) - rarest * (1.0 + ROUNDING) + ROUNDING * (1.0 + abs(change))
    # From 709 on the exponential overflows.
    published = math.exp(logarithm) if logarithm < 709.0 else math.inf
    if accountant == "published":
        return published
    shift = min(event.sensitivity, event.bound)
    moved = float(special.log_ndtr((place + shift) / event.scale))
    # If both logarithms are nearly equal, rounding makes their difference the looser bound.
    return min(moved * (1.0 - ROUNDING) - rarest * (1.0 + ROUNDING), published)


def pure_epsilon(event: GaussianRejection, accountant: str = "exact") -> float:
    """Return ε_total of all decisions, rounded up; arguments as in :func:`decision_epsilon`."""
    return math.nextafter(event.steps * decision_epsilon(event, accountant), math.inf)


@functools.lru_cache(maxsize=1024)
def calibrate(
    epsilon_total: float,
    sensitivity: float,
    bound: float,
    epsilon_abc: float,
    steps: int,
    accountant: str = "exact",
) -> GaussianRejection:
    """Return the least noise whose cost is at most ``epsilon_total``, rounded to the safe side.

    Args:
        epsilon_total: privacy budget of all decisions, above 0.
        sensitivity: Δ of a distance before it is clipped, above 0.
        bound: B_ρ, distances are clipped to ``[0, bound]``; above 0.
        epsilon_abc: threshold, above 0; may be larger than the bound.
        steps: T, decisions, at least 1.
        accountant: ``published`` for R1, ``exact`` for R2, which needs less noise.

    Raises:
        ValueError: an argument is out of range.
    """
    check_positive(
        epsilon_total=epsilon_total, sensitivity=sensitivity, bound=bound, epsilon_abc=epsilon_abc
    )
    check_counts(steps=steps)

    def event(scale: float) -> GaussianRejection:
        return GaussianRejection(sensitivity, bound, epsilon_abc, scale, steps)

    def private(scale: float) -> bool:
        return pure_epsilon(event(scale), accountant) <= epsilon_total

    # With much noise every decision is a fair coin, and ε = 2 Δ / √(2π σ²).
    return event(smallest_satisfying(private, start=steps * sensitivity / epsilon_total))


# --------------------------------------------------------------------------------------- the run


def run(rho: Array, epsilon_abc: float, event: Event, rng: np.random.Generator) -> Release:
    """Keep or reject every draw, given distances ``(T,)`` and an event; NonPrivate has no noise.

    Raises:
        TypeError: the event is of another kind.
    """
    if isinstance(event, GaussianRejection):
        clipped = np.clip(rho, 0.0, event.bound)
        noisy_distance = clipped + event.scale * rng.standard_normal(len(rho))
    elif isinstance(event, NonPrivate):
        noisy_distance = rho
    else:
        raise TypeError(f"{type(event).__name__} is not an event of rejection with Gaussian noise.")
    return Release.of_equals(np.flatnonzero(noisy_distance <= epsilon_abc), len(rho), event)


# ---------------------------------------------------------------------------------- the contract

BOUND_QUANTILE = 0.05
"""Distances are clipped to this quantile of the distances between simulated data sets ([P22])."""


def fit(public: PublicSide, options: DistanceOptions) -> float:
    """Return B_ρ, from simulated data sets only (MATH R3)."""
    return _bound(public)


def bound_quantile(distances: Array, quantile: float) -> float:
    """Return B_ρ: a quantile of distances, of any shape, between *simulated* data sets (MATH R3).

    [P22] says "top 5 percentile" and means the 5 % quantile: most distances exceed it. If the
    quantile is 0, as with a count of few records, take the quantile of the positive distances: a
    bound of 0 would mean no noise.

    Raises:
        ValueError: the quantile is not in (0, 1], or no distance is a positive number.
    """
    if not 0.0 < quantile <= 1.0:
        raise ValueError(f"quantile = {quantile}: must lie above 0 and not above 1.")
    bound = float(np.quantile(distances, quantile))
    if bound == 0.0 and distances.any():
        bound = float(np.quantile(distances[distances > 0.0], quantile))
    if not 0.0 < bound < math.inf:
        raise ValueError(f"bound = {bound}: simulated data sets have no positive distance.")
    return bound


@functools.lru_cache(maxsize=16)
def _bound(public: PublicSide) -> float:
    return bound_quantile(simulated(public, SETS), BOUND_QUANTILE)


def calibrated(
    public: PublicSide,
    options: DistanceOptions,
    bound: float | None,
    budget: Budget,
    accountant: str,
) -> GaussianRejection:
    """Return the noise of all T decisions; without a bound, clip to the distance's largest value.

    ``linear`` adds up the costs (MATH R2); ``advanced`` and ``optimal`` compose them with a δ. The
    decisions follow from T noisy distances, so they cost no more than a Gaussian series, by any of
    its accountants; ``direct`` is the exact one.
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


def released(prepared: Prepared, comparison: Distances, rng: np.random.Generator) -> Release:
    """Keep or reject every draw of a comparison."""
    return run(comparison.rho, prepared.options.epsilon_abc, prepared.event, rng)


def parts(prepared: Prepared) -> tuple[Part, ...]:
    """Return the cost of one decision, the same for keeping and rejecting."""
    event, pool_size = cast(GaussianRejection, prepared.event), prepared.public.pool_size
    share = pure_epsilon(event) / pool_size
    return (Part("decision about a draw", pool_size, event.scale, share, "ε"),)


MECHANISMS = (
    Mechanism(
        name="gaussian-rejection",
        title="Rejection with Gaussian noise",
        description="Keeps or rejects every draw of the pool, with Gaussian noise on each clipped "
        "distance; every decision is paid for.",
        source="[P22] Theorem 3.1",
        options=DistanceOptions(),
        takes=("epsilon_abc", "sensitivity"),
        accountants={
            "linear": "pure",
            **Mechanism.with_delta("advanced", "optimal", "rdp-classic", "rdp", "direct"),
        },
        calibrate=calibrated,
        release=released,
        parts=parts,
        fit=fit,
        grid=thresholds,
        noise_needs_fitted=False,
    ),
)
