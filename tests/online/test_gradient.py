"""The online gradient: each step by hand, its average against Fisher information and posteriors."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from abcdp_core.online import gradient, noise
from abcdp_core.online import parameters as online
from abcdp_core.online.channels import Channel, Truncation, sign
from abcdp_core.online.gradient import Gradient, State, asymptotic_variance
from abcdp_core.online.particles import Response, moments
from abcdp_core.online.prior import Prior
from abcdp_core.online.response import log_likelihood
from abcdp_core.online.smc import Smc
from abcdp_core.streams import generator
from tests.statistics import assert_mean_of_repeats, rejects

Array = NDArray[np.float64]

MU, SIGMA = 50.0, 3.0
WIDE = Prior(0.0, 1e4, sigma=SIGMA)
BOTH = Prior(MU, 4.0, 5.0, 40.0)


@functools.cache
def channel_of(name: str, epsilon_total: float, score: str = "mu") -> Channel:
    return online.channel(name, epsilon_total, score)


def people(channel: Channel, n: int, run: int = 0) -> tuple[Array, Array]:
    values = MU + SIGMA * generator(1, "people", run).standard_normal(n)
    return values, channel.draw(generator(1, "chances", run), n)


# ------------------------------------------------------------------------------------ step by step


def slope(response: Response, mu: float, sigma: float, kind: str) -> Array:
    """Derivatives of the log-likelihood by (μ, log σ) from differences."""
    step = 1e-5
    around = np.array([[step * sigma, 0.0], [-step * sigma, 0.0], [0.0, step], [0.0, -step]])
    value = log_likelihood(around + np.array([mu, math.log(sigma)]), np.array([response]), kind)
    return (value[::2] - value[1::2]) / (2.0 * step * np.array([sigma, 1.0]))


@pytest.mark.parametrize("name", ["truncation", "optimal"])
def test_a_step_of_the_search_is_a_kalman_filters_that_counts_half(name: str) -> None:
    channel = channel_of(name, 3.0)
    follower = Gradient(WIDE, channel)
    state = follower.start()
    assert state == State(0.0, math.log(SIGMA), 1e4, 0, 0.0, math.log(SIGMA), 0)
    location, scale = follower.place(state)
    assert (location, scale) == (0.0, pytest.approx(math.sqrt(SIGMA**2 + 1e4)))
    response = channel.answer(MU, 0.6, location, scale)
    after = follower.step(state, response)
    by_mu, _ = slope(response, location, scale, channel.kind)
    assert after.mu == pytest.approx(1e4 * by_mu, rel=1e-6)
    told = channel.information(gradient.NORMAL)[0, 0] / scale**2
    assert after.variance == pytest.approx(1e4 * (1.0 - 0.5 * 1e4 * told))
    rest = (after.log_sigma, after.mean_mu, after.answers, after.averaged)
    assert rest == (state.log_sigma, after.mu, 0, 0)
    assert after.mean_log_sigma == state.log_sigma


@pytest.mark.parametrize("name", ["truncation", "optimal"])
def test_a_step_after_the_search(name: str) -> None:
    channel = channel_of(name, 3.0, "determinant")
    prior = Prior(MU, 1e4, 5.0, 40.0)
    follower = Gradient(prior, channel)
    state = State(MU + 1.0, 1.2, 0.0, 7, MU - 1.0, 1.0, 4)
    sigma = math.exp(1.2)
    assert follower.place(state) == (MU + 1.0, pytest.approx(sigma))
    response = channel.answer(MU, 0.6, MU + 1.0, sigma)
    after = follower.step(state, response)
    by_mu, by_log_sigma = slope(response, MU + 1.0, sigma, channel.kind)
    (told_mu, _), (_, told_sigma) = channel.information(gradient.NORMAL)
    mu = MU + 1.0 + sigma**2 * (1.0 + 8 * told_mu) ** (-2 / 3) * by_mu
    v = prior.sd_log_sigma**2
    log_sigma = 1.2 + v * (1.0 + v * 8 * told_sigma) ** (-2 / 3) * by_log_sigma
    assert (after.mu, after.log_sigma) == pytest.approx((mu, log_sigma), rel=1e-6)
    assert (after.answers, after.averaged, after.variance) == (8, 5, 0.0)
    means = (4 * (MU - 1.0) + mu) / 5, (4 * 1.0 + log_sigma) / 5
    assert (after.mean_mu, after.mean_log_sigma) == pytest.approx(means)
    assert after.sigma == pytest.approx(math.exp(means[1]))
    early = follower.step(dataclasses.replace(state, answers=0, averaged=0), response)
    assert (early.mean_mu, early.mean_log_sigma, early.averaged) == (early.mu, early.log_sigma, 0)
    known = Gradient(dataclasses.replace(prior, sigma=sigma), channel).step(state, response)
    assert (known.mu, known.log_sigma) == (after.mu, 1.2)


def test_it_begins_at_the_means_of_the_prior() -> None:
    prior = Prior(7.0, 4.0, 3.0, 20.0)
    state = Gradient(prior, sign(1.0)).start()
    drawn = prior.draw(generator(1, "prior"), 20_000)
    assert state.mu == state.mean_mu == 7.0
    assert state.log_sigma == pytest.approx(drawn[:, 1].mean(), abs=0.01)
    assert not state.searches
    assert dataclasses.replace(state, variance=100.0).searches


def test_a_vague_prior_of_sigma_takes_no_longer_steps_than_a_factor_of_e() -> None:
    vague = Gradient(Prior(0.0, 1.0, 0.1, 1.0), sign(1.0))
    assert vague.prior.sd_log_sigma > 2.0
    assert vague._gain_of_log_sigma(9) == 1.0, "a sign tells nothing about σ"


def test_the_estimate_is_the_average_of_the_places_since_one_values_worth() -> None:
    channel = channel_of("truncation", 2.0)
    states = Gradient(WIDE, channel).follow(*people(channel, 80))
    worth = channel.information(gradient.NORMAL)[0, 0]
    found = [state.mu for state in states if state.answers * worth >= 1.0]
    assert 0 < len(found) < 80
    assert states[-1].mean_mu == pytest.approx(np.mean(found))
    first = next(state for state in states if state.averaged)
    assert first.answers == math.ceil(1.0 / worth)


def test_everything_moves_and_grows_with_the_values() -> None:
    channel = channel_of("truncation", 5.0, "determinant")
    values, chances = people(channel, 60)
    prior = Prior(45.0, 100.0, 5.0, 40.0)
    states = Gradient(prior, channel).follow(values, chances)
    moved = Prior(2.0 * 45.0 - 30.0, 400.0, 5.0, 160.0)
    others = Gradient(moved, channel).follow(2.0 * values - 30.0, chances)
    for state, other in zip(states, others, strict=True):
        assert other.mean_mu == pytest.approx(2.0 * state.mean_mu - 30.0)
        assert other.sigma == pytest.approx(2.0 * state.sigma)


def test_a_person_is_asked_by_earlier_answers_only() -> None:
    channel = channel_of("truncation", 2.0)
    values, chances = people(channel, 40)
    follower = Gradient(WIDE, channel)
    states = follower.follow(values, chances)
    other = values.copy()
    other[25] = 2.0 * states[24].mu - other[25]
    changed = follower.follow(other, chances)
    assert changed[:25] == states[:25]
    assert changed[25] != states[25]


def test_gaussian_noise_is_refused() -> None:
    unit_scale = noise.unit_scale("gaussian", 1.0, 1e-5)
    with pytest.raises(ValueError, match="needs Laplace noise or a table"):
        Gradient(WIDE, Truncation(-1.0, 1.0, "gaussian", unit_scale))


# -------------------------------------------------------------------------------------- references


def test_the_asymptotic_variance_is_the_inverse_of_the_information() -> None:
    (of_mu, across), (_, of_sigma) = asymptotic_variance(sign(2.0), SIGMA)
    assert of_mu == pytest.approx(SIGMA**2 / (2.0 / math.pi * math.tanh(1.0) ** 2))
    assert (across, of_sigma) == (0.0, math.inf)
    channel = Truncation(-0.5, 1.0, "laplace", 0.2)
    product = asymptotic_variance(channel, SIGMA) @ channel.information(gradient.NORMAL)
    np.testing.assert_allclose(product, SIGMA**2 * np.eye(2), atol=1e-9)


REPEATS, EACH, ENOUGH = 16, 6, 300
EXPECTED = float(special.digamma(EACH / 2.0)) - math.log(EACH / 2.0)
"""Mean logarithm of the mean of six squared standard normal numbers."""


def logarithms(channel: Channel, prior: Prior, columns: int) -> tuple[Array, Array]:
    """Logarithms ``(16, k)`` of squared errors of μ (and σ) over their asymptotic variance.

    Each is of the mean of six runs; of all people, and of the first tenth of them only.
    """
    follower = Gradient(prior, channel)
    variance = np.diag(asymptotic_variance(channel, SIGMA))[:columns]
    found = np.empty((2, REPEATS * EACH, columns))
    for run in range(REPEATS * EACH):
        states = follower.follow(*people(channel, ENOUGH, run))
        for row, state in enumerate((states[-1], states[ENOUGH // 10])):
            found[row, run] = (state.mean_mu - MU, state.sigma - SIGMA)[:columns]
    shares = ENOUGH * found**2 / variance
    every, few = np.log(shares.reshape(2, REPEATS, EACH, columns).mean(axis=2))
    return every, few


@pytest.mark.parametrize(
    ("name", "epsilon_total", "score", "prior"),
    [
        ("truncation", 5.0, "mu", Prior(MU + 20.0, 400.0, sigma=SIGMA)),
        ("truncation", 10.0, "determinant", BOTH),
    ],
)
def test_the_average_is_as_accurate_as_fisher_information_allows(
    name: str, epsilon_total: float, score: str, prior: Prior
) -> None:
    """Up to a third more variance; sees one four times too large, as a tenth of the people have."""
    columns = 1 if prior.sigma else 2
    every, few = logarithms(channel_of(name, epsilon_total, score), prior, columns)
    expected, allowed = np.full(columns, EXPECTED), np.full(columns, 0.3)
    assert_mean_of_repeats(every, expected, allowed)
    assert rejects(assert_mean_of_repeats, few, expected, allowed)


def test_it_ends_where_a_posterior_from_the_same_answers_lies() -> None:
    """Within the posterior's own standard deviation, root mean square over six runs."""
    channel = channel_of("truncation", 5.0)
    follower, off = Gradient(WIDE, channel), []
    for run in range(6):
        values, chances = people(channel, 300, run)
        state, rng = follower.start(), generator(1, "posterior", run)
        sampler = Smc(WIDE, "laplace", 100)
        posterior = sampler.start(rng)
        for value, chance in zip(values.tolist(), chances.tolist(), strict=True):
            response = channel.answer(value, chance, *follower.place(state))
            state = follower.step(state, response)
            posterior, _ = sampler.step(rng, posterior, response)
        known = moments(posterior)
        off.append([(place - known.mean_mu) / known.sd_mu for place in (state.mean_mu, state.mu)])
    average, last = np.sqrt(np.mean(np.square(off), axis=0))
    assert average < 0.5
    assert last > 0.8, "a last place is farther off"
