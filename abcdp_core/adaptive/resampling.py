"""Resampling: choose ancestors in proportion to their weights (MATH A6)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array

Indices = NDArray[np.intp]
Resampling = Callable[[np.random.Generator, Array], Indices]


def systematic(rng: np.random.Generator, weights: Array) -> Indices:
    """Resample with one random number: a particle of weight w has ⌊Nw⌋ or ⌈Nw⌉ children."""
    return ancestors(weights, (np.arange(len(weights)) + rng.random()) / len(weights))


def multinomial(rng: np.random.Generator, weights: Array) -> Indices:
    """Resample independently: each child chooses its parent on its own."""
    return ancestors(weights, np.sort(rng.random(len(weights))))


def evenly(weights: Array, size: int) -> Indices:
    """Return ``size`` indices in proportion to the weights ``(N,)``, without randomness."""
    return ancestors(weights, (np.arange(size) + 0.5) / size)


def ancestors(weights: Array, points: Array) -> Indices:
    """Return the particles whose shares of [0, 1) hold the points ``(k,)``."""
    edges = np.cumsum(weights)
    # Rounding may leave the last sum below 1.
    return np.minimum(np.searchsorted(edges, points * edges[-1], side="right"), len(weights) - 1)


RESAMPLING: dict[str, Resampling] = {"systematic": systematic, "multinomial": multinomial}
