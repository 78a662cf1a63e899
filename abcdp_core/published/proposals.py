r"""Where to simulate: the prior, or a distribution fitted to weighted draws.

A fitted one is $q = \alpha\, \pi + (1 - \alpha)\, t_\nu(\mu, \Sigma)$: a multivariate Student's t
at the mean and covariance of the weighted draws, whose tails are heavier than those of the
posterior it is for, and the prior $\pi$ for what it misses.

While few draws carry the weights, the noise density is tempered before the fit, $f^\tau$ with the
largest $\tau \le 1$ that leaves an effective sample size of :data:`FIT`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import gammaln, logsumexp

from abcdp_core.published.models import Model
from abcdp_core.summaries import effective_sample_size

Array = NDArray[np.float64]

PRIOR_SHARE = 0.1
"""α, of every fitted proposal."""

FREEDOM = 5.0
"""Degrees of freedom ν."""

FIT = 100.0
"""Effective sample size that a proposal is fitted to, at least."""

HALVINGS = 40
"""Of the interval that τ is in."""

SMALLEST_VARIANCE = 1e-12
"""Added to the covariance, so that draws that agree in a parameter still have a density."""


@dataclass(frozen=True)
class Proposal:
    """A distribution of draws.

    Attributes:
        prior_share: probability of a draw from the prior; 1 if there is nothing else.
        mean: of the rest ``(d,)``.
        root: lower triangular root of the rest's scale matrix ``(d, d)``.
    """

    prior_share: float
    mean: tuple[float, ...] = ()
    root: tuple[tuple[float, ...], ...] = ()

    def draw(self, model: Model, rng: np.random.Generator, size: int) -> Array:
        """Draws ``(size, d)`` on the model's scale."""
        x = model.prior(rng, size)
        if self.prior_share == 1.0:
            return x
        normal = rng.standard_normal(x.shape)
        longer = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, size))[:, None]
        fitted = np.array(self.mean) + longer * normal @ np.array(self.root).T
        chosen: Array = np.where(rng.random(size)[:, None] < self.prior_share, x, fitted)
        return chosen

    def log_density(self, x: Array, log_prior: Array) -> Array:
        """Log-density ``(m,)`` at ``x (m, d)``, where that of the prior is known."""
        if self.prior_share == 1.0:
            return log_prior
        fitted = student_log_density(x, np.array(self.mean), np.array(self.root))
        found: Array = np.logaddexp(
            math.log(self.prior_share) + log_prior, math.log1p(-self.prior_share) + fitted
        )
        return found


PRIOR = Proposal(1.0)


def student_log_density(x: Array, mean: Array, root: Array) -> Array:
    """Log-density ``(m,)`` of the multivariate t at ``x (m, d)``; the root is lower triangular."""
    d = len(mean)
    away = solve_triangular(root, (x - mean).T, lower=True)
    constant = gammaln((FREEDOM + d) / 2.0) - gammaln(FREEDOM / 2.0)
    constant -= d / 2.0 * math.log(FREEDOM * math.pi) + np.log(np.diag(root)).sum()
    found: Array = constant - (FREEDOM + d) / 2.0 * np.log1p((away**2).sum(axis=0) / FREEDOM)
    return found


def fitted(x: Array, log_base: Array, log_noise: Array) -> Proposal:
    """The proposal for the posterior, as far as weighted draws tell.

    Args:
        x: draws ``(m, d)``, more than d.
        log_base: log of prior over proposal at each ``(m,)``.
        log_noise: log-density of the query given each ``(m,)``, some of it finite.
    """
    weights = normalised(log_base + temperature(log_base, log_noise) * _finite(log_noise))
    mean = weights @ x
    apart = x - mean
    covariance = (apart * weights[:, None]).T @ apart
    covariance += SMALLEST_VARIANCE * np.eye(len(mean))
    root = np.linalg.cholesky(covariance)
    return Proposal(PRIOR_SHARE, tuple(mean.tolist()), tuple(map(tuple, root.tolist())))


def temperature(log_base: Array, log_noise: Array) -> float:
    """The largest τ from 0 to 1 with :data:`FIT` effective draws, by bisection."""
    if _size(log_base + log_noise) >= FIT:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        enough = _size(log_base + middle * _finite(log_noise)) >= FIT
        low, high = (middle, high) if enough else (low, middle)
    return low


def _finite(log_noise: Array) -> Array:
    """What is impossible as unlikely as the most unlikely possible, so that τ = 0 forgets it."""
    return np.maximum(log_noise, log_noise[np.isfinite(log_noise)].min())


def _size(log_weights: Array) -> float:
    return effective_sample_size(normalised(log_weights))


def normalised(log_weights: Array) -> Array:
    """Weights ``(m,)`` that add up to 1; some of the logarithms are finite."""
    weights: Array = np.exp(log_weights - logsumexp(log_weights))
    return weights / weights.sum()
