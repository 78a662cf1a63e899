"""Simulation-based calibration: the truth is one more draw from the posterior.

Parameters from the prior, people from the parameters, a stream of adaptive intervals, and then the
rank of the truth among a few equally weighted particles. It is uniform if prior, noise, density,
weights and moves all fit together, even if intervals depend on earlier answers.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from abcdp_core.adaptive import noise
from abcdp_core.adaptive.channels import Truncation
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.resampling import multinomial
from abcdp_core.adaptive.smc import Smc
from abcdp_core.adaptive.stream import Stream
from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from tests.statistics import FALSE_ALARM, assert_distribution, rejects

PRIOR = Prior(50.0, 25.0, 5.0, 40.0)
PEOPLE, EPSILON_TOTAL = 50, 8.0

UNIT_SCALE = noise.unit_scale("laplace", EPSILON_TOTAL, 0.0)
WIDE = Truncation(-3.0, 3.0, "laplace", UNIT_SCALE)
"""Wide intervals, in which noise and people add up to the observed spread."""

DRAWS = 31
"""Particles among which the truth is ranked."""


def places(shrunk: float, count: int = 150) -> Array:
    """Uniform places ``(R, 2)`` of the true μ and σ among particles.

    People add noise multiplied by ``shrunk``; the model believes in 1. Ranks 0.45 away from uniform
    are detected with probability 1 − 1e-6, and 0.22 half the time.
    """
    sampler, found = Smc(PRIOR, "laplace", 200), []
    for run in range(count):
        rng = generator(1, "calibration", run)
        drawn = shrunk * noise.draw(generator(2, "calibration", run), "laplace", PEOPLE)
        truth = PRIOR.draw(rng, 1)[0]
        values = truth[0] + math.exp(truth[1]) * rng.standard_normal(PEOPLE)
        *_, (state, _) = Stream(sampler, WIDE, run=run).ask(None, 0, values, drawn)
        equal = state.theta[multinomial(rng, state.weights)]
        some = equal[rng.choice(len(equal), DRAWS, replace=False)]
        # Anywhere within its rank, so that the distribution is continuous.
        found.append((np.sum(some < truth, axis=0) + rng.random(2)) / (DRAWS + 1))
    return np.array(found)


def are_uniform(places: Array) -> None:
    """Both columns, at half the false alarm each."""
    for column in places.T:
        assert_distribution(column, stats.uniform.cdf, FALSE_ALARM / 2.0)


def test_the_truth_is_a_draw_from_the_posterior_and_half_the_noise_is_rejected() -> None:
    are_uniform(places(1.0))
    # σ seems too small.
    assert rejects(are_uniform, places(0.5, 60))


@pytest.mark.slow
def test_published_noise_is_rejected() -> None:
    # A scale taken for a standard deviation (MATH A11).
    assert rejects(are_uniform, places(1.0 / math.sqrt(2.0)))
