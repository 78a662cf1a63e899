r"""Noise laws of a published query ``z (k,)`` given the numbers ``s (k,)`` without noise.

| law | $f(z \mid s)$ of each number |
|---|---|
| ``laplace`` | $e^{-\lvert z - s \rvert / b} / 2b$, scale $b$ |
| ``discrete-laplace`` | $\tanh(h / 2b)\, e^{-\lvert z - s \rvert / b}$ on multiples of a step $h$ |
| ``gaussian`` | $N(s, b^2)$, scale $b$ |
| ``binomial-sample`` | $m z \sim \mathrm{Binomial}(m, (s + M) / (K + 2M))$ |

The last is a sample of $m$ out of $K$ people of whom $s$ have something, with $M$ people added to
either side. Numbers have independent noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from abcdp_core.parameters import ParameterError, shown

Array = NDArray[np.float64]

ROUNDING = 1e-6
"""Nearer to a whole number than this is that number."""


class Noise(Protocol):
    """A noise law; frozen, so that it may be sent to workers."""

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Logarithms ``(m,)`` of f at a query ``(k,)`` given summaries ``(m, k)``."""
        ...

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Queries ``(m, k)`` that summaries ``(m, k)`` could have led to."""
        ...

    def check(self, query: Array) -> None:
        """Refuse a query ``(k,)`` that this law cannot give.

        Raises:
            ParameterError: it is such a one.
        """
        ...

    def in_words(self) -> str:
        """The law in a few words."""
        ...


def _scales(scale: tuple[float, ...]) -> str:
    different = sorted(set(scale))
    if len(different) == 1:
        return f"scale {different[0]:g}"
    return f"scales {different[0]:g} to {different[-1]:g}"


@dataclass(frozen=True)
class Laplace:
    """Laplace noise.

    Attributes:
        scale: of each number ``(k,)``, above 0.
    """

    scale: tuple[float, ...]

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Logarithms ``(m,)``."""
        scale = np.array(self.scale)
        found: Array = -(np.abs(query - summaries) / scale).sum(axis=1) - np.log(2.0 * scale).sum()
        return found

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Queries ``(m, k)``."""
        return summaries + rng.laplace(0.0, np.array(self.scale), summaries.shape)

    def check(self, query: Array) -> None:
        """Every number can come."""

    def in_words(self) -> str:
        """The law in a few words."""
        return f"Laplace noise of {_scales(self.scale)}"


@dataclass(frozen=True)
class DiscreteLaplace:
    """Laplace noise on the multiples of a step.

    Attributes:
        scale: of each number ``(k,)``, above 0, in its own unit.
        step: the query, the simulated numbers and the noise are multiples of it.
    """

    scale: tuple[float, ...]
    step: float = 1.0

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Logarithms ``(m,)``.

        Raises:
            ParameterError: a summary is not on the steps.
        """
        scale = np.array(self.scale)
        steps = (query - summaries) / self.step
        off = np.abs(steps - np.rint(steps)) > ROUNDING
        if off.any():
            row, number = np.argwhere(off)[0]
            raise ParameterError(
                f"noise: discrete-laplace needs simulated numbers that are multiples of "
                f"{self.step:g}, but number {number + 1} is {summaries[row, number]:.6g}."
            )
        least = np.tanh(self.step / (2.0 * scale))
        found: Array = -(np.abs(query - summaries) / scale).sum(axis=1) + np.log(least).sum()
        return found

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Queries ``(m, k)``: the difference of two whole parts is discrete Laplace noise."""
        draws = rng.standard_exponential((2, *summaries.shape)) * np.array(self.scale) / self.step
        first, second = np.floor(draws)
        released: Array = summaries + self.step * (first - second)
        return released

    def check(self, query: Array) -> None:
        """All numbers must be multiples of the step."""
        _check_multiples(query, self.step, "discrete-laplace noise")

    def in_words(self) -> str:
        """The law in a few words."""
        return f"discrete Laplace noise of {_scales(self.scale)} in steps of {self.step:g}"


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise.

    Attributes:
        scale: standard deviation for each number ``(k,)``, above 0.
    """

    scale: tuple[float, ...]

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Logarithms ``(m,)``."""
        scale = np.array(self.scale)
        squares = (((query - summaries) / scale) ** 2).sum(axis=1)
        found: Array = -0.5 * squares - np.log(scale * math.sqrt(2.0 * math.pi)).sum()
        return found

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Queries ``(m, k)``."""
        return summaries + rng.normal(0.0, np.array(self.scale), summaries.shape)

    def check(self, query: Array) -> None:
        """Every number can come."""

    def in_words(self) -> str:
        """The law in a few words."""
        return f"Gaussian noise of {_scales(self.scale)}"


@dataclass(frozen=True)
class BinomialSample:
    """Shares in a random sample of a population to which people were added.

    Attributes:
        trials: people in the sample, m.
        population: people there are, K.
        offset: people added with, and as many without, what is counted: M.
    """

    trials: int
    population: float
    offset: float = 0.0

    def _probability(self, summaries: Array) -> Array:
        return (summaries + self.offset) / (self.population + 2.0 * self.offset)

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Logarithms ``(m,)``.

        Raises:
            ParameterError: a summary is no number of people in the population.
        """
        wrong = (summaries < 0.0) | (summaries > self.population)
        if wrong.any():
            row, number = np.argwhere(wrong)[0]
            raise ParameterError(
                f"noise: binomial-sample needs simulated numbers from 0 to population = "
                f"{self.population:g}, but number {number + 1} is {summaries[row, number]:.6g}."
            )
        count = np.rint(query * self.trials)
        rest = self.trials - count
        p = self._probability(summaries)
        ways = gammaln(self.trials + 1.0) - gammaln(count + 1.0) - gammaln(rest + 1.0)
        found: Array = (xlogy(count, p) + xlog1py(rest, -p)).sum(axis=1) + ways.sum()
        return found

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Queries ``(m, k)``."""
        return rng.binomial(self.trials, self._probability(summaries)) / self.trials

    def check(self, query: Array) -> None:
        """All numbers must be shares of the sample."""
        _check_multiples(query, 1.0 / self.trials, f"a share of trials = {self.trials}")
        if (query < 0.0).any() or (query > 1.0).any():
            number = int(np.argmax((query < 0.0) | (query > 1.0)))
            raise ParameterError(
                f"query, number {number + 1} = {shown(float(query[number]))}: must be a share from "
                f"0 to 1."
            )

    def in_words(self) -> str:
        """The law in a few words."""
        return f"a random sample of {self.trials:,} people, {self.offset:,g} added to either side"


def _check_multiples(query: Array, step: float, what: str) -> None:
    steps = query / step
    off = np.abs(steps - np.rint(steps)) > ROUNDING
    if off.any():
        number = int(np.argmax(off))
        raise ParameterError(
            f"query, number {number + 1} = {shown(float(query[number]))}: must be a multiple of "
            f"{step:g} for {what}."
        )
