"""How far off is a private release from a pool made elsewhere, and do its intervals hold the truth?

Nothing can be simulated here, so some draws of the pool are held out: each stands for the private
data once, its parameters for the truth. They are released by the private summary against all other
draws. So this is public, and costs no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from abcdp_core import summaries
from abcdp_core.mechanisms import Budget, private_summary
from abcdp_core.own_model.pool_file import Numbers, PoolFile, side
from abcdp_core.streams import generator

Array = NDArray[np.float64]

LEVEL = 0.9
"""Probability that an interval should hold the truth."""


@dataclass(frozen=True)
class HeldOut:
    """What releases of draws that were held out come to.

    Attributes:
        sets: how many were.
        error: root mean squared error of the posterior mean over parameters, in standard
            deviations of the pool.
        error_low, error_high: of its 95 % interval.
        coverage: share of 90 % intervals that hold the truth.
        coverage_low, coverage_high: of its 95 % interval; parameters of one draw count as one.
    """

    sets: int
    error: float
    error_low: float
    error_high: float
    coverage: float
    coverage_low: float
    coverage_high: float


def repeated(pool: PoolFile) -> int:
    """Rows that are the same as an earlier one: held out, their copies would be in the pool."""
    rows = np.hstack([pool.theta, pool.numbers])
    return len(rows) - len(np.unique(rows, axis=0))


def measure(pool: PoolFile, epsilon_total: float, sets: int, seed: int) -> HeldOut:
    """Release draws that were held out.

    Args:
        pool: made anywhere.
        epsilon_total: budget of each release.
        sets: how many draws are held out, below the number of draws.
        seed: which they are, and of the noise.
    """
    chosen = generator(seed, "held-out").permutation(len(pool.theta))
    public = side(pool, np.sort(chosen[sets:]))
    mechanism = private_summary.SUMMARY
    prepared = mechanism.prepare(public, mechanism.options, Budget(epsilon_total))  # type: ignore[arg-type]
    name = pool.statistic().name
    unit = pool.theta.std(axis=0)
    errors, held = np.empty(sets), np.empty(sets)
    for number, row in enumerate(chosen[:sets]):
        rng = generator(seed, "held-out-noise", number)
        release = prepared.release(Numbers({name: pool.numbers[row]}), rng)
        sample = release.parameters(public.theta)
        mean = summaries.weighted_mean(sample, release.weights)
        ends = [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0]
        low, high = summaries.weighted_quantile(sample, release.weights, ends)
        truth = pool.theta[row]
        errors[number] = float(np.mean(((mean - truth) / unit) ** 2))
        held[number] = float(np.mean((low <= truth) & (truth <= high)))
    below, above = summaries.mean_interval(errors, generator(seed, "held-out-interval"))
    least, most = summaries.binomial_interval(held.sum(), sets)
    return HeldOut(
        sets,
        math.sqrt(errors.mean()),
        math.sqrt(float(below)),
        math.sqrt(float(above)),
        float(held.mean()),
        float(least),
        float(most),
    )
