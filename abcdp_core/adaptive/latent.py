r"""The paper's sequential Monte Carlo: particles carry every person's value ([Y23] Alg. 2, 3).

A particle is $(\theta, x_{1:t})$ (MATH A6). For each person: resample; rejuvenate, by a
Metropolis-Hastings step on each $x_k$ (proposed from $N(\mu, \sigma^2)$, accepted by the ratio of
the responses' densities) and then Gibbs draws of $\mu$ and $\sigma$ given all $x$; propagate
$x_t \sim N(\mu, \sigma^2)$; weight by the density of the response given $x_t$. This takes time
O(N n²) and memory O(N n). With ``refresh`` above 0, only that many random $x_k$ are moved for each
person (MATH A13); the others are only copied.

Values are in double precision, but proposals and density ratios are in single precision
(:mod:`~abcdp_core.adaptive.simd_rng`). That changes acceptance probabilities by some 1e-6 times the
range of the noise's log density over the interval (ε_total for Laplace noise), and a move with an
acceptance probability below 2.3e-10 is never accepted.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from abcdp_core.adaptive.noise import NoiseFamily
from abcdp_core.adaptive.particles import History, Particles, Response, threads
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
from abcdp_core.base import summaries
from abcdp_core.base.arrays import Array

Indices = NDArray[np.intp]

BLOCK = 128
"""Columns by which storage grows, so that most steps reuse memory freed by the previous one."""

PARTS = 4
"""Groups of particles with their own random stream; results do not depend on threads."""


@dataclass(frozen=True)
class State(Particles):
    """Particles with their values of the people in the first t columns of ``room (N, ≥ t)``."""

    room: Array

    @property
    def values(self) -> Array:
        """Each particle's values of the people, ``(N, t)``."""
        return self.room[:, : self.history.count]


@dataclass(frozen=True)
class Latent:
    """Settings of the sampler.

    Attributes:
        prior: of (μ, σ).
        noise: family of the responses' noise.
        particles: N, at least 1.
        refresh: values that each particle moves for each person; 0 for all.
        resampling: ``systematic`` or ``multinomial``.
    """

    prior: Prior
    noise: NoiseFamily
    particles: int
    refresh: int = 0
    resampling: str = "systematic"

    def start(self, rng: np.random.Generator) -> State:
        """Draw particles from the prior."""
        return self.at(self.prior.draw(rng, self.particles))

    def at(self, theta: Array) -> State:
        """Return equally weighted particles ``(N, 2)`` before any response."""
        return State(theta, np.zeros(len(theta)), History.empty(), np.empty((len(theta), BLOCK)))

    def step(
        self, rng: np.random.Generator, state: State, response: Response
    ) -> tuple[State, float]:
        """Update by one response; return the effective sample size after weighting too."""
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
        moved = State(theta, log_weights, state.history.plus(response), grown)
        return moved, summaries.effective_sample_size(moved.weights)

    def _move(
        self, rng: np.random.Generator, state: State, ancestors: Indices, theta: Array, grown: Array
    ) -> tuple[Array, Array]:
        """Copy and move the ancestors' values; return their sums for Gibbs."""
        count = state.history.count
        chosen = np.arange(count)
        if 0 < self.refresh < count:
            chosen = rng.choice(count, self.refresh, replace=False)
        people = relative(state.history.rows[chosen])
        random = streams(rng, PARTS)
        sums, squares = np.empty(len(theta)), np.empty(len(theta))

        def part(index: int) -> None:
            mine = slice(index * len(theta) // PARTS, (index + 1) * len(theta) // PARTS)
            _move_values(
                *(random[index], state.room, count, ancestors[mine], theta[mine], chosen, people),
                *(self.noise == "gaussian", grown[mine], sums[mine], squares[mine]),
            )

        with ThreadPoolExecutor(threads(len(theta) * count)) as pool:
            list(pool.map(part, range(PARTS)))
        return sums, squares

    def _given_values(
        self, rng: np.random.Generator, theta: Array, sums: Array, squares: Array, count: int
    ) -> Array:
        """Draw σ given μ and the values, then μ given σ; sums are of distances to the old μ."""
        sigma = self.prior.sigma_given(rng, squares, count)
        mu = self.prior.mu_given(rng, sigma, sums + count * theta[:, 0], count)
        return np.column_stack([mu, np.log(sigma)])


def _log_noise(values: Array, response: Response, noise: NoiseFamily) -> Array:
    """Return the log density ``(N,)`` of a response given the value, up to a constant."""
    away = (response.value - np.clip(values, response.left, response.right)) / response.scale
    return -np.abs(away) if noise == "laplace" else -0.5 * away**2


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
    """Fill rows ``(n, ≥ t)`` with the ancestors' values, moving those chosen; write sums."""
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
        # Nothing is accepted in the last lanes, which hold nobody.
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
    """Move each value once; accept if the loss in log density is at most an exponential draw."""
    for block in range(len(rest)):
        lanes = slice(block * LANES, (block + 1) * LANES)
        x, z, limit, moved = old[lanes], draws[lanes], patience[lanes], new[lanes]
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
    """Sum x − μ and its square over the first values; ``total`` and ``square`` are scratch."""
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
