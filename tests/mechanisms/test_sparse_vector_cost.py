from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from abcdp_core.mechanisms.sparse_vector import (
    SparseVector,
    best_threshold_share,
    calibrate,
    pure_epsilon,
)
from abcdp_core.privacy import Event, NonPrivate, cost, noise_in_words, statement
from tests.oracles.outcomes import Pattern
from tests.oracles.sparse_vector import largest_loss

BOTH = pytest.mark.parametrize("resample", [False, True])

budgets = st.floats(1e-3, 1e3)
sensitivities = st.floats(1e-6, 10.0)
acceptances = st.integers(1, 1000)
shares = st.none() | st.floats(0.001, 0.999)


def theorem_1(event: SparseVector) -> Fraction:
    """ε_total of an event in rational arithmetic (MATH S3), written out once more."""
    delta, b1, b2 = map(Fraction, (event.sensitivity, event.threshold_scale, event.query_scale))
    if event.resample:
        return event.c * (delta / b1 + 2 * delta / b2)
    return delta / b1 + 2 * event.c * delta / b2


@given(budgets, sensitivities, acceptances, st.booleans(), shares)
def test_calibration_costs_at_most_the_budget_and_hardly_less(
    budget: float, sensitivity: float, c: int, resample: bool, share: float | None
) -> None:
    event = calibrate(budget, sensitivity, c, resample=resample, threshold_share=share)
    assert (event.sensitivity, event.c, event.resample) == (sensitivity, c, resample)
    exact = theorem_1(event)
    assert Fraction(budget) * (1 - Fraction(1, 10**12)) <= exact <= Fraction(budget)
    assert exact <= Fraction(pure_epsilon(event)) <= Fraction(budget)
    assert cost(event).epsilon == pure_epsilon(event)
    assert cost(event).delta == 0.0


@given(budgets, sensitivities, acceptances)
def test_the_papers_split_is_theorem_1(budget: float, sensitivity: float, c: int) -> None:
    kept = calibrate(budget, sensitivity, c, resample=False)
    assert kept.threshold_scale == pytest.approx((c + 1) * sensitivity / budget, rel=1e-12, abs=0.0)
    redrawn = calibrate(budget, sensitivity, c, resample=True)
    assert redrawn.threshold_scale == pytest.approx(
        2 * c * sensitivity / budget, rel=1e-12, abs=0.0
    )
    for event in (kept, redrawn):
        assert event.query_scale == pytest.approx(2 * event.threshold_scale, rel=1e-12, abs=0.0)


def test_the_papers_example() -> None:
    # MATH F2: N = 100, c = 10, ε_total = 10, Δ = 2/N.
    assert calibrate(10.0, 0.02, 10, resample=True).threshold_scale == pytest.approx(0.04)


@BOTH
@pytest.mark.parametrize("c", [1, 2, 10, 1000])
def test_the_best_split_has_the_least_variance(resample: bool, c: int) -> None:
    def variance(share: float) -> float:
        event = calibrate(1.0, 1.0, c, resample=resample, threshold_share=share)
        return event.threshold_scale**2 + event.query_scale**2

    found = optimize.minimize_scalar(variance, bounds=(1e-6, 1 - 1e-6), method="bounded")
    best = best_threshold_share(c, resample=resample)
    assert variance(best) <= found.fun * (1 + 1e-9)
    assert best == pytest.approx(found.x, abs=1e-4)
    ours, papers = (
        calibrate(1.0, 1.0, c, resample=resample, threshold_share=s) for s in (best, None)
    )
    assert ours.query_scale**2 + ours.threshold_scale**2 <= (
        papers.query_scale**2 + papers.threshold_scale**2
    )


@pytest.mark.parametrize("budget", [0.0, -1.0, math.inf, math.nan])
def test_no_calibration_to_what_is_no_budget(budget: float) -> None:
    with pytest.raises(ValueError, match="positive finite budget"):
        calibrate(budget, 0.1, 1, resample=False)


@pytest.mark.parametrize(
    ("sensitivity", "c", "share"),
    [(0.0, 1, None), (math.nan, 1, None), (0.1, 0, None), (0.1, 1, 0.0), (0.1, 1, 1.0)],
)
def test_no_calibration_to_what_is_out_of_range(
    sensitivity: float, c: int, share: float | None
) -> None:
    with pytest.raises(ValueError, match=r"calibration needs|threshold_share ="):
        calibrate(1.0, sensitivity, c, resample=False, threshold_share=share)


