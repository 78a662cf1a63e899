from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.mechanisms import Budget, Ordered, soft_weights
from abcdp_core.mechanisms.soft_weights import Setting, release, weights_of
from abcdp_core.pool import public_side
from abcdp_core.privacy import GaussianSeries, NonPrivate, cost
from tests.statistics import assert_distribution, rejects

Array = NDArray[np.float64]

SETTING = Setting(1.0, 1e-4, 0.1, sensitivity=0.001)
PLAIN = dataclasses.replace(SETTING, epsilon_total=math.inf)


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def uniform_pool(size: int = 300) -> Ordered:
    return Ordered(rng_of(0).random(size))


# ---------------------------------------------------------------------------------- weights


def test_weights_are_exponentials_of_distances_normalised() -> None:
    expected = np.exp(-np.array([0.5, 0.0, 2.0]))
    assert weights_of(np.array([0.5, 0.0, 2.0])) == pytest.approx(expected / expected.sum())


def test_negative_distances_count_as_zero() -> None:
    assert np.array_equal(weights_of(np.array([-3.0, 0.0, 1.0])), weights_of(np.array([0, 0, 1.0])))


@pytest.mark.parametrize(
    ("distances", "expected"),
    [
        ([-5.0, -1.0, -0.1], [1 / 3, 1 / 3, 1 / 3]),
        ([1e6, 1e6 + 1e3, 2e6], [1.0, 0.0, 0.0]),
        ([7e307], [1.0]),
        ([-2.0], [1.0]),
    ],
    ids=["all below 0", "all far away", "one draw", "one draw below 0"],
)
def test_weights_never_vanish(distances: list[float], expected: list[float]) -> None:
    assert weights_of(np.array(distances)).tolist() == pytest.approx(expected)


@given(arrays.arrays(np.float64, st.integers(1, 50), elements=st.floats(-1e9, 1e9)))
def test_weights_sum_to_one_and_fall_with_the_distance(distances: Array) -> None:
    weights = weights_of(distances)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.diff(weights[np.argsort(distances)]) <= 0.0).all()


# ---------------------------------------------------------------------------------- the run


def test_noise_has_the_standard_deviation_of_the_event() -> None:
    published, trace = release(Ordered(np.full(20_000, 0.3)), SETTING, rng_of(1))
    assert isinstance(published.event, GaussianSeries)
    noise = (trace.noisy_distance - 0.3 / 0.1) / published.event.scale
    assert_distribution(noise, stats.norm.cdf)
    assert rejects(assert_distribution, noise / math.sqrt(2.0), stats.norm.cdf)


def test_the_event_is_a_series_over_the_whole_pool_in_units_of_the_threshold() -> None:
    published, _ = release(uniform_pool(300), SETTING, rng_of(2))
    assert isinstance(published.event, GaussianSeries)
    assert published.event.sensitivity == pytest.approx(0.01)
    assert published.event.sensitivity * 0.1 >= 0.001
    assert published.event.steps == 300
    # MATH W3: μ = √T Δ / (σ ε_abc).
    mu = math.sqrt(300) * 0.01 / published.event.scale
    assert mu == pytest.approx(0.31390, abs=1e-5)
    assert cost(published.event, 1e-4).epsilon <= 1.0


@pytest.mark.parametrize("accountant", ["exact", "linear"])
def test_the_sensitivity_in_units_of_the_threshold_is_rounded_up(accountant: str) -> None:
    (mechanism,) = soft_weights.MECHANISMS
    public = public_side("uniform-mixture", 100, 60, 1)
    budget = Budget(1.0, 1e-6)
    exact = Fraction(public.distance.sensitivity(100))
    for k in range(1, 20):
        options = mechanism.chosen(epsilon_abc=k / 30.0)
        event = mechanism.calibrate(public, options, None, budget, accountant)
        assert isinstance(event, GaussianSeries)
        assert Fraction(event.sensitivity) * Fraction(k / 30.0) >= exact
        if accountant == "exact":
            assert Setting(1.0, 1e-6, k / 30.0, float(exact)).event(60) == event


def test_every_draw_comes_back_with_its_weight() -> None:
    published, trace = release(uniform_pool(), SETTING, rng_of(3))
    assert published.indices.tolist() == list(range(300))
    assert published.stopped_at == 300
    assert (published.estimate, published.samples) == (None, None)
    assert np.array_equal(published.weights, weights_of(trace.noisy_distance))


