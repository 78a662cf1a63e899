"""Estimate averages, quantiles and shares over many cases, with 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from abcdp_core.base import summaries
from abcdp_core.base.arrays import Array

CONTROLLED = 8
"""Fewest cases for each control variate."""


@dataclass(frozen=True)
class Estimate:
    """A number above 0 and its 95 % interval.

    Both ends are NaN if there are too few cases for an interval; ``high`` is infinite if there are
    too few to bound a quantile from above.
    """

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def root(self) -> Estimate:
        """The square root; it turns a mean squared error into a root mean squared error."""
        return Estimate(math.sqrt(self.value), math.sqrt(self.low), math.sqrt(self.high))

    def times(self, other: Estimate) -> Estimate:
        """Return the product with an independent estimate; relative errors add as squares."""
        value = self.value * other.value
        below = math.hypot(math.log(self.value / self.low), math.log(other.value / other.low))
        above = math.hypot(math.log(self.high / self.value), math.log(other.high / other.value))
        return Estimate(value, value / math.exp(below), value * math.exp(above))


def average(
    values: Array, controls: Sequence[Array] = (), expected: Sequence[float] = ()
) -> Estimate:
    """Return the mean of positive values over cases.

    Control variates remove a known part of the chance between cases: the mean is that of a
    regression on the controls, at their expected values. The interval is Student's, on the
    logarithm, so that it stays above 0.

    Args:
        values: one for each case ``(k,)``, at least one.
        controls: other numbers of each case ``(k,)``; the first few are used, one for every
            :data:`CONTROLLED` cases.
        expected: expected values of the controls.
    """
    count, mean, spent = len(values), float(values.mean()), 1
    spread = 1.0 / count
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
            # The error of the slopes counts more if the controls are far from expected.
            spread += float(np.sum((off @ np.linalg.pinv(apart)) ** 2))
    if count <= spent or mean <= 0.0:
        return Estimate(mean)
    error = math.sqrt(float(left @ left) / (count - spent) * spread)
    factor = math.exp(min(float(special.stdtrit(count - spent, 0.975)) * error / mean, 700.0))
    return Estimate(mean, mean / factor, mean * factor)


def quantile(values: Array, probability: float) -> Estimate:
    """Return a quantile over the runs of all cases, ``(cases, runs)``.

    The ends of the interval are order statistics. Among k independent runs, the number below the
    true quantile is binomial; k is the effective number of runs, as runs of one case are alike. If
    the largest of k runs may well be below the quantile, there is no upper end.
    """
    value, count = float(np.quantile(values, probability)), _independent(values, probability)
    below = float(stats.binom.ppf(0.025, count, probability))
    above = float(stats.binom.ppf(0.975, count, probability)) + 1.0
    if below < 1.0:
        return Estimate(value)
    ordered = np.sort(values, axis=None)
    first, last = (math.floor(below / count * values.size), math.ceil(above / count * values.size))
    high = float(ordered[last - 1]) if above <= count else math.inf
    return Estimate(value, float(ordered[first - 1]), high)


def _independent(values: Array, probability: float) -> int:
    """The effective number of independent runs for a quantile."""
    cases, runs = values.shape
    beyond = (values > np.quantile(values, probability)).astype(float)
    spread = float(beyond.var())
    if runs == 1 or cases == 1 or spread == 0.0:
        return cases
    alike = runs * float(beyond.mean(axis=1).var(ddof=1)) / spread
    return int(values.size / min(max(alike, 1.0), runs))


def share(values: Array) -> Estimate:
    """Return the mean of shares ``(k,)``, with the interval of k yes-or-no outcomes."""
    count = len(values)
    low, high = summaries.binomial_interval(float(values.sum()), count)
    return Estimate(float(values.mean()), float(low), float(high))
