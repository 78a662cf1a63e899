"""The distance between outbreaks against its formula, and its sensitivity."""

from __future__ import annotations

import math

import numpy as np
import pytest

from abcdp_core.base.arrays import Array
from abcdp_core.models.distances.outbreaks import ClippedOutbreaks
from abcdp_core.models.simulators import tuberculosis
from tests.search import most

DISTANCE = ClippedOutbreaks()
DATA = tuberculosis.SAN_FRANCISCO[0] * np.random.default_rng(1).uniform(0.7, 1.3, (80, 8))
FIRST, SECOND = DATA[:40], DATA[40:]


def between(simulated: Array, observed: Array, distance: ClippedOutbreaks = DISTANCE) -> float:
    """Distance of two sets ``(n, 8)``."""
    return float(
        distance.compare(distance.statistic(simulated)[None], distance.statistic(observed))[0]
    )


def plain(simulated: Array, observed: Array, clip: float = 200.0) -> float:
    """The formula, number by number."""
    total = 0.0
    for ours, theirs in zip(simulated.tolist(), observed.tolist(), strict=True):
        n, clusters, largest, difference, ones, twos, span, active = zip(ours, theirs, strict=True)
        squares = [
            (n[0] - n[1]) ** 2,
            (clusters[0] - clusters[1]) ** 2,
            (2.0 * (largest[0] - largest[1])) ** 2,
            (10.0 * (difference[0] - difference[1])) ** 2,
            (100.0 * (ones[0] - ones[1]) / ones[1]) ** 2,
            (100.0 * (twos[0] - twos[1]) / twos[1]) ** 2,
            (10.0 * (span[0] - span[1])) ** 2,
            (10.0 * (active[0] - active[1])) ** 2,
        ]
        total += min(math.sqrt(sum(squares)), clip)
    return total / len(simulated)


@pytest.mark.parametrize("clip", [60.0, 200.0, 1e9])
def test_it_is_the_formula_with_the_stated_error(clip: float) -> None:
    distance = ClippedOutbreaks(clip)
    found = between(FIRST, SECOND, distance)
    assert found == pytest.approx(plain(FIRST, SECOND, clip), rel=1e-13)
    assert found <= clip
    exact = math.fsum(plain(a[None], b[None], clip) for a, b in zip(FIRST, SECOND, strict=True))
    if clip == 200.0:
        assert abs(found**2 - (exact / 40) ** 2) <= distance.error < 1e-6


def test_errors_are_relative_to_the_observed_number_and_largest_relative_to_0() -> None:
    observed = tuberculosis.SAN_FRANCISCO
    assert between(observed, observed) == 0.0
    twice = observed * np.array([1, 1, 1, 1, 1, 2, 1, 1])
    assert between(twice, observed) == pytest.approx(100.0)
    assert between(observed, twice) == pytest.approx(50.0)
    without = FIRST.copy()
    without[0, 5] = 0.0
    # The relative error of 0 is undefined and counts the same.
    for simulated in (FIRST, without):
        assert between(simulated, without) == pytest.approx(200.0 / len(FIRST))


def test_a_search_finds_no_larger_change_from_a_replaced_outbreak() -> None:
    simulated = FIRST[:2]

    def change(places: Array) -> float:
        observed = np.stack([FIRST[0] + places[:8] / 50.0, SECOND[1]])
        neighbour = np.stack([places[8:], SECOND[1]])
        return abs(between(simulated, observed) - between(simulated, neighbour))

    found = most(change, 500.0, 16)
    limit = DISTANCE.sensitivity(2)
    assert 0.9 * limit < found <= limit


@pytest.mark.parametrize("n", [1, 3, 7, 40])
def test_the_sensitivity_is_reached_and_rounding_never_exceeds_it(n: int) -> None:
    limit = DISTANCE.sensitivity(n)
    assert limit == pytest.approx(200.0 / n, rel=1e-10)
    far = SECOND[:n].copy()
    for index in range(n):
        observed = FIRST[:n].copy()
        observed[index] = far[index]
        neighbour = observed.copy()
        neighbour[index, 0] += 1e6
        change = between(far, neighbour) - between(far, observed)
        assert change <= limit
        assert change == pytest.approx(limit, rel=1e-10)
