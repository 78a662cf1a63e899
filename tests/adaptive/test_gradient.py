"""The online gradient: each step by hand, its average against Fisher information."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import special

from abcdp_core.adaptive import parameters as stream_params
from abcdp_core.adaptive.channels import Channel, Truncation, sign
from abcdp_core.adaptive.families import NORMAL
from abcdp_core.adaptive.gradient import Gradient, State, asymptotic_variance
from abcdp_core.adaptive.particles import Response
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.response import log_likelihood
from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from tests.statistics import assert_mean_of_repeats, rejects

MU, SIGMA = 50.0, 3.0
WIDE = Prior(0.0, 1e4, sigma=SIGMA)
ABOUT = Prior(MU, 1e4, 5.0, 40.0)


def people(channel: Channel, n: int, run: int = 0) -> tuple[Array, Array]:
    values = MU + SIGMA * generator(1, "people", run).standard_normal(n)
    return values, channel.draw(generator(1, "chances", run), n)


def slope(response: Response, mu: float, sigma: float, kind: str) -> Array:
    """Derivatives of the log-likelihood by (μ, log σ) from differences."""
    step = 1e-5
    around = np.array([[step * sigma, 0.0], [-step * sigma, 0.0], [0.0, step], [0.0, -step]])
    value = log_likelihood(around + np.array([mu, math.log(sigma)]), np.array([response]), kind)
    return (value[::2] - value[1::2]) / (2.0 * step * np.array([sigma, 1.0]))


@pytest.mark.parametrize("name", ["truncation", "optimal"])
def test_steps_are_those_of_the_formulas(name: str) -> None:
    # Of the search: a Kalman filter that counts half of the information.
    channel = stream_params.channel(name, 3.0)
    follower = Gradient(WIDE, channel)
    state = follower.start()
    assert state == State(0.0, math.log(SIGMA), 1e4, 0, 0.0, math.log(SIGMA), 0)
    location, scale = follower.place(state)
    assert (location, scale) == (0.0, pytest.approx(math.sqrt(SIGMA**2 + 1e4)))
    response = channel.answer(MU, 0.6, location, scale)
    after = follower.step(state, response)
    by_mu, _ = slope(response, location, scale, channel.kind)
    left = 1e4 * (1.0 - 0.5 * 1e4 * channel.information(NORMAL)[0, 0] / scale**2)
    assert (after.mu, after.variance) == pytest.approx((1e4 * by_mu, left), rel=1e-6)
    assert after == State(after.mu, state.log_sigma, after.variance, 0, after.mu, math.log(3.0), 0)
    # After the search.
    channel, prior, sigma = stream_params.channel(name, 3.0, "determinant"), ABOUT, math.exp(1.2)
    follower = Gradient(prior, channel)
    state = State(MU + 1.0, 1.2, 0.0, 7, MU - 1.0, 1.0, 4)
    assert follower.place(state) == (MU + 1.0, pytest.approx(sigma))
    response = channel.answer(MU, 0.6, MU + 1.0, sigma)
    after = follower.step(state, response)
    by_mu, by_log_sigma = slope(response, MU + 1.0, sigma, channel.kind)
    (about_mu, _), (_, about_sigma) = channel.information(NORMAL)
    mu = MU + 1.0 + sigma**2 * (1.0 + 8 * about_mu) ** (-2 / 3) * by_mu
    v = prior.sd_log_sigma**2
    log_sigma = 1.2 + v * (1.0 + v * 8 * about_sigma) ** (-2 / 3) * by_log_sigma
    expected = (mu, log_sigma, 0.0, 8, (4 * (MU - 1.0) + mu) / 5, (4 * 1.0 + log_sigma) / 5, 5)
    assert dataclasses.astuple(after) == pytest.approx(expected, rel=1e-6)
    known = Gradient(dataclasses.replace(prior, sigma=sigma), channel).step(state, response)
    assert (known.mu, known.log_sigma) == (after.mu, 1.2)


def test_a_person_is_asked_by_earlier_answers_only() -> None:
    channel = stream_params.channel("truncation", 2.0)
    values, chances = people(channel, 40)
    follower = Gradient(WIDE, channel)
    states = follower.follow(values, chances)
    other = values.copy()
    other[25] = 2.0 * states[24].mu - other[25]
    changed = follower.follow(other, chances)
    assert changed[:25] == states[:25]
    assert changed[25] != states[25]


def test_the_asymptotic_variance_is_the_inverse_of_the_information() -> None:
    (of_mu, across), (_, of_sigma) = asymptotic_variance(sign(2.0), SIGMA)
    assert of_mu == pytest.approx(SIGMA**2 / (2.0 / math.pi * math.tanh(1.0) ** 2))
    assert (across, of_sigma) == (0.0, math.inf)
    channel = Truncation(-0.5, 1.0, "laplace", 0.2)
    product = asymptotic_variance(channel, SIGMA) @ channel.information(NORMAL)
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
    ("epsilon_total", "score", "prior"),
    [(5.0, "mu", Prior(MU + 20.0, 400.0, sigma=SIGMA)),
     (10.0, "determinant", Prior(MU, 4.0, 5.0, 40.0))],
)  # fmt: skip
def test_the_average_is_as_accurate_as_fisher_information_allows(
    epsilon_total: float, score: str, prior: Prior
) -> None:
    """Up to a third more variance; sees one four times too large, as with a tenth of the people."""
    columns = 1 if prior.sigma else 2
    every, few = logarithms(
        stream_params.channel("truncation", epsilon_total, score), prior, columns
    )
    expected, allowed = np.full(columns, EXPECTED), np.full(columns, 0.3)
    assert_mean_of_repeats(every, expected, allowed)
    assert rejects(assert_mean_of_repeats, few, expected, allowed)
