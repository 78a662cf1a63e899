"""Whether released numbers resemble the public simulations with the same noise, at a stated level.

If the data follow the prior and the model, what was released and the noisy numbers of T public
draws are exchangeable: T + 1 draws of one law. So, whatever that law is,

* each number lies below all of the pool with probability at most 1/(T + 1), and above all likewise;
* of R draws that are set aside and the release, the release is the one farthest from all others
  with probability at most 1/(R + 1): how far is the distance to the :data:`NEIGHBOUR`-th nearest of
  the T − R other draws, each number in standard deviations. This notices numbers that are usual one
  by one and not together.

Both together happen with probability at most ``2k/(T + 1) + 1/(R + 1)``, the level. What is read is
the release and the pool, so nothing is spent.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import distance

from abcdp_core.streams import generator

Array = NDArray[np.float64]

ASIDE = 1000
"""Draws that are set aside, R; or a quarter of the pool if that is fewer."""

NEIGHBOUR = 10
"""Which of the nearest draws counts: one chance neighbour is not enough to resemble."""

BLOCK = 100
"""Draws whose distances to all others are in memory at once."""


@dataclass(frozen=True, eq=False)
class Likeness:
    """What a pool's noisy numbers reach.

    Attributes:
        low, high: of each number ``(k,)``.
        spread: their standard deviations ``(k,)``; 1 for a constant.
        others: draws that are not set aside ``(T - R, k)``, in these.
        aside: how many are, R.
        farthest: the largest distance of one of these.
        level: probability at most with which data that follow the model are taken for others.
    """

    low: Array
    high: Array
    spread: Array = field(repr=False)
    others: Array = field(repr=False)
    aside: int
    farthest: float
    level: float

    @classmethod
    def of(cls, numbers: Array) -> Likeness:
        """From the noisy numbers ``(T, k)`` of public draws, in any order."""
        size, k = numbers.shape
        aside = min(ASIDE, size // 4)
        order = generator(0, "likeness").permutation(size)
        spread = numbers.std(axis=0)
        spread = np.where(spread > 0.0, spread, 1.0)
        scaled = numbers[order] / spread
        farthest = float(_away(scaled[:aside], scaled[aside:]).max())
        level = 2.0 * k / (size + 1.0) + 1.0 / (aside + 1.0)
        ends = numbers.min(axis=0), numbers.max(axis=0)
        return cls(*ends, spread, scaled[aside:], aside, farthest, level)

    def outside(self, z: Array) -> NDArray[np.bool_]:
        """Whether each released number ``(k,)`` is beyond all of the pool."""
        found: NDArray[np.bool_] = (z < self.low) | (z > self.high)
        return found

    def is_apart(self, z: Array) -> bool:
        """Whether released numbers ``(k,)`` are farther from the pool than any draw set aside."""
        return float(_away((z / self.spread)[None], self.others)[0]) > self.farthest


def _away(points: Array, others: Array) -> Array:
    """Distance ``(m,)`` of points ``(m, k)`` to the one of others ``(T, k)`` that counts."""
    place = min(NEIGHBOUR, len(others)) - 1
    blocks = (points[start : start + BLOCK] for start in range(0, len(points), BLOCK))
    return np.concatenate(
        [np.partition(distance.cdist(block, others), place, axis=1)[:, place] for block in blocks]
    )
