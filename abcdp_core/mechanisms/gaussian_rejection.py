r"""Rejection ABC with Gaussian noise on every distance ([P22] Theorem 3.1; MATH R1-R3).

Each draw's distance is clipped to [0, B_ρ] and becomes ρ_t + N(0, σ²); the draw is accepted if that
is at most ε_abc. All T decisions are released: nothing stops the run, and every decision costs the
same, however far its distance is from the threshold. Distances beyond the bound all count as the
bound, so that no decision is ever too certain. Without noise nothing is clipped: it is rejection
ABC over the whole pool.

The bound is public. A small quantile of the distances between *simulated* data sets allows less
noise, at the price of telling draws beyond it no longer apart (MATH R3).

Noise is drawn at scale 1 and then scaled, so that a change of budget, threshold or bound moves the
same noise.

**What it costs.** A decision accepts if $\rho + N(0, \sigma^2) \le \epsilon_{abc}$, with $\rho$
clipped to $[0, B_\rho]$ and moved by at most $\Delta$ by one data point. No decision is rarer than

$$p = \Phi(x/\sigma), \qquad x = \min(\epsilon_{abc} - B_\rho,\; -\epsilon_{abc}) \le -B_\rho/2,$$

the first if an acceptance at $\rho = B_\rho$ is the rarest, the second if a rejection at 0 is.

*Published* ([P22] Theorem 3.1): one decision is $\epsilon$-differentially private with

$$\epsilon = h(\sigma) = \min\bigl(1, \Delta / \sqrt{2\pi\sigma^2}\bigr) \,/\, \Phi(x/\sigma).
\tag{R1}$$

*Exact:* with $\Delta' = \min(\Delta, B_\rho)$, which is all that two clipped distances can differ
by,

$$\epsilon = \ln \Phi((x + \Delta')/\sigma) - \ln \Phi(x/\sigma). \tag{R2}$$

For $\ln\Phi$ is concave, so a shift by $\Delta'$ changes it most where its argument is smallest,
and that is $x/\sigma$, whichever decision it belongs to. Both are strictly decreasing in $\sigma$
and reach every positive value; neither minds $\epsilon_{abc} > B_\rho$, where it is the rejections
that are rare. All $T$ decisions are released, and at worst every one of them loses as much, so
their costs add up: $\epsilon_{total} = T \epsilon$.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core import parameters as par
from abcdp_core.mechanisms import Budget, Distances, Mechanism, Part, Prepared, PublicSide, Release
from abcdp_core.mechanisms.thresholds import EPSILON_ABC, SETS, simulated, thresholds
from abcdp_core.parameters import Params
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
from abcdp_core.privacy.calibration import check_positive, smallest_satisfying

Array = NDArray[np.float64]

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
        epsilon_abc: similarity threshold.
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
    """ε of one decision, rounded up; ``inf`` without noise.

    Args:
        event: what was done.
        accountant: ``published`` for R1, ``exact`` for R2.

    Raises:
        ValueError: the accountant is none of these.
    """
    if accountant not in ACCOUNTANTS:
        raise ValueError(f"accountant = {accountant}: must be one of {', '.join(ACCOUNTANTS)}.")
    if event.scale == 0:
        return math.inf
    return _published(event) if accountant == "published" else _exact(event)


def _rarest(event: GaussianRejection) -> float:
    """x: −x/σ standard deviations of luck make the rarest decision."""
    return min(event.epsilon_abc - event.bound, -event.epsilon_abc)


def _published(event: GaussianRejection) -> float:
    # Inside the function: what needs none of these functions starts without SciPy.
    from scipy import special

    rarest = float(special.log_ndtr(_rarest(event) / event.scale))
    change = math.log(event.sensitivity) - math.log(event.scale) - 0.5 * math.log(2.0 * math.pi)
    logarithm = min(0.0, change) - rarest * (1.0 + ROUNDING) + ROUNDING * (1.0 + abs(change))
    # Beyond, the exponential has no floating-point number.
    return math.exp(logarithm) if logarithm < 709.0 else math.inf


def _exact(event: GaussianRejection) -> float:
    from scipy import special

    shift = min(event.sensitivity, event.bound)
    moved = float(special.log_ndtr((_rarest(event) + shift) / event.scale))
    rarest = float(special.log_ndtr(_rarest(event) / event.scale))
    # Where both logarithms are nearly one, their difference says less than the bound.
    return min(moved * (1.0 - ROUNDING) - rarest * (1.0 + ROUNDING), _published(event))


def pure_epsilon(event: GaussianRejection, accountant: str = "exact") -> float:
    """ε_total of all decisions together, rounded up; arguments as in :func:`decision_epsilon`."""
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
    """The least noise whose cost is at most ``epsilon_total``, rounded to the safe side.

    Args:
        epsilon_total: privacy budget of all decisions, above 0.
        sensitivity: Δ of a distance before it is clipped, above 0.
        bound: B_ρ, distances are clipped to ``[0, bound]``; above 0.
        epsilon_abc: similarity threshold, above 0; may be larger than the bound.
        steps: T, decisions, at least 1.
        accountant: ``published`` for R1, ``exact`` for R2, which needs less noise.

    Raises:
        ValueError: an argument is out of range.
    """
    check_positive(
        epsilon_total=epsilon_total, sensitivity=sensitivity, bound=bound, epsilon_abc=epsilon_abc
    )
    if steps < 1:
        raise ValueError(f"steps = {steps}: must be at least 1.")

    def event(scale: float) -> GaussianRejection:
        return GaussianRejection(sensitivity, bound, epsilon_abc, scale, steps)

    def private(scale: float) -> bool:
        return pure_epsilon(event(scale), accountant) <= epsilon_total

    # Much noise makes every decision a fair coin: ε = 2 Δ / √(2π σ²).
    return event(smallest_satisfying(private, start=steps * sensitivity / epsilon_total))


# --------------------------------------------------------------------------------------- the run


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


def run(
    rho: Array, epsilon_abc: float, event: Event, rng: np.random.Generator
) -> tuple[Release, Trace]:
    """Decide about all distances ``(T,)`` with the noise of an event; :class:`NonPrivate` has none.

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
    accepted = noisy_distance <= epsilon_abc
    indices = np.flatnonzero(accepted)
    weights = np.full(len(indices), 1.0 / max(len(indices), 1))
    trace = Trace(noisy_distance, accepted, rho <= epsilon_abc)
    return Release(indices, weights, len(rho), event), trace


# ---------------------------------------------------------------------------------- the contract

BOUND_QUANTILE = 0.05
"""Distances are clipped to this quantile of those of simulated data sets ([P22])."""


@dataclass(frozen=True)
class Options(Params):
    """What a person may choose."""

    epsilon_abc: float = EPSILON_ABC.field(0.1)
    sensitivity: str = par.SENSITIVITY.field("sharp")


def fit(public: PublicSide, options: Options) -> float:
    """B_ρ, from simulated data sets only (MATH R3)."""
    return _bound(public)


def bound_quantile(distances: Array, quantile: float) -> float:
    """B_ρ: a quantile of distances, of any shape, between *simulated* data sets (MATH R3).

    [P22] calls the small one "top 5 percentile": most distances exceed it, so it is the 5 %
    quantile. Distances of the private data have no place here.

    Where so many are 0 that it is 0 too, as with a count of few records, it is the quantile of the
    others: noise for a bound of 0 would be none.

    Raises:
        ValueError: the quantile does not lie in (0, 1], or no distance is a positive number.
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
    share = pure_epsilon(event) / pool_size
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
