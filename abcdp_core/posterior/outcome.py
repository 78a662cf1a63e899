"""Results: weighted draws of the parameters, their moments beside the prior's, and the fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from abcdp_core.posterior.fit import REFUSED, Fit, fit
from abcdp_core.posterior.pool import FixedPool
from abcdp_core.posterior.rounds import (
    Draws,
    Each,
    Effort,
    Found,
    Question,
    Way,
    infer,
    one_by_one,
)
from abcdp_core.summaries import weighted_mean, weighted_quantile

Array = NDArray[np.float64]

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


def moments(values: Array, weights: Array) -> Moments:
    """Return moments of values ``(m, d)`` under weights ``(m,)`` that sum to 1."""
    mean = weighted_mean(values, weights)
    sd = np.sqrt(weights @ (values - mean) ** 2)
    low, high = weighted_quantile(values, weights, (0.05, 0.95))
    return Moments(mean, sd, low, high)


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

    @property
    def is_withheld(self) -> bool:
        """Whether the estimate is not shown: the fit is refused, and few draws carry it."""
        carried = self.way == "weights" and self.effective >= FEW
        return self.fit is not None and self.fit.p_value < REFUSED and not carried

    def renamed(self, new: Callable[[str], str]) -> Summary:
        """Return the summary with parameters and numbers renamed."""
        fit = self.fit and self.fit.renamed(new)
        return dataclasses.replace(self, parameters=tuple(map(new, self.parameters)), fit=fit)


@dataclass(frozen=True)
class Posterior:
    """The posterior given released numbers.

    Attributes:
        summary: of the posterior.
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
        found: Found,
        parameters: tuple[str, ...],
        to_theta: Callable[[Array], Array],
        fit: Fit | None,
    ) -> Posterior:
        """Build from draws on the scale x and the function from x to parameters."""
        theta, prior = to_theta(found.x), to_theta(found.prior.x[found.prior.done])
        summary = Summary(
            parameters,
            moments(theta, found.weights),
            moments(prior, np.full(len(prior), 1.0 / len(prior))),
            found.way,
            found.effective[-1],
            sum(found.sizes),
            found.failed,
            found.differ,
            fit,
        )
        rounds = tuple(zip(found.sizes, found.effective, strict=True))
        return cls(summary, theta, found.weights, found.numbers, rounds)

    def evenly(self, size: int) -> NDArray[np.int64]:
        """Return ``size`` indices in proportion to the weights, without randomness."""
        edges = np.cumsum(self.weights)
        points = edges[-1] * (np.arange(size) + 0.5) / size
        return np.searchsorted(edges, points).astype(np.int64)


def of_model(
    question: Question, effort: Effort, each: Each = one_by_one, first: Draws | None = None
) -> Posterior:
    """Compute the posterior by simulation; the result does not depend on how tasks are run.

    Args:
        question: release and model.
        effort: limits on the simulations.
        each: runs tasks.
        first: existing draws from the prior.

    Raises:
        ParameterError: the simulator failed everywhere.
    """
    found = infer(question, effort, each, first)
    model = question.model
    return Posterior.of(found, model.parameters, model.prior.theta, fit(question, found, each))


def of_pool(
    pool: FixedPool, z: Array, parameters: tuple[str, ...], numbers: tuple[str, ...]
) -> Posterior:
    """Compute the posterior of released numbers ``z (k,)`` from a pool."""
    found = pool.given(z)
    fitted = pool.fit(z, found, parameters, numbers)
    return Posterior.of(found, parameters, pool.scale.theta, fitted)
