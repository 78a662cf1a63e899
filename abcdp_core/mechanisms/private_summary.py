r"""Release a few numbers once, then infer with their noise (MATH E5, M9).

A scenario may state numbers $s(Y^*) \in \mathbb{R}^k$ of its data that one unit moves by at most
$\Delta_1$ in sum (:class:`~abcdp_core.statistic.Statistic`): counts, or bounded contributions.
They are released once, $z = s(Y^*) + \nu$, and that is the one thing private data pay for.

**Noise.** Number $j$ is a multiple of $1/w_j$, and so is its noise:

$$P(\nu_j = i / w_j) \propto e^{-|i| / t_j}, \qquad t_j = w_j\, b, \quad b = \Delta_1 / \epsilon,$$

discrete Laplace noise; for real numbers, Laplace noise of scale $b$.

**Proof.** Let $Y, Y'$ be neighbours. The coordinates of $\nu$ are independent, so for every $z$
that can be released, by the triangle inequality,

$$\log \frac{P(z \mid Y)}{P(z \mid Y')}
= \sum_j \frac{w_j |z_j - s_j(Y')| - w_j |z_j - s_j(Y)|}{t_j}
\le \max_j \frac{w_j}{t_j} \sum_j |s_j(Y) - s_j(Y')| \le \frac{\Delta_1}{b} = \epsilon .$$

$z_j$ is made of the whole number $w_j s_j$ and the noise's, so it tells nothing but their sum. All
that follows looks at $z$ and at the public pool; it is post-processing. Noise here is made of
floating-point exponentials, good for studies; its far tails are not quite of the law that the proof
is about.

**Posterior.** By :mod:`abcdp_core.posterior.pool`: importance weights with the noise's own density
where these carry, else a regression on the public draws with noise of their own. The pool's noise
is public and always the same, so the posterior is a function of z.

**The unit decides.** Where a scenario states the same numbers for a larger unit, the second of its
statistics, ``private-summary-large-unit`` releases those: the same data, the same recipe, and noise
that hides a whole outbreak instead of one patient.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core.mechanisms import (
    Budget,
    Mechanism,
    Part,
    PosteriorInfo,
    Prepared,
    PublicSide,
    Release,
)
from abcdp_core.parameters import Params, choice
from abcdp_core.posterior.noise import DiscreteLaplace, Laplace, Noise, NoNoise
from abcdp_core.posterior.pool import FixedPool, minimum_pool
from abcdp_core.privacy import Cost, Event, cost
from abcdp_core.privacy.calibration import round_up, scale_for
from abcdp_core.statistic import Statistic, stated_by

Array = NDArray[np.float64]

# ------------------------------------------------------------------------------------- the noise


@dataclass(frozen=True)
class SummaryNoise(Event):
    """Some numbers of a data set, each with (discrete) Laplace noise (MATH E5).

    Attributes:
        unit: what one unit is, with its article: "one patient".
        neighbours: what happens to one unit: ``replace`` or ``add-remove``.
        sensitivity: most that one unit moves the numbers, added up.
        scale: of the noise on every number, in its own unit.
        whole: number j and its noise are multiples of ``1 / whole[j]``; ``None`` for real ones.
    """

    unit: str
    neighbours: str
    sensitivity: float
    scale: float
    whole: tuple[int, ...] | None = None

    def steps(self) -> Array:
        """Scales t ``(k,)`` in steps of each number, as they are drawn; ``(1,)`` if real."""
        return np.array(self.whole or (1,)) * self.scale


@cost.register
def _(event: SummaryNoise, delta: float = 0.0) -> Cost:
    """ε, rounded up, of the scales as floating point has them."""
    if event.scale == 0.0:
        return Cost(math.inf)
    finest = max(
        Fraction(whole) / Fraction(step)
        for whole, step in zip(event.whole or (1,), event.steps().tolist(), strict=True)
    )
    return Cost(round_up(Fraction(event.sensitivity) * finest))


def noise_for(statistic: Statistic, n: int, epsilon_total: float) -> SummaryNoise:
    """The least noise whose cost is at most the budget, rounded to the safe side.

    Args:
        statistic: what is released.
        n: points of the private data; of no consequence where that is private.
        epsilon_total: privacy budget, above 0 and finite.

    Raises:
        ValueError: the budget is not, or nothing bounds what one unit moves.
    """
    sensitivity = statistic.l1(n)
    if not (0.0 < epsilon_total < math.inf and 0.0 < sensitivity < math.inf):
        raise ValueError("calibration needs a positive finite budget and sensitivity.")

    def with_scale(scale: float) -> SummaryNoise:
        return SummaryNoise(
            statistic.unit, statistic.neighbours, sensitivity, scale, statistic.whole
        )

    event = with_scale(scale_for(epsilon_total, sensitivity))
    while cost(event).epsilon > epsilon_total:
        event = with_scale(math.nextafter(event.scale, math.inf))
    return event


def noisy(summaries: Array, event: Event, rng: np.random.Generator) -> Array:
    """Summaries ``(..., k)`` with noise of an event; as they are without any.

    The whole part of an exponential number times t is at least i with probability e^(-i/t): so the
    difference of two is discrete Laplace noise. Drawn at scale 1 and then scaled, another budget
    moves the same noise.
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
    """The law of the noise on k numbers, as whoever infers knows it."""
    if not isinstance(event, SummaryNoise) or event.scale == 0.0:
        return NoNoise()
    scale = (event.scale,) * k
    if event.whole is None:
        return Laplace(scale)
    return DiscreteLaplace(scale, tuple(1.0 / whole for whole in event.whole))


