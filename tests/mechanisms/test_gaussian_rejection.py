from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.mechanisms import Ordered, Release
from abcdp_core.mechanisms.gaussian_rejection import Setting, Trace, bound_quantile, release
from abcdp_core.privacy import GaussianRejection, NonPrivate, cost
from abcdp_core.privacy.rejection import calibrate
from tests.statistics import assert_distribution, rejects

Array = NDArray[np.float64]

SETTING = Setting(10.0, 0.2, 0.5, sensitivity=0.01)


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def uniform_pool(size: int = 300) -> Ordered:
    return Ordered(rng_of(0).random(size))


def event_of(published: Release) -> GaussianRejection:
    assert isinstance(published.event, GaussianRejection)
    return published.event


def test_noise_has_the_standard_deviation_of_the_event() -> None:
    published, trace = release(Ordered(np.full(20_000, 0.3)), SETTING, rng_of(1))
    noise = (trace.noisy_distance - 0.3) / event_of(published).scale
    assert_distribution(noise, stats.norm.cdf)
    assert rejects(assert_distribution, noise / math.sqrt(2.0), stats.norm.cdf)


def test_distances_beyond_the_bound_count_as_the_bound() -> None:
    near, far = (
        release(Ordered(np.full(100, place)), SETTING, rng_of(2))[1] for place in (0.5, 5.0)
    )
    assert np.array_equal(near.noisy_distance, far.noisy_distance)
    below = release(Ordered(np.full(100, -1.0)), SETTING, rng_of(2))[1]
    at_zero = release(Ordered(np.zeros(100)), SETTING, rng_of(2))[1]
    assert np.array_equal(below.noisy_distance, at_zero.noisy_distance)


@pytest.mark.parametrize(
    "change",
    [{"epsilon_total": 30.0}, {"sensitivity": 0.05}, {"bound": 0.7}, {"accountant": "published"}],
    ids=lambda change: next(iter(change)),
)
def test_another_setting_moves_the_same_noise(change: dict[str, float]) -> None:
    pool = uniform_pool()

    def noise(setting: Setting) -> Array:
        published, trace = release(pool, setting, rng_of(3))
        event = event_of(published)
        return (trace.noisy_distance - np.minimum(pool.rho, event.bound)) / event.scale

    after = dataclasses.replace(SETTING, **change)  # type: ignore[arg-type]
    assert noise(after) == pytest.approx(noise(SETTING), abs=1e-9)


@given(
    rho=arrays.arrays(np.float64, st.integers(1, 40), elements=st.floats(0.0, 1.4)),
    epsilon_total=st.sampled_from([0.01, 1.0, 100.0, math.inf]),
    epsilon_abc=st.floats(0.001, 1.4),
    seed=st.integers(0, 1000),
)
def test_release_and_trace_tell_the_same_story(
    rho: Array, epsilon_total: float, epsilon_abc: float, seed: int
) -> None:
    setting = Setting(epsilon_total, epsilon_abc, 0.5, 0.01)
    published, trace = release(Ordered(rho), setting, rng_of(seed))
    assert all(len(getattr(trace, field.name)) == len(rho) for field in dataclasses.fields(Trace))
    assert np.array_equal(trace.accepted, trace.noisy_distance <= epsilon_abc)
    assert np.array_equal(np.flatnonzero(trace.accepted), published.indices)
    assert np.array_equal(trace.non_private, rho <= epsilon_abc)
    assert published.stopped_at == len(rho)
    assert published.weights.shape == published.indices.shape
    assert published.weights.sum() == pytest.approx(1.0 if len(published.indices) else 0.0)


def test_a_run_pays_for_the_whole_pool_and_says_so() -> None:
    published, _ = release(uniform_pool(300), SETTING, rng_of(4))
    assert published.event == calibrate(10.0, 0.01, 0.5, 0.2, 300)
    assert published.estimate is None
    assert published.samples is None
    assert cost(published.event).epsilon <= 10.0


def test_without_noise_nothing_is_clipped_and_no_noise_is_drawn() -> None:
    rng = rng_of(5)
    pool = uniform_pool()
    # With distances clipped below the threshold, all would be accepted.
    setting = Setting(math.inf, 0.2, 0.1, 0.01)
    published, trace = release(pool, setting, rng)
    assert np.array_equal(published.indices, np.flatnonzero(pool.rho <= 0.2))
    assert np.array_equal(trace.accepted, trace.non_private)
    assert published.event == NonPrivate()
    assert rng.random() == rng_of(5).random()


def test_little_noise_hardly_differs_from_none() -> None:
    pool = uniform_pool()
    quiet = dataclasses.replace(SETTING, epsilon_total=1e12)
    silent = dataclasses.replace(SETTING, epsilon_total=math.inf)
    first, second = (release(pool, each, rng_of(6))[0] for each in (quiet, silent))
    assert np.array_equal(first.indices, second.indices)


def test_a_release_depends_on_the_data_through_the_decisions_only() -> None:
    pool = uniform_pool()
    # Hardly any noise, so that distances can be moved without a decision changing.
    setting = dataclasses.replace(SETTING, epsilon_total=1e9)
    published, trace = release(pool, setting, rng_of(7))
    moved = np.where(trace.accepted, 0.5 * pool.rho, pool.rho + 0.05)
    other, _ = release(Ordered(moved), setting, rng_of(7))
    assert np.array_equal(published.indices, other.indices)
    assert np.array_equal(published.weights, other.weights)
    assert (published.stopped_at, published.event) == (other.stopped_at, other.event)


def test_releasing_leaves_the_comparison_as_it_was() -> None:
    pool = uniform_pool()
    before = pool.rho.copy()
    release(pool, SETTING, rng_of(8))
    assert np.array_equal(pool.rho, before)


def test_a_threshold_above_the_bound_accepts_most_but_not_all() -> None:
    setting = dataclasses.replace(SETTING, epsilon_abc=0.9)
    published, _ = release(Ordered(np.full(1000, 0.9)), setting, rng_of(9))
    assert 500 < len(published.indices) < 1000


# -------------------------------------------------------------------------------- the bound


def test_the_bound_is_a_quantile_of_simulated_distances() -> None:
    distances = np.arange(1.0, 101.0).reshape(4, 25)
    assert bound_quantile(distances, 0.05) == pytest.approx(5.95)
    assert bound_quantile(distances, 1.0) == 100.0


@pytest.mark.parametrize("quantile", [0.0, -0.1, 1.1, math.nan])
def test_what_is_no_quantile_is_an_error(quantile: float) -> None:
    with pytest.raises(ValueError, match=r"quantile = .* must lie above 0"):
        bound_quantile(np.ones(5), quantile)


def test_simulated_data_that_are_all_alike_give_no_bound() -> None:
    with pytest.raises(ValueError, match="no positive distance"):
        bound_quantile(np.zeros(5), 0.5)
