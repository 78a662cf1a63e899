"""The prior: its density against scipy's, draws and Gibbs conditionals against their law."""

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
def test_the_log_density_is_scipys_up_to_a_constant(prior: Prior) -> None:
    reach = 4.0 * math.sqrt(prior.variance)
    mu, log_sigma = np.meshgrid(prior.mean + np.linspace(-reach, reach, 9), np.linspace(-1, 6, 15))
    theta = np.column_stack([mu.ravel(), log_sigma.ravel()])
    expected = stats.norm(prior.mean, math.sqrt(prior.variance)).logpdf(theta[:, 0])
    expected = expected + law_of_log_sigma(prior, theta[:, 1])
    constant = prior.log_density(theta) - expected
    np.testing.assert_allclose(constant, constant[0], rtol=1e-11, atol=1e-11)
    places = np.linspace(-8.0, 40.0, 20_001)
    density = np.exp(law_of_log_sigma(prior, places))
    mean, square = (integrate.trapezoid(places**k * density, places) for k in (1, 2))
    assert prior.sd_log_sigma == pytest.approx(math.sqrt(square - mean**2), rel=1e-6)


@PRIORS
def test_draws_have_the_law_of_the_prior(prior: Prior) -> None:
    theta = prior.draw(generator(1, "prior"), DRAWS)
    assert_distribution(theta[:, 0], stats.norm(prior.mean, math.sqrt(prior.variance)).cdf)
    variance = np.exp(2.0 * theta[:, 1])
    of_variance = stats.invgamma(prior.shape, scale=prior.rate).cdf
    assert_distribution(variance, of_variance)
    # A variance taken for a standard deviation, and σ taken for σ².
    assert rejects(assert_distribution, theta[:, 0], stats.norm(prior.mean, prior.variance).cdf)
    assert rejects(assert_distribution, np.sqrt(variance), of_variance)


def test_a_known_sigma_stays_as_it_is() -> None:
    prior = Prior(50.0, 25.0, sigma=3.0)
    theta = prior.draw(generator(3, "prior"), 100)
    assert (theta[:, 1] == math.log(3.0)).all()
    expected = stats.norm(50.0, 5.0).logpdf(theta[:, 0])
    np.testing.assert_allclose(np.ptp(prior.log_density(theta) - expected), 0.0, atol=1e-12)
    assert (prior.sigma_given(generator(3, "gibbs"), np.ones(5), 7) == 3.0).all()
    assert prior.sd_log_sigma == 0.0


VALUES = np.array([49.0, 55.5, 47.2, 52.1, 50.9])
TIGHT = Prior(60.0, 4.0, 5.0, 40.0)


def cdf_of(places: Array, log_density: Array):
    """Distribution function of a density that is known up to a constant at many places."""
    density = np.exp(log_density - log_density.max())
    cumulative = integrate.cumulative_simpson(density, x=places, initial=0.0)
    return lambda value: np.interp(value, places, cumulative / cumulative[-1])


def test_mu_given_the_values_has_the_law_of_prior_times_likelihood() -> None:
    sigma, count = 2.5, len(VALUES)
    mu = np.linspace(35.0, 70.0, 20_001)
    likelihood = np.sum(stats.norm.logpdf(VALUES[:, None], mu, sigma), axis=0)
    drawn = TIGHT.mu_given(
        generator(5, "gibbs"), np.full(DRAWS, sigma), np.full(DRAWS, VALUES.sum()), count
    )
    assert_distribution(drawn, cdf_of(mu, likelihood + stats.norm(60.0, 2.0).logpdf(mu)))
    assert rejects(assert_distribution, drawn, cdf_of(mu, likelihood)), "without the prior"


def test_sigma_given_the_values_has_the_law_of_prior_times_likelihood() -> None:
    squares = float(((VALUES - 51.0) ** 2).sum())
    log_sigma = np.linspace(-2.0, 5.0, 20_001)
    log_density = law_of_log_sigma(TIGHT, log_sigma)
    log_density += np.sum(stats.norm.logpdf(VALUES[:, None], 51.0, np.exp(log_sigma)), axis=0)
    cdf = cdf_of(log_sigma, log_density)
    drawn, two_short = (
        np.log(TIGHT.sigma_given(generator(6, "gibbs"), np.full(DRAWS, squares), count))
        for count in (len(VALUES), len(VALUES) - 2)
    )
    assert_distribution(drawn, cdf)
    assert rejects(assert_distribution, two_short, cdf)
