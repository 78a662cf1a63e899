"""The prior: its density against scipy's, draws and Gibbs conditionals against their laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

from abcdp_core.adaptive.prior import Prior
from abcdp_core.streams import generator
from tests.statistics import assert_distribution, rejects

Array = NDArray[np.float64]

PRIORS = pytest.mark.parametrize(
    "prior", [Prior(50.0, 25.0, 5.0, 40.0), Prior(), Prior(-3.0, 0.01, 0.6, 7.0)]
)
DRAWS = 20_000
"""A gap of 0.038 between distribution functions is seen: a scale off by √2 is 0.08 or more."""


def law_of_log_sigma(prior: Prior, log_sigma: Array) -> Array:
    """log density of log σ by scipy: σ² is inverse gamma and d σ² / d log σ = 2 σ²."""
    variance = np.exp(2.0 * log_sigma)
    law = stats.invgamma(prior.shape, scale=prior.rate)
    return law.logpdf(variance) + np.log(2.0 * variance)


@PRIORS
def test_the_spread_of_log_sigma_is_that_of_its_density(prior: Prior) -> None:
    places = np.linspace(-8.0, 40.0, 20_001)
    density = np.exp(law_of_log_sigma(prior, places))
    mean, square = (integrate.trapezoid(places**k * density, places) for k in (1, 2))
    assert prior.sd_log_sigma == pytest.approx(math.sqrt(square - mean**2), rel=1e-6)
    assert Prior(sigma=3.0).sd_log_sigma == 0.0


@PRIORS
def test_the_log_density_is_scipys_up_to_a_constant(prior: Prior) -> None:
    reach = 4.0 * math.sqrt(prior.variance)
    mu, log_sigma = np.meshgrid(prior.mean + np.linspace(-reach, reach, 9), np.linspace(-1, 6, 15))
    theta = np.column_stack([mu.ravel(), log_sigma.ravel()])
    expected = stats.norm(prior.mean, math.sqrt(prior.variance)).logpdf(theta[:, 0])
    expected = expected + law_of_log_sigma(prior, theta[:, 1])
    constant = prior.log_density(theta) - expected
    np.testing.assert_allclose(constant, constant[0], rtol=1e-11, atol=1e-11)


@PRIORS
def test_draws_have_the_law_of_the_prior(prior: Prior) -> None:
    theta = prior.draw(generator(1, "prior"), DRAWS)
    assert_distribution(theta[:, 0], stats.norm(prior.mean, math.sqrt(prior.variance)).cdf)
    variance = np.exp(2.0 * theta[:, 1])
    assert_distribution(variance, stats.invgamma(prior.shape, scale=prior.rate).cdf)
    # A variance taken for a standard deviation, and σ taken for σ².
    assert rejects(assert_distribution, theta[:, 0], stats.norm(prior.mean, prior.variance).cdf)
    assert rejects(
        assert_distribution, np.sqrt(variance), stats.invgamma(prior.shape, scale=prior.rate).cdf
    )


def test_a_known_sigma_stays_as_it_is() -> None:
    prior = Prior(50.0, 25.0, sigma=3.0)
    theta = prior.draw(generator(3, "prior"), 100)
    assert (theta[:, 1] == math.log(3.0)).all()
    assert np.ptp(theta[:, 0]) > 0.0
    expected = stats.norm(50.0, 5.0).logpdf(theta[:, 0])
    np.testing.assert_allclose(np.ptp(prior.log_density(theta) - expected), 0.0, atol=1e-12)
    assert (prior.sigma_given(generator(3, "gibbs"), np.ones(5), 7) == 3.0).all()


# --------------------------------------------------------------------------------- conditionals


def mu_given_by_quadrature(prior: Prior, values: Array, sigma: float) -> tuple[float, float]:
    """Mean and variance of μ given values and σ, from prior times likelihood on a fine grid."""
    middle, reach = float(values.mean()), 12.0 * sigma / math.sqrt(len(values))
    mu = np.linspace(middle - reach, middle + reach, 4001)
    log_density = stats.norm(prior.mean, math.sqrt(prior.variance)).logpdf(mu)
    log_density += np.sum(stats.norm.logpdf(values[:, None], mu, sigma), axis=0)
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    mean = float(weights @ mu)
    return mean, float(weights @ (mu - mean) ** 2)


VALUES = np.array([49.0, 55.5, 47.2, 52.1, 50.9])
TIGHT = Prior(60.0, 4.0, 5.0, 40.0)


def test_mu_given_the_values_has_the_law_of_prior_times_likelihood() -> None:
    sigma, count = 2.5, len(VALUES)
    mean, variance = mu_given_by_quadrature(TIGHT, VALUES, sigma)
    drawn = TIGHT.mu_given(
        generator(5, "gibbs"), np.full(DRAWS, sigma), np.full(DRAWS, VALUES.sum()), count
    )
    assert_distribution(drawn, stats.norm(mean, math.sqrt(variance)).cdf)
    without_prior = stats.norm(VALUES.mean(), sigma / math.sqrt(count))
    assert rejects(assert_distribution, drawn, without_prior.cdf)


def test_sigma_given_the_values_has_the_law_of_prior_times_likelihood() -> None:
    # By quadrature over log σ, not by the conjugate formula.
    squares = float(((VALUES - 51.0) ** 2).sum())
    log_sigma = np.linspace(-2.0, 5.0, 20_001)
    log_density = law_of_log_sigma(TIGHT, log_sigma)
    log_density += np.sum(stats.norm.logpdf(VALUES[:, None], 51.0, np.exp(log_sigma)), axis=0)
    cumulative = integrate.cumulative_simpson(
        np.exp(log_density - log_density.max()), x=log_sigma, initial=0.0
    )

    def cdf(sigma: Array) -> Array:
        found: Array = np.interp(np.log(sigma), log_sigma, cumulative / cumulative[-1])
        return found

    drawn = TIGHT.sigma_given(generator(6, "gibbs"), np.full(DRAWS, squares), len(VALUES))
    assert_distribution(drawn, cdf)
    one_short = TIGHT.sigma_given(generator(6, "gibbs"), np.full(DRAWS, squares), len(VALUES) - 2)
    assert rejects(assert_distribution, one_short, cdf)
