"""What would be enough for a goal: the least budget, or the fewest people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from abcdp_core import sentences
from abcdp_core.planning.estimates import Estimate

Array = NDArray[np.float64]

NAMES = {"epsilon_total": "ε_total", "n": "N"}
"""What can be had more of, as it stands in a sentence."""


@dataclass(frozen=True)
class Enough:
    """The least that is enough.

    Attributes:
        value: of ε_total or N; infinite if nothing that was looked at is.
        low, high: the same at both ends of the 95 % intervals of what is predicted; NaN where
            there are none.
        why: how that is known.
    """

    value: float
    low: float
    high: float
    why: str


def enough(x: Array, y: Sequence[Estimate], home: float, wanted: float, knob: str) -> Enough:
    """The least x from which what a goal is about is at most what is wanted.

    What does not do here does not do with less, whatever chance says of few cases.

    Args:
        x: ascending, ``home`` among them.
        y: what is predicted there; infinite where it does not count.
        home: the x that was asked for.
        wanted: above 0.
        knob: what x is, one of :data:`NAMES`.
    """
    less = x < home

    def at(predicted: Array) -> tuple[float, str]:
        if np.isnan(predicted[~less][0]):
            return math.nan, ""
        used = ~less if predicted[~less][0] > wanted else np.ones(len(x), bool)
        # Of a point without an interval nothing is known here.
        lowest = np.minimum.accumulate(
            np.nan_to_num(predicted[used], nan=math.inf, posinf=math.inf)
        )
        return least(x[used], lowest, wanted, knob)

    value, why = at(np.array([each.value for each in y]))
    low, _ = at(np.array([each.low for each in y]))
    high, _ = at(np.array([each.high for each in y]))
    return Enough(value, low, high, why)


def least(x: Array, y: Array, wanted: float, knob: str) -> tuple[float, str]:
    """The least x from which y is at most what is wanted, and how that is known.

    Between two points it is on a straight line in logarithms, rounded up to two digits.

    Args:
        x: ascending.
        y: never ascending.
        wanted: above 0.
        knob: what x is, one of :data:`NAMES`.
    """
    reached, name = np.flatnonzero(y <= wanted), NAMES[knob]
    if not len(reached):
        if math.isinf(y[-1]):
            more = f" and above, up to {x[-1]:,g}" * (len(x) > 1)
            return math.inf, f"its intervals miss the truth too often at {name} = {x[0]:,g}{more}"
        return (
            math.inf,
            f"{sentences.above(float(y[-1]), wanted)} is predicted even at {name} = {x[-1]:,g}",
        )
    first = int(reached[0])
    if first == 0:
        return float(x[0]), f"the smallest {name} that was looked at"
    if math.isinf(y[first - 1]):
        missing = f"its intervals miss the truth too often at {name} = {x[first - 1]:,g}"
        return float(x[first]), missing
    (x0, x1), (y0, y1) = np.log(x[first - 1 : first + 1]), np.log(y[first - 1 : first + 1])
    between = math.exp(x0 + (x1 - x0) * (y0 - math.log(wanted)) / (y0 - y1))
    digits = 1 - math.floor(math.log10(between))
    rounded = math.ceil(between * 10.0**digits * (1.0 - 1e-9)) / 10.0**digits
    where = f"between {name} = {x[first - 1]:,g} and {x[first]:,g}"
    return min(rounded, float(x[first])), where
