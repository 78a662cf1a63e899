"""Statistical checks, the only place where a test may fail by chance.

Each check has a false-alarm probability ``false_alarm``, 1e-6 by default, and is exact or
conservative: no approximation raises it. Seeds are fixed, so a check that passes keeps passing; the
rate says how surprising a failure after a change of code would be. :func:`miss_probability` bounds
how often a given wrong distribution would pass, and :func:`rejects` is for negative controls:
broken versions that a check must reject.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.base.arrays import Array

Counts = NDArray[np.int64]

FALSE_ALARM = 1e-6
"""Probability that a check fails although the code is right."""


def assert_frequencies(
    counts: Counts, probabilities: Array, false_alarm: float = FALSE_ALARM
) -> None:
    """Check counts ``(k,)`` of independent runs against outcome probabilities ``(k,)``.

    Each count is binomial, and its exact two-sided tail must not be below ``false_alarm / k``
    (Bonferroni: outcomes depend on each other). For k of about ten, it detects a probability that
    is off by some 6 standard deviations, 6 √(p (1 − p) / n) for n runs.
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
    """Check independent draws ``(n,)`` against a continuous distribution (Kolmogorov-Smirnov).

    The distribution of the largest gap is exact; at a false alarm of 1e-6 a gap of 2.7/√n fails. A
    distribution at a gap of 5.4/√n is missed with probability 1e-6 as well: 20 000 draws detect a
    gap of 0.038. A Laplace scale that is off by √2 has a gap of 0.063.
    """
    n = len(sample)
    values, steps = cdf(np.sort(sample)), np.arange(n + 1) / n
    gap = float(max(np.max(steps[1:] - values), np.max(values - steps[:-1])))
    allowed = float(stats.kstwo.isf(false_alarm, n))
    if gap > allowed:
        raise AssertionError(f"{n} draws have a gap of {gap:.4f}, more than {allowed:.4f}")


def assert_mean(
    sample: Array, expected: float, low: float, high: float, false_alarm: float = FALSE_ALARM
) -> None:
    """Check the mean of independent draws ``(n,)`` in [low, high] (Hoeffding's inequality).

    At a false alarm of 1e-6 a difference above 2.7 (high − low)/√n fails, and one of twice that
    size is missed with probability 1e-6 as well.
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
    """Check the means ``(k,)`` of k estimates over independent repeats ``(R, k)`` (Student's t).

    A particle estimate has a bias of order 1/N, so each mean may differ by ``bias`` ``(k,)`` plus t
    standard errors. The test is exact for normal estimates; these are averages over hundreds of
    draws. Each estimate has a k-th of the false alarm (Bonferroni). With 24 repeats and k = 4 a
    difference above bias + 1.6 standard deviations of one repeat fails.
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
    """Check that two independent samples have the same distribution (Kolmogorov-Smirnov).

    Conservative: by the triangle inequality, the gap between the two empirical distributions is at
    most the sum of their gaps from the true one, each with half the false alarm.
    """
    gap = float(stats.ks_2samp(first, second).statistic)
    allowed = sum(float(stats.kstwo.isf(false_alarm / 2.0, len(s))) for s in (first, second))
    if gap > allowed:
        raise AssertionError(f"two samples differ by {gap:.4f}, more than {allowed:.4f}")


def rejects(check: Callable[..., None], *arguments: Any) -> bool:
    """Return whether a check fails, for negative controls."""
    try:
        check(*arguments)
    except AssertionError:
        return True
    return False


def miss_probability(
    probabilities: Array, actual: Array, runs: int, false_alarm: float = FALSE_ALARM
) -> float:
    """Bound the probability that :func:`assert_frequencies` passes outcomes of ``actual``.

    Every outcome must pass, so the bound is the smallest probability of any of them passing.

    Args:
        probabilities: outcome probabilities ``(k,)`` that the check assumes.
        actual: outcome probabilities ``(k,)`` of the data.
        runs: number of independent runs.
        false_alarm: false-alarm probability of the check.
    """
    tail = false_alarm / len(probabilities) / 2.0
    # Counts that pass have neither tail below the level.
    low = stats.binom.ppf(tail, runs, probabilities)
    high = stats.binom.isf(tail, runs, probabilities)
    passing = stats.binom.cdf(high, runs, actual) - stats.binom.cdf(low - 1, runs, actual)
    return float(np.min(passing))
