r"""Bijectors between a prior's support and an unconstrained scale.

A regression moves parameters along straight lines, which may leave the prior's support; moved on
an unconstrained scale and transformed back, they stay inside. For weights that add up to 1 the
usual choice is the log-ratio (additive, centered or isometric: a linear regression is the same in
all linear coordinates). But a plane in the parameters is curved in their logarithms. If draws are
kept at large distances, as they must be in several dimensions, a log-ratio regression gives
intervals 2.5 times as wide as possible (mixture of five uniforms, $\epsilon_{total} = 1$: 0.045
instead of 0.018). So the scale here is a log-ratio near an edge and linear far from it. With a
distance $s_i$,

$$x_i = s_i \log(e^{\theta_i / s_i} - 1), \qquad
\theta_i = \frac{s_i \log(1 + e^{x_i / s_i})}{\sum_j s_j \log(1 + e^{x_j / s_j})} .$$

Weights far above $s_i$ hardly change, and those far below it become $s_i \log(\theta_i / s_i)$. As
all $s_i$ grow, the scale becomes the log-ratio; as they go to 0, the identity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array

NEAREST = 1e-3
"""Least distance from an edge, as a fraction of the scale's distance.

So a weight of 0 is neither infinite nor an outlier.
"""


@dataclass(frozen=True)
class Bijector:
    """A support of parameters ``(k, d)`` and its unconstrained scale.

    Attributes:
        contains: parameters to whether they are inside ``(k,)``.
        to_unconstrained: parameters, and positive distances ``(d,)`` from edges within which the
            scale is not linear, to values ``(k, d)``.
        from_unconstrained: the inverse; gives parameters inside for any values, unless both are
            :func:`unchanged` although there are bounds.
        separate: whether each parameter may move without the others.
    """

    contains: Callable[[Array], NDArray[np.bool_]]
    to_unconstrained: Callable[[Array, Array], Array]
    from_unconstrained: Callable[[Array, Array], Array]
    separate: bool = True


def unchanged(values: Array, distance: Array) -> Array:  # noqa: ARG001 - part of the interface
    """Return the values, for parameters without bounds or with bounds that may be crossed."""
    return values


def _all(theta: Array) -> NDArray[np.bool_]:
    return np.ones(len(theta), dtype=bool)


ALL_REALS = Bijector(_all, unchanged, unchanged)
"""Parameters without bounds."""


def _on_simplex(theta: Array) -> NDArray[np.bool_]:
    sums = np.isclose(theta.sum(axis=1), 1.0, rtol=0.0, atol=1e-9)
    return (theta >= 0.0).all(axis=1) & sums


def _weights_to_reals(theta: Array, distance: Array) -> Array:
    ratio = np.maximum(theta / distance, NEAREST)
    return distance * (ratio + np.log(-np.expm1(-ratio)))


def _reals_to_weights(values: Array, distance: Array) -> Array:
    # In logarithms against underflow; below -30, log(log(1 + e^x)) is x.
    ratio = values / distance
    logarithm = np.log(np.logaddexp(0.0, np.maximum(ratio, -30.0))) + np.minimum(ratio + 30.0, 0.0)
    logarithm += np.log(distance)
    weights = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


SIMPLEX = Bijector(_on_simplex, _weights_to_reals, _reals_to_weights, separate=False)
"""Weights of at least 0 that add up to 1."""


def box(low: Array, high: Array) -> Bijector:
    r"""Return the bijector of parameters ``(d,)`` between bounds, each on its own.

    $$x = \theta + s \log(1 - e^{-(\theta - a)/s}) - s \log(1 - e^{-(b - \theta)/s}), \qquad
    \theta = a + s \log(1 + e^{(x - a)/s}) - s \log(1 + e^{(x - b)/s}) :$$

    the identity far from both bounds $a < b$, and a logarithm of the distance near them.

    Raises:
        ValueError: a lower bound is not below its upper bound, or a bound is not finite.
    """
    low, high = np.array(low, dtype=float), np.array(high, dtype=float)
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise ValueError(f"bounds = {low.tolist()}, {high.tolist()}: must be finite, low < high.")

    def contains(theta: Array) -> NDArray[np.bool_]:
        return np.all(np.clip(theta, low, high) == theta, axis=1)

    def to_unconstrained(theta: Array, distance: Array) -> Array:
        below, above = (
            np.log(-np.expm1(-np.maximum(room / distance, NEAREST)))
            for room in (theta - low, high - theta)
        )
        return theta + distance * (below - above)

    def from_unconstrained(values: Array, distance: Array) -> Array:
        risen = np.logaddexp(0.0, (values - low) / distance)
        cut = np.logaddexp(0.0, (values - high) / distance)
        # Rounding must not cross a bound.
        return np.clip(low + distance * (risen - cut), low, high)

    return Bijector(contains, to_unconstrained, from_unconstrained)
