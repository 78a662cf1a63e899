"""Maps fitted to the public pool: what they are, and how far one person can move their images."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdp_core.base.arrays import Array
from abcdp_core.mechanisms.linear_maps import KINDS, fit, map_sensitivity
from abcdp_core.models.distances.fourier import FourierMMD
from abcdp_core.models.distances.quadratic import QuadraticMMD
from abcdp_core.models.distances.random_features import RandomFeatures
from abcdp_core.models.distances.summaries import ClippedSummaries
from abcdp_core.models.pool import DistanceTable
from abcdp_core.models.simulators import uniform_mixture

N = 300
SIZE = 600
MMD = FourierMMD(0.0, 5.0, 0.6)

EACH = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def comparison() -> DistanceTable:
    rng = np.random.default_rng(0)
    theta = uniform_mixture.prior(rng, SIZE)
    statistics = MMD.statistic(uniform_mixture.simulate(rng, theta, N))
    statistic = MMD.statistic(
        uniform_mixture.simulate(rng, uniform_mixture.SCENARIO.truth[None], N)[0]
    )
    rho = MMD.compare(statistics, statistic)
    return DistanceTable(theta, rho, statistic, N, MMD, True, statistics)


def steps(matrix: Array, points: Array) -> Array:
    """How far replacing one point by another moves the image, for all pairs, times n."""
    images = MMD.statistic(points[:, None, None]) @ matrix.T
    return np.linalg.norm(images[:, None] - images[None], axis=-1)


def searched(matrix: Array) -> float:
    """The largest step that a search finds: random pairs, then ever smaller moves of the best."""
    rng = np.random.default_rng(1)
    points = np.concatenate([[0.0, 5.0], rng.uniform(0.0, 5.0, 500)])
    best, width = 0.0, 0.5
    for _ in range(10):
        found = steps(matrix, points)
        first, second = np.unravel_index(np.argmax(found), found.shape)
        best = max(best, float(found.max()))
        pair = points[[first, second]]
        around = pair[:, None] + width * rng.uniform(-1.0, 1.0, (2, 100))
        points, width = np.clip(np.append(pair, around.ravel()), 0.0, 5.0), width / 3.0
    return best


# ------------------------------------------------------------------------------- sensitivity


@EACH
def test_no_search_finds_more_than_the_sensitivity_and_nearly_all_of_it_is_found(
    kind: str, comparison: DistanceTable
) -> None:
    fitted = fit(comparison, kind, axes=4)
    best = searched(fitted.matrix) / N
    assert 0.95 * fitted.sensitivity <= best <= fitted.sensitivity


@given(st.integers(0, 1000), st.integers(1, 5))
def test_the_sensitivity_is_a_bound_for_any_matrix(seed: int, rows: int) -> None:
    # High frequencies with as much weight as low ones: the hardest case for a grid.
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(rows, 2 * MMD.frequencies + 1)) / np.concatenate(
        [np.sqrt(MMD.weights), np.sqrt(MMD.weights[1:])]
    )
    found = steps(matrix, rng.uniform(0.0, 5.0, 200)).max()
    assert found <= map_sensitivity(matrix, MMD, 1)


def test_a_sensitivity_that_is_too_small_is_found_out(comparison: DistanceTable) -> None:
    fitted = fit(comparison, "axes", axes=4)
    found, images = searched(fitted.matrix), fitted.images
    # The size of the pool for that of the data.
    assert found / N > 1.1 * map_sensitivity(fitted.matrix, comparison.distance, SIZE)
    # How far apart the pool's data sets are.
    assert found > 1.1 * float(np.linalg.norm(images[:, None] - images[None], axis=-1).max())
    # Only values that the data happen to have, all near the middle.
    points = np.random.default_rng(3).uniform(2.0, 3.0, 200)
    assert found > 1.1 * float(steps(fitted.matrix, points).max())


def test_closed_forms_of_the_sensitivity(comparison: DistanceTable) -> None:
    everything = fit(comparison, "none", axes=4).sensitivity
    assert MMD.sensitivity(N) <= everything <= MMD.sensitivity(N) * (1.0 + 1e-8)
    # Without an interval, the norm of the matrix.
    features = RandomFeatures(1.0, 2, frequencies=20)
    matrix = np.random.default_rng(4).normal(size=(3, 40))
    found = map_sensitivity(matrix, features, 50)
    assert found == pytest.approx(np.linalg.norm(matrix, 2) * 2.0 / 50, rel=1e-9)
    # A clipped distance moves by no more than its bound, but its statistic by 5.
    clipped = ClippedSummaries(lambda data: data[..., 0, :], (1.0,), length=5.0, bound=2.0)
    assert clipped.sensitivity(1) == 2.0
    assert map_sensitivity(np.eye(1), clipped, 1) >= 5.0


# ------------------------------------------------------------------------------------ the map


def test_all_features_are_all_but_the_constant(comparison: DistanceTable) -> None:
    fitted = fit(comparison, "none", axes=4)
    assert comparison.statistics is not None
    assert fitted.dimension == 2 * MMD.frequencies
    assert np.array_equal(fitted.images, comparison.statistics[:, 1:])
    distance = np.linalg.norm(fitted.images - fitted.matrix @ comparison.statistic, axis=1)
    assert distance == pytest.approx(comparison.rho, abs=1e-12)


def test_axes_are_orthonormal_and_carry_most_of_the_variance(comparison: DistanceTable) -> None:
    fitted = fit(comparison, "axes", axes=4)
    assert comparison.statistics is not None
    assert fitted.matrix @ fitted.matrix.T == pytest.approx(np.eye(4), abs=1e-12)
    variance = fitted.images.var(axis=0)
    assert np.all(np.diff(variance) < 0.0)
    assert variance.sum() > 0.98 * comparison.statistics.var(axis=0).sum()
    fewer = fit(comparison, "axes", axes=2)
    assert fewer.matrix == pytest.approx(fitted.matrix[:2], abs=1e-12)
    assert [fit(comparison, "axes", axes=axes).dimension for axes in (1, 46)] == [1, 46]


def test_a_regression_is_ridge_regression(comparison: DistanceTable) -> None:
    fitted = fit(comparison, "regression", axes=4)
    # Five shares that add up to 1 are four numbers.
    assert fitted.dimension == 4
    assert comparison.statistics is not None
    features, theta = comparison.statistics[:, 1:], comparison.theta
    centered = features - features.mean(axis=0)
    covariance = np.cov(features, rowvar=False, ddof=0)
    penalty = 1e-6 * np.trace(covariance) * np.eye(len(covariance))
    joint = centered.T @ (theta - theta.mean(axis=0)) / SIZE
    expected = theta.mean(axis=0) + centered @ np.linalg.solve(covariance + penalty, joint)
    found = np.array([fitted.predict(image) for image in fitted.images])
    assert found == pytest.approx(expected, abs=1e-9)


def test_what_cannot_be_fitted_is_one_clear_error(comparison: DistanceTable) -> None:
    cases: list[tuple[dict[str, Any], str, int, str]] = [
        ({"distance": QuadraticMMD(0.6)}, "none", 4, "between mean features; QuadraticMMD has no"),
        ({"statistics": None}, "axes", 4, "needs the pool's statistics, which were not kept"),
        ({}, "all", 4, "map = all: must be one of"),
        *(({}, "axes", axes, f"axes = {axes}: must be a whole number") for axes in (0, 47)),
    ]
    for changed, kind, axes, message in cases:
        with pytest.raises(ValueError, match=message):
            fit(dataclasses.replace(comparison, **changed), kind, axes)
