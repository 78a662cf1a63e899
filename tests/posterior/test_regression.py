"""Regression adjustment in cases with a closed form."""

from __future__ import annotations

import numpy as np
import pytest

from abcdp_core.base.arrays import Array
from abcdp_core.base.summaries import weighted_mean, weighted_variance
from abcdp_core.posterior import regression
from abcdp_core.posterior.noise import Gaussian
from abcdp_core.posterior.regression import OF_POOL, OF_ROUNDS, Predictor, Regression, Shares


def moments(z: Array, numbers: Array, x: Array, shares: Shares = OF_POOL) -> tuple[Array, Array]:
    """Mean and standard deviation of draws from the prior, adjusted to z."""
    moved = Regression.fit(numbers, x, np.zeros(len(x))).moved(z, shares)
    found = weighted_mean(moved.x, moved.weights)
    return found, np.sqrt(weighted_variance(moved.x, moved.weights))


@pytest.mark.parametrize("shares", [OF_POOL, OF_ROUNDS])
@pytest.mark.parametrize("scale", [0.01, 1.0, 3.0])
def test_the_noise_of_the_release_is_in_the_posterior(scale: float, shares: Shares) -> None:
    """Averages of six numbers of variance 1 + b², for a parameter each."""
    z, rng = np.repeat([1.0, -0.5], 6), np.random.default_rng(1)
    x = rng.standard_normal((20_000, 2))
    numbers = np.repeat(x, 6, axis=1) + rng.standard_normal((20_000, 12))
    mean, sd = moments(z, Gaussian((scale,) * 12).noisy(rng, numbers), x, shares)
    variance = (1.0 + scale**2) / 6.0
    exact = np.sqrt(variance / (1.0 + variance))
    np.testing.assert_allclose(mean, z[[0, 6]] / (1.0 + variance), atol=0.25 * exact)
    np.testing.assert_allclose(sd, exact, rtol=0.15)


def test_the_regression_is_ridge_regression_on_standard_features(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(regression, "PER_FEATURE", 10)
    monkeypatch.setattr(regression, "BLOCK", 33)
    rng, size = np.random.default_rng(13), 130
    numbers = rng.laplace(size=(size, 3)) * np.array([3.0, 500.0, 1.0]) + 1.0
    # The third is 0 for most, so its unit is 1.
    numbers[:, 2] = np.maximum(numbers[:, 2] - 2.0, 0.0)
    x = rng.normal(size=(size, 3)) * np.array([1.0, 2.0, 30.0]) + numbers[:, :1]
    unit = np.append(np.median(np.abs(numbers[:, :2]), axis=0), 1.0)
    straight, bent, wanted = (
        (values - values.mean(axis=0)) / values.std(axis=0)
        for values in (numbers, np.arcsinh(numbers / unit), x)
    )
    products = [bent[:, i] * bent[:, j] for i in range(3) for j in range(i, 3)]
    features = np.column_stack([np.ones(size), straight, bent, *products])
    gram = features.T @ features + 1e-6 * size * np.eye(features.shape[1])
    predictions = features @ np.linalg.solve(gram, features.T @ wanted)
    found = Predictor.fit(numbers, x).of(numbers)
    np.testing.assert_allclose(found, predictions, rtol=1e-9, atol=1e-9)


def test_numbers_that_never_change_are_no_obstacle() -> None:
    x = np.random.default_rng(12).uniform(size=(2000, 1))
    numbers = np.column_stack([np.full(2000, 0.1), np.zeros(2000), np.round(20.0 * x[:, 0])])
    mean, _ = moments(np.array([0.3, 5.0, 10.0]), numbers, x)
    assert mean == pytest.approx([0.5], abs=0.05)
    # Nor are draws in which nothing changes; the result is the prior.
    mean, _ = moments(np.array([0.3, 5.0]), numbers[:, :2], x)
    assert mean == pytest.approx([0.5], abs=0.05)
