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

from abcdp_core.mechanisms.gaussian_rejection import (
    GaussianRejection,
    Trace,
    bound_quantile,
    calibrate,
    run,
)
from abcdp_core.privacy import Gaussian, NonPrivate, cost
from tests.statistics import assert_distribution, rejects

Array = NDArray[np.float64]

EPSILON_ABC = 0.2


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def event_of(
    epsilon_total: float = 10.0,
    sensitivity: float = 0.01,
    bound: float = 0.5,
    epsilon_abc: float = EPSILON_ABC,
    steps: int = 300,
    accountant: str = "exact",
) -> GaussianRejection:
    return calibrate(epsilon_total, sensitivity, bound, epsilon_abc, steps, accountant)


USUAL = event_of()


def uniform_distances() -> Array:
    return rng_of(0).random(300)


def test_noise_has_the_standard_deviation_of_the_event() -> None:
    event = event_of(steps=20_000)
    _, trace = run(np.full(20_000, 0.3), EPSILON_ABC, event, rng_of(1))
    noise = (trace.noisy_distance - 0.3) / event.scale
    assert_distribution(noise, stats.norm.cdf)
    assert rejects(assert_distribution, noise / math.sqrt(2.0), stats.norm.cdf)


def test_distances_beyond_the_bound_count_as_the_bound() -> None:
    def noisy(place: float) -> Array:
        return run(np.full(100, place), EPSILON_ABC, USUAL, rng_of(2))[1].noisy_distance

    assert np.array_equal(noisy(0.5), noisy(5.0))
    assert np.array_equal(noisy(-1.0), noisy(0.0))


@pytest.mark.parametrize(
    "change",
    [{"epsilon_total": 30.0}, {"sensitivity": 0.05}, {"bound": 0.7}, {"accountant": "published"}],
    ids=lambda change: next(iter(change)),
)
def test_another_setting_moves_the_same_noise(change: dict[str, float]) -> None:
    rho = uniform_distances()

    def noise(event: GaussianRejection) -> Array:
        _, trace = run(rho, EPSILON_ABC, event, rng_of(3))
        return (trace.noisy_distance - np.minimum(rho, event.bound)) / event.scale

    assert noise(event_of(**change)) == pytest.approx(noise(USUAL), abs=1e-9)  # type: ignore[arg-type]


@given(
    rho=arrays.arrays(np.float64, st.integers(1, 40), elements=st.floats(0.0, 1.4)),
    epsilon_total=st.sampled_from([0.01, 1.0, 100.0, math.inf]),
    epsilon_abc=st.floats(0.001, 1.4),
    seed=st.integers(0, 1000),
)
def test_release_and_trace_tell_the_same_story(
    rho: Array, epsilon_total: float, epsilon_abc: float, seed: int
) -> None:
    bare = math.isinf(epsilon_total)
    event = NonPrivate() if bare else event_of(epsilon_total, epsilon_abc=epsilon_abc)
    published, trace = run(rho, epsilon_abc, event, rng_of(seed))
    assert all(len(getattr(trace, field.name)) == len(rho) for field in dataclasses.fields(Trace))
    assert np.array_equal(trace.accepted, trace.noisy_distance <= epsilon_abc)
    assert np.array_equal(np.flatnonzero(trace.accepted), published.indices)
    assert np.array_equal(trace.non_private, rho <= epsilon_abc)
    assert published.stopped_at == len(rho)
    assert published.weights.shape == published.indices.shape
    assert published.weights.sum() == pytest.approx(1.0 if len(published.indices) else 0.0)


def test_a_run_pays_for_the_whole_pool_and_says_so() -> None:
    published, _ = run(uniform_distances(), EPSILON_ABC, USUAL, rng_of(4))
    assert published.event == USUAL
    assert USUAL.steps == len(uniform_distances())
    assert published.estimate is None
    assert published.samples is None
    assert cost(published.event).epsilon <= 10.0


def test_without_noise_nothing_is_clipped_and_no_noise_is_drawn() -> None:
    rng = rng_of(5)
    rho = uniform_distances()
    published, trace = run(rho, EPSILON_ABC, NonPrivate(), rng)
    assert np.array_equal(published.indices, np.flatnonzero(rho <= EPSILON_ABC))
    assert np.array_equal(trace.noisy_distance, rho)
    assert np.array_equal(trace.accepted, trace.non_private)
    assert published.event == NonPrivate()
    assert rng.random() == rng_of(5).random()


def test_an_event_of_another_kind_is_refused_and_not_run_without_noise() -> None:
    with pytest.raises(TypeError, match="Gaussian is no event of rejection with Gaussian noise"):
        run(uniform_distances(), EPSILON_ABC, Gaussian(0.1, 1.0), rng_of(5))


def test_little_noise_hardly_differs_from_none() -> None:
    rho = uniform_distances()
    quiet, silent = (
        run(rho, EPSILON_ABC, event, rng_of(6))[0] for event in (event_of(1e12), NonPrivate())
    )
    assert np.array_equal(quiet.indices, silent.indices)


def test_a_release_depends_on_the_data_through_the_decisions_only() -> None:
    rho = uniform_distances()
    # Hardly any noise, so that distances can be moved without a decision changing.
    event = event_of(1e9)
    published, trace = run(rho, EPSILON_ABC, event, rng_of(7))
    moved = np.where(trace.accepted, 0.5 * rho, rho + 0.05)
    other, _ = run(moved, EPSILON_ABC, event, rng_of(7))
    assert np.array_equal(published.indices, other.indices)
    assert np.array_equal(published.weights, other.weights)
    assert (published.stopped_at, published.event) == (other.stopped_at, other.event)


def test_releasing_leaves_the_distances_as_they_were() -> None:
    rho = uniform_distances()
    run(rho, EPSILON_ABC, USUAL, rng_of(8))
    assert np.array_equal(rho, uniform_distances())


def test_a_threshold_above_the_bound_accepts_most_but_not_all() -> None:
    event = event_of(epsilon_abc=0.9, steps=1000)
    published, _ = run(np.full(1000, 0.9), 0.9, event, rng_of(9))
    assert 500 < len(published.indices) < 1000


# -------------------------------------------------------------------------------- the bound


def test_the_bound_is_a_quantile_of_simulated_distances() -> None:
    distances = np.arange(1.0, 101.0).reshape(4, 25)
    assert bound_quantile(distances, 0.05) == pytest.approx(5.95)
    assert bound_quantile(distances, 1.0) == 100.0


def test_data_that_are_often_alike_are_bounded_by_those_that_are_not() -> None:
    """A count of few records is the same in many simulated data sets."""
    distances = np.concatenate([np.zeros(50), np.arange(1.0, 101.0)])
    assert bound_quantile(distances, 0.05) == pytest.approx(5.95)
    assert bound_quantile(distances, 1.0) == 100.0


@pytest.mark.parametrize("quantile", [0.0, -0.1, 1.1, math.nan])
def test_what_is_no_quantile_is_an_error(quantile: float) -> None:
    with pytest.raises(ValueError, match=r"quantile = .* must lie above 0"):
        bound_quantile(np.ones(5), quantile)


def test_simulated_data_that_are_all_alike_give_no_bound() -> None:
    with pytest.raises(ValueError, match="no positive distance"):
        bound_quantile(np.zeros(5), 0.5)
