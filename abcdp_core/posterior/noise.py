r"""Noise laws of released numbers, a query ``z (k,)`` given the numbers ``s (k,)`` without noise.

| law | $f(z \mid s)$ of each number |
|---|---|
| ``laplace`` | $e^{-\lvert z - s \rvert / b} / 2b$, scale $b$ |
| ``discrete-laplace`` | $\tanh(h / 2b)\, e^{-\lvert z - s \rvert / b}$ on multiples of a step $h$ |
| ``gaussian`` | $N(s, b^2)$, scale $b$ |
| ``discrete-gaussian`` | proportional to $e^{-(z - s)^2 / 2b^2}$ on multiples of a step $h$ |
| ``binomial-sample`` | $m z \sim \mathrm{Binomial}(m, (s + M) / (K + 2M))$ |

The last is a sample of $m$ out of $K$ people of whom $s$ have something, with $M$ people added to
either side. Numbers have independent noise, all of one law or groups of them of one each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from abcdp_core.parameters import ParameterError, shown
from abcdp_core.sentences import counted

Array = NDArray[np.float64]

ROUNDING = 1e-6
"""Nearer to a whole number than this is that number."""


class Noise(Protocol):
    """A noise law; frozen, so that it may be sent to workers."""

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Logarithms ``(m,)`` of f at a query ``(k,)`` given summaries ``(m, k)``."""
        ...

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Queries ``(m, k)`` that summaries ``(m, k)`` could have led to; of a law its own."""
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


class Law(Noise, Protocol):
    """A noise law of some of the numbers."""

    @property
    def of(self) -> tuple[int, ...]:
        """Places of these numbers ``(j,)`` in the query; empty for all."""
        ...


def _mine(law: Law, values: Array) -> Array:
    """Of values of all numbers ``(..., k)`` those that a law is for ``(..., j)``."""
    return values[..., list(law.of)] if law.of else values


def _place(law: Law, number: int) -> int:
    """Where one of a law's numbers stands among all, counted from 1."""
    return 1 + (law.of[number] if law.of else number)


@dataclass(frozen=True)
class IndependentNoise:
    """Several laws, each for numbers of its own, which together are all.

    Attributes:
        laws: each says which.
    """

    laws: tuple[Law, ...]

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Logarithms ``(m,)``.

        Raises:
            ParameterError: a summary is none that one of the laws can have.
        """
        found: Array = np.sum([law.log_density(query, summaries) for law in self.laws], axis=0)
        return found

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Queries ``(m, k)``."""
        found = np.empty_like(summaries)
        for law in self.laws:
            found[:, list(law.of)] = law.noisy(rng, summaries)
        return found

    def check(self, query: Array) -> None:
        """Each law has its own conditions."""
        for law in self.laws:
            law.check(query)

    def in_words(self) -> str:
        """The laws in a few words."""
        return "; ".join(
            f"{law.in_words()} ({counted(len(law.of), 'number')})" for law in self.laws
        )


def _scales(scale: tuple[float, ...]) -> str:
    different = sorted(set(scale))
    if len(different) == 1:
        return f"scale {different[0]:g}"
    return f"scales {different[0]:g} to {different[-1]:g}"


