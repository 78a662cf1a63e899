"""ABCDP by the sparse vector technique ([P21] Algorithm 1; MATH S1-S5).

At the start the threshold becomes ε_abc + m with m ~ Lap(b₁). Each draw's distance becomes ρ_t +
ν_t with ν_t ~ Lap(b₂), and the draw is kept if ρ_t + ν_t ≤ ε_abc + m. With ``resample``, m is drawn
again after each kept draw. The run stops when it has kept ``c`` draws or at the end of the pool,
possibly with fewer (MATH S4). Without noise this is rejection ABC: the first ``c`` draws with
ρ_t ≤ ε_abc (MATH S5).

The cost of a run is [P21] Theorem 1 with any split of the noise (MATH S2, S3):

    ε_total = Δ/b₁ + 2cΔ/b₂        one threshold noise,
    ε_total = c (Δ/b₁ + 2Δ/b₂)     redrawn after each kept draw.

The paper takes b₁ = b and b₂ = 2b, so b = (c+1)Δ/ε_total or 2cΔ/ε_total.

Noise is drawn at scale 1 and then scaled, so another budget, threshold or c reuses it.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

import numba
import numpy as np
from numpy.typing import NDArray

from abcdp_core.base import parameters as par
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Params, choice
from abcdp_core.mechanisms import Budget, Distances, Mechanism, Part, Prepared, PublicSide, Release
from abcdp_core.mechanisms.thresholds import EPSILON_ABC, thresholds
from abcdp_core.privacy import Cost, Event, NonPrivate, ThresholdRun, cost, noise_in_words, tradeoff
from abcdp_core.privacy.calibration import (
    check_between_0_and_1,
    check_counts,
    check_positive,
    round_up,
)

# ----------------------------------------------------------------------------------- what it costs


@dataclass(frozen=True)
class SparseVector(ThresholdRun):
    """One run with Laplace noise of the scales b₁ and b₂ (MATH S1-S3)."""


@cost.register
def _(event: SparseVector, delta: float = 0.0) -> Cost:
    return Cost(pure_epsilon(event))


@noise_in_words.register
def _(event: SparseVector) -> str:
    threshold = "redrawn after each kept draw" if event.resample else "drawn once"
    return (
        f"Laplace, scale b = {event.threshold_scale:.3g} on the threshold ({threshold}) "
        f"and {event.query_scale:.3g} on each distance; Δ = {event.sensitivity:.3g}"
    )


@tradeoff.curve.register
def _(event: SparseVector, false_alarm: Array) -> tradeoff.Curve:
    """Return an attained curve for up to ACCEPTANCES and one threshold, else the bound by ε."""
    # Imported here: only studies of attackers need it.
    from abcdp_core.mechanisms import sparse_vector_pairs

    if event.c > sparse_vector_pairs.ACCEPTANCES or (event.resample and event.c > 1):
        miss = tradeoff.approximate(pure_epsilon(event), 0.0, false_alarm)
        return tradeoff.Curve(false_alarm, miss, "bound")
    laws = sparse_vector_pairs.laws(event)
    return tradeoff.Curve(false_alarm, tradeoff.worst(laws, false_alarm), "attained")


@dataclass(frozen=True)
class Segments(SparseVector):
    """A run accounted for as a composition of c segments, each with its own threshold.

    A segment is a run with c = 1 over the remaining draws, with its own noise. Its start follows
    from what the earlier segments released, so the run is an adaptive composition of at most c
    private answers. With a single threshold it is not.

    Raises:
        ValueError: the threshold is not redrawn.
    """

    def __post_init__(self) -> None:
        """Refuse a single threshold."""
        if not self.resample:
            raise ValueError("resample = False: segments need a threshold each.")


@cost.register
def _(event: Segments, delta: float = 0.0) -> Cost:
    """Return the best cost that follows from each segment's ε (Kairouz, Oh & Viswanath, 2015)."""
    each, pure = pure_epsilon(dataclasses.replace(event, c=1)), pure_epsilon(event)
    if delta == 0.0 or math.isinf(each):
        return Cost(pure, delta)
    # Imported here, as below: most runs do not need it.
    from abcdp_core.privacy import composition

    return Cost(min(pure, composition.epsilon(each, event.c, delta, "optimal")), delta)


