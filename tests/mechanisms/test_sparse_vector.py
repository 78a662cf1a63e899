from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.mechanisms import Release
from abcdp_core.mechanisms.sparse_vector import Setting, Trace, draw_noise, release, scan
from abcdp_core.privacy import NonPrivate, SparseVector, cost
from abcdp_core.privacy.sparse_vector import calibrate
from tests.statistics import assert_distribution, rejects

Array = NDArray[np.float64]

BOTH = pytest.mark.parametrize("resample", [False, True])
SETTING = Setting(1.0, 0.2, 10, False, sensitivity=0.01)


@dataclass(frozen=True)
class Pool:
    """The part of a comparison that the mechanism reads."""

    rho: Array


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def uniform_pool(size: int = 1000) -> Pool:
    return Pool(rng_of(0).random(size))


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
    pool = Pool(np.full(20_000, 100.0))
    setting = dataclasses.replace(SETTING, resample=resample, threshold_share=share)
    published, trace = release(pool, setting, rng_of(2))
    assert isinstance(published.event, SparseVector)
    noise = trace.noisy_distance - pool.rho
    cdf = stats.laplace(scale=published.event.query_scale).cdf
    assert_distribution(noise, cdf)
    assert rejects(assert_distribution, off_by_root_two(noise), cdf)


@pytest.mark.parametrize("share", [None, 0.2])
def test_threshold_noise_has_the_scale_of_the_event(share: float | None) -> None:
    # Everything is accepted, so the threshold is redrawn for every draw.
    pool = Pool(np.full(20_000, -1e9))
    setting = dataclasses.replace(SETTING, c=20_000, resample=True, threshold_share=share)
    published, trace = release(pool, setting, rng_of(3))
    assert isinstance(published.event, SparseVector)
    noise = trace.noisy_threshold - setting.epsilon_abc
    cdf = stats.laplace(scale=published.event.threshold_scale).cdf
    assert_distribution(noise, cdf)
    assert rejects(assert_distribution, off_by_root_two(noise), cdf)


@BOTH
@pytest.mark.parametrize(
    "change",
    [{"epsilon_total": 3.0}, {"epsilon_abc": 0.4}, {"sensitivity": 0.05}, {"c": 40}],
    ids=lambda change: next(iter(change)),
)
def test_another_setting_moves_the_same_noise(resample: bool, change: dict[str, float]) -> None:
    def noises(setting: Setting) -> tuple[Array, float]:
        published, trace = release(pool, setting, rng_of(4))
        assert isinstance(published.event, SparseVector)
        steps = published.stopped_at
        query = (trace.noisy_distance - pool.rho[:steps]) / published.event.query_scale
        threshold = trace.noisy_threshold[0] - setting.epsilon_abc
        return query, threshold / published.event.threshold_scale

    pool = uniform_pool()
    before = dataclasses.replace(SETTING, resample=resample)
    after = dataclasses.replace(before, **change)  # type: ignore[arg-type]
    (query, threshold), (other_query, other_threshold) = noises(before), noises(after)
    shared = min(len(query), len(other_query))
    assert query[:shared] == pytest.approx(other_query[:shared], abs=1e-10)
    assert threshold == pytest.approx(other_threshold, abs=1e-10)


def test_a_larger_c_draws_the_same_thresholds_and_then_more() -> None:
    (query, few), (same_query, many) = (draw_noise(rng_of(5), 50, c) for c in (3, 9))
    assert np.array_equal(query, same_query)
    assert np.array_equal(few, many[:3])


def test_other_streams_draw_other_noise() -> None:
    pool = uniform_pool()
    traces = [release(pool, SETTING, rng_of(seed))[1] for seed in (6, 7)]
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
    setting = Setting(epsilon_total, epsilon_abc, c, resample, sensitivity=0.01)
    published, trace = release(Pool(rho), setting, rng_of(seed))
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
    published, trace = release(Pool(rho), SETTING, rng_of(8))
    assert published.indices.tolist() == [7, 300]
    assert published.weights.tolist() == [0.5, 0.5]
    assert published.stopped_at == len(trace.accepted) == 500


def test_no_acceptance_at_all_is_an_empty_release() -> None:
    published, trace = release(Pool(np.full(500, 50.0)), SETTING, rng_of(9))
    assert published.indices.shape == published.weights.shape == (0,)
    assert published.stopped_at == 500
    assert not trace.accepted.any()


@BOTH
def test_without_noise_it_is_rejection_abc(resample: bool) -> None:
    pool = uniform_pool()
    setting = dataclasses.replace(SETTING, epsilon_total=math.inf, resample=resample)
    rng = rng_of(10)
    published, trace = release(pool, setting, rng)
    first = np.flatnonzero(pool.rho <= 0.2)[:10]
    assert np.array_equal(published.indices, first)
    assert published.stopped_at == first[-1] + 1
    assert np.array_equal(trace.accepted, trace.non_private)
    assert published.event == NonPrivate()
    assert cost(published.event).epsilon == math.inf
    # No noise is drawn that a later release would then not see.
    assert rng.random() == rng_of(10).random()


def test_a_distance_at_the_threshold_is_accepted() -> None:
    setting = dataclasses.replace(SETTING, epsilon_total=math.inf, c=1)
    published, _ = release(Pool(np.array([0.2])), setting, rng_of(11))
    assert published.indices.tolist() == [0]


def test_little_noise_hardly_differs_from_none() -> None:
    pool = uniform_pool()
    quiet = dataclasses.replace(SETTING, epsilon_total=1e9)
    silent = dataclasses.replace(SETTING, epsilon_total=math.inf)
    first, second = (release(pool, setting, rng_of(12))[0] for setting in (quiet, silent))
    assert np.array_equal(first.indices, second.indices)


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
    published, _ = release(uniform_pool(), SETTING, rng_of(13))
    assert published.estimate is None
    assert published.made is None
    assert published.event == calibrate(1.0, 0.01, 10, resample=False)


@BOTH
def test_a_release_depends_on_the_data_through_the_decisions_only(resample: bool) -> None:
    setting = dataclasses.replace(SETTING, resample=resample)
    pool = uniform_pool()
    published, trace = release(pool, setting, rng_of(14))
    # Other data: every distance anywhere on its side of the noisy threshold, and after the stop
    # anything at all.
    margin = trace.noisy_threshold - trace.noisy_distance
    rho = rng_of(15).normal(0.0, 100.0, len(pool.rho))
    rho[: published.stopped_at] = pool.rho[: published.stopped_at] + margin * rng_of(16).uniform(
        -5.0, 0.99, len(margin)
    )
    other, _ = release(Pool(rho), setting, rng_of(14))
    assert not np.any(rho == pool.rho)
    assert same(published, other)
    # And it does depend on the decisions.
    rho[published.indices[0]] = 1e9
    changed, _ = release(Pool(rho), setting, rng_of(14))
    assert not same(published, changed)


def test_releasing_leaves_the_comparison_as_it_was() -> None:
    pool = uniform_pool()
    before = pool.rho.copy()
    release(pool, SETTING, rng_of(17))
    release(pool, dataclasses.replace(SETTING, epsilon_total=math.inf), rng_of(17))
    assert np.array_equal(pool.rho, before)
