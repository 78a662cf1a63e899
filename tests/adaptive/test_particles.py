"""Weighted particles: responses so far, resampling, the prior, and its Gibbs conditionals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate, stats

from abcdp_core.adaptive.particles import History, Particles, Response, moments, normalised, pick
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.resampling import RESAMPLING, ancestors, multinomial, systematic
from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from tests.statistics import assert_distribution, assert_frequencies, rejects


def response(number: float) -> Response:
    return Response(number, number - 1.0, number + 1.0, 0.5)


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(-1e6, 1e6)), max_size=80))
def test_histories_never_change_whichever_of_them_grows(growth: list[tuple[int, float]]) -> None:
    # A tree: each step grows one of the existing histories, the longest or an old one.
    tree: list[tuple[History, list[float]]] = [(History.empty(), [])]
    for which, number in growth:
        parent, numbers = tree[-1 - which % len(tree)]
        tree.append((parent.plus(response(number)), [*numbers, number]))
    for history, numbers in tree:
        assert history.count == len(numbers)
        assert history.rows.tolist() == [list(response(number)) for number in numbers]


THETA = np.array([[1.0, 0.0], [4.0, math.log(2.0)], [-2.0, math.log(5.0)], [7.0, -1.0]])
WEIGHTS = np.array([0.1, 0.5, 0.4, 0.0])
with np.errstate(divide="ignore"):
    CLOUD = Particles(THETA, np.log(WEIGHTS), History.empty())


def test_moments_are_those_of_mu_and_sigma() -> None:
    first, second = 0.5 * math.log(2.0), 0.4 * math.log(5.0)
    square = 0.5 * math.log(2.0) ** 2 + 0.4 * math.log(5.0) ** 2
    # μ: 0.1 + 2 − 0.8; σ: 0.1 + 1 + 2.
    of_mu = 1.3, math.sqrt(0.1 + 8.0 + 1.6 - 1.3**2)
    of_sigma = 3.1, math.sqrt(0.1 + 2.0 + 10.0 - 3.1**2)
    expected = (*of_mu, *of_sigma, math.sqrt(square - (first + second) ** 2))
    assert moments(CLOUD) == pytest.approx(expected)


def test_particles_are_picked_in_proportion_to_their_weights() -> None:
    rng = generator(1, "pick")
    picked = [pick(rng, CLOUD) for _ in range(5000)]
    counts = np.array([sum(mu == row[0] for mu, _ in picked) for row in THETA])
    assert_frequencies(counts, WEIGHTS)
    # Sees a probability off by 0.05.
    assert rejects(assert_frequencies, counts, np.array([0.1, 0.45, 0.45, 0.0]))
    by_mu = {float(mu): math.exp(log_sigma) for mu, log_sigma in THETA}
    assert all(sigma == pytest.approx(by_mu[mu]) for mu, sigma in picked)


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20), st.floats(-1e3, 1e3))
def test_weights_sum_to_one_however_large_or_small_their_logarithms(
    logs: list[float], shift: float
) -> None:
    found = normalised(np.array(logs))
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert (found >= 0.0).all()
    if max(map(abs, logs)) < 1e3:
        np.testing.assert_allclose(normalised(np.array(logs) + shift), found, atol=1e-9)
    with pytest.raises(FloatingPointError, match="no particle can have given"):
        normalised(np.array([*logs, math.nan]))


# ------------------------------------------------------------------------------------ resampling

SHARES = np.array([0.05, 0.4, 0.0, 0.25, 0.3])


def children(ancestors: NDArray[np.intp], size: int) -> NDArray[np.int64]:
    return np.bincount(ancestors, minlength=size)


@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40).filter(lambda w: sum(w) > 0.1),
    st.integers(0, 2**32),
)
def test_systematic_gives_floor_or_ceiling_of_n_w_children(raw: list[float], seed: int) -> None:
    weights = np.array(raw) / sum(raw)
    counts = children(systematic(generator(seed, "resampling"), weights), len(weights))
    expected = len(weights) * weights
    # Rounding of a whole N w may go either way.
    assert (counts >= np.floor(expected - 1e-9)).all()
    assert (counts <= np.ceil(expected + 1e-9)).all()
    assert counts.sum() == len(weights)
    assert (weights[multinomial(generator(seed, "resampling"), weights)] > 0.0).all()


@pytest.mark.parametrize("weights", [SHARES, np.array([1e-9, 0.5, 0.5 - 1e-9])])
def test_systematic_is_unbiased_over_its_one_random_number(weights: Array) -> None:
    # The mean over the random number, integrated exactly between the points where a count changes.
    n = len(weights)
    jumps = np.unique(np.concatenate([[0.0, 1.0], np.mod(np.cumsum(weights) * n, 1.0)]))
    middles, lengths = 0.5 * (jumps[1:] + jumps[:-1]), np.diff(jumps)
    counts = [children(ancestors(weights, (np.arange(n) + u) / n), n) for u in middles]
    np.testing.assert_allclose(lengths @ np.array(counts), n * weights, atol=1e-12)


def test_systematic_draws_its_number_from_the_whole_unit_interval() -> None:
    # Weights 0.3 and 0.7 of two: the first has one child for u < 0.6, else none.
    rng = generator(2, "resampling")
    ones = sum(children(systematic(rng, np.array([0.3, 0.7])), 2)[0] for _ in range(5000))
    assert_frequencies(np.array([ones, 5000 - ones]), np.array([0.6, 0.4]))
    assert rejects(assert_frequencies, np.array([ones, 5000 - ones]), np.array([0.3, 0.7]))


def test_multinomial_numbers_of_children_are_binomial() -> None:
    n, rng = len(SHARES), generator(1, "resampling")
    found = [children(multinomial(rng, SHARES), n)[1] for _ in range(10_000)]
    counts = np.bincount(found, minlength=n + 1)
    right, wrong = (stats.binom.pmf(np.arange(n + 1), n, p * SHARES[1]) for p in (1.0, 1.1))
    assert_frequencies(counts, right)
    # Sees weights off by a tenth, and a systematic resampler in its place.
    assert rejects(assert_frequencies, counts, wrong)
    assert rejects(assert_frequencies, np.array([0, 0, 10_000, 0, 0, 0]), right)


@pytest.mark.parametrize("name", RESAMPLING)
def test_one_particle_with_all_the_weight_and_weights_whose_sum_is_rounded(name: str) -> None:
    for heavy, size in ((0, 1), (0, 7), (3, 7), (6, 7)):
        weights = np.zeros(size)
        weights[heavy] = 1.0
        assert (RESAMPLING[name](generator(3, "resampling"), weights) == heavy).all()
    weights = np.full(1000, 1.0 / 3.0) / (1000.0 / 3.0) * (1.0 - 1e-12)
    found = RESAMPLING[name](generator(5, "resampling"), weights)
    assert 0 <= found[0] <= found[-1] < 1000
    assert (np.diff(found) >= 0).all()


# ------------------------------------------------------------------------------------- the prior

PRIORS = pytest.mark.parametrize(
    "prior", [Prior(50.0, 25.0, 5.0, 40.0), Prior(), Prior(-3.0, 0.01, 0.6, 7.0)]
)
DRAWS = 20_000
"""A gap of 0.038 between distribution functions is seen: a scale off by √2 is 0.08 or more."""


def log_density_of_log_sigma(prior: Prior, log_sigma: Array) -> Array:
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
    expected = expected + log_density_of_log_sigma(prior, theta[:, 1])
    constant = prior.log_density(theta) - expected
    np.testing.assert_allclose(constant, constant[0], rtol=1e-11, atol=1e-11)
    places = np.linspace(-8.0, 40.0, 20_001)
    density = np.exp(log_density_of_log_sigma(prior, places))
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


def cdf_of(places: Array, log_density: Array):
    """Distribution function of a density that is known up to a constant at many places."""
    density = np.exp(log_density - log_density.max())
    cumulative = integrate.cumulative_simpson(density, x=places, initial=0.0)
    return lambda value: np.interp(value, places, cumulative / cumulative[-1])


def test_conditionals_given_the_values_have_the_law_of_prior_times_likelihood() -> None:
    values, prior = np.array([49.0, 55.5, 47.2, 52.1, 50.9]), Prior(60.0, 4.0, 5.0, 40.0)
    count, sigma = len(values), 2.5
    mu = np.linspace(35.0, 70.0, 20_001)
    likelihood = np.sum(stats.norm.logpdf(values[:, None], mu, sigma), axis=0)
    sums = np.full(DRAWS, values.sum())
    drawn = prior.mu_given(generator(5, "gibbs"), np.full(DRAWS, sigma), sums, count)
    assert_distribution(drawn, cdf_of(mu, likelihood + stats.norm(60.0, 2.0).logpdf(mu)))
    assert rejects(assert_distribution, drawn, cdf_of(mu, likelihood)), "without the prior"

    squares = np.full(DRAWS, ((values - 51.0) ** 2).sum())
    log_sigma = np.linspace(-2.0, 5.0, 20_001)
    log_density = log_density_of_log_sigma(prior, log_sigma)
    log_density += np.sum(stats.norm.logpdf(values[:, None], 51.0, np.exp(log_sigma)), axis=0)
    cdf = cdf_of(log_sigma, log_density)
    right, two_short = (
        np.log(prior.sigma_given(generator(6, "gibbs"), squares, each))
        for each in (count, count - 2)
    )
    assert_distribution(right, cdf)
    assert rejects(assert_distribution, two_short, cdf)
