r"""The posterior from draws that are there, many times and fast: there are no rounds (MATH E8).

Weights where they carry; else a regression on the pool's own draws, moved where there are enough
and left where they are where there are not. As draws from the prior alone tell little of a
posterior that is far narrower, the answer says which rung it is of.

**The scale x** is made of the pool: the normal scores $\Phi^{-1}((r - 1/2) / T)$ of ranks r among T
draws, of each parameter by itself; equal draws are ranked by chance. It goes back by interpolation
between draws, so no parameter leaves their range; one that takes few values has the nearest, and
shares of a whole are parts broken off a stick.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from scipy.special import ndtr, ndtri

from abcdp_core.posterior.fit import REPLICATES, Fit, compared, edges, evenly
from abcdp_core.posterior.noise import Noise
from abcdp_core.posterior.priors import Edges
from abcdp_core.posterior.proposals import normalised
from abcdp_core.posterior.regression import OF_POOL, Regression, coefficients
from abcdp_core.posterior.rounds import CARRIES, Draws, Found, Way
from abcdp_core.streams import generator
from abcdp_core.summaries import effective_sample_size

Array = NDArray[np.float64]

FEWEST_MOVED = 1000
"""Draws of the smallest pool that are moved."""

PER_FEATURE = 20
"""The same, for each coefficient of the regression."""

FEW_CARRY = 50.0
"""Effective sample size from which weights carry where no regression can."""

LOOKED_FOR = 200
"""Draws of a pool that are looked for among the others, to know how far off that is."""

FEW = 50
"""A parameter takes few values if as many draws as this share each, on average."""


def minimum_pool(numbers: int) -> int:
    """Fewest draws of a pool that are moved, for so many released numbers."""
    return max(FEWEST_MOVED, PER_FEATURE * coefficients(numbers, products=False))


@dataclass(frozen=True)
class Scores:
    """Normal scores of one parameter.

    Attributes:
        rising: the pool's values ``(T,)``.
        values: those that it takes, where they are few; else ``None``.
    """

    rising: Array = field(repr=False)
    values: Array | None = field(repr=False)

    @classmethod
    def of(cls, theta: Array) -> Scores:
        """By draws ``(T,)``."""
        values = np.unique(theta)
        return cls(np.sort(theta), values if FEW * len(values) <= len(theta) else None)

    def theta(self, x: Array) -> Array:
        """Values ``(m,)`` at scores ``(m,)``."""
        ranks = ndtr(x) * len(self.rising) - 0.5
        found: Array = np.interp(ranks, np.arange(float(len(self.rising))), self.rising)
        if self.values is None:
            return found
        middles = 0.5 * (self.values[1:] + self.values[:-1])
        return self.values[np.searchsorted(middles, found)]


def _scored(theta: Array) -> Array:
    """Scores ``(T,)`` of draws ``(T,)``; equal ones are ranked by chance."""
    order = np.lexsort((generator(0, "posterior-ranks").random(len(theta)), theta))
    ranks = np.empty(len(theta))
    ranks[order] = np.arange(len(theta))
    return np.asarray(ndtri((ranks + 0.5) / len(theta)))


ROUNDED = 1e-6
"""Shares of a whole are each rounded by at most this, as in a file."""

NOTHING = 1e-9
"""When shares leave less than this of the whole, nothing is left."""


def _shares(theta: Array) -> slice | None:
    """The parameters ``(T, d)``, next to each other, that are shares of a whole."""
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
        shares: parameters that are shares of a whole.
        scores: of each parameter, or part of what is left; the last share has none.
    """

    shares: slice | None
    scores: tuple[Scores, ...]

    @classmethod
    def of(cls, theta: Array) -> tuple[Scale, Array]:
        """By draws ``(T, d)``; and x of these."""
        shares = _shares(theta)
        free = theta if shares is None else _broken(theta, shares)
        scale = cls(shares, tuple(Scores.of(column) for column in free.T))
        return scale, np.column_stack([_scored(column) for column in free.T])

    def theta(self, x: Array) -> Array:
        """Parameters ``(m, d)`` at ``x``."""
        free = np.column_stack(
            [each.theta(column) for each, column in zip(self.scores, x.T, strict=True)]
        )
        return free if self.shares is None else _joined(free, self.shares)

    @property
    def edges(self) -> tuple[Edges, ...]:
        """Of all parameters that are no shares."""
        inside = range(0) if self.shares is None else range(self.shares.start, self.shares.stop)
        size = len(self.scores) + (self.shares is not None)
        return tuple(
            Edges(place, place - (place >= inside.stop and len(inside) > 0), False, False)
            for place in range(size)
            if place not in inside
        )


