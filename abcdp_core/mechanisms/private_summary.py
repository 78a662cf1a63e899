r"""Release a few numbers once, then infer with their noise (MATH E5, M9).

A scenario may state numbers $s(Y^*) \in \mathbb{R}^k$ of its data that one unit moves by at most
$\Delta_1$ in sum (:class:`~abcdp_core.base.statistic.Statistic`): counts, or bounded contributions.
Only their one release, $z = s(Y^*) + \nu$, costs privacy.

**Noise.** Number $j$ is a multiple of $1/w_j$, and so is its noise:

$$P(\nu_j = i / w_j) \propto e^{-|i| / t_j}, \qquad t_j = w_j\, b, \quad b = \Delta_1 / \epsilon,$$

discrete Laplace noise; for real numbers, Laplace noise of scale $b$.

**Proof.** Let $Y, Y'$ be neighbors. The coordinates of $\nu$ are independent, so for every $z$
that can be released, by the triangle inequality,

$$\log \frac{P(z \mid Y)}{P(z \mid Y')}
= \sum_j \frac{w_j |z_j - s_j(Y')| - w_j |z_j - s_j(Y)|}{t_j}
\le \max_j \frac{w_j}{t_j} \sum_j |s_j(Y) - s_j(Y')| \le \frac{\Delta_1}{b} = \epsilon .$$

$z_j$ is the sum of two whole numbers, divided by $w_j$, and shows nothing else. The rest is
post-processing of $z$ and the public pool. Noise here comes from floating-point exponentials, which
is good enough for studies; its far tails are not exactly those of the proof.

**Posterior** (:mod:`abcdp_core.posterior.pool`): importance weights with the noise's density if
enough draws carry weight, else a regression on the public draws with added noise. That noise is
public and fixed, so the posterior is a function of z.

**The unit decides.** If a scenario states a second statistic, for a larger unit,
``private-summary-large-unit`` releases that one, with noise that hides a whole outbreak instead of
one patient.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Params, choice
from abcdp_core.base.statistic import Statistic
from abcdp_core.mechanisms import (
    Budget,
    Mechanism,
    Part,
    PosteriorInfo,
    Prepared,
    PublicSide,
    Release,
)
from abcdp_core.models.simulators import Scenario
from abcdp_core.posterior.noise import DiscreteLaplace, Laplace, Noise, NoNoise
from abcdp_core.posterior.pool import FixedPool, minimum_pool
from abcdp_core.privacy import Cost, Event, cost
from abcdp_core.privacy.calibration import check_positive, round_up, scale_for

# ------------------------------------------------------------------------------------- the noise


@dataclass(frozen=True)
class SummaryNoise(Event):
    """Some numbers of a data set, each with (discrete) Laplace noise (MATH E5).

    Attributes:
        unit: what one unit is, with its article: "one patient".
        neighbours: what happens to one unit: ``replace`` or ``add-remove``.
        sensitivity: how far one unit can move the numbers, added up.
        scale: of the noise, in the unit of each number.
        whole: number j and its noise are multiples of ``1 / whole[j]``; ``None`` for reals.
    """

    unit: str
    neighbours: str
    sensitivity: float
    scale: float
    whole: tuple[int, ...] | None = None

    def steps(self) -> Array:
        """Return the scales t ``(k,)`` of the noise in steps of each number; ``(1,)`` for reals."""
        return np.array(self.whole or (1,)) * self.scale


@cost.register
def _(event: SummaryNoise, delta: float = 0.0) -> Cost:
    """Return ε, rounded up, of the scales as floating point has them."""
    if event.scale == 0.0:
        return Cost(math.inf)
    finest = max(
        Fraction(whole) / Fraction(step)
        for whole, step in zip(event.whole or (1,), event.steps().tolist(), strict=True)
    )
    return Cost(round_up(Fraction(event.sensitivity) * finest))


def noise_for(statistic: Statistic, n: int, epsilon_total: float) -> SummaryNoise:
    """Return the least noise whose cost is at most the budget, rounded to the safe side.

    Args:
        statistic: what is released.
        n: number of records; ignored if that is private.
        epsilon_total: privacy budget, above 0 and finite.

    Raises:
        ValueError: the budget is out of range, or the sensitivity is not bounded.
    """
    sensitivity = statistic.l1(n)
    check_positive(epsilon_total=epsilon_total, sensitivity=sensitivity)
    scale = scale_for(epsilon_total, sensitivity)
    event = SummaryNoise(statistic.unit, statistic.neighbours, sensitivity, scale, statistic.whole)
    while cost(event).epsilon > epsilon_total:
        event = dataclasses.replace(event, scale=math.nextafter(event.scale, math.inf))
    return event


def noisy(summaries: Array, event: Event, rng: np.random.Generator) -> Array:
    """Return summaries ``(..., k)`` with the noise of an event, unchanged if it has none.

    The floor of t times an exponential variable is at least i with probability e^(-i/t), so the
    difference of two is discrete Laplace noise. Drawn at scale 1, it serves every budget.
    """
    if not isinstance(event, SummaryNoise):
        return summaries
    first, second = np.moveaxis(rng.standard_exponential((*summaries.shape, 2)), -1, 0)
    steps = event.steps()
    if event.whole is None:
        return summaries + steps * (first - second)
    whole = np.array(event.whole)
    released: Array = (
        np.rint(summaries * whole) + np.floor(steps * first) - np.floor(steps * second)
    )
    return released / whole


def law(event: Event, k: int) -> Noise:
    """Return the distribution of the noise on k numbers, for inference."""
    if not isinstance(event, SummaryNoise) or event.scale == 0.0:
        return NoNoise()
    scale = (event.scale,) * k
    if event.whole is None:
        return Laplace(scale)
    return DiscreteLaplace(scale, tuple(1.0 / whole for whole in event.whole))


# ---------------------------------------------------------------------------------- the contract

UNIT = choice(
    "Protected unit",
    "default: the unit of the scenario's first statistic. larger: the unit of its second.",
    ("default", "larger"),
)


@dataclass(frozen=True)
class Options(Params):
    """What a person may choose: which of the scenario's statistics is released."""

    unit: str = UNIT.field("default")


