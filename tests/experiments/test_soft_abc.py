"""Soft weights over thresholds and budgets, and what they are compared with."""

from __future__ import annotations

import dataclasses
import math
from typing import cast

import numpy as np
import pytest

from abcdp_core import pool, runner, summaries
from abcdp_core.experiments import soft_abc as study
from abcdp_core.privacy import cost
from abcdp_core.results import Result
from abcdp_core.simulators import uniform_mixture
from abcdp_core.study import At
from abcdp_core.study.errors import prior_error

SMALL = study.Params(
    epsilon_abc=(0.005, 0.05, 0.5), epsilon_total=(1.0, 100.0, math.inf),
    n=300, pool_size=300, runs=3,
)  # fmt: skip


def run(**changes: object) -> Result:
    return runner.run_to_end(
        study,
        dataclasses.replace(SMALL, **changes),  # type: ignore[arg-type]
        seed=1,
    )


def test_without_noise_it_is_k2_abc_by_hand() -> None:
    main = run(power=2.0).tables["main"]
    key = pool.key_for(uniform_mixture.SCENARIO, 300, 300, 1, 1)
    comparison = pool.observed_comparison(key, 300)
    weights = np.exp(-(comparison.rho**2) / 0.05)
    estimate = weights @ comparison.theta / weights.sum()
    row = main.query("run == 1 and epsilon_abc == 0.05 and epsilon_total == inf").iloc[0]
    assert row.mae == pytest.approx(np.abs(estimate - uniform_mixture.TRUTH).mean(), rel=1e-9)
    assert row.mse == pytest.approx(((estimate - uniform_mixture.TRUTH) ** 2).mean(), rel=1e-9)
    assert row.effective_sample_size == pytest.approx(
        summaries.effective_sample_size(weights), rel=1e-9
    )


def test_noise_follows_the_data_and_not_the_size_of_the_simulated_sets() -> None:
    key = pool.key_for(uniform_mixture.SCENARIO, 100, 300, 1, 1)
    comparison = pool.observed_comparison(key, 300, 100)
    weights = np.exp(-comparison.rho / 0.05)
    estimate = weights @ comparison.theta / weights.sum()
    result = run(pseudo_n=100)
    row = result.tables["main"].query("run == 1 and epsilon_abc == 0.05 and epsilon_total == inf")
    expected = np.abs(estimate - uniform_mixture.TRUTH).mean()
    assert row.mae.iloc[0] == pytest.approx(expected, rel=1e-9)
    settings = study.figures(result)["mse"].figure.layout.title.subtitle.text
    assert settings == "N = 300, 100 simulated points, T = 300, 3 runs"
    assert run(pseudo_n=300).tables["main"].equals(run().tables["main"])


def test_the_power_is_of_the_curve_without_noise_only() -> None:
    one, two = (run(power=power).tables["main"] for power in (1.0, 2.0))
    noisy = np.isfinite(one.epsilon_total)
    assert one[noisy].equals(two[noisy])
    assert not np.allclose(one[~noisy].mae, two[~noisy].mae)


def test_a_large_threshold_weighs_all_alike() -> None:
    main = run(epsilon_abc=(1.4,), epsilon_total=(1000.0, math.inf)).tables["main"]
    assert (main.effective_sample_size > 250).all()
    assert (abs(main.mae - prior_error(run(), "mae")) < 0.03).all()


def test_the_preset_is_the_papers_figure() -> None:
    params = cast(study.Params, study.PRESETS["p22-figure-2"])
    assert {0.001, 0.005, 0.01, 0.5} <= set(params.epsilon_abc)
    assert params.epsilon_total[-1] == math.inf
    assert (params.n, params.delta, params.runs) == (5000, 1e-4, 10)
    assert (params.sensitivity, params.accountant) == ("published", "rdp-classic")


def test_a_looser_accountant_only_adds_noise() -> None:
    place = {"epsilon_abc": 0.05, "epsilon_total": 1.0}
    costs = [
        cost(study.event(At(**vars(SMALL) | place | {"accountant": each})), 1e-4).epsilon
        for each in ("exact", "rdp-classic")
    ]
    assert costs[1] < 0.75 < 0.999 < costs[0] <= 1.0
    words = run(accountant="rdp-classic").privacy
    assert "for ε_total = 100 by the accountant rdp-classic" in words
    assert "accountant" not in run().privacy
