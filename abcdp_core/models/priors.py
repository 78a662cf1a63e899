r"""Priors with densities, on an unbounded scale x used for proposals (MATH E8).

Each parameter is a quantile at a normal probability, $\theta = F^{-1}(\Phi(x))$. So the prior of x
is standard normal for any F, every x is possible, and parameters stay within their bounds. Whole
numbers are floored after the transform; shares of a whole come from stick breaking. A prior that is
not a product of such distributions has a log density relative to that product.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from abcdp_core.base.arrays import Array

Draw = Callable[[np.random.Generator, int], Array]
LogDensity = Callable[[Array], Array]

FARTHEST = 8.0
"""Largest |x|; beyond it a prior has a probability of 1e-15."""

NEAREST = 1e-15
"""Probabilities are kept this far from 0 and 1, so that x stays finite."""


class Distribution(Protocol):
    """Prior distribution of one parameter, or of several together; frozen."""

    @property
    def size(self) -> int:
        """Number of parameters."""

    @property
    def dimensions(self) -> int:
        """Number of coordinates of x for them."""

    @property
    def natural(self) -> tuple[bool, bool]:
        """Whether values below and above the support are impossible, as for a share."""

    @property
    def marginals(self) -> tuple[Distribution, ...]:
        """Distribution of each parameter by itself."""

    @property
    def has_variance(self) -> bool:
        """Whether the variance of each is finite."""

    def theta(self, x: Array) -> Array:
        """Return parameters ``(m, size)`` at standard normal ``x (m, dimensions)``."""

    def probability(self, theta: Array) -> Array:
        """Return Φ(x) ``(m, dimensions)`` at parameters ``(m, size)``; midway for whole numbers."""


@dataclass(frozen=True)
class _Single:
    """Distribution of one parameter."""

    size: ClassVar[int] = 1
    dimensions: ClassVar[int] = 1

    @property
    def has_variance(self) -> bool:
        """Whether its variance is finite."""
        return True

    @property
    def marginals(self) -> tuple[Self, ...]:
        """This distribution."""
        return (self,)


@dataclass(frozen=True)
class Uniform(_Single):
    """Uniform between bounds, both included for whole numbers."""

    low: float
    high: float
    whole: bool = False

    def theta(self, x: Array) -> Array:
        """Return parameters ``(m, 1)``."""
        share = special.ndtr(x)
        if self.whole:
            count = self.high - self.low + 1.0
            return self.low + np.minimum(np.floor(share * count), count - 1.0)
        return np.clip(self.low + share * (self.high - self.low), self.low, self.high)

    @property
    def natural(self) -> tuple[bool, bool]:
        """True for a share, which is between 0 and 1."""
        is_share = (self.low, self.high) == (0.0, 1.0) and not self.whole
        return is_share, is_share

    def probability(self, theta: Array) -> Array:
        """Return probabilities ``(m, 1)``."""
        if self.whole:
            return (theta - self.low + 0.5) / (self.high - self.low + 1.0)
        return (theta - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class LogUniform(_Single):
    """Uniform logarithm between bounds above 0; whole numbers are floored."""

    natural: ClassVar[tuple[bool, bool]] = (False, False)

    low: float
    high: float
    whole: bool = False

    def theta(self, x: Array) -> Array:
        """Return parameters ``(m, 1)``."""
        low, high = math.log(self.low), math.log(self._end)
        values = np.clip(np.exp(low + special.ndtr(x) * (high - low)), self.low, self._end)
        return np.minimum(np.floor(values), self.high) if self.whole else values

    def probability(self, theta: Array) -> Array:
        """Return probabilities ``(m, 1)``."""
        middle = theta + 0.5 if self.whole else theta
        return np.log(middle / self.low) / math.log(self._end / self.low)

    @property
    def _end(self) -> float:
        return self.high + 1.0 if self.whole else self.high


@dataclass(frozen=True)
class Normal(_Single):
    """Normal, truncated at bounds that may be infinite."""

    natural: ClassVar[tuple[bool, bool]] = (False, False)

    mean: float
    deviation: float
    low: float = -math.inf
    high: float = math.inf

    def theta(self, x: Array) -> Array:
        """Return parameters ``(m, 1)``."""
        if (self.low, self.high) == (-math.inf, math.inf):
            # Probabilities would round to 0 or 1 in the tails.
            return self.mean + self.deviation * x
        low, high = self._ends()
        values = self.mean + self.deviation * special.ndtri(low + special.ndtr(x) * (high - low))
        return np.clip(values, self.low, self.high)

    def probability(self, theta: Array) -> Array:
        """Return probabilities ``(m, 1)``."""
        low, high = self._ends()
        return (special.ndtr((theta - self.mean) / self.deviation) - low) / (high - low)

    def _ends(self) -> tuple[float, float]:
        ends = (np.array([self.low, self.high]) - self.mean) / self.deviation
        low, high = special.ndtr(ends).tolist()
        return low, high


@dataclass(frozen=True)
class Beta(_Single):
    """A share with a beta distribution; both parameters above 0."""

    natural: ClassVar[tuple[bool, bool]] = (True, True)

    first: float
    second: float

    def theta(self, x: Array) -> Array:
        """Return shares ``(m, 1)``."""
        return np.asarray(special.betaincinv(self.first, self.second, special.ndtr(x)))

    def probability(self, theta: Array) -> Array:
        """Return probabilities ``(m, 1)``."""
        return np.asarray(special.betainc(self.first, self.second, theta))


@dataclass(frozen=True)
class StudentT(_Single):
    """Student's t about a center; ``half`` for its absolute value, about 0."""

    degrees: float
    center: float = 0.0
    scale: float = 1.0
    half: bool = False

    @property
    def natural(self) -> tuple[bool, bool]:
        """True below, for absolute values."""
        return self.half, False

    @property
    def has_variance(self) -> bool:
        """True above two degrees of freedom."""
        return self.degrees > 2.0

    def theta(self, x: Array) -> Array:
        """Return values ``(m, 1)``."""
        if self.half:
            # Φ(-x) keeps the digits of the upper tail.
            return self.scale * self._beyond(0.5 * special.ndtr(-x))
        return self.center + self.scale * np.sign(x) * self._beyond(special.ndtr(-np.abs(x)))

    def _beyond(self, tail: Array) -> Array:
        """Return the value of the standard distribution above which a probability lies."""
        return -np.asarray(special.stdtrit(self.degrees, tail), dtype=np.float64)

    def probability(self, theta: Array) -> Array:
        """Return probabilities ``(m, 1)``."""
        below = np.asarray(
            special.stdtr(self.degrees, (theta - self.center * (not self.half)) / self.scale)
        )
        return np.asarray(2.0 * below - 1.0 if self.half else below, dtype=np.float64)


