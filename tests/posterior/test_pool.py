"""Posteriors from draws that are there: their scale, weights, regressions, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from abcdp_core.posterior import outcome
from abcdp_core.posterior.noise import Laplace, NoNoise
from abcdp_core.posterior.pool import FixedPool, Scale, minimum_pool
from abcdp_core.summaries import weighted_mean, weighted_quantile, weighted_variance

Array = Any

SIZE = 10_000

SPREAD = 0.2
"""Standard deviation of a number at its parameter, which is standard normal."""


def normal_pool(scale: float, size: int = SIZE) -> FixedPool:
    rng = np.random.default_rng(1)
    theta = rng.standard_normal((size, 2))
    numbers = theta + SPREAD * rng.standard_normal(theta.shape)
    return FixedPool.of(theta, numbers, Laplace((scale, scale)))


def test_the_scale_of_a_pool_is_normal_and_goes_back() -> None:
    rng = np.random.default_rng(2)
    shares = rng.dirichlet((0.5, 1.0, 3.0), SIZE)
    theta = np.column_stack(
        [
            10.0 ** rng.uniform(-3.0, 3.0, SIZE),
            shares,
            rng.integers(1, 9, SIZE),
            rng.normal(size=SIZE),
        ]
    )
    scale, x = Scale.of(theta)
    assert x.shape == (SIZE, 5)
    assert_allclose(x.mean(axis=0), 0.0, atol=1e-9)
    assert_allclose(x.std(axis=0), 1.0, atol=0.01)
    assert_allclose(scale.theta(x), theta, rtol=1e-9, atol=1e-12)
    # Wherever a regression moves them, they are what a parameter can be.
    moved = scale.theta(x + rng.normal(size=x.shape))
    assert_allclose(moved[:, 1:4].sum(axis=1), 1.0)
    assert (moved[:, 1:4] >= 0.0).all()
    assert set(np.unique(moved[:, 4])) == set(range(1, 9))
    assert [(each.parameter, each.x) for each in scale.edges] == [(0, 0), (4, 3), (5, 4)]


@pytest.mark.parametrize(("scale", "way"), [(0.3, "weights"), (0.003, "regression")])
def test_the_posterior_is_that_of_normal_parameters(scale: float, way: str) -> None:
    """Laplace noise of scale b adds a variance of 2 b² to that of the numbers."""
    pool, z = normal_pool(scale), np.array([0.5, -1.0])
    found = pool.given(z)
    assert found.way == way
    theta = pool.scale.theta(found.x)
    variance = SPREAD**2 + 2.0 * scale**2
    mean, deviation = z / (1.0 + variance), np.sqrt(variance / (1.0 + variance))
    assert np.abs(weighted_mean(theta, found.weights) - mean).max() < 0.15 * deviation
    spread = np.sqrt(weighted_variance(theta, found.weights))
    assert np.abs(spread / deviation - 1.0).max() < 0.12


def test_a_small_pool_has_its_nearest_draws_where_they_are() -> None:
    size = minimum_pool(2) - 1
    pool = normal_pool(0.003, size)
    found = pool.given(np.array([0.5, -1.0]))
    assert found.way == "nearest"
    assert_allclose(found.x, pool.draws.x[found.indices])
    assert np.ptp(found.weights) == 0.0


def test_a_draw_that_is_left_out_has_no_weight_and_errors_are_those_of_the_others() -> None:
    pool = normal_pool(0.3)
    assert pool.given(pool.draws.numbers[7], without=7).weights[7] == 0.0
    error = pool.error(lambda theta, _: theta)
    # The posterior mean of the exact model errs by what Laplace noise and spread leave open.
    assert (np.abs(error - 0.4) < 0.08).all()
    silent = FixedPool.of(pool.scale.theta(pool.draws.x), pool.draws.numbers, NoNoise())
    assert (silent.error(lambda theta, _: theta) < 0.22).all()


def test_replicates_of_a_pool_are_other_rows() -> None:
    """Rows of the posterior itself are near z because of their numbers, and would always fit."""
    pool = normal_pool(0.05)
    z = np.array([4.5, 4.5])
    own = outcome.of_pool(pool, np.array([0.5, -1.0]), ("a", "b"), ("s", "t")).summary.fit
    far = outcome.of_pool(pool, z, ("a", "b"), ("s", "t")).summary.fit
    assert own.p_value > 0.05
    assert far.is_misfit or far.edges


def test_intervals_of_log_uniform_rates_are_relative() -> None:
    rng = np.random.default_rng(3)
    rate = 10.0 ** rng.uniform(-2.0, 2.0, 20_000)
    numbers = rng.poisson(1000.0 * rate)[:, None].astype(float)
    pool = FixedPool.of(rate[:, None], numbers, Laplace((1.0,)))
    for truth in (0.03, 1.0, 30.0):
        found = pool.given(np.array([1000.0 * truth]))
        low, high = weighted_quantile(pool.scale.theta(found.x), found.weights, (0.05, 0.95))[:, 0]
        # Poisson: a standard deviation is 1 / sqrt(1000 truth) of the rate.
        exact = 3.29 / np.sqrt(1000.0 * truth + 2.0)
        assert 0.7 < np.log(high / low) / exact < 1.5
