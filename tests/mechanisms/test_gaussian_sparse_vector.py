"""Gaussian sparse vector: the bound against exact outcome laws of short runs (layer 1)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from autodp import rdp_bank
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate, special

from abcdp_core.mechanisms.gaussian_sparse_vector import (
    ACCOUNTANTS,
    GaussianSparseVector,
    calibrate,
    epsilon,
    log_delta,
)
from abcdp_core.privacy import Gaussian, cost
from abcdp_core.privacy.local import gaussian_delta, gaussian_epsilon
from tests.oracles.gaussian_sparse_vector import log_probability
from tests.oracles.outcomes import patterns

Array = NDArray[np.float64]

ALL = pytest.mark.parametrize("accountant", ACCOUNTANTS)
BOTH = pytest.mark.parametrize("resample", [False, True])

DELTA = 1e-4


def law(rho: Array, event: GaussianSparseVector) -> Array:
    """Logarithms of the exact probabilities of all outcomes of a run."""
    outcomes = patterns(len(rho), event.c)
    return np.array([log_probability(pattern, rho, 0.0, event) for pattern in outcomes])


def worst_laws(event: GaussianSparseVector, places: list[tuple[float, float]]) -> list[Array]:
    """Pairs of laws ``(2, k)``: all moves by ±Δ, the draws of either sign at every place."""
    found = []
    for signs in itertools.product([-1.0, 1.0], repeat=event.steps):
        moves = np.array(signs)
        for falling, growing in places:
            rho = np.where(moves < 0, falling, growing) * event.threshold_scale
            found.append(np.array([law(rho, event), law(rho + event.sensitivity * moves, event)]))
    return found


def exact_delta(laws: list[Array], at: float) -> float:
    return max(
        float(np.sum(np.maximum(np.exp(one) - math.exp(at) * np.exp(other), 0.0)))
        for pair in laws
        for one, other in (pair, pair[::-1])
    )


def exact_renyi(laws: list[Array], alpha: float) -> float:
    return max(
        float(special.logsumexp(alpha * one + (1.0 - alpha) * other)) / (alpha - 1.0)
        for pair in laws
        for one, other in (pair, pair[::-1])
    )


# ------------------------------------------------------------------------- exact probabilities


@pytest.mark.parametrize("seed", range(8))
def test_one_threshold_against_adaptive_quadrature(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps = int(rng.integers(1, 9))
    pattern, rho = rng.random(steps) < 0.4, rng.normal(size=steps)
    b1, b2 = 10.0 ** rng.uniform(-1.0, 1.0, 2)
    event = GaussianSparseVector(1.0, b1, b2, steps + 1, False, steps)

    def integrand(m: float) -> float:
        above = (m - rho + 0.3) / b2
        decisions = special.ndtr(np.where(pattern, above, -above)).prod()
        return float(decisions) * math.exp(-0.5 * (m / b1) ** 2)

    edges = np.unique(np.append(np.linspace(-9.0, 9.0, 7) * b1, rho - 0.3))
    expected = math.fsum(
        integrate.quad(integrand, low, high, epsabs=0.0, epsrel=1e-11, limit=200)[0]
        for low, high in itertools.pairwise(edges)
    ) / (b1 * math.sqrt(2.0 * math.pi))
    assert log_probability(pattern, rho, 0.3, event) == pytest.approx(math.log(expected), abs=1e-9)


@BOTH
@pytest.mark.parametrize("b", [0.01, 50.0])
def test_the_outcomes_exclude_each_other_and_leave_nothing_out(resample: bool, b: float) -> None:
    event = GaussianSparseVector(1.0, b, 2.0 * b, 2, resample, 5)
    total = np.exp(law(np.array([0.3, -1.0, 0.0, 2.0, 0.1]), event)).sum()
    assert total == pytest.approx(1.0, abs=1e-12)


# ------------------------------------------------------- the claim against the exact divergences

PLACES = [(0.0, 0.0), (0.5, 0.5), (2.0, -0.5), (-2.0, 1.0), (3.0, 3.0)]

CASES = pytest.mark.parametrize(
    ("c", "resample", "steps"), [(1, False, 4), (2, False, 4), (2, True, 4), (3, False, 3)]
)


@CASES
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_no_short_run_leaks_more_than_the_bounds(
    c: int, resample: bool, steps: int, scale: float
) -> None:
    event = GaussianSparseVector(1.0, scale, 2.0 * scale, c, resample, steps)
    laws = worst_laws(event, PLACES)
    for at in (0.0, 0.3, 1.0, 3.0):
        assert exact_delta(laws, at) <= math.exp(log_delta(event, at)) * (1.0 + 1e-9)
    thresholds = c if resample else 1
    half_mu_squared = (thresholds + c) / (2.0 * scale**2)
    for alpha in (1.5, 2.0, 8.0, 32.0):
        count = math.log(math.comb(steps, c)) / (alpha - 1.0)
        assert exact_renyi(laws, alpha) <= alpha * half_mu_squared + count


def test_half_the_noise_is_seen_in_the_exact_delta() -> None:
    # The run claims what it would cost with four times the noise; exact δ is above the claim.
    event = GaussianSparseVector(1.0, 1.0, 2.0, 1, False, 3)
    claimed = GaussianSparseVector(1.0, 4.0, 8.0, 1, False, 3)
    laws = worst_laws(event, PLACES)
    assert exact_delta(laws, 0.5) > math.exp(log_delta(claimed, 0.5))
    # A single draw at which all is known: the bound is that of one Gaussian answer, within the
    # part that the threshold's own noise takes.
    single = GaussianSparseVector(1.0, 1e-6, 2.0, 1, False, 1)
    exact = exact_delta(worst_laws(single, [(0.0, 0.0)]), 0.0)
    assert 0.9 * math.exp(log_delta(single, 0.0)) < 0.4 < 2.1 * exact
    assert exact > 0.9 * math.exp(log_delta(GaussianSparseVector(1.0, 1e-6, 4.0, 1, False, 1), 0.0))


def test_autodps_divergence_lacks_a_proof_and_is_negative_for_short_runs() -> None:
    def autodp(event: GaussianSparseVector, alpha: float) -> float:
        relative = {"sigma": event.threshold_scale, "k": event.steps, "c": event.c}
        return float(rdp_bank.RDP_gaussian_svt_cgreater1(relative, alpha))

    # autodp has c ln(T/c) where the proof needs ln C(T, c).
    long = GaussianSparseVector(1.0, 3.0, 6.0, 2, False, 4)
    assert 2.0 * math.log(4 / 2) < math.log(math.comb(4, 2))
    assert 0.1 * autodp(long, 8.0) < exact_renyi(worst_laws(long, PLACES), 8.0)
    short = GaussianSparseVector(1.0, 4.0, 8.0, 3, False, 1)
    assert autodp(short, 2.0) < -3.0
    assert exact_renyi(worst_laws(short, PLACES), 2.0) > 0.0
    assert epsilon(short, DELTA, "rdp") > 0.0


# ---------------------------------------------------------------------------------------- costs


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 5.0])
def test_a_single_draw_is_a_gaussian_answer(mu: float) -> None:
    event = GaussianSparseVector(2.0 * mu, 1.0, 2.0, 1, False, 1)
    expected = gaussian_epsilon(Gaussian(2.0 * mu, 2.0), DELTA)
    assert epsilon(event, DELTA) == pytest.approx(expected, rel=1e-9)
    for at in (0.0, 1e-3, 0.5, 2.0):
        if (direct := gaussian_delta(mu, at)) > 1e-9:
            assert log_delta(event, at) == pytest.approx(math.log(direct), rel=1e-6)
    # Mills: δ ≈ φ(z) μ / z² for z = ε/μ large, also where δ itself is no number.
    z = 100.0
    logarithm = -0.5 * (z - mu / 2.0) ** 2 - 0.5 * math.log(2.0 * math.pi) + math.log(mu / z**2)
    assert log_delta(event, z * mu) == pytest.approx(logarithm, abs=0.05)


def test_the_count_of_outcomes_divides_delta() -> None:
    event = GaussianSparseVector(0.5, 20.0, 40.0, 2, False, 1000)
    mu = 0.5 / 20.0 * math.sqrt(3.0)
    expected = gaussian_epsilon(Gaussian(mu, 1.0), DELTA / math.comb(1000, 2))
    assert epsilon(event, DELTA) == pytest.approx(expected, rel=1e-6)
    classic = mu**2 / 2.0 + mu * math.sqrt(2.0 * math.log(math.comb(1000, 2) / DELTA))
    assert epsilon(event, DELTA, "rdp-classic") == pytest.approx(classic, rel=1e-9)


@given(
    st.floats(0.05, 50.0),
    st.integers(1, 50),
    st.integers(1, 1000),
    st.booleans(),
    st.floats(1e-10, 0.01),
)
def test_accountants_keep_their_order(
    scale: float, c: int, steps: int, resample: bool, delta: float
) -> None:
    event = GaussianSparseVector(1.0, scale, 2.0 * scale, c, resample, steps)
    classic, rdp, direct = (epsilon(event, delta, each) for each in ACCOUNTANTS)
    assert direct <= rdp * (1.0 + 1e-9) + 1e-9
    assert rdp <= classic * (1.0 + 1e-6) + 1e-9
    assert (cost(event, delta).epsilon, cost(event, delta).delta) == (direct, delta)


@ALL
@BOTH
@pytest.mark.parametrize("budget", [0.1, 20.0])
def test_calibration_costs_at_most_the_budget_and_hardly_less(
    accountant: str, resample: bool, budget: float
) -> None:
    event = calibrate(budget, DELTA, 0.01, 5, 2000, resample=resample, accountant=accountant)
    assert event.query_scale == 2.0 * event.threshold_scale
    assert (event.c, event.steps, event.resample) == (5, 2000, resample)
    assert 0.99999 * budget <= epsilon(event, DELTA, accountant) <= budget
    half = GaussianSparseVector(
        0.01, event.threshold_scale / 2, event.query_scale / 2, 5, resample, 2000
    )
    assert epsilon(half, DELTA, accountant) > 1.5 * budget


def test_delta_is_needed_and_an_accountant_that_is_known() -> None:
    event = GaussianSparseVector(1.0, 1.0, 2.0, 1, False, 10)
    assert cost(event).epsilon == math.inf
    assert [epsilon(event, 1.0, accountant) for accountant in ACCOUNTANTS] == [0.0] * 3
    with pytest.raises(ValueError, match="accountant = guess"):
        calibrate(1.0, DELTA, 1.0, 1, 10, resample=False, accountant="guess")
