"""Neighbouring data sets that are easy to tell apart, and the best attacker on them.

Where the probabilities of all outcomes are exact for a pair of data sets, the best attacker on that
pair follows from them (Neyman and Pearson). Which pair is the worst may not be known: some are
tried, so the best attacker on *any* pair does at least as well as on these. Which are tried is a
mechanism's own business.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

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
