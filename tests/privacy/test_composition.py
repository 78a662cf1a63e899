"""Composition of pure answers: four accountants, each against a reference of its own."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

import numpy as np
import pytest
from autodp import rdp_bank
from autodp.mechanism_zoo import PureDP_Mechanism
from autodp.transformer_zoo import Composition
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

ALL = pytest.mark.parametrize("accountant", ACCOUNTANTS)
PIECES = pytest.mark.parametrize("per_query_epsilon", [0.01, 0.1, 1.0, 5.0])
COUNTS = pytest.mark.parametrize("count", [1, 2, 10, 300])

DELTA = 1e-5


def coins_delta(per_query_epsilon: float, count: int, total: float) -> float:
    """δ of ``count`` coins that lie with probability 1/(1 + e^ε), term by term."""
    honest, lie = (
        1.0 / (1.0 + math.exp(-per_query_epsilon)),
        1.0 / (1.0 + math.exp(per_query_epsilon)),
    )
    return math.fsum(
        math.comb(count, k)
        * max(
            honest**k * lie ** (count - k) - math.exp(total) * lie**k * honest ** (count - k),
            0.0,
        )
        for k in range(count + 1)
    )


@PIECES
@pytest.mark.parametrize("count", [1, 2, 5, 20])
@pytest.mark.parametrize("part", [0.0, 0.3, 0.9])
def test_the_optimal_delta_is_that_of_coins(
    per_query_epsilon: float, count: int, part: float
) -> None:
    expected = coins_delta(per_query_epsilon, count, part * count * per_query_epsilon)
    found = optimal_delta(per_query_epsilon, count, part * count * per_query_epsilon)
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


def test_the_theorem_of_advanced_composition() -> None:
    # [DR14] Theorem 3.20 with k = 100, ε = 0.1, δ = 1e-5.
    expected = 0.1 * math.sqrt(200 * math.log(1e5)) + 10.0 * math.expm1(0.1)
    assert epsilon(0.1, 100, 1e-5, "advanced") == pytest.approx(expected)
    assert epsilon(0.1, 100, 1e-5, "linear") == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("per_query_epsilon", "finite"), [(500.0, True), (700.0, False), (1000.0, False)]
)
def test_beyond_floating_point_advanced_composition_promises_nothing(
    per_query_epsilon: float, finite: bool
) -> None:
    assert math.isfinite(epsilon(per_query_epsilon, 1, DELTA, "advanced")) == finite


@PIECES
@COUNTS
def test_with_hardly_any_delta_the_optimum_is_the_sum(per_query_epsilon: float, count: int) -> None:
    assert epsilon(per_query_epsilon, count, 1e-300, "optimal") == count * per_query_epsilon


def test_a_delta_that_pays_for_all_leaves_no_epsilon() -> None:
    # Two coins of ε = 0.01 differ by less than 0.005 in total variation.
    assert epsilon(0.01, 2, 0.005, "optimal") == 0.0


@pytest.mark.parametrize(
    ("total", "delta"), [(499.0, 1.0 - math.exp(-1.0)), (400.0, 1.0), (0.0, 1.0)]
)
def test_a_coin_that_hardly_ever_lies(total: float, delta: float) -> None:
    assert optimal_delta(500.0, 1, total) == pytest.approx(delta, rel=1e-9)
    assert optimal_delta(1000.0, 1, 2.0 * total - 100.0) == pytest.approx(1.0, rel=1e-9)


def test_both_binomial_tails_are_rounded_to_the_safe_side() -> None:
    # One coin: δ = 1/(1 + e^-ε) - e^ε'/(1 + e^ε).
    honest = 1.0 / (1.0 + math.exp(-2.0))
    for total in (0.0, 1.0):
        paid = math.exp(total) * (1.0 - honest)
        allowed = optimal_delta(2.0, 1, total) - (honest - paid)
        assert allowed == pytest.approx(1e-10 * (honest + paid), rel=1e-4, abs=0.0)


@PIECES
def test_renyi_divergences_are_those_of_a_coin_and_autodps(per_query_epsilon: float) -> None:
    alpha = np.array([1.0 + 1e-3, 1.5, 2.0, 7.0, 50.0])
    honest = 1.0 / (1.0 + math.exp(-per_query_epsilon))
    coin = np.log(
        honest**alpha * (1 - honest) ** (1 - alpha) + (1 - honest) ** alpha * honest ** (1 - alpha)
    ) / (alpha - 1.0)
    assert renyi_pure(per_query_epsilon, alpha) == pytest.approx(coin, rel=1e-7)
    # autodp's differences of logarithms lose digits near α = 1.
    bank = [rdp_bank.RDP_pureDP({"eps": per_query_epsilon}, a) for a in alpha]
    assert (renyi_pure(per_query_epsilon, alpha) <= np.array(bank) * (1 + 1e-6)).all()


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


@pytest.mark.parametrize("count", [10, 300])
@pytest.mark.parametrize("per_query_epsilon", [0.1, 1.0])
def test_the_conversion_is_as_good_as_autodps(per_query_epsilon: float, count: int) -> None:
    composed = Composition()([PureDP_Mechanism(per_query_epsilon)], [count])
    autodp = min(float(composed.get_approxDP(DELTA)), count * per_query_epsilon)
    found = epsilon(per_query_epsilon, count, DELTA, "rdp")
    assert 0.95 * autodp <= found <= autodp * (1.0 + 1e-3)


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


@ALL
@COUNTS
@pytest.mark.parametrize("budget", [0.01, 1.0, 20.0])
def test_the_largest_piece_fits_and_a_larger_one_does_not(
    accountant: str, count: int, budget: float
) -> None:
    per_query_epsilon = largest_per_query_epsilon(budget, count, DELTA, accountant)
    assert epsilon(per_query_epsilon, count, DELTA, accountant) <= budget * (1.0 + 1e-12)
    assert epsilon(1.001 * per_query_epsilon, count, DELTA, accountant) > budget


def test_for_many_pieces_a_delta_saves_much() -> None:
    pieces = [10_000 * largest_per_query_epsilon(1.0, 10_000, DELTA, each) for each in ACCOUNTANTS]
    # linear, advanced, rdp, optimal
    assert pieces == sorted(pieces)
    assert pieces[0] == pytest.approx(1.0)
    assert pieces[1] > 20.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0, 10, DELTA, "guess"), "accountant = guess"),
        ((1.0, 0, DELTA, "linear"), "count = 0"),
        ((1.0, 10, 0.0, "rdp"), "delta = 0.0"),
        ((1.0, 10, 1.0, "optimal"), "delta = 1.0"),
        ((0.0, 10, DELTA, "rdp"), "epsilon_total = 0.0"),
        ((math.inf, 10, DELTA, "linear"), "epsilon_total = inf"),
    ],
)
def test_what_is_out_of_range_is_an_error(
    arguments: tuple[float, int, float, str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        largest_per_query_epsilon(*arguments)
