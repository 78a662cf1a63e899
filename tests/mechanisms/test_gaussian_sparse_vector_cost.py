"""Gaussian sparse vector: the bound against exact outcome laws of short runs (layer 1)."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

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
    _classic,
    _log_gaussian_delta,
    _root,
    _ways,
    calibrate,
    epsilon,
    log_delta,
)
from abcdp_core.privacy import Gaussian, cost, statement
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


@pytest.mark.parametrize("seed", range(30))
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
@pytest.mark.parametrize("c", [1, 2, 5])
@pytest.mark.parametrize("b", [0.01, 1.0, 50.0])
def test_the_outcomes_exclude_each_other_and_leave_nothing_out(
    resample: bool, c: int, b: float
) -> None:
    event = GaussianSparseVector(1.0, b, 2.0 * b, c, resample, 5)
    total = np.exp(law(np.array([0.3, -1.0, 0.0, 2.0, 0.1]), event)).sum()
    assert total == pytest.approx(1.0, abs=1e-12)


def test_one_decision_is_a_normal_tail_however_rare() -> None:
    event = GaussianSparseVector(1.0, 3.0, 4.0, 1, False, 1)
    for place in (-500.0, -5.0, 0.0, 5.0, 500.0):
        found = log_probability(np.array([True]), np.array([place]), 0.0, event)
        assert found == pytest.approx(float(special.log_ndtr(-place / 5.0)), rel=1e-10)


@pytest.mark.parametrize("pattern", [[True, True], [True, False], [False] * 4])
def test_what_cannot_happen_is_refused(pattern: list[bool]) -> None:
    event = GaussianSparseVector(1.0, 1.0, 2.0, 1, False, 3)
    with pytest.raises(ValueError, match="no run over 3 draws with c = 1"):
        log_probability(np.array(pattern), np.zeros(3), 0.0, event)


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


def autodp(event: GaussianSparseVector, alpha: float) -> float:
    relative = {"sigma": event.threshold_scale, "k": event.steps, "c": event.c}
    return float(rdp_bank.RDP_gaussian_svt_cgreater1(relative, alpha))


def test_autodps_divergence_lacks_a_proof_but_is_not_broken_where_runs_are_long_enough() -> None:
    # autodp has c ln(T/c) where the proof needs ln C(T, c).
    event = GaussianSparseVector(1.0, 3.0, 6.0, 2, False, 4)
    assert 2.0 * math.log(4 / 2) < math.log(math.comb(4, 2))
    exact = exact_renyi(worst_laws(event, PLACES), 8.0)
    assert 0.1 * autodp(event, 8.0) < exact < 0.5 * autodp(event, 8.0)


def test_autodps_divergence_is_negative_for_fewer_draws_than_acceptances() -> None:
    event = GaussianSparseVector(1.0, 4.0, 8.0, 3, False, 1)
    assert autodp(event, 2.0) < -3.0
    assert exact_renyi(worst_laws(event, PLACES), 2.0) > 0.0
    assert epsilon(event, DELTA, "rdp") > 0.0


def test_autodps_bound_for_one_acceptance_ignores_the_length_of_the_run() -> None:
    # Where σ₂ >= √3 σ₁ it takes Proposition 10, which supposes non-negative queries.
    values = [
        rdp_bank.RDP_gaussian_svt_c1({"sigma": 3.0, "sigma_nu": 6.0, "k": k}, 8.0)
        for k in (10, 1000, 100_000)
    ]
    assert values[0] == values[1] == values[2]


# ---------------------------------------------------------------------------------------- costs


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("at", [0.0, 1e-3, 0.5, 2.0, 20.0])
def test_the_logarithm_of_delta_is_that_of_a_gaussian(mu: float, at: float) -> None:
    direct = gaussian_delta(mu, at)
    if direct > 1e-9:
        assert _log_gaussian_delta(mu, at) == pytest.approx(math.log(direct), rel=1e-6)


def test_the_logarithm_of_delta_goes_on_where_delta_is_no_number() -> None:
    # Mills: δ ≈ φ(z) μ / z² for z = ε/μ large and μ small.
    z = 100.0
    expected = -0.5 * z**2 - 0.5 * math.log(2.0 * math.pi) + math.log(1e-3 / z**2)
    assert _log_gaussian_delta(1e-3, 0.1) == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize(("mu", "at"), [(1e-3, 0.1), (1.0, 1.0), (5.0, 1000.0)])
def test_what_the_logarithm_may_be_rounded_by_is_added(mu: float, at: float) -> None:
    near, far = at / mu - mu / 2.0, at / mu + mu / 2.0
    mills = [float(special.erfcx(each / math.sqrt(2.0))) for each in (near, far)]
    plain = -(near**2) / 2.0 + math.log((mills[0] - mills[1]) / 2.0)
    allowed = 1e-14 * (near**2 / 2.0 + (mills[0] + mills[1]) / (mills[0] - mills[1]))
    assert _log_gaussian_delta(mu, at) - plain == pytest.approx(allowed, rel=0.1, abs=0.0)


def test_what_a_count_a_root_and_a_conversion_may_be_rounded_by_is_added() -> None:
    event = GaussianSparseVector(0.5, 20.0, 40.0, 2, False, 1000)
    ways = _ways(event)
    assert ways[0][0] / math.log(math.comb(1000, 2)) - 1.0 == pytest.approx(
        1e-12, rel=1e-2, abs=0.0
    )
    assert (_root(Fraction(4)), _root(Fraction(1, 4))) == (2.0 * (1 + 1e-15), 0.5 * (1 + 1e-15))
    plain = min(_classic(*way, DELTA) for way in ways)
    added = epsilon(event, DELTA, "rdp-classic") / plain - 1.0
    assert added == pytest.approx(1e-12, rel=1e-2, abs=0.0)


def test_a_single_draw_is_a_gaussian_answer() -> None:
    event = GaussianSparseVector(1.0, 1.0, 2.0, 1, False, 1)
    expected = gaussian_epsilon(Gaussian(0.5, 1.0), DELTA)
    assert epsilon(event, DELTA) == pytest.approx(expected, rel=1e-9)


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


def test_redrawing_and_more_draws_and_more_acceptances_cost_more() -> None:
    def found(c: int, steps: int, resample: bool) -> float:
        return epsilon(GaussianSparseVector(1.0, 20.0, 40.0, c, resample, steps), DELTA)

    assert found(3, 1000, False) < found(3, 1000, True)
    assert found(3, 1000, False) < found(3, 10_000, False)
    assert found(3, 1000, False) < found(4, 1000, False)


@ALL
@BOTH
@pytest.mark.parametrize("budget", [0.1, 1.0, 20.0])
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


def test_without_noise_or_delta_there_is_no_guarantee() -> None:
    event = GaussianSparseVector(1.0, 1.0, 2.0, 1, False, 10)
    assert cost(event).epsilon == math.inf
    assert cost(GaussianSparseVector(1.0, 0.0, 2.0, 1, False, 10), DELTA).epsilon == math.inf
    for accountant in ACCOUNTANTS:
        assert epsilon(event, 1.0, accountant) == 0.0
    assert "(ε, δ)-differential privacy" in statement(event, "one point", DELTA)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, DELTA, 1.0, 1, 10), "epsilon_total = 0.0"),
        ((1.0, 0.0, 1.0, 1, 10), "delta = 0.0"),
        ((1.0, 1.0, 1.0, 1, 10), "delta = 1.0"),
        ((1.0, DELTA, math.inf, 1, 10), "sensitivity = inf"),
        ((1.0, DELTA, 1.0, 0, 10), "c = 0, steps = 10"),
        ((1.0, DELTA, 1.0, 1, 0), "c = 1, steps = 0"),
    ],
)
def test_what_is_out_of_range_is_an_error(
    arguments: tuple[float, float, float, int, int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        calibrate(*arguments, resample=False)


def test_an_unknown_accountant_is_an_error() -> None:
    with pytest.raises(ValueError, match="accountant = guess"):
        calibrate(1.0, DELTA, 1.0, 1, 10, resample=False, accountant="guess")
