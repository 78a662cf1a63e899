"""Distributions of parameters on the scale on which they are standard normal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from abcdp_core.models.priors import (
    Beta,
    Dirichlet,
    Distribution,
    Gamma,
    InverseGamma,
    LogUniform,
    Normal,
    Prior,
    StudentT,
    Uniform,
    Weibull,
    chi_square,
)
from abcdp_core.models.simulators import tuberculosis, tuberculosis_patients


class HalfT:
    """The absolute value of 2 t with three degrees of freedom."""

    def ppf(self, probability: np.ndarray) -> np.ndarray:
        return -2.0 * stats.t(3.0).ppf((1.0 - np.asarray(probability)) / 2.0)


LAWS: dict[str, tuple[Distribution, Any]] = {
    "uniform": (Uniform(-1.0, 3.0), stats.uniform(-1.0, 4.0)),
    "log-uniform": (LogUniform(0.01, 100.0), stats.loguniform(0.01, 100.0)),
    "normal": (Normal(1.0, 2.0), stats.norm(1.0, 2.0)),
    "cut normal": (Normal(0.0, 1.0, -2.0, 1.0), stats.truncnorm(-2.0, 1.0)),
    "beta": (Beta(0.5, 0.5), stats.beta(0.5, 0.5)),
    "gamma": (Gamma(2.0, 3.0), stats.gamma(2.0, scale=3.0)),
    "chi-square": (chi_square(3.0), stats.chi2(3.0)),
    "t": (StudentT(2.0, 1.0, 3.0), stats.t(2.0, 1.0, 3.0)),
    "half t": (StudentT(3.0, scale=2.0, half=True), HalfT()),
    "inverse gamma": (InverseGamma(2.5, 3.0), stats.invgamma(2.5, scale=3.0)),
    "weibull": (Weibull(2.0, 1.25), stats.weibull_min(2.0, scale=1.25)),
}

X = np.linspace(-4.0, 4.0, 41)[:, None]


@pytest.mark.parametrize("name", LAWS)
def test_a_parameter_is_a_quantile_at_a_normal_probability(name: str) -> None:
    law, exact = LAWS[name]
    assert_allclose(law.theta(X), exact.ppf(stats.norm.cdf(X)), rtol=1e-9, atol=1e-12)
    assert_allclose(Prior((law,)).to_x(law.theta(X)), X, atol=1e-5)
    density = stats.norm.logpdf(X[:, 0])
    assert_allclose(Prior((law, law)).log_density(np.hstack([X, X])), 2.0 * density)
    for prior, wanted in ((Prior((law,)), exact), (Prior((Dirichlet((1.0, 3.0)), law)), exact)):
        found = prior.quantiles((0.05, 0.5, 0.95))
        assert_allclose(found[:, -1], wanted.ppf((0.05, 0.5, 0.95)), rtol=1e-9, atol=1e-12)
    assert_allclose(found[:, 1], stats.beta(3.0, 1.0).ppf((0.05, 0.5, 0.95)))
    assert not Prior((law,), lambda rng, size: rng.random((size, 1))).is_product


def test_heavy_tails_have_no_variance_and_keep_their_digits() -> None:
    assert [law.has_variance for law, _ in LAWS.values()].count(False) == 1
    assert not InverseGamma(2.0, 1.0).has_variance
    far = np.array([[9.0], [-9.0]])
    assert_allclose(StudentT(2.0).theta(far)[:, 0] / stats.t(2.0).isf(stats.norm.sf(9.0)), [1, -1])


def test_whole_numbers_are_equally_likely_and_go_back_to_their_middle() -> None:
    law = Uniform(1.0, 20.0, whole=True)
    x = np.random.default_rng(1).standard_normal((200_000, 1))
    values, counts = np.unique(law.theta(x), return_counts=True)
    assert values.tolist() == list(range(1, 21))
    # Six standard deviations of a binomial count.
    assert np.abs(counts - 10_000).max() < 6.0 * math.sqrt(200_000 * 0.05 * 0.95)
    assert_allclose(law.theta(Prior((law,)).to_x(values[:, None])).ravel(), values)
    rates = LogUniform(1.0, 1000.0, whole=True)
    assert set(np.unique(rates.theta(np.array([[-9.0], [9.0]])))) == {1.0, 1000.0}


def test_shares_sum_to_one_and_have_the_moments_of_their_distribution() -> None:
    law = Dirichlet((0.5, 1.0, 2.0, 4.0))
    x = np.random.default_rng(2).standard_normal((100_000, 3))
    theta = law.theta(x)
    assert_allclose(theta.sum(axis=1), 1.0)
    exact = stats.dirichlet([0.5, 1.0, 2.0, 4.0])
    assert np.abs(theta.mean(axis=0) - exact.mean()).max() < 0.005
    assert np.abs(theta.var(axis=0) / exact.var() - 1.0).max() < 0.05
    inside = np.abs(x).max(axis=1) < 3.0
    assert_allclose(Prior((law,)).to_x(theta)[inside], x[inside], atol=1e-4)


def test_the_prior_of_tuberculosis_has_its_density() -> None:
    """Weighted draws of the product have the moments of the scenario's draws."""
    prior = tuberculosis_patients.SCENARIO.prior_law
    theta = prior.theta(np.random.default_rng(4).standard_normal((200_000, 4)))
    weights = np.exp(tuberculosis.log_relative(theta))
    # A share of 0.11 is inside; the error is 0.007.
    assert abs(weights.mean() - 1.0) < 0.03
    weights /= weights.sum()
    drawn = tuberculosis.prior(np.random.default_rng(5), 50_000)
    mean, deviation = drawn.mean(axis=0), drawn.std(axis=0)
    assert np.abs((weights @ theta - mean) / deviation).max() < 0.05
    assert np.isfinite(tuberculosis.log_relative(drawn)).all()


def test_an_independent_parameter_follows_a_prior_given_as_a_function() -> None:
    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.beta(2.0, 1.0, (size, 1))

    prior = Prior((Uniform(0.0, 1.0),), draw, lambda theta: np.log(2.0 * theta[:, 0]))
    both = prior.followed_by(Uniform(20.0, 29.0, whole=True))
    x = both.draw(np.random.default_rng(6), 20_000)
    theta = both.theta(x)
    assert np.abs(theta.mean(axis=0) - [2.0 / 3.0, 24.5]).max() < 0.1
    alone = prior.log_density(x[:, :1]) - 0.5 * x[:, 1] ** 2 - 0.5 * math.log(2.0 * math.pi)
    assert_allclose(both.log_density(x), alone)


def test_ends_that_are_natural_say_so() -> None:
    laws = (Uniform(0.0, 1.0), Dirichlet((1.0, 1.0, 1.0)), Uniform(2.0, 3.0), Gamma(1.0, 1.0))
    found = [(each.parameter, each.x, each.low_is_natural) for each in Prior(laws).edges]
    assert found == [(0, 0, True), (4, 3, False), (5, 4, True)]