@dataclass(frozen=True)
class InverseGamma(_Single):
    """The inverse of a gamma variable of a shape and of rate ``scale``; both above 0."""

    natural: ClassVar[tuple[bool, bool]] = (True, False)

    shape: float
    scale: float

    @property
    def has_variance(self) -> bool:
        """True for shapes above 2."""
        return self.shape > 2.0

    def theta(self, x: Array) -> Array:
        """Return values ``(m, 1)`` above 0."""
        inverse = np.asarray(special.gammaincinv(self.shape, special.ndtr(-x)), dtype=np.float64)
        return self.scale / inverse

    def probability(self, theta: Array) -> Array:
        """Return probabilities ``(m, 1)``."""
        return np.asarray(special.gammaincc(self.shape, self.scale / theta))


@dataclass(frozen=True)
class Weibull(_Single):
    """A Weibull distribution; shape 1 is exponential."""

    natural: ClassVar[tuple[bool, bool]] = (True, False)

    shape: float
    scale: float

    def theta(self, x: Array) -> Array:
        """Return values ``(m, 1)`` above 0."""
        return self.scale * (-special.log_ndtr(-x)) ** (1.0 / self.shape)

    def probability(self, theta: Array) -> Array:
        """Return probabilities ``(m, 1)``."""
        return -np.expm1(-((theta / self.scale) ** self.shape))


@dataclass(frozen=True)
class Gamma(_Single):
    """A gamma distribution; both parameters above 0."""

    natural: ClassVar[tuple[bool, bool]] = (True, False)

    shape: float
    scale: float

    def theta(self, x: Array) -> Array:
        """Return values ``(m, 1)`` above 0."""
        return (
            np.asarray(special.gammainccinv(self.shape, special.ndtr(-x)), dtype=np.float64)
            * self.scale
        )

    def probability(self, theta: Array) -> Array:
        """Return probabilities ``(m, 1)``."""
        return np.asarray(special.gammainc(self.shape, theta / self.scale))


def chi_square(degrees: float) -> Gamma:
    """Return the chi-square distribution."""
    return Gamma(degrees / 2.0, 2.0)


@dataclass(frozen=True)
class Dirichlet:
    """Shares that sum to 1: each in turn takes a beta-distributed part of the rest."""

    natural: ClassVar[tuple[bool, bool]] = (True, True)
    has_variance: ClassVar[bool] = True

    concentration: tuple[float, ...]

    @property
    def size(self) -> int:
        """Number of shares."""
        return len(self.concentration)

    @property
    def dimensions(self) -> int:
        """One less than shares, as these sum to 1."""
        return self.size - 1

    @property
    def marginals(self) -> tuple[Beta, ...]:
        """Distribution of each share."""
        total = sum(self.concentration)
        return tuple(Beta(own, total - own) for own in self.concentration)

    def theta(self, x: Array) -> Array:
        """Return shares ``(m, size)``."""
        rest, shares, share = np.ones(len(x)), np.empty((len(x), self.size)), special.ndtr(x)
        for place, (own, others) in enumerate(self._parts()):
            taken = special.betaincinv(own, others, share[:, place])
            shares[:, place] = rest * taken
            rest = rest * (1.0 - taken)
        shares[:, -1] = rest
        return shares

    def probability(self, theta: Array) -> Array:
        """Return probabilities ``(m, size - 1)``."""
        rest, probabilities = np.ones(len(theta)), np.empty((len(theta), self.dimensions))
        for place, (own, others) in enumerate(self._parts()):
            taken = np.divide(theta[:, place], rest, out=np.full(len(rest), 0.5), where=rest > 0.0)
            probabilities[:, place] = special.betainc(own, others, np.clip(taken, 0.0, 1.0))
            rest = np.maximum(rest - theta[:, place], 0.0)
        return probabilities

    def _parts(self) -> list[tuple[float, float]]:
        """Return the concentration of each share but the last, and that of all after it."""
        after = np.cumsum(self.concentration[::-1])[::-1].tolist()
        return list(zip(self.concentration[:-1], after[1:], strict=True))


