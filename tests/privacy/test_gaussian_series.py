"""Three accountants of one series of Gaussian releases, each against a reference of its own."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdp_core.privacy import GaussianSeries, cost, statement
from abcdp_core.privacy.gaussian_series import (
    ACCOUNTANTS,
    calibrate,
    epsilon,
    joint_mu,
)

ALL = pytest.mark.parametrize("accountant", ACCOUNTANTS)

PAPER = GaussianSeries(1.0, 10.0, 1000)
"""μ = √1000 / 10."""


def classic_by_search(mu: float, delta: float) -> float:
    """Mironov's conversion at the best of many orders."""
    orders = (1.0 + 10.0 ** (k / 2000.0) for k in range(-8000, 12_001))
    return min(a * mu**2 / 2.0 + math.log(1.0 / delta) / (a - 1.0) for a in orders)


def tight_by_search(mu: float, delta: float) -> float:
    """The tighter conversion (Balle et al., 2020, Theorem 21) at the best of many orders."""
    orders = (1.0 + 10.0 ** (k / 2000.0) for k in range(-8000, 12_001))
    return min(
        a * mu**2 / 2.0 + math.log1p(-1.0 / a) - math.log(delta * a) / (a - 1.0) for a in orders
    )


# --------------------------------------------------------------------------------- check values


@pytest.mark.parametrize(
    ("accountant", "expected"), [("rdp-classic", 18.572), ("rdp", 17.374), ("exact", 16.103)]
)
def test_check_values_of_the_cost(accountant: str, expected: float) -> None:
    # MATH W2, δ = 1e-4.
    assert epsilon(PAPER, 1e-4, accountant) == pytest.approx(expected, abs=6e-4)


# ------------------------------------------------------------------------ each by its reference


@pytest.mark.parametrize("mu", [0.01, 0.3, 3.0, 30.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-4, 0.01])
def test_rdp_conversions_are_the_best_of_all_orders(mu: float, delta: float) -> None:
    event = GaussianSeries(mu, 1.0, 1)
    classic = classic_by_search(mu, delta)
    assert epsilon(event, delta, "rdp-classic") == pytest.approx(classic, rel=1e-5)
    tight = max(0.0, tight_by_search(mu, delta))
    assert epsilon(event, delta, "rdp") == pytest.approx(tight, rel=1e-5)


def test_folders_beside_this_one_stay_off_the_path() -> None:
    # In a process of its own: whoever imports autodp first is the one whose path it changes.
    code = (
        "import sys; from abcdp_core.privacy import GaussianSeries, gaussian_series as g; "
        "g.epsilon(GaussianSeries(1.0, 5.0, 1), 1e-4, 'rdp'); print('..' in sys.path)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_autodp_says_the_same_of_all_three() -> None:
    from autodp import rdp_acct, rdp_bank
    from autodp.mechanism_zoo import ExactGaussianMechanism, GaussianMechanism
    from autodp.transformer_zoo import ComposeGaussian, Composition

    accountant = rdp_acct.anaRDPacct()
    accountant.compose_mechanism(lambda a: rdp_bank.RDP_gaussian({"sigma": 10.0}, a), coeff=1000)
    composed = Composition()([GaussianMechanism(sigma=10.0)], [1000])
    exact = ComposeGaussian()([ExactGaussianMechanism(sigma=10.0)], [1000])
    theirs = {
        "rdp-classic": accountant.get_eps(1e-4),
        "rdp": composed.get_approxDP(1e-4),
        "exact": exact.get_approxDP(1e-4),
    }
    for name, expected in theirs.items():
        assert epsilon(PAPER, 1e-4, name) == pytest.approx(float(expected), rel=1e-4)


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


# ---------------------------------------------------------------------------------- calibration


@ALL
@pytest.mark.parametrize("budget", [0.001, 0.1, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-4])
def test_calibration_costs_at_most_the_budget_and_hardly_less(
    accountant: str, budget: float, delta: float
) -> None:
    for steps, sensitivity in ((1, 3.0), (10_000, 0.07)):
        event = calibrate(budget, delta, steps, sensitivity, accountant)
        assert (event.sensitivity, event.steps) == (sensitivity, steps)
        assert budget * (1.0 - 1e-11) <= epsilon(event, delta, accountant) <= budget
        assert cost(event, delta).epsilon <= budget


@ALL
@pytest.mark.parametrize("factor", [0.5, 1.0 / math.sqrt(2.0), 0.99])
def test_less_noise_costs_more(accountant: str, factor: float) -> None:
    event = calibrate(1.0, 1e-4, 1000, 0.02, accountant)
    less = GaussianSeries(0.02, factor * event.scale, 1000)
    assert epsilon(less, 1e-4, accountant) > 1.009


@ALL
def test_without_noise_or_without_delta_there_is_no_guarantee(accountant: str) -> None:
    assert epsilon(GaussianSeries(1.0, 0.0, 5), 1e-4, accountant) == math.inf
    assert epsilon(PAPER, 0.0, accountant) == math.inf
    assert epsilon(PAPER, 1.0, accountant) == 0.0
    assert statement(PAPER, "one point").startswith("Not private")
