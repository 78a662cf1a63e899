"""Find the least noise that fits a budget, and round costs to the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

PRECISION = 1e-13
"""Largest relative excess of a noise scale over the least one that fits."""


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


def check_counts(**numbers: int) -> None:
    """Raise a ValueError unless all numbers are at least 1."""
    for name, value in numbers.items():
        if value < 1:
            raise ValueError(f"{name} = {value}: must be at least 1.")


def check_one_of(known: Sequence[str], **names: str) -> None:
    """Raise a ValueError unless all names are among the known ones."""
    for argument, name in names.items():
        if name not in known:
            raise ValueError(f"{argument} = {name}: must be one of {', '.join(known)}.")


def round_up(value: Fraction) -> float:
    """Return the smallest floating-point number that is not below a value."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def ratio(sensitivity: float, scale: float) -> float:
    """Return sensitivity / scale, rounded up: ε of Laplace or norm noise; ``inf`` without noise."""
    return math.inf if scale == 0 else round_up(Fraction(sensitivity) / Fraction(scale))


def scale_for(epsilon: float, sensitivity: float) -> float:
    """Return the least noise scale whose :func:`ratio` is at most ε, up to rounding."""
    scale = sensitivity / epsilon
    while Fraction(sensitivity) / Fraction(scale) > Fraction(epsilon):
        scale = math.nextafter(scale, math.inf)
    return scale


def laplace_unit_scale(epsilon_total: float) -> float:
    """Return the Laplace scale per unit of sensitivity for a budget, rounded safely (MATH A1).

    Raises:
        ValueError: the budget is not positive and finite.
    """
    check_positive(epsilon_total=epsilon_total)
    return scale_for(epsilon_total, 1.0)


def smallest_satisfying(fits: Callable[[float], bool], start: float) -> float:
    """Return the smallest positive number that fits, to :data:`PRECISION`; it fits itself.

    Bracket the answer by doubling and halving, then bisect its logarithm.

    Args:
        fits: false below the answer and true from there on.
        start: positive and finite; any guess will do.

    Raises:
        ValueError: the answer is 0 or infinite in floating point.
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
