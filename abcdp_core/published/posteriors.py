"""What came out: weighted draws, their moments and intervals, beside those of the prior."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from abcdp_core.summaries import weighted_mean, weighted_quantile

Array = NDArray[np.float64]

Way = Literal["weights", "regression"]

KEPT = 20_000
"""Draws of a posterior that are kept, at most."""


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
class Posterior:
    """Weighted draws from the posterior given a noisy query.

    Attributes:
        parameters: names of the d parameters.
        theta: draws ``(m, d)``, at most :data:`KEPT` of all that there were.
        weights: ``(m,)``, adding up to 1.
        found: moments of the posterior, by all draws that there were.
        prior: moments of the prior.
        way: how they were made.
        ess: effective sample size of the importance weights, whether they were used or not.
        simulated: draws that were simulated, or read from a pool.
        rounds: draws and effective sample size after each round of simulations.
        beyond: names of the numbers of the query that are beyond those of all queries simulated at
            draws of the prior; where there are any, the model may be wrong.
        apart: whether the query is farther from simulated queries than any of these from the rest.
    """

    parameters: tuple[str, ...]
    theta: Array = field(repr=False)
    weights: Array = field(repr=False)
    found: Moments
    prior: Moments
    way: Way
    ess: float
    simulated: int
    rounds: tuple[tuple[int, float], ...]
    beyond: tuple[str, ...] = ()
    apart: bool = False


def thinned(
    weights: Array, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Array]:
    """Which draws to keep, at most so many, and their weights: unbiased, with the least variance.

    Weights above a number c stay as they are; a smaller one becomes c with probability w / c, else
    0. But for rounding, ``count`` draws are left where there were more (Fearnhead & Clifford,
    Journal of the Royal Statistical Society B 65, 2003).

    Args:
        weights: ``(m,)``, adding up to 1.
        count: how many, at least 1.
        rng: source of all chance.

    Returns:
        Indices in ascending order, and weights that add up to 1.
    """
    positive = np.flatnonzero(weights)
    if len(positive) <= count:
        return positive, weights[positive]
    ordered = np.sort(weights[positive])[::-1]
    # With the k largest kept, the others have to make up the rest: c = their sum / (count - k).
    tails = np.concatenate([np.cumsum(ordered[::-1])[::-1], [0.0]])[:count]
    limits = tails / (count - np.arange(count))
    kept = int(np.argmax(ordered[:count] <= limits))
    limit = limits[kept]
    large = positive[weights[positive] > limit]
    small = positive[weights[positive] <= limit]
    places = np.cumsum(weights[small]) / limit + rng.random()
    # One is taken wherever the running sum, which starts at random, passes a whole number.
    taken = small[np.diff(np.floor(places), prepend=0.0) > 0.0]
    indices = np.sort(np.concatenate([large, taken]))
    found = np.maximum(weights[indices], limit)
    return indices, found / found.sum()