@BOTH
def test_without_noise_there_is_no_guarantee(resample: bool) -> None:
    for b1, b2 in ((0.0, 1.0), (1.0, 0.0)):
        event = SparseVector(1.0, b1, b2, 1, resample)
        assert pure_epsilon(event) == math.inf
        assert statement(event, "one point").startswith("Not private")
    assert cost(NonPrivate()).epsilon == math.inf
    assert statement(NonPrivate(), "one person") == "Not private: no noise protects one person."


def test_a_statement_names_kind_number_and_who_is_protected() -> None:
    event = calibrate(0.5, 0.01, 3, resample=True)
    words = statement(event, "one of the N points")
    for word in ("one of the N points", "pure differential privacy", "ε_total = 0.5", "replaced"):
        assert word in words


def test_the_noise_in_words_names_scales_and_sensitivity() -> None:
    words = noise_in_words(calibrate(1.0, 0.01, 3, resample=False))
    assert words == (
        "Laplace, scale b = 0.04 on the threshold (drawn once) and 0.08 on each distance; Δ = 0.01"
    )
    again = noise_in_words(calibrate(1.0, 0.01, 3, resample=True))
    assert "(drawn anew after each acceptance)" in again
    assert noise_in_words(NonPrivate()) == ""


def test_an_event_nobody_can_account_for_is_an_error() -> None:
    class Unknown(Event):
        pass

    with pytest.raises(TypeError, match=r"no accountant for .*Unknown"):
        cost(Unknown())


# ------------------------------------------------------- the claim against the exact loss (layer 1)


def tight(event: SparseVector, claim: float, pattern: Pattern) -> bool:
    """Whether the exact loss is at most the claim and at least 0.95 of it."""
    return 0.95 * claim <= largest_loss(event, pattern) <= claim * (1 + 1e-9)


def scaled(event: SparseVector, factor: float) -> SparseVector:
    """The same run with other noise than it claims."""
    b1, b2 = event.threshold_scale * factor, event.query_scale * factor
    return SparseVector(event.sensitivity, b1, b2, event.c, event.resample)


NINE_REJECTIONS = np.arange(10) == 9


@BOTH
@pytest.mark.parametrize("budget", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("share", [None, 0.3])
def test_the_claim_holds_and_is_nearly_reached(
    resample: bool, budget: float, share: float | None
) -> None:
    event = calibrate(budget, 0.02, 1, resample=resample, threshold_share=share)
    assert tight(event, pure_epsilon(event), NINE_REJECTIONS)


@BOTH
@pytest.mark.parametrize("factor", [0.5, 0.9, 1.1, 2.0])
def test_too_little_and_too_much_noise_are_both_seen(resample: bool, factor: float) -> None:
    event = calibrate(1.0, 0.02, 1, resample=resample)
    assert not tight(scaled(event, factor), pure_epsilon(event), NINE_REJECTIONS)


@BOTH
@pytest.mark.parametrize("part", ["threshold", "query"])
def test_half_the_noise_of_one_kind_is_seen(resample: bool, part: str) -> None:
    event = calibrate(1.0, 0.02, 1, resample=resample)
    b1 = event.threshold_scale / (2 if part == "threshold" else 1)
    b2 = event.query_scale / (2 if part == "query" else 1)
    broken = SparseVector(event.sensitivity, b1, b2, 1, resample)
    assert not tight(broken, pure_epsilon(event), NINE_REJECTIONS)


@pytest.mark.parametrize("c", [2, 3])
def test_further_acceptances_cost_what_is_claimed(c: int) -> None:
    # Kept threshold: enough rejections, then all acceptances. Redrawn: the same once per threshold.
    kept = calibrate(1.0, 0.02, c, resample=False)
    assert tight(kept, pure_epsilon(kept), np.arange(10 + c) >= 10)
    redrawn = calibrate(1.0, 0.02, c, resample=True)
    assert tight(redrawn, pure_epsilon(redrawn), np.tile(np.arange(6) == 5, c))


def test_redrawing_at_the_price_of_keeping_would_be_seen() -> None:
    kept = calibrate(1.0, 0.02, 3, resample=False)
    cheat = SparseVector(0.02, kept.threshold_scale, kept.query_scale, 3, resample=True)
    assert largest_loss(cheat, np.tile(np.arange(6) == 5, 3)) > 1.3
