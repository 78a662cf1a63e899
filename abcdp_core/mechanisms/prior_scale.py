r"""On which scale parameters are regressed: their own, or that of the prior's normal scores.

A prior over decades, as of a rate that is uniform in its logarithm, has a few draws far above all
others. A regression of the parameter itself follows these alone: it calls draws a decade apart
near, and moves them by slopes that hold for neither. And a parameter that takes few values, or one
of them often, as an effect that may be 0, is moved between them. On the scale
$x = \Phi^{-1}(F(\theta))$, with $F$ the share of the pool's draws below and half of those that are
equal, every prior is standard normal, or nearly so. It has no setting, and what is moved on it
stays within the pool's draws: at a value that many of them share wherever $\Phi(x)$ is within the
share that they are.

A rate that is uniform in its logarithm, and known to 4 % by a mean of 1000 logarithms (400 data
sets, 10,000 draws, ``python -m benchmarks.prior_scale``): coverage of 90 % intervals by the rate
and on this scale, and medians of their widths in those of the exact ones.

| prior | by the rate | on this scale | width, by the rate | on this scale |
|---|---|---|---|---|
| 0.1 to 100 | 0.94 | 0.90 | 7.8 | 1.02 |
| 0.001 to 10,000 | 0.83 | 0.89 | 19 | 1.13 |
| $10^{-7}$ to $10^5$ | 0.55 | 0.88 | 780 | 1.33 |

A prior with neither far draws nor such values keeps its own scale.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from abcdp_core.supports import Support

Array = NDArray[np.float64]

WIDE = 1.0
"""A standard deviation above so many interquartile ranges is that of a few far draws. A normal
prior has 0.74, a uniform one 0.58, an exponential one 0.91, decades from 2.3 of them on more."""

SHARED, LEAST = 0.01, 400
"""A value that more than this part of a pool has, and of this many draws in a small pool, is one
that the prior takes often."""

FARTHEST_SCORE = 8.0
"""A score that no pool has."""


@dataclass(frozen=True)
class Scores:
    """Of one parameter, by the draws of a pool.

    Attributes:
        values: the different ones, rising ``(m,)``.
        scores: of each ``(m,)``.
        ends: scores, rising, and the values at them ``(2, l)``: twice a value that many share.
    """

    values: Array
    scores: Array
    ends: Array

    @classmethod
    def of(cls, theta: Array) -> Scores | None:
        """Of draws ``(T,)``; ``None`` if the prior needs none."""
        values, counts = np.unique(theta, return_counts=True)
        shared = counts > SHARED * max(len(theta), LEAST)
        quarter, three = np.quantile(theta, [0.25, 0.75])
        if len(values) == 1 or not (shared.any() or theta.std() > WIDE * (three - quarter)):
            return None
        below = np.cumsum(counts) - counts
        first, middle, last = (
            np.clip(ndtri((below + part * counts) / len(theta)), -FARTHEST_SCORE, FARTHEST_SCORE)
            for part in (0.0, 0.5, 1.0)
        )
        pairs = np.column_stack([np.where(shared, first, middle), np.where(shared, last, middle)])
        return cls(values, middle, np.stack([pairs.ravel(), np.repeat(values, 2)]))


@dataclass(frozen=True)
class PriorScale:
    """Scores of some parameters; the others are left as they are.

    Attributes:
        columns: place of a parameter -> its scores.
    """

    columns: dict[int, Scores] = field(repr=False)

    @classmethod
    def of(cls, theta: Array, support: Support) -> PriorScale:
        """For the parameters ``(T, d)`` of a pool, if each may be moved by itself."""
        if not support.separate:
            return cls({})
        found = {place: Scores.of(column) for place, column in enumerate(theta.T)}
        return cls({place: each for place, each in found.items() if each is not None})

    def scores(self, theta: Array) -> Array:
        """Parameters ``(m, d)`` on the scale."""
        found = np.array(theta)
        for place, each in self.columns.items():
            found[:, place] = np.interp(theta[:, place], each.values, each.scores)
        return found

    def parameters(self, scores: Array) -> Array:
        """The inverse of :meth:`scores`, within the draws of the pool."""
        found = np.array(scores)
        for place, each in self.columns.items():
            found[:, place] = np.interp(scores[:, place], *each.ends)
        return found

    def on(self, support: Support) -> Support:
        """The support, whose own scale serves the other parameters."""
        if not self.columns:
            return support
        places = list(self.columns)

        def to_unconstrained(theta: Array, distance: Array) -> Array:
            found = np.array(support.to_unconstrained(theta, distance))
            found[:, places] = self.scores(theta)[:, places]
            return found

        def from_unconstrained(values: Array, distance: Array) -> Array:
            found = np.array(support.from_unconstrained(values, distance))
            found[:, places] = self.parameters(values)[:, places]
            return found

        return Support(support.contains, to_unconstrained, from_unconstrained)
