r"""Noise distributions of released numbers: a query ``z (k,)`` given the exact numbers ``s (k,)``.

| distribution | $f(z \mid s)$ of each number |
|---|---|
| ``laplace`` | $e^{-\lvert z - s \rvert / b} / 2b$, scale $b$ |
| ``discrete-laplace`` | $\tanh(h / 2b)\, e^{-\lvert z - s \rvert / b}$ on multiples of a step $h$ |
| ``gaussian`` | $N(s, b^2)$, scale $b$ |
| ``discrete-gaussian`` | proportional to $e^{-(z - s)^2 / 2b^2}$ on multiples of a step $h$ |
| ``binomial-sample`` | $m z \sim \mathrm{Binomial}(m, (s + M) / (K + 2M))$ |

The last is a sample of $m$ out of $K$ people of whom $s$ have some property, after $M$ people with
and $M$ without it were added. Numbers have independent noise, of one distribution or of several.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log_ndtr, xlog1py, xlogy

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError, shown
from abcdp_core.base.sentences import counted

ROUNDING = 1e-6
"""A number closer than this to a whole number counts as whole."""

WIDE = 1000.0
"""Scale in steps above which discrete Gaussian noise is summed as a normal distribution."""


class Noise(Protocol):
    """A noise distribution; frozen, so that it can be sent to workers."""

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Return log f ``(m,)`` of a query ``(k,)`` given summaries ``(m, k)``.

        Raises:
            ParameterError: a summary is impossible under this distribution.
        """

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Draw queries given summaries ``(m, k)``: ``(m, j)`` for the j numbers with this noise."""

    def check(self, query: Array) -> None:
        """Check that a query ``(k,)`` is possible.

        Raises:
            ParameterError: it is not.
        """

    def in_words(self) -> str:
        """Describe the distribution in a few words."""


class Distribution(Noise, Protocol):
    """A noise distribution of some of the numbers."""

    @property
    def of(self) -> tuple[int, ...]:
        """Indices of these numbers ``(j,)`` in the query; empty for all."""


def _mine(law: Distribution, values: Array) -> Array:
    """Select the numbers ``(..., j)`` of a law from values of all numbers ``(..., k)``."""
    return values[..., list(law.of)] if law.of else values


def _place(law: Distribution, number: int) -> int:
    """Return the position of one of a law's numbers among all, from 1."""
    return 1 + (law.of[number] if law.of else number)


@dataclass(frozen=True)
class IndependentNoise:
    """Several distributions that together cover all numbers.

    Attributes:
        laws: each with its numbers.
    """

    laws: tuple[Distribution, ...]

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Return the sum over all laws ``(m,)``."""
        return np.sum([law.log_density(query, summaries) for law in self.laws], axis=0)

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Draw queries ``(m, k)``."""
        made = np.empty_like(summaries)
        for law in self.laws:
            made[:, list(law.of)] = law.noisy(rng, summaries)
        return made

    def check(self, query: Array) -> None:
        """Check the query against each law."""
        for law in self.laws:
            law.check(query)

    def in_words(self) -> str:
        """Describe each law and how many numbers it has."""
        return "; ".join(
            f"{law.in_words()} ({counted(len(law.of), 'number')})" for law in self.laws
        )


def laws_of(noise: Noise) -> tuple[Noise, ...]:
    """Return the noise of each group of numbers."""
    return noise.laws if isinstance(noise, IndependentNoise) else (noise,)


def _scales(scale: tuple[float, ...]) -> str:
    different = sorted(set(scale))
    if len(different) == 1:
        return f"scale {different[0]:g}"
    return f"scales {different[0]:g} to {different[-1]:g}"


def _with_upper_half(log_tail: Array, is_lower: NDArray[np.bool_]) -> Array:
    """Return log F of symmetric noise from the log of the smaller tail."""
    return np.where(is_lower, log_tail, np.log1p(-np.exp(log_tail)))


