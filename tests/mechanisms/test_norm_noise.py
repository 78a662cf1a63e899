"""Noise of one released vector: its distribution, and what it costs (MATH E1)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from abcdp_core.base.arrays import Array
from abcdp_core.mechanisms.private_embedding import (
    calibrate,
    draw,
    draw_norm_noise,
    importance_weights,
)
from abcdp_core.privacy import Gaussian, NormNoise
from tests.events import quieter
from tests.statistics import assert_distribution, rejects

DRAWS = 20_000
UNIFORM = stats.uniform(-1.0, 2.0).cdf

directions = st.lists(st.floats(-10.0, 10.0), min_size=3, max_size=3).map(np.array)


def noise(seed: int, dimension: int = 3) -> Array:
    return draw_norm_noise(np.random.default_rng(seed), dimension, (DRAWS,))


def coordinate_cdf(x: Array) -> Array:
    """Distribution function of one coordinate of norm noise in three dimensions.

    The density exp(−‖z‖)/(8π) integrates over the other two to (1 + |x|) exp(−|x|)/4.
    """
    tail = (2.0 + np.abs(x)) * np.exp(-np.abs(x)) / 4.0
    return np.where(x < 0.0, tail, 1.0 - tail)


def test_the_stated_distribution_of_a_coordinate_follows_from_the_density() -> None:
    def density(r: float) -> float:
        # A shell of radius r holds 4πr² exp(−r)/(8π); by Archimedes its x are uniform on [−r, r].
        return 0.5 * r**2 * math.exp(-r) * min(1.0, max(0.0, (0.7 + r) / (2.0 * r)))

    parts = [integrate.quad(density, low, high)[0] for low, high in ((0.0, 0.7), (0.7, 60.0))]
    assert coordinate_cdf(np.array([0.7]))[0] == pytest.approx(sum(parts), abs=1e-9)


@pytest.mark.parametrize("dimension", [1, 3, 46])
def test_norm_noise_has_a_gamma_length_at_scale_one(dimension: int) -> None:
    length, cdf = np.linalg.norm(noise(dimension, dimension), axis=1), stats.gamma(dimension).cdf
    assert_distribution(length, cdf)
    # Half the noise, and a scale that was taken for a standard deviation (MATH A11).
    assert rejects(assert_distribution, length / 2.0, cdf)
    assert rejects(assert_distribution, length / math.sqrt(2.0), cdf)


def checks_of(sample: Array) -> list[tuple[Array, Callable[[Array], Array]]]:
    """Along an axis, along a slanted line, and the direction by itself.

    By Archimedes a direction's coordinates are uniform, for short and for long noise.
    """
    length = np.linalg.norm(sample, axis=1)
    cosine, short = sample[:, 1] / length, length < np.median(length)
    slanted = sample @ np.array([0.6, -0.64, 0.48])
    along = [(sample[:, 0], coordinate_cdf), (slanted, coordinate_cdf)]
    return [*along, (cosine, UNIFORM), (cosine[short], UNIFORM), (cosine[~short], UNIFORM)]


def test_norm_noise_is_the_same_in_every_direction_and_noise_of_another_shape_is_not() -> None:
    right, rng = noise(2), np.random.default_rng(3)
    for sample, cdf in checks_of(right):
        assert_distribution(sample, cdf)
    length = np.linalg.norm(right, axis=1, keepdims=True)
    shorter = right / length * rng.gamma(2.0, size=(DRAWS, 1))
    twins = {
        "the L1 norm": rng.laplace(size=(DRAWS, 3)),
        "one dimension less": shorter,
        "only upwards": np.abs(right),
        "length and direction depend": np.where(length < np.median(length), np.abs(right), right),
    }
    for name, twin in twins.items():
        assert any(rejects(assert_distribution, *check) for check in checks_of(twin)), name


@pytest.mark.parametrize("event", [NormNoise(1.0, 0.3, 3), Gaussian(1.0, 0.3)])
def test_noise_is_drawn_at_scale_one_and_then_scaled(event: NormNoise | Gaussian) -> None:
    sample = draw(np.random.default_rng(5), event, 3, (DRAWS,))[:, 0]
    cdf = coordinate_cdf if isinstance(event, NormNoise) else stats.norm.cdf
    assert_distribution(sample / 0.3, cdf)
    for wrong in (2.0, math.sqrt(2.0)):
        assert rejects(assert_distribution, sample / 0.3 / wrong, cdf)
    again = draw(np.random.default_rng(5), quieter(event, 3.0), 3, (DRAWS,))[:, 0]
    assert again == pytest.approx(3.0 * sample, rel=1e-12)


@given(directions, directions, st.floats(0.01, 10.0))
def test_no_outcome_is_more_than_e_to_the_epsilon_times_as_likely(
    move: Array, outcome: Array, epsilon: float
) -> None:
    length = float(np.linalg.norm(move))
    if length == 0.0:
        return
    event = calibrate(epsilon, length, 3)

    def ratio(at: Array) -> float:
        far = np.linalg.norm([at, at - move], axis=1)
        near, other = importance_weights(far, event)
        return math.log(near / other)

    assert abs(ratio(outcome)) <= epsilon * (1.0 + 1e-9) + 1e-9
    # The worst outcome lies beyond the one value, away from the other.
    assert ratio(-(outcome[0] ** 2) * move) == pytest.approx(epsilon, rel=1e-6)
