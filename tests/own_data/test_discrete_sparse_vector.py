"""The mechanism in whole numbers: exact probabilities, all neighbours, simulated frequencies.

An exact probability here is a sum over every whole number that the threshold's noise can be, as far
as double precision sees it. Power of the simulation: 10 000 runs over four draws at a false alarm
of 1e-6; a scale that is a third too small is missed with a probability under 1 %.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
import secrets
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from abcdp_core.mechanisms import names
from abcdp_core.mechanisms.sparse_vector import SparseVector, calibrate
from abcdp_core.own_data import discrete_sparse_vector
from abcdp_core.own_data.discrete_sparse_vector import (
    IntegerNoise,
    decide,
    grid,
    integer_noise,
    release_exactly,
)
from abcdp_core.privacy import cost
from abcdp_core.privacy.discrete import RandBelow
from tests.oracles.sparse_vector import log_probability
from tests.statistics import assert_frequencies, miss_probability, rejects

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

RUNS = 10_000
BOTH = pytest.mark.parametrize("resample", [False, True])
SENSITIVITY = 3
"""Of the small examples, in units of the grid."""


@dataclass(frozen=True)
class Pool:
    """The part of a comparison that the mechanism reads."""

    rho: Array = field(default_factory=lambda: np.array([0.3, 0.05, 0.2, 0.1]))


def seeded(seed: int) -> RandBelow:
    return random.Random(seed).randrange


def small_noise(epsilon_total: float, c: int, resample: bool) -> IntegerNoise:
    """The noise for a sensitivity of exactly :data:`SENSITIVITY` units."""
    return integer_noise(epsilon_total, SENSITIVITY - 1.0, c, unit=1.0, resample=resample)


def noise_for(
    epsilon_total: float, c: int, resample: bool = False, *, sensitivity: float
) -> IntegerNoise:
    """The noise on the grid that a release takes."""
    return integer_noise(epsilon_total, sensitivity, c, grid(sensitivity), resample=resample)


# ------------------------------------------------------------------- exact probabilities


def law_of_noise(scale: int) -> tuple[Integers, Array]:
    """SingleTask numbers and their probabilities, but for 1e-16 of the mass."""
    values = np.arange(-40 * scale, 40 * scale + 1)
    ratio = math.exp(-1.0 / scale)
    return values, (1.0 - ratio) / (1.0 + ratio) * np.exp(-np.abs(values) / scale)


def at_most(k: Integers, scale: int) -> Array:
    """P(noise <= k), without loss in either tail."""
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
    threshold, weight = law_of_noise(noise.threshold_scale)
    for accepted, distance in zip(pattern, distances.tolist(), strict=True):
        below = threshold - distance
        # By symmetry P(noise > k) = P(noise <= −k − 1).
        weight = weight * at_most(below if accepted else -below - 1, noise.query_scale)
    return math.fsum(weight)


def patterns(steps: int, c: int) -> list[tuple[bool, ...]]:
    """Every way in which a run over ``steps`` draws can end."""
    complete = itertools.product([False, True], repeat=steps)
    return sorted({_stopped(pattern, c) for pattern in complete})


def _stopped(pattern: tuple[bool, ...], c: int) -> tuple[bool, ...]:
    counts = list(itertools.accumulate(map(int, pattern)))
    return pattern[: counts.index(c) + 1] if c in counts else pattern


DISTANCES = np.array([5, -4, 2, 0])


@BOTH
@pytest.mark.parametrize("c", [1, 2, 4])
def test_the_outcomes_exclude_each_other_and_leave_nothing_out(c: int, resample: bool) -> None:
    noise = small_noise(1.0, c, resample)
    total = math.fsum(probability(pattern, DISTANCES, noise) for pattern in patterns(4, c))
    assert total == pytest.approx(1.0, abs=1e-12)


def worst_loss(noise: IntegerNoise, base: tuple[int, ...], c: int) -> float:
    """Largest loss of any outcome against any neighbour: all distances moved by up to Δ."""
    own = {p: probability(p, np.array(base), noise) for p in patterns(len(base), c)}
    moves = itertools.product((-SENSITIVITY, -1, 0, SENSITIVITY), repeat=len(base))
    return max(
        abs(math.log(own[pattern] / probability(pattern, np.add(base, move), noise)))
        for move in moves
        for pattern in own
    )


@BOTH
@pytest.mark.parametrize("c", [1, 2])
@pytest.mark.parametrize("base", [(0, 0, 0), (2, -5, 9)])
def test_no_neighbour_and_no_outcome_loses_more_than_the_budget(
    c: int, resample: bool, base: tuple[int, ...]
) -> None:
    assert worst_loss(small_noise(1.5, c, resample), base, c) <= 1.5 * (1 + 1e-9)


def loss_of(noise: IntegerNoise, pattern: tuple[bool, ...]) -> float:
    """Largest loss of a pattern over places of its accepted and its rejected distances."""

    def loss(rejected: int, accepted: int) -> float:
        base = np.where(pattern, accepted, rejected)
        moved = base + SENSITIVITY * np.where(pattern, 1, -1)
        return math.log(probability(pattern, base, noise) / probability(pattern, moved, noise))

    places = range(-5 * noise.query_scale, 6 * noise.query_scale, noise.query_scale)
    return max(loss(rejected, accepted) for rejected in places for accepted in places)


def rejections_then_acceptance(c: int, resample: bool) -> tuple[bool, ...]:
    """What costs nearly all of the budget: the threshold is squeezed, then crossed."""
    return (*(False,) * 5, True) * c if resample else (*(False,) * 9, *(True,) * c)


def tight(noise: IntegerNoise, pattern: tuple[bool, ...], budget: float) -> bool:
    return 0.8 * budget < loss_of(noise, pattern) <= budget * (1 + 1e-9)


@BOTH
@pytest.mark.parametrize("c", [1, 2])
def test_the_worst_outcome_costs_the_budget_and_hardly_less(c: int, resample: bool) -> None:
    noise, pattern = small_noise(1.0, c, resample), rejections_then_acceptance(c, resample)
    assert tight(noise, pattern, 1.0)
    b1, b2 = noise.threshold_scale, noise.query_scale
    for less in ((b1 // 2, b2 // 2), (b1 // 2, b2), (b1, b2 // 2)):
        broken = dataclasses.replace(noise, threshold_scale=less[0], query_scale=less[1])
        assert not tight(broken, pattern, 1.0)


# ------------------------------------------------------------------ what is implemented


def counts_of(noise: IntegerNoise, seed: int) -> Integers:
    outcomes = patterns(4, noise.c)
    counts, randbelow = np.zeros(len(outcomes), dtype=np.int64), seeded(seed)
    for _ in range(RUNS):
        accepted, stopped_at = decide([5.0, -4.0, 2.0, 0.0], 0, noise, randbelow)
        counts[outcomes.index(tuple(t in accepted for t in range(stopped_at)))] += 1
    return counts


def law_of(noise: IntegerNoise) -> Array:
    return np.array([probability(p, DISTANCES, noise) for p in patterns(4, noise.c)])


@pytest.mark.parametrize(("c", "resample"), [(1, False), (2, False), (2, True)])
def test_decisions_come_up_as_often_as_they_should(c: int, resample: bool) -> None:
    noise = small_noise(3.0, c, resample)
    law, counts = law_of(noise), counts_of(noise, seed=1)
    assert_frequencies(counts, law)
    b1, b2 = noise.threshold_scale, noise.query_scale
    for less in ((2 * b1 // 3, b2), (b1, 2 * b2 // 3)):
        broken = dataclasses.replace(noise, threshold_scale=less[0], query_scale=less[1])
        assert miss_probability(law, law_of(broken), RUNS) < 0.01
    if c > 1:
        kept = dataclasses.replace(noise, resample=not resample)
        assert rejects(assert_frequencies, counts_of(kept, seed=2), law)


def outcome(indices: NDArray[np.int64]) -> int:
    return int(np.sum(2**indices))


@BOTH
def test_a_release_has_the_law_of_the_one_in_floating_point(resample: bool) -> None:
    # Exact by quadrature, and tested against that one too. A grid of a millionth of Δ is not seen;
    # scales that are a third too small are, in all but 1 % of the times.
    noise = noise_for(1.0, 2, resample, sensitivity=0.03)
    event = calibrate(1.0, 0.03, 2, resample=resample)
    runs, randbelow = 8000, seeded(3)
    counts = np.zeros(16, dtype=np.int64)
    for _ in range(runs):
        counts[outcome(release_exactly(Pool(), 0.12, noise, randbelow).indices)] += 1
    law = continuous_law(event)
    assert_frequencies(counts, law)
    b1, b2 = event.threshold_scale / 1.5, event.query_scale / 1.5
    less = continuous_law(dataclasses.replace(event, threshold_scale=b1, query_scale=b2))
    assert miss_probability(law, less, runs) < 0.01


def continuous_law(event: SparseVector) -> Array:
    """Probabilities of the outcomes of :class:`Pool` at a threshold of 0.12."""
    law = np.zeros(16)
    for pattern in map(np.array, patterns(4, event.c)):
        found = log_probability(pattern, Pool().rho, 0.12, event)
        law[outcome(np.flatnonzero(pattern))] = math.exp(found)
    return law


# ------------------------------------------------------------------------------- the grid

sensitivities = st.floats(1e-9, 1e3)


@given(sensitivities)
def test_the_grid_is_a_power_of_two_and_as_fine_as_promised(sensitivity: float) -> None:
    unit = grid(sensitivity)
    assert math.frexp(unit)[0] == 0.5
    assert Fraction(sensitivity) / 2**20 <= Fraction(unit) < Fraction(sensitivity) / 2**19


def test_a_sensitivity_that_is_a_power_of_two_has_the_finest_grid() -> None:
    assert grid(0.25) == 2.0**-22
    assert grid(math.nextafter(0.25, 1.0)) == 2.0**-21


@given(sensitivities, st.floats(0.0, 2e3), st.floats(-1.0, 1.0))
def test_distances_as_far_apart_as_the_sensitivity_stay_so_on_the_grid(
    sensitivity: float, rho: float, part: float
) -> None:
    unit = grid(sensitivity)
    # A unit more than the sensitivity is what the margin for rounding promises.
    other = rho + part * (sensitivity + unit)
    apart = abs(Fraction(other) - Fraction(rho))
    if apart > Fraction(sensitivity) + Fraction(unit):
        return
    noise = integer_noise(1.0, sensitivity, 1, unit, resample=False)
    assert abs(math.floor(rho / unit) - math.floor(other / unit)) <= noise.sensitivity
    assert math.floor(rho / unit) == Fraction(rho) // Fraction(unit)


@given(
    st.floats(1e-3, 1e3),
    st.floats(1e-6, 10.0),
    st.integers(1, 1000),
    st.booleans(),
)
def test_the_event_costs_at_most_the_budget_and_hardly_less(
    budget: float, sensitivity: float, c: int, resample: bool
) -> None:
    noise = noise_for(budget, c, resample, sensitivity=sensitivity)
    event, unit = noise.event, noise.unit
    assert budget * 0.998 <= cost(event).epsilon <= budget
    assert sensitivity + unit <= event.sensitivity <= sensitivity + 2.0 * unit
    for field_name in ("sensitivity", "threshold_scale", "query_scale"):
        units = Fraction(getattr(event, field_name)) / Fraction(unit)
        assert units == getattr(noise, field_name), "the event is exact in floating point"
    ordinary = calibrate(budget, sensitivity, c, resample=resample)
    assert ordinary.threshold_scale <= event.threshold_scale <= 1.002 * ordinary.threshold_scale
    assert ordinary.query_scale <= event.query_scale <= 1.002 * ordinary.query_scale


# ------------------------------------------------------------------------------- the run


def silent() -> RandBelow:
    """Chance that makes every noise 0.

    Remainder 0; coin exp(0) with 0 < 0 false: heads; coin exp(−1) with 0, then 1 < 1 false: tails;
    sign 0.
    """
    numbers = itertools.cycle([0, 0, 0, 1, 0])
    return lambda _: next(numbers)


def test_a_distance_at_the_threshold_is_accepted_and_one_beyond_it_is_not() -> None:
    noise = IntegerNoise(1, 10, 10, c=3, resample=True, unit=1.0)
    assert decide([7.0, 8.0, 6.0, 7.0, 0.0], 7, noise, silent()) == ([0, 2, 3], 4)


@pytest.mark.parametrize(("distances", "accepted"), [([8.0, 8.0], [0, 1]), ([9.0, 8.0], [1])])
def test_noise_is_added_to_either_side(
    distances: list[float], accepted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # 3 on the threshold, drawn anew after an acceptance, and 2 on each distance.
    noises = {10: 3, 20: 2}
    monkeypatch.setattr(discrete_sparse_vector, "laplace", lambda scale, _: noises[scale])
    noise = IntegerNoise(1, 10, 20, c=3, resample=True, unit=1.0)
    assert decide(distances, 7, noise, silent()) == (accepted, 2)


def test_distances_and_threshold_of_one_unit_of_the_grid_are_a_tie() -> None:
    noise = noise_for(1.0, 5, sensitivity=2.0**-4)
    pool = Pool(np.array([0.25 + 2.0**-25, 0.25 + 2.0**-24, 0.25, 0.2]))
    published = release_exactly(pool, 0.25 + 2.0**-30, noise, silent())
    assert published.indices.tolist() == [0, 2, 3]
    assert published.stopped_at == 4


def counted(randbelow: RandBelow) -> tuple[RandBelow, list[int]]:
    asked: list[int] = []

    def counting(below: int) -> int:
        asked.append(below)
        return randbelow(below)

    return counting, asked


@pytest.mark.parametrize(("resample", "thresholds"), [(False, 1), (True, 3)])
def test_noise_is_drawn_once_per_decision_and_threshold_and_not_after_the_end(
    resample: bool, thresholds: int
) -> None:
    noise = IntegerNoise(1, 10, 20, c=3, resample=resample, unit=1.0)
    chance, asked = counted(silent())
    assert decide([0.0, 9.0, 0.0, 0.0, 0.0, 0.0], 5, noise, chance) == ([0, 2, 3], 4)
    # Remainder and first coin are drawn below the scale.
    assert asked.count(10) == 2 * thresholds
    assert asked.count(20) == 2 * 4


@BOTH
@pytest.mark.parametrize(("epsilon_total", "c"), [(0.001, 1000), (1000.0, 1), (1e-9, 10**6)])
def test_nothing_overflows_at_extreme_settings(
    epsilon_total: float, c: int, resample: bool
) -> None:
    pool = Pool(np.linspace(0.0, math.sqrt(2.0), 200))
    noise = noise_for(epsilon_total, c, resample, sensitivity=math.sqrt(2.0) / 20_000)
    published = release_exactly(pool, 0.1, noise, seeded(5))
    assert 0 < len(published.indices) <= min(c, 200)
    assert 0.998 * epsilon_total <= cost(published.event).epsilon <= epsilon_total
    if c == 1:
        assert published.indices.tolist() == [0]


def test_little_noise_is_rejection_abc() -> None:
    pool = Pool(np.random.default_rng(6).random(300))
    published = release_exactly(pool, 0.2, noise_for(1e4, 10, sensitivity=1e-6), seeded(7))
    first = np.flatnonzero(pool.rho <= 0.2)[:10]
    assert np.array_equal(published.indices, first)
    assert published.stopped_at == first[-1] + 1
    assert published.weights.tolist() == [0.1] * 10
    assert published.estimate is None


def test_no_acceptance_is_an_empty_release() -> None:
    noise = noise_for(1.0, 3, resample=True, sensitivity=0.01)
    published = release_exactly(Pool(np.full(50, 1e3)), 0.1, noise, seeded(8))
    assert published.indices.shape == published.weights.shape == (0,)
    assert published.indices.dtype == np.int64
    assert published.stopped_at == 50


def test_the_noise_is_the_operating_system_s_and_never_the_same() -> None:
    assert release_exactly.__defaults__ == (secrets.randbelow,)
    pool = Pool(np.random.default_rng(9).random(300))
    noise = noise_for(1.0, 20, resample=True, sensitivity=0.01)
    releases = {tuple(release_exactly(pool, 0.5, noise).indices.tolist()) for _ in range(5)}
    assert len(releases) == 5


def test_a_release_without_noise_is_refused() -> None:
    with pytest.raises(ValueError, match="positive finite budget"):
        noise_for(math.inf, 1, sensitivity=0.01)


@pytest.mark.parametrize("sensitivity", [0.0, -1.0, math.inf, math.nan])
def test_a_release_for_no_sensitivity_is_refused(sensitivity: float) -> None:
    with pytest.raises(ValueError, match="positive finite budget and sensitivity"):
        noise_for(1.0, 1, sensitivity=sensitivity)


@pytest.mark.parametrize("rho", [math.nan, math.inf, -math.inf])
def test_distances_that_are_none_are_refused(rho: float) -> None:
    noise = noise_for(1.0, 1, sensitivity=0.01)
    with pytest.raises(ValueError, match="finite distances"):
        release_exactly(Pool(np.array([0.1, rho])), 0.1, noise)


def test_it_is_no_mechanism_that_pages_can_choose() -> None:
    assert "sparse-vector" in names()
    assert not any("exact" in name for name in names())
