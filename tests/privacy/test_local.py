"""Noise of one bounded answer: calibration and cost against rational arithmetic and quadrature."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special

from abcdp_core.privacy import Gaussian, Laplace, cost
from abcdp_core.privacy.local import (
    gaussian_delta,
    gaussian_unit_scale,
    laplace_unit_scale,
)
from tests.oracles import gaussian as oracle

BELOW = Fraction(1) - Fraction(1, 10**12)
"""A calibrated noise may leave this much of its budget unused."""

NOISE = 2e-14
"""Where δ is tiny, its terms are rounded by so much that ε may be told by so much too large."""

budgets = st.floats(1e-3, 1e3)
sensitivities = st.floats(1e-6, 1e6)
deltas = st.floats(1e-12, 0.5)


def hockey_stick(mu: float, epsilon: float) -> float:
    """∫ (φ(x − μ) − e^ε φ(x))₊ dx: δ by its definition; positive above one point."""

    def excess(x: float) -> float:
        return math.exp(-0.5 * (x - mu) ** 2) - math.exp(epsilon - 0.5 * x**2)

    start = epsilon / mu + mu / 2.0
    end = max(start, mu) + 12.0
    edges = [start, *(e for e in (mu, start + 1.0, start + 4.0) if start < e < end), end]
    edges.sort()
    parts = (
        integrate.quad(excess, low, high, epsabs=0.0, epsrel=1e-12)[0]
        for low, high in itertools.pairwise(edges)
    )
    return math.fsum(parts) / math.sqrt(2.0 * math.pi)


# -------------------------------------------------------------------------------------- Laplace


@given(sensitivities, sensitivities)
def test_laplace_costs_sensitivity_over_scale_rounded_up(sensitivity: float, scale: float) -> None:
    found = cost(Laplace(sensitivity, scale)).epsilon
    exact = Fraction(sensitivity) / Fraction(scale)
    assert exact <= Fraction(found) <= exact * (1 + Fraction(1, 2**52))
    assert cost(Laplace(sensitivity, scale)).delta == 0.0


@given(budgets)
def test_a_calibrated_laplace_scale_costs_at_most_the_budget_and_hardly_less(budget: float) -> None:
    scale = laplace_unit_scale(budget)
    exact = 1 / Fraction(scale)
    assert Fraction(budget) * BELOW <= exact <= Fraction(budget)
    assert exact <= Fraction(cost(Laplace(1.0, scale)).epsilon) <= Fraction(budget)


@given(budgets)
def test_a_scale_taken_for_a_standard_deviation_costs_root_2_as_much(budget: float) -> None:
    # A generator that is given a standard deviation makes noise of that over √2 (MATH A11).
    published = Laplace(1.0, laplace_unit_scale(budget) / math.sqrt(2.0))
    assert cost(published).epsilon == pytest.approx(math.sqrt(2.0) * budget, rel=1e-12)


# ------------------------------------------------------------------------------------- Gaussian


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.5, 1.0, 4.0, 20.0, 100.0])
def test_gaussian_delta_is_the_hockey_stick_rounded_up(mu: float, epsilon: float) -> None:
    found, expected = gaussian_delta(mu, epsilon), hockey_stick(mu, epsilon)
    # What may be lost is relative to the first of two terms that cancel.
    first = float(special.ndtr(mu / 2.0 - epsilon / mu))
    assert abs(found - expected) <= 1e-11 * expected + 1e-13 * first


CASES = [
    (budget, delta)
    for budget in (0.001, 0.03, 0.7, 1.0, 2.5, 8.0, 30.0, 110.6, 328.2, 441.0, 999.0)
    for delta in (3e-12, 1e-9, 1e-6, 1e-3, 0.3)
]


@pytest.mark.parametrize(("budget", "delta"), CASES)
def test_no_delta_is_below_that_of_40_digits_nor_far_above(budget: float, delta: float) -> None:
    scale = gaussian_unit_scale(budget, delta)
    for mu in (1.0 / scale, 1.0 / (scale * 1.1)):
        exact, found = oracle.delta(budget, mu), Decimal(gaussian_delta(mu, budget))
        first = Decimal(special.ndtr(mu / 2.0 - budget / mu))
        assert exact <= found <= exact + Decimal(1e-14 * (8.0 + budget)) * first
    # However the quotient is rounded, here of another sensitivity.
    assert oracle.delta(budget, 0.3, 0.3 * scale) <= Decimal(delta)


def test_without_the_allowance_some_deltas_would_be_too_small() -> None:
    def plain(mu: float, epsilon: float) -> Decimal:
        first = math.exp(special.log_ndtr(mu / 2 - epsilon / mu))
        return Decimal(first - math.exp(epsilon + special.log_ndtr(-mu / 2 - epsilon / mu)))

    mus = [(1.0 / gaussian_unit_scale(budget, delta), budget) for budget, delta in CASES]
    assert any(plain(mu, budget) < oracle.delta(budget, mu) for mu, budget in mus)


@given(budgets, deltas)
def test_a_calibrated_gaussian_keeps_its_delta_and_hardly_more(budget: float, delta: float) -> None:
    scale = gaussian_unit_scale(budget, delta)
    assert gaussian_delta(1.0 / scale, budget) <= delta
    # As above: δ is a difference, known only up to what the first of two terms is rounded by.
    first = float(special.ndtr(0.5 / scale - budget * scale))
    less = 1.0 - 1e-12 - 1e-13 * first / delta
    assert gaussian_delta(1.0 / (scale * less), budget) > delta


@pytest.mark.parametrize("budget", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("factor", [0.5, 1.0 / math.sqrt(2.0), 0.99])
def test_less_gaussian_noise_costs_more(budget: float, factor: float) -> None:
    scale = gaussian_unit_scale(budget, 1e-5)
    assert gaussian_delta(1.0 / (factor * scale), budget) > 1e-5
    assert cost(Gaussian(1.0, factor * scale), 1e-5).epsilon > 1.009 * budget
