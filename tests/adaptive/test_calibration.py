"""Simulation-based calibration: the truth is one more draw from the posterior.

Parameters from the prior, people from the parameters, a stream of adaptive intervals, and then the
rank of the truth among a few equally weighted particles: uniform if prior, noise, density, weights
and moves all belong together. An interval that depends on earlier answers changes nothing in that.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.adaptive import noise
from abcdp_core.adaptive.best_channel import best
from abcdp_core.adaptive.channels import Table, Truncation
from abcdp_core.adaptive.particles import Response
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.resampling import multinomial
from abcdp_core.adaptive.smc import Smc
from abcdp_core.adaptive.stream import Answer, Stream
from abcdp_core.streams import generator
from tests.statistics import FALSE_ALARM, assert_distribution, rejects

Array = NDArray[np.float64]

PRIOR = Prior(50.0, 25.0, 5.0, 40.0)
PEOPLE, EPSILON_TOTAL = 50, 8.0
REPLICATIONS = 200
"""A law of the ranks that is 0.39 away from the uniform one is seen with a probability of 1 − 1e-6,
0.19 in every second case. Noise too small by √2 makes σ look too small: 0.33 here."""

UNIT_SCALE = noise.unit_scale("laplace", EPSILON_TOTAL, 0.0)
WIDE = Truncation(-3.0, 3.0, "laplace", UNIT_SCALE)
"""Wide intervals, in which noise and people add up to what is seen of σ."""

MODEL = Smc(PRIOR, "laplace", 200)

DRAWS = 31
"""Particles that the truth is ranked among."""


def place(
    sampler: Smc, rng: np.random.Generator, stream: Stream, drawn: Array
) -> tuple[Array, list[Answer]]:
    """One replication: people with parameters from the prior are asked with the noise drawn.

    Returns:
        Places ``(2,)`` of the true μ and σ among some particles, uniform on [0, 1]; the answers.
    """
    truth = sampler.prior.draw(rng, 1)[0]
    values = truth[0] + math.exp(truth[1]) * rng.standard_normal(PEOPLE)
    asked = list(stream.ask(None, 0, values, drawn))
    state = asked[-1][0]
    equal = state.theta[multinomial(rng, state.weights)]
    some = equal[rng.choice(len(equal), DRAWS, replace=False)]
    # Anywhere within its rank, so that the law is continuous.
    return (np.sum(some < truth, axis=0) + rng.random(2)) / (DRAWS + 1), [row for _, row in asked]


@functools.cache
def replications(
    shrunk: float, sampler: Smc = MODEL, count: int = REPLICATIONS
) -> tuple[Array, Array]:
    """Places ``(R, 2)``, and distances of all responses outside their interval in noise scales.

    Args:
        shrunk: what the noise is multiplied by before people add it; 1 as the model believes.
        sampler: what takes the responses in.
        count: R.
    """
    places, distances = np.empty((count, 2)), []
    for run in range(count):
        rng = generator(1, "calibration", run)
        drawn = shrunk * noise.draw(generator(2, "calibration", run), "laplace", PEOPLE)
        stream = Stream(sampler, WIDE, run=run)
        places[run], rows = place(sampler, rng, stream, drawn)
        for row in rows:
            outside = max(row.left - row.response, row.response - row.right)
            if outside > 0.0:
                distances.append(outside / ((row.right - row.left) * UNIT_SCALE))
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


OPTIMAL = best(4.0, score="determinant").channel


def places_by(table: Table, count: int) -> Array:
    """Places ``(R, 2)`` by answers from a table of symbols."""
    sampler = Smc(PRIOR, "table", 200)
    found = []
    for run in range(count):
        rng = generator(3, "calibration", run)
        stream = Stream(sampler, table, run=run)
        found.append(place(sampler, rng, stream, table.draw(rng, PEOPLE))[0])
    return np.array(found)


def test_the_truth_is_a_draw_from_the_posterior_of_symbols() -> None:
    are_uniform(places_by(OPTIMAL, 100))


class Moved(Table):
    """A broken twin: who infers takes the sets to lie elsewhere than the people do."""

    def answer(self, value: float, drawn: float, location: float, scale: float) -> Response:
        told = super().answer(value, drawn, location, scale)
        return told._replace(left=told.left + scale, right=told.right + scale)


def test_sets_that_lie_elsewhere_are_rejected_by_the_ranks() -> None:
    twin = Moved(OPTIMAL.ends, OPTIMAL.weights, OPTIMAL.level)
    assert rejects(are_uniform, places_by(twin, 60))


class Narrow(Prior):
    """Draws from the prior but moves under one whose σ is half as uncertain and too small."""

    def log_density(self, theta: Array) -> Array:
        return super().log_density(theta) - 20.0 * theta[:, 1]


def test_moves_under_another_prior_are_rejected_by_the_ranks() -> None:
    sampler = Smc(Narrow(50.0, 25.0, 5.0, 40.0), "laplace", 200)
    assert rejects(are_uniform, replications(1.0, sampler, 60)[0])
