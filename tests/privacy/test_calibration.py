"""The least noise of a budget, and costs rounded up; Laplace noise by rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdp_core.privacy import Laplace, cost
from abcdp_core.privacy.calibration import (
    PRECISION,
    laplace_unit_scale,
    ratio,
    round_up,
    scale_for,
    smallest_satisfying,
)

positive = st.floats(1e-200, 1e200)


@given(positive, positive)
def test_what_is_found_fits_and_hardly_less_would(answer: float, start: float) -> None:
    found = smallest_satisfying(lambda scale: scale >= answer, start)
    assert answer <= found <= answer * (1.0 + 2.0 * PRECISION)


@pytest.mark.parametrize(
    ("fits", "words"), [(False, "no finite noise"), (True, "any noise at all")]
)
def test_what_no_number_decides_is_an_error(fits: bool, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        smallest_satisfying(lambda _: fits, 1.0)


def test_what_is_exact_is_not_rounded_and_all_else_is_rounded_up() -> None:
    assert (scale_for(2.0, 1.0), ratio(3.0, 2.0), ratio(1.0, 0.0)) == (0.5, 1.5, math.inf)
    assert round_up(Fraction(1, 4)) == 0.25
    # The nearest numbers lie below a third and above a tenth.
    assert (ratio(1.0, 3.0), ratio(1.0, 10.0)) == (math.nextafter(1.0 / 3.0, 1.0), 0.1)
    below, above = (Fraction(1) + k * Fraction(1, 2**60) for k in (-1, 1))
    assert (round_up(below), round_up(above)) == (1.0, math.nextafter(1.0, 2.0))
    for k in range(1, 50):
        assert Fraction(1) / Fraction(scale_for(k / 10.0, 1.0)) <= Fraction(k / 10.0)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_laplace_costs_sensitivity_over_scale_rounded_up(sensitivity: float, scale: float) -> None:
    found = cost(Laplace(sensitivity, scale)).epsilon
    exact = Fraction(sensitivity) / Fraction(scale)
    assert exact <= Fraction(found) <= exact * (1 + Fraction(1, 2**52))
    assert cost(Laplace(sensitivity, scale)).delta == 0.0


@given(st.floats(1e-3, 1e3))
def test_a_calibrated_laplace_scale_costs_at_most_the_budget_and_hardly_less(budget: float) -> None:
    scale = laplace_unit_scale(budget)
    exact = 1 / Fraction(scale)
    assert Fraction(budget) * (1 - Fraction(1, 10**12)) <= exact <= Fraction(budget)
    assert exact <= Fraction(cost(Laplace(1.0, scale)).epsilon) <= Fraction(budget)


@given(st.floats(1e-3, 1e3))
def test_a_scale_taken_for_a_standard_deviation_costs_root_2_as_much(budget: float) -> None:
    # A generator that is given a standard deviation makes noise of that over √2 (MATH A11).
    published = Laplace(1.0, laplace_unit_scale(budget) / math.sqrt(2.0))
    assert cost(published).epsilon == pytest.approx(math.sqrt(2.0) * budget, rel=1e-12)
