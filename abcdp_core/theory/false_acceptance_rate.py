"""Which share of the accepted is false, over many data sets, and which c keeps it under a level.

A draw is false if only noise let it in: its distance is above ε_abc (MATH F3). Of each data set the
expected share is exact (MATH E6); over data sets there is a mean with its interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from abcdp_core.theory import sparse_vector_run as theory

Array = NDArray[np.float64]

ROUND = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Values of c that are always looked at."""

NODES = 16
"""Of the integral over the threshold's noise: within 1e-3 of a share, far below its spread."""

NEVER = 1e-9
"""Nothing is ever accepted if anything is with at most this probability."""

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Share:
    """Expected false share at one c, averaged over public data sets.

    Attributes:
        share: expected share of the accepted that is false, given that any is accepted; ``nan`` if
            none ever is.
        low, high: 95 % interval for the mean over all public data sets.
        unfillable: share of c places that no draw within ε_abc can fill.
        some: probability that anything is accepted.
        filled: probability that c are accepted.
    """

    share: float
    low: float
    high: float
    unfillable: float
    some: float
    filled: float


def share_of(rho: Sequence[Array], run: theory.Run) -> Share:
    """The expected false share of a run over several sets of distances ``(T,)`` (MATH F3, E6)."""
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
    # The interval of a ratio of means, by its linear part.
    deviation = float(np.std((false - share * some) / some.mean(), ddof=1))
    quantile = float(special.stdtrit(len(rho) - 1, (1.0 + CONFIDENCE) / 2.0))
    half = quantile * deviation / math.sqrt(len(rho))
    low, high = max(0.0, share - half), min(1.0, share + half)
    return Share(share, low, high, unfillable, float(some.mean()), filled)


def search(
    share_at: Callable[[int], Share], level: float, most: int, also: set[int]
) -> tuple[dict[int, Share], int]:
    """Shares at round and further values of c, and the largest c up to which they keep a level.

    Args:
        share_at: the share at a c.
        level: what it has to stay at or under.
        most: largest c.
        also: values of c that are to be looked at too.
    """
    wanted = sorted({c for c in ROUND if c <= most} | also)
    shares = {c: share_at(c) for c in wanted}
    # What is not a number keeps nothing.
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
    """The c up to which a curve, straight in log c between its points, keeps a level."""
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