tradeoff.curve.register(Segments, tradeoff.of_cost)


def pure_epsilon(event: SparseVector) -> float:
    """Return ε_total of a run (MATH S3), rounded up; ``inf`` if a noise scale is 0."""
    if min(event.threshold_scale, event.query_scale) == 0:
        return math.inf
    return round_up(_exact_epsilon(event))


def _exact_epsilon(event: SparseVector) -> Fraction:
    """Return ε_total in rational arithmetic."""
    delta = Fraction(event.sensitivity)
    threshold = delta / Fraction(event.threshold_scale)
    queries = 2 * event.c * delta / Fraction(event.query_scale)
    return (event.c * threshold if event.resample else threshold) + queries


def calibrate(
    epsilon_total: float,
    sensitivity: float,
    c: int,
    *,
    resample: bool,
    threshold_share: float | None = None,
) -> SparseVector:
    """Return the least noise whose cost is at most ``epsilon_total``, rounded to the safe side.

    Args:
        epsilon_total: privacy budget, above 0.
        sensitivity: Δ of every query, above 0.
        c: draws to keep, at least 1.
        resample: whether the threshold's noise is redrawn after each kept draw.
        threshold_share: part of the budget spent on the threshold, in (0, 1); ``None`` for the
            paper's split b₂ = 2 b₁.

    Raises:
        ValueError: an argument is out of range.
    """
    check_positive(epsilon_total=epsilon_total, sensitivity=sensitivity)
    check_counts(c=c)
    if threshold_share is None:
        threshold_share = 0.5 if resample else 1.0 / (c + 1)
    check_between_0_and_1(threshold_share=threshold_share)
    redraws = c if resample else 1
    threshold_scale = redraws * sensitivity / (threshold_share * epsilon_total)
    query_scale = 2 * c * sensitivity / ((1.0 - threshold_share) * epsilon_total)
    event = SparseVector(sensitivity, threshold_scale, query_scale, c, resample)
    while _exact_epsilon(event) > Fraction(epsilon_total):
        threshold_scale = math.nextafter(threshold_scale, math.inf)
        query_scale = math.nextafter(query_scale, math.inf)
        event = SparseVector(sensitivity, threshold_scale, query_scale, c, resample)
    return event


def best_threshold_share(c: int, *, resample: bool) -> float:
    """Return the split with the least variance of query minus threshold noise ([LSL17]; S3)."""
    queries = 2.0 ** (2 / 3) if resample else (2.0 * c) ** (2 / 3)
    return 1.0 / (1.0 + queries)


# --------------------------------------------------------------------------------------- the run


@dataclass(frozen=True)
class Trace:
    """What happened inside, for teaching; never published. One entry per draw looked at (s,).

    Attributes:
        noisy_distance: ρ_t + ν_t.
        noisy_threshold: ε_abc + m for draw t.
        accepted: whether the run kept the draw.
        non_private: whether ρ_t ≤ ε_abc.
    """

    noisy_distance: Array = field(repr=False)
    noisy_threshold: Array = field(repr=False)
    accepted: NDArray[np.bool_] = field(repr=False)
    non_private: NDArray[np.bool_] = field(repr=False)


def draw_noise(rng: np.random.Generator, steps: int, c: int) -> tuple[Array, Array]:
    """Draw Laplace noise of scale 1 for the queries ``(steps,)`` and the thresholds ``(c,)``.

    Thresholds come last, so that another ``c`` reuses the noise.
    """
    return rng.laplace(size=steps), rng.laplace(size=c)


