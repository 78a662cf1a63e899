"""The sparse vector with a δ: segments, each with a threshold of its own, composed optimally (S3).

Power of the sampled layer: 4000 runs over five draws at a false alarm of 1e-6; half of either noise
is missed with a probability under 1e-9, by the exact law.
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

from abcdp_core import mechanisms
from abcdp_core.mechanisms import Budget
from abcdp_core.mechanisms.sparse_vector import Segments, pure_epsilon, run
from abcdp_core.privacy import Cost, Gaussian, cost
from tests.oracles.sparse_vector import largest_loss, log_probability
from tests.statistics import assert_frequencies, miss_probability, rejects

Array = NDArray[np.float64]

CHANGE = 0.02
SEGMENTED = mechanisms.load("sparse-vector-approximate")


@dataclass(frozen=True)
class Metric:
    """The part of a distance that calibration reads."""

    change: float = CHANGE

    def sensitivity(self, n: int, which: str = "sharp") -> float:
        return self.change * (1.0 if which == "sharp" else math.sqrt(2.0))


@dataclass(frozen=True)
class Public:
    """The part of what is public that calibration reads."""

    n: int = 100
    pool_size: int = 1000
    distance: Metric = field(default_factory=Metric)


@dataclass(frozen=True)
class Ordered:
    """The part of a comparison that a run reads."""

    rho: Array


def event_of(
    budget: float, delta: float, c: int, accountant: str = "optimal", change: float = CHANGE
) -> Segments:
    options = dataclasses.replace(SEGMENTED.options, c=c)  # type: ignore[call-arg]
    public = Public(distance=Metric(change))
    event = SEGMENTED.calibrate(public, options, None, Budget(budget, delta), accountant)  # type: ignore[arg-type]
    assert isinstance(event, Segments)
    return event


def segment_epsilon(event: Segments) -> float:
    return pure_epsilon(dataclasses.replace(event, c=1))


# --------------------------------------------------------------------------------- calibration


@pytest.mark.parametrize(("c", "expected"), [(100, 0.02401), (10, 0.10006)])
def test_calibration_gives_the_values_of_the_formulas(c: int, expected: float) -> None:
    # MATH E4.
    event = event_of(1.0, 1e-6, c)
    assert segment_epsilon(event) == pytest.approx(expected, abs=5e-6)
    # The best split of a redrawn threshold (MATH S3): 1 to 2^(2/3).
    threshold, query = CHANGE / event.threshold_scale, 2.0 * CHANGE / event.query_scale
    assert query / threshold == pytest.approx(2.0 ** (2 / 3))


@settings(max_examples=30)
@given(
    st.floats(1e-3, 1e3), st.floats(1e-12, 0.01), st.integers(1, 1000),
    st.sampled_from(list(SEGMENTED.accountants)),
)  # fmt: skip
def test_the_cost_is_at_most_the_budget(
    budget: float, delta: float, c: int, accountant: str
) -> None:
    event = event_of(budget, delta, c, accountant)
    spent = cost(event, delta)
    assert (event.c, event.resample, spent.delta) == (c, True, delta)
    assert spent.epsilon <= budget
    assert spent.epsilon <= cost(event).epsilon == pure_epsilon(event)
    if accountant == "optimal" and budget < 500.0:
        assert spent.epsilon >= budget * (1.0 - 1e-6)


@pytest.mark.parametrize(
    ("budget", "delta", "c", "accountant"),
    [
        (0.0012839789441676849, 1e-10, 10, "rdp"),
        (0.0014573882951048897, 1e-6, 1, "rdp"),
        (0.1, 1e-4, 10, "optimal"),
    ],
)
def test_the_cost_is_within_the_budget_where_accountants_round_differently(
    budget: float, delta: float, c: int, accountant: str
) -> None:
    spent = cost(event_of(budget, delta, c, accountant), delta).epsilon
    assert budget * (1.0 - 1e-5) <= spent <= budget


def test_a_kept_threshold_is_no_composition_of_segments() -> None:
    with pytest.raises(ValueError, match="a threshold each"):
        Segments(CHANGE, 0.1, 0.1, 3, resample=False)


def test_without_noise_or_delta_segments_cost_what_a_run_does() -> None:
    bare, noisy = Segments(CHANGE, 0.1, 0.0, 3, True), Segments(CHANGE, 0.1, 0.2, 3, True)
    assert cost(bare, 1e-5) == Cost(math.inf, 1e-5)
    assert cost(noisy) == Cost(pure_epsilon(noisy), 0.0)
    assert cost(noisy, 1e-300) == Cost(pure_epsilon(noisy), 1e-300)


# ----------------------------------------------------------------------------------- exact law


def outcomes(steps: int, c: int) -> list[NDArray[np.bool_]]:
    """Every way in which a run over ``steps`` draws can end."""
    found = []
    for pattern in itertools.product((False, True), repeat=steps):
        accepted = np.array(pattern)
        if accepted.sum() <= c:
            stop = np.flatnonzero(accepted)[c - 1] + 1 if accepted.sum() == c else steps
            found.append(accepted[:stop])
    return found


def law(rho: Array, event: Segments) -> Array:
    """Probability ``(k,)`` of every outcome, for a threshold of 0."""
    patterns = outcomes(len(rho), event.c)
    return np.exp([log_probability(pattern, rho, 0.0, event) for pattern in patterns])


def hockey_stick(event: Segments, epsilon: float) -> float:
    """Largest δ at an ε over neighbours: some distances fall by Δ and the others grow by it.

    Where the one is a draw that an attacker waits to see rejected, the other one to see accepted.
    """
    found = 0.0
    for signs in ((-1, -1, 1, -1, 1), (-1, 1, -1, 1, 1), (-1, -1, -1, 1, 1), (1, -1, 1, -1, 1)):
        for place in (0.0, 1.0):
            rho = place * event.threshold_scale * np.array(signs)
            one, other = law(rho, event), law(rho + CHANGE * np.array(signs), event)
            for p, q in ((one, other), (other, one)):
                found = max(found, float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()))
    return found


CASES = pytest.mark.parametrize(("budget", "delta"), [(0.5, 1e-3), (2.0, 1e-3)])


@CASES
def test_delta_of_the_exact_law_is_at_most_what_is_claimed(budget: float, delta: float) -> None:
    event = event_of(budget, delta, 2)
    assert pure_epsilon(event) > budget, "or δ would not matter"
    assert hockey_stick(event, budget) <= delta


@pytest.mark.parametrize("c", [1, 2])
def test_a_segment_s_own_claim_holds_and_is_nearly_reached(c: int) -> None:
    # What is composed; five rejections and an acceptance for each threshold.
    event = event_of(1.0, 1e-6, c)
    loss, each = largest_loss(event, np.tile(np.arange(6) == 5, c)), segment_epsilon(event)
    assert 0.95 * c * each <= loss <= c * each * (1.0 + 1e-9)


def half_the_noise(budget: float, delta: float) -> Segments:
    event = event_of(budget, delta, 2)
    b1, b2 = event.threshold_scale / 2.0, event.query_scale / 2.0
    return dataclasses.replace(event, threshold_scale=b1, query_scale=b2)


def half_the_sensitivity(budget: float, delta: float) -> Segments:
    return event_of(budget, delta, 2, change=CHANGE / 2.0)


def a_segment_forgotten(budget: float, delta: float) -> Segments:
    return dataclasses.replace(event_of(budget, delta, 1), c=2)


@CASES
@pytest.mark.parametrize("twin", [half_the_noise, half_the_sensitivity, a_segment_forgotten])
def test_the_exact_law_shows_broken_twins(
    twin: Callable[[float, float], Segments], budget: float, delta: float
) -> None:
    assert hockey_stick(twin(budget, delta), budget) > delta


# ------------------------------------------------------------------------------ what is released

RHO = np.array([0.3, 0.05, 0.2, 0.1, 0.15]) - 0.12
RUNS = 4000


def counts_of(event: Segments, seed: int) -> NDArray[np.int64]:
    """How often each outcome comes up, run as if somebody had asked for a kept threshold."""
    rng = np.random.default_rng(seed)
    codes = {tuple(np.flatnonzero(each)): i for i, each in enumerate(outcomes(5, event.c))}
    counts = np.zeros(len(codes), dtype=np.int64)
    for _ in range(RUNS):
        published, _ = run(RHO, 0.0, event, rng)
        counts[codes[tuple(published.indices)]] += 1
    return counts


def test_a_run_redraws_the_threshold_that_its_event_pays_for_whatever_was_asked() -> None:
    event = Segments(CHANGE, 0.15, 0.2, 2, resample=True)
    right = law(RHO, event)
    assert_frequencies(counts_of(event, 1), right)
    for change in ({"threshold_scale": 0.075}, {"query_scale": 0.1}):
        broken = dataclasses.replace(event, **change)
        assert rejects(assert_frequencies, counts_of(broken, 2), right)
        assert miss_probability(right, law(RHO, broken), RUNS) < 1e-9


def test_a_release_stops_at_c_and_costs_its_budget() -> None:
    options = dataclasses.replace(SEGMENTED.options, c=4, epsilon_abc=0.5)  # type: ignore[call-arg]
    budget = Budget(1.0, 1e-6)
    ready = SEGMENTED.prepare(Public(), options, budget)  # type: ignore[arg-type]
    published = ready.release(Ordered(np.zeros(1000)), np.random.default_rng(3))
    assert len(published.indices) == 4
    assert published.event == ready.event
    spent = SEGMENTED.spends(budget)
    assert (spent.epsilon, spent.delta) == (1.0, 1e-6)
    assert cost(published.event, spent.delta).epsilon <= spent.epsilon


def test_an_event_of_another_kind_is_refused_and_not_run_without_noise() -> None:
    with pytest.raises(TypeError, match="Gaussian is no event of a sparse vector run"):
        run(RHO, 0.0, Gaussian(0.1, 1.0), np.random.default_rng(4))
