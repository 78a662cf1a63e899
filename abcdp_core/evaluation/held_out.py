"""Measure the error and coverage of private releases from a pool made elsewhere.

Some draws of the pool are held out. Each serves once as private data, with its parameters as the
truth, and is released by the private summary with all other draws as the pool. All data are public,
so no privacy budget is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from abcdp_core.base import summaries
from abcdp_core.base.streams import generator
from abcdp_core.mechanisms import Budget, private_summary
from abcdp_core.models.own_model.pool_file import Numbers, PoolFile, side

LEVEL = 0.9
"""Nominal coverage of the intervals."""


@dataclass(frozen=True)
class HeldOut:
    """Results of releases of held-out draws.

    Attributes:
        sets: number of held-out draws.
        error: root mean squared error of the posterior mean over parameters, in standard deviations
            of the pool.
        error_low, error_high: its 95 % interval.
        coverage: share of 90 % intervals that contain the truth.
        coverage_low, coverage_high: its 95 % interval; all parameters of a draw count as one.
    """

    sets: int
    error: float
    error_low: float
    error_high: float
    coverage: float
    coverage_low: float
    coverage_high: float


def repeated(pool: PoolFile) -> int:
    """Count rows equal to an earlier row, whose copies would remain in the pool when held out."""
    rows = np.hstack([pool.theta, pool.numbers])
    return len(rows) - len(np.unique(rows, axis=0))


def measure(pool: PoolFile, epsilon_total: float, sets: int, seed: int) -> HeldOut:
    """Release held-out draws and measure the errors.

    Args:
        pool: the pool.
        epsilon_total: budget of each release.
        sets: number of held-out draws, below the number of draws.
        seed: seed of the choice and the noise.
    """
    chosen = generator(seed, "held-out").permutation(len(pool.theta))
    public = side(pool, np.sort(chosen[sets:]))
    mechanism = private_summary.SUMMARY
    prepared = mechanism.prepare(public, mechanism.options, Budget(epsilon_total))  # type: ignore[arg-type]
    name = pool.statistic().name
    unit = pool.theta.std(axis=0)
    errors, covered = np.empty(sets), np.empty(sets)
    for number, row in enumerate(chosen[:sets]):
        rng = generator(seed, "held-out-noise", number)
        release = prepared.release(Numbers({name: pool.numbers[row]}), rng)
        sample, truth = release.sample(public.theta), pool.theta[row]
        low, high = sample.interval(LEVEL)
        errors[number] = float(np.mean(((sample.mean - truth) / unit) ** 2))
        covered[number] = float(np.mean((low <= truth) & (truth <= high)))
    below, above = summaries.mean_interval(errors, generator(seed, "held-out-interval"))
    least, most = summaries.binomial_interval(covered.sum(), sets)
    error, error_low, error_high = (math.sqrt(each) for each in (errors.mean(), below, above))
    return HeldOut(
        sets, error, error_low, error_high, float(covered.mean()), float(least), float(most)
    )
