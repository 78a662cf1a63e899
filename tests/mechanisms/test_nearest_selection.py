"""Selection of the c nearest: exact distribution of its output, cost, and broken twins (E4).

Power of the sampled layer: 20 000 runs over four draws, two of them kept, at a false alarm of
1e-6. Each broken twin is missed with a probability under 1e-9, by its own exact distribution.
"""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

from abcdp_core.base.arrays import Array
from abcdp_core.mechanisms import nearest_selection
from abcdp_core.mechanisms.nearest_selection import NearestSelection, calibrate, pair_law, run
from abcdp_core.privacy import NonPrivate, cost, tradeoff
from tests.events import quieter
from tests.oracles.divergences import hockey_stick
from tests.statistics import assert_frequencies, miss_probability, rejects

CHANGE = 0.02
"""Δ of the distances here."""


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


# ----------------------------------------------------------------------------------- exact law


def ordered_law(rho: Array, scale: float, c: int) -> Array:
    """Probabilities of all ordered outputs of c rounds of the exponential mechanism."""
    weight = np.exp(-(rho - rho.min()) / scale)

    def probability(order: tuple[int, ...]) -> float:
        rounds = (weight[t] / np.delete(weight, order[:i]).sum() for i, t in enumerate(order))
        return math.prod(rounds)

    return np.array([probability(order) for order in itertools.permutations(range(len(rho)), c)])


def neighbors(event: NearestSelection) -> list[tuple[Array, Array]]:
    """Laws of pairs of data sets of four distances, every one moved by Δ in either direction.

    Distances are all alike, a heavy and a light half, one heavy, or at random.
    """
    half, scale = np.arange(4) < 2, event.scale
    places = [scale * gap * half for gap in (0.0, 2.0, 12.0)]
    places += [scale * 8.0 * (np.arange(4) > 0), scale * rng_of(1).normal(size=4)]
    pairs = []
    for rho in places:
        before = ordered_law(rho, scale, event.c)
        for signs in itertools.product((-1.0, 1.0), repeat=4):
            moved = rho + CHANGE * np.array(signs)
            pairs.append((before, ordered_law(moved, scale, event.c)))
    return pairs


def largest_loss(event: NearestSelection) -> float:
    """Largest logarithm of a ratio of two probabilities of one output, over all pairs."""
    return max(float(np.abs(np.log(p / q)).max()) for p, q in neighbors(event))


@pytest.mark.parametrize("c", [1, 2])
@pytest.mark.parametrize("budget", [0.01, 1.0, 5.0])
def test_the_pure_claim_holds_and_is_nearly_reached(budget: float, c: int) -> None:
    event = calibrate(budget, 0.0, CHANGE, c)
    claim = cost(event).epsilon
    assert 0.98 * claim <= largest_loss(event) <= claim * (1.0 + 1e-9)


def test_the_exact_loss_shows_broken_twins() -> None:
    # Half the noise (or, the same, s = Δ/ε₀ without its factor 2), and a round forgotten.
    forgotten = dataclasses.replace(calibrate(1.0, 0.0, CHANGE, 1), c=2)
    for twin in (quieter(calibrate(1.0, 0.0, CHANGE, 2)), forgotten):
        assert largest_loss(twin) > 1.4


@pytest.mark.parametrize("delta", [0.01, 0.2])
@pytest.mark.parametrize("budget", [0.1, 1.0])
def test_the_exact_delta_is_at_most_what_is_claimed(budget: float, delta: float) -> None:
    event = calibrate(budget, delta, CHANGE, 2)
    assert event.pure_epsilon > budget, "or δ would not matter"
    spent = cost(event, delta)
    assert max(hockey_stick(p, q, spent.epsilon) for p, q in neighbors(event)) <= delta


