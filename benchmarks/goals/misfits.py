"""Models with data that follow them and data that do not, to test the misfit check (MATH E9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from abcdp_core.posterior.model import Model
from abcdp_core.posterior.noise import DiscreteLaplace, Laplace, Noise
from abcdp_core.posterior.priors import Normal, Prior, Uniform

Array = NDArray[np.float64]
Data = Callable[[np.random.Generator], Array]

DAYS = 14

RECORDS = 200

JAGGED = 3.0
"""Spread of second differences, in multiples of the model's."""


@dataclass(frozen=True)
class SeriesModel:
    """Daily counts that grow exponentially, with Poisson noise."""

    parameters: tuple[str, ...] = ("log of the first day", "growth")
    numbers: tuple[str, ...] = tuple(f"day {day}" for day in range(1, DAYS + 1))
    chunk: int = 5000
    prior: Prior = field(default=Prior((Normal(4.0, 0.5), Normal(0.05, 0.05))))
    is_series: bool = True

    def rates(self, theta: Array) -> Array:
        """Return expected counts ``(m, DAYS)``."""
        rates: Array = np.exp(theta[:, :1] + theta[:, 1:] * np.arange(DAYS))
        return rates

    def simulate(self, rng: np.random.Generator, theta: Array) -> Array:
        """Simulate counts ``(m, DAYS)``."""
        return rng.poisson(self.rates(theta)).astype(float)


@dataclass(frozen=True)
class MeanModel:
    """The mean of normal records with standard deviation 1."""

    parameters: tuple[str, ...] = ("mean of the distribution",)
    numbers: tuple[str, ...] = ("mean",)
    chunk: int = 5000
    prior: Prior = field(default=Prior((Uniform(-2.0, 2.0),)))

    def simulate(self, rng: np.random.Generator, theta: Array) -> Array:
        """Simulate means ``(m, 1)``."""
        return theta + rng.standard_normal(theta.shape) / np.sqrt(RECORDS)


@dataclass(frozen=True)
class CorrelatedModel:
    """Two noisy measurements of the same parameter."""

    parameters: tuple[str, ...] = ("level",)
    numbers: tuple[str, ...] = ("first", "second")
    chunk: int = 5000
    prior: Prior = field(default=Prior((Normal(0.0, 1.0),)))

    def simulate(self, rng: np.random.Generator, theta: Array) -> Array:
        """Simulate numbers ``(m, 2)``."""
        return theta + 0.1 * rng.standard_normal((len(theta), 2))


@dataclass(frozen=True)
class Case:
    """A model with data that follow it and data that do not.

    Attributes:
        name: name of the case.
        model: prior and simulator.
        noise: noise on its numbers.
        wrong: truth ``(1, p)`` to numbers ``(k,)`` of data that do not follow the model.
    """

    name: str
    model: Model
    noise: Noise
    wrong: Callable[[np.random.Generator, Array], Array]

    def _truth(self, rng: np.random.Generator) -> Array:
        return self.model.prior.theta(self.model.prior.draw(rng, 1))

    def own(self, rng: np.random.Generator) -> Array:
        """Release numbers ``(k,)`` of data that follow the model."""
        return self.noise.noisy(rng, self.model.simulate(rng, self._truth(rng)))[0]

    def other(self, rng: np.random.Generator) -> Array:
        """Release numbers ``(k,)`` of data that do not."""
        return self.noise.noisy(rng, self.wrong(rng, self._truth(rng))[None])[0]


def _jagged(rng: np.random.Generator, theta: Array) -> Array:
    """Simulate counts that alternate up and down, so that second differences are too large."""
    rates = SeriesModel().rates(theta)[0]
    counts = rng.poisson(rates).astype(float)
    # Second differences of independent numbers of variance v have variance 6 v; ±a adds 16 a².
    turns = np.sqrt((JAGGED**2 - 1.0) * 6.0 * rates / 16.0) * (-1.0) ** np.arange(DAYS)
    jagged: Array = np.rint(np.maximum(counts + turns, 0.0))
    return jagged


def _far(rng: np.random.Generator, theta: Array) -> Array:  # noqa: ARG001
    """Simulate a mean far outside the prior."""
    return np.array([3.0]) + rng.standard_normal(1) / np.sqrt(RECORDS)


def _apart(rng: np.random.Generator, theta: Array) -> Array:  # noqa: ARG001
    """Simulate two numbers that are plausible alone but not together."""
    return np.array([0.6, -0.6]) + 0.1 * rng.standard_normal(2)


SERIES = Case("series", SeriesModel(), DiscreteLaplace((1.0,) * DAYS), _jagged)
MEAN = Case("mean", MeanModel(), Laplace((8.0 / RECORDS,)), _far)
CORRELATED = Case("correlation", CorrelatedModel(), Laplace((0.05, 0.05)), _apart)
CASES = (SERIES, MEAN, CORRELATED)
