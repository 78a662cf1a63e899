"""Noise of summaries: the law over all small data sets and their neighbours, and its scale.

The law of a release is a product of discrete Laplace laws, so the largest log-ratio of two data
sets is the sum of those of each number, which is found here by going through the law itself.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from abcdp_core.mechanisms.private_summary import SummaryNoise
from abcdp_core.output.settings import event_in_json
from abcdp_core.own_data.discrete_summary import PARTS, least_scale, summary_noise, with_noise
from abcdp_core.parameters import EPSILON_TOTAL
from abcdp_core.privacy import cost
from abcdp_core.privacy.discrete import laplace
from abcdp_core.simulators import covid_people, tuberculosis_patients
from abcdp_core.statistic import Statistic

Array = NDArray[np.float64]
Sizes = tuple[int, ...]

CLUSTERS = tuberculosis_patients.STATISTICS["cluster-summary"]
COUNTS = covid_people.STATISTICS["daily-counts"]
TB = (CLUSTERS, 7, 6)
CASES = (COUNTS, 3, 3)


def reports(patients: int, largest: int = 99) -> Iterator[Sizes]:
    """Sizes of clusters, the largest first, of all reports of so many patients."""
    if patients == 0:
        yield ()
    for first in range(min(patients, largest), 0, -1):
        for rest in reports(patients - first, first):
            yield (first, *rest)


def with_one_more(sizes: Sizes) -> set[Sizes]:
    """Reports with a patient more: in a cluster of each kind, or in a new one."""
    places = range(len(sizes))
    grown = [(*sizes[:i], sizes[i] + 1, *sizes[i + 1 :]) for i in places]
    return {tuple(sorted(each, reverse=True)) for each in [*grown, (*sizes, 1)]}


def numbers_of(sizes: Sizes) -> list[int]:
    """Whole numbers of a report."""
    table = np.zeros((7, 1))
    table[: len(sizes), 0] = sizes
    return CLUSTERS.whole_of(table)


def log_law(scale: float, places: Array) -> Array:
    """Logarithms of the discrete Laplace law, but for a constant."""
    return -np.abs(places) / scale


def loss(first: list[int], second: list[int], noise: SummaryNoise) -> float:
    """Largest log-ratio of the laws of two releases."""
    window = np.arange(-40.0, 41.0)
    return sum(
        float((log_law(scale, window - a) - log_law(scale, window - b)).max())
        for a, b, scale in zip(first, second, noise.steps(), strict=True)
    )


def losses(noise: SummaryNoise) -> list[float]:
    """Of all reports of at most six patients and a patient more, both ways."""
    return [
        max(loss(numbers_of(one), numbers_of(other), noise), loss(numbers_of(other),
            numbers_of(one), noise))
        for patients in range(7)
        for one in reports(patients)
        for other in with_one_more(one)
    ]  # fmt: skip


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_a_patient_more_or_less_changes_no_probability_by_more_than_the_budget(
    epsilon: float,
) -> None:
    noise = summary_noise(*TB, epsilon)
    worst = max(losses(noise))
    assert worst == pytest.approx(float(Fraction(13, 3)) / noise.scale), "13/3 is attained"
    assert worst <= epsilon * (1.0 + 1e-12)


@pytest.mark.parametrize("sensitivity", [float(Fraction(13, 6)), 4.0])
def test_noise_for_a_smaller_sensitivity_is_found_out(sensitivity: float) -> None:
    scale = least_scale(1.0, sensitivity)
    broken = SummaryNoise("one patient", "add-remove", sensitivity, scale, (1, 1, 1, 1, 1, 3))
    assert max(losses(broken)) > 1.05
    # Its own cost would not tell.
    assert cost(broken).epsilon <= 1.0


def test_a_person_more_or_less_changes_no_probability_by_more_than_the_budget() -> None:
    noise = summary_noise(*CASES, 0.7)
    half = SummaryNoise("one person", "add-remove", 1.0, noise.scale / 2.0, (1, 1, 1))
    for day in range(3):
        before = [3, 0, 5]
        after = [count + (each == day) for each, count in enumerate(before)]
        for one, other in ((before, after), (after, before)):
            assert loss(one, other, noise) <= 0.7 * (1.0 + 1e-12)
            assert loss(one, other, half) > 1.3


@given(st.floats(EPSILON_TOTAL.low, EPSILON_TOTAL.high), st.sampled_from([TB, CASES]))
def test_the_cost_is_at_most_the_budget_and_every_scale_a_fraction_that_floats_hold(
    epsilon: float, of: tuple[Statistic, int, int]
) -> None:
    noise = summary_noise(*of, epsilon)
    assert cost(noise).epsilon <= epsilon
    exact = Fraction(13, 3) if of is TB else Fraction(1)
    assert exact / Fraction(noise.scale) <= Fraction(repr(epsilon))
    for whole, scale in zip(noise.whole or (), noise.steps().tolist(), strict=True):
        assert Fraction(scale) == whole * Fraction(noise.scale)
        assert (scale * PARTS).is_integer()
    assert noise.scale * PARTS - 1 < of[0].l1(1) * PARTS / epsilon * (1.0 + 1e-12)


def test_a_budget_is_the_smaller_of_the_float_and_of_what_is_written() -> None:
    # The float 0.3 is below three tenths, and the float 0.1 above one tenth.
    assert Fraction(3) / Fraction(least_scale(0.3, 3.0)) <= Fraction(0.3) < Fraction(3, 10)
    assert Fraction(1) / Fraction(least_scale(0.1, 1.0)) == Fraction(1, 10) < Fraction(0.1)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("inf"), float("nan")])
def test_there_is_no_release_without_noise(epsilon: float) -> None:
    with pytest.raises(ValueError, match="must be positive and finite"):
        summary_noise(*TB, epsilon)


def test_each_number_gets_noise_of_its_own_scale_from_the_operating_system() -> None:
    scales = summary_noise(*TB, 0.3).steps().tolist()
    released = with_noise((9, 8, 7, 6, 5, 4), scales, random.Random(3).randrange)
    again = random.Random(3).randrange
    assert released == [
        number + laplace(int(scale * PARTS), again, PARTS)
        for number, scale in zip((9, 8, 7, 6, 5, 4), scales, strict=True)
    ]
    assert scales[5] == 3.0 * scales[0]
    assert with_noise.__defaults__ == (secrets.randbelow,)
    with pytest.raises(ValueError, match="5 numbers: must be 6"):
        with_noise((1, 2, 3, 4, 5), scales)


def test_an_event_is_written_with_all_it_has() -> None:
    noise = summary_noise(*TB, 1.0)
    written = event_in_json(noise)
    assert written is not None
    assert written["kind"] == "SummaryNoise"
    assert written["whole"] == [1, 1, 1, 1, 1, 3]
    assert (written["unit"], written["neighbours"]) == ("one patient", "add-remove")


def test_numbers_are_whole_in_steps_and_as_many_as_the_data_have() -> None:
    assert numbers_of((5, 2, 1, 1)) == [9, 4, 2, 1, 5, 4]
    assert numbers_of((7, 1)) == [8, 2, 1, 0, 7, 7], "g = 7/3 in thirds"
    assert COUNTS.steps(25) == (1,) * 25
    with pytest.raises(ValueError, match="of 5 numbers 6 are stated"):
        CLUSTERS.steps(5)
