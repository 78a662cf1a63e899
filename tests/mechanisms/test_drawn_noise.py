"""Noise is drawn at scale 1 and then scaled and added, in a known order."""

from __future__ import annotations

import numpy as np
import pytest

from abcdp_core.mechanisms import (
    gaussian_rejection,
    gaussian_sparse_vector,
    nearest_selection,
    soft_weights,
    sparse_vector,
)
from abcdp_core.mechanisms.gaussian_rejection import GaussianRejection
from abcdp_core.mechanisms.gaussian_sparse_vector import GaussianSparseVector
from abcdp_core.mechanisms.nearest_selection import NearestSelection
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.privacy import GaussianSeries, NonPrivate

RHO = np.linspace(0.0, 1.0, 20)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_on_every_distance() -> None:
    normal = rng().standard_normal(20)
    _, weighted = soft_weights.run(RHO, GaussianSeries(0.1, 0.3, 20), rng())
    assert np.array_equal(weighted.noisy_distance, RHO + 0.3 * normal)
    event = GaussianRejection(0.1, 0.5, 0.2, 0.3, 20)
    _, rejected = gaussian_rejection.run(RHO, 0.2, event, rng())
    assert np.array_equal(rejected.noisy_distance, np.minimum(RHO, 0.5) + 0.3 * normal)
    _, selected = nearest_selection.run(RHO, 3, NearestSelection(0.1, 0.3, 3), rng())
    assert np.array_equal(selected.noisy_distance, RHO - 0.3 * rng().gumbel(size=20))


def test_on_every_distance_and_then_on_the_threshold() -> None:
    source = rng()
    query, threshold = source.laplace(size=20), source.laplace(size=20)
    _, run = sparse_vector.run(RHO, 0.2, SparseVector(0.1, 0.3, 0.7, 20, False), rng())
    assert np.array_equal(run.noisy_distance, RHO + 0.7 * query)
    assert np.array_equal(run.noisy_threshold, np.full(20, 0.2 + 0.3 * threshold[0]))
    source = rng()
    query, threshold = source.standard_normal(20), source.standard_normal(20)
    normal = GaussianSparseVector(0.1, 0.3, 0.7, 20, False, 20)
    _, run = gaussian_sparse_vector.run(RHO, 0.2, normal, rng())
    assert np.array_equal(run.noisy_distance, RHO + 0.7 * query)
    assert np.array_equal(run.noisy_threshold, np.full(20, 0.2 + 0.3 * threshold[0]))


@pytest.mark.parametrize("resample", [False, True])
def test_a_distance_at_the_threshold_is_accepted(resample: bool) -> None:
    distances, thresholds = np.array([0.3, 0.2, 0.2, 0.1]), np.full(4, 0.2)
    indices, looked_at = sparse_vector.scan(distances, thresholds, 2, resample)
    assert (indices.tolist(), looked_at) == ([1, 2], 3)
    indices, looked_at = sparse_vector.scan(distances, thresholds, 4, resample)
    assert (indices.tolist(), looked_at) == ([1, 2, 3], 4)
    within = [False, True, True]
    _, trace = sparse_vector.decide(
        distances, distances, thresholds[:2], 0.2, resample, NonPrivate()
    )
    assert (trace.accepted.tolist(), trace.non_private.tolist()) == (within, within)
    release, rejected = gaussian_rejection.run(distances, 0.2, NonPrivate(), rng())
    assert rejected.accepted.tolist() == rejected.non_private.tolist() == [*within, True]
    assert release.weights.tolist() == [1 / 3] * 3


def test_a_redrawn_threshold_is_in_force_from_the_draw_after_an_acceptance() -> None:
    thresholds = np.array([0.2, 0.05, 0.4])
    release, trace = sparse_vector.decide(
        RHO, np.array([0.3, 0.1, 0.1, 0.0, 0.3, 0.3]), thresholds, 0.2, True, NonPrivate()
    )
    assert release.indices.tolist() == [1, 3, 4]
    assert release.stopped_at == 5
    assert trace.noisy_threshold.tolist() == [0.2, 0.2, 0.05, 0.05, 0.4]
    assert trace.noisy_distance.tolist() == [0.3, 0.1, 0.1, 0.0, 0.3]
