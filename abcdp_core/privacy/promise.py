r"""What ε means to a person: odds, and what an attacker believes before and after.

What comes out of an ε-differentially private release is at most $e^{\epsilon}$ times as likely with
one record as with another in its place. For one who knows all other records, the odds of any
statement about this one change by no more than that factor: believed with probability $p$ before,
it is believed afterwards with a probability between

$$\frac{p}{p + (1-p)e^{\epsilon}} \quad\text{and}\quad
\frac{pe^{\epsilon}}{pe^{\epsilon} + 1 - p}.$$

Where records tell about one another, someone who knows fewer of them may learn more: a release
about many people teaches about each of them, whether their record is in it or not.
"""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, ROUND_UP, Decimal

import numpy as np

from abcdp_core.privacy.accounting import belief, in_digits


def odds(epsilon: float) -> str:
    """The factor e^ε in words: a bound, so what is printed is never below it."""
    if epsilon > 14.0:
        return f"a factor of e^{in_digits(epsilon)}, more than a million"
    factor = math.exp(epsilon)
    digits = max(0, 2 - math.floor(math.log10(math.expm1(epsilon))))
    place = Decimal(1).scaleb(-digits)
    return f"a factor of {Decimal(math.nextafter(factor, math.inf)).quantize(place, ROUND_UP):,}"


STRENGTHS = {0.1: "very strong", 1.0: "strong", 5.0: "moderate", math.inf: "weak"}
"""Largest ε_total -> what it is called."""


def promise_in_full(epsilon: float) -> str:
    """What ε_total promises, to whom, with numbers."""
    strength = next(word for limit, word in STRENGTHS.items() if epsilon <= limit)
    return (
        f"ε_total = {in_digits(epsilon)} is a **{strength}** guarantee: putting another record in "
        f"place of yours changes the probability of any result by at most {odds(epsilon)}. Take "
        f"someone who knows everybody else's record and believes with 50 % that yours has a "
        f"certain value. After the release they believe it with {reach(epsilon)}. Someone who "
        f"knows less may learn more about you, as from any study of many people: ε_total limits "
        f"only how much the release depends on your record."
    )


CERTAIN = 5e-4
"""A belief below is called almost 0."""


def ends(epsilon: float) -> tuple[float, float]:
    """Least and largest that a belief of 50 % can become, in per cent."""
    low, high = belief(np.array([0.5]), epsilon)
    return 100.0 * float(low[0]), 100.0 * float(high[0])


def said(epsilon: float) -> tuple[str, str]:
    """The same with as many digits as tell it from 50 % and from 0, rounded outwards."""
    low, _ = ends(epsilon)
    if low < 100.0 * CERTAIN:
        return "almost 0 %", "almost 100 %"
    digits = max(0, 1 - math.floor(math.log10(min(low, 50.0 - low))))
    place = Decimal(1).scaleb(-digits)
    least = Decimal(math.nextafter(low, 0.0)).quantize(place, ROUND_DOWN)
    texts = (f"{end:f}" for end in (least, 100 - least))
    short = [text.rstrip("0").rstrip(".") if digits else text for text in texts]
    return f"{short[0]} %", f"{short[1]} %"


def reach(epsilon: float) -> str:
    """Where a belief of 50 % can get, in words."""
    low, high = said(epsilon)
    if low.startswith("almost"):
        return f"anything from {low} to {high}"
    return f"{low} to {high}"


def promise_in_short(epsilon: float) -> str:
    """What ε_total promises, in two sentences."""
    return (
        f"Someone who knows everyone else's record, and believes a statement about yours with "
        f"50 %, then believes it with {reach(epsilon)}. The odds change by at most "
        f"{odds(epsilon)}."
    )


def presence_in_short(epsilon: float) -> str:
    """What ε_total promises where a record is left out or added, in two sentences.

    Two different records in the same place are two such steps apart.
    """
    return (
        f"Someone who knows everyone else's record, and believes with 50 % that yours is among the "
        f"data, then believes it with {reach(epsilon)}. The odds change by at most "
        f"{odds(epsilon)}; those of a statement about what your record says by at most "
        f"{odds(2.0 * epsilon)}."
    )
