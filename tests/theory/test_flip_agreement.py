"""The power of the joint test of simulated flips."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from abcdp_core import summaries
from abcdp_core.theory import flip, flip_agreement

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
