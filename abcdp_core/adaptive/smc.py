r"""Sequential Monte Carlo on the exact likelihood of the responses (ours; MATH A7).

The value of each person is integrated out (MATH A2), so a particle is (μ, log σ) alone and its
weight is multiplied by $p(y_t \mid \mu, \sigma)$. When the effective sample size falls below a
share of N, particles are resampled and moved by sweeps of random-walk Metropolis-Hastings on the
full posterior, with the weighted covariance times 2.38²/2 as the step; where σ is known, their
likelihoods are interpolated (:mod:`abcdp_core.adaptive.chebyshev`). The posterior halves in
width more and more rarely, so the cost per person stays flat on average and memory is O(N + n).
"""

from __future__ import annotations

import functools
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from abcdp_core import summaries
from abcdp_core.adaptive import chebyshev
from abcdp_core.adaptive.particles import History, Response, normalised, threads
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.resampling import RESAMPLING
from abcdp_core.adaptive.response import Kind, log_likelihood

Array = NDArray[np.float64]

STEP = 2.38 / math.sqrt(2.0)
"""Random-walk step in standard deviations, best for a normal target in two dimensions."""

RESAMPLE_BELOW, SWEEPS = 0.5, 3
"""Share of N below which the effective sample size starts a move, and the steps of a move."""


@dataclass(frozen=True)
class State:
    """What the next step needs.

    Attributes:
        theta: particles ``(N, 2)`` of (μ, log σ).
        log_weights: ``(N,)`` up to a constant.
        log_likelihood: of all responses so far, ``(N,)``.
        history: the responses so far.
    """

    theta: Array
    log_weights: Array
    log_likelihood: Array
    history: History

    @functools.cached_property
    def weights(self) -> Array:
        """Weights ``(N,)`` that sum to 1."""
        return normalised(self.log_weights)


@dataclass(frozen=True)
class Smc:
    """The sampler's settings.

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
        """Particles from the prior."""
        return self.at(self.prior.draw(rng, self.particles))

    def at(self, theta: Array) -> State:
        """Equally weighted particles ``(N, 2)`` before any response."""
        zeros = np.zeros(len(theta))
        return State(theta, zeros, zeros, History.empty())

    def step(
        self, rng: np.random.Generator, state: State, response: Response
    ) -> tuple[State, float]:
        """Take in one response; the effective sample size is that before resampling."""
        gained = log_likelihood(state.theta, np.array([response]), self.noise)
        weighted = State(
            state.theta,
            state.log_weights + gained,
            state.log_likelihood + gained,
            state.history.plus(response),
        )
        weights = weighted.weights
        size = summaries.effective_sample_size(weights)
        if size >= RESAMPLE_BELOW * self.particles:
            return weighted, size
        return self._move(rng, weighted, weights), size

    def _move(self, rng: np.random.Generator, state: State, weights: Array) -> State:
        """Resample, then Metropolis-Hastings sweeps that leave the posterior as it is."""
        root = _root_of_covariance(state.theta, weights)
        if self.prior.sigma is not None:
            # Exact: rounding of the covariance would let a known σ wander.
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
        return State(theta, np.zeros(len(theta)), likelihood, state.history)

    def _likelihood(self, theta: Array, rows: Array) -> Array:
        """Log-likelihood ``(N,)`` of all responses, on several threads where it is much work.

        Moves are decided by it and nothing else is made of it, so its last digits do not matter.
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
    """Lower triangle L with L Lᵀ the weighted covariance ``(2, 2)``; singular ones too."""
    apart = theta - summaries.weighted_mean(theta, weights)
    (first, both), (_, second) = (apart * weights[:, None]).T @ apart
    upper = math.sqrt(first)
    across = both / upper if upper > 0 else 0.0
    return np.array([[upper, 0.0], [across, math.sqrt(max(second - across**2, 0.0))]])
