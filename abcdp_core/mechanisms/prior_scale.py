r"""Which scale parameters are regressed on: their own, and that of the prior's normal scores.

A prior over decades, as of a rate that is uniform in its logarithm, has a few draws far above all
others. A regression of the parameter itself follows these alone: it calls draws a decade apart
near, and moves them by slopes that hold for neither. On the scale $x = \Phi^{-1}(F(\theta))$, with
$F$ the share of the pool's draws below and half of those that are equal, every prior is standard
normal, or nearly so. Beyond the pool's outermost draws it goes on in a straight line: were these
the end, draws that are moved past them would seem to be one, and known exactly.

Neither scale is right for all data. A mean tells a large rate best by itself, and a mean of
logarithms any rate by its scores; a release may have both. So both are regressed, draws are near
that are near by both, and these are moved by both, on the scale on which they end closer together:
by itself where the data follow the parameter in a straight line, by scores where most of the prior
is left (:meth:`PriorScale.better_by_scores`). All of it is a function of what is released.

A rate that is uniform in its logarithm, and known to 4 % by a mean of 1000 logarithms (400 data
sets, 10,000 draws, ``python -m benchmarks.prior_scale``): coverage of 90 % intervals by the rate
alone and with scores, and medians of their widths in those of the exact ones.

| prior | by the rate | with scores | width, by the rate | with scores |
|---|---|---|---|---|
| 0.1 to 100 | 0.94 | 0.88 | 7.8 | 1.00 |
| 0.001 to 10,000 | 0.83 | 0.90 | 19 | 1.06 |
| $10^{-7}$ to $10^5$ | 0.55 | 0.91 | 780 | 1.12 |

A prior without far draws has no scores. A parameter that takes few values, as a number of strains,
is moved like others and then has the nearest of these. One that is often at an end of its range, as
an effect that is mostly 0, is there when it is moved to close by.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from abcdp_core.summaries import weighted_variance
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

BESIDE = 10
"""Values on each side that tell how steep scores are: two at the end may be close by chance."""

CLEARLY = 0.95
"""Of what scores leave open. Where nothing is told, chance makes less difference."""


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
        if theta.std() > WIDE * (three - quarter):
            below = np.cumsum(counts) - 0.5 * counts
            scores = np.asarray(ndtri(below / draws))
        if scores is None and not (few or at_low or at_high):
            return None
        return cls(values, scores, few, (float(ends[0]), float(ends[1])))

    def to_scores(self, theta: Array) -> Array:
        """Scores of values ``(m,)``, if there are any."""
        return np.interp(theta, self.values, cast(Array, self.scores))

    def from_scores(self, moved: Array) -> Array:
        """Values ``(m,)`` of scores that were moved, be they beyond the pool's draws."""
        scores = cast(Array, self.scores)
        nearest = self.values[_nearest(scores, moved)]
        if self.are_few:
            return nearest
        line = np.interp(moved, scores, self.values)
        line += self.slope_at(scores[0]) * np.minimum(moved - scores[0], 0.0)
        line += self.slope_at(scores[-1]) * np.maximum(moved - scores[-1], 0.0)
        return np.where(np.isin(nearest, self.ends), nearest, line)

    def slope_at(self, score: float) -> float:
        """How fast values rise with their scores, beside a score; 0 where there are few of them."""
        scores = cast(Array, self.scores)
        place = np.searchsorted(scores, score)
        low, high = np.clip([place - BESIDE, place + BESIDE], 0, len(scores) - 1)
        rise = (self.values[high] - self.values[low]) / (scores[high] - scores[low])
        return 0.0 if self.are_few else float(rise)

    def within(self, wanted: Array, supported: Array) -> Array:
        """Values ``(m,)`` as they are between the pool's draws, beyond them where they can be.

        Args:
            wanted: :meth:`from_scores`.
            supported: the same, brought into the support from its unbounded scale.
        """
        low, high = self.values[0], self.values[-1]
        beyond = np.where(wanted > high, np.maximum(supported, high), np.minimum(supported, low))
        return np.where((wanted >= low) & (wanted <= high), wanted, beyond)

    def settled(self, theta: Array, distance: float) -> Array:
        """Values ``(m,)`` that were moved on their own scale, where the parameter can be."""
        if self.are_few:
            return self.values[_nearest(self.values, theta)]
        low, high = self.ends
        near = AT_AN_END * distance
        return np.where(theta <= low + near, low, np.where(theta >= high - near, high, theta))


def _nearest(rising: Array, wanted: Array) -> NDArray[np.int64]:
    """Places ``(m,)`` of the nearest of some values."""
    return np.searchsorted(0.5 * (rising[1:] + rising[:-1]), wanted)


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

    def with_scores(self, theta: Array) -> Array:
        """Parameters ``(m, d)``, and then the scores of those that have some ``(m, d + s)``."""
        scores = [self.columns[place].to_scores(theta[:, place]) for place in self.scored]
        return np.column_stack([theta, *scores])

    def better_by_scores(self, near: Array, moved: Array, weights: Array) -> list[int]:
        """Places of parameters that are better moved by their scores than by themselves.

        By itself is better what leaves clearly less of the variance open, and ends closer. Where
        little is told chance decides which is closer; and the variance of draws far above the
        release says nothing of those beside it. On the scale of the parameter, as scores are steep
        at the last draws of a pool; and not between two draws alone, where these rise by chance.

        Args:
            near: parameters and scores of draws that are near a release ``(m, d + s)``.
            moved: the same, moved to it in a straight line.
            weights: ``(m,)``.
        """
        before, after = (weighted_variance(each, weights) for each in (near, moved))
        left_open = np.divide(after, before, out=np.zeros_like(after), where=before > 0.0)
        found = []
        for by_scores, place in enumerate(self.scored, start=near.shape[1] - len(self.scored)):
            column = self.columns[place]
            own = np.clip(moved[:, place], column.values[0], column.values[-1])
            both = np.column_stack([own, column.from_scores(moved[:, by_scores])])
            by_itself, back = weighted_variance(both, weights)
            steep = column.slope_at(float(weights @ moved[:, by_scores]))
            is_clear = left_open[place] < CLEARLY * left_open[by_scores]
            if not is_clear or by_itself >= max(back, steep**2 * after[by_scores]):
                found.append(place)
        return found

    def on(self, support: Support, scored: Collection[int] = ()) -> Support:
        """The support with the scale on which each parameter is moved, to where it can be.

        Args:
            support: of the prior.
            scored: places of parameters that are moved by their scores, the others by themselves.
        """
        if not self.columns:
            return support

        def to_unconstrained(theta: Array, distance: Array) -> Array:
            found = np.array(support.to_unconstrained(theta, distance))
            for place in scored:
                found[:, place] = self.columns[place].to_scores(theta[:, place])
            return found

        def from_unconstrained(values: Array, distance: Array) -> Array:
            wanted = np.array(values)
            for place in scored:
                wanted[:, place] = self.columns[place].from_scores(values[:, place])
            found = np.array(support.from_unconstrained(wanted, distance))
            for place, each in self.columns.items():
                found[:, place] = (
                    each.within(wanted[:, place], found[:, place])
                    if place in scored
                    else each.settled(found[:, place], float(distance[place]))
                )
            return found

        return Support(support.contains, to_unconstrained, from_unconstrained)
