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
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.privacy import Event, Gaussian, GaussianSeries, NonPrivate

Array = NDArray[np.float64]
Run = Callable[[Array, Event, np.random.Generator], tuple[Release, Any]]

RHO = np.linspace(0.0, 1.0, 20)
EPSILON_ABC = 0.2

RUNS: dict[str, tuple[Run, Event]] = {
    "soft weights": (soft_weights.run, GaussianSeries(0.1, 0.3, 20)),
    "Gaussian rejection": (
        lambda rho, event, rng: gaussian_rejection.run(rho, EPSILON_ABC, event, rng),
        GaussianRejection(0.1, 0.5, EPSILON_ABC, 0.3, 20),
    ),
    "nearest selection": (
        lambda rho, event, rng: nearest_selection.run(rho, 3, event, rng),
        NearestSelection(0.1, 0.3, 3),
    ),
    "sparse vector": (
        lambda rho, event, rng: sparse_vector.run(rho, EPSILON_ABC, event, rng),
        SparseVector(0.1, 0.3, 0.7, 3, False),
    ),
    "sparse vector, redrawn": (
        lambda rho, event, rng: sparse_vector.run(rho, EPSILON_ABC, event, rng),
        SparseVector(0.1, 0.3, 0.7, 3, True),
    ),
    "Gaussian sparse vector": (
        lambda rho, event, rng: gaussian_sparse_vector.run(rho, EPSILON_ABC, event, rng),
        GaussianSparseVector(0.1, 0.3, 0.7, 3, False, 20),
    ),
    "Gaussian sparse vector, redrawn": (
        lambda rho, event, rng: gaussian_sparse_vector.run(rho, EPSILON_ABC, event, rng),
        GaussianSparseVector(0.1, 0.3, 0.7, 3, True, 20),
    ),
}
EACH = pytest.mark.parametrize(("run", "event"), RUNS.values(), ids=RUNS)
SPARSE = pytest.mark.parametrize(
    ("run", "event"), [RUNS[name] for name in RUNS if "sparse" in name]
)


