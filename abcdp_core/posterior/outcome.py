"""Results: weighted draws of the parameters, their moments beside the prior's, and the fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array
from abcdp_core.base.sentences import amount
from abcdp_core.base.summaries import weighted_mean, weighted_quantile
from abcdp_core.models.priors import Prior
from abcdp_core.posterior.fit import REFUSED, REPLICATES, Fit, evenly, fit
from abcdp_core.posterior.model import Reported
from abcdp_core.posterior.pool import FixedPool, Scale
from abcdp_core.posterior.rounds import (
    Draws,
    Effort,
    InferenceProblem,
    TaskMap,
    Way,
    WeightedDraws,
    infer,
    one_by_one,
)
from abcdp_core.posterior.shape import Modes, combinations, modes, valleys

ENDS = (0.05, 0.95)
"""Probabilities below the ends of an interval."""

EVEN = 10_000
"""Evenly spaced quantiles that give the mean and standard deviation of a known prior."""

FEW = 50.0
"""Effective sample size below which a misfit leaves no estimate to show (MATH E9)."""

WITHHELD = (
    "No estimate is shown: where a model hardly ever makes such numbers, an approximate estimate "
    "can be far off even if the model were right. Compare the released numbers with the model's, "
    "change the model, and infer again from the same numbers, which spends no further budget."
)
"""What is said in place of an estimate."""


@dataclass(frozen=True)
class Moments:
    """Mean, standard deviation and ends of the central 90 % interval ``(d,)``."""

    mean: Array
    sd: Array
    low: Array
    high: Array

    def without(self, places: Sequence[int]) -> Moments:
        """Return no mean and standard deviation at some places, where they do not exist."""
        hidden = np.isin(np.arange(len(self.mean)), places)
        mean, sd = (np.where(hidden, np.nan, each) for each in (self.mean, self.sd))
        return dataclasses.replace(self, mean=mean, sd=sd)


def moments(values: Array, weights: Array | None = None) -> Moments:
    """Return moments of values ``(m, d)``, of equal weight or with ``(m,)`` that sum to 1."""
    if weights is None:
        # As other programs compute them.
        ends = np.quantile(values, ENDS, axis=0)
        return Moments(values.mean(axis=0), values.std(axis=0), *ends)
    mean = weighted_mean(values, weights)
    sd = np.sqrt(weights @ (values - mean) ** 2)
    return Moments(mean, sd, *weighted_quantile(values, weights, ENDS))


def of_prior(scale: Prior | Reported | Scale, draws: Draws) -> Moments:
    """Return the moments of a prior, exact if they are known and no draw ``(m, d)`` failed."""
    if isinstance(scale, Prior) and scale.is_product and draws.done.all():
        even = scale.quantiles((np.arange(EVEN) + 0.5) / EVEN)
        mean, sd = even.mean(axis=0), even.std(axis=0)
        # A mean of 0 is not a rounding error.
        return Moments(np.where(np.abs(mean) > 1e-12 * sd, mean, 0.0), sd, *scale.quantiles(ENDS))
    return moments(scale.theta(draws.x[draws.done]))


@dataclass(frozen=True)
class Summary:
    """Summary of a posterior.

    Attributes:
        parameters: names of the p parameters.
        found, prior: moments of the posterior and of the prior.
        way: method that gave the posterior.
        effective: effective sample size of the importance weights, even if they were not used.
        simulated: number of draws simulated or read from a pool.
        failed: number of failed simulations, which are ignored.
        differ: whether two regressions disagreed; the wider result is used.
        fit: how well the model fits; ``None`` if that was not computed.
        medians: of the outputs whose prior has no variance, by their place.
        modes: of each parameter that has several.
        pairs: that are strongly correlated, and what is known of them (:mod:`.shape`).
    """

    parameters: tuple[str, ...]
    found: Moments
    prior: Moments
    way: Way
    effective: float
    simulated: int
    failed: int = 0
    differ: bool = False
    fit: Fit | None = None
    modes: tuple[Modes, ...] = ()
    pairs: tuple[tuple[int, int, str], ...] = ()
    medians: Mapping[int, float] = field(default_factory=dict)

    @property
    def shape(self) -> list[str]:
        """State what mean and interval do not tell."""
        names = self.parameters
        heavy = [
            f"{names[place]}: median {amount(value)}, 90 % interval "
            f"{amount(self.found.low[place])} to {amount(self.found.high[place])}; its "
            "prior has no variance, and bounded numbers leave its tails, so mean and standard "
            "deviation say nothing."
            for place, value in self.medians.items()
        ]
        several = [
            f"{names[each.parameter]} has {len(each.region)} modes, so its mean says little: 90 % "
            f"of its posterior is in {each.in_words}, with the shape {each.sketch}."
            for each in self.modes
        ]
        terms = [f"({each})" if "," in each else each for each in names]
        pairs = [words.format(names[a], names[b], terms[a], terms[b]) for a, b, words in self.pairs]
        return heavy + several + pairs

    @property
    def is_withheld(self) -> bool:
        """Whether the estimate is not shown: the fit is refused, and few draws carry it."""
        carried = self.way == "weights" and self.effective >= FEW
        return self.fit is not None and self.fit.p_value < REFUSED and not carried

    def without_variance(self, medians: Mapping[int, float]) -> Summary:
        """Return medians in place of means that the prior's tails leave without a variance."""
        posterior, prior = (each.without([*medians]) for each in (self.found, self.prior))
        return dataclasses.replace(self, found=posterior, prior=prior, medians=medians)

    def renamed(self, new: Callable[[str], str]) -> Summary:
        """Return the summary with parameters and numbers renamed."""
        fit = self.fit and self.fit.renamed(new)
        return dataclasses.replace(self, parameters=tuple(map(new, self.parameters)), fit=fit)


