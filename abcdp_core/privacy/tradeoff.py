r"""What the best attacker can do: trade-off curves, all of a guarantee and not one point of it.

An attacker who sees a release has to say which of two neighbouring data sets it came from. With a
false-alarm rate of $\alpha$ the best one still misses at a rate of

$$T(\alpha) = \min \{P(\text{miss}) : P(\text{false alarm}) \le \alpha\},$$

1 − α if nothing leaks and 0 if everything does (Dong, Roth and Su, 2022). What is known:

| event | curve | kind |
|---|---|---|
| Gaussian, a series of them | $\Phi(\Phi^{-1}(1 - \alpha) - \mu)$ | exact |
| Laplace; a vector with norm noise | from the law of the loss, one integral | exact |
| of one mechanism alone | registered in its file | each says which |

- *exact*: $T$ itself, where one person moves each noisy number by all of its sensitivity. What is
  computed from the numbers may tell less.
- *attained*: an attacker who knows the pair of data sets gets there. It is $T$ of the worst pairs
  tried; a pair that was not tried may be worse, so the best attacker misses at most that often.
- *bound*: no attacker gets below it, so the best one misses at least that often.

Of ε and δ alone two lines are known that no curve goes below,

$$T(\alpha) \ge \max\{0,\; 1 - \delta - e^{\epsilon}\alpha,\;
e^{-\epsilon}(1 - \delta - \alpha)\}.$$

Where the probabilities of all outcomes are exact for a pair of data sets, the best attacker on that
pair follows from them (Neyman and Pearson). Which pairs are tried is a mechanism's own business.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from abcdp_core.privacy.accounting import (
    Event,
    Gaussian,
    GaussianSeries,
    Laplace,
    NonPrivate,
    NormNoise,
    cost,
)

Array = NDArray[np.float64]

DELTAS = (0.0, *(10.0**exponent for exponent in range(-12, 0)))
"""At which the cost of an event without a curve of its own is drawn as lines."""

LOSSES = 801
"""At which the law of the loss of a vector is computed."""

EDGES = 33
"""Of the panels by which its length is integrated over."""


@dataclass(frozen=True)
class Curve:
    """The best attacker's miss rate at each false-alarm rate, or how far it is known.

    Attributes:
        false_alarm: rates α ``(k,)``.
        miss: rates T(α) ``(k,)``.
        kind: ``exact``; ``attained``: an attacker gets there, a better one may exist; or
            ``bound``: no attacker does better.
    """

    false_alarm: Array = field(repr=False)
    miss: Array = field(repr=False)
    kind: str


@singledispatch
def curve(event: Event, false_alarm: Array) -> Curve:
    """The trade-off curve of an event at false-alarm rates ``(k,)`` in [0, 1].

    A kind of event that has none registered gets :func:`of_cost`.

    Raises:
        TypeError: there is no accountant for this kind of event either.
    """
    return of_cost(event, false_alarm)


def of_cost(event: Event, false_alarm: Array) -> Curve:
    """The lines that follow from an event's cost at several δ: no attacker gets below them."""
    miss = np.zeros_like(false_alarm)
    for delta in DELTAS:
        spent = cost(event, delta)
        miss = np.maximum(miss, approximate(spent.epsilon, spent.delta, false_alarm))
    return Curve(false_alarm, miss, "bound")


@curve.register
def _(event: NonPrivate, false_alarm: Array) -> Curve:  # noqa: ARG001 - all of them the same
    return Curve(false_alarm, np.zeros_like(false_alarm), "exact")


@curve.register
def _(event: Gaussian, false_alarm: Array) -> Curve:
    return curve(GaussianSeries(event.sensitivity, event.scale, 1), false_alarm)


@curve.register
def _(event: GaussianSeries, false_alarm: Array) -> Curve:
    # Inside the function: most events are no Gaussian noise.
    from abcdp_core.privacy.gaussian_series import joint_mu

    return Curve(false_alarm, gaussian(joint_mu(event), false_alarm), "exact")


@curve.register
def _(event: Laplace, false_alarm: Array) -> Curve:
    return Curve(false_alarm, norm_noise(cost(event).epsilon, 1, false_alarm), "exact")


@curve.register
def _(event: NormNoise, false_alarm: Array) -> Curve:
    miss = norm_noise(cost(event).epsilon, event.dimension, false_alarm)
    return Curve(false_alarm, miss, "exact")


# ------------------------------------------------------------------------------- closed forms


def gaussian(mu: float, false_alarm: Array) -> Array:
    """Miss rates ``(k,)`` of one Gaussian answer moved by μ standard deviations; exact."""
    # Inside the function: what needs none of these functions starts without SciPy.
    from scipy import special

    miss: Array = special.ndtr(special.ndtri(1.0 - false_alarm) - mu)
    return miss


