"""Noise in whole numbers: exact probabilities over all neighbors, scales, simulated frequencies.

Numbers: the distribution of a release is a product of discrete Laplace distributions, so the
largest log-ratio of two data sets is a sum over their numbers. Sparse vector: a probability is a
sum over every value of the threshold's noise that double precision can resolve. Its simulation has
10 000 runs over four draws at a false alarm of 1e-6; a scale that is a third too small is missed
with a probability under 1 %.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import EPSILON_TOTAL
from abcdp_core.mechanisms.sparse_vector import calibrate
from abcdp_core.models.simulators import covid_people, tuberculosis_patients, uniform_mixture
from abcdp_core.privacy import cost
from abcdp_core.privacy.discrete import laplace
from abcdp_core.release.exact_noise import (
    PARTS,
    IntegerNoise,
    decide,
    grid,
    integer_noise,
    least_scale,
    release_exactly,
    summary_noise,
    with_noise,
)
from abcdp_core.release.noisy_counts import NoisyCountsRequest, measure
from tests.oracles.reports import Report, partitions, with_one_more
from tests.release.small import seeded
from tests.statistics import assert_frequencies, miss_probability, rejects

Integers = NDArray[np.int64]
Numbers = Sequence[int]

CLUSTERS = tuberculosis_patients.SCENARIO.statistics["cluster-summary"]
TB = (CLUSTERS, 7, 6)
COUNTS = (uniform_mixture.SCENARIO.statistics["counts"], 6, 3)
CASES = (covid_people.SCENARIO.statistics["daily-counts"], 3, 3)
BUDGETS = st.floats(EPSILON_TOTAL.low, EPSILON_TOTAL.high)
BOTH = pytest.mark.parametrize("resample", [False, True])


def loss(first: Numbers, second: Numbers, scales: Sequence[float]) -> float:
    """Largest log-ratio of the probabilities of two releases."""
    window = np.arange(-40.0, 41.0)
    return sum(
        float((np.abs(window - b) - np.abs(window - a)).max()) / scale
        for a, b, scale in zip(first, second, scales, strict=True)
    )


def numbers_of(sizes: Report) -> list[int]:
    """Whole numbers of a report."""
    table = np.zeros((7, 1))
    table[: len(sizes), 0] = sizes
    return CLUSTERS.whole_of(table)


NOISES: dict[str, Any] = {
    "counts": lambda epsilon: summary_noise(*COUNTS, epsilon),
    "reports": lambda epsilon: summary_noise(*TB, epsilon),
    "days": lambda epsilon: summary_noise(*CASES, epsilon),
}
NEIGHBORS: dict[str, list[tuple[Numbers, Numbers]]] = {
    "counts": [((2, 2, 2), move) for move in itertools.permutations((1, 2, 3))],
    "reports": [
        (numbers_of(one), numbers_of(other))
        for patients in range(7)
        for one in partitions(patients, patients)
        for other in with_one_more(one)
    ],
    "days": [((3, 0, 5), more) for more in ((4, 0, 5), (3, 1, 5), (3, 0, 6))],
}
"""Whole numbers of all small neighboring data sets."""


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_no_neighbor_changes_any_probability_by_more_than_the_budget(
    kind: str, epsilon: float
) -> None:
    noise = NOISES[kind](epsilon)

    def worst(noise: Any) -> float:
        scales = [float(each) for each in noise.steps()]
        pairs = NEIGHBORS[kind]
        return max(loss(a, b, scales) for pair in pairs for a, b in (pair, pair[::-1]))

    assert worst(noise) == pytest.approx(noise.sensitivity / noise.scale), "it is attained"
    assert worst(noise) <= epsilon * (1.0 + 1e-12)
    # Half the noise is seen, and noise for a sensitivity that is smaller by a third of a person.
    assert worst(dataclasses.replace(noise, scale=noise.scale / 2.0)) > 1.5 * epsilon
    too_little = least_scale(epsilon, noise.sensitivity - 1.0 / 3.0)
    assert worst(dataclasses.replace(noise, scale=too_little)) > 1.05 * epsilon


@given(BUDGETS, st.sampled_from([*NOISES]))
# The float 0.3 is below three tenths, and the float 0.1 above one tenth: the smaller one counts.
@example(0.3, "counts")
@example(0.1, "days")
def test_the_cost_is_at_most_the_budget_and_every_scale_a_fraction_that_floats_hold(
    epsilon: float, kind: str
) -> None:
    noise = NOISES[kind](epsilon)
    exact = {"counts": Fraction(2), "reports": Fraction(13, 3), "days": Fraction(1)}[kind]
    assert cost(noise).epsilon <= epsilon
    assert exact / Fraction(noise.scale) <= min(Fraction(epsilon), Fraction(repr(epsilon)))
    for whole, scale in zip(getattr(noise, "whole", (1, 1, 1)), noise.steps(), strict=True):
        assert Fraction(float(scale)) == whole * Fraction(noise.scale)
        assert float(scale * PARTS).is_integer()
    assert noise.scale * PARTS - 1 < noise.sensitivity * PARTS / epsilon * (1.0 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_there_is_no_release_without_noise(epsilon: float) -> None:
    for refused in (
        lambda: least_scale(epsilon, 1.0),
        lambda: noise_for(epsilon, 1, 0.01, resample=False),
        lambda: integer_noise(1.0, epsilon, 1, 1.0, resample=False),
    ):
        with pytest.raises(ValueError, match="positive"):
            refused()


def law(scale: float, reach: int) -> Array:
    """Probabilities of noise from −reach to reach."""
    ratio = math.exp(-1.0 / scale)
    return (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-reach, reach + 1.0))


@pytest.mark.parametrize("scale", [PARTS // 2, 2 * PARTS + 1])
def test_noise_at_a_fractional_scale_has_its_distribution(scale: int) -> None:
    randbelow, reach, size = seeded(1), 6, 20_000
    draws = np.array([laplace(scale, randbelow, PARTS) for _ in range(size)])

    def found(draws: Integers) -> Integers:
        within = np.where(np.abs(draws) > reach, 2 * reach + 1, draws + reach)
        return np.bincount(within, minlength=2 * reach + 2)

    def expected(factor: float) -> Array:
        inside = law(factor * scale / PARTS, reach)
        return np.append(inside, 1.0 - inside.sum())

    assert_frequencies(found(draws), expected(1.0))
    assert rejects(assert_frequencies, found(np.sign(draws) * (np.abs(draws) // 2)), expected(1.0))
    assert miss_probability(expected(1.0), expected(0.5), size) < 1e-9


def test_each_number_gets_noise_of_its_own_scale_from_the_operating_system() -> None:
    scales = summary_noise(*TB, 0.3).steps().tolist()
    again = seeded(3)
    assert with_noise((9, 8, 7, 6, 5, 4), scales, seeded(3)) == [
        number + laplace(int(scale * PARTS), again, PARTS)
        for number, scale in zip((9, 8, 7, 6, 5, 4), scales, strict=True)
    ]
    assert scales[5] == 3.0 * scales[0]
    assert with_noise.__defaults__ == release_exactly.__defaults__ == (secrets.randbelow,)
    assert len({tuple(with_noise((5,) * 5, [2000.0] * 5)) for _ in range(5)}) == 5
    with pytest.raises(ValueError, match="5 numbers: must be 6"):
        with_noise((1, 2, 3, 4, 5), scales)


ODD = (*(0.1 * k for k in range(-3, 14)), 0.3 - 1e-17, 1e300, -1e300, math.nextafter(0.6, 0.0))


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=10, max_size=14),
    st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(ODD),
    st.integers(0, 9),
    st.sampled_from([(0.0, 1.0), (-0.3, 0.1), (0.1, 0.3), (-1e300, 1e300), (1e-289, 2e-289)]),
)
def test_another_value_in_place_of_one_moves_two_counts_by_one_or_none(
    values: list[float], other: float, place: int, domain: tuple[float, float]
) -> None:
    request = NoisyCountsRequest("uniform-mixture", 1.0, *domain)
    before = measure(request, np.array(values), None)
    values[place] = other
    after = measure(request, np.array(values), None)
    moves = sorted(b - a for a, b in zip(before, after, strict=True) if a != b)
    assert moves in ([], [-1, 1])
    assert sum(map(abs, moves)) <= request.event(10).sensitivity
    assert sum(before) == sum(after) == len(values)


UNITS = 3
"""Sensitivity of the small examples, in units of the grid."""

DISTANCES = np.array([5, -4, 2, 0])


@dataclass(frozen=True)
class Pool:
    """The part of a comparison that the mechanism reads."""

    rho: Array


def small_noise(epsilon_total: float, c: int, resample: bool) -> IntegerNoise:
    """The noise for a sensitivity of exactly :data:`UNITS`."""
    return integer_noise(epsilon_total, UNITS - 1.0, c, unit=1.0, resample=resample)


def noise_for(epsilon_total: float, c: int, sensitivity: float, resample: bool) -> IntegerNoise:
    """The noise of a release, on its grid."""
    return integer_noise(epsilon_total, sensitivity, c, grid(sensitivity), resample=resample)


def with_less(noise: IntegerNoise, first: float, second: float) -> IntegerNoise:
    """Broken noise: scales times these factors."""
    threshold, query = int(first * noise.threshold_scale), int(second * noise.query_scale)
    return dataclasses.replace(noise, threshold_scale=threshold, query_scale=query)


def at_most(k: Integers, scale: int) -> Array:
    """P(noise <= k), accurate in both tails."""
    ratio = math.exp(-1.0 / scale)
    lower = np.exp(np.minimum(k, 0) / scale) / (1.0 + ratio)
    upper = np.exp(-(np.maximum(k, 0) + 1) / scale) / (1.0 + ratio)
    return np.where(k <= 0, lower, 1.0 - upper)


def probability(pattern: tuple[bool, ...], distances: Integers, noise: IntegerNoise) -> float:
    """Probability of decisions at a threshold of 0, summed over the threshold's noise."""
    ends = [t + 1 for t, accepted in enumerate(pattern) if accepted and noise.resample]
    edges = sorted({0, *ends, len(pattern)})
    return math.prod(
        _segment(pattern[low:high], distances[low:high], noise)
        for low, high in itertools.pairwise(edges)
    )


