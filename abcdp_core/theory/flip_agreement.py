"""Do simulated flips come from their formula, and what could the test have shown?

All frequencies are tested together at :data:`JOINT_LEVEL`. Only a range is known for the p-value of
that test: it is at least the smallest of the single ones, and at most that times their number
(Bonferroni). A test that rejects nothing says only as much as it could have detected, so it comes
with the nearest noise scales that it would have rejected at least half the time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from abcdp_core import summaries
from abcdp_core.theory import flip

Array = NDArray[np.float64]

JOINT_LEVEL = 0.01
"""Level of the joint test behind the sentence "simulation agrees"."""


@dataclass(frozen=True)
class Agreement:
    """What the joint test says of all fresh frequencies against their formula.

    Attributes:
        least: smallest of the single p-values; that of the joint test is no smaller.
        most: that times their number, at most 1; it is no larger (Bonferroni).
        lower: factor of the noise scale below 1, nearest to it, that the test would have rejected
            with probability one half or more; 0 if there is none in reach.
        upper: the same above 1; infinite if there is none.
    """

    least: float
    most: float
    lower: float
    upper: float

    @property
    def rejects(self) -> bool:
        """Whether the frequencies do not come from the formula."""
        return self.most < JOINT_LEVEL

    @property
    def tells_nothing(self) -> bool:
        """Whether noise of any other size would have passed as well."""
        return not self.rejects and self.lower == 0.0 and math.isinf(self.upper)

    def in_short(self) -> str:
        """The outcome of the test, as a clause."""
        if self.tells_nothing:
            return "whether simulation agrees with the formula cannot be told here"
        return f"simulation {'does not agree' if self.rejects else 'agrees'} with the formula"

    def sentence(self) -> str:
        """What was found, and what could have been."""
        if self.tells_nothing:
            return (
                "Whether simulation agrees with the formula cannot be told here: hardly any "
                "probability depends on the size of the noise."
            )
        found = "does not agree" if self.rejects else "agrees"
        return (
            f"Simulation with a fresh threshold {found} with the formula (joint test at 1 %, "
            f"{self._p_value()}).{'' if self.rejects else self._reach()}"
        )

    def _p_value(self) -> str:
        least, most = (
            f"{value:.2g}" if value >= 0.001 else "below 0.001" for value in (self.least, self.most)
        )
        if least == most:
            return f"p {least}" if self.most < 0.001 else f"p = {least}"
        return f"p from {least} to {most}, Bonferroni"

    def _reach(self) -> str:
        """The nearest noise scales that the test tells from the one at hand, rounded away."""
        ends = []
        if self.lower > 0.0:
            ends.append(f"{math.ceil(100.0 * (1.0 - self.lower))} % too small")
        if self.upper < 2.0:
            ends.append(f"{math.ceil(100.0 * (self.upper - 1.0))} % too large")
        elif math.isfinite(self.upper):
            ends.append(f"{math.ceil(self.upper)} times as large")
        missed = "small" if self.lower == 0.0 else "large"
        other = "" if len(ends) == 2 else f"; noise much too {missed} would mostly go unnoticed"
        return f" It would detect noise {' or '.join(ends)} at least half the time{other}."


def agreement(counts: Array, trials: int, expected: Array, away: Array, scale: Array) -> Agreement:
    """Test of how often draws were flipped against the formula.

    Args:
        counts: flips of each draw ``(k,)``.
        trials: decisions about each.
        expected: probability that each flips by the formula ``(k,)``.
        away: distance of each from the threshold ``(k,)``.
        scale: noise scale b of each ``(k,)``.
    """
    least = float(summaries.binomial_p_values(counts, trials, expected).min())
    most = min(1.0, len(counts) * least)
    ends = (_told_from(trials, expected, away, scale, below=below) for below in (True, False))
    return Agreement(least, most, *ends)


LARGEST_FACTOR = 100.0
"""A test that misses so much more or less noise counts as telling nothing."""


def _told_from(trials: int, expected: Array, away: Array, scale: Array, *, below: bool) -> float:
    """The factor of the noise scale nearest 1 that the joint test rejects every second time.

    With it some draw's count would lie, in half of all simulations, at its median or beyond. So the
    test rejects at least that often if it rejects the median, rounded towards what is expected.
    """
    usual = trials * expected

    def rejects(log_factor: float) -> bool:
        factor = math.exp(-log_factor if below else log_factor)
        medians = trials * flip.tail(away / (factor * scale), 1.0)
        counts = np.ceil(medians) if below else np.floor(medians)
        beyond = (counts < usual) if below else (counts > usual)
        p_values = summaries.binomial_p_values(counts[beyond], trials, expected[beyond])
        return bool(len(expected) * p_values.min(initial=1.0) < JOINT_LEVEL)

    low, high = 0.0, math.log(LARGEST_FACTOR)
    if not rejects(high):
        return 0.0 if below else math.inf
    while high - low > 1e-3:
        middle = (low + high) / 2.0
        low, high = (low, middle) if rejects(middle) else (middle, high)
    return math.exp(-high if below else high)
