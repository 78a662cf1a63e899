"""What came out: weighted draws of the parameters, beside those of the prior, and the fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from abcdp_core.posterior.fit import Fit, fit
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


@dataclass(frozen=True)
class Moments:
    """Mean, standard deviation and ends of the central 90 % interval ``(d,)``."""

    mean: Array
    sd: Array
    low: Array
    high: Array


def moments(values: Array, weights: Array) -> Moments:
    """Moments of values ``(m, d)`` under weights ``(m,)`` that add up to 1."""
    mean = weighted_mean(values, weights)
    sd = np.sqrt(weights @ (values - mean) ** 2)
    low, high = weighted_quantile(values, weights, (0.05, 0.95))
    return Moments(mean, sd, low, high)


@dataclass(frozen=True)
class Summary:
    """What is said of a posterior.

    Attributes:
        parameters: names of the p parameters.
        found: moments of the posterior.
        prior: of the prior.
        way: which rung answered.
        effective: effective sample size of the importance weights, whether they were used or not.
        simulated: draws that were simulated, or read from a pool.
        failed: those that failed, and count for nothing.
        differ: whether two regressions did; the wider is what is shown.
        fit: whether the model makes such numbers; ``None`` where nobody asked.
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

    def renamed(self, new: Callable[[str], str]) -> Summary:
        """With other names of parameters and numbers, as for a page."""
        fit = self.fit and self.fit.renamed(new)
        return dataclasses.replace(self, parameters=tuple(map(new, self.parameters)), fit=fit)


@dataclass(frozen=True)
class Posterior:
    """The posterior given released numbers.

    Attributes:
        summary: what is said of it.
        theta: draws ``(m, p)``.
        weights: ``(m,)``, adding up to 1.
        numbers: that the data may have had, before noise, with each ``(m, k)``.
        prior_theta: draws from the prior ``(T, p)``.
        prior_numbers: numbers simulated there ``(T, k)``.
        rounds: draws of each round, or of the pool, and effective sample size after it.
    """

    summary: Summary
    theta: Array = field(repr=False)
    weights: Array = field(repr=False)
    numbers: Array = field(repr=False)
    prior_theta: Array = field(repr=False)
    prior_numbers: Array = field(repr=False)
    rounds: tuple[tuple[int, float], ...]

    @classmethod
    def of(
        cls,
        found: Found,
        parameters: tuple[str, ...],
        to_theta: Callable[[Array], Array],
        fit: Fit | None,
    ) -> Posterior:
        """From draws on the scale x, of which a function makes parameters."""
        done = found.prior.done
        theta, prior = to_theta(found.x), to_theta(found.prior.x[done])
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
        numbers = found.prior.numbers[done]
        return cls(summary, theta, found.weights, found.numbers, prior, numbers, rounds)

    def evenly(self, size: int) -> NDArray[np.int64]:
        """So many indices in proportion to the weights, without randomness."""
        edges = np.cumsum(self.weights)
        points = edges[-1] * (np.arange(size) + 0.5) / size
        return np.searchsorted(edges, points).astype(np.int64)


def of_model(
    question: Question, effort: Effort, each: Each = one_by_one, first: Draws | None = None
) -> Posterior:
    """The posterior by simulations; the same however its tasks are done.

    Args:
        question: what was released, and what is to explain it.
        effort: how much is simulated.
        each: does tasks.
        first: draws from the prior that are there already.

    Raises:
        ParameterError: the simulator failed everywhere.
    """
    found = infer(question, effort, each, first)
    model = question.model
    return Posterior.of(found, model.parameters, model.prior.theta, fit(question, found, each))


def of_pool(
    pool: FixedPool, z: Array, parameters: tuple[str, ...], numbers: tuple[str, ...]
) -> Posterior:
    """The posterior from draws that are there.

    Args:
        pool: the draws.
        z: released ``(k,)``.
        parameters, numbers: their names.
    """
    found = pool.given(z)
    fitted = pool.fit(z, found, parameters, numbers)
    return Posterior.of(found, parameters, pool.scale.theta, fitted)