def delta_in_a_large_pool(event: NearestSelection, epsilon: float) -> float:
    """δ of 100 rounds in which draws do not run out, over the odds of ``ODDS``."""
    moved = dataclasses.replace(event, sensitivity=CHANGE)
    laws = [pair_law(odds - moved.round_epsilon / 2, moved) for odds in nearest_selection.ODDS]
    return max(hockey_stick(np.exp(law.first), np.exp(law.second), epsilon) for law in laws)


def test_delta_of_many_rounds_is_at_most_what_is_claimed_and_not_far_from_it() -> None:
    event = calibrate(1.0, 1e-6, CHANGE, 100)
    assert 1e-7 <= delta_in_a_large_pool(event, 1.0) <= 1e-6
    assert delta_in_a_large_pool(quieter(event), 1.0) > 1e-4


# --------------------------------------------------------------------------------- sampled law

RUNS = 20_000
RHO = np.array([0.3, 0.05, 0.2, 0.1])
EVENT = NearestSelection(CHANGE, 0.1, 2)
SETS = list(itertools.combinations(range(4), 2))


def law_of_sets(scale: float) -> Array:
    """Probabilities of all sets of two draws, whatever their order."""
    ordered = zip(itertools.permutations(range(4), 2), ordered_law(RHO, scale, 2), strict=True)
    law = np.zeros(len(SETS))
    for order, probability in ordered:
        law[SETS.index((min(order), max(order)))] += probability
    return law


def test_one_pass_of_gumbel_noise_is_as_good_as_rounds() -> None:
    rng, counts = rng_of(2), np.zeros(len(SETS), dtype=np.int64)
    for _ in range(RUNS):
        first, second = run(RHO, 2, EVENT, rng).indices.tolist()
        counts[SETS.index((first, second))] += 1
    law = law_of_sets(EVENT.scale)
    assert_frequencies(counts, law)
    for scale in (EVENT.scale / 2.0, EVENT.scale * 2.0):
        broken = law_of_sets(scale)
        assert rejects(assert_frequencies, rng.multinomial(RUNS, broken), law)
        assert miss_probability(law, broken, RUNS) < 1e-9


def test_the_nearest_are_kept_in_the_order_of_the_pool_and_never_more_than_there_are() -> None:
    rho = rng_of(0).random(1000)
    for count, c, expected in (
        (1000, 30, np.sort(np.argsort(rho)[:30])),
        *((5, 5, np.arange(5)), (5, 1000, np.arange(5)), (0, 3, np.arange(0))),
    ):
        for event in (NonPrivate(), NearestSelection(CHANGE, 1e-12, c)):
            found = run(rho[:count], c, event, rng_of(3))
            assert np.array_equal(found.indices, expected)
    equal = run(np.zeros(100), 30, NonPrivate(), rng_of(2))
    assert np.array_equal(equal.indices, np.arange(30))


# --------------------------------------------------------------------------------- calibration


def test_one_selection_gains_nothing_from_a_delta() -> None:
    assert calibrate(1.0, 1e-6, CHANGE, 1) == calibrate(1.0, 0.0, CHANGE, 1)
    assert calibrate(1.0, 1e-6, CHANGE, 100).scale < calibrate(1.0, 0.0, CHANGE, 100).scale
    for delta in (1.0, 1.5, -0.1, math.nan):
        with pytest.raises(ValueError, match="delta"):
            calibrate(1.0, delta, CHANGE, 1)


def test_an_attacker_gets_nearly_what_is_claimed() -> None:
    rates = np.linspace(0.0, 1.0, 101)
    # Many rounds of little each are nearly one Gaussian answer with μ²/2 = ρ.
    event = calibrate(1.0, 1e-6, CHANGE, 1000)
    gaussian = tradeoff.gaussian(math.sqrt(2.0 * event.rho), rates)
    assert tradeoff.curve(event, rates).miss == pytest.approx(gaussian, abs=0.005)
    # An outcome that hardly ever happens reaches pure ε itself.
    law = pair_law(-8.0, calibrate(1.0, 0.0, CHANGE, 3))
    assert np.abs(law.first - law.second).max() == pytest.approx(1.0, rel=0.002)
