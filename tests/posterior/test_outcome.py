"""Weighted draws, their moments, and the few of them that are kept."""

from __future__ import annotations

import numpy as np

from abcdp_core.posterior import outcome
from abcdp_core.posterior.noise import Laplace
from abcdp_core.posterior.pool import FixedPool


def test_draws_are_kept_in_proportion_to_their_weights() -> None:
    rng = np.random.default_rng(1)
    theta = rng.standard_normal((4000, 1))
    pool = FixedPool.of(theta, theta, Laplace((0.5,)))
    found = outcome.of_pool(pool, np.array([1.0]), ("a",), ("s",))
    kept = np.bincount(found.evenly(10_000), minlength=len(found.weights)) / 10_000
    assert np.abs(kept - found.weights).max() < 2e-4
    moments = found.summary.found
    assert abs(moments.mean[0] - theta[found.evenly(2000), 0].mean()) < 0.05
    assert moments.low[0] < moments.mean[0] < moments.high[0]
