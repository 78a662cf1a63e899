"""What outcomes of many cases say on average, with 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from abcdp_core import summaries
from abcdp_core.streams import generator

Array = NDArray[np.float64]

CONTROLLED = 8
"""Fewest cases for each control variate by which their average is corrected."""

RESAMPLES = 200
"""Of the cases, for the interval of a quantile."""


@dataclass(frozen=True)
class Estimate:
    """A number above 0 and its 95 % interval, NaN where too few cases say how sure it is."""

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def root(self) -> Estimate:
        """The square root: of a mean squared error the root mean squared error."""
        return Estimate(math.sqrt(self.value), math.sqrt(self.low), math.sqrt(self.high))

    def times(self, other: Estimate) -> Estimate:
        """The product with an independent one: relative errors add up as squares."""
        apart = math.hypot(math.log(self.high / self.value), math.log(other.high / other.value))
        value, factor = self.value * other.value, math.exp(apart)
        return Estimate(value, value / factor, value * factor)


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
    left = values - mean
    used = min(len(controls), count // CONTROLLED)
    if used:
        both = np.column_stack([np.asarray(each) for each in controls[:used]])
        apart = both - both.mean(axis=0)
        slopes = np.linalg.lstsq(apart, left, rcond=None)[0]
        corrected = mean - float(slopes @ (both.mean(axis=0) - np.array(expected[:used])))
        if corrected > 0.0:
            mean, left, spent = corrected, left - apart @ slopes, 1 + used
    if count <= spent or mean <= 0.0:
        return Estimate(mean)
    error = math.sqrt(float(left @ left) / (count - spent) / count)
    factor = math.exp(min(float(special.stdtrit(count - spent, 0.975)) * error / mean, 700.0))
    return Estimate(mean, mean / factor, mean * factor)


def quantile(values: Array, probability: float) -> Estimate:
    """Quantile over the releases of all cases, ``(cases, releases)``; interval by bootstrap.

    Cases are drawn with replacement, each with all its releases.
    """
    found = float(np.quantile(values, probability))
    if len(values) < 2:
        return Estimate(found)
    rng = generator(0, "plan-bootstrap")
    drawn = rng.integers(len(values), size=(RESAMPLES, len(values)))
    each = np.quantile(values[drawn].reshape(RESAMPLES, -1), probability, axis=1)
    low, high = np.quantile(each, [0.025, 0.975])
    return Estimate(found, float(low), float(high))


def share(values: Array) -> Estimate:
    """Mean of shares ``(k,)``, its interval as if each case counted whole or not at all."""
    count = len(values)
    low, high = summaries.binomial_interval(float(values.sum()), count)
    return Estimate(float(values.mean()), float(low), float(high))