def statistic_of(scenario: Scenario, unit: str) -> Statistic:
    """Return the statistic that protects such a unit, unless :func:`refuses` says why not."""
    return [*scenario.statistics.values()][UNIT.options.index(unit)]


def calibrated(
    public: PublicSide, options: Options, fitted: None, budget: Budget, accountant: str
) -> SummaryNoise:
    """Return the noise of the numbers."""
    return noise_for(statistic_of(public.scenario, options.unit), public.n, budget.epsilon_total)


def released(prepared: Prepared, comparison: Any, rng: np.random.Generator) -> Release:
    """Release the numbers of a comparison, and their posterior."""
    public, event = prepared.public, prepared.event
    name = statistic_of(public.scenario, prepared.options.unit).name
    pool = _pool(public, name, event)
    posterior = pool.given(noisy(comparison.summaries[name], event, rng))
    samples = pool.scale.theta(posterior.x) if posterior.way == "regression" else None
    made = PosteriorInfo(WAYS[posterior.way], posterior.effective[-1], 0.0)
    return Release(
        posterior.indices, posterior.weights, public.pool_size, event, samples=samples, made=made
    )


WAYS = {"weights": "weighted", "regression": "moved", "nearest": "kept"}


@functools.lru_cache(maxsize=32)
def _pool(public: PublicSide, name: str, event: Event) -> FixedPool:
    """Return the pool with fixed noise of an event, so that z alone decides the posterior."""
    numbers = public.summaries(name)
    return FixedPool.of(public.theta, numbers, law(event, numbers.shape[1]))


def parts(prepared: Prepared) -> tuple[Part, ...]:
    """Return the cost of the numbers; samples that follow from them are free."""
    free, size = "any number of samples from them", prepared.public.pool_size
    return parts_of_release(prepared, "all numbers of the summary", free, size)


def parts_of_release(prepared: Prepared, paid: str, free: str, size: int) -> tuple[Part, ...]:
    """Return the cost of a single release, and ``size`` results that follow from it for free."""
    event = cast(SummaryNoise, prepared.event)
    return (
        Part(paid, 1, event.scale, cost(event).epsilon, "ε"),
        Part(free, size, event.scale, 0.0, "ε"),
    )


def refuses(unit: str, scenario: Scenario) -> str:
    """Refuse scenarios that state no numbers for a unit."""
    if UNIT.options.index(unit) < len(scenario.statistics):
        return ""
    if unit == "default":
        return "It defines no summary that one unit can change only by a bounded amount."
    return "It defines no summary for a second, larger unit."


def protects(unit: str, scenario: Scenario) -> tuple[str, str]:
    """Return protected unit and neighbors of the statistic."""
    statistic = statistic_of(scenario, unit)
    return statistic.unit, statistic.neighbours


def smallest_pool(unit: str, scenario: Scenario) -> int:
    """Return the smallest pool whose draws are moved, given the numbers of a unit."""
    return minimum_pool(len(statistic_of(scenario, unit).names))


def of_unit(unit: str) -> dict[str, Any]:
    """Return the parts of the contract that depend on the protected unit."""
    return {
        "options": Options(unit),
        "refuses": functools.partial(refuses, unit),
        "protects": functools.partial(protects, unit),
        "minimum_pool": functools.partial(smallest_pool, unit),
    }


SUMMARY = Mechanism(
    name="private-summary",
    title="Private summary",
    description="Releases a few numbers of the data with Laplace noise, paid for once. The "
    "posterior takes the noise into account.",
    source="ours",
    takes=(),
    accountants={"linear": "pure"},
    calibrate=calibrated,
    release=released,
    parts=parts,
    noise_needs_fitted=False,
    shown_in=("compare-mechanisms", "coverage"),
    **of_unit("default"),
)

LARGE_UNIT = dataclasses.replace(
    SUMMARY,
    name="private-summary-large-unit",
    title="Private summary, larger unit",
    description="Releases a few numbers of the data with Laplace noise that hides a larger unit: "
    "a whole outbreak instead of one patient, a whole day instead of one person.",
    shown_in=(),
    **of_unit("larger"),
)

MECHANISMS = (SUMMARY, LARGE_UNIT)
