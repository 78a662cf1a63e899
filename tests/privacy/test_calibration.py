from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdp_core.privacy.calibration import (
    PRECISION,
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
