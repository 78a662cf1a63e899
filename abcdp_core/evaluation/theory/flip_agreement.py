"""Test simulated flips against their formula, and report the power of the test.

All frequencies are tested jointly at :data:`JOINT_LEVEL`. The joint p-value is between the smallest
single p-value and that times their number (Bonferroni). A test without a rejection is only as good
as its power, so it reports the nearest noise scales that it would reject at least half the time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from abcdp_core.base import summaries
from abcdp_core.base.arrays import Array
from abcdp_core.evaluation.theory import flip

JOINT_LEVEL = 0.01
"""Level of the joint test."""


@dataclass(frozen=True)
class Agreement:
    """Joint test of all fresh frequencies against their formula.

    Attributes:
        least, most: lower and upper bound on the joint p-value.
        lower: largest factor below 1 of the noise scale that the test would reject with probability
            one half or more; 0 if there is none in reach.
        upper: smallest such factor above 1; infinite if there is none.
    """

    least: float
    most: float
    lower: float
    upper: float

    @property
    def rejects(self) -> bool:
        """Whether the test rejects the formula."""
        return self.most < JOINT_LEVEL

    @property
    def tells_nothing(self) -> bool:
        """Whether the test would pass noise of any size."""
        return not self.rejects and self.lower == 0.0 and math.isinf(self.upper)

    def in_short(self) -> str:
        """State the outcome as a clause."""
        if self.tells_nothing:
            return "simulation cannot test the formula here"
        verdict = "differs" if self.rejects else "shows no difference"
        return f"simulation {verdict} from the formula"

    def sentence(self) -> str:
        """State the outcome and the power of the test."""
        if self.tells_nothing:
            return (
                "Simulation cannot test the formula here: hardly any probability depends on the "
                "size of the noise."
            )
        verdict = "differs" if self.rejects else "shows no difference"
        p = f"p = {self.most:.2g}" if self.most >= 0.001 else "p below 0.001"
        return (
            f"Simulation with a fresh threshold {verdict} from the formula (joint test at the 1 % "
            f"level, Bonferroni-adjusted {p}).{'' if self.rejects else self._reach()}"
        )

    def _reach(self) -> str:
        """State the nearest noise scales that the test detects, rounded away."""
        ends = []
        if self.lower > 0.0:
            ends.append(f"{math.ceil(100.0 * (1.0 - self.lower))} % too small")
        if self.upper < 2.0:
            ends.append(f"{math.ceil(100.0 * (self.upper - 1.0))} % too large")
        elif math.isfinite(self.upper):
            ends.append(f"{math.ceil(self.upper)} times as large")
        missed = "small" if self.lower == 0.0 else "large"
        other = "" if len(ends) == 2 else f"; it would mostly miss noise that is much too {missed}"
        return (
            f" With noise {' or '.join(ends)}, the test would find a difference at least half the "
            f"time{other}."
        )


def agreement(counts: Array, trials: int, expected: Array, away: Array, scale: Array) -> Agreement:
    """Test counts of flips against the formula.

    Args:
        counts: flips of each draw ``(k,)``.
        trials: number of decisions about each draw.
        expected: flip probabilities by the formula ``(k,)``.
        away: distances from the threshold ``(k,)``.
        scale: noise scales b ``(k,)``.
    """
    least = float(summaries.binomial_p_values(counts, trials, expected).min())
    most = min(1.0, len(counts) * least)
    ends = (_told_from(trials, expected, away, scale, below=below) for below in (True, False))
    return Agreement(least, most, *ends)


LARGEST_FACTOR = 100.0
"""Largest factor of the noise scale searched."""


def _told_from(trials: int, expected: Array, away: Array, scale: Array, *, below: bool) -> float:
    """Return the factor of the noise scale nearest 1 that the joint test rejects half the time.

    Some draw's count is at its median or beyond in half of all simulations. So the test rejects at
    least that often if it rejects the median, rounded towards the expected count.
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
