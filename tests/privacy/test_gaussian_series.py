"""Gaussian noise: one answer by quadrature and to 40 digits, a series by three accountants."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special

from abcdp_core.privacy import Gaussian, GaussianSeries, cost
from abcdp_core.privacy.gaussian_series import (
    ACCOUNTANTS,
    epsilon,
    gaussian_delta,
    gaussian_unit_scale,
    joint_mu,
)
from tests.oracles import gaussian as oracle

PAPER = GaussianSeries(1.0, 10.0, 1000)
"""μ = √1000 / 10."""


def by_search(mu: float, delta: float) -> tuple[float, float]:
    """Mironov's conversion and a tighter one (Balle et al., 2020) at the best of many orders."""
    beyond = 10.0 ** (np.arange(-8000, 12_001) / 2000.0)
    renyi, alpha = (1.0 + beyond) * mu**2 / 2.0, 1.0 + beyond
    classic = renyi - math.log(delta) / beyond
    tight = renyi + np.log1p(-1.0 / alpha) - np.log(delta * alpha) / beyond
    return float(classic.min()), max(0.0, float(tight.min()))


# ------------------------------------------------------------------------ each by its reference


def test_check_values_of_the_cost() -> None:
    # MATH W2, δ = 1e-4.
    for accountant, expected in {"rdp-classic": 18.572, "rdp": 17.374, "exact": 16.103}.items():
        assert epsilon(PAPER, 1e-4, accountant) == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize("mu", [0.01, 0.3, 3.0, 30.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-4, 0.01])
def test_rdp_conversions_are_the_best_of_all_orders(mu: float, delta: float) -> None:
    event, (classic, tight) = GaussianSeries(mu, 1.0, 1), by_search(mu, delta)
    assert epsilon(event, delta, "rdp-classic") == pytest.approx(classic, rel=1e-5)
    assert epsilon(event, delta, "rdp") == pytest.approx(tight, rel=1e-5)


@pytest.mark.slow
def test_the_import_of_autodp_leaves_the_path_alone() -> None:
    # In a new process: autodp changes the path only when it is first imported.
    code = (
        "import sys; from abcdp_core.privacy import GaussianSeries, gaussian_series as g; "
        "g.epsilon(GaussianSeries(1.0, 5.0, 1), 1e-4, 'rdp'); print('..' in sys.path)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


@given(st.floats(1e-3, 100.0), st.floats(1e-12, 0.01))
def test_none_claims_less_than_what_it_costs(mu: float, delta: float) -> None:
    event = GaussianSeries(mu, 1.0, 1)
    exact, tight, classic = (epsilon(event, delta, each) for each in reversed(ACCOUNTANTS))
    assert exact <= tight * (1.0 + 1e-12) <= classic * (1.0 + 1e-9)


# ---------------------------------------------------------------------------------- one release


@given(st.floats(1e-6, 1e3), st.floats(1e-6, 1e3), st.integers(1, 100_000))
def test_a_series_is_one_release_of_joint_sensitivity_rounded_up(
    sensitivity: float, scale: float, steps: int
) -> None:
    event = GaussianSeries(sensitivity, scale, steps)
    found = Fraction(joint_mu(event)) ** 2
    squared = steps * Fraction(sensitivity) ** 2 / Fraction(scale) ** 2
    assert squared <= found <= squared * (1 + Fraction(1, 2**49))


def test_without_noise_or_delta_there_is_no_guarantee() -> None:
    for accountant in ACCOUNTANTS:
        assert epsilon(GaussianSeries(1.0, 0.0, 5), 1e-4, accountant) == math.inf
        assert epsilon(PAPER, 0.0, accountant) == math.inf
        assert epsilon(PAPER, 1.0, accountant) == 0.0


# ----------------------------------------------------------------------------------- one answer


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 3.0, 10.0])
def test_gaussian_delta_is_the_hockey_stick(mu: float) -> None:
    """∫ (φ(x − μ) − e^ε φ(x))₊ dx: δ by its definition; the integrand is positive above a point."""
    for at in (0.0, 0.01, 0.5, 1.0, 4.0, 20.0, 100.0):

        def excess(x: float, at: float = at) -> float:
            return math.exp(-0.5 * (x - mu) ** 2) - math.exp(at - 0.5 * x**2)

        start = at / mu + mu / 2.0
        edges = [start, max(start, mu), max(start, mu) + 2.0, max(start, mu) + 12.0]
        parts = (
            integrate.quad(excess, low, high, epsabs=0.0, epsrel=1e-12)[0]
            for low, high in itertools.pairwise(edges)
        )
        expected = math.fsum(parts) / math.sqrt(2.0 * math.pi)
        # What may be lost is relative to the first of two terms that cancel.
        first = float(special.ndtr(mu / 2.0 - at / mu))
        assert abs(gaussian_delta(mu, at) - expected) <= 1e-11 * expected + 1e-13 * first


BUDGETS = (0.001, 0.03, 0.7, 1.0, 2.5, 8.0, 30.0, 110.6, 328.2)
DELTAS = (3e-12, 1e-9, 1e-6, 1e-3, 0.3)


@pytest.mark.parametrize("budget", BUDGETS)
def test_no_delta_is_below_that_of_40_digits_nor_far_above(budget: float) -> None:
    for delta in DELTAS:
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

    cases = itertools.product(BUDGETS, DELTAS)
    mus = [(1.0 / gaussian_unit_scale(budget, delta), budget) for budget, delta in cases]
    assert any(plain(mu, budget) < oracle.delta(budget, mu) for mu, budget in mus)


@given(st.floats(1e-3, 1e3), st.floats(1e-12, 0.5))
def test_a_calibrated_gaussian_keeps_its_delta_and_hardly_more(budget: float, delta: float) -> None:
    scale = gaussian_unit_scale(budget, delta)
    assert gaussian_delta(1.0 / scale, budget) <= delta
    # As above: δ is a difference, known only up to what the first of two terms is rounded by.
    first = float(special.ndtr(0.5 / scale - budget * scale))
    less = 1.0 - 1e-12 - 1e-13 * first / delta
    assert gaussian_delta(1.0 / (scale * less), budget) > delta


@pytest.mark.parametrize("factor", [0.5, 1.0 / math.sqrt(2.0), 0.99])
def test_less_gaussian_noise_costs_more(factor: float) -> None:
    for budget in (0.1, 1.0, 10.0):
        scale = factor * gaussian_unit_scale(budget, 1e-5)
        assert cost(Gaussian(1.0, scale), 1e-5).epsilon > 1.009 * budget
