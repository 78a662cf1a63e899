"""Simulation-based calibration: the truth is one more draw from the posterior.

Parameters from the prior, people from the parameters, a stream of adaptive intervals, and then the
rank of the truth among a few equally weighted particles: uniform if prior, noise, density, weights
and moves all belong together. An interval that depends on earlier answers changes nothing in that.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.online import noise
from abcdp_core.online.best_channel import best
from abcdp_core.online.channels import Table, sign
from abcdp_core.online.noise import NoiseFamily
from abcdp_core.online.particles import Response
from abcdp_core.online.prior import Prior
from abcdp_core.online.resampling import multinomial
from abcdp_core.online.smc import Smc
from abcdp_core.online.stream import Adaptive, Placed, Stream
from abcdp_core.streams import generator
from tests.statistics import FALSE_ALARM, assert_distribution, rejects

Array = NDArray[np.float64]

PRIOR = Prior(50.0, 25.0, 5.0, 40.0)
PEOPLE, EPSILON_TOTAL = 50, 8.0
REPLICATIONS = 200
"""A law of the ranks that is 0.39 away from the uniform one is seen with a probability of 1 − 1e-6,
0.19 in every second case. Noise too small by √2 makes σ look too small: 0.33 here."""

WIDE = Adaptive(-3.0, 3.0)
"""Wide intervals, in which noise and people add up to what is seen of σ."""

MODEL = Smc(PRIOR, "laplace", 200)

DRAWS = 31
"""Particles that the truth is ranked among."""


@functools.cache
def replications(
    shrunk: float, sampler: Smc = MODEL, count: int = REPLICATIONS
) -> tuple[Array, Array]:
    """Places ``(R, 2)`` of the true μ and σ among particles, uniform on [0, 1], and distances.

    The distances are those of all responses outside their interval, in scales of the noise.

    Args:
        shrunk: what the noise is multiplied by before people add it; 1 as the model believes.
        sampler: what takes the responses in.
        count: R.
    """
    unit_scale = noise.unit_scale("laplace", EPSILON_TOTAL, 0.0)
    places, distances = np.empty((count, 2)), []
    for run in range(count):
        rng = generator(1, "calibration", run)
        truth = sampler.prior.draw(rng, 1)[0]
        values = truth[0] + math.exp(truth[1]) * rng.standard_normal(PEOPLE)
        drawn = shrunk * noise.draw(rng, "laplace", PEOPLE)
        stream = Stream(sampler, WIDE, "laplace", unit_scale, run=run)
        asked = list(stream.ask(None, 0, values, drawn))
        for _, row in asked:
            outside = max(row.left - row.response, row.response - row.right)
            if outside > 0.0:
                distances.append(outside / ((row.right - row.left) * unit_scale))
        state = asked[-1][0]
        equal = state.theta[multinomial(rng, state.weights)]
        some = equal[rng.choice(len(equal), DRAWS, replace=False)]
        # Anywhere within its rank, so that the law is continuous.
        places[run] = (np.sum(some < truth, axis=0) + rng.random(2)) / (DRAWS + 1)
    return places, np.array(distances)


def are_uniform(places: Array) -> None:
    """Both columns, at half the false alarm each."""
    for column in places.T:
        assert_distribution(column, stats.uniform.cdf, FALSE_ALARM / 2.0)


PUBLISHED = 1.0 / math.sqrt(2.0)
"""The published noise (MATH A11): a scale taken for a standard deviation."""


def test_the_truth_is_a_draw_from_the_posterior() -> None:
    are_uniform(replications(1.0)[0])


def test_the_published_noise_is_rejected_by_the_ranks() -> None:
    assert rejects(are_uniform, replications(PUBLISHED)[0])


def test_outside_the_interval_responses_are_exponential() -> None:
    # Laplace noise forgets how far it is beyond the end: hundreds of distances of scale 1.
    assert_distribution(replications(1.0)[1], stats.expon.cdf)
    assert rejects(assert_distribution, replications(PUBLISHED)[1], stats.expon.cdf)


KNOWN = Smc(Prior(50.0, 25.0, 5.0, 40.0, sigma=3.0), "laplace", 200)


def test_the_truth_is_a_draw_from_the_posterior_where_sigma_is_known() -> None:
    assert_distribution(replications(1.0, KNOWN, 100)[0][:, 0], stats.uniform.cdf)


class High(Prior):
    """Draws from the prior but moves under one whose μ is too large."""

    def log_density(self, theta: Array) -> Array:
        return super().log_density(theta) + 5.0 * theta[:, 0]


def test_moves_to_larger_means_are_rejected_by_the_ranks() -> None:
    sampler = dataclasses.replace(KNOWN, prior=High(50.0, 25.0, 5.0, 40.0, sigma=3.0))
    places = replications(1.0, sampler, 60)[0][:, 0]
    assert rejects(assert_distribution, places, stats.uniform.cdf)


OPTIMAL = best(4.0, score="determinant").channel


@functools.cache
def places_by(table: Table, sigma: float | None, count: int) -> Array:
    """Places ``(R, 2)`` as of :func:`replications`, of answers from a table of symbols."""
    prior = Prior(50.0, 25.0, 5.0, 40.0, sigma)
    places = np.empty((count, 2))
    for run in range(count):
        rng = generator(3, "calibration", run)
        truth = prior.draw(rng, 1)[0]
        values = truth[0] + math.exp(truth[1]) * rng.standard_normal(PEOPLE)
        stream = Stream(Smc(prior, "table", 200), Placed(table), "table", 1.0, run=run)
        *_, (state, _) = stream.ask(None, 0, values, table.draw(rng, PEOPLE))
        equal = state.theta[multinomial(rng, state.weights)]
        some = equal[rng.choice(len(equal), DRAWS, replace=False)]
        places[run] = (np.sum(some < truth, axis=0) + rng.random(2)) / (DRAWS + 1)
    return places


def test_the_truth_is_a_draw_from_the_posterior_of_symbols() -> None:
    are_uniform(places_by(OPTIMAL, None, 150))
    known = places_by(sign(2.0), 3.0, 100)[:, 0]
    assert_distribution(known, stats.uniform.cdf)


class Moved(Table):
    """A broken twin: who infers takes the sets to lie elsewhere than the people do."""

    def answer(self, value: float, drawn: float, location: float, scale: float) -> Response:
        told = super().answer(value, drawn, location, scale)
        return told._replace(left=told.left + scale, right=told.right + scale)


def test_sets_that_lie_elsewhere_are_rejected_by_the_ranks() -> None:
    twin = Moved(OPTIMAL.ends, OPTIMAL.weights, OPTIMAL.level)
    assert rejects(are_uniform, places_by(twin, None, 60))


class Narrow(Prior):
    """Draws from the prior but moves under one whose σ is half as uncertain and too small."""

    def log_density(self, theta: Array) -> Array:
        return super().log_density(theta) - 20.0 * theta[:, 1]


def test_moves_under_another_prior_are_rejected_by_the_ranks() -> None:
    sampler = Smc(Narrow(50.0, 25.0, 5.0, 40.0), "laplace", 200)
    assert rejects(are_uniform, replications(1.0, sampler, 60)[0])


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("run", range(4))
def test_the_papers_wide_prior_stays_sound(run: int, family: NoiseFamily) -> None:
    # Most particles are 30 true σ away at first.
    prior, unit_scale = Prior(), 0.2
    rng = generator(2, "wide", run)
    values = 50.0 + math.sqrt(10.0) * rng.standard_normal(150)
    drawn = noise.draw(rng, family, 150)
    stream = Stream(Smc(prior, family, 200), Adaptive(-0.73, 0.73), family, unit_scale, run=run)
    for state, row in stream.ask(None, 0, values, drawn):
        assert np.isfinite(row).all()
        assert row.effective_sample_size >= 1.0
        assert abs(row.mean_mu) < 6.0 * math.sqrt(prior.variance)
        assert np.isfinite(state.theta).all()
