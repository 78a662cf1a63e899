r"""Priors with densities, on a scale x without bounds on which proposals are made (MATH E8).

Each parameter is a quantile function at a normal probability, $\theta = F^{-1}(\Phi(x))$: so the
prior of x is standard normal whatever F is, no x is impossible, and no parameter leaves its bounds.
Whole numbers are floored after the transform, shares of a whole are broken off a stick. A prior
that is no product of such laws has a log-density of its own beside it, relative to that product.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, gammainc, gammainccinv, logsumexp, ndtr, ndtri

from abcdp_core.streams import generator

Array = NDArray[np.float64]

Draw = Callable[[np.random.Generator, int], Array]
LogDensity = Callable[[Array], Array]

FARTHEST = 8.0
"""Standard deviations on the scale x beyond which a prior has a probability of 1e-15."""

CONSTANT = 100_000
"""Draws by which the constant of a density is found; an error of 1 % shifts what is proposed by
that, and no weight."""

NEAREST = 1e-15
"""Probabilities nearer to 0 or 1 than this are as near as this, so that x stays finite."""


class Law(Protocol):
    """The law of one parameter, or of several together; frozen."""

    @property
    def size(self) -> int:
        """How many parameters, p."""
        ...

    @property
    def dimensions(self) -> int:
        """How many numbers x stand for them."""
        ...

    def theta(self, x: Array) -> Array:
        """Parameters ``(m, size)`` at ``x (m, dimensions)``, which is standard normal."""
        ...

    def probability(self, theta: Array) -> Array:
        """Normal probabilities of the x ``(m, dimensions)`` that lead to parameters ``(m, size)``.

        Of whole numbers the middle of those that do.
        """
        ...

    @property
    def natural(self) -> tuple[bool, bool]:
        """Whether nothing can lie beyond the lower and the upper end, as of a share."""
        ...


@dataclass(frozen=True)
class _Single:
    """The law of one parameter."""

    @property
    def size(self) -> int:
        """One."""
        return 1

    @property
    def dimensions(self) -> int:
        """One."""
        return 1

    @property
    def natural(self) -> tuple[bool, bool]:
        """A bound is chosen, unless a law says otherwise."""
        return False, False


@dataclass(frozen=True)
class Uniform(_Single):
    """Uniform between bounds; of whole numbers, all from the lower to the upper one alike."""

    low: float
    high: float
    whole: bool = False

    def theta(self, x: Array) -> Array:
        """Parameters ``(m, 1)``."""
        share = ndtr(x)
        if self.whole:
            count = self.high - self.low + 1.0
            return self.low + np.minimum(np.floor(share * count), count - 1.0)
        return np.clip(self.low + share * (self.high - self.low), self.low, self.high)

    @property
    def natural(self) -> tuple[bool, bool]:
        """Between 0 and 1 it is a share."""
        is_share = (self.low, self.high) == (0.0, 1.0) and not self.whole
        return is_share, is_share

    def probability(self, theta: Array) -> Array:
        """Probabilities ``(m, 1)``."""
        if self.whole:
            return (theta - self.low + 0.5) / (self.high - self.low + 1.0)
        return (theta - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class LogUniform(_Single):
    """Uniform in its logarithm between bounds above 0; floored to a whole number if it is one."""

    low: float
    high: float
    whole: bool = False

    def theta(self, x: Array) -> Array:
        """Parameters ``(m, 1)``."""
        low, high = math.log(self.low), math.log(self._end)
        found = np.clip(np.exp(low + ndtr(x) * (high - low)), self.low, self._end)
        return np.minimum(np.floor(found), self.high) if self.whole else found

    def probability(self, theta: Array) -> Array:
        """Probabilities ``(m, 1)``."""
        middle = theta + 0.5 if self.whole else theta
        found: Array = np.log(middle / self.low) / math.log(self._end / self.low)
        return found

    @property
    def _end(self) -> float:
        return self.high + 1.0 if self.whole else self.high


@dataclass(frozen=True)
class Normal(_Single):
    """Normal, cut at bounds that may be infinite."""

    mean: float
    deviation: float
    low: float = -math.inf
    high: float = math.inf

    def theta(self, x: Array) -> Array:
        """Parameters ``(m, 1)``."""
        if (self.low, self.high) == (-math.inf, math.inf):
            # Far out a probability would be 0 or 1.
            return self.mean + self.deviation * x
        low, high = self._ends()
        found = self.mean + self.deviation * ndtri(low + ndtr(x) * (high - low))
        return np.clip(found, self.low, self.high)

    def probability(self, theta: Array) -> Array:
        """Probabilities ``(m, 1)``."""
        low, high = self._ends()
        return (ndtr((theta - self.mean) / self.deviation) - low) / (high - low)

    def _ends(self) -> tuple[float, float]:
        ends = (np.array([self.low, self.high]) - self.mean) / self.deviation
        low, high = ndtr(ends).tolist()
        return low, high


@dataclass(frozen=True)
class Beta(_Single):
    """A share with a beta law; both parameters above 0."""

    first: float
    second: float

    def theta(self, x: Array) -> Array:
        """Shares ``(m, 1)``."""
        return np.asarray(betaincinv(self.first, self.second, ndtr(x)))

    @property
    def natural(self) -> tuple[bool, bool]:
        """It is a share."""
        return True, True

    def probability(self, theta: Array) -> Array:
        """Probabilities ``(m, 1)``."""
        return np.asarray(betainc(self.first, self.second, theta))


@dataclass(frozen=True)
class Gamma(_Single):
    """A gamma law; both parameters above 0."""

    shape: float
    scale: float

    def theta(self, x: Array) -> Array:
        """Values ``(m, 1)``, above 0."""
        found: Array = np.asarray(gammainccinv(self.shape, ndtr(-x)), dtype=np.float64) * self.scale
        return found

    @property
    def natural(self) -> tuple[bool, bool]:
        """It is above 0."""
        return True, False

    def probability(self, theta: Array) -> Array:
        """Probabilities ``(m, 1)``."""
        return np.asarray(gammainc(self.shape, theta / self.scale))


@dataclass(frozen=True)
class Dirichlet:
    """Shares that add up to 1: each in turn takes a beta-distributed part of what is left."""

    concentration: tuple[float, ...]

    @property
    def size(self) -> int:
        """Shares."""
        return len(self.concentration)

    @property
    def dimensions(self) -> int:
        """One less than shares, as they add up to 1."""
        return self.size - 1

    def theta(self, x: Array) -> Array:
        """Shares ``(m, size)``."""
        rest, found, share = np.ones(len(x)), np.empty((len(x), self.size)), ndtr(x)
        for place, (own, others) in enumerate(self._parts()):
            taken = betaincinv(own, others, share[:, place])
            found[:, place] = rest * taken
            rest = rest * (1.0 - taken)
        found[:, -1] = rest
        return found

    def probability(self, theta: Array) -> Array:
        """Probabilities ``(m, size - 1)``."""
        rest, found = np.ones(len(theta)), np.empty((len(theta), self.dimensions))
        for place, (own, others) in enumerate(self._parts()):
            taken = np.divide(theta[:, place], rest, out=np.full(len(rest), 0.5), where=rest > 0.0)
            found[:, place] = betainc(own, others, np.clip(taken, 0.0, 1.0))
            rest = np.maximum(rest - theta[:, place], 0.0)
        return found

    @property
    def natural(self) -> tuple[bool, bool]:
        """They are shares."""
        return True, True

    def _parts(self) -> list[tuple[float, float]]:
        """Of each share but the last, its concentration and that of all after it."""
        after = np.cumsum(self.concentration[::-1])[::-1].tolist()
        return list(zip(self.concentration[:-1], after[1:], strict=True))


@dataclass(frozen=True)
class Edges:
    """Where a parameter's prior ends, and whether by nature.

    Attributes:
        parameter: its place.
        x: place of the number that stands for it.
        low_is_natural, high_is_natural: whether nothing can lie beyond.
    """

    parameter: int
    x: int
    low_is_natural: bool
    high_is_natural: bool


@dataclass(frozen=True)
class Prior:
    """A prior on the scale x.

    Attributes:
        laws: of the parameters, one after the other; independent of each other.
        draw_theta: draws ``(size, p)``, where the prior is no product of these laws; else ``None``.
        log_relative: log-density ``(m,)`` of parameters ``(m, p)`` relative to that product; minus
            infinity outside the support. ``None`` where it is not known, so that nothing can be
            drawn from elsewhere, or where the product is the prior.
        is_normalised: whether that density has no unknown constant.
    """

    laws: tuple[Law, ...]
    draw_theta: Draw | None = field(default=None, repr=False)
    log_relative: LogDensity | None = field(default=None, repr=False)
    is_normalised: bool = True

    @property
    def dimensions(self) -> int:
        """Numbers x, d."""
        return sum(law.dimensions for law in self.laws)

    @property
    def has_density(self) -> bool:
        """Whether draws from elsewhere can be weighted."""
        return self.draw_theta is None or self.log_relative is not None

    @property
    def edges(self) -> tuple[Edges, ...]:
        """The ends of each parameter that were chosen."""
        found, parameter, start = [], 0, 0
        for law in self.laws:
            if law.size == 1 and not all(law.natural):
                found.append(Edges(parameter, start, *law.natural))
            parameter, start = parameter + law.size, start + law.dimensions
        return tuple(found)

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Draws ``(size, d)`` on the scale x."""
        if self.draw_theta is None:
            return rng.standard_normal((size, self.dimensions))
        return self.to_x(self.draw_theta(rng, size))

    def theta(self, x: Array) -> Array:
        """Parameters ``(m, p)`` at ``x (m, d)``."""
        found, start = [], 0
        for law in self.laws:
            found.append(law.theta(x[:, start : start + law.dimensions]))
            start += law.dimensions
        return np.hstack(found)

    def to_x(self, theta: Array) -> Array:
        """The inverse of :meth:`theta`; whole numbers in the middle of what leads to them."""
        found, start = [], 0
        for law in self.laws:
            found.append(law.probability(theta[:, start : start + law.size]))
            start += law.size
        return np.asarray(ndtri(np.clip(np.hstack(found), NEAREST, 1.0 - NEAREST)))

    def log_density(self, x: Array) -> Array:
        """Log-density ``(m,)`` of ``x (m, d)``; minus infinity where it is 0, or all but 0.

        Raises:
            ValueError: it is not known.
        """
        if not self.has_density:
            raise ValueError("this prior has no density.")
        found: Array = -0.5 * (x**2).sum(axis=1) - 0.5 * self.dimensions * math.log(2.0 * math.pi)
        if self.log_relative is not None:
            found = found + self.log_relative(self.theta(x)) - self._log_constant
        # No simulator is asked for what its prior never draws.
        return np.where(np.abs(x).max(axis=1) <= FARTHEST, found, -np.inf)

    @functools.cached_property
    def _log_constant(self) -> float:
        """What the relative density integrates to, by draws from the product, as a logarithm."""
        if self.is_normalised or self.log_relative is None:
            return 0.0
        x = generator(0, "prior-constant").standard_normal((CONSTANT, self.dimensions))
        return float(logsumexp(self.log_relative(self.theta(x)))) - math.log(CONSTANT)
