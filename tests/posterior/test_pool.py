"""Posteriors from a pool: its scale, weights, regressions, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from abcdp_core.base.summaries import weighted_mean, weighted_variance
from abcdp_core.posterior import outcome
from abcdp_core.posterior.fit import in_proportion
from abcdp_core.posterior.noise import Laplace, NoNoise
from abcdp_core.posterior.pool import FixedPool, Scale, minimum_pool

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
    rates, counts = 10.0 ** rng.uniform(-3.0, 3.0, SIZE), rng.integers(1, 9, SIZE)
    theta = np.column_stack([rates, shares, counts, rng.normal(size=SIZE)])
    scale, x = Scale.of(theta)
    assert x.shape == (SIZE, 5)
    assert_allclose(x.mean(axis=0), 0.0, atol=1e-9)
    assert_allclose(x.std(axis=0), 1.0, atol=0.01)
    assert_allclose(scale.theta(x), theta, rtol=1e-9, atol=1e-12)
    # Wherever a regression moves them, parameters stay possible.
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


def test_the_nearest_draws_of_a_small_pool_are_not_adjusted() -> None:
    pool = normal_pool(0.003, minimum_pool(2) - 1)
    found = pool.given(np.array([0.5, -1.0]))
    assert found.way == "nearest"
    assert_allclose(found.x, pool.draws.x[found.indices])
    assert np.ptp(found.weights) == 0.0


def test_a_draw_that_is_left_out_has_no_weight_and_errors_use_the_others() -> None:
    pool = normal_pool(0.3, 3000)
    assert pool.given(pool.draws.numbers[7], without=7).weights[7] == 0.0
    error = pool.error(lambda theta, _: theta)
    # The posterior mean of the exact model errs by what Laplace noise and spread leave open.
    assert (np.abs(error - 0.4) < 0.08).all()
    silent = FixedPool.of(pool.scale.theta(pool.draws.x), pool.draws.numbers, NoNoise())
    assert (silent.error(lambda theta, _: theta) < 0.22).all()


def test_a_posterior_has_its_moments_and_replicates_from_other_draws() -> None:
    """The posterior's own draws are near z because of their numbers, and would always fit."""
    pool, names = normal_pool(0.05), (("a", "b"), ("s", "t"))
    own, far = (outcome.of_pool(pool, np.array(z), *names) for z in ((0.5, -1.0), (4.5, 4.5)))
    drawn = outcome.of_pool(pool, np.array((0.5, -1.0)), *names, size=2000)
    assert own.summary.fit.p_value > 0.05
    assert far.summary.fit.is_misfit or far.summary.fit.edges
    kept = np.bincount(in_proportion(own.weights, 10_000), minlength=len(own.weights)) / 10_000
    assert np.abs(kept - own.weights).max() < 2e-4
    moments, of_draws = own.summary.found, drawn.summary.found
    assert (moments.low < moments.mean).all()
    # The chosen draws have the ends that are stated, which are nearly those of all.
    assert_allclose((of_draws.low, of_draws.high), np.quantile(drawn.theta, outcome.ENDS, axis=0))
    assert np.abs(moments.low - of_draws.low).max() < 0.03 * moments.sd.min()
    assert np.abs(moments.high - of_draws.high).max() < 0.03 * moments.sd.min()


def linear_pool(dimensions: int, size: int = SIZE) -> FixedPool:
    """A number for each parameter, with spread and noise of a twentieth of the prior's spread."""
    rng = np.random.default_rng(3)
    theta = rng.standard_normal((size, dimensions))
    return FixedPool.of(
        theta, theta + 0.05 * rng.standard_normal(theta.shape), Laplace((0.05,) * dimensions)
    )


@pytest.mark.parametrize(
    ("dimensions", "size", "checked"), [(1, SIZE, True), (5, SIZE, False), (3, 1500, False)]
)
def test_a_fit_that_would_not_see_a_shift_is_not_checked(
    dimensions: int, size: int, checked: bool
) -> None:
    pool, names = linear_pool(dimensions, size), [str(place) for place in range(dimensions)]
    z = np.full(dimensions, 0.3)
    fit = pool.fit(z, pool.given(z), names, names)
    assert (fit.is_checked, fit.record()["p_value"] is not None) == (checked, checked)
    assert ("not checked: too few draws" in fit.statement) == (not checked)
    # A misfit that even such replicates show is one.
    far = np.full(dimensions, 40.0)
    assert pool.fit(far, pool.given(far), names, names).is_checked
