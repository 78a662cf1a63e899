"""The least noise that fits a budget, and costs rounded to the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

PRECISION = 1e-13
"""A noise found is at most this much, relatively, above the least one."""


def check_positive(**numbers: float) -> None:
    """Raise a ValueError unless all numbers are positive and finite."""
    for name, value in numbers.items():
        if not 0.0 < value < math.inf:
            raise ValueError(f"{name} = {value}: must be positive and finite.")


def check_between_0_and_1(**numbers: float) -> None:
    """Raise a ValueError unless all numbers are above 0 and below 1."""
    for name, value in numbers.items():
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} = {value}: must lie between 0 and 1.")


def round_up(value: Fraction) -> float:
    """The smallest number that is not below a value."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def ratio(sensitivity: float, scale: float) -> float:
    """Sensitivity / scale, rounded up: ε of Laplace or norm noise; ``inf`` without noise."""
    return math.inf if scale == 0 else round_up(Fraction(sensitivity) / Fraction(scale))


def scale_for(epsilon: float, sensitivity: float) -> float:
    """The noise scale whose :func:`ratio` is at most ε, from the quotient upwards."""
    scale = sensitivity / epsilon
    while Fraction(sensitivity) / Fraction(scale) > Fraction(epsilon):
        scale = math.nextafter(scale, math.inf)
    return scale


def smallest_satisfying(fits: Callable[[float], bool], start: float) -> float:
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
