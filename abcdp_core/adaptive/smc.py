r"""Sequential Monte Carlo on the exact likelihood of the responses (ours; MATH A7).

Each person's value is integrated out (MATH A2), so a particle is only (μ, log σ), and its weight is
multiplied by $p(y_t \mid \mu, \sigma)$. When the effective sample size falls below a share of N,
particles are resampled and moved by sweeps of random-walk Metropolis-Hastings on the full
posterior, with the weighted covariance times 2.38²/2 as the step. If σ is known, their likelihoods
are interpolated (:mod:`abcdp_core.adaptive.chebyshev`). The posterior halves in width more and more
rarely, so the time per person stays flat on average and memory is O(N + n).
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from abcdp_core.adaptive import chebyshev
from abcdp_core.adaptive.particles import History, Particles, Response, threads
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.resampling import RESAMPLING
from abcdp_core.adaptive.response import Kind, log_likelihood
from abcdp_core.base import summaries
from abcdp_core.base.arrays import Array

STEP = 2.38 / math.sqrt(2.0)
"""Random-walk step in standard deviations, optimal for a normal target in two dimensions."""

RESAMPLE_BELOW, SWEEPS = 0.5, 3
"""Share of N below which the effective sample size triggers a move, and its number of sweeps."""


@dataclass(frozen=True)
class State(Particles):
    """Particles with the log-likelihood ``(N,)`` of all responses so far."""

    log_likelihood: Array


@dataclass(frozen=True)
class Smc:
    """Settings of the sampler.

    Attributes:
        prior: of (μ, σ).
        noise: family of the responses' noise, or ``table`` for symbols from a table.
        particles: N, at least 1.
        resampling: ``systematic`` or ``multinomial``.
    """

    prior: Prior
    noise: Kind
    particles: int
    resampling: str = "systematic"

    def start(self, rng: np.random.Generator) -> State:
        """Draw particles from the prior."""
        return self.at(self.prior.draw(rng, self.particles))

    def at(self, theta: Array) -> State:
        """Return equally weighted particles ``(N, 2)`` before any response."""
        zeros = np.zeros(len(theta))
        return State(theta, zeros, History.empty(), zeros)

    def step(
        self, rng: np.random.Generator, state: State, response: Response
    ) -> tuple[State, float]:
        """Update by one response; return the effective sample size before resampling too."""
        gained = log_likelihood(state.theta, np.array([response]), self.noise)
        weighted = State(
            state.theta,
            state.log_weights + gained,
            state.history.plus(response),
            state.log_likelihood + gained,
        )
        size = summaries.effective_sample_size(weighted.weights)
        if size >= RESAMPLE_BELOW * self.particles:
            return weighted, size
        return self._move(rng, weighted, weighted.weights), size

    def _move(self, rng: np.random.Generator, state: State, weights: Array) -> State:
        """Resample, then move by Metropolis-Hastings sweeps that preserve the posterior."""
        root = _root_of_covariance(state.theta, weights)
        if self.prior.sigma is not None:
            # Rounding of the covariance would let a known σ drift.
            root[1] = 0.0
        ancestors = RESAMPLING[self.resampling](rng, weights)
        theta, likelihood = state.theta[ancestors], state.log_likelihood[ancestors]
        prior = self.prior.log_density(theta)
        for _ in range(SWEEPS):
            proposed = theta + STEP * rng.standard_normal(theta.shape) @ root.T
            proposed_prior = self.prior.log_density(proposed)
            proposed_likelihood = self._likelihood(proposed, state.history.rows)
            with np.errstate(invalid="ignore"):
                gain = proposed_prior + proposed_likelihood - prior - likelihood
            better = -rng.standard_exponential(len(theta)) < gain
            theta = np.where(better[:, None], proposed, theta)
            prior = np.where(better, proposed_prior, prior)
            likelihood = np.where(better, proposed_likelihood, likelihood)
        return State(theta, np.zeros(len(theta)), state.history, likelihood)

    def _likelihood(self, theta: Array, rows: Array) -> Array:
        """Return the log-likelihood ``(N,)`` of all responses, on several threads if worthwhile.

        It only decides moves, so its last digits do not matter.
        """
        if self.prior.sigma is not None:
            return chebyshev.log_likelihoods(theta[:, 0], float(theta[0, 1]), rows, self.noise)
        count = threads(len(theta) * len(rows))
        if count == 1:
            return log_likelihood(theta, rows, self.noise)
        with ThreadPoolExecutor(count) as pool:
            parts = pool.map(
                lambda part: log_likelihood(part, rows, self.noise), np.array_split(theta, count)
            )
            return np.concatenate(list(parts))


def _root_of_covariance(theta: Array, weights: Array) -> Array:
    """Return the lower triangle L with L Lᵀ the weighted covariance ``(2, 2)``; if singular too."""
    apart = theta - summaries.weighted_mean(theta, weights)
    (first, both), (_, second) = (apart * weights[:, None]).T @ apart
    upper = math.sqrt(first)
    across = both / upper if upper > 0 else 0.0
    return np.array([[upper, 0.0], [across, math.sqrt(max(second - across**2, 0.0))]])