def run(
    rho: Array, epsilon_abc: float, event: Event, rng: np.random.Generator
) -> tuple[Release, Trace]:
    """Run the mechanism once with the noise of an event.

    Args:
        rho: distances ``(T,)`` of the data to the draws.
        epsilon_abc: threshold.
        event: its noise, c, and whether the threshold is redrawn.
        rng: source of all noise.

    Raises:
        TypeError: the event is of another kind.
    """
    if not isinstance(event, SparseVector):
        raise TypeError(f"{type(event).__name__} is not an event of a sparse vector run.")
    return with_noise(rho, epsilon_abc, event, *draw_noise(rng, len(rho), event.c))


def with_noise(
    rho: Array, epsilon_abc: float, event: ThresholdRun, query: Array, threshold: Array
) -> tuple[Release, Trace]:
    """Run once with noise of scale 1 for the queries ``(T,)`` and the thresholds ``(c,)``."""
    noisy_distance = rho + event.query_scale * query
    noisy_threshold = epsilon_abc + event.threshold_scale * threshold
    return decide(rho, noisy_distance, noisy_threshold, epsilon_abc, event.resample, event)


def non_private(rho: Array, epsilon_abc: float, c: int) -> tuple[Release, Trace]:
    """Keep the first ``c`` draws whose distances ``(T,)`` are within ε_abc (MATH S5)."""
    return decide(rho, rho, np.full(c, epsilon_abc), epsilon_abc, False, NonPrivate())


def decide(
    rho: Array,
    noisy_distance: Array,
    noisy_threshold: Array,
    epsilon_abc: float,
    resample: bool,
    event: Event,
) -> tuple[Release, Trace]:
    """Return what a run with this noise keeps, and what happened in it.

    Args:
        rho: distances ``(T,)``.
        noisy_distance: the same with noise ``(T,)``.
        noisy_threshold: ``(c,)``, as in :func:`scan`.
        epsilon_abc: threshold without noise.
        resample: whether the threshold changes after each kept draw.
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
    return Release.of_equals(indices, stopped_at, event), trace


def scan(
    noisy_distance: Array, noisy_threshold: Array, c: int, resample: bool
) -> tuple[NDArray[np.int64], int]:
    """Return the indices of the first ``c`` kept draws and the number of draws looked at.

    Args:
        noisy_distance: ``(T,)``.
        noisy_threshold: ``(c,)``, the k-th for the draws after k kept ones; without ``resample``
            the first for all.
        c: draws to keep.
        resample: whether the threshold changes after each kept draw.
    """
    if resample:
        return _scan_redrawn(noisy_distance, noisy_threshold, c)
    # Not compiled: loading a compiled function delays the first page by half a second.
    indices = np.flatnonzero(noisy_distance <= noisy_threshold[0])[:c]
    return indices, int(indices[-1]) + 1 if len(indices) == c else len(noisy_distance)


@numba.njit(cache=True, nogil=True)
def _scan_redrawn(
    noisy_distance: Array, noisy_threshold: Array, c: int
) -> tuple[NDArray[np.int64], int]:
    """Scan with a threshold that changes after each kept draw."""
    indices = np.empty(c, dtype=np.int64)
    count = 0
    for t in range(len(noisy_distance)):
        if noisy_distance[t] <= noisy_threshold[count]:
            indices[count] = t
            count += 1
            if count == c:
                return indices, t + 1
    return indices[:count], len(noisy_distance)


# ---------------------------------------------------------------------------------- the contract


SPLIT = choice(
    "Split of the budget",
    "published: twice the threshold's noise on each distance. best: the split with the least "
    "variance of their difference.",
    ("published", "best"),
)


@dataclass(frozen=True)
class RunOptions(Params):
    """What a person may choose for a run with noise of any distribution."""

    epsilon_abc: float = EPSILON_ABC.field(0.1)
    c: int = par.C.field(10)
    resample: bool = par.RESAMPLE.field(False)
    sensitivity: str = par.SENSITIVITY.field("sharp")


@dataclass(frozen=True)
class Options(RunOptions):
    """What a person may choose."""

    split: str = SPLIT.field("published")


def calibrated(
    public: PublicSide, options: Options, fitted: None, budget: Budget, accountant: str
) -> SparseVector:
    """Return the noise of a run.

    ``linear`` accounts for the run as one (MATH S2). The other accountants compose
    :class:`Segments`, so they redraw the threshold.
    """
    sensitivity = public.distance.sensitivity(public.n, options.sensitivity)
    if accountant == "linear":
        share = _share(options, options.c)
        epsilon_total, c, resample = budget.epsilon_total, options.c, options.resample
        return calibrate(epsilon_total, sensitivity, c, resample=resample, threshold_share=share)
    from abcdp_core.privacy import composition

    each = composition.largest_per_query_epsilon(
        budget.epsilon_total, options.c, budget.delta, accountant
    )

    def segments(each: float) -> Segments:
        one = calibrate(each, sensitivity, 1, resample=True, threshold_share=_share(options, 1))
        return Segments(sensitivity, one.threshold_scale, one.query_scale, options.c, resample=True)

    event, step = segments(each), 1e-13
    # The event's cost is rounded up, to as much as 1e-6 above the accountant's.
    while cost(event, budget.delta).epsilon > budget.epsilon_total:
        each *= 1.0 - step
        event, step = segments(each), 2.0 * step
    return event


def _share(options: Options, c: int) -> float | None:
    """Return the threshold's part of the budget; ``None`` for the paper's."""
    if options.split == "published":
        return None
    return best_threshold_share(c, resample=options.resample)


def released(
    run: Callable[..., tuple[Release, Trace]],
    prepared: Prepared,
    comparison: Distances,
    rng: np.random.Generator,
) -> Release:
    """Run once over all distances of a comparison, with either kind of noise."""
    asked: RunOptions = prepared.options
    if isinstance(prepared.event, NonPrivate):
        return non_private(comparison.rho, asked.epsilon_abc, asked.c)[0]
    return run(comparison.rho, asked.epsilon_abc, prepared.event, rng)[0]


def parts(prepared: Prepared) -> tuple[Part, ...]:
    """Return what is paid for. Rejected draws are free: the threshold's noise pays (MATH S2)."""
    return parts_of_run(cast(SparseVector, prepared.event), prepared.public.pool_size, "ε")


