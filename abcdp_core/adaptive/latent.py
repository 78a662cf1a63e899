r"""The paper's sequential Monte Carlo: particles carry every person's value ([Y23] Alg. 2, 3).

A particle is $(\theta, x_{1:t})$ (MATH A6). For each person: resample; rejuvenate, by a
Metropolis-Hastings step on each $x_k$ (proposed from $N(\mu, \sigma^2)$, accepted by the ratio of
the responses' densities) and then Gibbs draws of $\mu$ and $\sigma$ given all $x$; propagate
$x_t \sim N(\mu, \sigma^2)$; weight by the density of the response given $x_t$. The cost is
O(N n²), the memory O(N n). With ``refresh`` above 0 only that many of the $x_k$, chosen at random,
are moved for each person (MATH A13); what remains of O(N n²) is copying them.

Values are in double precision. What they are moved by is drawn, and the ratio of the densities
computed, in single precision (:mod:`~abcdp_core.adaptive.simd_rng`). That changes the probability
that a move is accepted by some 1e-6 times the range that the log density of the noise has over the
interval, for Laplace noise ε_total; and a move that should be accepted with a probability below
2.3e-10 never is.
"""

from __future__ import annotations

import functools
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from abcdp_core import summaries
from abcdp_core.adaptive.noise import NoiseFamily
from abcdp_core.adaptive.particles import History, Response, normalised, threads
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.resampling import RESAMPLING
from abcdp_core.adaptive.response import compiled
from abcdp_core.adaptive.simd_rng import (
    LANES,
    Single,
    Words,
    exponentials,
    log_noise,
    normals,
    relative,
    streams,
)

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
    ) -> tuple[State, float]:
        """Take in one response; the effective sample size is that after weighting."""
        ancestors = RESAMPLING[self.resampling](rng, state.weights)
        theta = state.theta[ancestors]
        count = state.history.count
        grown = np.empty((len(theta), (count // BLOCK + 1) * BLOCK))
        if count:
            sums, squares = self._move(rng, state, ancestors, theta, grown)
            theta = self._given_values(rng, theta, sums, squares, count)
        spread = np.exp(theta[:, 1])
        grown[:, count] = theta[:, 0] + spread * rng.standard_normal(len(theta))
        log_weights = _log_noise(grown[:, count], response, self.noise)
        moved = State(theta, log_weights, grown, state.history.plus(response))
        return moved, summaries.effective_sample_size(moved.weights)

    def _move(
        self,
        rng: np.random.Generator,
        state: State,
        ancestors: Indices,
        theta: Array,
        grown: Array,
    ) -> tuple[Array, Array]:
        """Copy the ancestors' values, moved, and return the sums of them that Gibbs needs."""
        count = state.history.count
        chosen = np.arange(count)
        if 0 < self.refresh < count:
            chosen = rng.choice(count, self.refresh, replace=False)
        people = relative(state.history.rows[chosen])
        random = streams(rng, PARTS)
        sums, squares = np.empty(len(theta)), np.empty(len(theta))

        def part(index: int) -> None:
            here = slice(index * len(theta) // PARTS, (index + 1) * len(theta) // PARTS)
            _move_values(
                random[index],
                state.room,
                count,
                ancestors[here],
                theta[here],
                chosen,
                people,
                self.noise == "gaussian",
                grown[here],
                sums[here],
                squares[here],
            )

        workers = threads(len(theta) * count)
        if workers == 1:
            list(map(part, range(PARTS)))
        else:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(part, range(PARTS)))
        return sums, squares

    def _given_values(
        self, rng: np.random.Generator, theta: Array, sums: Array, squares: Array, count: int
    ) -> Array:
        """Gibbs: σ given μ and the values, then μ given σ; sums are of distances to the old μ."""
        sigma = self.prior.sigma_given(rng, squares, count)
        mu = self.prior.mu_given(rng, sigma, sums + count * theta[:, 0], count)
        return np.column_stack([mu, np.log(sigma)])


def _log_noise(values: Array, response: Response, noise: NoiseFamily) -> Array:
    """Log density ``(N,)`` of a response given the person's value, up to a constant."""
    away = (response.value - np.clip(values, response.left, response.right)) / response.scale
    of_noise: Array = -np.abs(away) if noise == "laplace" else -0.5 * away**2
    return of_noise


@compiled
def _move_values(
    stream: Words,
    values: Array,
    count: int,
    ancestors: Indices,
    theta: Array,
    chosen: Indices,
    people: Array,
    gaussian: bool,
    grown: Array,
    sums: Array,
    squares: Array,
) -> None:
    """Fill rows ``(n, ≥ t)`` with the ancestors' values, those chosen moved once; write sums."""
    asked, blocks = len(chosen), len(people)
    draws = np.empty((blocks + blocks % 2) * LANES, dtype=np.float32)
    patience = np.empty(blocks * LANES, dtype=np.float32)
    some = np.empty(blocks * LANES)
    nearest, rest = people[:, 0].copy(), people.astype(np.float32)
    whole = -(-count // LANES) * LANES
    total, square = np.empty(LANES), np.empty(LANES)
    for i in range(len(ancestors)):
        mu, sigma = theta[i, 0], math.exp(theta[i, 1])
        ancestor, row = values[ancestors[i], :whole], grown[i, :whole]
        normals(stream, draws)
        exponentials(stream, patience)
        # In the last lanes, where nobody is, nothing is accepted.
        patience[asked:] = -1.0
        if asked == count:
            _move(ancestor, draws, patience, nearest, rest, mu, sigma, gaussian, row)
        else:
            for k in range(count):
                row[k] = ancestor[k]
            for m in range(asked):
                some[m] = row[chosen[m]]
            _move(some, draws, patience, nearest, rest, mu, sigma, gaussian, some)
            for m in range(asked):
                row[chosen[m]] = some[m]
        sums[i], squares[i] = _sums(row, count, mu, total, square)


@compiled
def _move(
    old: Array,
    draws: Single,
    patience: Single,
    nearest: Array,
    rest: Single,
    mu: float,
    sigma: float,
    gaussian: bool,
    new: Array,
) -> None:
    """Move each value once; accept where an exponential draw is not below what is lost by it."""
    for block in range(len(rest)):
        here = slice(block * LANES, (block + 1) * LANES)
        x, z, limit, moved = old[here], draws[here], patience[here], new[here]
        middle, person = nearest[block], rest[block]
        for j in range(LANES):
            rate, low, high, beyond = person[1, j], person[2, j], person[3, j], person[4, j]
            stay, go = x[j], mu + sigma * z[j]
            before = min(max(np.float32(stay - middle[j]) * rate, low), high)
            after = min(max(np.float32(go - middle[j]) * rate, low), high)
            loss = log_noise(before, beyond, gaussian) - log_noise(after, beyond, gaussian)
            moved[j] = go if loss <= limit[j] else stay


@compiled
def _sums(row: Array, count: int, mu: float, total: Array, square: Array) -> tuple[float, float]:
    """Sums of x − μ and of its square over the first values, with room ``(LANES,)`` for either."""
    total[:] = 0.0
    square[:] = 0.0
    for start in range(0, len(row), LANES):
        x = row[start : start + LANES]
        for j in range(LANES):
            apart = x[j] - mu if start + j < count else 0.0
            total[j] += apart
            square[j] += apart * apart
    first, second = 0.0, 0.0
    for j in range(LANES):
        first += total[j]
        second += square[j]
    return first, second
