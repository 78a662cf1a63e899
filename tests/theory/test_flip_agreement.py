"""What the joint test of simulated flips would notice."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from abcdp_core import summaries
from abcdp_core.theory import flip, flip_agreement

SIMULATIONS = 2000


def told(rho: list[float], scale: float) -> flip_agreement.Agreement:
    """The test on frequencies as expected, at the threshold 0.2."""
    away = np.abs(np.array(rho) - 0.2)
    expected = flip.tail(away, scale)
    counts = np.rint(SIMULATIONS * expected)
    return flip_agreement.agreement(counts, SIMULATIONS, expected, away, np.full(len(rho), scale))


@pytest.mark.parametrize("rho", [[0.4], [0.25, 0.4, 0.8]])
def test_the_noise_scale_that_would_be_noticed_is_noticed_every_second_time(
    rho: list[float],
) -> None:
    found = told(rho, 0.1)
    for factor, inside in ((found.upper, 0.98), (found.lower, 1.02)):
        power = {}
        for scale in (factor, inside * factor):
            wrong = flip.flip_probability(np.array(rho), 0.2, 0.1 * scale)
            right = flip.flip_probability(np.array(rho), 0.2, 0.1)
            counts = np.arange(SIMULATIONS + 1)
            rejected = [
                stats.binom.pmf(counts, SIMULATIONS, p)[
                    summaries.binomial_p_values(counts, SIMULATIONS, q) * len(rho)
                    < flip_agreement.JOINT_LEVEL
                ].sum()
                for p, q in zip(wrong, right, strict=True)
            ]
            power[scale] = max(rejected)
        assert power[factor] >= 0.5
        assert power[inside * factor] < 0.5


@pytest.mark.parametrize(("rho", "scale"), [([0.2, 0.2], 0.1), ([0.9], 1e-4), ([0.9], 1e6)])
def test_where_nothing_depends_on_the_noise_agreement_cannot_be_told(
    rho: list[float], scale: float
) -> None:
    found = told(rho, scale)
    assert (found.lower, found.upper) == (0.0, np.inf)
    assert "cannot be told here" in found.sentence()
