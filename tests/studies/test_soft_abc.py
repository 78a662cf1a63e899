"""Soft weights over thresholds and budgets, and what they are compared with."""

import functools
import math

import numpy as np
import pytest

from abcdp_core import pool, summaries
from abcdp_core.privacy import cost
from abcdp_core.simulators import uniform_mixture
from abcdp_core.studies import soft_abc as study
from abcdp_core.study import At
from tests import results

SMALL = study.Params(
    epsilon_abc=(0.005, 0.05, 0.5), epsilon_total=(1.0, 100.0, math.inf),
    n=300, pool_size=300, runs=3,
)  # fmt: skip

run = functools.partial(results.changed, study, SMALL)


def test_without_noise_it_is_k2_abc_by_hand() -> None:
    key = pool.key_for(uniform_mixture.SCENARIO, 300, 300, 1, 1)
    comparison = pool.observed_comparison(key, 300)
    weights = np.exp(-(comparison.rho**2) / 0.05)
    off = weights @ comparison.theta / weights.sum() - uniform_mixture.TRUTH
    expected = np.abs(off).mean(), (off**2).mean(), summaries.effective_sample_size(weights)
    main = run(power=2.0).tables["main"]
    row = main.query("run == 1 and epsilon_abc == 0.05 and epsilon_total == inf").iloc[0]
    found = row[["mae", "mse", "effective_sample_size"]].tolist()
    assert found == pytest.approx(expected, rel=1e-9)


def test_the_power_is_of_the_curve_without_noise_only() -> None:
    one, two = (run(power=power).tables["main"] for power in (1.0, 2.0))
    noisy = np.isfinite(one.epsilon_total)
    assert one[noisy].equals(two[noisy])
    assert not np.allclose(one[~noisy].mae, two[~noisy].mae)


def test_a_looser_accountant_only_adds_noise() -> None:
    place = {"epsilon_abc": 0.05, "epsilon_total": 1.0}
    costs = [
        cost(study.event(At(**vars(SMALL) | place | {"accountant": each})), 1e-4).epsilon
        for each in ("exact", "rdp-classic")
    ]
    assert costs[1] < 0.75 < 0.999 < costs[0] <= 1.0
    assert "rdp-classic" in run(accountant="rdp-classic").privacy
    assert "accountant" not in run().privacy
