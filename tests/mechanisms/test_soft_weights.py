"""Soft weights: weights from noisy distances, and the noise that a budget requires (W1-W3)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from abcdp_core.base.arrays import Array
from abcdp_core.mechanisms import Budget, soft_weights
from abcdp_core.mechanisms.soft_weights import weights_of
from abcdp_core.models.pool import public_side
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from abcdp_core.privacy import GaussianSeries, composition
from abcdp_core.privacy.gaussian_series import gaussian_delta

(MECHANISM,) = soft_weights.MECHANISMS


@pytest.mark.parametrize(
    ("distances", "expected"),
    [
        ([0.5, 0.0, 2.0], np.exp([-0.5, 0.0, -2.0]) / np.exp([-0.5, 0.0, -2.0]).sum()),
        ([-5.0, -1.0, -0.1], [1 / 3, 1 / 3, 1 / 3]),
        ([1e6, 1e6 + 1e3, 2e6], [1.0, 0.0, 0.0]),
        ([7e307], [1.0]),
    ],
)
def test_weights_are_exponentials_with_negative_distances_as_0_and_never_vanish(
    distances: list[float], expected: list[float]
) -> None:
    assert weights_of(np.array(distances)).tolist() == pytest.approx(expected)


@given(arrays.arrays(np.float64, st.integers(1, 50), elements=st.floats(-1e9, 1e9)))
def test_weights_sum_to_one_and_fall_with_the_distance(distances: Array) -> None:
    weights = weights_of(distances)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.diff(weights[np.argsort(distances)]) <= 0.0).all()


@pytest.mark.parametrize("accountant", ["exact", "linear"])
def test_the_sensitivity_in_units_of_the_threshold_is_rounded_up(accountant: str) -> None:
    public = public_side(MIXTURE, 100, 60, 1)
    exact = Fraction(public.distance.sensitivity(100))
    for k in range(1, 20):
        options = MECHANISM.chosen(epsilon_abc=k / 30.0)
        event = MECHANISM.calibrate(public, options, None, Budget(1.0, 1e-6), accountant)
        assert isinstance(event, GaussianSeries)
        assert Fraction(event.sensitivity) * Fraction(k / 30.0) >= exact
        assert event.sensitivity == pytest.approx(float(exact) * 30.0 / k)
        assert event.steps == 60


def test_noise_by_shares_spends_all_of_epsilon_and_delta() -> None:
    public, options = public_side(MIXTURE, 100, 60, 1), MECHANISM.chosen(epsilon_abc=0.2)
    for accountant, each, rest in (
        ("linear", 1.0 / 60, 0.0),
        ("advanced", composition.largest_per_query_epsilon(1.0, 60, 5e-7, "advanced"), 5e-7),
    ):
        event = MECHANISM.calibrate(public, options, None, Budget(1.0, 1e-6), accountant)
        assert isinstance(event, GaussianSeries)
        spent = 60 * gaussian_delta(event.sensitivity / event.scale, each) + rest
        assert spent == pytest.approx(1e-6, rel=1e-6)