def _segment(pattern: tuple[bool, ...], distances: Integers, noise: IntegerNoise) -> float:
    # All but 1e-16 of the mass.
    reach = 40 * noise.threshold_scale
    threshold, weight = np.arange(-reach, reach + 1), law(noise.threshold_scale, reach)
    for accepted, distance in zip(pattern, distances.tolist(), strict=True):
        below = threshold - distance
        # By symmetry P(noise > k) = P(noise <= −k − 1).
        weight = weight * at_most(below if accepted else -below - 1, noise.query_scale)
    return math.fsum(weight)


def patterns(steps: int, c: int) -> list[tuple[bool, ...]]:
    """Every way in which a run over ``steps`` draws can end."""

    def stopped(pattern: tuple[bool, ...]) -> tuple[bool, ...]:
        counts = list(itertools.accumulate(map(int, pattern)))
        return pattern[: counts.index(c) + 1] if c in counts else pattern

    return sorted({stopped(each) for each in itertools.product([False, True], repeat=steps)})


@BOTH
@pytest.mark.parametrize("c", [1, 2])
@pytest.mark.parametrize("base", [(0, 0, 0), (2, -5, 9)])
def test_no_neighbor_and_no_outcome_loses_more_than_the_budget(
    c: int, resample: bool, base: tuple[int, ...]
) -> None:
    noise = small_noise(1.5, c, resample)
    own = {p: probability(p, np.array(base), noise) for p in patterns(len(base), c)}
    assert math.fsum(own.values()) == pytest.approx(1.0, abs=1e-12), "nothing is left out"
    moves = itertools.product((-UNITS, -1, 0, UNITS), repeat=len(base))
    worst = max(
        abs(math.log(own[pattern] / probability(pattern, np.add(base, move), noise)))
        for move in moves
        for pattern in own
    )
    assert worst <= 1.5 * (1 + 1e-9)