@dataclass(frozen=True)
class _Continuous:
    """Noise with a density of one shape.

    Attributes:
        name: of the distribution.
        integral: of the shape at scale 1.
        scale: of each number ``(j,)``, above 0.
        of: :attr:`Distribution.of`.
    """

    name: ClassVar[str]
    integral: ClassVar[float]

    scale: tuple[float, ...]
    of: tuple[int, ...] = ()

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Return log f ``(m,)``."""
        scale = np.array(self.scale)
        log_shape: Array = self._log_shape(_mine(self, query - summaries) / scale).sum(axis=1)
        return log_shape - np.log(self.integral * scale).sum()

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Draw queries ``(m, j)``."""
        mine = _mine(self, summaries)
        return mine + self._noise(rng, np.broadcast_to(np.array(self.scale), mine.shape))

    def check(self, query: Array) -> None:
        """Accept every query."""

    def in_words(self) -> str:
        """Describe the distribution in a few words."""
        return f"{self.name} noise of {_scales(self.scale)}"

    def log_below(self, number: int, apart: Array) -> Array:
        """Return log P(noise ≤ apart) ``(m,)`` of one of these numbers."""
        return self._log_below(apart / self.scale[number])

    def _log_shape(self, z: Array) -> Array:
        raise NotImplementedError

    def _log_below(self, z: Array) -> Array:
        raise NotImplementedError

    def _noise(self, rng: np.random.Generator, scale: Array) -> Array:
        raise NotImplementedError


class Laplace(_Continuous):
    """Laplace noise."""

    name, integral = "Laplace", 2.0

    def _log_shape(self, z: Array) -> Array:
        return -np.abs(z)

    def _log_below(self, z: Array) -> Array:
        return _with_upper_half(-np.abs(z) - math.log(2.0), z < 0.0)

    def _noise(self, rng: np.random.Generator, scale: Array) -> Array:
        return rng.laplace(0.0, scale)


class Gaussian(_Continuous):
    """Gaussian noise; scales are standard deviations."""

    name, integral = "Gaussian", math.sqrt(2.0 * math.pi)

    def _log_shape(self, z: Array) -> Array:
        return -0.5 * z**2

    def _log_below(self, z: Array) -> Array:
        return np.asarray(log_ndtr(z))

    def _noise(self, rng: np.random.Generator, scale: Array) -> Array:
        return rng.normal(0.0, scale)


