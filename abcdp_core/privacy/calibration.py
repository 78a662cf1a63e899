"""The least noise that fits a budget, where no formula gives it."""

from __future__ import annotations

import math
from collections.abc import Callable

PRECISION = 1e-13
"""A noise found is at most this much, relatively, above the least one."""


def least(fits: Callable[[float], bool], start: float) -> float:
    """The smallest positive number that fits, from above: what is returned fits itself.

    Bracketed by doubling and halving, then bisected in its logarithm, so that the scale of the
    answer does not matter.

    Args:
        fits: false below the answer and true from there on.
        start: where to begin, positive and finite; any guess will do.

    Raises:
        ValueError: nothing that floating point can tell from 0 or from infinity is the answer.
    """
    low = high = start
    while not fits(high):
        low, high = high, 2.0 * high
        if math.isinf(high):
            raise ValueError("no finite noise is enough.")
    while fits(low):
        low, high = 0.5 * low, low
        if low == 0.0:
            raise ValueError("any noise at all is enough.")
    while high > low * (1.0 + PRECISION):
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
