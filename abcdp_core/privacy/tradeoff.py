r"""Trade-off curves: what the best attacker can do at every false-alarm rate.

An attacker who sees a release guesses which of two neighboring data sets it came from. With a
false-alarm rate of $\alpha$ the best one misses at a rate of

$$T(\alpha) = \min \{P(\text{miss}) : P(\text{false alarm}) \le \alpha\},$$

1 − α if nothing leaks and 0 if everything does (Dong, Roth and Su, 2022).

| event | curve | kind |
|---|---|---|
| Gaussian, a series of them | $\Phi(\Phi^{-1}(1 - \alpha) - \mu)$ | exact |
| Laplace; a vector with norm noise | from the distribution of the loss, one integral | exact |
| of a single mechanism | registered in its file | stated there |

- *exact*: $T$ itself, if one person moves each noisy number by its full sensitivity.
- *attained*: $T$ of the worst pairs of data sets tried. Other pairs may be worse, so the best
  attacker misses at most that often.
- *bound*: the best attacker misses at least that often.

From ε and δ alone two lines follow that no curve goes below,

$$T(\alpha) \ge \max\{0,\; 1 - \delta - e^{\epsilon}\alpha,\;
e^{-\epsilon}(1 - \delta - \alpha)\}.$$

If all outcome probabilities are exact for a pair of data sets, the best attacker on that pair
follows from them (Neyman and Pearson).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import singledispatch

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.privacy.accounting import cost
from abcdp_core.privacy.events import (
    Event,
    Gaussian,
    GaussianSeries,
    Laplace,
    NonPrivate,
    NormNoise,
)

DELTAS = (0.0, *(10.0**exponent for exponent in range(-12, 0)))
"""Values of δ whose lines bound the curve of an event that has none registered."""

LOSSES = 801
"""Number of losses at which the distribution of a vector's loss is computed."""

EDGES = 33
"""Edges of the panels for the integral over its length."""


@dataclass(frozen=True)
class Curve:
    """The best attacker's miss rate at each false-alarm rate, or what is known of it.

    Attributes:
        false_alarm: rates α ``(k,)``.
        miss: rates T(α) ``(k,)``.
        kind: ``exact``, ``attained`` (a better attacker may exist) or ``bound`` (none does better).
    """

    false_alarm: Array = field(repr=False)
    miss: Array = field(repr=False)
    kind: str


@singledispatch
def curve(event: Event, false_alarm: Array) -> Curve:
    """Return the trade-off curve of an event at false-alarm rates ``(k,)`` in [0, 1].

    Kinds of events without a registered curve get :func:`of_cost`.

    Raises:
        TypeError: there is no accountant for this kind of event either.
    """
    return of_cost(event, false_alarm)


def of_cost(event: Event, false_alarm: Array) -> Curve:
    """Return the lines that follow from an event's cost at several δ, a bound."""
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
    # Imported here: most noise is not Gaussian.
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
    """Return exact miss rates ``(k,)`` for one Gaussian answer moved by μ standard deviations."""
    # Imported here, so that starting needs no SciPy.
    from scipy import special

    return special.ndtr(special.ndtri(1.0 - false_alarm) - mu)


def approximate(epsilon: float, delta: float, false_alarm: Array) -> Array:
    """Return the bound ``(k,)`` of the two lines that follow from (ε, δ)."""
    steep = -np.expm1(min(epsilon, 700.0)) * false_alarm + (1.0 - false_alarm) - delta
    flat = math.exp(-epsilon) * (1.0 - delta - false_alarm)
    return np.maximum(0.0, np.maximum(steep, flat))


