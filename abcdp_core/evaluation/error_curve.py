"""Mean squared error of a data set's releases at several budgets, exact over the noise; cached.

Given the threshold's noise, decisions about draws are independent, so one pass over the pool gives
the moments of the kept draws, and a quadrature averages over the threshold's noise (MATH E6). The
data are those of a run of the uniform mixture, compared with the pool of run 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from abcdp_core.base import cache, fingerprint
from abcdp_core.base.arrays import Array
from abcdp_core.evaluation.theory import sparse_vector_run
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.models import pool
from abcdp_core.models.simulators import uniform_mixture
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE

NODES = 16
"""Quadrature nodes for the threshold's noise: the error is within 1 % of its value."""


@dataclass(frozen=True)
class Setting:
    """Settings of a release without its budget.

    Attributes:
        key: key of the pool.
        n: points of the data.
        run: run whose data are used.
        epsilon_abc, c, resample, sensitivity: settings of the mechanism.
    """

    key: pool.PoolKey
    n: int
    run: int
    epsilon_abc: float
    c: int
    resample: bool
    sensitivity: str

    @property
    def theta(self) -> Array:
        """Parameters of the pool, ``(T, d)``."""
        return pool.observed_comparison(self.key, self.n).theta

    @property
    def rho(self) -> Array:
        """Distances of the data from the pool, ``(T,)``."""
        return pool.distances(self.key, self.n, self.run)


def event(setting: Setting, epsilon_total: float) -> sparse_vector.SparseVector:
    """Return the event of a release with a budget; ``inf`` means without noise."""
    sensitivity = MIXTURE.distance().sensitivity(setting.n, setting.sensitivity)
    c, resample = setting.c, setting.resample
    if math.isinf(epsilon_total):
        return sparse_vector.SparseVector(sensitivity, 0.0, 0.0, c, resample)
    return sparse_vector.calibrate(epsilon_total, sensitivity, c, resample=resample)


def mse(setting: Setting, epsilon_total: float) -> float:
    """Return the mean squared error of the released mean, averaged over all noise."""
    noise = event(setting, epsilon_total)
    return averaged(noise, setting.epsilon_abc, setting.rho, setting.theta, uniform_mixture.TRUTH)


def averaged(
    noise: sparse_vector.SparseVector,
    epsilon_abc: float,
    rho: Array,
    theta: Array,
    truth: Array,
    prior_mean: Array = MIXTURE.prior_mean,
) -> float:
    """Return the mean squared error of the released mean over all noise, for any data (MATH E6).

    Args:
        noise: event of the mechanism.
        epsilon_abc: its threshold.
        rho: distances of the data from the pool ``(T,)``.
        theta: parameters of the pool ``(T, d)``.
        truth: true parameters ``(d,)``.
        prior_mean: estimate if no draw is kept ``(d,)``.
    """
    run = sparse_vector_run.Run.of(noise, epsilon_abc)
    return sparse_vector_run.released_average(rho, run, theta, truth, prior_mean, NODES).mse


def kept(setting: Setting, budgets: Sequence[float]) -> Array:
    """Return :func:`mse` at each budget; cached on disk."""
    code = fingerprint.of(__name__, MIXTURE.module)
    stated = vars(setting) | {"key": setting.key.in_words(), "budgets": [*budgets]}
    entry = cache.entry("error-curve", stated, code)

    def make() -> cache.Arrays:
        return {"mse": np.array([mse(setting, epsilon_total) for epsilon_total in budgets])}

    return cache.load_or_make(entry, make)["mse"]
