"""Shared parts of the online samplers: past responses, weighted particles and their moments."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from abcdp_core.adaptive.resampling import ancestors, evenly
from abcdp_core.base.arrays import Array
from abcdp_core.base.libraries import available_threads


class Response(NamedTuple):
    """One person's private answer.

    Attributes:
        value: the noisy answer y.
        left, right: its interval, ``left < right``.
        scale: scale of its noise (Laplace scale or Gaussian standard deviation).

    For a table of symbols these are the symbol's number, the ends of its set and e^ε − 1
    (:mod:`abcdp_core.adaptive.response`).
    """

    value: float
    left: float
    right: float
    scale: float


@dataclass(frozen=True)
class History:
    """The responses so far; appending one takes constant time on average.

    Histories that grew from one another share memory. A history that is no longer the longest is
    copied before it grows, so none ever changes.
    """

    _rows: Array
    _filled: list[int]
    count: int

    @classmethod
    def empty(cls) -> Self:
        """Return a history without responses."""
        return cls(np.empty((16, 4)), [0], 0)

    @property
    def rows(self) -> Array:
        """The responses ``(t, 4)`` as (y, l, r, s)."""
        return self._rows[: self.count]

    def plus(self, response: Response) -> History:
        """Return these responses and one more."""
        rows, filled = self._rows, self._filled
        if filled[0] != self.count or self.count == len(rows):
            rows = np.empty((2 * max(self.count, 8), 4))
            rows[: self.count] = self.rows
            filled = [self.count]
        rows[self.count] = response
        filled[0] += 1
        return History(rows, filled, self.count + 1)


class Cloud(Protocol):
    """A state with particles ``(N, 2)`` of (μ, log σ) and weights ``(N,)`` that sum to 1."""

    @property
    def theta(self) -> Array: ...  # noqa: D102
    @property
    def weights(self) -> Array: ...  # noqa: D102


@dataclass(frozen=True)
class Particles:
    """Particles ``(N, 2)`` of (μ, log σ), log weights ``(N,)`` up to a constant, and responses."""

    theta: Array
    log_weights: Array
    history: History

    @functools.cached_property
    def weights(self) -> Array:
        """Weights ``(N,)`` that sum to 1."""
        return normalised(self.log_weights)


def picture(cloud: Cloud, size: int) -> dict[str, NDArray[Any]]:
    """Return columns of at most ``size`` particles: number, μ, σ and weight.

    If there are more, a selection in proportion to the weights represents all.
    """
    theta, weights = cloud.theta, cloud.weights
    if len(weights) > size:
        theta, weights = theta[evenly(weights, size)], np.full(size, 1.0 / size)
    with np.errstate(over="ignore"):
        sigma = np.minimum(np.exp(theta[:, 1]), 1e300)
    numbers = np.arange(len(weights))
    return {"particle": numbers, "mu": theta[:, 0], "sigma": sigma, "weight": weights}


class Moments(NamedTuple):
    """Moments of μ and σ."""

    mean_mu: float
    sd_mu: float
    mean_sigma: float
    sd_sigma: float
    sd_log_sigma: float


def moments(cloud: Cloud) -> Moments:
    """Return weighted means and standard deviations of μ and σ, and the latter of log σ."""
    (mu, log_sigma), weights = cloud.theta.T, cloud.weights
    _, sd_log_sigma = _mean_and_sd(log_sigma, weights)
    of_sigma = _mean_and_sd(np.exp(log_sigma), weights)
    return Moments(*_mean_and_sd(mu, weights), *of_sigma, sd_log_sigma)


def _mean_and_sd(values: Array, weights: Array) -> tuple[float, float]:
    """Return the weighted mean and standard deviation of values ``(N,)``."""
    mean = float(weights @ values)
    return mean, math.sqrt(float(weights @ (values - mean) ** 2))


def pick(rng: np.random.Generator, cloud: Cloud) -> tuple[float, float]:
    """Draw (μ, σ) of one particle by weight: Thompson sampling (MATH A5)."""
    (index,) = ancestors(cloud.weights, rng.random(1))
    mu, log_sigma = cloud.theta[index]
    return float(mu), float(np.exp(log_sigma))


def normalised(log_weights: Array) -> Array:
    """Return weights ``(N,)`` that sum to 1, from their logarithms up to a constant.

    Raises:
        FloatingPointError: no particle is possible.
    """
    largest = float(np.max(log_weights))
    if not np.isfinite(largest):
        raise FloatingPointError("no particle can have given these responses.")
    weights: Array = np.exp(log_weights - largest)
    return weights / weights.sum()


WORTH_A_THREAD = 20_000
"""Number of densities, worth a few milliseconds, from which threads pay off."""


def threads(work: int) -> int:
    """Return the number of threads for ``work`` densities."""
    return available_threads() if work >= WORTH_A_THREAD else 1
