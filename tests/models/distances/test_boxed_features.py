"""Random features of records in a box: the sensitivity holds and is close to the supremum."""

from __future__ import annotations

import numpy as np
import pytest

from abcdp_core.models.distances.boxed_features import BoxedFeatures, reach

LOW, HIGH = (-6.0, 0.0), (6.0, 1.0)


@pytest.mark.parametrize("bandwidth", [0.05, 0.3, 5.0])
@pytest.mark.parametrize("frequencies", [3, 100])
def test_no_two_records_are_farther_apart_than_the_reach(
    bandwidth: float, frequencies: int
) -> None:
    metric = BoxedFeatures(LOW, HIGH, bandwidth, frequencies)
    axes = [np.linspace(low, high, 61) for low, high in zip(LOW, HIGH, strict=True)]
    places = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    features = metric.statistic(places[:, None])
    # The corners see every difference in the box.
    corners = [np.linalg.norm(features - features[i], axis=1).max() for i in (0, 60, -61, -1)]
    assert max(corners) <= reach(metric) <= 2.0
    if bandwidth == 0.3:
        assert max(corners) > 0.97 * reach(metric)
    if bandwidth == 5.0:
        assert reach(metric) < 1.0


def test_a_replaced_record_moves_the_statistic_by_at_most_the_sensitivity() -> None:
    metric = BoxedFeatures(LOW, HIGH, 0.3)
    rng = np.random.default_rng(2)
    n, data = 4, rng.uniform(LOW, HIGH, (4, 2))
    data[0] = LOW
    neighbours = np.repeat(data[None], 500, axis=0)
    neighbours[:, 0] = rng.uniform(LOW, HIGH, (500, 2))
    statistics = metric.statistic(neighbours)
    moved = np.linalg.norm(statistics - metric.statistic(data), axis=1).max()
    assert 0.8 * metric.statistic_sensitivity(n) < moved <= metric.statistic_sensitivity(n)
    assert 0.4 * metric.sensitivity(n, "published") < moved
    assert metric.sensitivity(n) < metric.sensitivity(n, "published") == pytest.approx(2.0 / n)
    three = BoxedFeatures((*LOW, 0.0), (*HIGH, 1.0), 0.3)
    assert three.sensitivity(10) == three.sensitivity(10, "published") >= 0.2


def test_records_are_clipped_and_columns_rescaled() -> None:
    metric, unit = BoxedFeatures(LOW, HIGH, 0.3), BoxedFeatures((0.0, 0.0), (1.0, 1.0), 0.3)
    outside, inside = np.array([[[9.0, -3.0]]]), np.array([[[6.0, 0.0]]])
    assert np.array_equal(metric.statistic(outside), metric.statistic(inside))
    shares = np.array([[[0.25, 0.5]]])
    assert metric.statistic(np.array([[[-3.0, 0.5]]])) == pytest.approx(unit.statistic(shares))