def _broken(theta: Array, shares: slice) -> Array:
    """Parameters, shares but the last as parts of what the earlier ones leave."""
    part = theta[:, shares]
    left = 1.0 - np.cumsum(part, axis=1)[:, :-2]
    left = np.column_stack([np.ones(len(part)), left])
    broken = np.divide(part[:, :-1], left, out=np.zeros_like(left), where=left > NOTHING)
    broken = np.clip(broken, 0.0, 1.0)
    return np.hstack([theta[:, : shares.start], broken, theta[:, shares.stop :]])


def _joined(free: Array, shares: slice) -> Array:
    """The inverse."""
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
    """Draws from a prior with simulated numbers, and the noise that is on released ones.

    Attributes:
        scale: of the parameters.
        draws: of the prior.
        noise: its law.
        regression: on the numbers with noise of a public seed.
        added: that noise ``(T, k)``.
    """

    scale: Scale
    draws: Draws
    noise: Noise
    regression: Regression = field(repr=False)
    added: Array = field(repr=False)

    @classmethod
    def of(cls, theta: Array, numbers: Array, noise: Noise, seed: int = 0) -> FixedPool:
        """From parameters ``(T, d)`` and numbers ``(T, k)`` of the same draws."""
        scale, x = Scale.of(theta)
        noisy = noise.noisy(generator(seed, "posterior-pool-noise"), numbers)
        regression = Regression.fit(noisy, x, np.zeros(len(x)))
        draws = Draws(x, numbers, np.zeros(len(x)))
        return cls(scale, draws, noise, regression, noisy - numbers)

    @property
    def moves(self) -> bool:
        """Whether there are enough draws to be moved."""
        return len(self.draws.x) >= minimum_pool(self.draws.numbers.shape[1])

    def given(self, z: Array, without: int | None = None) -> Found:
        """The posterior given released numbers ``(k,)``.

        Args:
            z: released.
            without: a draw of the pool that is left out.
        """
        log_noise = self.noise.log_density(z, self.draws.numbers)
        if without is not None:
            log_noise[without] = -np.inf
        size = len(log_noise)
        is_possible = bool(np.isfinite(log_noise).any())
        weights = normalised(log_noise) if is_possible else np.zeros(size)
        effective = effective_sample_size(weights) if is_possible else 0.0
        found = functools.partial(
            Found, effective=(effective,), sizes=(size,), failed=0, prior=self.draws
        )
        if effective >= (min(CARRIES, size / 2) if self.moves else FEW_CARRY):
            return found(
                self.draws.x,
                weights,
                self.draws.numbers,
                "weights",
                differ=False,
                indices=np.arange(size),
            )
        moved = self.regression.moved(z, OF_POOL, without, move=self.moves)
        numbers = z - self.added[moved.indices]
        way: Way = "regression" if self.moves else "nearest"
        return found(
            moved.x, moved.weights, numbers, way, differ=moved.differ, indices=moved.indices
        )

    def error(self, told: Callable[[Array, Array], Array]) -> Array:
        """Root mean squared error ``(d,)`` of posterior means, on average over the pool.

        Some draws, evenly spread, are looked for among all others.

        Args:
            told: parameters ``(m, p)`` and numbers ``(m, k)`` to what is told of them ``(m, d)``.
        """
        numbers, theta = self.draws.numbers, self.scale.theta(self.draws.x)
        truths, off = told(theta, numbers), []
        for i in np.unique(np.linspace(0, len(theta) - 1, LOOKED_FOR).astype(int)).tolist():
            found = self.given(numbers[i] + self.added[i], without=i)
            values = told(self.scale.theta(found.x), found.numbers)
            off.append(found.weights @ values - truths[i])
        rmse: Array = np.sqrt(np.mean(np.square(off), axis=0))
        return rmse

    def fit(self, z: Array, found: Found, parameters: Sequence[str], numbers: Sequence[str]) -> Fit:
        """How released numbers lie among replicates: those of the draws nearest to the posterior.

        A draw that is of the posterior itself is left out, as it is there because of its numbers.

        Args:
            z: released ``(k,)``.
            found: the posterior given these.
            parameters, numbers: their names.
        """
        x = found.x[evenly(found.weights, REPLICATES)]
        distance, near = map(np.asarray, KDTree(self.draws.x).query(x, k=2))
        other = np.where(distance[:, 0] > 0.0, near[:, 0], near[:, 1])
        ends = edges(found, self.scale.edges, parameters)
        return compared(z, self.draws.numbers[other], self.noise, 0, numbers, ends)
