"""One run of each mechanism that reads distances: its noise, and what its release depends on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from abcdp_core.mechanisms import (
    Release,
    gaussian_rejection,
    gaussian_sparse_vector,
    nearest_selection,
    soft_weights,
    sparse_vector,
)
from abcdp_core.mechanisms.gaussian_rejection import GaussianRejection
from abcdp_core.mechanisms.gaussian_sparse_vector import GaussianSparseVector
from abcdp_core.mechanisms.nearest_selection import NearestSelection
from abcdp_core.mechanisms.sparse_vector import SparseVector, Trace
from abcdp_core.privacy import Event, Gaussian, GaussianSeries, NonPrivate

Array = NDArray[np.float64]

RHO = np.linspace(0.0, 1.0, 20)
EPSILON_ABC = 0.2

SPARSE_EVENTS = {
    "Laplace": SparseVector(0.1, 0.3, 0.7, 3, False),
    "Laplace, redrawn": SparseVector(0.1, 0.3, 0.7, 3, True),
    "Gaussian": GaussianSparseVector(0.1, 0.3, 0.7, 3, False, 20),
    "Gaussian, redrawn": GaussianSparseVector(0.1, 0.3, 0.7, 3, True, 20),
}
SPARSE = pytest.mark.parametrize("event", SPARSE_EVENTS.values(), ids=SPARSE_EVENTS)

RUNS: dict[str, Callable[[Array, Event, np.random.Generator], Release]] = {
    "soft weights": soft_weights.run,
    "Gaussian rejection": lambda rho, event, rng: gaussian_rejection.run(
        rho, EPSILON_ABC, event, rng
    ),
    "nearest selection": lambda rho, event, rng: nearest_selection.run(rho, 3, event, rng),
}
EVENTS: dict[str, Event] = {
    "soft weights": GaussianSeries(0.1, 0.3, 20),
    "Gaussian rejection": GaussianRejection(0.1, 0.5, EPSILON_ABC, 0.3, 20),
    "nearest selection": NearestSelection(0.1, 0.3, 3),
}


def rng_of(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def sparse_run(rho: Array, event: Any, rng: np.random.Generator) -> tuple[Release, Trace]:
    module = sparse_vector if isinstance(event, SparseVector) else gaussian_sparse_vector
    return module.run(rho, EPSILON_ABC, event, rng)


def released(name: str, rho: Array, noisy: Array) -> dict[str, Any]:
    """What a release holds, given noisy distances."""
    if name == "soft weights":
        weights, indices = soft_weights.weights_of(noisy), np.arange(len(rho))
    else:
        indices = np.flatnonzero(noisy <= EPSILON_ABC)
        if name == "nearest selection":
            indices = np.sort(np.argsort(noisy)[:3])
        weights = np.full(len(indices), 1.0 / max(len(indices), 1))
    return {"indices": indices.tolist(), "weights": weights.tolist(), "stopped_at": len(rho)}


def fields_of(published: Release) -> dict[str, Any]:
    """The same of a release; all other fields are empty."""
    empty = ("estimate", "samples", "made", "exact_mean")
    assert all(getattr(published, name) is None for name in empty)
    assert len(dataclasses.fields(Release)) == 4 + len(empty)
    indices, weights = published.indices.tolist(), published.weights.tolist()
    return {"indices": indices, "weights": weights, "stopped_at": published.stopped_at}


# --------------------------------------------------------------------------------------- noise


@given(
    rho=arrays.arrays(np.float64, st.integers(1, 40), elements=st.floats(0.0, 1.4)),
    seed=st.integers(0, 1000),
)
def test_a_release_follows_from_distances_with_noise_of_scale_1_scaled(
    rho: Array, seed: int
) -> None:
    normal, gumbel = rng_of(seed).standard_normal(len(rho)), rng_of(seed).gumbel(size=len(rho))
    noisy = {
        "soft weights": rho + 0.3 * normal,
        "Gaussian rejection": np.minimum(rho, 0.5) + 0.3 * normal,
        "nearest selection": rho - 0.3 * gumbel,
    }
    own = rho.copy()
    for name, run in RUNS.items():
        published = run(rho, EVENTS[name], rng_of(seed))
        assert fields_of(published) == released(name, rho, noisy[name])
        assert published.event == EVENTS[name]
    assert np.array_equal(rho, own), "distances are left as they were"


@SPARSE
def test_noise_of_the_thresholds_is_drawn_after_that_of_the_distances(event: Any) -> None:
    event, source = dataclasses.replace(event, c=20), rng_of()
    draw = source.laplace if isinstance(event, SparseVector) else source.standard_normal
    query, threshold = draw(size=20), draw(size=20)
    rho = RHO - 1e9 * event.resample  # Where all are kept, every threshold is used.
    _, trace = sparse_run(rho, event, rng_of())
    thresholds = threshold if event.resample else np.full(20, threshold[0])
    assert np.array_equal(trace.noisy_distance, rho + 0.7 * query)
    assert np.array_equal(trace.noisy_threshold, EPSILON_ABC + 0.3 * thresholds)


def test_an_event_of_another_kind_is_refused_and_not_run_without_noise() -> None:
    for run in RUNS.values():
        with pytest.raises(TypeError, match="Gaussian is not an event of"):
            run(RHO, Gaussian(0.1, 1.0), rng_of())
    for module in (sparse_vector, gaussian_sparse_vector):
        with pytest.raises(TypeError, match="Gaussian is not an event of"):
            module.run(RHO, EPSILON_ABC, Gaussian(0.1, 1.0), rng_of())


@pytest.mark.parametrize("name", RUNS)
def test_without_noise_distances_are_as_they_are_and_no_chance_is_used(name: str) -> None:
    rng = rng_of()
    published = RUNS[name](RHO, NonPrivate(), rng)
    assert published.event == NonPrivate()
    assert fields_of(published) == released(name, RHO, RHO)
    assert rng.random() == rng_of().random()


# ------------------------------------------------------------------------------- sparse vectors


@SPARSE
def test_a_sparse_vector_depends_on_the_data_through_its_decisions_only(event: Any) -> None:
    own = rng_of(0).random(1000)
    published, trace = sparse_run(own, event, rng_of(14))
    # Every distance anywhere on its side of the noisy threshold, and after the stop anything.
    margin = trace.noisy_threshold - trace.noisy_distance
    rho = rng_of(15).normal(0.0, 100.0, len(own))
    moved = margin * rng_of(16).uniform(-5.0, 0.99, len(margin))
    rho[: published.stopped_at] = own[: published.stopped_at] + moved
    other, _ = sparse_run(rho, event, rng_of(14))
    assert not np.any(rho == own)
    assert fields_of(other) == fields_of(published)
    rho[published.indices[0]] = 1e9
    changed, _ = sparse_run(rho, event, rng_of(14))
    assert not np.array_equal(published.indices, changed.indices)


def algorithm_1(
    noisy_distance: Array, noisy_threshold: Array, c: int, resample: bool
) -> tuple[list[int], int]:
    """[P21] Algorithm 1, line by line."""
    accepted: list[int] = []
    thresholds: Iterator[float] = iter(noisy_threshold.tolist())
    threshold = next(thresholds)
    for t, distance in enumerate(noisy_distance.tolist()):
        if distance <= threshold:
            accepted.append(t)
            if len(accepted) == c:
                return accepted, t + 1
            if resample:
                threshold = next(thresholds)
    return accepted, len(noisy_distance)


WHOLE = st.integers(-3, 3).map(float)


@given(
    noisy_distance=arrays.arrays(np.float64, st.integers(0, 30), elements=WHOLE),
    noisy_threshold=arrays.arrays(np.float64, st.integers(1, 8), elements=WHOLE),
    resample=st.booleans(),
)
def test_a_run_decides_as_algorithm_1(
    noisy_distance: Array, noisy_threshold: Array, resample: bool
) -> None:
    c, rho = len(noisy_threshold), noisy_distance + 1.0
    published, trace = sparse_vector.decide(
        rho, noisy_distance, noisy_threshold, 0.0, resample, NonPrivate()
    )
    expected = algorithm_1(noisy_distance, noisy_threshold, c, resample)
    assert (published.indices.tolist(), published.stopped_at) == expected
    assert np.array_equal(trace.accepted, trace.noisy_distance <= trace.noisy_threshold)
    assert np.array_equal(np.flatnonzero(trace.accepted), published.indices)
    assert np.array_equal(trace.non_private, rho[: published.stopped_at] <= 0.0)
    kept = len(published.indices)
    assert published.weights == pytest.approx(np.full(kept, 1.0 / max(kept, 1)))


def test_a_distance_at_the_threshold_is_kept_without_noise_too() -> None:
    distances = np.array([0.3, 0.2, 0.2, 0.1])
    published, trace = sparse_vector.non_private(distances, 0.2, 2)
    assert (published.indices.tolist(), published.stopped_at) == ([1, 2], 3)
    assert trace.accepted.tolist() == trace.non_private.tolist() == [False, True, True]
    assert published.event == NonPrivate()
    rejection = gaussian_rejection.run(distances, 0.2, NonPrivate(), rng_of())
    assert rejection.indices.tolist() == [1, 2, 3]
