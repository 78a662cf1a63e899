from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.mechanisms import Budget, Prepared, soft_weights
from abcdp_core.mechanisms.soft_weights import calibrate, run, weights_of
from abcdp_core.pool import public_side
from abcdp_core.privacy import Gaussian, GaussianSeries, NonPrivate, composition, cost
from abcdp_core.privacy.local import gaussian_delta
from tests.statistics import assert_distribution, rejects

Array = NDArray[np.float64]

EPSILON_ABC = 0.1


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def event_of(
    epsilon_total: float = 1.0,
    delta: float = 1e-4,
    sensitivity: float = 0.001,
    epsilon_abc: float = EPSILON_ABC,
    steps: int = 300,
    accountant: str = "exact",
) -> GaussianSeries:
    return calibrate(epsilon_total, delta, sensitivity, epsilon_abc, steps, accountant)


USUAL = event_of()
RHO = rng_of(0).random(300)
SCALED = RHO / EPSILON_ABC


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
    event = event_of(steps=20_000)
    _, trace = run(np.full(20_000, 3.0), event, rng_of(1))
    noise = (trace.noisy_distance - 3.0) / event.scale
    assert_distribution(noise, stats.norm.cdf)
    assert rejects(assert_distribution, noise / math.sqrt(2.0), stats.norm.cdf)


def test_the_event_is_a_series_over_the_whole_pool_in_units_of_the_threshold() -> None:
    published, _ = run(SCALED, USUAL, rng_of(2))
    assert published.event == USUAL
    assert USUAL.sensitivity == pytest.approx(0.01)
    assert USUAL.sensitivity * EPSILON_ABC >= 0.001
    assert USUAL.steps == len(SCALED)
    # MATH W3: μ = √T Δ / (σ ε_abc).
    assert math.sqrt(300) * 0.01 / USUAL.scale == pytest.approx(0.31390, abs=1e-5)
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
            assert calibrate(1.0, 1e-6, float(exact), k / 30.0, 60) == event


def test_noise_by_shares_spends_epsilon_and_delta_and_no_more() -> None:
    (mechanism,) = soft_weights.MECHANISMS
    public = public_side("uniform-mixture", 100, 60, 1)
    options = mechanism.chosen(epsilon_abc=0.2)
    for accountant, each, rest in (
        ("linear", 1.0 / 60, 0.0),
        ("advanced", composition.largest_per_query_epsilon(1.0, 60, 5e-7, "advanced"), 5e-7),
    ):
        event = mechanism.calibrate(public, options, None, Budget(1.0, 1e-6), accountant)
        assert isinstance(event, GaussianSeries)
        spent = 60 * gaussian_delta(event.sensitivity / event.scale, each) + rest
        assert spent == pytest.approx(1e-6, rel=1e-6)
        (part,) = mechanism.parts(Prepared(mechanism, public, options, None, event))
        assert (part.count, part.cost) == (60, event.sensitivity / event.scale)
        assert part.noise_scale == event.scale * 0.2


def test_every_draw_comes_back_with_its_weight() -> None:
    published, trace = run(SCALED, USUAL, rng_of(3))
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
    def noise(epsilon_abc: float = EPSILON_ABC, **asked: float) -> Array:
        event = event_of(epsilon_abc=epsilon_abc, **asked)  # type: ignore[arg-type]
        _, trace = run(RHO / epsilon_abc, event, rng_of(4))
        return (trace.noisy_distance - RHO / epsilon_abc) / event.scale

    assert noise(**change) == pytest.approx(noise(), abs=1e-9)


def test_the_noise_in_units_of_the_distance_does_not_depend_on_the_threshold() -> None:
    scales = [event_of(epsilon_abc=each).scale * each for each in (0.001, 0.1, 1.0)]
    assert scales == pytest.approx([scales[0]] * 3, rel=1e-9)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_without_noise_it_is_k2_abc(power: float) -> None:
    rng = rng_of(5)
    published, trace = run(RHO**power / EPSILON_ABC, NonPrivate(), rng)
    expected = np.exp(-(RHO**power) / 0.1)
    assert published.weights == pytest.approx(expected / expected.sum(), rel=1e-9)
    assert np.array_equal(published.weights, trace.non_private)
    assert published.event == NonPrivate()
    assert rng.random() == rng_of(5).random()


def test_an_event_of_another_kind_is_refused_and_not_run_without_noise() -> None:
    with pytest.raises(TypeError, match="Gaussian is no event of soft weights"):
        run(SCALED, Gaussian(0.1, 1.0), rng_of(5))


def test_a_tiny_threshold_gives_all_weight_to_the_nearest_draw() -> None:
    published, _ = run(RHO / 1e-9, NonPrivate(), rng_of(6))
    assert published.weights[np.argmin(RHO)] == 1.0


def test_little_noise_hardly_differs_from_none() -> None:
    quiet, silent = (
        run(SCALED, event, rng_of(7))[0].weights for event in (event_of(1e12), NonPrivate())
    )
    assert quiet == pytest.approx(silent, abs=1e-4)


def test_a_single_draw_has_all_the_weight() -> None:
    published, _ = run(np.array([7.0]), event_of(steps=1), rng_of(8))
    assert published.weights.tolist() == [1.0]


def test_a_release_depends_on_the_data_through_the_noisy_distances_only() -> None:
    published, trace = run(SCALED, USUAL, rng_of(9))
    # Where the noisy distance is negative, the distance may be anything smaller.
    moved = np.where(trace.noisy_distance < 0.0, 0.5 * SCALED, SCALED)
    assert not np.array_equal(moved, SCALED)
    other, _ = run(moved, USUAL, rng_of(9))
    assert np.array_equal(published.weights, other.weights)
    assert published.event == other.event


def test_releasing_leaves_the_distances_as_they_were() -> None:
    before = SCALED.copy()
    run(SCALED, USUAL, rng_of(10))
    assert np.array_equal(SCALED, before)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon_abc": 0.0}, "epsilon_abc = 0.0: must be positive"),
        ({"epsilon_abc": math.nan}, "epsilon_abc = nan: must be positive"),
        ({"epsilon_abc": math.inf}, "epsilon_abc = inf: must be positive"),
        ({"delta": 1.0}, "delta = 1.0: must lie between 0 and 1"),
        ({"epsilon_total": -1.0}, "epsilon_total = -1.0: must be positive"),
        ({"accountant": "linear"}, "accountant = linear"),
    ],
)
def test_what_is_out_of_range_is_named(change: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        event_of(**change)  # type: ignore[arg-type]
