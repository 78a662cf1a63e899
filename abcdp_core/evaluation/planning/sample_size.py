"""Find the least budget, or the fewest people, that meet a goal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from abcdp_core.base import sentences
from abcdp_core.base.arrays import Array
from abcdp_core.evaluation.planning.estimates import Estimate

NAMES = {"epsilon_total": "ε_total", "n": "N"}
"""Budget and size, as sentences have them."""


@dataclass(frozen=True)
class Enough:
    """The least ε_total or N that is enough.

    Attributes:
        value: infinite if no value that was tried is enough.
        low, high: the same at the ends of the predictions' 95 % intervals; NaN without intervals.
        why: the reason, in words; tables have it.
    """

    value: float
    low: float
    high: float
    why: str


def enough(x: Array, y: Sequence[Estimate], home: float, wanted: float, knob: str) -> Enough:
    """Return the least x from which y is at most ``wanted``.

    If ``home`` is not enough, a smaller x is not enough either, whatever few cases say by chance.

    Args:
        x: ascending; contains ``home``, the x of the request.
        y: predictions at x; infinite if they do not count.
        home, wanted: above 0.
        knob: name of x, one of :data:`NAMES`.
    """
    less = x < home

    def at(predicted: Array) -> tuple[float, str]:
        if np.isnan(predicted[~less][0]):
            return math.nan, ""
        used = ~less if predicted[~less][0] > wanted else np.ones(len(x), bool)
        # A point without an interval counts as not enough.
        lowest = np.minimum.accumulate(
            np.nan_to_num(predicted[used], nan=math.inf, posinf=math.inf)
        )
        return least(x[used], lowest, wanted, knob)

    value, why = at(np.array([each.value for each in y]))
    low, _ = at(np.array([each.low for each in y]))
    high, _ = at(np.array([each.high for each in y]))
    return Enough(value, low, high, why)


def least(x: Array, y: Array, wanted: float, knob: str) -> tuple[float, str]:
    """Return the least x from which y, which never rises, is at most ``wanted``, and the reason.

    Between two points, x is interpolated in logarithms and rounded up to two digits.
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