def approximate(epsilon: float, delta: float, false_alarm: Array) -> Array:
    """The two lines ``(k,)`` that (ε, δ) draws; with δ = 0 those of pure ε. A bound."""
    steep = -np.expm1(min(epsilon, 700.0)) * false_alarm + (1.0 - false_alarm) - delta
    flat = math.exp(-epsilon) * (1.0 - delta - false_alarm)
    return np.maximum(0.0, np.maximum(steep, flat))


def norm_noise(epsilon: float, dimension: int, false_alarm: Array) -> Array:
    """Miss rates ``(k,)`` of a vector with noise of density ∝ exp(−‖z‖), moved by ε; exact.

    The best attacker looks at ‖y‖ − ‖y − v‖, ‖v‖ = ε, from −ε to ε. Given its length r, noise has a
    direction whose cosine t to v has (1 + t)/2 ~ Beta((D−1)/2, (D−1)/2), and ‖z − v‖ ≤ r − l is
    t ≥ (2rl − l² + ε²)/(2rε). Moving the vector less tells less: on every line along v the noise is
    log-concave. In one dimension it is Laplace noise.
    """
    from scipy import special

    if dimension == 1:
        return _laplace(epsilon, false_alarm)
    # Lengths by quantile, so that nodes are where the noise is; the ends count for nothing.
    loss = epsilon * np.sin(np.linspace(-0.5, 0.5, LOSSES) * math.pi)
    quantile, weight = legendre(np.linspace(0.0, 1.0, EDGES))
    length = special.gammaincinv(dimension, quantile)[:, None]
    cosine = (2.0 * length * loss - loss**2 + epsilon**2) / (2.0 * length * epsilon)
    beyond = special.betainc(
        (dimension - 1) / 2, (dimension - 1) / 2, np.clip((1.0 - cosine) / 2.0, 0.0, 1.0)
    )
    rates = weight @ np.where(length >= loss, beyond, 0.0)
    # The loss has mirror-image laws under the two data sets.
    return np.interp(false_alarm, rates[::-1], rates)


def _laplace(epsilon: float, false_alarm: Array) -> Array:
    """Of Laplace noise of scale 1, moved by ε: two lines and a hyperbola between them."""
    far = math.exp(-epsilon)
    inner = far / (4.0 * np.clip(false_alarm, far / 2.0, 0.5))
    steep = 1.0 - false_alarm / max(far, 1e-300)
    below = np.where(false_alarm < far / 2.0, steep, inner)
    return np.where(false_alarm > 0.5, far * (1.0 - false_alarm), below)


# ------------------------------------------------------------------------------- pairs of data sets

ABOVE = (1.0, 1.0)
"""Rates beyond those of chance: with them the curves below enclose an area."""


@dataclass(frozen=True)
class Law:
    """Probabilities of all outcomes under two data sets; outcomes with equal ones go together.

    Attributes:
        first, second: logarithms of a group's probability ``(k,)``.
    """

    first: Array = field(repr=False)
    second: Array = field(repr=False)


def neyman_pearson(law: Law) -> tuple[Array, Array]:
    """Corners ``(k + 1,)`` of the best attacker's false-alarm and miss rates, exact.

    He calls the second data set for the outcomes whose likelihood ratio speaks most for it.
    """
    order = np.argsort(law.first - law.second, kind="stable")
    false_alarm = np.append(0.0, np.cumsum(np.exp(law.first[order])))
    miss = np.append(np.cumsum(np.exp(law.second[order])[::-1])[::-1], 0.0)
    return np.minimum(false_alarm, 1.0), np.minimum(miss, 1.0)


def worst(laws: list[Law], false_alarm: Array) -> Array:
    """Miss rates ``(k,)`` of the best attacker on the worst of several pairs, in either order.

    The largest convex curve below all of theirs: the most that a guarantee for these pairs can
    say. Other pairs may be worse.
    """
    # Imported here: it takes a while, and only one view asks for curves.
    from scipy import spatial

    corners = [neyman_pearson(law) for law in laws]
    one, other = (np.concatenate([corner[i] for corner in corners]) for i in (0, 1))
    swapped = np.stack([one, other], 1), np.stack([other, one], 1)
    points = np.concatenate([[ABOVE], np.eye(2), *swapped])
    hull = spatial.ConvexHull(points).vertices
    lower = points[hull[hull > 0]]
    lower = lower[np.lexsort((-lower[:, 1], lower[:, 0]))]
    return np.interp(false_alarm, lower[:, 0], lower[:, 1])


# ------------------------------------------------------------------------------- quadrature

ORDER = 16
"""Nodes of a panel of a Gauss-Legendre quadrature, for integrals whose kinks are known."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(ORDER)


def legendre(edges: Array) -> tuple[Array, Array]:
    """Nodes and weights ``(16 k,)`` on the panels between edges ``(k + 1,)``."""
    half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
    return (middle[:, None] + half[:, None] * NODES).ravel(), (half[:, None] * WEIGHTS).ravel()
