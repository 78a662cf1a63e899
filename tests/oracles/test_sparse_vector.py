"""The exact probabilities of sparse vectors, against adaptive quadrature and closed forms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate

from abcdp_core.evaluation.theory import flip
from abcdp_core.mechanisms.sparse_vector import SparseVector
from tests.oracles.outcomes import Pattern, patterns
from tests.oracles.sparse_vector import log_probability

RHO = np.array([0.3, 0.05, 0.2, 0.1, 0.15])
EPSILON_ABC = 0.12


def by_adaptive_quadrature(
    pattern: Pattern, kinks: NDArray[np.float64], event: SparseVector
) -> float:
    """Logarithm of the probability of decisions that share one threshold noise."""

    def below(x: float) -> float:
        return 0.5 * math.exp(x) if x < 0 else 1.0 - 0.5 * math.exp(-x)

    def integrand(m: float) -> float:
        value = math.exp(-abs(m) / event.threshold_scale) / (2.0 * event.threshold_scale)
        for accepted, kink in zip(pattern.tolist(), kinks.tolist(), strict=True):
            above = (m - kink) / event.query_scale
            value *= below(above if accepted else -above)
        return value

    inner = sorted({0.0, *kinks.tolist()})
    scale = event.threshold_scale
    low, high = inner[0], inner[-1]
    edges = [low - 40 * scale, low - 6 * scale, *inner, high + 6 * scale, high + 40 * scale]
    parts = [
        integrate.quad(integrand, a, b, epsabs=0.0, epsrel=1e-12, limit=200)[0]
        for a, b in itertools.pairwise(edges)
    ]
    return math.log(math.fsum(parts))


@pytest.mark.parametrize("seed", range(12))
def test_one_threshold_against_adaptive_quadrature(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps = int(rng.integers(1, 9))
    pattern = rng.random(steps) < 0.4
    rho = rng.normal(size=steps) * 10.0 ** rng.uniform(-2.0, 1.0)
    b1, b2 = 10.0 ** rng.uniform(-1.0, 1.0, 2)
    event = SparseVector(1.0, float(b1), float(b2), c=steps + 1, resample=False)
    found = log_probability(pattern, rho, 0.7, event)
    assert found == pytest.approx(by_adaptive_quadrature(pattern, rho - 0.7, event), abs=1e-11)


def test_redrawn_thresholds_make_independent_segments() -> None:
    pattern, kinks = np.array([False, True, True, False, False]), RHO - EPSILON_ABC
    event = SparseVector(1.0, 0.1, 0.2, c=3, resample=True)
    found = log_probability(pattern, RHO, EPSILON_ABC, event)
    parts = (slice(0, 2), slice(2, 3), slice(3, 5))
    each = [by_adaptive_quadrature(pattern[part], kinks[part], event) for part in parts]
    assert found == pytest.approx(math.fsum(each), abs=1e-11)


@pytest.mark.parametrize("resample", [False, True])
@pytest.mark.parametrize("b", [0.001, 0.1, 30.0])
def test_the_outcomes_of_a_run_exclude_each_other_and_leave_nothing_out(
    resample: bool, b: float
) -> None:
    for c in (1, 2, 6):
        event = SparseVector(1.0, b, 3.0 * b, c, resample)
        logs = [log_probability(each, RHO, EPSILON_ABC, event) for each in patterns(len(RHO), c)]
        assert math.fsum(map(math.exp, logs)) == pytest.approx(1.0, abs=1e-11)


def test_decisions_flip_as_theory_says_but_not_in_a_run_that_goes_on() -> None:
    """MATH F2: unconditionally G_b at every step; given no acceptance, thresholds are low."""
    for rho in (0.0, 0.11, 0.12, 0.5):
        # With the paper's split b₂ = 2 b₁.
        event = SparseVector(1.0, 0.04, 0.08, c=1, resample=True)
        flipped = np.array([rho > EPSILON_ABC])
        found = math.exp(log_probability(flipped, np.array([rho]), EPSILON_ABC, event))
        assert found == pytest.approx(flip.flip_probability(rho, EPSILON_ABC, 0.04), rel=1e-11)
    event = SparseVector(1.0, 0.1, 0.2, c=9, resample=False)
    accepted = math.fsum(
        math.exp(log_probability(np.array([*before, True]), RHO[:3], EPSILON_ABC, event))
        for before in itertools.product([False, True], repeat=2)
    )
    theory = float(flip.flip_probability(RHO[2], EPSILON_ABC, 0.1))
    assert accepted == pytest.approx(theory, rel=1e-11)
    going = np.array([False, False])
    given_going = log_probability(np.append(going, True), RHO, EPSILON_ABC, event)
    given_going -= log_probability(going, RHO, EPSILON_ABC, event)
    assert math.exp(given_going) < 0.9 * theory


def test_scales_far_apart_are_no_harder() -> None:
    """P(m − ν >= gap) for Laplace noises of scales b₁ and 1."""
    for b1, gap in itertools.product((1e-8, 1e-4, 0.01, 0.9, 1.1, 10.0, 1e8), (0.0, 0.7, 30.0)):
        event = SparseVector(1.0, b1, 1.0, c=1, resample=False)
        found = math.exp(log_probability(np.array([True]), np.array([0.2 + gap]), 0.2, event))
        tails = b1**2 * math.exp(-gap / b1) - math.exp(-gap)
        assert found == pytest.approx(0.5 * tails / (b1**2 - 1.0), rel=1e-10), (b1, gap)
