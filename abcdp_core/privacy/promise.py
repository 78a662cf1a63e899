r"""What ε means to a person: odds, and what an attacker believes before and after.

The result of an ε-differentially private release is at most $e^{\epsilon}$ times as likely with one
record as with another in its place. So for someone who knows all other records, the odds of any
statement about this one change by at most that factor: a probability $p$ becomes one between

$$\frac{p}{p + (1-p)e^{\epsilon}} \quad\text{and}\quad
\frac{pe^{\epsilon}}{pe^{\epsilon} + 1 - p}.$$

Someone who knows fewer records may learn more: a release about many people teaches something about
each of them, whether their record is in it or not.
"""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, ROUND_UP, Decimal

import numpy as np

from abcdp_core.privacy.accounting import belief, in_digits


def odds(epsilon: float) -> str:
    """Return the factor e^ε in words, rounded up."""
    if epsilon > 14.0:
        return f"a factor of e^{in_digits(epsilon)}, more than a million"
    factor = math.exp(epsilon)
    digits = max(0, 2 - math.floor(math.log10(math.expm1(epsilon))))
    place = Decimal(1).scaleb(-digits)
    return f"a factor of {Decimal(math.nextafter(factor, math.inf)).quantize(place, ROUND_UP):,}"


def ends(epsilon: float) -> tuple[float, float]:
    """Return the lowest and highest percentage that a belief of 50 % can become."""
    low, high = belief(np.array([0.5]), epsilon)
    return 100.0 * float(low[0]), 100.0 * float(high[0])


def said(epsilon: float) -> tuple[str, str]:
    """Return :func:`ends` in words, rounded outwards to digits that show more than 50 % and 0 %."""
    low, _ = ends(epsilon)
    if low < 0.05:
        return "almost 0 %", "almost 100 %"
    digits = max(0, 1 - math.floor(math.log10(min(low, 50.0 - low))))
    place = Decimal(1).scaleb(-digits)
    least = Decimal(math.nextafter(low, 0.0)).quantize(place, ROUND_DOWN)
    texts = (f"{end:f}" for end in (least, 100 - least))
    short = [text.rstrip("0").rstrip(".") if digits else text for text in texts]
    return f"{short[0]} %", f"{short[1]} %"


def reach(epsilon: float) -> str:
    """Return the range that a belief of 50 % can reach, in words."""
    low, high = said(epsilon)
    if low.startswith("almost"):
        return f"anything from {low} to {high}"
    return f"{low} to {high}"


def promise_in_short(epsilon: float) -> str:
    """Return what ε_total promises, in two sentences."""
    return (
        f"Suppose someone who knows everyone else's record gives a statement about yours a 50 % "
        f"chance. After the release that chance is {reach(epsilon)}: the odds change by at most "
        f"{odds(epsilon)}."
    )


def presence_in_short(epsilon: float) -> str:
    """Return what ε_total promises if a record may be left out or added, in three sentences.

    Replacing a record takes two such steps.
    """
    return (
        f"Someone who knows everyone else's record gives it a 50 % chance that yours is in the "
        f"data; afterwards, {reach(epsilon)}. The odds change by at most {odds(epsilon)}. The odds "
        f"of a statement about the content of your record change by at most "
        f"{odds(2.0 * epsilon)}."
    )