@dataclass(frozen=True)
class _OnSteps:
    """Noise on the multiples of a step.

    Attributes:
        name: of the distribution.
        scale: of each number ``(j,)``, above 0, in its own unit.
        step: query, simulated numbers and noise are multiples of it; one for all or each ``(j,)``.
        of: :attr:`Distribution.of`.
    """

    name: ClassVar[str]

    scale: tuple[float, ...]
    step: tuple[float, ...] = (1.0,)
    of: tuple[int, ...] = ()

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Return log f ``(m,)``.

        Raises:
            ParameterError: a summary is not a multiple of the step.
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
        """Draw queries ``(m, j)``."""
        mine, step = _mine(self, summaries), np.array(self.step)
        scale = np.broadcast_to(np.array(self.scale) / step, mine.shape)
        return mine + step * self._steps_of_noise(rng, scale)

    def check(self, query: Array) -> None:
        """Check that all numbers are multiples of the step."""
        _check_multiples(self, query, self._steps(), f"{self.name} noise")

    def in_words(self) -> str:
        """Describe the distribution in a few words."""
        steps = _scales(self.step).partition(" ")[2]
        return f"{self.name} noise of {_scales(self.scale)} in steps of {steps}"

    def log_below(self, number: int, apart: Array) -> Array:
        """Return log P(noise ≤ apart) ``(m,)`` of one of these numbers."""
        step = self._steps()[number]
        return self._log_below(np.floor(apart / step + ROUNDING), self.scale[number] / step)

    def _steps(self) -> tuple[float, ...]:
        """Return the step of each number."""
        return self.step * (len(self.scale) // len(self.step))

    def _log_below(self, k: Array, scale: float) -> Array:
        raise NotImplementedError

    def _log_mass(self, apart: Array) -> Array:
        raise NotImplementedError

    def _steps_of_noise(self, rng: np.random.Generator, scale: Array) -> Array:
        raise NotImplementedError


def _discrete_laplace(rng: np.random.Generator, scale: Array) -> Array:
    """Draw discrete Laplace noise: the difference of two floored exponential draws."""
    first, second = np.floor(rng.standard_exponential((2, *scale.shape)) * scale)
    return first - second


class DiscreteLaplace(_OnSteps):
    """Laplace noise on the multiples of a step, also called two-sided geometric."""

    name = "discrete Laplace"

    def _log_mass(self, apart: Array) -> Array:
        scale = np.array(self.scale)
        least = np.tanh(np.array(self._steps()) / (2.0 * scale))
        return -(np.abs(apart) / scale).sum(axis=1) + np.log(least).sum()

    def _log_below(self, k: Array, scale: float) -> Array:
        log_tail = np.minimum(k, -1.0 - k) / scale - math.log1p(math.exp(-1.0 / scale))
        return _with_upper_half(log_tail, k < 0.0)

    def _steps_of_noise(self, rng: np.random.Generator, scale: Array) -> Array:
        return _discrete_laplace(rng, scale)


class DiscreteGaussian(_OnSteps):
    """Gaussian noise on the multiples of a step (Canonne, Kamath & Steinke 2020)."""

    name = "discrete Gaussian"

    def _log_mass(self, apart: Array) -> Array:
        scale = np.array(self.scale)
        in_steps = scale / np.array(self._steps())
        # Nine terms of the sum over whole numbers, or of its Fourier series (Poisson summation).
        k = np.arange(1.0, 10.0)[:, None]
        narrow = 1.0 + 2.0 * np.exp(-0.5 * (k / in_steps) ** 2).sum(axis=0)
        wide = 1.0 + 2.0 * np.exp(-2.0 * (math.pi * k * in_steps) ** 2).sum(axis=0)
        total = np.where(in_steps < 1.0, narrow, math.sqrt(2.0 * math.pi) * in_steps * wide)
        return -0.5 * ((apart / scale) ** 2).sum(axis=1) - np.log(total).sum()

    def _log_below(self, k: Array, scale: float) -> Array:
        """Sum over 40 scales; wide noise is normal, to a share of (k / scale)² / 24 scale²."""
        if scale > WIDE:
            return np.asarray(log_ndtr((k + 0.5) / scale))
        farthest = math.ceil(40.0 * scale)
        sums = np.logaddexp.accumulate(-0.5 * (np.arange(-farthest, farthest + 1) / scale) ** 2)
        log_tail = (sums - sums[-1])[(np.clip(k, -farthest, farthest) + farthest).astype(int)]
        return np.where(k < -farthest, -np.inf, log_tail)

    def _steps_of_noise(self, rng: np.random.Generator, scale: Array) -> Array:
        """Draw by rejection from discrete Laplace noise (their Algorithm 3)."""
        steps, left = np.empty(scale.shape), np.ones(scale.shape, dtype=bool)
        while left.any():
            own = scale[left]
            width = np.floor(own) + 1.0
            drawn = _discrete_laplace(rng, width)
            keep = rng.random(len(own)) < np.exp(
                -0.5 * ((np.abs(drawn) - own**2 / width) / own) ** 2
            )
            steps[left] = drawn
            left[left] = ~keep
        return steps


@dataclass(frozen=True)
class BinomialSample:
    """Shares in a random sample of a population to which people were added.

    Attributes:
        trials: people in the sample, m.
        population: people in the population, K.
        offset: people added with the property, and as many without: M.
        of: :attr:`Distribution.of`.
    """

    trials: int
    population: float
    offset: float = 0.0
    of: tuple[int, ...] = ()

    def _probability(self, summaries: Array) -> Array:
        return (summaries + self.offset) / (self.population + 2.0 * self.offset)

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Return log f ``(m,)``.

        Raises:
            ParameterError: a summary is not between 0 and the population.
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
        return (xlogy(count, p) + xlog1py(rest, -p)).sum(axis=1) + ways.sum()

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Draw queries ``(m, j)``."""
        return rng.binomial(self.trials, self._probability(_mine(self, summaries))) / self.trials

    def check(self, query: Array) -> None:
        """Check that all numbers are shares of the sample."""
        mine = _mine(self, query)
        steps = (1.0 / self.trials,) * len(mine)
        _check_multiples(self, query, steps, f"a share of trials = {self.trials}")
        wrong = (mine < 0.0) | (mine > 1.0)
        if wrong.any():
            number = int(np.argmax(wrong))
            raise ParameterError(
                f"query, number {_place(self, number)} = {shown(float(mine[number]))}: must be a "
                f"share from 0 to 1."
            )

    def in_words(self) -> str:
        """Describe the distribution in a few words."""
        added = f", {self.offset:,g} added with and {self.offset:,g} without the property"
        return f"a random sample of {self.trials:,} people{added if self.offset else ''}"


def _check_multiples(law: Distribution, query: Array, steps: Sequence[float], what: str) -> None:
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
    """An exact release, which no privacy budget allows; for comparison."""

    def log_density(self, query: Array, summaries: Array) -> Array:
        """Return log f ``(m,)``: 0 where all numbers are equal, else minus infinity."""
        return np.where((summaries == query).all(axis=1), 0.0, -np.inf)

    def noisy(self, rng: np.random.Generator, summaries: Array) -> Array:
        """Return the summaries ``(m, k)``."""
        return summaries

    def check(self, query: Array) -> None:
        """Accept every query."""

    def in_words(self) -> str:
        """Describe the distribution in a few words."""
        return "no noise"
