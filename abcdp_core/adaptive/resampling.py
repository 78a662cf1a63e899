"""Resampling: ancestors of equally weighted particles, in proportion to the weights (MATH A6)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Resampling = Callable[[np.random.Generator, Array], Indices]


def systematic(rng: np.random.Generator, weights: Array) -> Indices:
    """One random number for all: a particle of weight w has ⌊Nw⌋ or ⌈Nw⌉ children.

    Args:
        rng: source of that number.
        weights: ``(N,)``, summing to 1.
    """
    return ancestors(weights, (np.arange(len(weights)) + rng.random()) / len(weights))


def multinomial(rng: np.random.Generator, weights: Array) -> Indices:
    """Each child chooses its parent independently of the others."""
    return ancestors(weights, np.sort(rng.random(len(weights))))


def evenly(weights: Array, size: int) -> Indices:
    """As many indices as asked for in proportion to the weights ``(N,)``, without randomness."""
    return ancestors(weights, (np.arange(size) + 0.5) / size)


def ancestors(weights: Array, points: Array) -> Indices:
    """Particles whose share of [0, 1) holds each of the points ``(k,)``."""
    edges = np.cumsum(weights)
    # The last sum may fall short of 1 by rounding.
    return np.minimum(np.searchsorted(edges, points * edges[-1], side="right"), len(weights) - 1)


RESAMPLING: dict[str, Resampling] = {"systematic": systematic, "multinomial": multinomial}