def parts_of_run(event: ThresholdRun, pool_size: int, measure: str) -> tuple[Part, ...]:
    """Return the costs of threshold, kept draws and rejected draws, for either kind of noise."""
    change, threshold, query = event.sensitivity, event.threshold_scale, event.query_scale
    redrawn = event.c if event.resample else 1
    return (
        Part("threshold", redrawn, threshold, change / threshold, measure),
        Part("accepted sample", event.c, query, 2.0 * change / query, measure),
        Part("rejected draw", pool_size - event.c, query, 0.0, measure),
    )


LINEAR = Mechanism(
    name="sparse-vector",
    title="Sparse vector technique",
    description="Keeps draws until it has c, with Laplace noise on the threshold and on every "
    "distance; each kept draw is paid for.",
    source="[P21] Algorithm 1",
    options=Options(),
    takes=("epsilon_abc", "c", "sensitivity"),
    accountants={"linear": "pure", **Mechanism.with_delta("advanced", "optimal", "rdp")},
    calibrate=calibrated,
    release=functools.partial(released, run),
    parts=parts,
    grid=thresholds,
)

SEGMENTED = dataclasses.replace(
    LINEAR,
    name="sparse-vector-approximate",
    title="Sparse vector technique with a δ",
    description="Keeps draws until it has c, with Laplace noise on every distance and on a "
    "threshold redrawn after each kept draw; their costs are composed with a δ.",
    source="ours",
    options=Options(resample=True, split="best"),
    accountants=Mechanism.with_delta("optimal", "advanced", "rdp"),
    shown_in=("accounting",),
)

MECHANISMS = (LINEAR, SEGMENTED)
