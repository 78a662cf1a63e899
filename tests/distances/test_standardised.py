"""The distance of numbers that add up over records."""

from __future__ import annotations

import math

import numpy as np
import pytest

from abcdp_core.distances.standardised import Standardised


def sums(data: np.ndarray) -> np.ndarray:
    return data.sum(axis=-2)


# One record moves each of two numbers by at most 1.
LENGTH = math.hypot(0.5, 2.0)
PUBLIC = Standardised(sums, (0.5, 2.0), LENGTH, 6.0, usual=10)
PRIVATE = Standardised(sums, (0.5, 2.0), LENGTH, 6.0, usual=None)
DATA = np.random.default_rng(0).random((10, 2))


def test_at_the_usual_size_it_is_that_of_the_numbers_and_no_more_than_its_bound() -> None:
    other = DATA + 0.1
    rho = PUBLIC.compare(PUBLIC.statistic(other)[None], PUBLIC.statistic(DATA))
    assert rho == pytest.approx([math.hypot(0.5, 2.0)])
    assert PUBLIC.compare(PUBLIC.statistic(DATA + 9.0)[None], PUBLIC.statistic(DATA)) == [6.0]
    assert 0.0 < PUBLIC.error < 1e-9


def test_at_other_sizes_it_is_that_of_as_many() -> None:
    double = np.concatenate([DATA, DATA])
    assert PUBLIC.statistic(double) == pytest.approx(PUBLIC.statistic(DATA))
    assert PRIVATE.statistic(double) == pytest.approx(2.0 * PRIVATE.statistic(DATA))


@pytest.mark.parametrize("metric", [PUBLIC, PRIVATE])
def test_parts_make_the_whole(metric: Standardised) -> None:
    parts = metric.combine(metric.statistic(DATA[:3]), 3, metric.statistic(DATA[3:]), 7)
    assert parts == pytest.approx(metric.statistic(DATA))


@pytest.mark.parametrize("n", [5, 10, 40])
def test_a_record_moves_it_by_at_most_its_share(n: int) -> None:
    data = np.zeros((n, 2))
    data[0] = 1.0
    moved = np.linalg.norm(PUBLIC.statistic(data) - PUBLIC.statistic(np.zeros((n, 2))))
    assert moved <= PUBLIC.statistic_sensitivity(n) == pytest.approx(moved)
    assert PUBLIC.statistic_sensitivity(n) <= PUBLIC.sensitivity(n) == pytest.approx(moved)
    assert PRIVATE.sensitivity(n) == PRIVATE.sensitivity(7)


def test_it_never_moves_by_more_than_its_bound_and_another_kind_is_refused() -> None:
    assert PUBLIC.sensitivity(1) == 6.0
    with pytest.raises(ValueError, match="sensitivity = loose"):
        PUBLIC.sensitivity(1, "loose")