def norm_noise(epsilon: float, dimension: int, false_alarm: Array) -> Array:
    """Return exact miss rates ``(k,)`` for noise of density ∝ exp(−‖z‖) on a vector moved by ε.

    The best attacker uses ‖y‖ − ‖y − v‖, ‖v‖ = ε, from −ε to ε. Given its length r, noise has a
    direction whose cosine t to v has (1 + t)/2 ~ Beta((D−1)/2, (D−1)/2), and ‖z − v‖ ≤ r − l is
    t ≥ (2rl − l² + ε²)/(2rε). Moving the vector less reveals less: on every line along v the noise
    is log-concave. In one dimension it is Laplace noise.
    """
    from scipy import special

    if dimension == 1:
        return _laplace(epsilon, false_alarm)
    # Lengths by quantile, so that nodes are where the noise is.
    loss = epsilon * np.sin(np.linspace(-0.5, 0.5, LOSSES) * math.pi)
    quantile, weight = legendre(np.linspace(0.0, 1.0, EDGES))
    length = special.gammaincinv(dimension, quantile)[:, None]
    cosine = (2.0 * length * loss - loss**2 + epsilon**2) / (2.0 * length * epsilon)
    beyond = special.betainc(
        (dimension - 1) / 2, (dimension - 1) / 2, np.clip((1.0 - cosine) / 2.0, 0.0, 1.0)
    )
    rates = weight @ np.where(length >= loss, beyond, 0.0)
    # The distributions of the loss under the two data sets are mirror images.
    return np.interp(false_alarm, rates[::-1], rates)


def _laplace(epsilon: float, false_alarm: Array) -> Array:
    """Return the same for Laplace noise of scale 1: two lines and a hyperbola between them."""
    far = math.exp(-epsilon)
    inner = far / (4.0 * np.clip(false_alarm, far / 2.0, 0.5))
    steep = 1.0 - false_alarm / max(far, 1e-300)
    below = np.where(false_alarm < far / 2.0, steep, inner)
    return np.where(false_alarm > 0.5, far * (1.0 - false_alarm), below)


# ------------------------------------------------------------------------------- pairs of data sets


@dataclass(frozen=True)
class TwoDistributions:
    """Probabilities of all outcomes under two data sets, in groups with equal likelihood ratios.

    Attributes:
        first, second: logarithms of each group's probability ``(k,)``.
    """

    first: Array = field(repr=False)
    second: Array = field(repr=False)


def neyman_pearson(law: TwoDistributions) -> tuple[Array, Array]:
    """Return exact corners ``(k + 1,)`` of the best attacker's false-alarm and miss rates.

    The best attacker guesses the second data set where its likelihood ratio is highest.
    """
    order = np.argsort(law.first - law.second, kind="stable")
    false_alarm = np.append(0.0, np.cumsum(np.exp(law.first[order])))
    miss = np.append(np.cumsum(np.exp(law.second[order])[::-1])[::-1], 0.0)
    return np.minimum(false_alarm, 1.0), np.minimum(miss, 1.0)


def worst(laws: list[TwoDistributions], false_alarm: Array) -> Array:
    """Return miss rates ``(k,)`` of the best attacker on the worst of several pairs.

    This is the largest convex curve below those of all pairs, in either order.
    """
    # Imported here: it is slow, and only one view needs it.
    from scipy import spatial

    corners = [neyman_pearson(law) for law in laws]
    one, other = (np.concatenate([corner[i] for corner in corners]) for i in (0, 1))
    swapped = np.stack([one, other], 1), np.stack([other, one], 1)
    # The corner (1, 1) closes the area above the curves.
    points = np.concatenate([[(1.0, 1.0)], np.eye(2), *swapped])
    hull = spatial.ConvexHull(points).vertices
    lower = points[hull[hull > 0]]
    lower = lower[np.lexsort((-lower[:, 1], lower[:, 0]))]
    return np.interp(false_alarm, lower[:, 0], lower[:, 1])


# ------------------------------------------------------------------------------- quadrature

ORDER = 16
"""Nodes per panel of a Gauss-Legendre quadrature, for integrals with known kinks."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(ORDER)


def legendre(edges: Array) -> tuple[Array, Array]:
    """Return nodes and weights ``(16 k,)`` on the panels between edges ``(k + 1,)``."""
    half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
    return (middle[:, None] + half[:, None] * NODES).ravel(), (half[:, None] * WEIGHTS).ravel()
