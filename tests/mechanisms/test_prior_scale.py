"""The scale of priors over decades, or of few values: its inverse, and posteriors known exactly."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtri

from abcdp_core.mechanisms import private_summary
from abcdp_core.mechanisms.prior_scale import PriorScale, Scores
from abcdp_core.privacy import NonPrivate
from abcdp_core.summaries import weighted_quantile
from abcdp_core.supports import ALL_REALS, SIMPLEX, box

Array = NDArray[np.float64]

PARTS = (np.arange(4000) + 0.5) / 4000
"""Of a pool that follows its prior without chance."""


@pytest.mark.parametrize(
    ("name", "theta", "has_scores"),
    [
        ("normal", ndtri(PARTS), False),
        ("uniform", PARTS, False),
        ("exponential", -np.log(PARTS), False),
        ("two decades", 10.0 ** (2.0 * PARTS), False),
        ("three decades", 10.0 ** (3.0 * PARTS), True),
        ("log-normal", np.exp(ndtri(PARTS)), True),
        ("no effect for half", np.maximum(PARTS - 0.5, 0.0), True),
        ("four values", np.ceil(4.0 * PARTS), True),
        ("always the same", np.full(4000, 3.0), False),
    ],
)
def test_priors_without_far_draws_and_shared_values_keep_their_scale(
    name: str, theta: Array, has_scores: bool
) -> None:
    assert (Scores.of(theta) is not None) == has_scores, name


def test_scores_are_normal_and_lead_back() -> None:
    theta = np.column_stack([ndtri(PARTS), 10.0 ** (7.0 * PARTS)])
    scale = PriorScale.of(theta, ALL_REALS)
    scores = scale.scores(theta)
    assert scores == pytest.approx(np.column_stack([ndtri(PARTS)] * 2))
    assert scale.parameters(scores) == pytest.approx(theta)
    # Nothing leaves the pool.
    far = scale.parameters(np.array([[5.0, 99.0], [5.0, -99.0]]))
    assert far.tolist() == [[5.0, theta[-1, 1]], [5.0, theta[0, 1]]]


def test_a_value_that_many_draws_share_is_met_as_often() -> None:
    theta = np.maximum(PARTS - 0.3, 0.0)[:, None]
    scale = PriorScale.of(theta, ALL_REALS)
    back = scale.parameters(ndtri(PARTS)[:, None])[:, 0]
    assert (back == 0.0).mean() == pytest.approx(0.3, abs=1e-3)
    assert back == pytest.approx(theta[:, 0], abs=1e-3)
    few = np.ceil(4.0 * PARTS)[:, None]
    back = PriorScale.of(few, ALL_REALS).parameters(ndtri(PARTS)[:, None])
    assert back.tolist() == few.tolist()


def test_parameters_that_move_together_keep_their_scale() -> None:
    first = np.where(PARTS < 0.9, 0.0, 1.0)
    theta = np.column_stack([first, 1.0 - first])
    assert not PriorScale.of(theta, SIMPLEX).columns
    assert set(PriorScale.of(theta, ALL_REALS).columns) == {0, 1}
    support = box(np.zeros(1), np.ones(1))
    assert PriorScale.of(PARTS[:, None], support).on(support) is support


def told(theta: Array, pool: Array, z: float, low: float, high: float) -> tuple[Array, Array]:
    """Draws and weights from numbers of a pool."""
    support = box(np.array([low]), np.array([high]))
    regression = private_summary.Regression.fit(pool[:, None], theta[:, None], support)
    found = private_summary.posterior(
        np.array([z]), regression, NonPrivate(), support, theta[:, None]
    )
    return found.parameters(theta[:, None])[:, 0], found.weights


@pytest.mark.parametrize("logarithm", [-6.0, -3.0, 0.0, 3.0])
def test_a_rate_over_twelve_decades_is_told_as_exactly_in_each(logarithm: float) -> None:
    rng, spread = np.random.default_rng(1), 0.05
    logarithms = rng.uniform(-7.0, 5.0, 10_000)
    pool = logarithms + spread * rng.normal(size=10_000)
    samples, weights = told(10.0**logarithms, pool, logarithm, 1e-7, 1e5)
    ends = np.log10(weighted_quantile(samples[:, None], weights, [0.05, 0.5, 0.95])[:, 0])
    exact = logarithm + spread * ndtri([0.05, 0.5, 0.95])
    assert ends == pytest.approx(exact, abs=spread)


def test_no_effect_has_the_probability_that_it_has() -> None:
    """Half of the prior is at 0; the noise is normal, so the posterior is a sum of two parts."""
    rng, spread, z = np.random.default_rng(2), 0.2, 0.15
    theta = np.where(rng.random(20_000) < 0.5, 0.0, rng.random(20_000))
    samples, weights = told(theta, theta + spread * rng.normal(size=20_000), z, 0.0, 1.0)
    grid = (np.arange(1000) + 0.5) / 1000
    none, some = (np.exp(-0.5 * ((z - at) / spread) ** 2).mean() for at in (np.zeros(1), grid))
    assert weights[samples == 0.0].sum() == pytest.approx(none / (none + some), abs=0.05)


def test_the_error_of_a_prior_over_decades_is_that_of_its_posterior() -> None:
    """Of the regression alone, by the rate itself, 5 times as much was announced."""
    rng = np.random.default_rng(3)
    logarithms = rng.uniform(-3.0, 4.0, (10_000, 1))
    pool = logarithms + 0.05 * rng.normal(size=logarithms.shape)
    theta, support = 10.0**logarithms, box(np.array([1e-3]), np.array([1e4]))
    regression = private_summary.Regression.fit(pool, theta, support)
    said = private_summary.error(regression, pool, support, theta)
    truths = 10.0 ** rng.uniform(-3.0, 4.0, (400, 1))
    off = []
    for z, truth in zip(np.log10(truths) + 0.05 * rng.normal(size=(400, 1)), truths, strict=True):
        found = private_summary.posterior(z, regression, NonPrivate(), support, theta)
        off.append(found.mean(theta, truth) - truth)
    # Each is known to some 10 %, as few draws decide it.
    assert said == pytest.approx(np.sqrt(np.mean(np.square(off), axis=0)), rel=0.5)
