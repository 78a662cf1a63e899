from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdp_core.privacy.calibration import PRECISION, smallest_satisfying

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


def test_the_start_does_not_matter() -> None:
    found = [
        smallest_satisfying(lambda scale: scale**2 >= 2.0, start) for start in (1e-9, 1.0, 1e9)
    ]
    assert found == pytest.approx([math.sqrt(2.0)] * 3, rel=2e-13)