@pytest.mark.parametrize(
    "change",
    [{"epsilon_total": 30.0}, {"delta": 1e-8}, {"epsilon_abc": 0.4}, {"accountant": "rdp-classic"}],
    ids=lambda change: next(iter(change)),
)
def test_another_setting_moves_the_same_noise(change: dict[str, float]) -> None:
    pool = uniform_pool()

    def noise(setting: Setting) -> Array:
        published, trace = release(pool, setting, rng_of(4))
        assert isinstance(published.event, GaussianSeries)
        return (trace.noisy_distance - pool.rho / setting.epsilon_abc) / published.event.scale

    after = dataclasses.replace(SETTING, **change)  # type: ignore[arg-type]
    assert noise(after) == pytest.approx(noise(SETTING), abs=1e-9)


def test_the_noise_in_units_of_the_distance_does_not_depend_on_the_threshold() -> None:
    scales = []
    for epsilon_abc in (0.001, 0.1, 1.0):
        event = dataclasses.replace(SETTING, epsilon_abc=epsilon_abc).event(1000)
        assert isinstance(event, GaussianSeries)
        scales.append(event.scale * epsilon_abc)
    assert scales == pytest.approx([scales[0]] * 3, rel=1e-9)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_without_noise_it_is_k2_abc(power: float) -> None:
    rng = rng_of(5)
    pool = uniform_pool()
    published, trace = release(pool, dataclasses.replace(PLAIN, power=power), rng)
    expected = np.exp(-(pool.rho**power) / 0.1)
    assert published.weights == pytest.approx(expected / expected.sum(), rel=1e-9)
    assert np.array_equal(published.weights, trace.non_private)
    assert published.event == NonPrivate()
    assert rng.random() == rng_of(5).random()


def test_a_tiny_threshold_gives_all_weight_to_the_nearest_draw() -> None:
    pool = uniform_pool()
    published, _ = release(pool, dataclasses.replace(PLAIN, epsilon_abc=1e-9), rng_of(6))
    assert published.weights[np.argmin(pool.rho)] == 1.0


def test_little_noise_hardly_differs_from_none() -> None:
    pool = uniform_pool()
    quiet, _ = release(pool, dataclasses.replace(SETTING, epsilon_total=1e12), rng_of(7))
    silent, _ = release(pool, PLAIN, rng_of(7))
    assert quiet.weights == pytest.approx(silent.weights, abs=1e-4)


def test_a_single_draw_has_all_the_weight() -> None:
    published, _ = release(Ordered(np.array([0.7])), SETTING, rng_of(8))
    assert published.weights.tolist() == [1.0]


def test_a_release_depends_on_the_data_through_the_noisy_distances_only() -> None:
    pool = uniform_pool()
    published, trace = release(pool, SETTING, rng_of(9))
    # Where the noisy distance is negative, the distance may be anything smaller.
    rho = np.where(trace.noisy_distance < 0.0, 0.5 * pool.rho, pool.rho)
    assert not np.array_equal(rho, pool.rho)
    other, _ = release(Ordered(rho), SETTING, rng_of(9))
    assert np.array_equal(published.weights, other.weights)
    assert published.event == other.event


def test_releasing_leaves_the_comparison_as_it_was() -> None:
    pool = uniform_pool()
    before = pool.rho.copy()
    release(pool, SETTING, rng_of(10))
    assert np.array_equal(pool.rho, before)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"power": 2.0}, "power = 2.0: must be 1 where there is noise"),
        ({"power": 0.0}, "power = 0.0: must be positive"),
        ({"epsilon_abc": 0.0}, "epsilon_abc = 0.0: must be positive"),
        ({"epsilon_abc": math.nan}, "epsilon_abc = nan: must be positive"),
        ({"delta": 1.0}, "delta = 1.0: must lie between 0 and 1"),
        ({"epsilon_total": -1.0}, "epsilon_total = -1.0: must be positive"),
        ({"accountant": "linear"}, "accountant = linear"),
    ],
)
def test_what_is_out_of_range_is_named(change: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dataclasses.replace(SETTING, **change).event(10)  # type: ignore[arg-type]
