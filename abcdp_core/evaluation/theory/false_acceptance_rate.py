"""Share of draws wrongly kept, averaged over data sets, and the largest c for a given level.

A kept draw is false if only noise kept it: its distance is above ε_abc (MATH F3). The expected
share is exact for each data set (MATH E6); over data sets it is a mean with an interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from abcdp_core.base.arrays import Array
from abcdp_core.evaluation.theory import sparse_vector_run as theory

ROUND = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Values of c that are always evaluated."""

NODES = 16
"""Nodes of the integral over the threshold noise; the error in a share is below 1e-3."""

NEVER = 1e-9
"""Probability of keeping anything below which nothing is ever kept."""

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Share:
    """Expected false share at one c, averaged over public data sets.

    Attributes:
        share: expected share of kept draws that are wrongly kept, given that any are kept;
            ``nan`` if none ever are.
        low, high: 95 % interval for the mean over all public data sets.
        unfillable: share of the c places for which there is no draw within ε_abc.
        some: probability that any draw is kept.
        filled: probability that c draws are kept.
    """

    share: float
    low: float
    high: float
    unfillable: float
    some: float
    filled: float


def share_of(rho: Sequence[Array], run: theory.Run) -> Share:
    """Average the expected false share of a run over sets of distances ``(T,)`` (MATH F3, E6)."""
    each = [theory.false_share(one, run, NODES) for one in rho]
    some = np.array([float(one.accepted[1:].sum()) for one in each])
    filled = float(np.mean([one.accepted[-1] for one in each]))
    close = np.array([np.count_nonzero(one <= run.epsilon_abc) for one in rho])
    unfillable = float(np.maximum(0.0, 1.0 - close / run.c).mean())
    if some.mean() <= NEVER:
        return Share(math.nan, math.nan, math.nan, unfillable, float(some.mean()), filled)
    false = np.array([one.share for one in each], dtype=float)
    false = np.where(some > 0, false * some, 0.0)
    share = float(false.sum() / some.sum())
    # Interval for a ratio of means, linearized.
    deviation = float(np.std((false - share * some) / some.mean(), ddof=1))
    quantile = float(special.stdtrit(len(rho) - 1, (1.0 + CONFIDENCE) / 2.0))
    half = quantile * deviation / math.sqrt(len(rho))
    low, high = max(0.0, share - half), min(1.0, share + half)
    return Share(share, low, high, unfillable, float(some.mean()), filled)


def search(
    share_at: Callable[[int], Share], level: float, most: int, also: set[int]
) -> tuple[dict[int, Share], int]:
    """Return shares at round values of c and ``also``, and the largest c that stays in a level."""
    wanted = sorted({c for c in ROUND if c <= most} | also)
    shares = {c: share_at(c) for c in wanted}
    # NaN exceeds every level.
    failing = next((c for c in wanted if not shares[c].share <= level), most + 1)
    keeps = max((c for c in wanted if c < failing), default=0)
    while failing - keeps > 1:
        between = (keeps + failing) // 2
        shares[between] = share_at(between)
        if shares[between].share <= level:
            keeps = between
        else:
            failing = between
    return dict(sorted(shares.items())), keeps


def crossing(values: dict[int, float], level: float) -> int:
    """Return the c up to which a curve, linear in log c between points, stays within a level."""
    before: tuple[int, float] | None = None
    for c, value in values.items():
        if not value <= level:
            if before is None:
                return 0
            if math.isnan(value):
                return before[0]
            part = (level - before[1]) / (value - before[1])
            return math.floor(before[0] * (c / before[0]) ** part)
        before = c, value
    return max(values)
