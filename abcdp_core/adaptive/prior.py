r"""Prior: $\mu$ normal, $\sigma^2$ inverse gamma, independent ([Y23] §6; MATH A6).

Particles are $(\mu, \lambda)$ with $\lambda = \log\sigma$. For
$\sigma^2 \sim \mathrm{InvGamma}(a, b)$ the density of $\lambda$ is
$\propto \exp(-2a\lambda - b e^{-2\lambda})$.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from abcdp_core.base.arrays import Array


@dataclass(frozen=True)
class Prior:
    """μ ~ N(mean, variance), σ² ~ InvGamma(shape, rate), or a known σ; the paper's by default.

    Attributes:
        mean, variance: of μ.
        shape, rate: of σ²: density ∝ v^(−shape−1) exp(−rate/v).
        sigma: σ if it is known; shape and rate are then ignored.
    """

    mean: float = 0.0
    variance: float = 1e4
    shape: float = 1.0
    rate: float = 1.0
    sigma: float | None = None

    @property
    def sd_log_sigma(self) -> float:
        """Standard deviation of log σ: half that of the logarithm of a gamma variable."""
        return 0.0 if self.sigma is not None else 0.5 * math.sqrt(special.polygamma(1, self.shape))

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Draw ``(size, 2)`` of (μ, log σ)."""
        mu = self.mean + math.sqrt(self.variance) * rng.standard_normal(size)
        if self.sigma is not None:
            return np.column_stack([mu, np.full(size, math.log(self.sigma))])
        # A gamma variable closer to 0 would make σ infinite.
        precision = np.maximum(rng.standard_gamma(self.shape, size), 1e-300) / self.rate
        return np.column_stack([mu, -0.5 * np.log(precision)])

    def log_density(self, theta: Array) -> Array:
        """Return the log density ``(N,)`` at particles ``(N, 2)``, up to a constant."""
        mu, log_sigma = theta[:, 0], theta[:, 1]
        of_mu: Array = -0.5 * (mu - self.mean) ** 2 / self.variance
        if self.sigma is not None:
            return of_mu
        with np.errstate(over="ignore"):
            of_sigma = -2.0 * self.shape * log_sigma - self.rate * np.exp(-2.0 * log_sigma)
        return of_mu + of_sigma

    def mu_given(self, rng: np.random.Generator, sigma: Array, sums: Array, count: int) -> Array:
        """Draw μ ``(N,)`` given σ ``(N,)`` and the sums ``(N,)`` of ``count`` values each."""
        precision = 1.0 / self.variance + count / sigma**2
        middle = (self.mean / self.variance + sums / sigma**2) / precision
        return middle + rng.standard_normal(len(sigma)) / np.sqrt(precision)

    def sigma_given(self, rng: np.random.Generator, squares: Array, count: int) -> Array:
        """Draw σ ``(N,)`` given sums ``(N,)`` of squared distances of ``count`` values to μ."""
        if self.sigma is not None:
            return np.full(len(squares), self.sigma)
        gamma = rng.standard_gamma(self.shape + 0.5 * count, len(squares))
        return np.sqrt((self.rate + 0.5 * squares) / np.maximum(gamma, 1e-300))