@BOTH
@pytest.mark.parametrize("c", [1, 2])
def test_the_worst_outcome_costs_the_budget_and_hardly_less(c: int, resample: bool) -> None:
    # Rejections squeeze the threshold, then a kept draw crosses it.
    pattern = (*(False,) * 5, True) * c if resample else (*(False,) * 9, *(True,) * c)

    def loss_of(noise: IntegerNoise) -> float:
        """Largest loss of the pattern over positions of its kept and its rejected distances."""
        step = noise.query_scale
        found = []
        for far, near in itertools.product(range(-5 * step, 6 * step, step), repeat=2):
            base = np.where(pattern, near, far)
            moved = base + UNITS * np.where(pattern, 1, -1)
            ratio = probability(pattern, base, noise) / probability(pattern, moved, noise)
            found.append(math.log(ratio))
        return max(found)

    noise = small_noise(1.0, c, resample)
    assert 0.8 < loss_of(noise) <= 1.0 + 1e-9
    for factors in ((0.5, 0.5), (0.5, 1.0), (1.0, 0.5)):
        assert loss_of(with_less(noise, *factors)) > 1.0 + 1e-9


def law_of(noise: IntegerNoise) -> Array:
    return np.array([probability(p, DISTANCES, noise) for p in patterns(4, noise.c)])


