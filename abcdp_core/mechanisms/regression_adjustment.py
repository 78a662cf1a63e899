r"""Move draws near a released vector to it by a local-linear regression (MATH E3, E5).

The nearest draws of a pool are not at the released vector. So their parameters are moved along a
plane fitted through them with Epanechnikov weights (Beaumont, Zhang & Balding, Genetics 162, 2002).
The regression works on the unconstrained scale of the prior's support
(:mod:`abcdp_core.base.transforms`), so no draw leaves the support.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.base.summaries import weighted_variance
from abcdp_core.base.transforms import Bijector
from abcdp_core.mechanisms import PosteriorInfo, Release
from abcdp_core.mechanisms.nearest_selection import nearest
from abcdp_core.posterior.regression import less_slope
from abcdp_core.privacy import Event

BEND = 0.5
"""Width of the bend of the unconstrained scale, in residual standard deviations.

For shares of at most 0.02, at ε_total = 0.01, the 90 % intervals of the private embedding cover
0.68 with this value, 0.64 with twice as much, 0.61 with log-ratios and, on the straight scale, 0.83
(where draws may end below 0); by importance weights, 0.65 (1000 data sets, standard error 0.015).
"""

SMALLEST_BEND = 1e-9
"""The same for a regression without residuals, in ranges of the pool's parameters."""


def caution(pool_size: int, fewest: Collection[int]) -> str:
    """Return a warning about intervals if a pool is too small to move its draws, or nearly so.

    Args:
        pool_size: draws in the pool.
        fewest: smallest pool whose draws each mechanism moves; empty if none moves any.
    """
    largest = max(fewest, default=0)
    takes = f"{largest:,}" if len(set(fewest)) < 2 else f"{min(fewest):,} to {largest:,}"
    if pool_size < largest:
        which = "some" if pool_size >= min(fewest) else "the"
        return (
            f"Regression adjustment needs {takes} draws; the pool has {pool_size:,}, so {which} "
            "intervals are wide."
        )
    if pool_size < 2 * largest:
        return (
            f"A pool of {pool_size:,} is less than twice the {takes} draws that regression "
            "adjustment needs; a larger one is safer."
        )
    return ""


def posterior(
    away: Array,
    event: Event,
    support: Bijector,
    theta: Array,
    fewest: int,
    importance_size: float = 0.0,
) -> Release:
    """Return the draws nearest to a released vector, moved to it if the pool is large enough.

    Args:
        away: vectors of the pool less the released one ``(T, k)``.
        event: how the vector was released.
        support: of the prior.
        theta: parameters of the pool ``(T, d)``.
        fewest: smallest pool whose draws are moved; this many of the nearest draws are kept.
        importance_size: effective sample size of importance weights, for the record.
    """
    distance = np.asarray(np.linalg.norm(away, axis=1))
    indices = nearest(distance, fewest)
    weights = _epanechnikov(distance[indices])
    sample, way, samples = theta[indices], "kept", None
    if len(theta) >= fewest:
        way, sample = "moved", _moved(sample, away[indices], weights, support, theta)
        samples = sample
    outside = float(weights[~support.contains(sample)].sum())
    made = PosteriorInfo(way, importance_size, outside)
    return Release(indices, weights, len(theta), event, samples=samples, made=made)


def _moved(place: Array, away: Array, weights: Array, support: Bijector, theta: Array) -> Array:
    """Return parameters ``(m, d)`` moved along a local-linear regression."""
    residual = weighted_variance(less_slope(place, away, weights), weights)
    ranges = np.ptp(theta, axis=0)
    smallest = SMALLEST_BEND * np.where(ranges > 0.0, ranges, 1.0)
    bend = np.maximum(BEND * np.sqrt(residual), smallest)
    moved = less_slope(support.to_unconstrained(place, bend), away, weights)
    return support.from_unconstrained(moved, bend)


def _epanechnikov(distance: Array) -> Array:
    """Return weights ``(m,)`` that add up to 1 and fall to 0 at the largest distance.

    If all distances are equal, so are the weights.
    """
    farthest = float(distance.max())
    weights = 1.0 - (distance / farthest) ** 2 if farthest > 0.0 else np.zeros(len(distance))
    if not weights.any():
        weights = np.ones(len(distance))
    return weights / weights.sum()
