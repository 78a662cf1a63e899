r"""Ways of asking one person: answers, their information and their privacy.

A :class:`Channel` asks at a location and a scale, which may depend on earlier answers but never on
the person. :class:`Truncation` clips the value to an interval and adds noise (MATH A1). The table
of a :class:`DiscreteChannel` (MATH A14) answers with one of K symbols. With $x$ the person's value
in units of the scale from the location,

$$p(k \mid x) = w_k\, q_k(x), \qquad q_k(x) = e^\epsilon \text{ if } x \in I_k, \text{ else } 1,
\qquad \sum_k w_k\, q_k(x) = 1 \text{ for every } x. \tag{A14}$$

$I_k$ is an interval or the complement of one. For any two people the probabilities of an answer
differ by a factor of at most $e^\epsilon$: the table itself is $\epsilon$-differentially private,
without added noise. With $m_k = 1 + (e^\epsilon - 1) P(I_k)$

$$P(k \mid \mu, \sigma) = w_k\, m_k, \qquad
F = \sum_k w_k\, \frac{\nabla m_k\, \nabla m_k^T}{m_k}, \tag{A14}$$

closed for every family with a distribution function. Two symbols, below and above the location,
are the noisy sign: $F_{11} = \tfrac{2}{\pi}\tanh^2(\epsilon/2)$ for normal values.
:mod:`abcdp_core.adaptive.best_channel` finds the most informative table.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abcdp_core.adaptive import information, noise
from abcdp_core.adaptive.families import Family
from abcdp_core.adaptive.noise import NoiseFamily
from abcdp_core.adaptive.particles import Response
from abcdp_core.adaptive.response import Kind
from abcdp_core.base.arrays import Array
from abcdp_core.privacy import Cost, Event, cost

MARGIN = 1e-12
"""Part of its budget that a table leaves unused, so that rounding never exceeds the budget."""

MOST = 30.0
"""Largest ε that a table uses; beyond it wrong answers are too rare for a computer to draw."""

ROUNDING = 1e-12
"""Largest deviation from 1 of the sum of a table's probabilities."""


@dataclass(frozen=True)
class Symbols(Event):
    """One person's answer from a table, with ε its largest log ratio, rounded up (MATH A14)."""

    epsilon: float


@cost.register
def _(event: Symbols, delta: float = 0.0) -> Cost:  # noqa: ARG001 - pure, so delta is 0
    return Cost(event.epsilon)


class Channel(Protocol):
    """A way of asking, placed anew for each person."""

    @property
    def kind(self) -> Kind:
        """Kind of its responses for :mod:`abcdp_core.adaptive.response`."""

    @property
    def epsilon(self) -> float:
        """ε of an answer's differential privacy, rounded up."""

    def reach(self, location: float, scale: float) -> tuple[float, float]:
        """Return the range within which values are distinguished."""

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Draw the randomness ``(size,)`` of answers, wherever each person is asked."""

    def answer(self, value: float, drawn: float, location: float, scale: float) -> Response:
        """Return a person's private answer, given the value and the randomness drawn."""

    def information(self, family: Family, location: float = ..., scale: float = ...) -> Array:
        """Return the Fisher information ``(2, 2)`` of an answer about (μ, σ) at (0, 1)."""


