r"""Exact probabilities of the sparse vector technique, to check its claims with (MATH S1-S3).

A run's decisions are a *pattern*: for each draw looked at, whether it was accepted. With query
noise of scale b₂ a draw at distance ρ_t is accepted under the threshold noise m with probability
F((m − ρ_t + ε_abc)/b₂), F the distribution function of Lap(1), independently of the others. So

$$P(\text{pattern}) = \prod_{\text{segments}} \int \frac{e^{-|m|/b_1}}{2 b_1}
\prod_{\text{rejected}} \Bigl(1 - F\bigl(\tfrac{m - \rho_t + \epsilon_{abc}}{b_2}\bigr)\Bigr)
\prod_{\text{accepted}} F\bigl(\tfrac{m - \rho_t + \epsilon_{abc}}{b_2}\bigr) \, dm$$

where a segment shares one threshold noise: with ``resample`` up to and including a kept draw, else
the whole run. The privacy loss is the difference of two such logarithms.

The integrand is log-concave, so it is negligible outside one interval, which is found first. It is
smooth between its kinks, at m = 0 and m = ρ_t − ε_abc, but near them it changes over lengths of b₂,
which may be far smaller than b₁. So Gauss-Legendre panels get longer with the distance from a kink
and are halved until halving changes nothing. Relative accuracy is 1e-10.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from abcdp_core.base.arrays import Array
from abcdp_core.mechanisms.sparse_vector import SparseVector
from tests.oracles.outcomes import Pattern, stretches

DROP = 45.0
"""Logarithm of how far below its largest value the integrand counts as nothing: e⁻⁴⁵ = 3e-20."""

TOLERANCE = 1e-12
"""A panel is fine enough if halving it changes at most this part of the whole integral."""

SPAN = 30.0
"""How far :func:`largest_loss` searches, in noise scales; farther out nothing changes."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)


def log_probability(pattern: Pattern, rho: Array, epsilon_abc: float, event: SparseVector) -> float:
    """Logarithm of the probability that a run decides as ``pattern`` ``(s,)`` says (MATH S1).

    A pattern shorter than the pool's distances ``(T,)`` that has not stopped is a run that is still
    going.
    """
    kinks = rho[: len(pattern)] - epsilon_abc
    return math.fsum(
        _Segment(kinks[part], pattern[part], event).log_integral()
        for part in stretches(pattern, resample=event.resample)
    )


@dataclass(frozen=True)
class _Segment:
    """Decisions ``(s,)`` that share one threshold noise; kinks are ρ_t − ε_abc ``(s,)``."""

    kinks: Array
    accepted: Pattern
    event: SparseVector

    def log_integrand(self, m: Array) -> Array:
        """Logarithm of density of the threshold noise times probability of the decisions."""
        b1 = self.event.threshold_scale
        above = (m[..., None] - self.kinks) / self.event.query_scale
        decisions = _log_laplace(np.where(self.accepted, above, -above)).sum(axis=-1)
        return decisions - np.abs(m) / b1 - math.log(2.0 * b1)

    def log_integral(self) -> float:
        """Logarithm of the segment's probability."""
        low, high = self._support()
        inside = {float(kink) for kink in (*self.kinks, 0.0) if low < kink < high}
        gaps = itertools.pairwise([low, *sorted(inside), high])
        edges = [_graded(start, end, self.event.query_scale) for start, end in gaps]
        return _log_integral(self.log_integrand, np.append(np.concatenate(edges), high))

    def _support(self) -> tuple[float, float]:
        """An interval outside which the integrand is negligible.

        It starts with a safe one: beyond all kinks each decision's probability grows by at most a
        factor 2, while the density of the threshold noise falls. Then it closes in on a grid.
        """
        reach = self.event.threshold_scale * (DROP + len(self.kinks) * math.log(2.0))
        low = min(0.0, *self.kinks) - reach
        high = max(0.0, *self.kinks) + reach
        while True:
            grid = np.linspace(low, high, 65)
            values = self.log_integrand(grid)
            kept = np.flatnonzero(values >= values.max() - DROP)
            first, last = max(kept[0] - 1, 0), min(kept[-1] + 1, len(grid) - 1)
            low, high = float(grid[first]), float(grid[last])
            if last - first >= len(grid) // 4:
                return low, high


def _graded(start: float, end: float, shortest: float) -> Array:
    """Edges from ``start`` up to, not including, ``end``: fourfold steps away from both."""
    half = (end - start) / 2.0
    steps = max(0, math.ceil(math.log(half / shortest, 4.0)))
    offsets = shortest * 4.0 ** np.arange(steps)
    return np.concatenate([[start], start + offsets, (end - offsets)[::-1]])


def _log_laplace(x: Array) -> Array:
    """Logarithm of the distribution function of Lap(1)."""
    half = -np.abs(x) - math.log(2.0)
    return np.where(x < 0.0, half, np.log1p(-np.exp(half)))


def _log_integral(log_integrand: Callable[[Array], Array], edges: Array) -> float:
    """Logarithm of the integral over panels with these edges, each halved as often as needed."""
    # Of the size of the largest value, so that exponentials neither overflow nor vanish.
    level = float(log_integrand(np.linspace(edges[0], edges[-1], 65)).max())

    def integrate(low: Array, high: Array) -> Array:
        half = (high - low)[:, None] / 2.0
        values = np.exp(log_integrand(low[:, None] + half * (NODES + 1.0)) - level)
        return half[:, 0] * (values @ WEIGHTS)

    low, high = edges[:-1], edges[1:]
    whole = integrate(low, high)
    settled = 0.0
    while len(low):
        middle = (low + high) / 2.0
        left, right = integrate(low, middle), integrate(middle, high)
        total = settled + float(np.sum(left + right))
        rough = np.abs(left + right - whole) > TOLERANCE * total
        settled += float(np.sum((left + right)[~rough]))
        low, high = np.append(low[rough], middle[rough]), np.append(middle[rough], high[rough])
        whole = np.append(left[rough], right[rough])
    return level + math.log(settled)


def privacy_loss(pattern: Pattern, rho: Array, epsilon_abc: float, event: SparseVector) -> float:
    """Loss of a pattern when each decision gets harder by the full sensitivity (MATH S2).

    In the neighboring data set rejected distances are smaller and kept ones larger by Δ, the most
    that one person can do to all of them. Arguments are those of :func:`log_probability`.
    """
    moved = rho[: len(pattern)] + event.sensitivity * np.where(pattern, 1.0, -1.0)
    return log_probability(pattern, rho, epsilon_abc, event) - log_probability(
        pattern, moved, epsilon_abc, event
    )


def largest_loss(event: SparseVector, pattern: Pattern) -> float:
    """Largest loss of a pattern over the places of its distances (MATH S2, S3).

    All rejected distances are equal, and so are all kept ones; both are optimized. This is an
    attained loss, so a lower bound on the mechanism's; for many rejections and one kept draw it is
    close to the claim.
    """
    unit = max(event.threshold_scale, event.query_scale)

    def negative_loss(places: Array) -> float:
        rho = unit * np.where(pattern, places[1], places[0])
        return -privacy_loss(pattern, rho, 0.0, event)

    bounds = [(-SPAN, SPAN), (-SPAN, SPAN)]
    found = optimize.minimize(negative_loss, np.zeros(2), method="L-BFGS-B", bounds=bounds)
    return float(-found.fun)
