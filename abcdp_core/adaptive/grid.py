r"""The posterior on a grid over (μ, log σ): the reference for all samplers (MATH A8).

On a rectangle with all but a negligible part of the posterior, sums over an even grid match
integrals if the spacing is below a standard deviation: for a normal density the error is
$2e^{-2\pi^2 (sd/spacing)^2}$, here 5e-9. Each response multiplies the grid by its density. When the
posterior occupies little of the rectangle or becomes too narrow for the spacing, a new grid around
it evaluates all responses again, so early coarseness has no effect.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from abcdp_core.adaptive.particles import History, Response, normalised
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.response import Kind, log_likelihood
from abcdp_core.base import summaries
from abcdp_core.base.arrays import Array

NEGLIGIBLE = 1e-9
"""Marginal density, as a share of the largest, below which the grid may be cut off."""

CROWDED = 0.4
"""Share of an axis occupied by the posterior below which a new grid is made."""

MARGIN = 0.25
"""Margin of a new grid on each side, as a share of the posterior's range."""

RELEVANT = 1e-3
"""Marginal density of σ, as a share of the largest, from which μ must be resolved."""

FINEST = 1024
"""Largest number of points on the axis of μ."""


@dataclass(frozen=True)
class State:
    """Axes ``(M,)`` and ``(K,)``, log posterior ``(M * K,)`` up to a constant, and responses."""

    mu: Array
    log_sigma: Array
    log_posterior: Array
    history: History

    @functools.cached_property
    def theta(self) -> Array:
        """Points of the grid ``(M * K, 2)``."""
        return _points(self.mu, self.log_sigma)

    @functools.cached_property
    def weights(self) -> Array:
        """Weights ``(M * K,)`` that sum to 1."""
        return normalised(self.log_posterior)


@dataclass(frozen=True)
class Grid:
    """Settings of the grid.

    Attributes:
        prior: of (μ, σ).
        noise: family of the responses' noise, or ``table`` for symbols from a table.
        size: points on each axis, at least 32; more for μ while it is far wider than σ, one for a
            known σ.
    """

    prior: Prior
    noise: Kind
    size: int = 80

    def start(self, rng: np.random.Generator) -> State:
        """Return the prior; the generator is not used."""
        return self._on(_prior_box(self.prior), 0.0, History.empty())

    def _on(self, box: Array, spacing: float, history: History) -> State:
        """Compute the posterior on ``box``, the lowest and highest μ and log σ ``(2, 2)``."""
        steps = (box[0, 1] - box[0, 0]) / max(spacing, 1e-300)
        mu = np.linspace(box[0, 0], box[0, 1], int(np.clip(steps, self.size, FINEST)))
        log_sigma = np.linspace(box[1, 0], box[1, 1], self.size if box[1, 0] < box[1, 1] else 1)
        theta = _points(mu, log_sigma)
        value = self.prior.log_density(theta)
        if history.count:
            value = value + log_likelihood(theta, history.rows, self.noise)
        return State(mu, log_sigma, value, history)

    def step(
        self, rng: np.random.Generator, state: State, response: Response
    ) -> tuple[State, float]:
        """Update by one response; return the effective number of grid points too."""
        history = state.history.plus(response)
        gained = log_likelihood(state.theta, np.array([response]), self.noise)
        state = State(state.mu, state.log_sigma, state.log_posterior + gained, history)
        box, is_crowded = _where_it_lives(state)
        spacing = _spacing_needed(state)
        is_coarse = len(state.mu) < FINEST and state.mu[1] - state.mu[0] > 1.5 * spacing
        covered = summaries.effective_sample_size(state.weights)
        if not (is_crowded or is_coarse):
            return state, covered
        return self._on(box, spacing, history), covered


def _points(mu: Array, log_sigma: Array) -> Array:
    return np.column_stack([np.repeat(mu, len(log_sigma)), np.tile(log_sigma, len(mu))])


def _prior_box(prior: Prior) -> Array:
    """Return a rectangle that holds the prior up to about 1e-12 at each end."""
    reach = 7.0 * math.sqrt(prior.variance)
    edges = [prior.mean - reach, prior.mean + reach]
    if prior.sigma is not None:
        return np.array([edges, [math.log(prior.sigma)] * 2])
    tails = special.gammainccinv(prior.shape, [1e-12, 1.0 - 1e-12]) / prior.rate
    return np.array([edges, -0.5 * np.log(np.maximum(tails, 1e-24))])


def _where_it_lives(state: State) -> tuple[Array, bool]:
    """Return a rectangle around the posterior, and whether it is much smaller than the grid."""
    weights = state.weights.reshape(len(state.mu), len(state.log_sigma))
    box, is_crowded = np.empty((2, 2)), False
    for row, (axis, marginal) in enumerate(
        ((state.mu, weights.sum(axis=1)), (state.log_sigma, weights.sum(axis=0)))
    ):
        alive = np.flatnonzero(marginal > NEGLIGIBLE * marginal.max())
        low, high = axis[alive[0]], axis[alive[-1]]
        cell = axis[1] - axis[0] if len(axis) > 1 else 0.0
        margin = max(2.0 * cell, MARGIN * (high - low))
        box[row] = low - margin, high + margin
        is_crowded |= len(axis) > 1 and len(alive) < CROWDED * len(axis)
    return box, bool(is_crowded)


def _spacing_needed(state: State) -> float:
    """Return the smallest standard deviation of μ given σ, over the relevant σ."""
    weights = state.weights.reshape(len(state.mu), len(state.log_sigma))
    marginal = weights.sum(axis=0)
    of_mu = weights[:, marginal > RELEVANT * marginal.max()]
    of_mu /= of_mu.sum(axis=0)
    middle = state.mu @ of_mu
    spread = np.sqrt(np.einsum("mk,mk->k", (state.mu[:, None] - middle) ** 2, of_mu))
    return float(spread.min())