@pytest.mark.parametrize(("c", "resample"), [(1, False), (2, True)])
def test_decisions_come_up_as_often_as_they_should(c: int, resample: bool) -> None:
    runs, noise = 10_000, small_noise(3.0, c, resample)

    def counts_of(noise: IntegerNoise, seed: int) -> Integers:
        outcomes = patterns(4, noise.c)
        counts, randbelow = np.zeros(len(outcomes), dtype=np.int64), seeded(seed)
        for _ in range(runs):
            accepted, stopped_at = decide([5.0, -4.0, 2.0, 0.0], 0, noise, randbelow)
            counts[outcomes.index(tuple(t in accepted for t in range(stopped_at)))] += 1
        return counts

    expected = law_of(noise)
    assert_frequencies(counts_of(noise, seed=1), expected)
    for factors in ((2 / 3, 1.0), (1.0, 2 / 3)):
        assert miss_probability(expected, law_of(with_less(noise, *factors)), runs) < 0.01
    if c > 1:
        kept = dataclasses.replace(noise, resample=not resample)
        assert rejects(assert_frequencies, counts_of(kept, seed=2), expected)


@given(st.floats(1e-9, 1e3), st.floats(0.0, 2e3), st.floats(-1.0, 1.0))
def test_distances_as_far_apart_as_the_sensitivity_stay_so_on_the_grid(
    sensitivity: float, rho: float, part: float
) -> None:
    unit = grid(sensitivity)
    assert math.frexp(unit)[0] == 0.5
    assert Fraction(sensitivity) / 2**20 <= Fraction(unit) < Fraction(sensitivity) / 2**19
    # The margin for rounding is one unit.
    other = rho + part * (sensitivity + unit)
    if abs(Fraction(other) - Fraction(rho)) > Fraction(sensitivity) + Fraction(unit):
        return
    noise = integer_noise(1.0, sensitivity, 1, unit, resample=False)
    assert abs(math.floor(rho / unit) - math.floor(other / unit)) <= noise.sensitivity
    assert math.floor(rho / unit) == Fraction(rho) // Fraction(unit)


@given(BUDGETS, st.floats(1e-6, 10.0), st.integers(1, 1000), st.booleans())
def test_the_event_costs_at_most_the_budget_and_hardly_less(
    budget: float, sensitivity: float, c: int, resample: bool
) -> None:
    noise = noise_for(budget, c, sensitivity, resample)
    event, unit = noise.event, noise.unit
    assert budget * 0.998 <= cost(event).epsilon <= budget
    assert sensitivity + unit <= event.sensitivity <= sensitivity + 2.0 * unit
    for name in ("sensitivity", "threshold_scale", "query_scale"):
        units = Fraction(getattr(event, name)) / Fraction(unit)
        assert units == getattr(noise, name), "the event is exact in floating point"
    ordinary = calibrate(budget, sensitivity, c, resample=resample)
    assert ordinary.threshold_scale <= event.threshold_scale <= 1.002 * ordinary.threshold_scale
    assert ordinary.query_scale <= event.query_scale <= 1.002 * ordinary.query_scale


def test_little_noise_is_rejection_abc_and_a_release_may_be_empty() -> None:
    pool = Pool(np.random.default_rng(6).random(300))
    published = release_exactly(pool, 0.2, noise_for(1e4, 10, 1e-6, resample=False), seeded(7))
    first = np.flatnonzero(pool.rho <= 0.2)[:10]
    assert np.array_equal(published.indices, first)
    assert published.stopped_at == first[-1] + 1
    assert published.weights.tolist() == [0.1] * 10
    noise = noise_for(1.0, 3, 0.01, resample=True)
    nothing = release_exactly(Pool(np.full(50, 1e3)), 0.1, noise, seeded(8))
    assert nothing.indices.shape == nothing.weights.shape == (0,)
    assert nothing.stopped_at == 50
    with pytest.raises(ValueError, match="finite distances"):
        release_exactly(Pool(np.array([0.1, math.nan])), 0.1, noise)
