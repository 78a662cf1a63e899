"""The cost of a sparse vector run, by rational arithmetic and by its exact loss (MATH S2, S3)."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from abcdp_core import mechanisms
from abcdp_core.base.arrays import Array
from abcdp_core.mechanisms import Budget
from abcdp_core.mechanisms.sparse_vector import (
    Segments,
    SparseVector,
    best_threshold_share,
    calibrate,
    pure_epsilon,
)
from abcdp_core.privacy import Cost, cost
from tests.events import quieter
from tests.oracles import divergences
from tests.oracles.outcomes import Pattern, patterns
from tests.oracles.sparse_vector import largest_loss, log_probability

BOTH = pytest.mark.parametrize("resample", [False, True])
CHANGE = 0.02


# -------------------------------------------------------------------------------- a run as one


def theorem_1(event: SparseVector) -> Fraction:
    """ε_total of an event in rational arithmetic (MATH S3), written out once more."""
    delta, b1, b2 = map(Fraction, (event.sensitivity, event.threshold_scale, event.query_scale))
    if event.resample:
        return event.c * (delta / b1 + 2 * delta / b2)
    return delta / b1 + 2 * event.c * delta / b2


@given(
    st.floats(1e-3, 1e3), st.floats(1e-6, 10.0), st.integers(1, 1000), st.booleans(),
    st.none() | st.floats(0.001, 0.999),
)  # fmt: skip
def test_calibration_costs_at_most_the_budget_and_hardly_less(
    budget: float, sensitivity: float, c: int, resample: bool, share: float | None
) -> None:
    event = calibrate(budget, sensitivity, c, resample=resample, threshold_share=share)
    assert (event.sensitivity, event.c, event.resample) == (sensitivity, c, resample)
    exact = theorem_1(event)
    assert Fraction(budget) * (1 - Fraction(1, 10**12)) <= exact <= Fraction(budget)
    assert exact <= Fraction(pure_epsilon(event)) <= Fraction(budget)
    assert cost(event) == Cost(pure_epsilon(event), 0.0)
    if share is None:
        factor = 2 * c if resample else c + 1
        paper = factor * sensitivity / budget
        assert event.threshold_scale == pytest.approx(paper, rel=1e-12, abs=0.0)
        assert event.query_scale == pytest.approx(2 * paper, rel=1e-12, abs=0.0)


@BOTH
@pytest.mark.parametrize("c", [1, 10])
def test_the_best_split_has_the_least_variance(resample: bool, c: int) -> None:
    def variance(share: float) -> float:
        event = calibrate(1.0, 1.0, c, resample=resample, threshold_share=share)
        return event.threshold_scale**2 + event.query_scale**2

    found = optimize.minimize_scalar(variance, bounds=(1e-6, 1 - 1e-6), method="bounded")
    best = best_threshold_share(c, resample=resample)
    assert variance(best) <= found.fun * (1 + 1e-9)
    assert best == pytest.approx(found.x, abs=1e-4)


def tight(event: SparseVector, claim: float, pattern: Pattern) -> bool:
    """Whether the exact loss is at most the claim and at least 0.95 of it."""
    return 0.95 * claim <= largest_loss(event, pattern) <= claim * (1 + 1e-9)


NINE_REJECTIONS = np.arange(10) == 9


@BOTH
@pytest.mark.parametrize(("budget", "share"), [(0.01, None), (1.0, 0.3), (20.0, None)])
def test_the_claim_holds_and_is_nearly_reached(
    resample: bool, budget: float, share: float | None
) -> None:
    event = calibrate(budget, CHANGE, 1, resample=resample, threshold_share=share)
    assert tight(event, pure_epsilon(event), NINE_REJECTIONS)


@pytest.mark.parametrize(
    ("threshold", "query"), [(0.5, 0.5), (0.9, 0.9), (2.0, 2.0), (0.5, 1.0), (1.0, 0.5)]
)
def test_too_little_and_too_much_noise_are_both_seen(threshold: float, query: float) -> None:
    event = calibrate(1.0, CHANGE, 1, resample=False)
    b1, b2 = threshold * event.threshold_scale, query * event.query_scale
    broken = SparseVector(CHANGE, b1, b2, 1, False)
    assert not tight(broken, pure_epsilon(event), NINE_REJECTIONS)


def test_further_acceptances_cost_what_is_claimed() -> None:
    # Kept threshold: enough rejections, then all acceptances. Redrawn: the same once per threshold.
    kept, redrawn = (calibrate(1.0, CHANGE, 3, resample=resample) for resample in (False, True))
    assert tight(kept, pure_epsilon(kept), np.arange(13) >= 10)
    each_threshold = np.tile(np.arange(6) == 5, 3)
    assert tight(redrawn, pure_epsilon(redrawn), each_threshold)
    cheat = dataclasses.replace(kept, resample=True)
    assert largest_loss(cheat, each_threshold) > 1.3, "a redrawn threshold, paid for once"


# ---------------------------------------------------------------------- segments, with a δ (E4)

SEGMENTED = mechanisms.load("sparse-vector-approximate")


def segments_of(
    budget: float, delta: float, c: int, accountant: str = "optimal", change: float = CHANGE
) -> Segments:
    distance = SimpleNamespace(sensitivity=lambda n, which: change)  # noqa: ARG005
    public = SimpleNamespace(n=100, pool_size=1000, distance=distance)
    options = SEGMENTED.chosen(c=c)
    event = SEGMENTED.calibrate(public, options, None, Budget(budget, delta), accountant)  # type: ignore[arg-type]
    assert isinstance(event, Segments)
    return event


def segment_epsilon(event: Segments) -> float:
    return pure_epsilon(dataclasses.replace(event, c=1))


@pytest.mark.parametrize(
    ("budget", "delta", "c", "accountant"),
    [
        # Where the cost of the composition, rounded up, is above the accountant's.
        (0.0012839789441676849, 1e-10, 10, "rdp"),
        (0.0014573882951048897, 1e-6, 1, "rdp"),
        (0.1, 1e-4, 10, "optimal"),
    ],
)
def test_segments_cost_at_most_the_budget(
    budget: float, delta: float, c: int, accountant: str
) -> None:
    event = segments_of(budget, delta, c, accountant)
    assert (event.c, event.resample) == (c, True)
    assert cost(event, delta).epsilon <= min(budget, pure_epsilon(event))
    assert cost(event) == Cost(pure_epsilon(event))
    assert cost(event, 1e-300) == Cost(pure_epsilon(event), 1e-300)
    with pytest.raises(ValueError, match="a threshold each"):
        Segments(CHANGE, 0.1, 0.1, 3, resample=False)


def largest_delta(event: Segments, epsilon: float) -> float:
    """Largest δ at an ε over neighbors: some distances fall by Δ and the others grow by it."""

    def law(rho: Array) -> Array:
        return np.exp([log_probability(each, rho, 0.0, event) for each in patterns(5, event.c)])

    found = 0.0
    for signs in ((-1, -1, 1, -1, 1), (-1, -1, -1, 1, 1)):
        for place in (0.0, 1.0):
            rho = place * event.threshold_scale * np.array(signs)
            moved = rho + CHANGE * np.array(signs)
            found = max(found, divergences.hockey_stick(law(rho), law(moved), epsilon))
    return found


@pytest.mark.parametrize("budget", [0.5, 2.0])
def test_the_exact_delta_is_at_most_what_is_claimed(budget: float) -> None:
    event = segments_of(budget, 1e-3, 2)
    assert pure_epsilon(event) > budget, "or δ would not matter"
    assert largest_delta(event, budget) <= 1e-3


def test_the_exact_delta_shows_broken_twins() -> None:
    event = segments_of(0.5, 1e-3, 2)
    small = segments_of(0.5, 1e-3, 2, change=CHANGE / 2.0)
    uncounted = dataclasses.replace(segments_of(0.5, 1e-3, 1), c=2)
    for twin in (quieter(event), small, uncounted):
        assert largest_delta(twin, 0.5) > 1e-3


def test_a_segment_s_own_claim_holds_and_is_nearly_reached() -> None:
    # What is composed; five rejections and an acceptance for each threshold.
    event = segments_of(1.0, 1e-6, 2)
    assert tight(event, 2 * segment_epsilon(event), np.tile(np.arange(6) == 5, 2))