@dataclass(frozen=True)
class Edges:
    """Indices of a parameter and its coordinate of x; whether values beyond are impossible."""

    parameter: int
    x: int
    low_is_natural: bool
    high_is_natural: bool


@dataclass(frozen=True)
class Prior:
    """A prior on the scale x.

    Attributes:
        laws: independent distributions of the parameters, in order.
        draw_theta: draws ``(size, p)`` if the prior is not the product of ``laws``; else ``None``.
        log_relative: log density ``(m,)`` of parameters ``(m, p)`` relative to that product; minus
            infinity outside the support. ``None`` if unknown, so that only the prior can propose,
            or if the prior is the product.
        log_constant: log integral of that density; 0 if it is normalized.
    """

    laws: tuple[Distribution, ...]
    draw_theta: Draw | None = field(default=None, repr=False)
    log_relative: LogDensity | None = field(default=None, repr=False)
    log_constant: float = 0.0

    @property
    def dimensions(self) -> int:
        """Number of coordinates of x, d."""
        return sum(law.dimensions for law in self.laws)

    @property
    def has_density(self) -> bool:
        """Whether draws from other proposals can be weighted."""
        return self.draw_theta is None or self.log_relative is not None

    @property
    def edges(self) -> tuple[Edges, ...]:
        """Ends of each parameter that has a coordinate of its own."""
        edges, parameter, start = [], 0, 0
        for law in self.laws:
            if law.size == 1:
                edges.append(Edges(parameter, start, *law.natural))
            parameter, start = parameter + law.size, start + law.dimensions
        return tuple(edges)

    @property
    def is_product(self) -> bool:
        """Whether it is the product of ``laws``, so that :meth:`quantiles` are its own."""
        return self.draw_theta is None

    def followed_by(self, law: Distribution) -> Prior:
        """Return the prior of these parameters and of an independent one after them."""
        draw, relative = self.draw_theta, self.log_relative

        def both(rng: np.random.Generator, size: int) -> Array:
            assert draw is not None
            return np.hstack([draw(rng, size), law.theta(rng.standard_normal((size, 1)))])

        return dataclasses.replace(
            self,
            laws=(*self.laws, law),
            draw_theta=draw and both,
            log_relative=relative and (lambda theta: relative(theta[:, :-1])),
        )

    def quantiles(self, probabilities: ArrayLike) -> Array:
        """Return quantiles ``(q, p)`` of each parameter under the product."""
        x = special.ndtri(np.asarray(probabilities, dtype=float))[:, None]
        return np.hstack([each.theta(x) for law in self.laws for each in law.marginals])

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Draw ``(size, d)`` on the scale x."""
        if self.draw_theta is None:
            return rng.standard_normal((size, self.dimensions))
        return self.to_x(self.draw_theta(rng, size))

    def theta(self, x: Array) -> Array:
        """Return parameters ``(m, p)`` at ``x (m, d)``."""
        columns, start = [], 0
        for law in self.laws:
            columns.append(law.theta(x[:, start : start + law.dimensions]))
            start += law.dimensions
        return np.hstack(columns)

    def to_x(self, theta: Array) -> Array:
        """Invert :meth:`theta`; a whole number goes to the middle of its range."""
        columns, start = [], 0
        for law in self.laws:
            columns.append(law.probability(theta[:, start : start + law.size]))
            start += law.size
        return np.asarray(special.ndtri(np.clip(np.hstack(columns), NEAREST, 1.0 - NEAREST)))

    def log_density(self, x: Array) -> Array:
        """Return the log density ``(m,)`` of ``x (m, d)``; minus infinity where it is negligible.

        Raises:
            ValueError: the density is unknown.
        """
        if not self.has_density:
            raise ValueError("this prior has no density.")
        log_density = log_of_product(x)
        if self.log_relative is not None:
            log_density = log_density + self.log_relative(self.theta(x)) - self.log_constant
        # Simulators never see values that their prior does not draw.
        return np.where(np.abs(x).max(axis=1) <= FARTHEST, log_density, -np.inf)


def log_of_product(x: Array) -> Array:
    """Return the log density ``(m,)`` of ``x (m, d)`` if the prior is the product."""
    return -0.5 * (x**2).sum(axis=1) - 0.5 * x.shape[1] * math.log(2.0 * math.pi)
