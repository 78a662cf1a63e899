"""Points of a mixture of uniform distributions, their counts, and data sets drawn reduced."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from abcdp_core.base.arrays import Array
from abcdp_core.models.simulators import uniform_mixture
from tests.statistics import assert_distribution, assert_same_distribution, rejects

TRUTH = uniform_mixture.SCENARIO.truth
UNEVEN = np.array([0.5, 0.0, 0.3, 0.2, 0.0])


def cdf(theta: Array, x: Array) -> Array:
    return np.interp(x, np.arange(6), np.concatenate([[0.0], np.cumsum(theta)]))


@pytest.mark.parametrize("theta", [TRUTH, UNEVEN], ids=["truth", "uneven"])
def test_points_follow_the_mixture_and_stay_out_of_empty_components(theta: Array) -> None:
    points = uniform_mixture.simulate(np.random.default_rng(1), theta[None], 100_000)[0, :, 0]
    assert_distribution(points, lambda x: cdf(theta, x))
    other = theta + 0.03 * np.array([1.0, 0.0, -1.0, 0.0, 0.0])
    assert rejects(assert_distribution, points, lambda x: cdf(other, x))
    assert set(points.astype(int)) == {*np.flatnonzero(theta)}


def test_a_point_inverts_the_distribution_function() -> None:
    theta = uniform_mixture.prior(np.random.default_rng(3), 20)
    points = uniform_mixture.simulate(np.random.default_rng(4), theta, 50)[..., 0]
    uniform = np.random.default_rng(4).random((20, 50))
    for weights, row, u in zip(theta, points, uniform, strict=True):
        assert cdf(weights, row) == pytest.approx(u, abs=1e-12)


def test_the_prior_is_flat_over_weights() -> None:
    theta = uniform_mixture.prior(np.random.default_rng(1), 20_000)
    assert theta.shape == (20_000, 5)
    assert theta.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    for weight in theta.T:
        assert_distribution(weight, stats.beta(1.0, 4.0).cdf)
    assert rejects(assert_distribution, theta[:, 0], stats.beta(1.0, 5.0).cdf)


COUNTS = uniform_mixture.SCENARIO.statistics["counts"]


def test_every_point_is_counted_once() -> None:
    points = np.array([0.0, 0.999, 1.0, 4.0, 5.0, -3.0, 17.0, np.inf, -np.inf, np.nan])
    assert COUNTS.reduce(points[:, None]).tolist() == [5.0, 1.0, 0.0, 0.0, 4.0]
    assert COUNTS.reduce(np.empty((0, 1))).tolist() == [0.0] * 5
    many = np.random.default_rng(1).uniform(0.0, 5.0, (2, 3, 20, 1))
    expected = [[np.bincount(one, minlength=5) for one in row] for row in many[..., 0].astype(int)]
    assert np.array_equal(COUNTS.reduce(many), expected)
    # An array that is not contiguous.
    assert np.array_equal(COUNTS.reduce(many[:, :, ::2]), COUNTS.reduce(many[:, :, ::2].copy()))


def test_a_replaced_point_moves_the_counts_by_at_most_the_sensitivity() -> None:
    data = np.array([[0.5], [1.5], [1.6], [4.5]])
    others = np.tile(data, (4, 21, 1, 1))
    for place in range(len(data)):
        others[place, :, place, 0] = np.linspace(0.0, 5.0, 21)
    moves = (COUNTS.reduce(others) - COUNTS.reduce(data)).reshape(-1, 5)
    assert np.abs(moves).sum(axis=1).max() == COUNTS.l1(4) == 2.0
    assert np.linalg.norm(moves, axis=1).max() <= COUNTS.l2(4) == pytest.approx(np.sqrt(2.0))
    assert (COUNTS.neighbours, COUNTS.unit) == ("replace", uniform_mixture.SCENARIO.protected)


def statistics_of(theta: Array, n: int, sets: int, *, reduced: bool) -> tuple[Array, Array]:
    """Statistics and counts of data sets at one truth, drawn reduced or point by point."""
    rng = np.random.default_rng(2)
    truths = np.tile(theta, (sets, 1))
    if reduced:
        found, counts = uniform_mixture.reduced(rng, truths, n)
        return found, counts["counts"]
    points = uniform_mixture.simulate(rng, truths, n)
    return uniform_mixture.distance().statistic(points), uniform_mixture.count(points)


@pytest.mark.parametrize(
    ("theta", "n"), [(TRUTH, uniform_mixture.FEW + 1), (UNEVEN, 300)], ids=["truth", "uneven"]
)
def test_reduced_data_sets_have_the_distribution_of_simulated_ones(theta: Array, n: int) -> None:
    """Compare distances to three data sets, and a part of the statistic beyond the counts."""
    (drawn, counts), (simulated, their_counts) = (
        statistics_of(theta, n, 20_000, reduced=reduced) for reduced in (True, False)
    )
    metric = uniform_mixture.distance()
    middle, _ = metric.moments(0.0, 5.0)
    near, far = simulated.mean(axis=0), metric.moments(0.0, 1.0)[0]
    for place in (middle, near, far):
        assert_same_distribution(metric.compare(drawn, place), metric.compare(simulated, place))
    for component in np.flatnonzero(theta):
        assert_same_distribution(counts[:, component], their_counts[:, component])
    means, _ = uniform_mixture._features()
    inside, theirs = (
        (statistic - of @ means / n) @ (means[0] - means[2])
        for statistic, of in ((drawn, counts), (simulated, their_counts))
    )
    assert_same_distribution(inside, theirs)
    # Broken twins: the counts alone, and a spread that is a tenth too small.
    assert rejects(assert_same_distribution, np.zeros(len(inside)), theirs)
    fewer = metric.compare(statistics_of(theta, round(1.2 * n), 20_000, reduced=True)[0], near)
    assert rejects(assert_same_distribution, fewer, metric.compare(simulated, near))


def test_few_points_are_simulated_one_by_one() -> None:
    rng, again = np.random.default_rng(3), np.random.default_rng(3)
    theta = uniform_mixture.prior(np.random.default_rng(4), 7)
    found, counts = uniform_mixture.reduced(rng, theta, 10)
    points = uniform_mixture.simulate(again, theta, 10)
    assert np.array_equal(found, uniform_mixture.distance().statistic(points))
    assert np.array_equal(counts["counts"], uniform_mixture.count(points))
