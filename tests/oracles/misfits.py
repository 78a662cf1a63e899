"""Models with data that follow them and data that do not, to test the misfit check (MATH E9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.models.priors import Normal, Prior, Uniform
from abcdp_core.posterior.model import Model
from abcdp_core.posterior.noise import DiscreteLaplace, Laplace, Noise

Simulate = Callable[[np.random.Generator, Array], Array]

DAYS, RECORDS = 14, 200

JAGGED = 3.0
"""Spread of second differences, in multiples of the model's."""


@dataclass(frozen=True)
class Case:
    """A model, noise on its numbers, and a simulator of data that do not follow the model."""

    name: str
    model: Model
    noise: Noise
    wrong: Simulate

    def own(self, rng: np.random.Generator) -> Array:
        """Release numbers ``(k,)`` of data that follow the model."""
        return self._released(rng, self.model.simulate)

    def other(self, rng: np.random.Generator) -> Array:
        """Release numbers ``(k,)`` of data that do not."""
        return self._released(rng, self.wrong)

    def _released(self, rng: np.random.Generator, simulate: Simulate) -> Array:
        truth = self.model.prior.theta(self.model.prior.draw(rng, 1))
        return self.noise.noisy(rng, simulate(rng, truth))[0]


def _rates(theta: Array) -> Array:
    """Return expected daily counts ``(m, DAYS)`` that grow exponentially."""
    return np.exp(theta[:, :1] + theta[:, 1:] * np.arange(DAYS))


def _counts(rng: np.random.Generator, theta: Array) -> Array:
    return rng.poisson(_rates(theta)).astype(float)


def _jagged(rng: np.random.Generator, theta: Array) -> Array:
    """Simulate counts that alternate up and down, so that second differences are too large."""
    # Second differences of independent numbers of variance v have variance 6 v; ±a adds 16 a².
    turns = np.sqrt((JAGGED**2 - 1.0) * 6.0 * _rates(theta) / 16.0) * (-1.0) ** np.arange(DAYS)
    return np.rint(np.maximum(_counts(rng, theta) + turns, 0.0))


def _mean(rng: np.random.Generator, theta: Array) -> Array:
    return theta + rng.standard_normal(theta.shape) / np.sqrt(RECORDS)


def _far(rng: np.random.Generator, theta: Array) -> Array:
    """Simulate a mean far outside the prior."""
    return _mean(rng, np.full_like(theta, 3.0))


def _two(rng: np.random.Generator, theta: Array) -> Array:
    """Simulate two noisy measurements of the same parameter."""
    return theta + 0.1 * rng.standard_normal((len(theta), 2))


def _apart(rng: np.random.Generator, theta: Array) -> Array:
    """Simulate two numbers that are plausible alone but not together."""
    return np.array([0.6, -0.6]) + _two(rng, np.zeros_like(theta))


GROWTH = Model(
    ("log of the first day", "growth"),
    tuple(f"day {day}" for day in range(1, DAYS + 1)),
    Prior((Normal(4.0, 0.5), Normal(0.05, 0.05))),
    _counts,
    is_series=True,
)
MEAN_MODEL = Model(("μ",), ("mean",), Prior((Uniform(-2.0, 2.0),)), _mean)
PAIR = Model(("level",), ("first", "second"), Prior((Normal(0.0, 1.0),)), _two)

SERIES = Case("series", GROWTH, DiscreteLaplace((1.0,) * DAYS), _jagged)
MEAN = Case("mean", MEAN_MODEL, Laplace((8.0 / RECORDS,)), _far)
CORRELATED = Case("correlation", PAIR, Laplace((0.05, 0.05)), _apart)
CASES = (SERIES, MEAN, CORRELATED)
