r"""The paper's sequential Monte Carlo: particles carry every person's value ([Y23] Alg. 2, 3).

A particle is $(\theta, x_{1:t})$ (MATH A6). For each person: resample; rejuvenate, by a
Metropolis-Hastings step on each $x_k$ (proposed from $N(\mu, \sigma^2)$, accepted by the ratio of
the responses' densities) and then Gibbs draws of $\mu$ and $\sigma$ given all $x$; propagate
$x_t \sim N(\mu, \sigma^2)$; weight by the density of the response given $x_t$. The cost is
O(N n²), the memory O(N n). With ``refresh`` above 0 only that many of the $x_k$, chosen at random,
are moved for each person (MATH A13), which makes it O(N n).
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

PARTS = 4
"""Groups of particles with a random stream each; results do not depend on the threads."""


@dataclass(frozen=True)
class State:
    """What the next step needs.

    Attributes:
        theta: ``(N, 2)`` of (μ, log σ).
        log_weights: ``(N,)`` up to a constant.
        values: the people's values as each particle has them, ``(N, t)``.
        history: the responses so far.
    """

    theta: Array
    log_weights: Array
    values: Array
    history: History

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
        return State(theta, np.zeros(len(theta)), np.empty((len(theta), 0)), History.empty())

    def step(
        self, rng: np.random.Generator, state: State, response: Response
    ) -> tuple[State, Info]:
        """Take in one response."""
        ancestors = RESAMPLING[self.resampling](rng, state.weights)
        theta, acceptance = state.theta[ancestors], math.nan
        count = state.history.count
        # One more column than there are values, for the new person's.
        grown = np.empty((len(theta), count + 1))
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
        rows = state.history.rows
        rates = 0.5 / rows[:, 3] ** 2 if self.noise == "gaussian" else 1.0 / rows[:, 3]
        moves = np.ones(count, dtype=bool)
        if 0 < self.refresh < count:
            moves[rng.choice(count, count - self.refresh, replace=False)] = False
        streams = [np.random.Generator(np.random.SFC64(seed)) for seed in _seeds(rng)]
        sums, squares = np.empty(len(theta)), np.empty(len(theta))

        def part(index: int) -> int:
            here = slice(index * len(theta) // PARTS, (index + 1) * len(theta) // PARTS)
            return _move_values(
                streams[index],
                state.values,
                ancestors[here],
                theta[here],
                rows,
                rates,
                moves,
                self.noise == "gaussian",
                grown[here],
                sums[here],
                squares[here],
            )

        with ThreadPoolExecutor(threads(len(theta) * count)) as pool:
            accepted = sum(pool.map(part, range(PARTS)))
        return accepted / (len(theta) * int(moves.sum())), sums, squares

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
    ancestors: Indices,
    theta: Array,
    responses: Array,
    rates: Array,
    moves: NDArray[np.bool_],
    gaussian: bool,
    grown: Array,
    sums: Array,
    squares: Array,
) -> int:
    """Fill the rows of ``grown`` with the ancestors' values, the chosen ones moved once.

    Args:
        rng: stream of these particles.
        values: ``(N, t)`` before resampling.
        ancestors: rows of it, ``(n,)``.
        theta: ``(n, 2)`` of (μ, log σ).
        responses: ``(t, 4)``.
        rates: what the loss of a move is multiplied by, ``(t,)``.
        moves: which values are moved, ``(t,)``.
        gaussian: whether the noise is; Laplace otherwise.
        grown: ``(n, t + 1)``, all but its last column is written.
        sums, squares: ``(n,)``, written: sums of x − μ and of its square.

    Returns:
        The number of moves accepted.
    """
    accepted = 0
    for i in range(len(ancestors)):
        mu, sigma = theta[i, 0], math.exp(theta[i, 1])
        row, old = grown[i], values[ancestors[i]]
        total, square = 0.0, 0.0
        for k in range(len(responses)):
            x = old[k]
            if moves[k]:
                proposed = mu + sigma * rng.standard_normal()
                y, left, right, rate = responses[k, 0], responses[k, 1], responses[k, 2], rates[k]
                before = y - min(max(x, left), right)
                after = y - min(max(proposed, left), right)
                if gaussian:
                    loss = rate * (after * after - before * before)
                else:
                    loss = rate * (abs(after) - abs(before))
                if loss <= 0.0 or rng.random() < math.exp(-loss):
                    x = proposed
                    accepted += 1
            row[k] = x
            apart = x - mu
            total += apart
            square += apart * apart
        sums[i], squares[i] = total, square
    return accepted
