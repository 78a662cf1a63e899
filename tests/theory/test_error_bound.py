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


def flips(b: float) -> list[float]:
    """G_b at each distance, written out."""
    gaps = [abs(rho - EPSILON_ABC) for rho in RHO.tolist()]
    return [(4 * math.exp(-gap / (2 * b)) - math.exp(-gap / b)) / 6 for gap in gaps]


@pytest.mark.parametrize("b", [0.001, 0.04, 3.0])
def test_the_bound_is_the_formula(b: float) -> None:
    found = error_bound.expected_error(RHO, EPSILON_ABC, b, 1.7)
    assert found == pytest.approx(2 * 1.7 / 3 * sum(flips(b)), rel=1e-12)


@pytest.mark.parametrize("b", [0.001, 0.01, 0.02])
def test_the_probability_is_the_formula(b: float) -> None:
    decay = sum(math.exp(-abs(rho - EPSILON_ABC) / (2 * b)) for rho in RHO.tolist())
    found = error_bound.probability_within(2.0, RHO, EPSILON_ABC, b, 1.7)
    assert found == pytest.approx(1 - 4 * 1.7 / (3 * 2.0 * 3) * decay, rel=1e-12)
    # Weaker than Markov's inequality on the expected error, as the paper rounds G_b up.
    assert found <= 1 - error_bound.expected_error(RHO, EPSILON_ABC, b, 1.7) / 2.0


def test_without_noise_there_is_no_error() -> None:
    assert error_bound.expected_error(RHO, EPSILON_ABC, 0.0, 1.0) == 0.0
    assert error_bound.probability_within(1e-9, RHO, EPSILON_ABC, 0.0, 1.0) == 1.0


@pytest.mark.parametrize("b", [0.0, 0.04])
def test_where_nothing_is_accepted_without_noise_nothing_is_claimed(b: float) -> None:
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