def rng_of(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


# --------------------------------------------------------------------------------------- noise


def test_noise_on_every_distance_is_drawn_at_scale_1_and_then_scaled() -> None:
    normal = rng_of().standard_normal(20)
    expected = {
        "soft weights": RHO + 0.3 * normal,
        "Gaussian rejection": np.minimum(RHO, 0.5) + 0.3 * normal,
        "nearest selection": RHO - 0.3 * rng_of().gumbel(size=20),
    }
    for name, noisy in expected.items():
        run, event = RUNS[name]
        assert np.array_equal(run(RHO, event, rng_of())[1].noisy_distance, noisy)


@SPARSE
def test_noise_of_the_thresholds_is_drawn_after_that_of_the_distances(run: Run, event: Any) -> None:
    event, source = dataclasses.replace(event, c=20), rng_of()
    draw = source.laplace if isinstance(event, SparseVector) else source.standard_normal
    query, threshold = draw(size=20), draw(size=20)
    rho = RHO - 1e9 * event.resample  # Where all are accepted, every threshold is used.
    _, trace = run(rho, event, rng_of())
    thresholds = threshold if event.resample else np.full(20, threshold[0])
    assert np.array_equal(trace.noisy_distance, rho + 0.7 * query)
    assert np.array_equal(trace.noisy_threshold, EPSILON_ABC + 0.3 * thresholds)


@EACH
def test_an_event_of_another_kind_is_refused_and_not_run_without_noise(
    run: Run, event: Event
) -> None:
    with pytest.raises(TypeError, match="Gaussian is not an event of"):
        run(RHO, Gaussian(0.1, 1.0), rng_of())


@pytest.mark.parametrize("name", ["soft weights", "Gaussian rejection", "nearest selection"])
def test_without_noise_distances_are_as_they_are_and_no_chance_is_used(name: str) -> None:
    rng = rng_of()
    published, trace = RUNS[name][0](RHO, NonPrivate(), rng)
    assert published.event == NonPrivate()
    assert np.array_equal(trace.noisy_distance, RHO)
    assert rng.random() == rng_of().random()


# ------------------------------------------------------------------------------------- release


@EACH
def test_a_release_holds_what_may_be_published_and_nothing_else(run: Run, event: Event) -> None:
    names = {field.name for field in dataclasses.fields(Release)}
    public = {"indices", "weights", "stopped_at", "event"}
    assert names == public | {"estimate", "samples", "made", "exact_mean"}
    rho = RHO.copy()
    published, _ = run(rho, event, rng_of())
    assert published.event == event
    assert all(getattr(published, name) is None for name in names - public)
    assert published.weights.sum() == pytest.approx(1.0)
    assert np.array_equal(rho, RHO), "distances are left as they were"


@SPARSE
def test_a_sparse_vector_depends_on_the_data_through_its_decisions_only(
    run: Run, event: Event
) -> None:
    own = rng_of(0).random(1000)
    published, trace = run(own, event, rng_of(14))
    # Every distance anywhere on its side of the noisy threshold, and after the stop anything.
    margin = trace.noisy_threshold - trace.noisy_distance
    rho = rng_of(15).normal(0.0, 100.0, len(own))
    moved = margin * rng_of(16).uniform(-5.0, 0.99, len(margin))
    rho[: published.stopped_at] = own[: published.stopped_at] + moved
    other, _ = run(rho, event, rng_of(14))
    assert not np.any(rho == own)
    assert np.array_equal(published.indices, other.indices)
    assert (published.stopped_at, published.event) == (other.stopped_at, other.event)
    rho[published.indices[0]] = 1e9
    changed, _ = run(rho, event, rng_of(14))
    assert not np.array_equal(published.indices, changed.indices)


@SPARSE
@given(
    rho=arrays.arrays(np.float64, st.integers(0, 40), elements=st.floats(0.0, 1.4)),
    c=st.integers(1, 50),
    seed=st.integers(0, 1000),
)
def test_release_and_trace_of_a_sparse_vector_tell_the_same_story(
    run: Run, event: Any, rho: Array, c: int, seed: int
) -> None:
    published, trace = run(rho, dataclasses.replace(event, c=c), rng_of(seed))
    steps, count = published.stopped_at, len(published.indices)
    assert np.array_equal(trace.accepted, trace.noisy_distance <= trace.noisy_threshold)
    assert np.array_equal(np.flatnonzero(trace.accepted), published.indices)
    assert np.array_equal(trace.non_private, rho[:steps] <= EPSILON_ABC)
    assert count <= c
    assert steps == (published.indices[-1] + 1 if count == c else len(rho))
    assert published.weights == pytest.approx(np.full(count, 1.0 / max(count, 1)))
    # A threshold changes after an acceptance, and only if it is redrawn.
    changed = np.diff(trace.noisy_threshold) != 0.0
    assert np.array_equal(changed, trace.accepted[:-1] & event.resample)


@given(
    rho=arrays.arrays(np.float64, st.integers(1, 40), elements=st.floats(0.0, 1.4)),
    seed=st.integers(0, 1000),
)
def test_all_other_releases_are_functions_of_the_noisy_distances(rho: Array, seed: int) -> None:
    run, event = RUNS["Gaussian rejection"]
    published, trace = run(rho, event, rng_of(seed))
    accepted = trace.noisy_distance <= EPSILON_ABC
    assert np.array_equal(trace.accepted, accepted)
    assert np.array_equal(np.flatnonzero(accepted), published.indices)
    assert np.array_equal(trace.non_private, rho <= EPSILON_ABC)
    assert published.stopped_at == len(rho)
    run, event = RUNS["soft weights"]
    published, trace = run(rho, event, rng_of(seed))
    assert np.array_equal(published.weights, soft_weights.weights_of(trace.noisy_distance))
    assert published.indices.tolist() == list(range(len(rho)))
    run, event = RUNS["nearest selection"]
    published, trace = run(rho, event, rng_of(seed))
    assert np.array_equal(trace.order, np.argsort(trace.noisy_distance)[:3])
    assert np.array_equal(published.indices, np.sort(trace.order))


# -------------------------------------------------------------------------------------- decide


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
    c = len(noisy_threshold)
    published, _ = sparse_vector.decide(
        noisy_distance, noisy_distance, noisy_threshold, 0.0, resample, NonPrivate()
    )
    expected = algorithm_1(noisy_distance, noisy_threshold, c, resample)
    assert (published.indices.tolist(), published.stopped_at) == expected


def test_a_distance_at_the_threshold_is_accepted_without_noise_too() -> None:
    distances = np.array([0.3, 0.2, 0.2, 0.1])
    published, trace = sparse_vector.non_private(distances, 0.2, 2)
    assert (published.indices.tolist(), published.stopped_at) == ([1, 2], 3)
    assert trace.accepted.tolist() == trace.non_private.tolist() == [False, True, True]
    assert published.event == NonPrivate()
    rejection, seen = gaussian_rejection.run(distances, 0.2, NonPrivate(), rng_of())
    assert seen.accepted.tolist() == seen.non_private.tolist() == [False, True, True, True]
    assert rejection.weights.tolist() == [1 / 3] * 3
