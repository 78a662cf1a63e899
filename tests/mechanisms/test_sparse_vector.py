from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.mechanisms import Release
from abcdp_core.mechanisms.sparse_vector import (
    SparseVector,
    Trace,
    calibrate,
    draw_noise,
    non_private,
    run,
    scan,
)
from abcdp_core.privacy import NonPrivate, cost
from tests.statistics import assert_distribution, rejects

Array = NDArray[np.float64]

BOTH = pytest.mark.parametrize("resample", [False, True])
EPSILON_ABC = 0.2


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def event_of(
    epsilon_total: float = 1.0,
    sensitivity: float = 0.01,
    c: int = 10,
    resample: bool = False,
    share: float | None = None,
) -> SparseVector:
    return calibrate(epsilon_total, sensitivity, c, resample=resample, threshold_share=share)


USUAL = event_of()


def uniform_distances(size: int = 1000) -> Array:
    return rng_of(0).random(size)


def same(first: Release, second: Release) -> bool:
    return (
        np.array_equal(first.indices, second.indices)
        and np.array_equal(first.weights, second.weights)
        and (first.stopped_at, first.event, first.estimate)
        == (second.stopped_at, second.event, second.estimate)
    )


# ---------------------------------------------------------------------------------- noise


def off_by_root_two(sample: Array) -> Array:
    """The sample as it would be if the generator took the scale for a standard deviation."""
    return sample / math.sqrt(2.0)


def test_both_noises_are_drawn_at_scale_one() -> None:
    # A Laplace variable of scale 1 has standard deviation √2: the two are told apart here.
    for sample in draw_noise(rng_of(1), 20_000, 20_000):
        assert_distribution(sample, stats.laplace.cdf)
        assert rejects(assert_distribution, off_by_root_two(sample), stats.laplace.cdf)


@BOTH
@pytest.mark.parametrize("share", [None, 0.2])
def test_query_noise_has_the_scale_of_the_event(resample: bool, share: float | None) -> None:
    # Nothing is ever accepted, so every draw is looked at.
    event = event_of(resample=resample, share=share)
    _, trace = run(np.full(20_000, 100.0), EPSILON_ABC, event, rng_of(2))
    noise = trace.noisy_distance - 100.0
    cdf = stats.laplace(scale=event.query_scale).cdf
    assert_distribution(noise, cdf)
    assert rejects(assert_distribution, off_by_root_two(noise), cdf)


@pytest.mark.parametrize("share", [None, 0.2])
def test_threshold_noise_has_the_scale_of_the_event(share: float | None) -> None:
    # Everything is accepted, so the threshold is redrawn for every draw.
    event = event_of(c=20_000, resample=True, share=share)
    _, trace = run(np.full(20_000, -1e9), EPSILON_ABC, event, rng_of(3))
    noise = trace.noisy_threshold - EPSILON_ABC
    cdf = stats.laplace(scale=event.threshold_scale).cdf
    assert_distribution(noise, cdf)
    assert rejects(assert_distribution, off_by_root_two(noise), cdf)


@BOTH
@pytest.mark.parametrize(
    "change",
    [{"epsilon_total": 3.0}, {"epsilon_abc": 0.4}, {"sensitivity": 0.05}, {"c": 40}],
    ids=lambda change: next(iter(change)),
)
def test_another_setting_moves_the_same_noise(resample: bool, change: dict[str, float]) -> None:
    rho = uniform_distances()

    def noises(epsilon_abc: float = EPSILON_ABC, **asked: float) -> tuple[Array, float]:
        event = event_of(resample=resample, **asked)  # type: ignore[arg-type]
        published, trace = run(rho, epsilon_abc, event, rng_of(4))
        query = (trace.noisy_distance - rho[: published.stopped_at]) / event.query_scale
        return query, (trace.noisy_threshold[0] - epsilon_abc) / event.threshold_scale

    (query, threshold), (other_query, other_threshold) = noises(), noises(**change)
    shared = min(len(query), len(other_query))
    assert query[:shared] == pytest.approx(other_query[:shared], abs=1e-10)
    assert threshold == pytest.approx(other_threshold, abs=1e-10)


def test_a_larger_c_draws_the_same_thresholds_and_then_more() -> None:
    (query, few), (same_query, many) = (draw_noise(rng_of(5), 50, c) for c in (3, 9))
    assert np.array_equal(query, same_query)
    assert np.array_equal(few, many[:3])


def test_other_streams_draw_other_noise() -> None:
    rho = uniform_distances()
    traces = [run(rho, EPSILON_ABC, USUAL, rng_of(seed))[1] for seed in (6, 7)]
    assert traces[0].noisy_distance[0] != traces[1].noisy_distance[0]


# ---------------------------------------------------------------------------------- the run


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


@given(
    noisy_distance=arrays.arrays(
        np.float64, st.integers(0, 30), elements=st.integers(-3, 3).map(float)
    ),
    noisy_threshold=arrays.arrays(
        np.float64, st.integers(1, 8), elements=st.integers(-3, 3).map(float)
    ),
    resample=st.booleans(),
)
def test_the_scan_is_algorithm_1(
    noisy_distance: Array, noisy_threshold: Array, resample: bool
) -> None:
    c = len(noisy_threshold)
    indices, stopped_at = scan(noisy_distance, noisy_threshold, c, resample)
    assert (indices.tolist(), stopped_at) == algorithm_1(
        noisy_distance, noisy_threshold, c, resample
    )


