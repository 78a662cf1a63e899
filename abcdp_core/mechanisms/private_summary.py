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

**Posterior.** The summary of each public draw gets noise of its own of the same law, so a draw that
resembles $z$ resembles the *release*, with the privacy noise inside. Three steps:

1. a regression, on the noisy pool, of the parameters, and of scores of those whose prior is over
   decades (:mod:`.prior_scale`), on $z$, on $a = \operatorname{asinh}(z / q)$, $q$ the medians of
   $|z|$ over the pool, and on all products $a_i a_j$: a logarithm for counts far above that, a
   straight line near 0, where noise makes them negative. With a ridge, and with products only where
   the pool has :data:`PER_FEATURE` draws for each coefficient;
2. the draws whose predictions are nearest to that from $z$, in prior standard deviations;
3. their parameters, moved by :mod:`.regression_adjustment`.

The pool's noise is public and always the same, so the posterior is a function of $z$.

**How many draws that needs.** In small pools the regression is fitted to chance, and draws moved
along it make intervals too narrow. Coverage of 90 % intervals by draws that are moved, and in
brackets by the same draws left where they are, with equal weights. 8 pools with 60 data sets each,
standard error about 0.008:

| T | patients, $\epsilon$ = 0.1 | 1 | 10 | cases, 0.1 | 1 | 10 |
|---|---|---|---|---|---|---|
| 20 | 0.42 (0.87) | 0.41 (0.87) | 0.48 (0.87) | 0.00 (0.84) | 0.00 (0.84) | 0.01 (0.84) |
| 50 | 0.77 (0.88) | 0.79 (0.88) | 0.79 (0.88) | 0.30 (0.87) | 0.31 (0.87) | 0.31 (0.87) |
| 100 | 0.83 (0.88) | 0.86 (0.88) | 0.85 (0.88) | 0.68 (0.88) | 0.70 (0.88) | 0.69 (0.88) |
| 200 | 0.86 (0.89) | 0.85 (0.90) | 0.86 (0.91) | 0.78 (0.89) | 0.81 (0.90) | 0.82 (0.91) |
| 500 | 0.87 (0.89) | 0.87 (0.91) | 0.87 (0.92) | 0.87 (0.91) | 0.87 (0.92) | 0.88 (0.92) |
| 1000 | 0.88 (0.89) | 0.88 (0.92) | 0.88 (0.92) | 0.89 (0.92) | 0.89 (0.92) | 0.89 (0.91) |
| 2000 | 0.89 (0.89) | 0.90 (0.92) | 0.90 (0.92) | 0.91 (0.92) | 0.91 (0.92) | 0.91 (0.92) |

So draws are moved in pools of :func:`minimum_pool` and more; in smaller ones they stay.

**The unit decides.** Where a scenario states the same numbers for a larger unit, the second of its
statistics, ``private-summary-large-unit`` releases those: the same data, the same recipe, and noise
that hides a whole outbreak instead of one patient.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from abcdp_core.mechanisms import (
    Budget,
    Mechanism,
    Part,
    Prepared,
    PublicSide,
    Release,
    regression_adjustment,
)
from abcdp_core.mechanisms.prior_scale import PriorScale
from abcdp_core.parameters import Parameter, Params
from abcdp_core.privacy import Cost, Event, NonPrivate, cost
from abcdp_core.privacy.calibration import round_up, scale_for
from abcdp_core.statistic import Statistic, stated_by
from abcdp_core.streams import generator
from abcdp_core.supports import Support

Array = NDArray[np.float64]

ACCEPTED = 1000
"""Draws accepted, or a quarter of the pool if that is fewer."""

FEWEST_ACCEPTED = 100
"""But no fewer than this, or all of the pool."""

FEWEST = 1000
"""Draws of the smallest pool that are moved."""

LOOKED_FOR = 400
"""Draws of a pool that are looked for among the others, to know how far off that is."""

PER_FEATURE = 20
"""Fewest draws of the pool for each coefficient of the regression with products."""

RIDGE = 1e-6
"""On each feature, of standard deviation 1, in units of the pool's size."""


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


# --------------------------------------------------------------------------------- the posterior


