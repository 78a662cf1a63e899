"""Posteriors of problems, against sums; ``tests/posterior`` has closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike

from abcdp_core.base.parameters import ParameterError
from abcdp_core.models.priors import Normal, Prior
from abcdp_core.posterior.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Noise
from abcdp_core.posterior.published import inference, models
from abcdp_core.posterior.published.models import Model
from abcdp_core.posterior.published.pools import Pool
from abcdp_core.posterior.published.problems import Problem
from tests.oracles import log_linear

MODEL = Model(
    *(("a", "b"), ("s0", "s1"), Prior((Normal(0.0, 1.0),) * 2)),
    lambda rng, theta: theta + 0.2 * rng.standard_normal(theta.shape),
    title="normal",
)


def problem(
    noise: Noise, query: ArrayLike, source: Model | Pool = MODEL, wanted: int = 1000,
    draws: int = 1_000_000,
) -> Problem:  # fmt: skip
    return Problem("test", source, "normal", np.array(query), noise, wanted, draws, 1, spent=None)


def test_the_shipped_problem_agrees_with_a_sum_over_all_counts() -> None:
    query = (32.754, 45.2008, 58.6172, 18.2683, 12.926, 8.5805, 12.8789, 9.5372)
    this = problem(Laplace((4.0,) * 8), query, models.load("log-linear"), wanted=2000)
    found = inference.infer(this).summary
    assert found.way == "weights"
    assert found.effective >= 2000
    mean, sd = log_linear.moments(np.array(query), 4.0, 100)
    assert (np.abs(found.found.mean - mean) < 0.1 * sd).all()
    assert (np.abs(found.found.sd / sd - 1.0) < 0.1).all()
    other = log_linear.moments(np.array(query), 3.0, 100)[1]
    assert (np.abs(other / sd - 1.0) > 0.03).any()


def test_no_more_is_simulated_than_is_allowed() -> None:
    this = problem(Gaussian((1.0, 1.0)), (0.5, 0.5), wanted=90_000, draws=12_001)
    found = inference.infer(this).summary
    assert found.simulated == 12_001
    assert 200 < found.effective < 90_000


def test_a_simulator_off_the_steps_is_refused() -> None:
    with pytest.raises(ParameterError, match="multiples of 1"):
        inference.infer(problem(DiscreteLaplace((1.0, 1.0)), (0.0, 0.0)))


def test_a_small_pool_whose_draws_all_count_is_weighted() -> None:
    theta = np.linspace(-1.0, 1.0, 120)[:, None]
    pool = Pool(("a",), ("s",), theta, theta)
    found = inference.infer(problem(Gaussian((2.0,)), (0.0,), pool)).summary
    assert (found.way, found.simulated) == ("weights", 120)
    assert 100 < found.effective < 120
    np.testing.assert_allclose(found.prior.mean, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.prior.sd, theta.std())


def test_a_count_with_discrete_gaussian_noise_has_the_posterior_of_a_sum_over_counts() -> None:
    counts = np.arange(41.0)
    pool = Pool(("people",), ("count",), *(np.repeat(counts, 100)[:, None],) * 2)
    mass = np.exp(-((counts - 2.0) ** 2) / 18.0)
    mean = mass @ counts / mass.sum()
    sd = np.sqrt(mass @ (counts - mean) ** 2 / mass.sum())
    for sigma, same in ((3.0, True), (3.0 / 2.0**0.5, False)):
        found = inference.infer(problem(DiscreteGaussian((sigma,)), (2.0,), pool)).summary
        both = found.found.mean[0], found.found.sd[0]
        assert found.way == "weights"
        assert np.allclose(both, (mean, sd), rtol=1e-3) == same


@pytest.mark.parametrize(("sigma", "way"), [(30.0, "weights"), (0.01, "regression")])
def test_shares_from_a_rounded_table_still_add_up_to_one(sigma: float, way: str) -> None:
    rng = np.random.default_rng(3)
    exact = rng.dirichlet((0.5, 1.0, 2.0), 4000)
    counts = rng.multinomial(400, exact).astype(float)
    theta = np.column_stack([np.round(exact, 6), rng.normal(size=4000)])
    assert np.abs(theta[:, :3].sum(axis=1) - 1.0).max() > 5e-7
    pool = Pool(("a", "b", "c", "mu"), ("x", "y", "z"), theta, counts)
    found = inference.infer(problem(Gaussian((sigma,) * 3), (1.0, 99.0, 300.0), pool))
    assert found.summary.way == way
    shares = found.theta[:, :3]
    assert ((shares >= 0.0) & (shares <= 1.0)).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
