"""Composition of pure answers: four accountants, each against its own reference."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdp_core.privacy.composition import (
    ACCOUNTANTS,
    epsilon,
    from_renyi,
    largest_per_query_epsilon,
    optimal_delta,
    renyi_pure,
)

PIECES = pytest.mark.parametrize("per_query_epsilon", [0.01, 0.1, 1.0, 5.0])
COUNTS = pytest.mark.parametrize("count", [1, 2, 10, 300])

DELTA = 1e-5


def coins_delta(per_query_epsilon: float, count: int, total: float) -> float:
    """δ of ``count`` coins that lie with probability 1/(1 + e^ε), term by term."""
    lie = 1.0 / (1.0 + math.exp(per_query_epsilon))
    honest = 1.0 / (1.0 + math.exp(-per_query_epsilon))

    def excess(k: int) -> float:
        one, other = honest**k * lie ** (count - k), lie**k * honest ** (count - k)
        return math.comb(count, k) * max(one - math.exp(total) * other, 0.0)

    return math.fsum(map(excess, range(count + 1)))


@PIECES
@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_the_optimal_delta_is_that_of_coins(per_query_epsilon: float, count: int) -> None:
    for part in (0.0, 0.3, 0.9):
        total = part * count * per_query_epsilon
        expected = coins_delta(per_query_epsilon, count, total)
        found = optimal_delta(per_query_epsilon, count, total)
        assert expected <= found + 1e-14
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)


@PIECES
@COUNTS
def test_no_accountant_beats_the_optimal_one(per_query_epsilon: float, count: int) -> None:
    best = epsilon(per_query_epsilon, count, DELTA, "optimal")
    for accountant in ACCOUNTANTS:
        # The optimal one rounds its binomial tails up.
        assert epsilon(per_query_epsilon, count, DELTA, accountant) >= best * (1.0 - 1e-7)
    assert optimal_delta(per_query_epsilon, count, best) <= DELTA
    # With hardly any δ the optimum is the sum.
    assert epsilon(per_query_epsilon, count, 1e-300, "optimal") == count * per_query_epsilon


def test_the_theorem_of_advanced_composition() -> None:
    # [DR14] Theorem 3.20 with k = 100, ε = 0.1, δ = 1e-5.
    expected = 0.1 * math.sqrt(200 * math.log(1e5)) + 10.0 * math.expm1(0.1)
    assert epsilon(0.1, 100, 1e-5, "advanced") == pytest.approx(expected)
    assert epsilon(0.1, 100, 1e-5, "linear") == pytest.approx(10.0)


@pytest.mark.parametrize("per_query_epsilon", [1e-4, 0.01, 1.0, 50.0, 1000.0])
def test_renyi_divergences_keep_their_digits_near_order_1(per_query_epsilon: float) -> None:
    for order in (1.000001, 1.001, 2.0, 1e6):
        with decimal.localcontext(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN):
            alpha, exact = Decimal(order), Decimal(per_query_epsilon)
            ratio = ((alpha * exact).exp() + ((1 - alpha) * exact).exp()) / (1 + exact.exp())
            expected = min(float(ratio.ln() / (alpha - 1)), per_query_epsilon)
        assert renyi_pure(per_query_epsilon, np.array([order]))[0] == pytest.approx(
            expected, rel=1e-9, abs=0.0
        )


@given(st.floats(1e-3, 20.0), st.floats(1e-12, 0.1))
def test_a_conversion_of_gaussian_divergences_is_at_the_best_of_all_orders(
    mu: float, delta: float
) -> None:
    def converted(alpha: float) -> float:
        loss = math.log1p(-1.0 / alpha) - math.log(delta * alpha) / (alpha - 1.0)
        return alpha * mu**2 / 2.0 + loss

    found = from_renyi(lambda alpha: alpha * mu**2 / 2.0, delta)
    best = max(min(converted(1.0 + 10.0 ** (k / 500.0)) for k in range(-1500, 3000)), 0.0)
    assert found == pytest.approx(best, rel=1e-4, abs=1e-9)
    # Any order is a bound, also where the best one is at an end.
    assert 0.0 <= from_renyi(lambda alpha: 0.0 * alpha, 1e-6) < 1e-3
    assert from_renyi(lambda alpha: 1e12 * alpha, 1e-6) >= 1e12


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
@COUNTS
def test_the_largest_piece_fits_and_a_larger_one_does_not(accountant: str, count: int) -> None:
    for budget in (0.01, 1.0, 20.0):
        per_query_epsilon = largest_per_query_epsilon(budget, count, DELTA, accountant)
        assert epsilon(per_query_epsilon, count, DELTA, accountant) <= budget * (1.0 + 1e-12)
        assert epsilon(1.001 * per_query_epsilon, count, DELTA, accountant) > budget