@dataclass(frozen=True)
class Scaling:
    """Numbers ``(k,)`` that bring a summary and its asinh to mean 0 and standard deviation 1."""

    unit: Array
    mean: Array
    spread: Array
    mean_bent: Array
    spread_bent: Array

    @classmethod
    def of(cls, pool: Array) -> Scaling:
        """From the noisy summaries ``(T, k)`` of a pool."""
        median = np.median(np.abs(pool), axis=0)
        unit = np.where(median > 0.0, median, 1.0)
        bent = np.arcsinh(pool / unit)
        return cls(unit, pool.mean(axis=0), _spread(pool), bent.mean(axis=0), _spread(bent))

    def features(self, z: Array, *, products: bool) -> Array:
        """1, z, a and, if asked for, all products of two a: ``(m, p)`` for summaries ``(m, k)``."""
        straight = (z - self.mean) / self.spread
        bent = (np.arcsinh(z / self.unit) - self.mean_bent) / self.spread_bent
        parts = [np.ones((len(z), 1)), straight, bent]
        if products:
            first, second = np.triu_indices(bent.shape[1])
            parts.append(bent[:, first] * bent[:, second])
        return np.hstack(parts)


def _spread(values: Array) -> Array:
    """Standard deviations ``(k,)``; 1 for a number that is always the same, but for rounding."""
    spread = values.std(axis=0)
    found: Array = np.where(spread > SAME * np.abs(values).max(axis=0), spread, 1.0)
    return found


SAME = 1e-12
"""A standard deviation below this part of the largest value is rounding."""

BLOCK = 10_000
"""Draws whose features are in memory at once: 17 MB of 18 numbers."""


@dataclass(frozen=True)
class Regression:
    """What the public pool says of parameters, given noisy numbers.

    Attributes:
        scale: of the parameters, with scores of s of them.
        scaling: of the numbers.
        products: whether products are among the features.
        coefficients: ``(p, d + s)``.
        predictions: of parameters and scores, for each draw of the pool ``(T, d + s)``, in spreads
            from the mean.
        mean, spread: of the pool's parameters and scores ``(d + s,)``.
    """

    scale: PriorScale
    scaling: Scaling
    products: bool
    coefficients: Array = field(repr=False)
    predictions: Array = field(repr=False)
    mean: Array
    spread: Array

    @classmethod
    def fit(cls, pool: Array, theta: Array, support: Support) -> Regression:
        """By least squares with a ridge.

        Args:
            pool: noisy summaries ``(T, k)``.
            theta: parameters ``(T, d)``.
            support: of the prior.
        """
        scaling = Scaling.of(pool)
        products = len(pool) >= PER_FEATURE * coefficients(pool.shape[1], products=True)
        size = coefficients(pool.shape[1], products=products)
        scale = PriorScale.of(theta, support)
        wanted = scale.with_scores(theta)
        mean, spread = wanted.mean(axis=0), _spread(wanted)
        # The ridge must not draw them to 0, which may be far from all of them.
        wanted = (wanted - mean) / spread
        gram, cross = RIDGE * len(pool) * np.eye(size), np.zeros((size, wanted.shape[1]))
        blocks = [slice(start, start + BLOCK) for start in range(0, len(pool), BLOCK)]
        for block in blocks:
            features = scaling.features(pool[block], products=products)
            gram += features.T @ features
            cross += features.T @ wanted[block]
        found = np.asarray(np.linalg.solve(gram, cross), dtype=np.float64)
        predictions = [scaling.features(pool[block], products=products) @ found for block in blocks]
        return cls(scale, scaling, products, found, np.concatenate(predictions), mean, spread)

    @property
    def moves(self) -> bool:
        """Whether the pool is large enough for draws to be moved."""
        return len(self.predictions) >= minimum_pool(len(self.scaling.unit))

    def away(self, z: Array) -> Array:
        """Predictions of the pool ``(T, d + s)`` less that from ``z (k,)``, in prior spreads."""
        features = self.scaling.features(z[None], products=self.products)
        found: Array = self.predictions - features @ self.coefficients
        return found


