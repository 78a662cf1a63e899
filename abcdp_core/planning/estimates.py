"""What outcomes of many cases say on average, with 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from abcdp_core import summaries

Array = NDArray[np.float64]

CONTROLLED = 8
"""Fewest cases for each control variate by which their average is corrected."""


@dataclass(frozen=True)
class Estimate:
    """A number above 0 and its 95 % interval.

    Both ends are NaN where too few cases say how sure it is; ``high`` is infinite where they are
    too few to bound a quantile from above.
    """

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def root(self) -> Estimate:
        """The square root: of a mean squared error the root mean squared error."""
        return Estimate(math.sqrt(self.value), math.sqrt(self.low), math.sqrt(self.high))

    def times(self, other: Estimate) -> Estimate:
        """The product with an independent one: relative errors add up as squares."""
        value = self.value * other.value
        below = math.hypot(math.log(self.value / self.low), math.log(other.value / other.low))
        above = math.hypot(math.log(self.high / self.value), math.log(other.high / other.value))
        return Estimate(value, value / math.exp(below), value * math.exp(above))


def average(
    values: Array, controls: Sequence[Array] = (), expected: Sequence[float] = ()
) -> Estimate:
    """Mean of positive values over cases.

    With control variates, the mean of what is left of the values after a straight line in the
    controls, at the controls' expected values: part of the chance between cases is known, and goes.
    The interval is Student's, on the logarithm, so that it stays above 0.

    Args:
        values: one for each case ``(k,)``, at least one.
        controls: other numbers of each case ``(k,)``; as many as there are :data:`CONTROLLED`
            cases for each are used, the first ones.
        expected: the means of those over all cases there may be.
    """
    count, mean, spent = len(values), float(values.mean()), 1
    told = 1.0 / count
    left = values - mean
    used = min(len(controls), count // CONTROLLED)
    if used:
        both = np.column_stack([np.asarray(each) for each in controls[:used]])
        apart = both - both.mean(axis=0)
        slopes = np.linalg.lstsq(apart, left, rcond=None)[0]
        off = both.mean(axis=0) - np.array(expected[:used])
        corrected = mean - float(slopes @ off)
        if corrected > 0.0:
            mean, left, spent = corrected, left - apart @ slopes, 1 + used
            # The slopes are estimates, too, and count the more the further the controls are off.
            told += float(np.sum((off @ np.linalg.pinv(apart)) ** 2))
    if count <= spent or mean <= 0.0:
        return Estimate(mean)
    error = math.sqrt(float(left @ left) / (count - spent) * told)
    factor = math.exp(min(float(special.stdtrit(count - spent, 0.975)) * error / mean, 700.0))
    return Estimate(mean, mean / factor, mean * factor)


def quantile(values: Array, probability: float) -> Estimate:
    """Quantile over the releases of all cases, ``(cases, releases)``.

    The interval has releases for its ends. Of k independent ones, those below the true quantile are
    binomial in number; k is as many as tell as much as the releases of all cases do, of which those
    of one case are alike. Where the largest of k may well be below it there is no upper end: no
    resampling of what was seen could tell it.
    """
    found, count = float(np.quantile(values, probability)), _independent(values, probability)
    below = float(stats.binom.ppf(0.025, count, probability))
    above = float(stats.binom.ppf(0.975, count, probability)) + 1.0
    if below < 1.0:
        return Estimate(found)
    ordered = np.sort(values, axis=None)
    first, last = (math.floor(below / count * values.size), math.ceil(above / count * values.size))
    high = float(ordered[last - 1]) if above <= count else math.inf
    return Estimate(found, float(ordered[first - 1]), high)


def _independent(values: Array, probability: float) -> int:
    """How many independent releases tell as much of a quantile as those of all cases."""
    cases, releases = values.shape
    beyond = (values > np.quantile(values, probability)).astype(float)
    spread = float(beyond.var())
    if releases == 1 or cases == 1 or spread == 0.0:
        return cases
    alike = releases * float(beyond.mean(axis=1).var(ddof=1)) / spread
    return int(values.size / min(max(alike, 1.0), releases))


def share(values: Array) -> Estimate:
    """Mean of shares ``(k,)``, its interval as if each case counted whole or not at all."""
    count = len(values)
    low, high = summaries.binomial_interval(float(values.sum()), count)
    return Estimate(float(values.mean()), float(low), float(high))