# ---------------------------------------------------------------------------------- the contract

UNIT = choice(
    "Unit that is protected",
    "default: that of the scenario's first statistic. larger: that of its second.",
    ("default", "larger"),
)


@dataclass(frozen=True)
class Options(Params):
    """Which of the scenario's statistics is released."""

    unit: str = UNIT.field("default")


@dataclass(frozen=True)
class Trace:
    """What happened inside, for teaching; never published.

    Attributes:
        summary: s(Y*) ``(k,)``, private.
        released: the same with noise ``(k,)``; it may be published.
    """

    summary: Array = field(repr=False)
    released: Array = field(repr=False)


def statistic_of(scenario: Any, unit: str) -> Statistic | None:
    """The statistic that protects such a unit; ``None`` if the scenario has none."""
    stated = list(stated_by(scenario).values())
    place = UNIT.options.index(unit)
    return stated[place] if place < len(stated) else None


def _chosen(public: PublicSide, options: Options) -> Statistic:
    """The statistic of a release; the scenario is known to have it."""
    return cast(Statistic, statistic_of(public.scenario, options.unit))


def calibrated(
    public: PublicSide, options: Options, fitted: None, budget: Budget, accountant: str
) -> SummaryNoise:
    """The noise of the numbers."""
    return noise_for(_chosen(public, options), public.n, budget.epsilon_total)


def released(
    prepared: Prepared, comparison: Any, rng: np.random.Generator
) -> tuple[Release, Trace]:
    """Release the numbers of a comparison, and what follows from them."""
    public, event = prepared.public, prepared.event
    name = _chosen(public, prepared.options).name
    summary = comparison.summaries[name]
    z = noisy(summary, event, rng)
    found = _pool(public, name, event).given(z)
    samples = None
    if found.way == "regression":
        samples = _pool(public, name, event).scale.theta(found.x)
    made = PosteriorInfo(WAYS[found.way], found.effective[-1], 0.0)
    release = Release(
        found.indices, found.weights, public.pool_size, event, samples=samples, made=made
    )
    return release, Trace(summary, z)


WAYS = {"weights": "weighted", "regression": "moved", "nearest": "kept"}


@functools.lru_cache(maxsize=32)
def _pool(public: PublicSide, name: str, event: Event) -> FixedPool:
    """The pool with noise of an event: a fixed one, so that z decides all."""
    numbers = public.summaries(name)
    return FixedPool.of(public.theta, numbers, law(event, numbers.shape[1]))


def parts(prepared: Prepared) -> tuple[Part, ...]:
    """The numbers are paid for, and nothing that follows from them."""
    event, pool_size = cast(SummaryNoise, prepared.event), prepared.public.pool_size
    return (
        Part("all numbers of the summary", 1, event.scale, cost(event).epsilon, "ε"),
        Part("any number of samples from them", pool_size, event.scale, 0.0, "ε"),
    )


def refuses(unit: str, scenario: Any) -> str:
    """A scenario has to state numbers for a unit."""
    if statistic_of(scenario, unit) is not None:
        return ""
    if unit == "default":
        return "It states no numbers of its data whose change by one unit is bounded."
    return "It states no numbers of its data for a second, larger unit."


def protects(unit: str, scenario: Any) -> tuple[str, str]:
    """As the statistic has it."""
    statistic = cast(Statistic, statistic_of(scenario, unit))
    return statistic.unit, statistic.neighbours


def smallest_pool(unit: str, scenario: Any) -> int:
    """Fewest draws that are moved where the numbers of a unit are released."""
    return minimum_pool(len(cast(Statistic, statistic_of(scenario, unit)).names))


SUMMARY = Mechanism(
    name="private-summary",
    title="Private summary",
    description="A few numbers of the data with Laplace noise, paid for once; the posterior given "
    "these, their noise taken into account.",
    source="ours",
    options=Options(),
    takes=(),
    accountants={"linear": "pure"},
    calibrate=calibrated,
    release=released,
    parts=parts,
    refuses=functools.partial(refuses, "default"),
    protects=functools.partial(protects, "default"),
    minimum_pool=functools.partial(smallest_pool, "default"),
    noise_needs_fitted=False,
    shown_in=("compare-mechanisms", "coverage"),
)

LARGE_UNIT = dataclasses.replace(
    SUMMARY,
    name="private-summary-large-unit",
    title="Private summary, larger unit",
    description="A few numbers of the data with Laplace noise that hides a larger unit: all of an "
    "outbreak instead of one patient, all of a day instead of one person.",
    options=Options(unit="larger"),
    refuses=functools.partial(refuses, "larger"),
    protects=functools.partial(protects, "larger"),
    minimum_pool=functools.partial(smallest_pool, "larger"),
    shown_in=(),
)

MECHANISMS = (SUMMARY, LARGE_UNIT)
