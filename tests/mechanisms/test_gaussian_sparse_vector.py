from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.mechanisms.gaussian_sparse_vector import (
    GaussianSparseVector,
    calibrate,
    draw_noise,
    run,
)
from abcdp_core.privacy import Gaussian, cost
from tests.statistics import assert_distribution, rejects

Array = NDArray[np.float64]

BOTH = pytest.mark.parametrize("resample", [False, True])
EPSILON_ABC = 0.2


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def event_of(
    epsilon_total: float = 1.0,
    sensitivity: float = 0.001,
    c: int = 10,
    resample: bool = False,
    steps: int = 1000,
) -> GaussianSparseVector:
    return calibrate(epsilon_total, 1e-4, sensitivity, c, steps, resample=resample)


USUAL = event_of()


def uniform_distances() -> Array:
    return rng_of(0).random(1000)


@BOTH
def test_query_noise_has_the_standard_deviation_of_the_event(resample: bool) -> None:
    # Nothing is ever accepted, so every draw is looked at.
    event = event_of(resample=resample, steps=20_000)
    _, trace = run(np.full(20_000, 100.0), EPSILON_ABC, event, rng_of(1))
    noise = (trace.noisy_distance - 100.0) / event.query_scale
    assert_distribution(noise, stats.norm.cdf)
    assert rejects(assert_distribution, noise / math.sqrt(2.0), stats.norm.cdf)


def test_threshold_noise_has_the_standard_deviation_of_the_event() -> None:
    # Everything is accepted, so the threshold is redrawn for every draw.
    event = event_of(c=20_000, resample=True, steps=20_000)
    _, trace = run(np.full(20_000, -1e9), EPSILON_ABC, event, rng_of(2))
    noise = (trace.noisy_threshold - EPSILON_ABC) / event.threshold_scale
    assert_distribution(noise, stats.norm.cdf)
    assert rejects(assert_distribution, noise / math.sqrt(2.0), stats.norm.cdf)


def test_the_event_counts_the_whole_pool_and_not_the_draws_looked_at() -> None:
    published, _ = run(uniform_distances(), EPSILON_ABC, USUAL, rng_of(3))
    assert published.stopped_at < 1000
    assert published.event == USUAL
    assert USUAL.steps == 1000
    assert cost(published.event, 1e-4).epsilon <= 1.0


@pytest.mark.parametrize(
    "change", [{"epsilon_total": 3.0}, {"epsilon_abc": 0.4}, {"sensitivity": 0.005}, {"c": 40}]
)
def test_another_setting_moves_the_same_noise(change: dict[str, float]) -> None:
    rho = uniform_distances()

    def noise(epsilon_abc: float = EPSILON_ABC, **asked: float) -> Array:
        event = event_of(**asked)  # type: ignore[arg-type]
        published, trace = run(rho, epsilon_abc, event, rng_of(4))
        return (trace.noisy_distance - rho[: published.stopped_at]) / event.query_scale

    before, after = noise(), noise(**change)
    shared = min(len(before), len(after))
    assert before[:shared] == pytest.approx(after[:shared], abs=1e-9)
    assert np.array_equal(draw_noise(rng_of(5), 50, 3)[1], draw_noise(rng_of(5), 50, 9)[1][:3])


@BOTH
def test_a_release_depends_on_the_data_through_the_decisions_only(resample: bool) -> None:
    own, event = uniform_distances(), event_of(resample=resample)
    published, trace = run(own, EPSILON_ABC, event, rng_of(7))
    margin = trace.noisy_threshold - trace.noisy_distance
    rho = rng_of(8).normal(0.0, 100.0, len(own))
    rho[: published.stopped_at] = own[: published.stopped_at] + 0.9 * margin
    other, _ = run(rho, EPSILON_ABC, event, rng_of(7))
    assert np.array_equal(published.indices, other.indices)
    assert (published.stopped_at, published.event) == (other.stopped_at, other.event)


def test_an_event_of_another_kind_is_refused_and_not_run_without_noise() -> None:
    with pytest.raises(TypeError, match="Gaussian is no event of a run with Gaussian noise"):
        run(uniform_distances(), EPSILON_ABC, Gaussian(0.1, 1.0), rng_of(9))
