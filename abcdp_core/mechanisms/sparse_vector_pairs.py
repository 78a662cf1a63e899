"""Neighboring data sets for a sparse vector run that are easy to tell apart (MATH S1-S3).

For these, the probabilities of all outcomes of a run with Laplace noise and one threshold are
exact, so :mod:`abcdp_core.privacy.tradeoff` finds the best attacker on them.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.privacy import ThresholdRun
from abcdp_core.privacy.tradeoff import TwoDistributions, legendre

ACCEPTANCES = 10
"""Largest c for which the worst pair is looked for."""

CLOSE = ((0.0, 0.5, 1.0, 2.0, 3.0), (-1.0, -0.5, 0.0, 0.5, 1.0))
FAR = ((-2.0, 0.0, 1.0, 2.0, 4.0, 6.0), (-2.0, -1.0, 0.0, 1.0))
"""Falling and growing distances to try, relative to the threshold, in threshold scales."""


@dataclass(frozen=True)
class Pair:
    """Neighboring data sets for a sparse vector run with one threshold.

    One person moves every distance by Δ, the most possible. To reject draws whose distance falls
    and to keep draws whose distance grows is evidence against the second data set.

    Attributes:
        signs: of the moves, −1 or 1, one per draw of the run.
        falling, growing: distances of the draws of either sign, less ε_abc.
    """

    signs: tuple[int, ...]
    falling: float
    growing: float


def pairs(event: ThresholdRun) -> list[Pair]:
    """Return neighboring data sets to try.

    Among all signs of short runs, alternating ones are the easiest to tell apart at moderate
    false-alarm rates: draws of one sign locate the noisy threshold, and draws of the other are
    compared with it. At small rates it is best to see some rejections first; with all rejections
    first the loss comes nearest to ε. No signs of six draws are worse by more than 0.002.
    """
    alternating = (-1, 1) * min(max(4 * event.c, 8), 20)
    falling_first = (-1,) * 4 + (1, -1) * 8
    rejections_first = (-1,) * 10 + (1,) * event.c
    unit = event.threshold_scale
    return [
        Pair(signs, falling * unit, growing * unit)
        for signs, places in ((alternating, CLOSE), (falling_first, CLOSE), (rejections_first, FAR))
        for falling, growing in itertools.product(*places)
    ]


def laws(event: ThresholdRun) -> list[TwoDistributions]:
    """Return the exact outcome distributions of a run, one for each pair that is tried."""
    return [pair_law(pair, event) for pair in pairs(event)]


def pair_law(pair: Pair, event: ThresholdRun) -> TwoDistributions:
    """Return the exact outcome distributions of a run over a pair; the threshold is drawn once."""
    groups, delta = _groups(pair.signs, event.c), event.sensitivity
    first = _log_law(groups, pair.falling, pair.growing, event)
    second = _log_law(groups, pair.falling - delta, pair.growing + delta, event)
    return TwoDistributions(first, second)


@functools.lru_cache(maxsize=64)
def _groups(signs: tuple[int, ...], c: int) -> Array:
    """Return groups of outcomes of equal probability ``(k, 5)``.

    Numbers of falling draws that are kept and rejected, of growing draws that are kept and
    rejected, and the logarithm of the number of such outcomes. A run that stops ends with a kept
    draw; any other goes through all draws.
    """
    rows = []
    low = high = 0
    for sign in signs:
        for i in range(max(0, c - 1 - high), min(low, c - 1) + 1):
            j = c - 1 - i
            last = (1, 0, 0, 0) if sign < 0 else (0, 0, 1, 0)
            before = (i, low - i, j, high - j)
            rows.append((*map(sum, zip(before, last, strict=True)), _log_ways(low, i, high, j)))
        low, high = low + (sign < 0), high + (sign > 0)
    rows += [
        (i, low - i, j, high - j, _log_ways(low, i, high, j))
        for i in range(min(low, c - 1) + 1)
        for j in range(min(high, c - 1 - i) + 1)
    ]
    return np.array(rows, dtype=float)


def _log_ways(low: int, i: int, high: int, j: int) -> float:
    """Return the logarithm of the number of ways to take i of low and j of high draws."""
    return math.log(math.comb(low, i) * math.comb(high, j))


def _log_law(groups: Array, falling: float, growing: float, event: ThresholdRun) -> Array:
    """Return log-probabilities ``(k,)`` of the groups, by quadrature over the threshold."""
    m, density = _threshold_nodes((falling, growing), event)
    above = np.array([m - falling, falling - m, m - growing, growing - m]) / event.query_scale
    outcomes = groups[:, :4] @ _log_laplace(above)
    # Relative to each row's largest value, so that nothing underflows.
    largest = outcomes.max(axis=1)
    probability = np.exp(outcomes - largest[:, None], out=outcomes) @ density
    return np.log(probability) + largest + groups[:, 4]


def _threshold_nodes(kinks: tuple[float, float], event: ThresholdRun) -> tuple[Array, Array]:
    """Return nodes and weights for the density of the threshold noise, graded at kinks."""
    shortest = min(event.threshold_scale, event.query_scale) / 2.0
    reach = 45.0 * event.threshold_scale + max(abs(kink) for kink in kinks)
    steps = shortest * 2.0 ** np.arange(math.ceil(math.log2(reach / shortest)) + 1)
    graded = np.concatenate([[0.0], steps, -steps])
    edges = np.unique(np.add.outer(np.array([0.0, *kinks]), graded))
    m, weight = legendre(edges[np.abs(edges) <= reach])
    scale = event.threshold_scale
    return m, weight * np.exp(-np.abs(m) / scale) / (2.0 * scale)


def _log_laplace(x: Array) -> Array:
    """Return the logarithm of the distribution function of Lap(1)."""
    return np.where(x < 0.0, x - math.log(2.0), np.log1p(-0.5 * np.exp(-np.abs(x))))
