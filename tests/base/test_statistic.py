"""Sensitivities are exact and rounded up; attributes of a statistic must fit together."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from abcdp_core.base.statistic import Statistic, added, largest_length, largest_sum

THIRD, TENTH = Fraction(1, 3), Fraction(1, 10)

FITTING = Statistic(
    name="two",
    unit="one person",
    neighbours="add-remove",
    names=("a", "b"),
    reduce=lambda data: data[..., 0, :],
    l1=lambda n: 1.0 / n,
    l2=lambda n: 1.0 / n,
    low=(0.0, 0.0),
    high=(1.0, math.inf),
    whole=(1, 3),
)


@pytest.mark.parametrize(
    "cases", [[(1, 1, THIRD)], [(TENTH,) * 3], [(-1, 2), (2, 2)], [(0, 0), (Fraction(1, 7),)]]
)
def test_sensitivities_are_never_below_the_exact_ones(cases: list[tuple[Fraction, ...]]) -> None:
    total = max(sum(abs(Fraction(change)) for change in case) for case in cases)
    square = max(sum(Fraction(change) ** 2 for change in case) for case in cases)
    found, length = largest_sum(cases), largest_length(cases)
    assert total <= Fraction(found) < total + Fraction(1, 10**15)
    assert square <= Fraction(length) ** 2 < square + Fraction(1, 10**14)
    # The nearest float of a third would be too small.
    assert Fraction(1.0 / 3.0) < THIRD < Fraction(largest_sum([(THIRD,)]))


def test_counts_of_two_parts_add_up_and_other_numbers_need_their_own_rule() -> None:
    first, second = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    counts = dataclasses.replace(FITTING, combine=added)
    assert counts.combine(first, 3, second, 8).tolist() == [4.0, 7.0]
    with pytest.raises(ValueError, match="2 parts do not determine those of the whole"):
        FITTING.combine(first, 3, second, 8)


def test_attributes_that_do_not_fit_are_refused() -> None:
    for changed, message in (
        ({"high": (1.0, 1.0, 1.0)}, "high has 3 of 2 values"),
        ({"low": (0.0, 2.0), "high": (1.0, 1.0)}, "a lower bound is above the upper one"),
        ({"whole": (1, 0)}, "must be 1 or more"),
    ):
        with pytest.raises(ValueError, match=f"statistic two: .*{message}"):
            dataclasses.replace(FITTING, **changed)  # type: ignore[arg-type]
