r"""Compute posteriors from an existing pool, many times and fast, without rounds (MATH E8).

Weights are used if they suffice. Otherwise a regression on the pool finds the nearest draws and, if
there are enough of them, adjusts them. A pool from the prior represents a far narrower posterior
poorly, so the result names its method.

**The scale x** is computed from the pool: for each parameter the normal scores
$\Phi^{-1}((r - 1/2) / T)$ of ranks r among T draws, with ties in random order. Interpolation
between draws inverts it, so parameters stay within the pool's range. Parameters with few values
take the nearest one, and shares of a whole come from stick breaking.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from scipy.special import ndtr, ndtri

from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from abcdp_core.base.summaries import effective_sample_size
from abcdp_core.models.priors import Edges
from abcdp_core.posterior.fit import MISFIT, REPLICATES, Fit, compared, edges, evenly
from abcdp_core.posterior.noise import Noise
from abcdp_core.posterior.proposals import normalised
from abcdp_core.posterior.regression import OF_POOL, Regression, coefficients
from abcdp_core.posterior.rounds import CARRIES, Draws, Way, WeightedDraws

FEWEST_MOVED = 1000
"""Smallest pool whose draws are adjusted."""

PER_FEATURE = 20
"""Draws needed for each coefficient of the regression."""

FEW_CARRY = 50.0
"""Effective sample size from which weights suffice if the pool is too small for a regression."""

LOOKED_FOR = 200
"""Draws of a pool that are estimated from the others, to measure the error."""

SHIFT = 3.0
"""Predictive standard deviations by which a number is off that the check of the fit should see."""

FEW_NEAR = 10
"""Effective number of draws below which nothing is known of how replicates should vary."""

FEW = 50
"""A parameter takes few values if on average at least so many draws share one."""


def minimum_pool(numbers: int) -> int:
    """Return the smallest pool whose draws are adjusted, for a number of released numbers."""
    return max(FEWEST_MOVED, PER_FEATURE * coefficients(numbers, products=False))


@dataclass(frozen=True)
class Scores:
    """Normal scores of a parameter: its sorted values ``(T,)``, and distinct ones if few."""

    rising: Array = field(repr=False)
    values: Array | None = field(repr=False)

    @classmethod
    def of(cls, theta: Array) -> Scores:
        """Build from draws ``(T,)``."""
        values = np.unique(theta)
        return cls(np.sort(theta), values if FEW * len(values) <= len(theta) else None)

    def theta(self, x: Array) -> Array:
        """Return values ``(m,)`` at scores ``(m,)``."""
        ranks = ndtr(x) * len(self.rising) - 0.5
        places: Array = np.interp(ranks, np.arange(float(len(self.rising))), self.rising)
        if self.values is None:
            return places
        middles = 0.5 * (self.values[1:] + self.values[:-1])
        return self.values[np.searchsorted(middles, places)]


def _scored(theta: Array) -> Array:
    """Return scores ``(T,)`` of draws ``(T,)``; ties are in random order."""
    order = np.lexsort((generator(0, "posterior-ranks").random(len(theta)), theta))
    ranks = np.empty(len(theta))
    ranks[order] = np.arange(len(theta))
    return np.asarray(ndtri((ranks + 0.5) / len(theta)))


ROUNDED = 1e-6
"""Largest rounding error of each share, as in a file."""

NOTHING = 1e-9
"""A remainder of the whole below this counts as nothing."""


def _shares(theta: Array) -> slice | None:
    """Find adjacent parameters among ``(T, d)`` that are shares of a whole."""
    d = theta.shape[1]
    for start in range(d - 1):
        for stop in range(d, start + 1, -1):
            part, off = theta[:, start:stop], ROUNDED * (stop - start)
            if (part >= 0.0).all() and (np.abs(part.sum(axis=1) - 1.0) <= off).all():
                return slice(start, stop)
    return None


@dataclass(frozen=True)
class Scale:
    """The scale x of a pool.

    Attributes:
        shares: the parameters that are shares of a whole.
        scores: of each parameter, or of its part of the remainder; the last share has none.
    """

    shares: slice | None
    scores: tuple[Scores, ...]

    @classmethod
    def of(cls, theta: Array) -> tuple[Scale, Array]:
        """Build from draws ``(T, d)``; return their x too."""
        shares = _shares(theta)
        free = theta if shares is None else _broken(theta, shares)
        scale = cls(shares, tuple(Scores.of(column) for column in free.T))
        return scale, np.column_stack([_scored(column) for column in free.T])

    def theta(self, x: Array) -> Array:
        """Return parameters ``(m, d)`` at ``x``."""
        free = np.column_stack(
            [each.theta(column) for each, column in zip(self.scores, x.T, strict=True)]
        )
        return free if self.shares is None else _joined(free, self.shares)

    @property
    def edges(self) -> tuple[Edges, ...]:
        """Ends of all parameters except shares."""
        inside = range(0) if self.shares is None else range(self.shares.start, self.shares.stop)
        size = len(self.scores) + (self.shares is not None)
        return tuple(
            Edges(place, place - (place >= inside.stop and len(inside) > 0), False, False)
            for place in range(size)
            if place not in inside
        )


def _broken(theta: Array, shares: slice) -> Array:
    """Replace shares but the last by their parts of what earlier shares leave."""
    part = theta[:, shares]
    left = 1.0 - np.cumsum(part, axis=1)[:, :-2]
    left = np.column_stack([np.ones(len(part)), left])
    broken = np.divide(part[:, :-1], left, out=np.zeros_like(left), where=left > NOTHING)
    broken = np.clip(broken, 0.0, 1.0)
    return np.hstack([theta[:, : shares.start], broken, theta[:, shares.stop :]])


def _joined(free: Array, shares: slice) -> Array:
    """Invert :func:`_broken`."""
    last = shares.stop - 1
    broken, left = free[:, shares.start : last], np.ones(len(free))
    part = np.empty((len(free), broken.shape[1] + 1))
    for place, column in enumerate(broken.T):
        part[:, place] = left * column
        left = left * (1.0 - column)
    part[:, -1] = left
    return np.hstack([free[:, : shares.start], part, free[:, last:]])


@dataclass(frozen=True, eq=False)
class FixedPool:
    """A pool of draws from a prior, and the noise of released numbers.

    Attributes:
        scale: of the parameters.
        draws: from the prior, with simulated numbers.
        noise: distribution of the noise.
        regression: on the numbers with noise from a public seed.
        added: that noise ``(T, k)``.
    """

    scale: Scale
    draws: Draws
    noise: Noise
    regression: Regression = field(repr=False)
    added: Array = field(repr=False)

    @classmethod
    def of(cls, theta: Array, numbers: Array, noise: Noise, seed: int = 0) -> FixedPool:
        """Build from parameters ``(T, d)`` and numbers ``(T, k)`` of draws."""
        scale, x = Scale.of(theta)
        noisy = noise.noisy(generator(seed, "posterior-pool-noise"), numbers)
        regression = Regression.fit(noisy, x, np.zeros(len(x)))
        draws = Draws(x, numbers, np.zeros(len(x)))
        return cls(scale, draws, noise, regression, noisy - numbers)

    @property
    def moves(self) -> bool:
        """Whether the pool is large enough to adjust draws."""
        return len(self.draws.x) >= minimum_pool(self.draws.numbers.shape[1])

    def given(self, z: Array, without: int | None = None) -> WeightedDraws:
        """Compute the posterior given numbers ``z (k,)``, leaving out the draw ``without``."""
        log_noise = self.noise.log_density(z, self.draws.numbers)
        if without is not None:
            log_noise[without] = -np.inf
        size = len(log_noise)
        is_possible = bool(np.isfinite(log_noise).any())
        weights = normalised(log_noise) if is_possible else np.zeros(size)
        effective = effective_sample_size(weights) if is_possible else 0.0
        answer = functools.partial(
            WeightedDraws, effective=(effective,), sizes=(size,), failed=0, prior=self.draws
        )
        if effective >= (min(CARRIES, size / 2) if self.moves else FEW_CARRY):
            draws, every = self.draws, np.arange(size)
            return answer(draws.x, weights, draws.numbers, "weights", differ=False, indices=every)
        moved = self.regression.moved(z, OF_POOL, without, move=self.moves)
        numbers, differ = z - self.added[moved.indices], moved.differ
        way: Way = "regression" if self.moves else "nearest"
        return answer(moved.x, moved.weights, numbers, way, differ=differ, indices=moved.indices)

    def error(self, values_of: Callable[[Array, Array], Array]) -> Array:
        """Return the root mean squared error ``(d,)`` of posterior means, averaged over the pool.

        Some evenly spaced draws are estimated from all others. ``values_of`` maps parameters
        ``(m, p)`` and numbers ``(m, k)`` to the values to estimate ``(m, d)``.
        """
        numbers, theta = self.draws.numbers, self.scale.theta(self.draws.x)
        truths, off = values_of(theta, numbers), []
        for i in np.unique(np.linspace(0, len(theta) - 1, LOOKED_FOR).astype(int)).tolist():
            answer = self.given(numbers[i] + self.added[i], without=i)
            values = values_of(self.scale.theta(answer.x), answer.numbers)
            off.append(answer.weights @ values - truths[i])
        return np.sqrt(np.mean(np.square(off), axis=0))

    def fit(
        self, z: Array, draws: WeightedDraws, parameters: Sequence[str], numbers: Sequence[str]
    ) -> Fit:
        """Compare released numbers with replicates: the draws nearest to those of the posterior.

        A draw is not its own replicate, as it was chosen for its numbers. Where draws are far
        apart, the fit says that it was not checked.
        """
        x = draws.x[evenly(draws.weights, REPLICATES)]
        distance, near = map(np.asarray, KDTree(self.draws.x).query(x, k=2))
        other = np.where(distance[:, 0] > 0.0, near[:, 0], near[:, 1])
        ends = edges(draws, self.scale.edges, parameters)
        fit = compared(z, self.draws.numbers[other], self.noise, 0, numbers, ends)
        return dataclasses.replace(fit, is_blind=self._power(x, other) < 0.5)

    def _power(self, x: Array, near: NDArray[np.int64]) -> float:
        """Return the power of replicates ``near (m,)`` to draws at ``x (m, d)`` to see a shift.

        It is that of a two-sided normal test at level :data:`MISFIT` of one number, shifted by
        :data:`SHIFT` predictive standard deviations, on average over the numbers. How numbers vary
        at ``x`` itself is found by subtracting their linear trend from there to the draw nearby; a
        handful of draws does not tell.
        """
        if effective_sample_size(np.bincount(near).astype(float)) < FEW_NEAR:
            return 0.0
        noisy, at = self.regression.numbers, self.draws.x
        median = np.median(np.abs(noisy[near]), axis=0)
        made = np.arcsinh(noisy / np.where(median > 0.0, median, 1.0))[near]
        design = np.column_stack([np.ones(len(near)), at[near]])
        slopes = np.linalg.lstsq(design, made, rcond=None)[0][1:]
        predicted = (made - (at[near] - x) @ slopes).std(axis=0)
        wider = made.std(axis=0) / np.maximum(predicted, 1e-300)
        return float(ndtr(SHIFT - ndtri(1.0 - 0.5 * MISFIT) * wider).mean())