@dataclass(frozen=True)
class Laplace:
    """Laplace noise.

    Attributes:
        scale: of each number ``(j,)``, above 0.
        of: :attr:`Law.of`.
    """

    scale: tuple[float, ...]
    of: tuple[int, ...] = ()

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Logarithms ``(m,)``."""
        scale, apart = np.array(self.scale), _mine(self, query - summaries)
        found: Array = -(np.abs(apart) / scale).sum(axis=1) - np.log(2.0 * scale).sum()
        return found

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Queries ``(m, k)``."""
        mine = _mine(self, summaries)
        return mine + rng.laplace(0.0, np.array(self.scale), mine.shape)

    def check(self, query: Array) -> None:
        """Every number can come."""

    def in_words(self) -> str:
        """The law in a few words."""
        return f"Laplace noise of {_scales(self.scale)}"


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise.

    Attributes:
        scale: standard deviation for each number ``(j,)``, above 0.
        of: :attr:`Law.of`.
    """

    scale: tuple[float, ...]
    of: tuple[int, ...] = ()

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Logarithms ``(m,)``."""
        scale = np.array(self.scale)
        squares = ((_mine(self, query - summaries) / scale) ** 2).sum(axis=1)
        found: Array = -0.5 * squares - np.log(scale * math.sqrt(2.0 * math.pi)).sum()
        return found

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Queries ``(m, k)``."""
        mine = _mine(self, summaries)
        return mine + rng.normal(0.0, np.array(self.scale), mine.shape)

    def check(self, query: Array) -> None:
        """Every number can come."""

    def in_words(self) -> str:
        """The law in a few words."""
        return f"Gaussian noise of {_scales(self.scale)}"


@dataclass(frozen=True)
class _OnSteps:
    """Noise on the multiples of a step.

    Attributes:
        scale: of each number ``(j,)``, above 0, in its own unit.
        step: the query, the simulated numbers and the noise are multiples of it; one for all, or
            for each ``(j,)``.
        of: :attr:`Law.of`.
    """

    name: ClassVar[str]

    scale: tuple[float, ...]
    step: tuple[float, ...] = (1.0,)
    of: tuple[int, ...] = ()

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Logarithms ``(m,)``.

        Raises:
            ParameterError: a summary is not on the steps.
        """
        apart = _mine(self, query - summaries)
        steps = apart / np.array(self.step)
        off = np.abs(steps - np.rint(steps)) > ROUNDING
        if off.any():
            row, number = np.argwhere(off)[0]
            raise ParameterError(
                f"noise: {self.name} noise needs simulated numbers that are multiples of "
                f"{self._steps()[number]:g}, but number {_place(self, number)} is "
                f"{_mine(self, summaries)[row, number]:.6g}."
            )
        return self._log_mass(apart)

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Queries ``(m, k)``."""
        mine, step = _mine(self, summaries), np.array(self.step)
        scale = np.broadcast_to(np.array(self.scale) / step, mine.shape)
        released: Array = mine + step * self._steps_of_noise(rng, scale)
        return released

    def check(self, query: Array) -> None:
        """All numbers must be multiples of the step."""
        _check_multiples(self, query, self._steps(), f"{self.name} noise")

    def in_words(self) -> str:
        """The law in a few words."""
        steps = _scales(self.step).partition(" ")[2]
        return f"{self.name} noise of {_scales(self.scale)} in steps of {steps}"

    def _steps(self) -> tuple[float, ...]:
        """One for each number."""
        return self.step * (len(self.scale) // len(self.step))

    def _log_mass(self, apart: Array) -> Array:
        """Logarithms ``(m,)`` of the probability of noise ``(m, j)``."""
        raise NotImplementedError

    def _steps_of_noise(self, rng: np.random.Generator, scale: Array) -> Array:
        """Draws of the noise in steps, for scales in steps; both of one shape."""
        raise NotImplementedError


def _discrete_laplace(rng: np.random.Generator, scale: Array) -> Array:
    """Draws for scales: the difference of two whole parts is discrete Laplace noise."""
    first, second = np.floor(rng.standard_exponential((2, *scale.shape)) * scale)
    found: Array = first - second
    return found


@dataclass(frozen=True)
class DiscreteLaplace(_OnSteps):
    """Laplace noise on the multiples of a step, also called two-sided geometric."""

    name = "discrete Laplace"

    def _log_mass(self, apart: Array) -> Array:
        scale = np.array(self.scale)
        least = np.tanh(np.array(self._steps()) / (2.0 * scale))
        found: Array = -(np.abs(apart) / scale).sum(axis=1) + np.log(least).sum()
        return found

    def _steps_of_noise(self, rng: np.random.Generator, scale: Array) -> Array:
        return _discrete_laplace(rng, scale)


@dataclass(frozen=True)
class DiscreteGaussian(_OnSteps):
    """Gaussian noise on the multiples of a step (Canonne, Kamath & Steinke 2020)."""

    name = "discrete Gaussian"

    def _log_mass(self, apart: Array) -> Array:
        scale = np.array(self.scale)
        in_steps = scale / np.array(self._steps())
        # Of the sum over all whole numbers nine terms are enough; of wide noise, of its Fourier
        # series (Poisson's summation).
        k = np.arange(1.0, 10.0)[:, None]
        narrow = 1.0 + 2.0 * np.exp(-0.5 * (k / in_steps) ** 2).sum(axis=0)
        wide = 1.0 + 2.0 * np.exp(-2.0 * (math.pi * k * in_steps) ** 2).sum(axis=0)
        total = np.where(in_steps < 1.0, narrow, math.sqrt(2.0 * math.pi) * in_steps * wide)
        found: Array = -0.5 * ((apart / scale) ** 2).sum(axis=1) - np.log(total).sum()
        return found

    def _steps_of_noise(self, rng: np.random.Generator, scale: Array) -> Array:
        """Draw by rejection from discrete Laplace noise (their Algorithm 3)."""
        found, left = np.empty(scale.shape), np.ones(scale.shape, dtype=bool)
        while left.any():
            own = scale[left]
            width = np.floor(own) + 1.0
            drawn = _discrete_laplace(rng, width)
            keep = rng.random(len(own)) < np.exp(
                -0.5 * ((np.abs(drawn) - own**2 / width) / own) ** 2
            )
            found[left] = drawn
            left[left] = ~keep
        return found


@dataclass(frozen=True)
class BinomialSample:
    """Shares in a random sample of a population to which people were added.

    Attributes:
        trials: people in the sample, m.
        population: people there are, K.
        offset: people added with, and as many without, what is counted: M.
        of: :attr:`Law.of`.
    """

    trials: int
    population: float
    offset: float = 0.0
    of: tuple[int, ...] = ()

    def _probability(self, summaries: Array) -> Array:
        return (summaries + self.offset) / (self.population + 2.0 * self.offset)

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Logarithms ``(m,)``.

        Raises:
            ParameterError: a summary is no number of people in the population.
        """
        mine = _mine(self, summaries)
        wrong = (mine < 0.0) | (mine > self.population)
        if wrong.any():
            row, number = np.argwhere(wrong)[0]
            raise ParameterError(
                f"noise: binomial-sample needs simulated numbers from 0 to population = "
                f"{self.population:g}, but number {_place(self, number)} is "
                f"{mine[row, number]:.6g}."
            )
        count = np.rint(_mine(self, query) * self.trials)
        rest = self.trials - count
        p = self._probability(mine)
        ways = gammaln(self.trials + 1.0) - gammaln(count + 1.0) - gammaln(rest + 1.0)
        found: Array = (xlogy(count, p) + xlog1py(rest, -p)).sum(axis=1) + ways.sum()
        return found

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Queries ``(m, k)``."""
        return rng.binomial(self.trials, self._probability(_mine(self, summaries))) / self.trials

    def check(self, query: Array) -> None:
        """All numbers must be shares of the sample."""
        steps = (1.0 / self.trials,) * len(_mine(self, query))
        _check_multiples(self, query, steps, f"a share of trials = {self.trials}")
        mine = _mine(self, query)
        wrong = (mine < 0.0) | (mine > 1.0)
        if wrong.any():
            number = int(np.argmax(wrong))
            raise ParameterError(
                f"query, number {_place(self, number)} = {shown(float(mine[number]))}: must be a "
                f"share from 0 to 1."
            )

    def in_words(self) -> str:
        """The law in a few words."""
        return f"a random sample of {self.trials:,} people, {self.offset:,g} added to either side"


def _check_multiples(law: Law, query: Array, steps: Sequence[float], what: str) -> None:
    mine = _mine(law, query)
    off = np.abs(mine / np.array(steps) - np.rint(mine / np.array(steps))) > ROUNDING
    if off.any():
        number = int(np.argmax(off))
        raise ParameterError(
            f"query, number {_place(law, number)} = {shown(float(mine[number]))}: must be a "
            f"multiple of {steps[number]:g} for {what}."
        )


@dataclass(frozen=True)
class NoNoise:
    """What is released as it is, which no budget allows; for comparison."""

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Logarithms ``(m,)``: 0 where all numbers agree."""
        found: Array = np.where((summaries == query).all(axis=1), 0.0, -np.inf)
        return found

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """The summaries ``(m, k)``."""
        return summaries

    def check(self, query: Array) -> None:
        """Every number can come."""

    def in_words(self) -> str:
        """The law in a few words."""
        return "no noise"
