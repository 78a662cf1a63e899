r"""Say what a mean and an interval do not: several modes, and which combination is known best.

Densities are compared on the scale x, where priors are normal: the probability between two
quantiles over their distance. Between two modes it is below half of that of the lower one, by
:data:`CERTAIN` standard errors of both, and each has a probability of :data:`LEAST` or more. The
region of highest density (Hyndman, The American Statistician 50, 1996) remains where the ends that
are longest for their probability are cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.base.sentences import amount, decimals, estimate, fixed

STEPS, LEAST, CERTAIN = 200, 0.1, 2.0
"""Steps of equal probability, least probability of a mode, and standard errors."""

STRONG, MOST = 0.9, 3
"""Least correlation that is stated, and most pairs."""

BARS = "▁▂▃▄▅▆▇█"


class Modes(NamedTuple):
    """Place of a parameter with several modes, its region of highest density, and a histogram."""

    parameter: int
    region: tuple[tuple[float, float], ...]
    sketch: str

    @property
    def in_words(self) -> str:
        """The region, such as "1.8 to 2.1 or 3.9 to 4.2"."""
        # A whole number may be a mode alone.
        widths = [high - low for low, high in self.region if high > low]
        digits = decimals(min(widths)) if widths else 0
        return " or ".join(f"{fixed(a, digits)} to {fixed(b, digits)}" for a, b in self.region)


def modes(parameter: int, x: Array, values: Array, between: Sequence[float]) -> Modes:
    """Describe draws of equal weight: values ``(m,)`` that rise with x ``(m,)``, valleys in x."""
    x, values, inner = np.sort(x), np.sort(values), np.searchsorted(np.sort(x), between)
    # The first and the last draw of each mode.
    ends = np.column_stack([[0, *inner], [*inner - 1, len(x) - 1]]).ravel()
    inwards = np.resize([1, -1], len(ends)) * max(1, len(x) // STEPS)
    for _ in range(len(x) // 10 // inwards[0]):
        cut = np.abs(x[ends + inwards] - x[ends])
        cut[np.repeat(np.diff(ends)[::2] <= 2 * inwards[0], 2)] = 0.0
        ends[cut.argmax()] += inwards[cut.argmax()]
    region = [(low, high) for low, high in values[ends].reshape(-1, 2).tolist()]
    counts, _ = np.histogram(values, 2 * len(BARS), (region[0][0], region[-1][1]))
    heights = np.ceil((len(BARS) - 1) * counts / counts.max()).astype(int)
    return Modes(parameter, tuple(region), "".join(BARS[height] for height in heights))


def valleys(x: Array, weights: Array) -> list[float]:
    """Return the x between the modes of a sample ``(m,)`` with weights ``(m,)``."""
    levels, order = np.arange(STEPS + 1) / STEPS, np.argsort(x)
    weights, x = weights[order], x[order]
    middles, squares = (np.cumsum(each) - 0.5 * each for each in (weights, weights**2))
    x, squares = (np.interp(levels, middles, each) for each in (x, squares))
    mass, width, variance = (np.maximum(each - each[:, None], 0.0) for each in (levels, x, squares))
    error, wide = CERTAIN * np.sqrt(variance), width > 1e-12 * (x[-1] - x[0])
    least, most = (
        np.divide(mass + more, width, out=np.full_like(mass, otherwise), where=wide)
        for more, otherwise in ((-error, 0.0), (error + CERTAIN**2 * squares[-1], np.inf))
    )
    # A clump of draws is no mode.
    least[mass < 0.5 * LEAST] = 0.0

    def inside(start: int, stop: int) -> list[float]:
        """Return those between two of the quantiles."""
        room, part = round(LEAST * STEPS), slice(start, stop + 1)
        if stop - start <= 2 * room:
            return []
        left = np.maximum.accumulate(least[part, part].max(axis=0))
        right = np.maximum.accumulate(least[part, part].max(axis=1)[::-1])[::-1]
        lower = np.maximum(np.minimum.outer(left, right), 1e-200)
        depth = (most[part, part] / lower)[room:-room, room:-room]
        low, high = (start + room + int(each[0]) for each in np.where(depth == depth.min()))
        if depth.min() >= 0.5:
            return []
        return [*inside(start, low), 0.5 * (x[low] + x[high]), *inside(high, stop)]

    return inside(0, STEPS)


def combinations(theta: Array, prior: Array) -> list[tuple[int, int, str]]:
    """Return strongly correlated pairs of parameters, and what is known best of each.

    Args:
        theta, prior: draws of equal weight ``(m, p)``; what correlates under the prior is left out.

    Returns:
        Two places, and a sentence with blanks for both names and both terms of the sum.
    """
    variance, before = (np.atleast_2d(np.cov(each, rowvar=False)) for each in (theta, prior))
    r, r_before = (
        each / np.sqrt(np.maximum(np.outer(np.diag(each), np.diag(each)), 1e-300))
        for each in (variance, before)
    )
    strong = np.argwhere(np.triu((np.abs(r) >= STRONG) & (np.abs(r_before) < STRONG), 1))
    combined = []
    for a, b in sorted(strong.tolist(), key=lambda pair: -abs(r[*pair]))[:MOST]:
        # A simple multiple is added to the one that varies more.
        one, two = (b, a) if variance[b, b] > 1.1 * variance[a, a] else (a, b)
        best = -variance[one, two] / variance[two, two]
        least = variance[one, one] * (1.0 - r[a, b] ** 2)
        tried = [float(np.sign(best)), *(float(f"{best:.{digits}g}") for digits in (1, 2, 3))]
        close = [each for each in tried if (each - best) ** 2 * variance[two, two] < 0.2 * least]
        factor = [*close, best][0]
        low, high = np.quantile(theta[:, one] + factor * theta[:, two], (0.05, 0.95)).tolist()
        sign, size = "+" if factor > 0.0 else "\u2212", abs(factor)
        times = "" if size == 1.0 else f"{amount(size)} × "
        known = estimate(0.5 * (low + high), 0.5 * (high - low))
        words = f"{{0}} and {{1}} are strongly correlated ({fixed(r[a, b], 3)}). "
        words += f"What is known best is {{2}} {sign} {times}{{3}}: {known} (90 % interval)."
        combined.append((one, two, words))
    return combined
