"""The one place where a test may be wrong by chance.

Each check takes the probability ``false_alarm`` of failing although all is well, 1e-6 unless said
otherwise, and is exact or conservative: no approximation raises it. Seeds are fixed, so a check
that passes keeps passing; the rate says how surprising a failure after a change of code would be.
A check is worth what it can see: :func:`miss_probability` bounds how often an outcome law that is
wrong in a given way would pass, and :func:`rejects` keeps broken versions as negative controls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

FALSE_ALARM = 1e-6
"""Probability that a check fails although all is well."""


def assert_frequencies(
    counts: Counts, probabilities: Array, false_alarm: float = FALSE_ALARM
) -> None:
    """Counts ``(k,)`` of independent runs agree with the probabilities ``(k,)`` of the outcomes.

    Every count alone is binomial; its exact two-sided tail must not be below ``false_alarm / k``
    (Bonferroni, so the outcomes may depend on each other, as they do). With n runs it sees an
    outcome whose probability is off by some 6 standard deviations, 6 √(p (1 − p) / n), for k
    of about ten.
    """
    if not np.isclose(probabilities.sum(), 1.0, rtol=0.0, atol=1e-9):
        raise ValueError(f"probabilities sum to {probabilities.sum()}, not 1.")
    runs = int(counts.sum())
    lower = stats.binom.cdf(counts, runs, probabilities)
    upper = stats.binom.sf(counts - 1, runs, probabilities)
    p_values = np.minimum(1.0, 2.0 * np.minimum(lower, upper))
    worst = int(np.argmin(p_values))
    if p_values[worst] < false_alarm / len(counts):
        raise AssertionError(
            f"outcome {worst} of {len(counts)} came up {counts[worst]} times in {runs} runs, "
            f"expected {runs * probabilities[worst]:.1f}: p = {p_values[worst]:.2g}"
        )


def assert_distribution(
    sample: Array, cdf: Callable[[Array], Array], false_alarm: float = FALSE_ALARM
) -> None:
    """Independent draws ``(n,)`` come from a continuous distribution function (Kolmogorov-Smirnov).

    The law of the largest gap between the two distribution functions is the exact one; at a false
    alarm of 1e-6 a gap of 2.7/√n fails. So a sample of n misses a law that is 5.4/√n away from the
    right one with a probability of 1e-6 as well: 20 000 draws see a gap of 0.038. A Laplace scale
    that is off by √2 is a gap of 0.063.
    """
    n = len(sample)
    values, steps = cdf(np.sort(sample)), np.arange(n + 1) / n
    gap = float(max(np.max(steps[1:] - values), np.max(values - steps[:-1])))
    allowed = float(stats.kstwo.isf(false_alarm, n))
    if gap > allowed:
        raise AssertionError(f"{n} draws are {gap:.4f} off their law, more than {allowed:.4f}")


def assert_mean(
    sample: Array, expected: float, low: float, high: float, false_alarm: float = FALSE_ALARM
) -> None:
    """Independent draws ``(n,)`` that lie in [low, high] have this mean (Hoeffding's inequality).

    At a false alarm of 1e-6 it fails from a difference of 2.7 (high − low)/√n on, so it misses one
    of twice that size with a probability of 1e-6 as well.
    """
    if not (low <= sample.min() and sample.max() <= high):
        raise ValueError(f"draws from {sample.min()} to {sample.max()}: not in the stated range.")
    difference = abs(float(sample.mean()) - expected)
    allowed = (high - low) * math.sqrt(math.log(2.0 / false_alarm) / (2.0 * len(sample)))
    if difference > allowed:
        raise AssertionError(f"the mean is {difference:.4g} off, more than {allowed:.4g}")


def assert_mean_of_repeats(
    values: Array, expected: Array, bias: Array, false_alarm: float = FALSE_ALARM
) -> None:
    """Independent repeats ``(R, k)`` of k estimates have these means ``(k,)`` (Student's t test).

    A particle estimate has a bias of order 1/N beside its noise, so each mean may be ``bias``
    ``(k,)`` off, and t standard errors of the repeats' own spread more. The law is exact for normal
    estimates; these are averages over hundreds of draws. Of the estimates, each takes a k-th of the
    false alarm (Bonferroni). With 24 repeats and k = 4 it fails from bias + 1.6 standard deviations
    of one repeat on.
    """
    runs, count = values.shape
    error = values.std(axis=0, ddof=1) / math.sqrt(runs)
    allowed = bias + float(stats.t.isf(false_alarm / (2.0 * count), runs - 1)) * error
    difference = np.abs(values.mean(axis=0) - expected)
    worst = int(np.argmax(difference / allowed))
    if difference[worst] > allowed[worst]:
        raise AssertionError(
            f"estimate {worst} of {count} is {difference[worst]:.4g} off on average, "
            f"more than {allowed[worst]:.4g}"
        )


def assert_same_distribution(first: Array, second: Array, false_alarm: float = FALSE_ALARM) -> None:
    """Two samples of independent draws come from one continuous distribution (Kolmogorov-Smirnov).

    Conservative: by the triangle inequality, the gap between two empirical distribution functions
    is the sum of their gaps from the true one, each of which may use up half the false alarm.
    """
    gap = float(stats.ks_2samp(first, second).statistic)
    allowed = sum(float(stats.kstwo.isf(false_alarm / 2.0, len(s))) for s in (first, second))
    if gap > allowed:
        raise AssertionError(f"two samples differ by {gap:.4f}, more than {allowed:.4f}")


def rejects(check: Callable[..., None], *arguments: Any) -> bool:
    """Whether a check fails, for negative controls: broken versions that it must see."""
    try:
        check(*arguments)
    except AssertionError:
        return True
    return False


def miss_probability(
    probabilities: Array, actual: Array, runs: int, false_alarm: float = FALSE_ALARM
) -> float:
    """Bound on the probability that :func:`assert_frequencies` passes an outcome law ``actual``.

    To pass, every single outcome must pass; the bound is that of the outcome which tells most.

    Args:
        probabilities: outcome law ``(k,)`` that the check assumes.
        actual: outcome law ``(k,)`` of what is checked.
        runs: number of independent runs.
        false_alarm: of the check.
    """
    tail = false_alarm / len(probabilities) / 2.0
    # The counts that pass: neither tail below the level.
    low = stats.binom.ppf(tail, runs, probabilities)
    high = stats.binom.isf(tail, runs, probabilities)
    passing = stats.binom.cdf(high, runs, actual) - stats.binom.cdf(low - 1, runs, actual)
    return float(np.min(passing))
