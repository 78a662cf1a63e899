"""Gaussian sparse vector: the bound against exact outcome distributions of short runs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdp_core.base.arrays import Array
from abcdp_core.mechanisms.gaussian_sparse_vector import (
    ACCOUNTANTS,
    GaussianSparseVector,
    epsilon,
    log_delta,
)
from abcdp_core.privacy import Gaussian, cost
from abcdp_core.privacy.gaussian_series import gaussian_delta, gaussian_epsilon
from tests.oracles.divergences import hockey_stick, renyi
from tests.oracles.gaussian_sparse_vector import log_probability
from tests.oracles.outcomes import patterns

DELTA = 1e-4
PLACES = [(0.0, 0.0), (0.5, 0.5), (2.0, -0.5), (-2.0, 1.0), (3.0, 3.0)]
"""Distances of draws that fall and of draws that grow, in threshold scales."""


def law(rho: Array, event: GaussianSparseVector) -> Array:
    """Logarithms of the exact probabilities of all outcomes of a run."""
    outcomes = patterns(len(rho), event.c)
    found = np.array([log_probability(pattern, rho, 0.0, event) for pattern in outcomes])
    assert np.exp(found).sum() == pytest.approx(1.0, abs=1e-12)
    return found


def worst_laws(event: GaussianSparseVector) -> list[tuple[Array, Array]]:
    """Pairs of laws: all moves by ±Δ, the draws of either sign at every place."""
    found = []
    for signs in itertools.product([-1.0, 1.0], repeat=event.steps):
        moves = np.array(signs)
        for falling, growing in PLACES:
            rho = np.where(moves < 0, falling, growing) * event.threshold_scale
            found.append((law(rho, event), law(rho + event.sensitivity * moves, event)))
    return found


def exact_delta(laws: list[tuple[Array, Array]], at: float) -> float:
    return max(hockey_stick(np.exp(one), np.exp(other), at) for one, other in laws)


@pytest.mark.parametrize(
    ("c", "resample", "steps", "scale"),
    [
        *((1, False, 3, 0.5), (2, False, 3, 3.0), (2, True, 3, 0.5), (3, False, 3, 0.5)),
        *(pytest.param(c, c > 1, 4, 0.5, marks=pytest.mark.slow) for c in (1, 2)),
    ],
)
def test_no_short_run_leaks_more_than_the_bounds(
    c: int, resample: bool, steps: int, scale: float
) -> None:
    event = GaussianSparseVector(1.0, scale, 2.0 * scale, c, resample, steps)
    laws = worst_laws(event)
    for at in (0.0, 0.3, 1.0, 3.0):
        assert exact_delta(laws, at) <= math.exp(log_delta(event, at)) * (1.0 + 1e-9)
    thresholds = c if resample else 1
    half_mu_squared = (thresholds + c) / (2.0 * scale**2)
    for alpha in (1.5, 2.0, 8.0, 32.0):
        count = math.log(math.comb(steps, c)) / (alpha - 1.0)
        worst = max(renyi(one, other, alpha) for one, other in laws)
        assert worst <= alpha * half_mu_squared + count


def test_half_the_noise_is_seen_in_the_exact_delta() -> None:
    # The run claims what it would cost with four times the noise; exact δ is above the claim.
    event = GaussianSparseVector(1.0, 1.0, 2.0, 1, False, 3)
    claimed = GaussianSparseVector(1.0, 4.0, 8.0, 1, False, 3)
    assert exact_delta(worst_laws(event), 0.5) > math.exp(log_delta(claimed, 0.5))


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
def test_accountants_keep_their_order_and_need_a_delta(
    scale: float, c: int, steps: int, resample: bool, delta: float
) -> None:
    event = GaussianSparseVector(1.0, scale, 2.0 * scale, c, resample, steps)
    classic, rdp, direct = (epsilon(event, delta, each) for each in ACCOUNTANTS)
    assert direct <= rdp * (1.0 + 1e-9) + 1e-9
    assert rdp <= classic * (1.0 + 1e-6) + 1e-9
    assert (cost(event, delta).epsilon, cost(event, delta).delta) == (direct, delta)
    assert cost(event).epsilon == math.inf
    assert [epsilon(event, 1.0, accountant) for accountant in ACCOUNTANTS] == [0.0] * 3