@dataclass(frozen=True)
class Posterior:
    """The posterior given released numbers.

    Attributes:
        summary: of the draws.
        theta: draws ``(m, p)``.
        weights: ``(m,)`` that sum to 1.
        numbers: plausible numbers before noise for each draw ``(m, k)``.
        rounds: draws of each round, or of the pool, and effective sample size after it.
    """

    summary: Summary
    theta: Array = field(repr=False)
    weights: Array = field(repr=False)
    numbers: Array = field(repr=False)
    rounds: tuple[tuple[int, float], ...]

    @classmethod
    def of(
        cls,
        draws: WeightedDraws,
        parameters: tuple[str, ...],
        scale: Prior | Reported | Scale,
        fit: Fit | None,
        size: int | None = None,
    ) -> Posterior:
        """Build from draws on the scale x, or from ``size`` of them, with equal weights."""
        theta, weights, numbers = scale.theta(draws.x), draws.weights, draws.numbers
        of_equals, several, pairs = None, list[Modes](), list[tuple[int, int, str]]()
        if size is not None:
            # Shares have no coordinate of their own.
            x = theta.copy()
            for each in scale.edges:
                x[:, each.parameter] = draws.x[:, each.x]
            between = [valleys(column, weights) for column in x.T]
            chosen = representing(theta, weights, size)
            theta, weights, numbers = theta[chosen], np.full(size, 1.0 / size), numbers[chosen]
            of_equals = moments(theta)
            several = [
                modes(place, x[chosen, place], theta[:, place], each)
                for place, each in enumerate(between)
                if each
            ]
            pairs = combinations(theta, scale.theta(draws.prior.x[draws.prior.done]))
        summary = Summary(
            parameters,
            of_equals or moments(theta, weights),
            of_prior(scale, draws.prior),
            draws.way,
            draws.effective[-1],
            sum(draws.sizes),
            draws.failed,
            draws.differ,
            fit,
            tuple(several),
            tuple(pairs),
        )
        rounds = tuple(zip(draws.sizes, draws.effective, strict=True))
        return cls(summary, theta, weights, numbers, rounds)


def representing(values: Array, weights: Array, size: int) -> NDArray[np.int64]:
    """Return ``size`` indices in proportion to weights ``(m,)`` of values ``(m, d)``, shuffled.

    Draws are sorted by the tails that they are in, so that each tail gets its share: the ends of
    intervals of the chosen draws differ little from those of all.
    """
    low, high = weighted_quantile(values, weights, ENDS)
    tails = (values > low).astype(int) + (values > high)
    order = np.lexsort(tails.T)
    return order[evenly(weights[order], size)]


def of_model(
    question: InferenceProblem,
    effort: Effort,
    each: TaskMap = one_by_one,
    first: Draws | None = None,
    size: int | None = None,
) -> Posterior:
    """Compute the posterior by simulation; the result does not depend on how tasks are run.

    Args:
        question: release and model.
        effort: limits on the simulations.
        each: runs tasks.
        first: existing draws from the prior.
        size: of the posterior in draws of equal weight; if ``None``, all draws with their weights.

    Raises:
        ParameterError: the simulator failed everywhere.
    """
    return of_found(question, infer(question, effort, each, first), each, size)


def of_found(
    question: InferenceProblem,
    draws: WeightedDraws,
    each: TaskMap,
    size: int | None = None,
    replicates: int = REPLICATES,
) -> Posterior:
    """Check the fit of a posterior on the scale x, and summarize all outputs of the model."""
    model = question.model
    fitted = fit(question, draws, each, replicates)
    made = Posterior.of(draws, model.outputs, model.scale, fitted, size)
    if not model.heavy:
        return made
    middle = weighted_quantile(made.theta, made.weights, [0.5])[0]
    medians = {place: float(middle[place]) for place in model.heavy}
    return dataclasses.replace(made, summary=made.summary.without_variance(medians))


def of_pool(
    pool: FixedPool,
    z: Array,
    parameters: tuple[str, ...],
    numbers: tuple[str, ...],
    size: int | None = None,
) -> Posterior:
    """Compute the posterior of released numbers ``z (k,)`` from a pool, of ``size`` draws."""
    draws = pool.given(z)
    fitted = pool.fit(z, draws, parameters, numbers)
    return Posterior.of(draws, parameters, pool.scale, fitted, size)
