"""One run of each mechanism that reads distances: its noise, decisions and sampled releases.

Noise is compared number by number. Releases of sparse vectors are also sampled and compared with
exact probabilities of all outcomes: 20 000 runs at a false alarm of 1e-6. Every broken twin, a run
with an event that it does not claim, is missed with a probability under 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from abcdp_core.base.arrays import Array
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
from abcdp_core.mechanisms.sparse_vector import Segments, SparseVector, Trace
from abcdp_core.privacy import Event, Gaussian, GaussianSeries, NonPrivate
from tests.events import quieter, same
from tests.oracles import gaussian_sparse_vector as gaussian_oracle
from tests.oracles import sparse_vector as laplace_oracle
from tests.oracles.outcomes import Pattern, law_of_sets
from tests.statistics import assert_frequencies, miss_probability, rejects

Run = Callable[[Array, Event, np.random.Generator], Release]

EPSILON_ABC = 0.2

ONE_PASS: dict[str, tuple[Event, Run]] = {
    "soft weights": (GaussianSeries(0.1, 0.3, 20), soft_weights.run),
    "Gaussian rejection": (
        GaussianRejection(0.1, 0.5, EPSILON_ABC, 0.3, 20),
        lambda rho, event, rng: gaussian_rejection.run(rho, EPSILON_ABC, event, rng),
    ),
    "nearest selection": (
        NearestSelection(0.1, 0.3, 3),
        lambda rho, event, rng: nearest_selection.run(rho, 3, event, rng),
    ),
}
"""Mechanisms that look at every draw: an event with noise of scale 0.3, and the run."""


def rng_of(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def sparse_run(
    rho: Array, epsilon_abc: float, event: Any, rng: np.random.Generator
) -> tuple[Release, Trace]:
    module = sparse_vector if isinstance(event, SparseVector) else gaussian_sparse_vector
    return module.run(rho, epsilon_abc, event, rng)


def expected(name: str, event: Event, noisy: Array) -> Release:
    """The release of noisy distances."""
    everything = np.arange(len(noisy))
    if name == "soft weights":
        return Release(everything, soft_weights.weights_of(noisy), len(noisy), event)
    kept = everything[noisy <= EPSILON_ABC]
    if name == "nearest selection":
        kept = np.sort(np.argsort(noisy, kind="stable")[:3])
    return Release(kept, np.full(len(kept), 1.0 / max(len(kept), 1)), len(noisy), event)


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
    for name, (event, run) in ONE_PASS.items():
        assert same(run(rho, event, rng_of(seed)), expected(name, event, noisy[name]))
        plain = run(rho, NonPrivate(), rng_of(seed))
        assert same(plain, expected(name, NonPrivate(), rho))
    assert np.array_equal(rho, own), "distances are left as they were"


SPARSE: dict[str, Any] = {
    "Laplace": SparseVector(0.1, 0.3, 0.7, 3, False),
    "Laplace, redrawn": SparseVector(0.1, 0.3, 0.7, 3, True),
    "Gaussian": GaussianSparseVector(0.1, 0.3, 0.7, 3, False, 20),
    "Gaussian, redrawn": GaussianSparseVector(0.1, 0.3, 0.7, 3, True, 20),
}
EACH_SPARSE = pytest.mark.parametrize("event", SPARSE.values(), ids=SPARSE)


@EACH_SPARSE
def test_noise_of_the_thresholds_is_drawn_after_that_of_the_distances(event: Any) -> None:
    event, source = replace(event, c=20), rng_of()
    draw = source.laplace if isinstance(event, SparseVector) else source.standard_normal
    query, threshold = draw(size=20), draw(size=20)
    # Where all are kept, every threshold is used.
    rho = np.linspace(0.0, 1.0, 20) - 1e9 * event.resample
    _, trace = sparse_run(rho, EPSILON_ABC, event, rng_of())
    thresholds = threshold if event.resample else np.full(20, threshold[0])
    assert np.array_equal(trace.noisy_distance, rho + 0.7 * query)
    assert np.array_equal(trace.noisy_threshold, EPSILON_ABC + 0.3 * thresholds)


def test_an_event_of_another_kind_is_refused_and_not_run_without_noise() -> None:
    other = Gaussian(0.1, 1.0)
    for _, run in ONE_PASS.values():
        with pytest.raises(TypeError, match="Gaussian is not an event of"):
            run(np.ones(3), other, rng_of())
    for module in (sparse_vector, gaussian_sparse_vector):
        with pytest.raises(TypeError, match="Gaussian is not an event of"):
            module.run(np.ones(3), EPSILON_ABC, other, rng_of())


# ----------------------------------------------------------------------------------- decisions


@EACH_SPARSE
def test_a_sparse_vector_depends_on_the_data_through_its_decisions_only(event: Any) -> None:
    own = rng_of(0).random(1000)
    published, trace = sparse_run(own, EPSILON_ABC, event, rng_of(14))
    # Every distance anywhere on its side of the noisy threshold, and after the stop anything.
    margin = trace.noisy_threshold - trace.noisy_distance
    rho = rng_of(15).normal(0.0, 100.0, len(own))
    moved = margin * rng_of(16).uniform(-5.0, 0.99, len(margin))
    rho[: published.stopped_at] = own[: published.stopped_at] + moved
    other, _ = sparse_run(rho, EPSILON_ABC, event, rng_of(14))
    assert not np.any(rho == own)
    assert same(other, published)
    rho[published.indices[0]] = 1e9
    changed, _ = sparse_run(rho, EPSILON_ABC, event, rng_of(14))
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
    found = published.indices.tolist(), published.stopped_at
    assert found == algorithm_1(noisy_distance, noisy_threshold, c, resample)
    assert np.array_equal(trace.accepted, trace.noisy_distance <= trace.noisy_threshold)
    assert np.array_equal(np.flatnonzero(trace.accepted), published.indices)
    assert np.array_equal(trace.non_private, rho[: published.stopped_at] <= 0.0)
    kept = len(published.indices)
    assert published.weights == pytest.approx(np.full(kept, 1.0 / max(kept, 1)))
    # Without noise, at the threshold too.
    plain, _ = sparse_vector.non_private(rho, 1.0, c)
    found = plain.indices.tolist(), plain.stopped_at
    assert found == algorithm_1(rho, np.ones(c), c, False)


# ------------------------------------------------------------------------------ sampled releases

RUNS = 20_000
RHO = np.array([0.3, 0.05, 0.2, 0.1, 0.15])

SAMPLED: dict[str, Any] = {
    "Laplace": SparseVector(1 / 30, 0.1, 0.2, 2, False),
    "Laplace, segments": Segments(0.02, 0.15, 0.2, 2, resample=True),
    "Gaussian": GaussianSparseVector(0.02, 0.1, 0.2, 1, False, 5),
    "Gaussian, redrawn": GaussianSparseVector(0.02, 0.1, 0.2, 2, True, 5),
}


def twins_of(event: Any) -> list[Any]:
    """Half the noise on thresholds or distances, another c, and the other kind of threshold."""
    found = [quieter(event, scales=("threshold_scale",)), quieter(event, scales=("query_scale",))]
    found.append(replace(event, c=event.c + 1))
    if event.c > 1:
        found.append(replace(event, c=event.c - 1))
        if not isinstance(event, Segments):
            found.append(replace(event, resample=not event.resample))
    return found


def law(event: Any) -> Array:
    oracle = laplace_oracle if isinstance(event, SparseVector) else gaussian_oracle

    def log_probability(pattern: Pattern) -> float:
        return oracle.log_probability(pattern, RHO, 0.12, event)

    return law_of_sets(log_probability, len(RHO), event.c)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * ("Gau" in name)) for name in SAMPLED]
)
def test_releases_come_up_as_often_as_they_should_and_those_of_broken_twins_do_not(
    name: str,
) -> None:
    event = SAMPLED[name]
    rng, probabilities = rng_of(), law(event)
    counts = np.zeros(len(probabilities), dtype=np.int64)
    for _ in range(RUNS):
        indices = sparse_run(RHO, 0.12, event, rng)[0].indices
        counts[int(np.sum(2**indices))] += 1
    assert_frequencies(counts, probabilities)
    for twin in twins_of(event):
        broken = law(twin)
        drawn = rng.multinomial(RUNS, broken / broken.sum())
        assert rejects(assert_frequencies, drawn, probabilities), twin
        assert miss_probability(probabilities, broken, RUNS) < 1e-9, twin
