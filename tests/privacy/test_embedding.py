"""Noise of one released vector: law, cost and calibration, exactly and as it is drawn (MATH E1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate, stats

from abcdp_core.privacy import Gaussian, NormNoise, cost
from abcdp_core.privacy.embedding import calibrate, draw, draw_norm_noise, log_density
from abcdp_core.privacy.local import gaussian_delta
from tests.statistics import assert_distribution, rejects

Array = NDArray[np.float64]

BELOW = Fraction(1) - Fraction(1, 10**12)
"""A calibrated noise may leave this much of its budget unused."""

DRAWS = 20_000

budgets = st.floats(1e-3, 1e3)
sensitivities = st.floats(1e-8, 1e6)
deltas = st.floats(1e-12, 0.5)
directions = st.lists(st.floats(-10.0, 10.0), min_size=3, max_size=3).map(np.array)


# ------------------------------------------------------------------------------ what is drawn


def coordinate_cdf(x: Array) -> Array:
    """Distribution function of one coordinate of norm noise in three dimensions.

    The density exp(−‖z‖)/(8π) integrates over the other two to (1 + |x|) exp(−|x|)/4.
    """
    tail = (2.0 + np.abs(x)) * np.exp(-np.abs(x)) / 4.0
    return np.where(x < 0.0, tail, 1.0 - tail)


def laplace_by_coordinate(rng: np.random.Generator) -> Array:
    """A broken twin: the noise of the L1 norm."""
    return rng.laplace(size=(DRAWS, 3))


def gamma_of_one_less(rng: np.random.Generator) -> Array:
    """A broken twin: a length as in one dimension less."""
    sample = draw_norm_noise(rng, 3, (DRAWS,))
    lengths = np.linalg.norm(sample, axis=1, keepdims=True)
    return sample / lengths * rng.gamma(2.0, size=(DRAWS, 1))


def only_upwards(rng: np.random.Generator) -> Array:
    """A broken twin: a direction from the positive corner, as from uniform numbers."""
    return np.abs(draw_norm_noise(rng, 3, (DRAWS,)))


def test_the_stated_law_of_a_coordinate_is_the_density_s() -> None:
    def density(r: float) -> float:
        # A shell of radius r holds 4πr² exp(−r)/(8π); by Archimedes its x are uniform on [−r, r].
        return 0.5 * r**2 * math.exp(-r) * min(1.0, max(0.0, (0.7 + r) / (2.0 * r)))

    parts = [integrate.quad(density, low, high)[0] for low, high in ((0.0, 0.7), (0.7, 60.0))]
    assert coordinate_cdf(np.array([0.7]))[0] == pytest.approx(sum(parts), abs=1e-9)


@pytest.mark.parametrize("dimension", [1, 3, 46])
def test_norm_noise_has_a_gamma_length_at_scale_one(dimension: int) -> None:
    sample = draw_norm_noise(np.random.default_rng(dimension), dimension, (DRAWS,))
    length = np.linalg.norm(sample, axis=1)
    law = stats.gamma(dimension).cdf
    assert sample.shape == (DRAWS, dimension)
    assert_distribution(length, law)
    # Half the noise, and a scale that was taken for a standard deviation (MATH A11).
    assert rejects(assert_distribution, length / 2.0, law)
    assert rejects(assert_distribution, length / math.sqrt(2.0), law)


def checks_of(sample: Array) -> list[tuple[Callable[..., None], Array, Callable[[Array], Array]]]:
    """Along an axis, along a slanted line, and the direction by itself, uniform by Archimedes."""
    slanted = sample @ np.array([0.6, -0.64, 0.48])
    cosine = sample[:, 1] / np.linalg.norm(sample, axis=1)
    return [
        (assert_distribution, sample[:, 0], coordinate_cdf),
        (assert_distribution, slanted, coordinate_cdf),
        (assert_distribution, cosine, stats.uniform(-1.0, 2.0).cdf),
    ]


def test_norm_noise_is_the_same_in_every_direction() -> None:
    for check, sample, law in checks_of(draw_norm_noise(np.random.default_rng(2), 3, (DRAWS,))):
        check(sample, law)


@pytest.mark.parametrize("twin", [laplace_by_coordinate, gamma_of_one_less, only_upwards])
def test_noise_of_another_shape_is_seen(twin: Callable[[np.random.Generator], Array]) -> None:
    checks = checks_of(twin(np.random.default_rng(3)))
    assert any(rejects(check, sample, law) for check, sample, law in checks)


def test_length_and_direction_are_independent() -> None:
    # Among the shorter half and among the longer half the direction is as uniform as in all.
    sample = draw_norm_noise(np.random.default_rng(4), 3, (DRAWS,))
    length = np.linalg.norm(sample, axis=1)
    for part in (length < np.median(length), length >= np.median(length)):
        cosine = sample[part, 2] / length[part]
        assert_distribution(cosine, stats.uniform(-1.0, 2.0).cdf)
    dependent = np.where(length < np.median(length), np.abs(sample[:, 2]), sample[:, 2]) / length
    assert rejects(assert_distribution, dependent, stats.uniform(-1.0, 2.0).cdf)


@pytest.mark.parametrize("event", [NormNoise(1.0, 0.3, 3), Gaussian(1.0, 0.3)])
def test_noise_is_drawn_at_scale_one_and_then_scaled(event: NormNoise | Gaussian) -> None:
    sample = draw(np.random.default_rng(5), event, 3, (DRAWS,))[:, 0]
    law = coordinate_cdf if isinstance(event, NormNoise) else stats.norm.cdf
    assert_distribution(sample / 0.3, law)
    assert rejects(assert_distribution, sample / 0.3 / 2.0, law)
    assert rejects(assert_distribution, sample / 0.3 / math.sqrt(2.0), law)
    larger = type(event)(**(vars(event) | {"scale": 0.9}))
    again = draw(np.random.default_rng(5), larger, 3, (DRAWS,))[:, 0]
    assert again == pytest.approx(3.0 * sample, rel=1e-12)


# -------------------------------------------------------------------------------- what it costs


@given(sensitivities, sensitivities)
def test_norm_noise_costs_sensitivity_over_scale_rounded_up(
    sensitivity: float, scale: float
) -> None:
    event = NormNoise(sensitivity, scale, 7)
    exact = Fraction(sensitivity) / Fraction(scale)
    assert exact <= Fraction(cost(event).epsilon) <= exact * (1 + Fraction(1, 2**52))
    assert cost(event, 1e-5) == cost(event)
    assert cost(event).delta == 0.0


@given(budgets, sensitivities, st.integers(1, 100))
def test_calibrated_norm_noise_costs_at_most_the_budget_and_hardly_less(
    budget: float, sensitivity: float, dimension: int
) -> None:
    event = calibrate(budget, 0.0, sensitivity, dimension)
    assert isinstance(event, NormNoise)
    assert (event.sensitivity, event.dimension) == (sensitivity, dimension)
    exact = Fraction(sensitivity) / Fraction(event.scale)
    assert Fraction(budget) * BELOW <= exact <= Fraction(budget)
    assert Fraction(cost(event).epsilon) <= Fraction(budget)
    half = NormNoise(sensitivity, event.scale / 2.0, dimension)
    assert cost(half).epsilon == pytest.approx(2.0 * budget, rel=1e-12)


@given(budgets, deltas, sensitivities)
def test_calibrated_gaussian_noise_keeps_its_delta_and_hardly_more(
    budget: float, delta: float, sensitivity: float
) -> None:
    event = calibrate(budget, delta, sensitivity, 4)
    assert isinstance(event, Gaussian)
    mu = event.sensitivity / event.scale
    assert gaussian_delta(mu, budget) <= delta
    # Where δ is tiny, ε may be told too large by what the terms of W3 are rounded by.
    assert cost(event, delta).epsilon <= budget * (1.0 + 2e-12) + 2e-14
    first = stats.norm.cdf(mu / 2.0 - budget / mu)
    assert gaussian_delta(mu * (1.0 + 1e-11 + 1e-12 * first / delta), budget) > delta
    assert gaussian_delta(2.0 * mu, budget) > delta


@given(directions, directions, st.floats(0.01, 10.0))
def test_no_outcome_is_more_than_e_to_the_epsilon_times_as_likely(
    move: Array, outcome: Array, epsilon: float
) -> None:
    length = float(np.linalg.norm(move))
    if length == 0.0:
        return
    event = calibrate(epsilon, 0.0, length, 3)

    def ratio(at: Array) -> float:
        near, far = (np.array(np.linalg.norm(at - value)) for value in (np.zeros(3), move))
        return float(log_density(event, near) - log_density(event, far))

    assert abs(ratio(outcome)) <= epsilon * (1.0 + 1e-9) + 1e-9
    # The worst outcome lies beyond the one value, away from the other.
    assert ratio(-(outcome[0] ** 2) * move) == pytest.approx(epsilon, rel=1e-6)
