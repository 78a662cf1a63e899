"""Selection of the c nearest: the exact law of its output, what it costs, and broken twins (E4).

Power of the sampled layer: 20 000 runs over four draws, two of them taken, at a false alarm of
1e-6. Each broken twin is missed with a probability under 1e-9, as bounded by ``miss_probability``
with the twin's own law, which is estimated from 400 000 further runs of it.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, special

from abcdp_core import mechanisms
from abcdp_core.mechanisms import Budget, nearest_selection
from abcdp_core.mechanisms.nearest_selection import NearestSelection, calibrate, pair_law, run
from abcdp_core.parameters import ParameterError
from abcdp_core.privacy import Gaussian, NonPrivate, composition, cost, statement, tradeoff
from abcdp_core.privacy.worst_pairs import neyman_pearson
from tests.statistics import assert_frequencies, miss_probability, rejects

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

CHANGE = 0.02
"""Δ of the distances here."""

RHO = np.array([0.3, 0.05, 0.2, 0.1])
BOTH = pytest.mark.parametrize("delta", [0.0, 1e-6])


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


def places(scale: float, size: int) -> list[Array]:
    """Distances to try: all alike, a heavy and a light half, a heavy one, and some at random."""
    half = np.arange(size) < size // 2
    spread = [scale * gap * half for gap in (0.0, 2.0, 12.0)]
    return [*spread, scale * 8.0 * (np.arange(size) > 0), scale * rng_of(1).normal(size=size)]


def neighbours(event: NearestSelection, size: int) -> list[tuple[Array, Array]]:
    """Laws of pairs of data sets, every distance moved by Δ in either direction."""
    pairs = []
    for rho in places(event.scale, size):
        before = ordered_law(rho, event.scale, event.c)
        for signs in itertools.product((-1.0, 1.0), repeat=size):
            moved = rho + CHANGE * np.array(signs)
            pairs.append((before, ordered_law(moved, event.scale, event.c)))
    return pairs


Twin = Callable[[float, float, int], NearestSelection]


def half_the_noise(epsilon_total: float, delta: float, c: int) -> NearestSelection:
    event = calibrate(epsilon_total, delta, CHANGE, c)
    return dataclasses.replace(event, scale=event.scale / 2.0)


def half_the_sensitivity(epsilon_total: float, delta: float, c: int) -> NearestSelection:
    return calibrate(epsilon_total, delta, CHANGE / 2.0, c)


def factor_2_dropped(epsilon_total: float, delta: float, c: int) -> NearestSelection:
    # As if all distances moved in one direction: s = Δ/ε₀.
    event = calibrate(epsilon_total, delta, CHANGE, c)
    return dataclasses.replace(event, scale=CHANGE / event.round_epsilon)


def a_round_forgotten(epsilon_total: float, delta: float, c: int) -> NearestSelection:
    return dataclasses.replace(calibrate(epsilon_total, delta, CHANGE, c - 1), c=c)


HALVES = (half_the_noise, half_the_sensitivity, factor_2_dropped)
TWINS = pytest.mark.parametrize("twin", [*HALVES, a_round_forgotten])


def largest_loss(event: NearestSelection) -> float:
    """Largest logarithm of a ratio of two probabilities of one output, over all pairs."""
    return max(float(np.abs(np.log(p / q)).max()) for p, q in neighbours(event, 4))


@pytest.mark.parametrize("c", [1, 2])
@pytest.mark.parametrize("budget", [0.01, 1.0, 5.0])
def test_the_pure_claim_holds_and_is_nearly_reached(budget: float, c: int) -> None:
    event = calibrate(budget, 0.0, CHANGE, c)
    claim = cost(event).epsilon
    assert 0.98 * claim <= largest_loss(event) <= claim * (1.0 + 1e-9)


@TWINS
def test_the_exact_loss_shows_broken_twins(twin: Twin) -> None:
    event = twin(1.0, 0.0, 2)
    assert largest_loss(event) > 1.4


ALPHA = np.array([1.001, 1.1, 1.5, 2.0, 4.0, 10.0, 50.0, 300.0])


def largest_divergence(event: NearestSelection) -> float:
    """Largest Rényi divergence of the ordered output, as a multiple of αρ."""

    def divergences(p: Array, q: Array) -> Array:
        moments: Array = special.logsumexp(ALPHA[:, None] * np.log(p / q), b=q, axis=1)
        return moments / (ALPHA - 1.0)

    bound = ALPHA * event.rho
    return max(float((divergences(p, q) / bound).max()) for p, q in neighbours(event, 4))


@pytest.mark.parametrize("c", [1, 2])
@pytest.mark.parametrize("budget", [0.01, 1.0, 5.0])
def test_renyi_divergences_are_at_most_those_claimed_and_nearly_reach_them(
    budget: float, c: int
) -> None:
    least = 0.85 if budget <= 1.0 else 0.75
    assert least <= largest_divergence(calibrate(budget, 1e-6, CHANGE, c)) <= 1.0


@TWINS
def test_renyi_divergences_show_broken_twins(twin: Twin) -> None:
    claimed, event = calibrate(1.0, 1e-6, CHANGE, 2).rho, twin(1.0, 1e-6, 2)
    assert largest_divergence(event) * event.rho > 1.4 * claimed


def hockey_stick(p: Array, q: Array, epsilon: float) -> float:
    """Smallest δ of a pair of laws at an ε, in either order."""
    return max(float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())
               for one, other in ((p, q), (q, p)))  # fmt: skip


@pytest.mark.parametrize("delta", [0.01, 0.2])
@pytest.mark.parametrize("budget", [0.1, 1.0])
def test_delta_of_the_exact_law_is_at_most_what_is_claimed(budget: float, delta: float) -> None:
    event = calibrate(budget, delta, CHANGE, 2)
    assert event.pure_epsilon > budget, "or δ would not matter"
    spent = cost(event, delta)
    assert max(hockey_stick(p, q, spent.epsilon) for p, q in neighbours(event, 4)) <= delta


def delta_in_a_large_pool(event: NearestSelection, epsilon: float) -> float:
    """The same of 100 rounds where draws do not run out, over the odds of :data:`ODDS`."""
    moved = dataclasses.replace(event, sensitivity=CHANGE)
    laws = [pair_law(odds - moved.round_epsilon / 2, moved) for odds in nearest_selection.ODDS]
    return max(hockey_stick(np.exp(law.first), np.exp(law.second), epsilon) for law in laws)


def test_what_a_conversion_may_be_rounded_by_is_added() -> None:
    event = calibrate(1.0, 1e-6, CHANGE, 100)
    plain = composition.from_renyi(lambda alpha: event.rho * alpha, 1e-6)
    added = cost(event, 1e-6).epsilon / plain - 1.0
    assert added == pytest.approx(1e-12, rel=1e-2, abs=0.0)


def test_delta_of_many_rounds_is_at_most_what_is_claimed_and_not_far_from_it() -> None:
    event = calibrate(1.0, 1e-6, CHANGE, 100)
    assert 1e-7 <= delta_in_a_large_pool(event, 1.0) <= 1e-6


@pytest.mark.parametrize("twin", HALVES)
def test_delta_of_many_rounds_shows_broken_twins(twin: Twin) -> None:
    assert delta_in_a_large_pool(twin(1.0, 1e-6, 100), 1.0) > 1e-4


# --------------------------------------------------------------------------------- sampled law

RUNS = 20_000
EVENT = NearestSelection(CHANGE, 0.1, 2)
ORDERS = {order: i for i, order in enumerate(itertools.permutations(range(4), 2))}


def test_one_pass_of_gumbel_noise_is_as_good_as_rounds() -> None:
    rng, counts = rng_of(2), np.zeros(len(ORDERS), dtype=np.int64)
    for _ in range(RUNS):
        _, trace = run(RHO, 2, EVENT, rng)
        counts[ORDERS[trace.order[0], trace.order[1]]] += 1
    assert_frequencies(counts, ordered_law(RHO, EVENT.scale, 2))


Noise = Callable[[np.random.Generator, tuple[int, int]], Array]

NOISES: dict[str, Noise] = {
    "half the noise": lambda rng, size: rng.gumbel(size=size) / 2.0,
    "twice the noise": lambda rng, size: 2.0 * rng.gumbel(size=size),
    "the wrong sign": lambda rng, size: -rng.gumbel(size=size),
    "a normal law": lambda rng, size: math.pi / math.sqrt(6.0) * rng.standard_normal(size),
    "one noise for two draws": lambda rng, size: np.repeat(
        rng.gumbel(size=(size[0], size[1] // 2)), 2, axis=1
    ),
}


def counts_of(noise: Noise, runs: int, seed: int) -> Counts:
    """How often each order comes up with such noise."""
    order = np.argsort(RHO - EVENT.scale * noise(rng_of(seed), (runs, 4)), axis=1)
    codes = np.array([[ORDERS.get((i, j), -1) for j in range(4)] for i in range(4)])
    return np.bincount(codes[order[:, 0], order[:, 1]], minlength=len(ORDERS))


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_the_same_check_rejects_other_noise(noise: Noise) -> None:
    law = ordered_law(RHO, EVENT.scale, 2)
    assert rejects(assert_frequencies, counts_of(noise, RUNS, seed=3), law)
    counts = counts_of(noise, 20 * RUNS, seed=4)
    assert miss_probability(law, counts / counts.sum(), RUNS) < 1e-9


def test_the_twins_bench_passes_what_is_sound() -> None:
    counts = counts_of(lambda rng, size: rng.gumbel(size=size), RUNS, seed=3)
    assert_frequencies(counts, ordered_law(RHO, EVENT.scale, 2))


# --------------------------------------------------------------------------------- calibration


def converted(rho: float, delta: float) -> float:
    """ε of ρ-zero-concentrated privacy, minimised once more (MATH E4)."""

    def at(log_beyond: float) -> float:
        beyond = math.exp(log_beyond)
        alpha = 1.0 + beyond
        return (
            rho * alpha
            + (math.log(1.0 / (alpha * delta)) + beyond * math.log1p(-1.0 / alpha)) / beyond
        )

    return float(optimize.minimize_scalar(at, bounds=(-9.0, 18.0), method="bounded").fun)


def test_calibration_gives_the_values_of_the_formulas() -> None:
    event = calibrate(1.0, 1e-6, CHANGE, 100)
    assert event.round_epsilon == pytest.approx(0.04414, abs=5e-6)
    assert event.rho == pytest.approx(0.024356, abs=5e-7)
    assert converted(event.rho, 1e-6) == pytest.approx(1.0, rel=1e-6)
    assert event.scale == pytest.approx(2.0 * CHANGE / event.round_epsilon)
    pure = calibrate(1.0, 0.0, CHANGE, 100)
    assert pure.round_epsilon == pytest.approx(0.01)
    # One selection: a δ buys nothing.
    assert calibrate(1.0, 1e-6, CHANGE, 1) == calibrate(1.0, 0.0, CHANGE, 1)


@settings(max_examples=30)
@given(
    st.floats(1e-3, 1e3), st.sampled_from([0.0, 1e-12, 1e-6, 0.01]), st.floats(1e-6, 10.0),
    st.integers(1, 1000),
)  # fmt: skip
def test_calibration_costs_at_most_the_budget_and_hardly_less(
    budget: float, delta: float, change: float, c: int
) -> None:
    event = calibrate(budget, delta, change, c)
    spent = cost(event, delta)
    assert (event.sensitivity, event.c, spent.delta) == (change, c, delta)
    assert budget * (1.0 - 1e-9) <= spent.epsilon <= budget
    assert spent.epsilon <= event.pure_epsilon
    if delta > 0.0:
        assert spent.epsilon >= min(converted(event.rho, delta), event.pure_epsilon)


@BOTH
def test_more_budget_needs_less_noise_and_more_draws_more(delta: float) -> None:
    budgets = [calibrate(each, delta, CHANGE, 20).scale for each in (1e-6, 0.01, 1.0, 100.0, 1e6)]
    assert budgets == sorted(budgets, reverse=True)
    counts = [calibrate(1.0, delta, CHANGE, c).scale for c in (1, 2, 10, 100, 1000)]
    assert counts == sorted(counts)
    deltas = [calibrate(1.0, each, CHANGE, 100).scale for each in (0.0, 1e-12, 1e-6, 0.01)]
    assert deltas == sorted(deltas, reverse=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 0.0, 0.1, 1), "positive finite budget"),
        ((math.inf, 0.0, 0.1, 1), "positive finite budget"),
        ((1.0, 0.0, 0.0, 1), "positive finite budget"),
        ((1.0, 0.0, 0.1, 0), "c >= 1"),
        ((1.0, 1.0, 0.1, 1), "delta = 1.0"),
    ],
)
def test_what_is_out_of_range_is_an_error(
    arguments: tuple[float, float, float, int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        calibrate(*arguments)


def test_without_noise_there_is_no_guarantee() -> None:
    event = NearestSelection(CHANGE, 0.0, 3)
    assert cost(event).epsilon == cost(event, 1e-6).epsilon == math.inf
    assert statement(event, "one point").startswith("Not private")


def test_an_attacker_gets_no_more_than_is_claimed_and_nearly_that() -> None:
    rates = np.linspace(0.0, 1.0, 101)
    for budget, delta, c in ((1.0, 1e-6, 100), (1.0, 0.0, 2), (20.0, 1e-6, 10)):
        event = calibrate(budget, delta, CHANGE, c)
        found = tradeoff.curve(event, rates)
        assert found.kind == "attained"
        assert np.all(found.miss >= tradeoff.of_cost(event, rates).miss - 1e-9)
        assert np.all(np.diff(found.miss) <= 1e-12)
    # Many rounds of little each are nearly one Gaussian answer with μ²/2 = ρ.
    event = calibrate(1.0, 1e-6, CHANGE, 1000)
    gaussian = tradeoff.gaussian(math.sqrt(2.0 * event.rho), rates)
    assert tradeoff.curve(event, rates).miss == pytest.approx(gaussian, abs=0.005)
    # Pure ε itself is reached by what hardly ever happens.
    law = pair_law(-8.0, calibrate(1.0, 0.0, CHANGE, 3))
    assert np.abs(law.first - law.second).max() == pytest.approx(1.0, rel=0.002)


def test_an_attacker_on_one_round_is_best_where_both_draws_are_about_as_likely() -> None:
    # The best on odds of e^(-ε/2) that become e^(ε/2): two lines that meet at equal rates.
    event = calibrate(0.7, 0.0, CHANGE, 1)
    rates = np.linspace(0.0, 1.0, 101)
    corner = 1.0 / (1.0 + math.exp(0.35))
    centred = np.interp(rates, [0.0, corner, 1.0], [1.0, corner, 0.0])
    assert np.interp(rates, *neyman_pearson(pair_law(-0.35, event))) == pytest.approx(centred)
    assert (tradeoff.curve(event, rates).miss <= centred + 1e-9).all()


# -------------------------------------------------------------------------------- the contract


@dataclass(frozen=True)
class Metric:
    """The part of a distance that calibration reads."""

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        return {"sharp": 1.0, "published": 2.0}[which] / n


@dataclass(frozen=True)
class Public:
    """The part of what is public that calibration reads."""

    n: int = 100
    pool_size: int = 1000
    distance: Metric = field(default_factory=Metric)


@dataclass(frozen=True)
class Ordered:
    """The part of a comparison that a selection reads."""

    rho: Array


POOL = Ordered(rng_of(0).random(1000))
EACH = pytest.mark.parametrize("name", ["nearest-selection", "nearest-selection-approximate"])


def prepared(name: str, budget: float, **options: object) -> mechanisms.Prepared:
    mechanism = mechanisms.load(name)
    asked = dataclasses.replace(mechanism.options, **options)
    return mechanism.prepare(Public(), asked, Budget(budget, 1e-6))  # type: ignore[arg-type]


@EACH
def test_a_release_costs_its_budget_and_names_c_draws(name: str) -> None:
    ready = prepared(name, 1.0, c=30)
    budget = Budget(1.0, 1e-6)
    spent = ready.mechanism.spends(budget)
    assert spent.delta == (1e-6 if name.endswith("approximate") else 0.0)
    assert cost(ready.event, spent.delta).epsilon == pytest.approx(1.0, rel=1e-9)
    assert cost(ready.event, spent.delta).epsilon <= 1.0
    published = ready.release(POOL, rng_of(1))
    assert len(published.indices) == 30
    assert np.all(np.diff(published.indices) > 0), "in the order of the pool"
    assert published.weights == pytest.approx(np.full(30, 1.0 / 30))
    assert published.stopped_at == 1000
    assert published.event == ready.event
    assert published.estimate is published.samples is published.made is None


@EACH
def test_nothing_but_the_order_of_noisy_distances_is_released(name: str) -> None:
    ready = prepared(name, 3.0, c=30)
    published, trace = ready.mechanism.release(ready, POOL, rng_of(1))
    assert np.array_equal(published.indices, np.sort(trace.order))
    assert np.array_equal(trace.order, np.argsort(trace.noisy_distance)[:30])
    # Draws that are not taken may be anywhere beyond.
    others = np.setdiff1d(np.arange(1000), published.indices)
    rho = POOL.rho.copy()
    rho[others] += 5.0
    again = ready.release(Ordered(rho), rng_of(1))
    assert np.array_equal(again.indices, published.indices)
    rho[published.indices[0]] = 1e9
    assert not np.array_equal(ready.release(Ordered(rho), rng_of(1)).indices, published.indices)


@EACH
def test_without_noise_it_is_the_c_nearest_and_ties_go_to_the_first(name: str) -> None:
    rng = rng_of(2)
    ready = prepared(name, math.inf, c=30)
    assert ready.event == NonPrivate()
    found = ready.release(POOL, rng)
    assert np.array_equal(found.indices, np.sort(np.argsort(POOL.rho)[:30]))
    assert rng.random() == rng_of(2).random(), "no noise is drawn"
    equal = ready.release(Ordered(np.zeros(100)), rng)
    assert np.array_equal(equal.indices, np.arange(30))
    huge = prepared(name, 1e9, c=30).release(POOL, rng)
    assert np.array_equal(huge.indices, found.indices)


@EACH
@pytest.mark.parametrize("budget", [1e-20, 1.0, 1e9, math.inf])
def test_a_small_pool_comes_back_whole(name: str, budget: float) -> None:
    small = Ordered(POOL.rho[:5])
    for c in (5, 6, 1000):
        ready = prepared(name, budget, c=c)
        found = ready.release(small, rng_of(3))
        assert np.array_equal(found.indices, np.arange(5))
        assert found.weights == pytest.approx(np.full(5, 0.2))
    empty = ready.release(Ordered(np.empty(0)), rng_of(3))
    assert empty.indices.shape == empty.weights.shape == (0,)


@EACH
def test_hardly_any_budget_selects_as_if_by_lot(name: str) -> None:
    ready, rng = prepared(name, 1e-6, c=10), rng_of(4)
    counts = sum(
        np.bincount(ready.release(POOL, rng).indices // 250, minlength=4) for _ in range(500)
    )
    assert_frequencies(np.asarray(counts), np.full(4, 0.25))


@EACH
def test_another_setting_moves_the_same_noise(name: str) -> None:
    def noise(ready: mechanisms.Prepared) -> Array:
        _, trace = ready.mechanism.release(ready, POOL, rng_of(5))
        assert isinstance(ready.event, NearestSelection)
        return (POOL.rho - trace.noisy_distance) / ready.event.scale

    first = noise(prepared(name, 1.0))
    for other in (
        prepared(name, 7.0), prepared(name, 1.0, c=40), prepared(name, 1.0, sensitivity="published")
    ):  # fmt: skip
        assert noise(other) == pytest.approx(first, abs=1e-9)


@EACH
def test_parts_are_the_rounds_and_the_published_sensitivity_doubles_the_noise(name: str) -> None:
    ready = prepared(name, 1.0, c=30)
    event = ready.event
    assert isinstance(event, NearestSelection)
    taken, other = ready.mechanism.parts(ready)
    assert (taken.count, other.count, other.cost) == (30, 970, 0.0)
    assert taken.cost == event.round_epsilon
    assert taken.noise_scale == event.scale
    few = dataclasses.replace(ready, public=Public(pool_size=5))
    assert [part.count for part in ready.mechanism.parts(few)] == [5, 0]
    double = prepared(name, 1.0, c=30, sensitivity="published").event
    assert isinstance(double, NearestSelection)
    assert double.scale == pytest.approx(2.0 * event.scale)


def test_an_event_of_another_kind_is_refused_and_not_run_without_noise() -> None:
    with pytest.raises(TypeError, match="Gaussian is no event of a selection"):
        run(RHO, 2, Gaussian(0.1, 1.0), rng_of(6))


def test_there_is_nothing_else_to_choose() -> None:
    for name in ("nearest-selection", "nearest-selection-approximate"):
        mechanism = mechanisms.load(name)
        assert set(mechanism.takes) == {"c", "sensitivity"}
        assert mechanism.grid(Public()) == {}  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="nearest-selection-approximate"):
        mechanisms.load("report-noisy-max")