@dataclass(frozen=True)
class Truncation:
    """The value clipped to one interval, plus noise in proportion to its width (MATH A1).

    Attributes:
        a, b: ends of the interval in units of the scale from the location, ``a < b``.
        noise, unit_scale: family of the noise, and its scale per unit of width.
        delta: δ of Gaussian noise; Laplace noise does not use it.
    """

    a: float
    b: float
    noise: NoiseFamily
    unit_scale: float
    delta: float = 1e-5

    @property
    def kind(self) -> Kind:
        """Family of the noise."""
        return self.noise

    @functools.cached_property
    def epsilon(self) -> float:
        """ε of an answer (at δ for Gaussian noise), rounded up."""
        return cost(noise.event(self.noise, self.unit_scale), self.delta).epsilon

    def reach(self, location: float, scale: float) -> tuple[float, float]:
        """The interval."""
        return separate(location + scale * self.a, location + scale * self.b)

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Noise of scale 1."""
        return noise.draw(rng, self.noise, size)

    def answer(self, value: float, drawn: float, location: float, scale: float) -> Response:
        """Return the clipped value plus noise (MATH A1)."""
        return answer(value, drawn, *self.reach(location, scale), self.unit_scale)

    def information(self, family: Family, location: float = 0.0, scale: float = 1.0) -> Array:
        """Return the Fisher information ``(2, 2)`` by quadrature (MATH A3, A12)."""
        left, right = self.reach(location, scale)
        return information.NOISES[self.noise].information(family, left, right, self.unit_scale)


def separate(left: float, right: float) -> tuple[float, float]:
    """Return the interval, widened if its ends are too close for floating-point numbers."""
    apart = 1e-9 * max(1.0, abs(left), abs(right))
    if right - left >= apart:
        return left, right
    middle = 0.5 * (left + right)
    return middle - apart, middle + apart


def apart(location: float, scale: float) -> float:
    """Return the scale, or the smallest that floating-point numbers near the location allow."""
    return max(scale, 1e-9 * max(1.0, abs(location)))


def answer(value: float, drawn: float, left: float, right: float, unit_scale: float) -> Response:
    """Return a person's private answer: the value clipped to an interval, plus noise (MATH A1).

    Args:
        value: of the person.
        drawn: noise of scale 1.
        left, right: the interval.
        unit_scale: scale of the noise per unit of width.

    Raises:
        FloatingPointError: the noise has no positive finite scale.
    """
    scale = (right - left) * unit_scale
    if not (0.0 < scale < math.inf):
        raise FloatingPointError(f"no noise can be scaled to the interval [{left}, {right}].")
    return Response(min(max(value, left), right) + scale * drawn, left, right, scale)


@dataclass(frozen=True)
class DiscreteChannel:
    """A few symbols, each more likely by the same factor for people in its set (MATH A14).

    Attributes:
        ends: of each symbol's set I_k, in units of the scale from the location: ``(low, high)``
            with low < high is all x with low <= x < high; with low > high it is all x but those
            with high <= x < low. Either may be infinite.
        weights: w_k of each symbol, above 0.
        level: logarithm of the factor.
    """

    ends: tuple[tuple[float, float], ...]
    weights: tuple[float, ...]
    level: float

    def __post_init__(self) -> None:
        """Check the table.

        Raises:
            ValueError: the symbols have no probabilities that sum to 1 for every value.
        """
        if len(self.ends) != len(self.weights) or not all(w > 0.0 for w in self.weights):
            raise ValueError("a table needs a positive weight for each of its symbols.")
        if not 0.0 < self.level <= MOST or any(low == high for low, high in self.ends):
            raise ValueError(f"a table needs sets with two ends and a level in (0, {MOST:g}].")
        off = float(np.abs(self._raw(self._one_of_each()).sum(axis=1) - 1.0).max())
        if off > ROUNDING:
            raise ValueError(f"the probabilities of the symbols sum to 1 only up to {off:.2g}.")

    @property
    def kind(self) -> Kind:
        """Symbols from a table."""
        return "table"

    @functools.cached_property
    def epsilon(self) -> float:
        """ε of an answer: the largest log ratio between cells, rounded up."""
        table = self.probabilities(self._one_of_each())
        ratios = table.max(axis=0) / table.min(axis=0)
        return math.log(float(ratios.max())) * (1.0 + 2.0**-51)

    @functools.cached_property
    def edges(self) -> Array:
        """All finite ends ``(m,)``, increasing; values between two of them answer alike."""
        every = np.unique(np.array(self.ends))
        edges = every[np.isfinite(every)]
        edges.flags.writeable = False
        return edges

    @functools.cached_property
    def _up_to(self) -> Array:
        """Cumulative probabilities of the symbols ``(m + 1, K)`` by cell."""
        return np.cumsum(self.probabilities(self._one_of_each()), axis=1)

    def _one_of_each(self) -> Array:
        """One value in each cell ``(m + 1,)``: below all edges, then each cell's lower edge."""
        return np.array([self.edges[0] - 1.0, *self.edges])

    def inside(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Whether each symbol's set holds values ``(n,)``, in units of the scale: ``(n, K)``."""
        at = np.asarray(x, dtype=float)[:, None]
        low, high = np.array(self.ends).T
        return np.where(low < high, (low <= at) & (at < high), (at < high) | (low <= at))

    def _raw(self, x: ArrayLike) -> Array:
        return np.array(self.weights) * np.where(self.inside(x), math.exp(self.level), 1.0)

    def probabilities(self, x: ArrayLike) -> Array:
        """Return the probability of each symbol ``(n, K)`` for people with values ``(n,)``."""
        raw = self._raw(x)
        return raw / raw.sum(axis=1, keepdims=True)

    def reach(self, location: float, scale: float) -> tuple[float, float]:
        """Return the first and the last edge; a sign has a single edge."""
        scale = apart(location, scale)
        return location + scale * float(self.edges[0]), location + scale * float(self.edges[-1])

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Draw uniform numbers between 0 and 1."""
        return rng.random(size)

    def answer(self, value: float, drawn: float, location: float, scale: float) -> Response:
        """Draw a symbol from the table; return it with its set at the place asked.

        Raises:
            FloatingPointError: the scale is not positive and finite.
        """
        if not (0.0 < scale < math.inf):
            raise FloatingPointError(f"no table can be placed with the scale {scale}.")
        scale = apart(location, scale)
        up_to = self._up_to[self.edges.searchsorted((value - location) / scale, side="right")]
        # Rounding may leave the last sum below 1.
        symbol = min(int(up_to.searchsorted(drawn, side="right")), len(up_to) - 1)
        low, high = self.ends[symbol]
        gain = math.expm1(self.level)
        return Response(float(symbol), location + scale * low, location + scale * high, gain)

    def information(self, family: Family, location: float = 0.0, scale: float = 1.0) -> Array:
        """Return the exact Fisher information ``(2, 2)`` (MATH A14)."""
        low, high = location + scale * np.array(self.ends).T
        gain = math.expm1(self.level)
        m = 1.0 + gain * mass(family, low, high)
        slope = gain * slopes(family, low, high)
        return np.einsum("k,ki,kj->ij", np.array(self.weights) / m, slope, slope)


def mass(family: Family, low: ArrayLike, high: ArrayLike) -> Array:
    """Return P(I) ``(...)`` of sets with ends as in a table, accurate in both tails."""
    a, b = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    above = np.where(
        a > 0.0, family.survival(a) - family.survival(b), family.cdf(b) - family.cdf(a)
    )
    return np.where(a < b, above, family.cdf(b) + family.survival(a))


def slopes(family: Family, low: ArrayLike, high: ArrayLike) -> Array:
    """Return the derivatives ``(..., 2)`` of P(I) by μ and by σ at (0, 1)."""
    a, b = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    at_a, at_b = (np.where(np.isfinite(end), family.density(end), 0.0) for end in (a, b))
    finite_a, finite_b = (np.where(np.isfinite(end), end, 0.0) for end in (a, b))
    return np.stack([at_a - at_b, finite_a * at_a - finite_b * at_b], axis=-1)


def level(epsilon_total: float) -> float:
    """Return the logarithm of a table's factor for a budget, less a margin for rounding.

    Raises:
        ValueError: the budget is not above the margin and finite.
    """
    if not MARGIN < epsilon_total < math.inf:
        raise ValueError(f"epsilon_total = {epsilon_total}: must be positive and finite.")
    return min(epsilon_total, MOST) - MARGIN


def table(
    ends: Sequence[tuple[float, float]], shares: ArrayLike, epsilon_total: float
) -> DiscreteChannel:
    """Return the table of sets with these ends, with weights in proportion to ``shares (K,)``."""
    spent = level(epsilon_total)
    low, high = np.array(ends).T
    raw = np.asarray(shares, dtype=float)
    holds_zero = np.where(low < high, (low <= 0.0) & (high > 0.0), (high > 0.0) | (low <= 0.0))
    weights = raw / (raw @ np.where(holds_zero, math.exp(spent), 1.0))
    return DiscreteChannel(
        tuple((float(a), float(b)) for a, b in ends), tuple(weights.tolist()), spent
    )


def sign(epsilon_total: float) -> DiscreteChannel:
    """Return the table of the noisy sign, flipped with probability 1 / (1 + e^ε)."""
    return table([(-math.inf, 0.0), (0.0, math.inf)], [1.0, 1.0], epsilon_total)
