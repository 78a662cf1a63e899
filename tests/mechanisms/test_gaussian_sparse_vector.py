from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.mechanisms import Ordered, sparse_vector
from abcdp_core.mechanisms.gaussian_sparse_vector import Setting, draw_noise, release
from abcdp_core.privacy import GaussianSparseVector, NonPrivate, cost
from tests.statistics import assert_distribution, rejects

Array = NDArray[np.float64]

BOTH = pytest.mark.parametrize("resample", [False, True])
SETTING = Setting(1.0, 1e-4, 0.2, 10, False, sensitivity=0.001)


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def uniform_pool(size: int = 1000) -> Ordered:
    return Ordered(rng_of(0).random(size))


@BOTH
def test_query_noise_has_the_standard_deviation_of_the_event(resample: bool) -> None:
    # Nothing is ever accepted, so every draw is looked at.
    pool = Ordered(np.full(20_000, 100.0))
    published, trace = release(pool, dataclasses.replace(SETTING, resample=resample), rng_of(1))
    assert isinstance(published.event, GaussianSparseVector)
    noise = (trace.noisy_distance - pool.rho) / published.event.query_scale
    assert_distribution(noise, stats.norm.cdf)
    assert rejects(assert_distribution, noise / math.sqrt(2.0), stats.norm.cdf)


def test_threshold_noise_has_the_standard_deviation_of_the_event() -> None:
    # Everything is accepted, so the threshold is redrawn for every draw.
    pool = Ordered(np.full(20_000, -1e9))
    published, trace = release(
        pool, dataclasses.replace(SETTING, c=20_000, resample=True), rng_of(2)
    )
    assert isinstance(published.event, GaussianSparseVector)
    noise = (trace.noisy_threshold - SETTING.epsilon_abc) / published.event.threshold_scale
    assert_distribution(noise, stats.norm.cdf)
    assert rejects(assert_distribution, noise / math.sqrt(2.0), stats.norm.cdf)


def test_the_event_counts_the_whole_pool_and_not_the_draws_looked_at() -> None:
    published, _ = release(uniform_pool(), SETTING, rng_of(3))
    assert published.stopped_at < 1000
    assert isinstance(published.event, GaussianSparseVector)
    assert published.event.steps == 1000
    assert cost(published.event, 1e-4).epsilon <= 1.0


@pytest.mark.parametrize(
    "change", [{"epsilon_total": 3.0}, {"epsilon_abc": 0.4}, {"sensitivity": 0.005}, {"c": 40}]
)
def test_another_setting_moves_the_same_noise(change: dict[str, float]) -> None:
    pool = uniform_pool()
    noises = []
    for setting in (SETTING, dataclasses.replace(SETTING, **change)):  # type: ignore[arg-type]
        published, trace = release(pool, setting, rng_of(4))
        assert isinstance(published.event, GaussianSparseVector)
        steps = published.stopped_at
        noise = (trace.noisy_distance - pool.rho[:steps]) / published.event.query_scale
        noises.append(noise)
    shared = min(len(noise) for noise in noises)
    assert noises[0][:shared] == pytest.approx(noises[1][:shared], abs=1e-9)
    assert np.array_equal(draw_noise(rng_of(5), 50, 3)[1], draw_noise(rng_of(5), 50, 9)[1][:3])


@BOTH
def test_without_noise_it_is_the_same_rejection_abc(resample: bool) -> None:
    pool = uniform_pool()
    setting = dataclasses.replace(SETTING, epsilon_total=math.inf, resample=resample)
    published, trace = release(pool, setting, rng_of(6))
    laplace = sparse_vector.Setting(math.inf, 0.2, 10, resample, sensitivity=0.001)
    expected, other = sparse_vector.release(pool, laplace, rng_of(6))
    assert np.array_equal(published.indices, expected.indices)
    assert published.stopped_at == expected.stopped_at
    assert published.event == NonPrivate()
    assert np.array_equal(trace.noisy_threshold, other.noisy_threshold)


@BOTH
def test_a_release_depends_on_the_data_through_the_decisions_only(resample: bool) -> None:
    pool, setting = uniform_pool(), dataclasses.replace(SETTING, resample=resample)
    published, trace = release(pool, setting, rng_of(7))
    margin = trace.noisy_threshold - trace.noisy_distance
    rho = rng_of(8).normal(0.0, 100.0, len(pool.rho))
    rho[: published.stopped_at] = pool.rho[: published.stopped_at] + 0.9 * margin
    other, _ = release(Ordered(rho), setting, rng_of(7))
    assert np.array_equal(published.indices, other.indices)
    assert (published.stopped_at, published.event) == (other.stopped_at, other.event)


def test_a_setting_out_of_range_is_an_error() -> None:
    with pytest.raises(ValueError, match="delta = 0"):
        release(uniform_pool(), dataclasses.replace(SETTING, delta=0.0), rng_of(9))