def coefficients(numbers: int, *, products: bool) -> int:
    """Coefficients of the regression on so many numbers, for each parameter."""
    return 1 + 2 * numbers + (numbers * (numbers + 1) // 2 if products else 0)


def posterior(
    z: Array, regression: Regression, event: Event, support: Support, theta: Array
) -> Release:
    """The posterior given released numbers ``z (k,)``; a function of them and of the pool.

    Args:
        z: what was released.
        regression: fitted to the pool with noise of the same event.
        event: how it was released.
        support: of the prior.
        theta: parameters of the pool ``(T, d)``.
    """
    count = accepted(len(theta))
    return _told(regression.away(z), count, regression, event, support, theta)


def _told(
    away: Array, count: int, regression: Regression, event: Event, support: Support, theta: Array
) -> Release:
    """So many draws whose predictions are least away ``(T, d + s)``, moved if they are enough."""
    found = regression_adjustment.near(away, count)
    if not regression.moves:
        equal = np.full(len(found.indices), 1.0 / len(found.indices))
        found = dataclasses.replace(found, weights=equal)
    scale, scored = regression.scale, list[int]()
    if scale.scored:
        near = scale.with_scores(theta[found.indices])
        moved = regression_adjustment.less_slope(near, found)
        scored = scale.better_by_scores(near, moved, found.weights)
    on_scale = scale.on(support, scored)
    return regression_adjustment.posterior(found, event, on_scale, theta, move=regression.moves)


def accepted(draws: int) -> int:
    """How many of a pool are accepted, or all."""
    return max(FEWEST_ACCEPTED, min(ACCEPTED, draws // 4))


def minimum_pool(numbers: int) -> int:
    """Fewest draws of a pool that are moved, for so many released numbers."""
    return max(FEWEST, PER_FEATURE * coefficients(numbers, products=False))


def error(regression: Regression, pool: Array, support: Support, theta: Array) -> Array:
    """Root mean squared error ``(d,)`` of :func:`posterior`'s mean, on average over the pool.

    Some draws are looked for among the others; those that are far from the prior's mean more often,
    and then count for less: of a prior with far draws these make the error. In a pool too small to
    be moved the regression knows its own draws far better than others, so there it is the
    regression on the others, too.

    Args:
        regression: fitted to the pool.
        pool: noisy summaries ``(T, k)``.
        support: of the prior.
        theta: parameters ``(T, d)``.
    """
    some, weights = _looked_for(theta)
    if regression.moves:
        predictions: Iterable[Array] = itertools.repeat(regression.predictions)
    else:
        predictions = _without_each(some, regression, pool, theta)
    count = min(accepted(len(theta)), len(theta) - 1)
    off = np.empty((len(some), theta.shape[1]))
    for row, (i, told) in enumerate(zip(some, predictions, strict=False)):
        away = told - told[i]
        away[i] = np.inf
        release = _told(away, count, regression, NonPrivate(), support, theta)
        off[row] = release.mean(theta, theta[i]) - theta[i]
    found: Array = np.sqrt(weights @ off**2)
    return found


def _looked_for(theta: Array) -> tuple[NDArray[np.int64], Array]:
    """Draws ``(m,)`` of a pool ``(T, d)``, and weights for a mean over all of it.

    Half of them by even chances, half by the squared distance from the mean; evenly spread, so that
    nothing is left to chance. All of a small pool.
    """
    draws = len(theta)
    if draws <= LOOKED_FOR:
        return np.arange(draws), np.full(draws, 1.0 / draws)
    far = np.mean(((theta - theta.mean(axis=0)) / _spread(theta)) ** 2, axis=1)
    even = np.full(draws, 1.0 / draws)
    chances = 0.5 * even + 0.5 * (far / far.sum() if far.any() else even)
    places = (np.arange(LOOKED_FOR) + 0.5) / LOOKED_FOR
    some = np.minimum(np.searchsorted(np.cumsum(chances), places), draws - 1)
    chosen, times = np.unique(some, return_counts=True)
    return chosen, times / (LOOKED_FOR * draws * chances[chosen])


def _without_each(
    some: NDArray[np.int64], regression: Regression, pool: Array, theta: Array
) -> Iterator[Array]:
    r"""Predictions ``(T, d + s)`` by the regression on all draws but one, for each of some.

    Without draw i they are $\hat y_j - h_{ij} (y_i - \hat y_i) / (1 - h_{ii})$, with $H$ the
    matrix that makes predictions of what is predicted (Allen, Technometrics 16, 1974).
    """
    features = regression.scaling.features(pool, products=regression.products)
    gram = features.T @ features + RIDGE * len(theta) * np.eye(features.shape[1])
    hat = features @ np.linalg.solve(gram, features[some].T)
    wanted = (regression.scale.with_scores(theta) - regression.mean) / regression.spread
    for i, influence in zip(some.tolist(), hat.T, strict=True):
        left = (wanted[i] - regression.predictions[i]) / (1.0 - influence[i])
        yield regression.predictions - influence[:, None] * left


# ---------------------------------------------------------------------------------- the contract

UNIT = Parameter(
    kind="choice",
    label="Unit that is protected",
    help="default: that of the scenario's first statistic. larger: that of its second.",
    options=("default", "larger"),
)


@dataclass(frozen=True)
class Options(Params):
    """Which of the scenario's statistics is released."""

    unit: str = UNIT.field("default")


class Summaries(Protocol):
    """The part of a comparison that this mechanism reads."""

    @property
    def summaries(self) -> Any:
        """Name of a statistic -> the data set's own numbers ``(k,)``; private."""
        ...


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
    public: PublicSide, options: Options, learnt: None, budget: Budget, accountant: str
) -> SummaryNoise:
    """The noise of the numbers."""
    return noise_for(_chosen(public, options), public.n, budget.epsilon_total)


def released(
    prepared: Prepared, comparison: Summaries, rng: np.random.Generator
) -> tuple[Release, Trace]:
    """Release the numbers of a comparison, and what follows from them."""
    public, event = prepared.public, prepared.event
    name = _chosen(public, prepared.options).name
    summary = comparison.summaries[name]
    z = noisy(summary, event, rng)
    regression = _fitted(public, name, event)
    return posterior(z, regression, event, public.support, public.theta), Trace(summary, z)


@functools.lru_cache(maxsize=32)
def _fitted(public: PublicSide, name: str, event: Event) -> Regression:
    """The regression on the pool with noise of an event: a fixed one, so that z decides all."""
    pool = noisy(public.summaries(name), event, generator(0, "private-summary-pool"))
    return Regression.fit(pool, public.theta, public.support)


def parts(prepared: Prepared) -> tuple[Part, ...]:
    """The numbers are paid for, and nothing that follows from them."""
    event, pool_size = cast(SummaryNoise, prepared.event), prepared.public.pool_size
    return (
        Part("all numbers of the summary", 1, event.scale, cost(event).epsilon, "ε"),
        Part("any number of samples from them", pool_size, event.scale, 0.0, "ε"),
    )


def _refuses(unit: str) -> Callable[[Any], str]:
    def refuses(scenario: Any) -> str:
        if statistic_of(scenario, unit) is not None:
            return ""
        if unit == "default":
            return "It states no numbers of its data whose change by one unit is bounded."
        return "It states no numbers of its data for a second, larger unit."

    return refuses


def _protects(unit: str) -> Callable[[Any], tuple[str, str]]:
    def protects(scenario: Any) -> tuple[str, str]:
        statistic = cast(Statistic, statistic_of(scenario, unit))
        return statistic.unit, statistic.neighbours

    return protects


def _smallest_pool(unit: str) -> Callable[[Any], int]:
    def smallest_pool(scenario: Any) -> int:
        return minimum_pool(len(cast(Statistic, statistic_of(scenario, unit)).names))

    return smallest_pool


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
    refuses=_refuses("default"),
    protects=_protects("default"),
    minimum_pool=_smallest_pool("default"),
    noise_needs_learnt=False,
    shown_in=("compare-mechanisms", "coverage"),
)

LARGE_UNIT = dataclasses.replace(
    SUMMARY,
    name="private-summary-large-unit",
    title="Private summary, larger unit",
    description="A few numbers of the data with Laplace noise that hides a larger unit: all of an "
    "outbreak instead of one patient, all of a day instead of one person.",
    options=Options(unit="larger"),
    refuses=_refuses("larger"),
    protects=_protects("larger"),
    minimum_pool=_smallest_pool("larger"),
    shown_in=(),
)

MECHANISMS = (SUMMARY, LARGE_UNIT)
