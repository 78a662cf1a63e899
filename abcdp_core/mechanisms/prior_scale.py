r"""On which scale parameters are regressed: their own, or that of the prior's normal scores.

A prior over decades, as of a rate that is uniform in its logarithm, has a few draws far above all
others. A regression of the parameter itself follows these alone: it calls draws a decade apart
near, and moves them by slopes that hold for neither. On the scale $x = \Phi^{-1}(F(\theta))$, with
$F$ the share of the pool's draws below and half of those that are equal, every prior is standard
normal, or nearly so. It has no setting, and what is moved on it stays within the pool's draws.

A rate that is uniform in its logarithm, and known to 4 % by a mean of 1000 logarithms (400 data
sets, 10,000 draws, ``python -m benchmarks.prior_scale``): coverage of 90 % intervals by the rate
and on this scale, and medians of their widths in those of the exact ones.

| prior | by the rate | on this scale | width, by the rate | on this scale |
|---|---|---|---|---|
| 0.1 to 100 | 0.94 | 0.90 | 7.8 | 1.02 |
| 0.001 to 10,000 | 0.83 | 0.89 | 19 | 1.13 |
| $10^{-7}$ to $10^5$ | 0.55 | 0.88 | 780 | 1.33 |

A prior without far draws keeps its own scale. So does one with a value that a quarter of the draws
or more have, as an effect that is mostly 0: draws elsewhere would be too few to be near. And so
does one that is told better by itself (:func:`is_better_by_itself`), as with a Cauchy prior on a
mean that the data follow in a straight line: the pool and its noise decide, whatever is released.

A parameter that takes few values, as a number of strains, is moved like others and then has the
nearest of these. One that is often at an end of its range is there when it is moved to close by.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from abcdp_core.supports import Support

Array = NDArray[np.float64]

WIDE = 1.0
"""A standard deviation above so many interquartile ranges is that of a few far draws. A normal
prior has 0.74, a uniform one 0.58, an exponential one 0.91, decades from 2.3 of them on more."""

FEW = 50
"""A parameter takes few values if as many draws as this share each, on average."""

OFTEN = 0.01
"""At an end of its range is often what more than this part of a pool is."""

AT_AN_END = 0.05
"""Nearer than so many of the distances within which the range's scale is bent is at its end."""

MOST_EQUAL = 0.25
"""Part of a pool that may be equal on the scale of scores."""


@dataclass(frozen=True)
class Column:
    """What one parameter of a pool needs.

    Attributes:
        values: the different ones, rising ``(m,)``.
        scores: of each ``(m,)``; ``None`` on the parameter's own scale.
        are_few: whether there are no others.
        ends: the lowest and the highest where draws often are, else infinite.
    """

    values: Array
    scores: Array | None
    are_few: bool
    ends: tuple[float, float]

    @classmethod
    def of(cls, theta: Array) -> Column | None:
        """By draws ``(T,)``; ``None`` if it needs nothing."""
        values, counts = np.unique(theta, return_counts=True)
        draws, few = len(theta), FEW * len(values) <= len(theta)
        at_low, at_high = (count > OFTEN * draws for count in counts[[0, -1]])
        ends = (values[0] if at_low else -np.inf), (values[-1] if at_high else np.inf)
        quarter, three = np.quantile(theta, [0.25, 0.75])
        scores = None
        if counts.max() < MOST_EQUAL * draws and theta.std() > WIDE * (three - quarter):
            below = np.cumsum(counts) - 0.5 * counts
            scores = np.asarray(ndtri(below / draws))
        if scores is None and not (few or at_low or at_high):
            return None
        return cls(values, scores, few, (float(ends[0]), float(ends[1])))

    def to_scores(self, theta: Array) -> Array:
        """Values ``(m,)`` on the scale."""
        return theta if self.scores is None else np.interp(theta, self.values, self.scores)

    def from_scores(self, scores: Array) -> Array:
        """The inverse, within the draws of the pool."""
        return scores if self.scores is None else np.interp(scores, self.scores, self.values)

    def settled(self, theta: Array, distance: float) -> Array:
        """Values ``(m,)`` that were moved, where the parameter can be."""
        if self.are_few:
            between = 0.5 * (self.values[1:] + self.values[:-1])
            return self.values[np.searchsorted(between, theta)]
        low, high = self.ends
        near = AT_AN_END * distance
        return np.where(theta <= low + near, low, np.where(theta >= high - near, high, theta))


@dataclass(frozen=True)
class PriorScale:
    """What some parameters need; the others are left as they are.

    Attributes:
        columns: place of a parameter -> what it needs.
    """

    columns: dict[int, Column] = field(repr=False)

    @classmethod
    def of(cls, theta: Array, support: Support) -> PriorScale:
        """For the parameters ``(T, d)`` of a pool, if each may be moved by itself."""
        if not support.separate:
            return cls({})
        found = {place: Column.of(column) for place, column in enumerate(theta.T)}
        return cls({place: each for place, each in found.items() if each is not None})

    @property
    def scored(self) -> list[int]:
        """Places of parameters that have scores."""
        return [place for place, each in self.columns.items() if each.scores is not None]

    def without_scores(self, place: int) -> PriorScale:
        """The same, with one parameter on its own scale."""
        column = dataclasses.replace(self.columns[place], scores=None)
        return PriorScale(self.columns | {place: column})

    def scores(self, theta: Array) -> Array:
        """Parameters ``(m, d)`` on the scale."""
        found = np.array(theta)
        for place, each in self.columns.items():
            found[:, place] = each.to_scores(theta[:, place])
        return found

    def on(self, support: Support) -> Support:
        """The support with the scale of each parameter; what is moved on it is where it can be."""
        if not self.columns:
            return support

        def to_unconstrained(theta: Array, distance: Array) -> Array:
            found = np.array(support.to_unconstrained(theta, distance))
            for place, each in self.columns.items():
                if each.scores is not None:
                    found[:, place] = each.to_scores(theta[:, place])
            return found

        def from_unconstrained(values: Array, distance: Array) -> Array:
            found = np.array(support.from_unconstrained(values, distance))
            for place, each in self.columns.items():
                own = found[:, place]
                if each.scores is not None:
                    own = each.from_scores(values[:, place])
                found[:, place] = each.settled(own, float(distance[place]))
            return found

        return Support(support.contains, to_unconstrained, from_unconstrained)


def is_better_by_itself(wanted: Array, predicted: Array) -> bool:
    """Whether a regression tells a parameter better than its scores.

    It leaves clearly less open, and its predictions order the pool as well: what explains the few
    far draws, and mixes up all others, does not.

    Args:
        wanted: the parameter and its scores in the pool ``(T, 2)``, of standard deviation 1.
        predicted: the same by the regression.
    """
    itself, by_scores = np.mean((wanted - predicted) ** 2, axis=0)
    if itself >= CLEARLY * by_scores:
        return False
    orders = [_ranks(told) @ _ranks(own) for told, own in zip(predicted.T, wanted.T, strict=True)]
    return bool(orders[0] > orders[1] - AS_WELL)


def _ranks(values: Array) -> Array:
    """Ranks ``(T,)`` of length 1 around 0, so that a product is Spearman's correlation."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * counts)[places] - 0.5 * len(values)
    length = np.linalg.norm(ranks)
    return np.asarray(ranks / length if length > 0.0 else ranks)


CLEARLY = 0.95
"""Of what scores leave open. Where nothing is told, chance makes less difference."""

AS_WELL = 0.01
"""Less rank correlation that is as good an order."""
