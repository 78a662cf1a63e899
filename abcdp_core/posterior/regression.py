r"""Regression adjustment of the draws nearest to released numbers, if weights do not suffice (E8).

Each draw's numbers get their own noise, so a draw near z resembles the *release*. Weighting by the
noise density would then count the noise twice, so it is left out. Two steps:

1. regress the parameters of all draws on $z$, on $a = \operatorname{asinh}(z / q)$ with $q$ the
   medians of $|z|$, and on all products $a_i a_j$. The predictions, one for each parameter, are
   summary statistics; a second regression refines them for draws near z;
2. take the draws whose predictions are nearest to those from z, weighted by a kernel and by prior
   over proposal, and adjust them by local linear regression (Beaumont, Zhang & Balding, Genetics
   162, 2002; Fearnhead & Prangle, Journal of the Royal Statistical Society B 74, 2012).

All parameters are on the unbounded scale x of the prior. Step 2 is done with more and with fewer
draws. If the results differ by more than :data:`APART` standard deviations, the wider one is used.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array
from abcdp_core.base.summaries import weighted_quantile, weighted_variance


@dataclass(frozen=True)
class Shares:
    """Shares of draws in the second regression, and adjusted in the first and second result."""

    around: float
    nearest: float
    nearer: float


OF_ROUNDS = Shares(1 / 2, 1 / 4, 1 / 8)
"""For draws of the last rounds, which are near already."""

OF_POOL = Shares(1 / 8, 1 / 16, 1 / 32)
"""For draws from a prior."""

FEWEST = 500
"""Fewest draws to adjust, or all."""

FEW = 20
"""Fewest draws without adjustment, or all."""

APART = 0.25
"""Allowed difference between ends of both results, in standard deviations."""

PER_FEATURE = 20
"""Fewest draws for each coefficient of the regression with products."""

RIDGE = 1e-6
"""Ridge penalty per draw on features of standard deviation 1."""

SAME = 1e-12
"""Standard deviation, as a share of the largest value, below which it is rounding error."""

BLOCK = 10_000
"""Draws with features in memory at a time: 17 MB for 18 numbers."""

ENDS = (0.05, 0.95)


@dataclass(frozen=True)
class Scaling:
    """Units, means and spreads ``(k,)`` that standardize numbers and their asinh."""

    unit: Array
    mean: Array
    spread: Array
    mean_bent: Array
    spread_bent: Array

    @classmethod
    def of(cls, numbers: Array) -> Scaling:
        """Build from the noisy numbers ``(m, k)`` of draws."""
        median = np.median(np.abs(numbers), axis=0)
        unit = np.where(median > 0.0, median, 1.0)
        bent = np.arcsinh(numbers / unit)
        return cls(unit, numbers.mean(axis=0), _spread(numbers), bent.mean(axis=0), _spread(bent))

    def features(self, z: Array, *, products: bool) -> Array:
        """Return 1, z, a and perhaps all products of two a: ``(m, p)`` for numbers ``(m, k)``."""
        straight = (z - self.mean) / self.spread
        bent = (np.arcsinh(z / self.unit) - self.mean_bent) / self.spread_bent
        parts = [np.ones((len(z), 1)), straight, bent]
        if products:
            first, second = np.triu_indices(bent.shape[1])
            parts.append(bent[:, first] * bent[:, second])
        return np.hstack(parts)


def _spread(values: Array) -> Array:
    """Return standard deviations ``(k,)``; 1 for a number that is constant up to rounding."""
    spread = values.std(axis=0)
    return np.where(spread > SAME * np.abs(values).max(axis=0), spread, 1.0)


@dataclass(frozen=True)
class Moved:
    """Draws adjusted to released numbers.

    Attributes:
        x: ``(m, d)``.
        weights: ``(m,)`` that sum to 1.
        indices: of the original draws ``(m,)``.
        differ: whether results with more and with fewer draws disagree; this is the wider one.
    """

    x: Array = field(repr=False)
    weights: Array = field(repr=False)
    indices: NDArray[np.int64] = field(repr=False)
    differ: bool = False


@dataclass(frozen=True)
class Predictor:
    """Ridge regression that predicts x, in standard deviations, by coefficients ``(p, d)``."""

    scaling: Scaling
    products: bool
    coefficients: Array = field(repr=False)

    @classmethod
    def fit(cls, numbers: Array, x: Array) -> Predictor:
        """Fit to numbers ``(m, k)`` and x ``(m, d)`` of draws."""
        scaling = Scaling.of(numbers)
        products = len(numbers) >= PER_FEATURE * coefficients(numbers.shape[1], products=True)
        size = coefficients(numbers.shape[1], products=products)
        # Centered, as the ridge shrinks towards 0.
        wanted = (x - x.mean(axis=0)) / _spread(x)
        gram, cross = RIDGE * len(x) * np.eye(size), np.zeros((size, x.shape[1]))
        for block in _blocks(len(x)):
            features = scaling.features(numbers[block], products=products)
            gram += features.T @ features
            cross += features.T @ wanted[block]
        slopes = np.asarray(np.linalg.solve(gram, cross), dtype=np.float64)
        return cls(scaling, products, slopes)

    def of(self, numbers: Array) -> Array:
        """Predict ``(m, d)`` from numbers ``(m, k)``."""
        parts = [
            self.scaling.features(numbers[block], products=self.products) @ self.coefficients
            for block in _blocks(len(numbers))
        ]
        return np.concatenate(parts)


def _blocks(size: int) -> list[slice]:
    return [slice(start, start + BLOCK) for start in range(0, size, BLOCK)]


@dataclass(frozen=True)
class Regression:
    """Draws with noisy numbers and their predictions.

    Attributes:
        numbers, x: of the draws, numbers with noise ``(m, k)``, ``(m, d)``.
        log_base: log of prior over proposal density ``(m,)``.
        predictor, predictions: fitted to all draws, and its predictions for them ``(m, d)``.
    """

    numbers: Array = field(repr=False)
    x: Array = field(repr=False)
    log_base: Array = field(repr=False)
    predictor: Predictor
    predictions: Array = field(repr=False)

    @classmethod
    def fit(cls, numbers: Array, x: Array, log_base: Array) -> Regression:
        """Fit to numbers with noise ``(m, k)``, x ``(m, d)`` and ``log_base (m,)`` of draws."""
        predictor = Predictor.fit(numbers, x)
        return cls(numbers, x, log_base, predictor, predictor.of(numbers))

    def moved(
        self, z: Array, shares: Shares, without: int | None = None, *, move: bool = True
    ) -> Moved:
        """Adjust the draws nearest to released numbers.

        Draws near by the first predictor get a second one of their own, since the first depends on
        distant draws, for which the relation may differ.

        Args:
            z: released numbers ``(k,)``.
            shares: of draws to use.
            without: index of a draw to leave out.
            move: whether to adjust the draws, or return them unchanged with equal weights.
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
        """Adjust the nearest of some draws, weighted by kernel and by prior over proposal."""
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
    """Return sorted indices of the smallest distances ``(m,)``, a given share of them."""
    possible = int(np.isfinite(distance).sum())
    count = min(possible, max(fewest, int(share * possible)))
    return np.sort(np.argpartition(distance, count - 1)[:count])


def less_slope(values: Array, away: Array, weights: Array) -> Array:
    """Subtract from values ``(m, d)`` their weighted linear fit on ``away (m, k)``."""
    root = np.sqrt(weights)[:, None]
    design = np.hstack([np.ones((len(away), 1)), away])
    slopes = np.linalg.lstsq(root * design, root * values, rcond=None)[0][1:]
    return values - away @ slopes


def coefficients(numbers: int, *, products: bool) -> int:
    """Return the number of regression coefficients for a number of released numbers."""
    return 1 + 2 * numbers + (numbers * (numbers + 1) // 2 if products else 0)
