r"""The paper's sequential Monte Carlo: particles carry every person's value ([Y23] Alg. 2, 3).

A particle is $(\theta, x_{1:t})$ (MATH A6). For each person: resample; rejuvenate, by a
Metropolis-Hastings step on each $x_k$ (proposed from $N(\mu, \sigma^2)$, accepted by the ratio of
the responses' densities) and then Gibbs draws of $\mu$ and $\sigma$ given all $x$; propagate
$x_t \sim N(\mu, \sigma^2)$; weight by the density of the response given $x_t$. The cost is
O(N n²), the memory O(N n). With ``refresh`` above 0 only that many of the $x_k$, chosen at random,
are moved for each person (MATH A13); what remains of O(N n²) is copying them.
"""

from __future__ import annotations

import functools
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from abcdp_core import summaries
from abcdp_core.online.noise import NoiseFamily
from abcdp_core.online.particles import History, Response, normalised, threads
from abcdp_core.online.prior import Prior
from abcdp_core.online.resampling import RESAMPLING
from abcdp_core.online.response import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

BLOCK = 128
"""Columns by which the room for values grows. Most steps then ask for as much memory as the one
before gave back, which the system need not clear anew."""

PARTS = 4
"""Groups of particles with a random stream each; results do not depend on the threads."""


@dataclass(frozen=True)
class State:
    """What the next step needs.

    Attributes:
        theta: ``(N, 2)`` of (μ, log σ).
        log_weights: ``(N,)`` up to a constant.
        room: the people's values as each particle has them in its first t columns, ``(N, ≥ t)``.
        history: the responses so far.
    """

    theta: Array
    log_weights: Array
    room: Array
    history: History

    @property
    def values(self) -> Array:
        """The people's values as each particle has them, ``(N, t)``."""
        return self.room[:, : self.history.count]

    @functools.cached_property
    def weights(self) -> Array:
        """Weights ``(N,)`` that sum to 1."""
        return normalised(self.log_weights)


@dataclass(frozen=True)
class Info:
    """What a plot of a step needs.

    Attributes:
        effective_sample_size: after weighting.
        acceptance: share of the moves of values that were accepted; NaN before the second person.
    """

    effective_sample_size: float
    acceptance: float


