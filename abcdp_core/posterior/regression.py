r"""Draws near released numbers, moved to them by a regression, where weights do not carry (E8).

Each draw's numbers get noise of their own, so that a draw that resembles z resembles the *release*;
then nothing is weighted by the noise density, which would count the noise twice. Two steps:

1. a regression of the parameters on all draws: on $z$, on $a = \operatorname{asinh}(z / q)$ with
   $q$ the medians of $|z|$, and on all products $a_i a_j$. Its predictions, as many as parameters,
   say where in the posterior a vector of numbers belongs; those near z are predicted again;
2. the draws whose predictions are nearest to that from z, weighted by how near they are and by what
   they were drawn from, moved along a plane through them (Beaumont, Zhang & Balding, Genetics 162,
   2002; Fearnhead & Prangle, Journal of the Royal Statistical Society B 74, 2012).

All on the scale x of the prior, which has no bounds. The nearest are taken twice, more and fewer of
them. Where the two answers differ by more than :data:`APART` standard deviations the wider counts.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from abcdp_core.summaries import weighted_quantile, weighted_variance

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Shares:
    """Which draws count, as shares of all.

    Attributes:
        around: that are predicted once more.
        nearest: that are moved.
        nearer: the same, of the second answer.
    """

    around: float
    nearest: float
    nearer: float


OF_ROUNDS = Shares(1 / 2, 1 / 4, 1 / 8)
"""Of draws of the last rounds, which are near already."""

OF_POOL = Shares(1 / 8, 1 / 16, 1 / 32)
"""Of draws from a prior."""

FEWEST = 500
"""Draws that are moved, at least, or all."""

FEW = 20
"""Draws that are left where they are, at least, or all."""

APART = 0.25
"""Standard deviations by which ends of both answers may differ."""

PER_FEATURE = 20
"""Fewest draws for each coefficient of the regression with products."""

RIDGE = 1e-6
"""On each feature, of standard deviation 1, in units of the number of draws."""

SAME = 1e-12
"""A standard deviation below this part of the largest value is rounding."""

BLOCK = 10_000
"""Draws whose features are in memory at once: 17 MB of 18 numbers."""

ENDS = (0.05, 0.95)


@dataclass(frozen=True)
class Scaling:
    """Numbers ``(k,)`` that bring released numbers and their asinh to mean 0 and deviation 1."""

    unit: Array
    mean: Array
    spread: Array
    mean_bent: Array
    spread_bent: Array

    @classmethod
    def of(cls, numbers: Array) -> Scaling:
        """From the noisy numbers ``(m, k)`` of draws."""
        median = np.median(np.abs(numbers), axis=0)
        unit = np.where(median > 0.0, median, 1.0)
        bent = np.arcsinh(numbers / unit)
        return cls(unit, numbers.mean(axis=0), _spread(numbers), bent.mean(axis=0), _spread(bent))

    def features(self, z: Array, *, products: bool) -> Array:
        """1, z, a and, if asked for, all products of two a: ``(m, p)`` for numbers ``(m, k)``."""
        straight = (z - self.mean) / self.spread
        bent = (np.arcsinh(z / self.unit) - self.mean_bent) / self.spread_bent
        parts = [np.ones((len(z), 1)), straight, bent]
        if products:
            first, second = np.triu_indices(bent.shape[1])
            parts.append(bent[:, first] * bent[:, second])
        return np.hstack(parts)


def _spread(values: Array) -> Array:
    """Standard deviations ``(k,)``; 1 for a number that is always the same, but for rounding."""
    spread = values.std(axis=0)
    found: Array = np.where(spread > SAME * np.abs(values).max(axis=0), spread, 1.0)
    return found


@dataclass(frozen=True)
class Moved:
    """Draws that were moved to released numbers.

    Attributes:
        x: ``(m, d)``.
        weights: ``(m,)``, adding up to 1.
        indices: which draws they were ``(m,)``.
        differ: whether another share of the nearest gives another answer; the wider is this.
    """

    x: Array = field(repr=False)
    weights: Array = field(repr=False)
    indices: NDArray[np.int64] = field(repr=False)
    differ: bool = False


@dataclass(frozen=True)
class Predictor:
    """What numbers predict of x, in spreads: by least squares with a ridge.

    Attributes:
        scaling: of the numbers.
        products: whether products are among the features.
        coefficients: ``(p, d)``.
    """

    scaling: Scaling
    products: bool
    coefficients: Array = field(repr=False)

    @classmethod
    def fit(cls, numbers: Array, x: Array) -> Predictor:
        """From numbers ``(m, k)`` and x ``(m, d)`` of draws."""
        scaling = Scaling.of(numbers)
        products = len(numbers) >= PER_FEATURE * coefficients(numbers.shape[1], products=True)
        size = coefficients(numbers.shape[1], products=products)
        # The ridge must not draw them to 0, which may be far from all of them.
        wanted = (x - x.mean(axis=0)) / _spread(x)
        gram, cross = RIDGE * len(x) * np.eye(size), np.zeros((size, x.shape[1]))
        for block in _blocks(len(x)):
            features = scaling.features(numbers[block], products=products)
            gram += features.T @ features
            cross += features.T @ wanted[block]
        found = np.asarray(np.linalg.solve(gram, cross), dtype=np.float64)
        return cls(scaling, products, found)

    def of(self, numbers: Array) -> Array:
        """Predictions ``(m, d)`` from numbers ``(m, k)``."""
        parts = [
            self.scaling.features(numbers[block], products=self.products) @ self.coefficients
            for block in _blocks(len(numbers))
        ]
        return np.concatenate(parts)


def _blocks(size: int) -> list[slice]:
    return [slice(start, start + BLOCK) for start in range(0, size, BLOCK)]


@dataclass(frozen=True)
class Regression:
    """Draws with noisy numbers, and what these predict.

    Attributes:
        numbers: with noise ``(m, k)``.
        x: ``(m, d)``.
        log_base: log of prior over what the draws were made from ``(m,)``.
        predictor: fitted to all of them.
        predictions: of each ``(m, d)``.
    """

    numbers: Array = field(repr=False)
    x: Array = field(repr=False)
    log_base: Array = field(repr=False)
    predictor: Predictor
    predictions: Array = field(repr=False)

    @classmethod
    def fit(cls, numbers: Array, x: Array, log_base: Array) -> Regression:
        """From numbers with noise ``(m, k)``, x ``(m, d)`` and ``log_base (m,)`` of draws."""
        predictor = Predictor.fit(numbers, x)
        return cls(numbers, x, log_base, predictor, predictor.of(numbers))

    def moved(
        self, z: Array, shares: Shares, without: int | None = None, *, move: bool = True
    ) -> Moved:
        """The draws nearest to released numbers, moved to them.

        What is near by the predictor of all draws is predicted once more by one of its own: far
        draws, on which numbers depend in other ways, would decide what the first one says there.

        Args:
            z: released ``(k,)``.
            shares: which draws count.
            without: a draw that is left out.
            move: whether they are moved, or left where they are, all alike.
        """
        distance = np.linalg.norm(self.predictions - self.predictor.of(z[None]), axis=1)
        if without is not None:
            distance[without] = np.inf
        if not move:
            near = _nearest(distance, OF_ROUNDS.nearest, FEW)
            return Moved(self.x[near], np.full(len(near), 1.0 / len(near)), near)
        around = _nearest(distance, shares.around, 2 * FEWEST)
        predictor = Predictor.fit(self.numbers[around], self.x[around])
        away = predictor.of(self.numbers[around]) - predictor.of(z[None])
        first, second = (
            self._moved(around, away, share / shares.around)
            for share in (shares.nearest, shares.nearer)
        )
        ends = [weighted_quantile(each.x, each.weights, ENDS) for each in (first, second)]
        deviation = np.sqrt(weighted_variance(first.x, first.weights))
        if (np.abs(ends[0] - ends[1]) <= APART * deviation).all():
            return first
        widths = [np.log(np.ptp(each, axis=0)).sum() for each in ends]
        return dataclasses.replace(second if widths[1] > widths[0] else first, differ=True)

    def _moved(self, around: NDArray[np.int64], away: Array, share: float) -> Moved:
        """The nearest of some draws, by how near they are and by what they were drawn from."""
        distance = np.linalg.norm(away, axis=1)
        chosen = _nearest(distance, share)
        near, farthest = around[chosen], float(distance[chosen].max())
        kernel = np.ones(len(near))
        if farthest > 0.0:
            kernel = np.maximum(1.0 - (distance[chosen] / farthest) ** 2, 0.0)
        weights = np.exp(self.log_base[near] - self.log_base[near].max()) * kernel
        if not weights.any():
            weights = np.ones(len(near))
        weights = weights / weights.sum()
        return Moved(less_slope(self.x[near], away[chosen], weights), weights, near)


def _nearest(distance: Array, share: float, fewest: int = FEWEST) -> NDArray[np.int64]:
    """Indices of so large a share of distances ``(m,)``, the smallest, in order."""
    possible = int(np.isfinite(distance).sum())
    count = min(possible, max(fewest, int(share * possible)))
    return np.sort(np.argpartition(distance, count - 1)[:count])


def less_slope(values: Array, away: Array, weights: Array) -> Array:
    """Values ``(m, d)`` less what ``away (m, k)`` explains of them, by weighted least squares."""
    root = np.sqrt(weights)[:, None]
    design = np.hstack([np.ones((len(away), 1)), away])
    slopes = np.linalg.lstsq(root * design, root * values, rcond=None)[0][1:]
    moved: Array = values - away @ slopes
    return moved


def coefficients(numbers: int, *, products: bool) -> int:
    """Coefficients of the regression on so many numbers, for each parameter."""
    return 1 + 2 * numbers + (numbers * (numbers + 1) // 2 if products else 0)
