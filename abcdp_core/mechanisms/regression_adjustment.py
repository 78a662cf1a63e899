r"""Draws near a released vector, moved to where it is by a local-linear regression (MATH E3, E5).

The nearest draws of a pool are not quite near, so their parameters are moved along a plane through
them, by what it says of the way to the released vector, with Epanechnikov weights (Beaumont,
Zhang & Balding, Genetics 162, 2002). They are moved on the scale of the prior's support
(:mod:`abcdp_core.transforms`), bent within half a standard deviation of what a straight regression
leaves open, so that none ends outside.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from abcdp_core.mechanisms import PosteriorInfo, Release
from abcdp_core.privacy import Event
from abcdp_core.summaries import weighted_variance
from abcdp_core.transforms import Bijector

Array = NDArray[np.float64]

BEND = 0.5
"""Where the support's scale is bent, in standard deviations of what the regression leaves open.

Of weights of at most 0.02, at ε_total = 0.01, intervals by importance weights hold 0.65; by draws
moved with a half 0.68, with a whole 0.64, with log-ratios 0.61 and in a straight line, where they
may end below 0, 0.83 (the private embedding, 1000 data sets, standard error 0.015).
"""

SMALLEST_BEND = 1e-9
"""For a regression that leaves nothing open, in ranges of the pool's parameters."""


def caution(pool_size: int, fewest: Collection[int]) -> str:
    """What to say of intervals from a pool that is too small to move its draws, or nearly so.

    Args:
        pool_size: draws in the pool.
        fewest: draws of the smallest pool that each mechanism moves; none if nobody moves any.
    """
    largest = max(fewest, default=0)
    takes = f"{largest:,}" if len(set(fewest)) < 2 else f"{min(fewest):,} to {largest:,}"
    if pool_size < largest:
        which = "some draws" if pool_size >= min(fewest) else "draws"
        return (
            f"A pool of {pool_size:,} is too small to move {which} by a regression ({takes}); "
            f"their intervals are wide."
        )
    if pool_size < 2 * largest:
        return (
            f"A pool of {pool_size:,} is less than twice the {takes} draws that moving them by "
            f"a regression takes; a larger one is safer."
        )
    return ""


@dataclass(frozen=True)
class Near:
    """Draws near a released vector.

    Attributes:
        indices: which ``(m,)``.
        away: their vectors less the released one ``(m, k)``.
        weights: ``(m,)``, adding up to 1.
    """

    indices: NDArray[np.int64]
    away: Array
    weights: Array


def near(away: Array, count: int) -> Near:
    """The draws nearest to a released vector, at most so many.

    Args:
        away: vectors of the pool less the released one ``(T, k)``.
        count: how many draws, at least 1.
    """
    distance = np.asarray(np.linalg.norm(away, axis=1))
    indices = nearest(distance, count)
    return Near(indices, away[indices], _epanechnikov(distance[indices]))


def nearest(distance: Array, count: int) -> NDArray[np.int64]:
    """Indices of the smallest distances, in order of the pool; all if there are no more.

    Of those that are equally far the first are taken.
    """
    return np.sort(np.argsort(distance, kind="stable")[:count])


def posterior(
    found: Near,
    event: Event,
    support: Bijector,
    theta: Array,
    *,
    move: bool,
    importance_size: float = 0.0,
) -> Release:
    """The draws near a released vector, moved to it or left where they are.

    Args:
        found: the draws.
        event: how the vector was released.
        support: of the prior.
        theta: parameters of the pool ``(T, d)``.
        move: whether they are moved.
        importance_size: effective sample size of importance weights, for the record.
    """
    place = theta[found.indices]
    samples = _moved(found, support, theta) if move else None
    inside = support.contains(place if samples is None else samples)
    made = PosteriorInfo(
        "moved" if move else "kept", importance_size, float(found.weights[~inside].sum())
    )
    return Release(found.indices, found.weights, len(theta), event, samples=samples, made=made)


def _moved(found: Near, support: Bijector, theta: Array) -> Array:
    """Parameters ``(m, d)`` moved along a local-linear regression, on the support's scale."""
    place = theta[found.indices]
    left_open = weighted_variance(less_slope(place, found), found.weights)
    ranges = np.ptp(theta, axis=0)
    smallest = SMALLEST_BEND * np.where(ranges > 0.0, ranges, 1.0)
    bend = np.maximum(BEND * np.sqrt(left_open), smallest)
    moved = less_slope(support.to_unconstrained(place, bend), found)
    return support.from_unconstrained(moved, bend)


def less_slope(values: Array, found: Near) -> Array:
    """Values ``(m, d)`` less what the distance to the released vector explains of them."""
    return values - found.away @ _slopes(found.away, values, found.weights)


def _epanechnikov(distance: Array) -> Array:
    """Weights ``(m,)`` adding up to 1, falling to 0 at the largest distance.

    They are equal where all distances are.
    """
    farthest = float(distance.max())
    weights = 1.0 - (distance / farthest) ** 2 if farthest > 0.0 else np.zeros(len(distance))
    if not weights.any():
        weights = np.ones(len(distance))
    return weights / weights.sum()


def _slopes(away: Array, values: Array, weights: Array) -> Array:
    """Slopes ``(k, d)`` of the weighted least-squares plane through values ``(m, d)``."""
    root = np.sqrt(weights)[:, None]
    design = np.hstack([np.ones((len(away), 1)), away])
    return np.linalg.lstsq(root * design, root * values, rcond=None)[0][1:]
