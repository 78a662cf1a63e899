"""Gaussian sparse vector: the bound against exact outcome distributions of short runs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import special

from abcdp_core.mechanisms.gaussian_sparse_vector import (
    ACCOUNTANTS,
    GaussianSparseVector,
    calibrate,
    epsilon,
    log_delta,
)
from abcdp_core.privacy import Gaussian, cost
from abcdp_core.privacy.gaussian_series import gaussian_delta, gaussian_epsilon
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


@BOTH
@pytest.mark.parametrize("b", [0.01, 50.0])
def test_the_outcomes_exclude_each_other_and_leave_nothing_out(resample: bool, b: float) -> None:
    event = GaussianSparseVector(1.0, b, 2.0 * b, 2, resample, 5)
    total = np.exp(law(np.array([0.3, -1.0, 0.0, 2.0, 0.1]), event)).sum()
    assert total == pytest.approx(1.0, abs=1e-12)


# ------------------------------------------------------- the claim against the exact divergences

PLACES = [(0.0, 0.0), (0.5, 0.5), (2.0, -0.5), (-2.0, 1.0), (3.0, 3.0)]


@pytest.mark.parametrize(
    ("c", "resample", "steps", "scale"),
    [(1, False, 4, 0.5), (2, False, 3, 3.0), (2, True, 4, 0.5), (3, False, 3, 0.5)],
)
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


def test_delta_is_needed_and_an_accountant_that_is_known() -> None:
    event = GaussianSparseVector(1.0, 1.0, 2.0, 1, False, 10)
    assert cost(event).epsilon == math.inf
    assert [epsilon(event, 1.0, accountant) for accountant in ACCOUNTANTS] == [0.0] * 3
    with pytest.raises(ValueError, match="accountant = guess"):
        calibrate(1.0, DELTA, 1.0, 1, 10, resample=False, accountant="guess")
