"""Exact posteriors given noisy numbers, against draws of the prior with weights (MATH E8)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.exact_posteriors import FAMILIES, released

N, EPSILON_TOTAL = 30, 1.0

DRAWS = {"normal-mean": 40_000, "heavy-tails": 40_000, "dirichlet-shares": 400_000}
"""Numbers of draws; 100,000 for the others."""

SLOW = ("heavy-tails", "dirichlet-shares")
CASES = [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in FAMILIES]


@pytest.mark.parametrize("name", CASES)
def test_exact_posteriors_are_those_of_weighted_draws(name: str) -> None:
    """Mean and deviation: within 5 standard errors of the draws, which detects 0.1 deviations."""
    family = FAMILIES[name]
    model, noise = family.model(N), family.noise(EPSILON_TOTAL, N)
    z = released(family, EPSILON_TOTAL, N, 0.5, np.random.default_rng(1))
    rng = np.random.default_rng(2)
    theta = model.prior.theta(model.prior.draw(rng, DRAWS.get(name, 100_000)))
    parts = np.split(theta, 20)
    log = np.concatenate([noise.log_density(z, model.simulate(rng, part)) for part in parts])
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    assert 1.0 / (weights**2).sum() > 2500.0
    marginals = family.exact(z, EPSILON_TOTAL, N)
    assert len(marginals) == len(model.parameters)
    for marginal, values in zip(marginals, theta.T, strict=True):
        apart = (values - marginal.mean) / marginal.deviation
        below = values <= marginal.quantile(0.95)
        expected = np.interp(marginal.quantile(0.95), marginal.values, marginal.cumulative)
        for found in (apart, apart**2 - 1.0, below - expected):
            error = np.sqrt(weights**2 @ found**2)
            assert abs(weights @ found) < 5.0 * error
            assert error < 0.06
