"""Weighted draws and the few of them that are kept."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core.published import posteriors

Array = NDArray[np.float64]


class _Fixed:
    """A generator whose one uniform number is known."""

    def __init__(self, value: float) -> None:
        self.value = value

    def random(self) -> float:
        return self.value


def thinned(weights: Array, count: int, value: float) -> tuple[NDArray[np.int64], Array]:
    return posteriors.thinned(weights, count, cast(np.random.Generator, _Fixed(value)))


WEIGHTS = np.array([0.4, 0.01, 0.05, 0.0, 0.2, 0.03, 0.11, 0.02, 0.08, 0.1])


@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_thinning_keeps_every_weight_on_average(count: int) -> None:
    values = (np.arange(2000) + 0.5) / 2000
    mean = np.zeros(len(WEIGHTS))
    for value in values:
        indices, kept = thinned(WEIGHTS, count, value)
        assert abs(len(indices) - count) <= 1
        assert (np.diff(indices) > 0).all()
        assert kept.sum() == pytest.approx(1.0)
        mean[indices] += kept / len(values)
    np.testing.assert_allclose(mean, WEIGHTS, atol=2e-3)


def test_large_weights_stay_as_they_are() -> None:
    for value in (0.1, 0.5, 0.9):
        indices, kept = thinned(WEIGHTS, 5, value)
        found = dict(zip(indices.tolist(), kept.tolist(), strict=True))
        assert found[0] == pytest.approx(0.4)
        assert found[4] == pytest.approx(0.2)


def test_few_draws_are_all_kept_but_those_without_weight() -> None:
    indices, kept = thinned(WEIGHTS, 9, 0.5)
    assert indices.tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    np.testing.assert_array_equal(kept, WEIGHTS[indices])


def test_equal_weights_are_thinned_to_equal_weights() -> None:
    _, kept = thinned(np.full(1000, 1e-3), 100, 0.3)
    np.testing.assert_allclose(kept, 1.0 / len(kept))


def test_moments_are_those_of_repeated_draws() -> None:
    values = np.array([[1.0, 5.0], [2.0, 3.0], [4.0, -1.0]])
    found = posteriors.moments(values, np.array([0.5, 0.25, 0.25]))
    repeated = np.repeat(values, [2, 1, 1], axis=0)
    np.testing.assert_allclose(found.mean, repeated.mean(axis=0))
    np.testing.assert_allclose(found.sd, repeated.std(axis=0))
    many = np.random.default_rng(1).normal(size=(40, 1))
    found = posteriors.moments(many, np.full(40, 1.0 / 40.0))
    low, high = np.quantile(many, [0.05, 0.95], method="hazen")
    np.testing.assert_allclose([found.low[0], found.high[0]], [low, high])
