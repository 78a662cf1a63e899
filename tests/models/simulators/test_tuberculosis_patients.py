"""The summary of a genotype report, its sensitivity to one patient, and the shipped pool."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import pytest

from abcdp_core.models.simulators import tuberculosis
from abcdp_core.models.simulators import tuberculosis_patients as patients
from tests.oracles.reports import Report, partitions, with_one_more

Summary = Callable[[Report], tuple[Fraction, ...]]

STATISTIC = patients.SCENARIO.statistics["cluster-summary"]


def summary(sizes: Report) -> tuple[Fraction, ...]:
    """The six numbers, g in exact thirds."""
    numbers = np.rint(STATISTIC.reduce(patients.report(np.array(sizes))) * patients.WHOLE)
    return tuple(Fraction(int(v), part) for v, part in zip(numbers, patients.WHOLE, strict=True))


def cut_off(sizes: Report, limit: int) -> tuple[Fraction, ...]:
    """A broken twin: clusters above a limit are left out of the differences."""
    return *summary(sizes)[:5], summary(tuple(s for s in sizes if s <= limit))[5]


def changes(of: Summary, reports: Iterable[Report]) -> set[tuple[Fraction, ...]]:
    """All absolute changes from one patient."""
    found = set()
    for sizes in reports:
        before = of(sizes)
        for more in with_one_more(sizes):
            found.add(tuple(abs(b - a) for a, b in zip(before, of(more), strict=True)))
    return found


def assert_within(found: set[tuple[Fraction, ...]]) -> None:
    """Check that each change is in a case of the proof and within the sensitivities."""
    for change in found:
        assert any(
            all(c <= most for c, most in zip(change, case, strict=True))
            for case in patients.one_patient()
        ), change
        assert sum(change) <= Fraction(STATISTIC.l1(1))
        assert sum(c**2 for c in change) <= Fraction(STATISTIC.l2(1)) ** 2


def test_no_patient_changes_more_than_is_stated() -> None:
    small = (sizes for total in range(10) for sizes in partitions(total, total))
    large = [(81, 80, 80, 79, 2, 1), (80,) * 5, (300, 80, 1), (80, 1), (1000,)]
    found = changes(summary, itertools.chain(small, large))
    assert_within(found)
    assert max(sum(change) for change in found) == Fraction(13, 3)
    assert 0 <= Fraction(STATISTIC.l1(1)) - Fraction(13, 3) < Fraction(1, 10**15)


@pytest.mark.parametrize("limit", [3, 80])
def test_the_broken_twin_is_caught(limit: int) -> None:
    found = changes(lambda sizes: cut_off(sizes, limit), [(limit,), (limit, 2, 1, 1)])
    assert max(change[5] for change in found) == Fraction(limit, 3)
    with pytest.raises(AssertionError):
        assert_within(found)


def test_no_patient_moves_a_distance_by_more_than_is_stated() -> None:
    distance = patients.distance()
    reports = [*partitions(6, 6), *partitions(7, 7), (40, 9, 9, 8), (40, 9, 9, 9)]
    numbers = distance.statistic(np.array([patients.report(np.array(r)) for r in reports]))
    index = {sizes: place for place, sizes in enumerate(reports)}
    moved = [
        np.abs(
            distance.compare(numbers, numbers[place]) - distance.compare(numbers, numbers[other])
        ).max()
        for place, sizes in enumerate(reports)
        for more in with_one_more(sizes)
        if (other := index.get(tuple(sorted(more, reverse=True)))) is not None
    ]
    assert len(moved) > 30
    assert 0.5 * distance.sensitivity(1) < max(moved) <= distance.sensitivity(1)
    assert distance.sensitivity(1) == distance.sensitivity(1000) < 0.15
    assert distance.statistic_sensitivity(1) <= distance.sensitivity(1)


def test_another_outbreak_changes_no_more_than_is_stated_for_outbreaks() -> None:
    statistic = patients.SCENARIO.statistics["cluster-summary-of-an-outbreak"]
    huge = np.concatenate([np.full(600, 1.0), np.full(200, 2.0), [500.0, 1.0]])
    numbers = statistic.reduce(np.array([np.zeros((802, 1)), huge[:, None]]))
    change = np.abs(numbers[1] - numbers[0])
    assert change.sum() == statistic.l1(1) == 2760.0
    assert np.linalg.norm(change) == pytest.approx(statistic.l2(1), rel=1e-15)
    # No report of the pool is cut.
    assert (patients.precomputed_pool()[1] < statistic.high).all()


def test_rows_of_size_0_and_their_order_change_nothing() -> None:
    expected = [473.0, 326.0, 282.0, 20.0, 30.0, 20.0 / 3.0]
    longer = np.concatenate([patients.SCENARIO.observed, np.zeros((500, 1))])
    shuffled = np.random.default_rng(1).permutation(patients.SCENARIO.observed)
    for same in (patients.SCENARIO.observed, shuffled, longer, patients.SCENARIO.observed[:326]):
        assert STATISTIC.reduce(same) == pytest.approx(expected, rel=1e-15)
    for sizes, numbers in (
        ([], [0] * 6),
        ([3], [3, 1, 0, 0, 3, 1]),
        ([5, 3], [8, 2, 0, 0, 5, 5 / 3]),
    ):
        assert STATISTIC.reduce(patients.report(np.array(sizes))).tolist() == numbers


def test_reports_hold_the_clusters_of_the_same_outbreaks() -> None:
    theta = np.tile(tuberculosis.SCENARIO.truth, (20, 1))
    reports = patients.simulate(np.random.default_rng(3), theta, 600)
    theirs = tuberculosis.simulate(np.random.default_rng(3), theta, 1)[:, 0]
    assert reports.shape == (20, 600, 1)
    assert (np.diff(reports[..., 0], axis=1) <= 0.0).all()
    numbers = STATISTIC.reduce(reports)
    assert np.array_equal(numbers[:, [0, 1, 4]], theirs[:, :3])
    # With less room the smallest clusters are dropped.
    few = patients.simulate(np.random.default_rng(3), theta, 10)
    assert np.array_equal(few, reports[:, :10])


def test_the_shipped_pool_can_be_remade() -> None:
    theta, numbers = patients.precomputed_pool()
    whole, counted = patients.draw(0)
    assert np.array_equal(whole.T / patients.RESOLUTION, theta[:1000])
    # On another machine, different rounding of a logarithm may change an outbreak.
    same = (counted.T / np.array(patients.WHOLE) == numbers[:1000]).all(axis=1)
    assert same.mean() > 0.98
