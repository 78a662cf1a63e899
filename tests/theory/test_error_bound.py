"""The bound on the error of a private posterior mean: its formula, and every pattern of a run."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.theory import error_bound
from tests.oracles.sparse_vector import log_probability

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