@given(
    rho=arrays.arrays(np.float64, st.integers(0, 40), elements=st.floats(0.0, 1.4)),
    c=st.integers(1, 50),
    epsilon_total=st.sampled_from([0.01, 1.0, 100.0, math.inf]),
    epsilon_abc=st.floats(0.001, 1.4),
    resample=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_release_and_trace_tell_the_same_story(
    rho: Array, c: int, epsilon_total: float, epsilon_abc: float, resample: bool, seed: int
) -> None:
    if math.isinf(epsilon_total):
        published, trace = non_private(rho, epsilon_abc, c)
    else:
        event = event_of(epsilon_total, c=c, resample=resample)
        published, trace = run(rho, epsilon_abc, event, rng_of(seed))
    steps, count = published.stopped_at, len(published.indices)
    assert all(len(getattr(trace, field.name)) == steps for field in dataclasses.fields(Trace))
    assert np.array_equal(trace.accepted, trace.noisy_distance <= trace.noisy_threshold)
    assert np.array_equal(np.flatnonzero(trace.accepted), published.indices)
    assert np.array_equal(trace.non_private, rho[:steps] <= epsilon_abc)
    assert count <= c
    assert steps == (published.indices[-1] + 1 if count == c else len(rho))
    assert published.weights.shape == published.indices.shape
    assert published.weights.sum() == pytest.approx(1.0 if count else 0.0, abs=1e-12)
    # A threshold may change after an acceptance only, and only if it is redrawn.
    changed = np.diff(trace.noisy_threshold) != 0.0
    assert not np.any(changed & ~trace.accepted[:-1])
    assert resample or not changed.any()
    if resample and not math.isinf(epsilon_total):
        assert np.array_equal(changed, trace.accepted[:-1])


def test_too_few_acceptances_come_back_as_they_are() -> None:
    rho = np.full(500, 50.0)
    rho[[7, 300]] = -50.0
    published, trace = run(rho, EPSILON_ABC, USUAL, rng_of(8))
    assert published.indices.tolist() == [7, 300]
    assert published.weights.tolist() == [0.5, 0.5]
    assert published.stopped_at == len(trace.accepted) == 500


def test_no_acceptance_at_all_is_an_empty_release() -> None:
    published, trace = run(np.full(500, 50.0), EPSILON_ABC, USUAL, rng_of(9))
    assert published.indices.shape == published.weights.shape == (0,)
    assert published.stopped_at == 500
    assert not trace.accepted.any()


def test_without_noise_it_is_rejection_abc() -> None:
    rho = uniform_distances()
    published, trace = non_private(rho, EPSILON_ABC, 10)
    first = np.flatnonzero(rho <= EPSILON_ABC)[:10]
    assert np.array_equal(published.indices, first)
    assert published.stopped_at == first[-1] + 1
    assert np.array_equal(trace.accepted, trace.non_private)
    assert published.event == NonPrivate()
    assert cost(published.event).epsilon == math.inf


def test_a_distance_at_the_threshold_is_accepted() -> None:
    published, _ = non_private(np.array([EPSILON_ABC]), EPSILON_ABC, 1)
    assert published.indices.tolist() == [0]


def test_little_noise_hardly_differs_from_none() -> None:
    rho = uniform_distances()
    quiet, _ = run(rho, EPSILON_ABC, event_of(1e9), rng_of(12))
    silent, _ = non_private(rho, EPSILON_ABC, 10)
    assert np.array_equal(quiet.indices, silent.indices)


# ---------------------------------------------------------------------- what is published


def test_a_release_holds_what_may_be_published_and_nothing_else() -> None:
    names = {field.name for field in dataclasses.fields(Release)}
    assert names == {
        "indices",
        "weights",
        "stopped_at",
        "event",
        "estimate",
        "samples",
        "made",
        "exact_mean",
    }
    published, _ = run(uniform_distances(), EPSILON_ABC, USUAL, rng_of(13))
    assert published.estimate is None
    assert published.made is None
    assert published.event == USUAL


@BOTH
def test_a_release_depends_on_the_data_through_the_decisions_only(resample: bool) -> None:
    event, own = event_of(resample=resample), uniform_distances()
    published, trace = run(own, EPSILON_ABC, event, rng_of(14))
    # Other data: every distance anywhere on its side of the noisy threshold, and after the stop
    # anything at all.
    margin = trace.noisy_threshold - trace.noisy_distance
    rho = rng_of(15).normal(0.0, 100.0, len(own))
    rho[: published.stopped_at] = own[: published.stopped_at] + margin * rng_of(16).uniform(
        -5.0, 0.99, len(margin)
    )
    other, _ = run(rho, EPSILON_ABC, event, rng_of(14))
    assert not np.any(rho == own)
    assert same(published, other)
    # And it does depend on the decisions.
    rho[published.indices[0]] = 1e9
    changed, _ = run(rho, EPSILON_ABC, event, rng_of(14))
    assert not same(published, changed)


def test_releasing_leaves_the_distances_as_they_were() -> None:
    rho = uniform_distances()
    run(rho, EPSILON_ABC, USUAL, rng_of(17))
    non_private(rho, EPSILON_ABC, 10)
    assert np.array_equal(rho, uniform_distances())