@dataclass(frozen=True)
class Latent:
    """The sampler's settings.

    Attributes:
        prior: of (μ, σ).
        noise: family of the responses' noise.
        particles: N, at least 1.
        refresh: values of a particle that are moved for each person; 0 for all.
        resampling: ``systematic`` or ``multinomial``.
    """

    prior: Prior
    noise: NoiseFamily
    particles: int
    refresh: int = 0
    resampling: str = "systematic"

    def start(self, rng: np.random.Generator) -> State:
        """Particles from the prior, no value yet."""
        return self.at(self.prior.draw(rng, self.particles))

    def at(self, theta: Array) -> State:
        """Equally weighted particles ``(N, 2)`` before any response."""
        return State(theta, np.zeros(len(theta)), np.empty((len(theta), BLOCK)), History.empty())

    def step(
        self, rng: np.random.Generator, state: State, response: Response
    ) -> tuple[State, Info]:
        """Take in one response."""
        ancestors = RESAMPLING[self.resampling](rng, state.weights)
        theta, acceptance = state.theta[ancestors], math.nan
        count = state.history.count
        grown = np.empty((len(theta), (count // BLOCK + 1) * BLOCK))
        if count:
            acceptance, sums, squares = self._move(rng, state, ancestors, theta, grown)
            theta = self._given_values(rng, theta, sums, squares, count)
        spread = np.exp(theta[:, 1])
        grown[:, count] = theta[:, 0] + spread * rng.standard_normal(len(theta))
        log_weights = _log_noise(grown[:, count], response, self.noise)
        moved = State(theta, log_weights, grown, state.history.plus(response))
        return moved, Info(summaries.effective_sample_size(moved.weights), acceptance)

    def _move(
        self,
        rng: np.random.Generator,
        state: State,
        ancestors: Indices,
        theta: Array,
        grown: Array,
    ) -> tuple[float, Array, Array]:
        """Copy the ancestors' values, moved; return the acceptance and what Gibbs needs of them."""
        count = state.history.count
        chosen = np.arange(count)
        if 0 < self.refresh < count:
            chosen = rng.choice(count, self.refresh, replace=False)
        asked = np.ascontiguousarray(state.history.rows[chosen].T)
        asked[3] = 1.0 / asked[3]
        streams = [np.random.Generator(np.random.SFC64(seed)) for seed in _seeds(rng)]
        sums, squares = np.empty(len(theta)), np.empty(len(theta))

        def part(index: int) -> int:
            here = slice(index * len(theta) // PARTS, (index + 1) * len(theta) // PARTS)
            return _move_values(
                streams[index],
                state.room,
                count,
                ancestors[here],
                theta[here],
                chosen,
                asked,
                self.noise == "gaussian",
                grown[here],
                sums[here],
                squares[here],
            )

        with ThreadPoolExecutor(threads(len(theta) * count)) as pool:
            accepted = sum(pool.map(part, range(PARTS)))
        return accepted / (len(theta) * len(chosen)), sums, squares

    def _given_values(
        self, rng: np.random.Generator, theta: Array, sums: Array, squares: Array, count: int
    ) -> Array:
        """Gibbs: σ given μ and the values, then μ given σ; sums are of distances to the old μ."""
        sigma = self.prior.sigma_given(rng, squares, count)
        mu = self.prior.mu_given(rng, sigma, sums + count * theta[:, 0], count)
        return np.column_stack([mu, np.log(sigma)])


def _seeds(rng: np.random.Generator) -> list[int]:
    return [int(seed) for seed in rng.integers(2**63, size=PARTS)]


def _log_noise(values: Array, response: Response, noise: NoiseFamily) -> Array:
    """Log density ``(N,)`` of a response given the person's value, up to a constant."""
    away = (response.value - np.clip(values, response.left, response.right)) / response.scale
    of_noise: Array = -np.abs(away) if noise == "laplace" else -0.5 * away**2
    return of_noise


@compiled
def _move_values(
    rng: np.random.Generator,
    values: Array,
    count: int,
    ancestors: Indices,
    theta: Array,
    chosen: Indices,
    asked: Array,
    gaussian: bool,
    grown: Array,
    sums: Array,
    squares: Array,
) -> int:
    """Fill the rows of ``grown`` with the ancestors' values, the chosen ones moved once.

    Args:
        rng: stream of these particles.
        values: before resampling, in the first t columns.
        count: t.
        ancestors: rows of it, ``(n,)``.
        theta: ``(n, 2)`` of (μ, log σ).
        chosen: which values are moved, ``(m,)``.
        asked: of the people they belong to response, left and right end of the interval, and what
            the distance to the response is multiplied by, ``(4, m)``.
        gaussian: whether the noise is; Laplace otherwise.
        grown: ``(n, ≥ t)``, its first t columns are written.
        sums, squares: ``(n,)``, written: sums of x − μ and of its square.

    Returns:
        The number of moves accepted.
    """
    accepted = 0
    losses = np.empty(len(chosen))
    y, left, right, rate = asked
    for i in range(len(ancestors)):
        mu, sigma = theta[i, 0], math.exp(theta[i, 1])
        row = grown[i]
        row[:count] = values[ancestors[i], :count]
        moving = row[:count] if len(chosen) == count else row[chosen]
        # In passes, of which the first has no branch and is done several values at a time.
        proposed = rng.standard_normal(len(chosen))
        for j in range(len(chosen)):
            proposed[j] = mu + sigma * proposed[j]
            before = rate[j] * (y[j] - min(max(moving[j], left[j]), right[j]))
            after = rate[j] * (y[j] - min(max(proposed[j], left[j]), right[j]))
            if gaussian:
                losses[j] = 0.5 * (after * after - before * before)
            else:
                losses[j] = abs(after) - abs(before)
        for j in range(len(chosen)):
            if losses[j] <= 0.0 or rng.standard_exponential() > losses[j]:
                moving[j] = proposed[j]
                accepted += 1
        if len(chosen) < count:
            row[chosen] = moving
        total, square = 0.0, 0.0
        for k in range(count):
            apart = row[k] - mu
            total += apart
            square += apart * apart
        sums[i], squares[i] = total, square
    return accepted
