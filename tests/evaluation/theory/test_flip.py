"""Flips: their probability by integrals, the power of their test, and the error that they bound."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

from abcdp_core.base import summaries
from abcdp_core.evaluation.theory import error_bound, flip, flip_agreement
from abcdp_core.mechanisms.sparse_vector import SparseVector
from tests.oracles.sparse_vector import log_probability

SCALES = pytest.mark.parametrize("b", [0.001, 0.04, 1.0, 2.0, 500.0])
PLACES = (0.0, 0.1, 0.5, 1.0, 3.0, 20.0)


def laplace(x: float, scale: float) -> float:
    return math.exp(-abs(x) / scale) / (2.0 * scale)


def convolved(z: float, b: float) -> float:
    """Density of m − ν at z, m ~ Lap(b), ν ~ Lap(2b), by integration over m."""
    edges = sorted({-80.0 * b, min(0.0, z), max(0.0, z), abs(z) + 80.0 * b})
    parts = [
        integrate.quad(
            lambda m: laplace(m, b) * laplace(m - z, 2.0 * b), low, high, epsabs=0.0, epsrel=1e-12
        )[0]
        for low, high in itertools.pairwise(edges)
    ]
    return math.fsum(parts)


@SCALES
@pytest.mark.parametrize("place", [-3.0, -0.2, *PLACES])
def test_density_and_tail_are_integrals(b: float, place: float) -> None:
    assert flip.density(place * b, b) == pytest.approx(convolved(place * b, b), rel=1e-10)
    start = abs(place)
    integral, _ = integrate.quad(
        lambda z: float(flip.density(z * b, b)) * b, start, start + 80.0, epsabs=0.0, epsrel=1e-12
    )
    assert flip.tail(start * b, b) == pytest.approx(integral, rel=1e-10)


@SCALES
def test_the_distribution_function_is_symmetric_and_grows_from_0_to_1(b: float) -> None:
    z = b * np.linspace(-50.0, 50.0, 1001)
    cumulative = flip.cumulative(z, b)
    assert cumulative + flip.cumulative(-z, b) == pytest.approx(1.0, abs=1e-15)
    assert np.all(np.diff(cumulative) >= 0)
    assert cumulative[0] < 1e-10
    assert 1.0 - cumulative[600] == pytest.approx(flip.tail(z[600], b), rel=1e-12)


def test_without_noise_nothing_is_flipped() -> None:
    assert not flip.flip_probability(np.array([0.1, 0.2, 0.3]), 0.2, 0.0).any()
    assert flip.cumulative(np.array([-1.0, 0.0, 1.0]), 0.0).tolist() == [0.0, 1.0, 1.0]


# ----------------------------------------------------------------------------------- the joint test

SIMULATIONS = 2000


def agreement_of(rho: list[float], scale: float) -> flip_agreement.Agreement:
    """The test on frequencies as expected, at the threshold 0.2."""
    away = np.abs(np.array(rho) - 0.2)
    expected = flip.tail(away, scale)
    counts = np.rint(SIMULATIONS * expected)
    return flip_agreement.agreement(counts, SIMULATIONS, expected, away, np.full(len(rho), scale))


@pytest.mark.parametrize("rho", [[0.4], [0.25, 0.4, 0.8]])
def test_the_stated_noise_scales_are_detected_half_the_time(rho: list[float]) -> None:
    counts = np.arange(SIMULATIONS + 1)

    def power(scale: float) -> float:
        """The largest probability that one of the counts rejects."""
        wrong, right = (flip.flip_probability(rho, 0.2, 0.1 * each) for each in (scale, 1.0))
        rejected = []
        for p, q in zip(wrong, right, strict=True):
            p_values = summaries.binomial_p_values(counts, SIMULATIONS, q) * len(rho)
            is_small = p_values < flip_agreement.JOINT_LEVEL
            rejected.append(stats.binom.pmf(counts, SIMULATIONS, p)[is_small].sum())
        return max(rejected)

    found = agreement_of(rho, 0.1)
    for factor, inside in ((found.upper, 0.98), (found.lower, 1.02)):
        assert power(inside * factor) < 0.5 <= power(factor)


@pytest.mark.parametrize(("rho", "scale"), [([0.2, 0.2], 0.1), ([0.9], 1e-4), ([0.9], 1e6)])
def test_where_nothing_depends_on_the_noise_there_is_no_test(
    rho: list[float], scale: float
) -> None:
    found = agreement_of(rho, scale)
    assert (found.lower, found.upper) == (0.0, np.inf)
    assert "cannot test" in found.sentence()


# ---------------------------------------------------------------------------------- the error bound

RHO = np.array([0.05, 0.3, 0.12, 0.2, 0.09, 0.5])
EPSILON_ABC = 0.15
GAPS = [abs(rho - EPSILON_ABC) for rho in RHO.tolist()]


@pytest.mark.parametrize("b", [0.001, 0.01, 0.02, 0.04, 3.0])
def test_both_bounds_are_their_formulas(b: float) -> None:
    flips = sum((4 * math.exp(-gap / (2 * b)) - math.exp(-gap / b)) / 6 for gap in GAPS)
    expected = error_bound.expected_error(RHO, EPSILON_ABC, b, 1.7)
    assert expected == pytest.approx(2 * 1.7 / 3 * flips, rel=1e-12)
    decay = sum(math.exp(-gap / (2 * b)) for gap in GAPS)
    within = error_bound.probability_within(2.0, RHO, EPSILON_ABC, b, 1.7)
    assert within == pytest.approx(max(0.0, 1 - 4 * 1.7 / (3 * 2.0 * 3) * decay), rel=1e-12)
    # Weaker than Markov's inequality on the expected error, as the paper rounds G_b up.
    assert within <= max(0.0, 1 - expected / 2.0)


def test_without_noise_there_is_no_error_and_without_kept_draws_no_claim() -> None:
    assert error_bound.expected_error(RHO, EPSILON_ABC, 0.0, 1.0) == 0.0
    assert error_bound.probability_within(1e-9, RHO, EPSILON_ABC, 0.0, 1.0) == 1.0
    for b in (0.0, 0.04):
        assert error_bound.expected_error(RHO, 0.01, b, 1.0) == math.inf
        assert error_bound.probability_within(1.0, RHO, 0.01, b, 1.0) == 0.0


@pytest.mark.parametrize("b", [0.005, 0.02, 0.1, 1.0])
def test_the_exact_expected_error_stays_under_the_bound(b: float) -> None:
    # Every pattern of a run over all draws that never stops, with its exact probability.
    theta: NDArray[np.float64] = np.random.default_rng(1).normal(size=(6, 2))
    event = SparseVector(1.0, b, 2.0 * b, c=7, resample=False)
    non_private = theta[RHO <= EPSILON_ABC].mean(axis=0)
    total, expected = 0.0, 0.0
    for pattern in itertools.product([False, True], repeat=6):
        decided = np.array(pattern)
        probability = math.exp(log_probability(decided, RHO, EPSILON_ABC, event))
        total += probability
        if decided.any():
            error = np.linalg.norm(theta[decided].mean(axis=0) - non_private)
            expected += probability * float(error)
    assert total == pytest.approx(1.0, rel=1e-10)
    largest = error_bound.largest_norm(theta)
    assert 0.0 < expected <= error_bound.expected_error(RHO, EPSILON_ABC, b, largest)
