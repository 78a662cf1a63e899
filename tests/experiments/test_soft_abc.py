"""Soft weights over thresholds and budgets, and what they are compared with."""

from __future__ import annotations

import dataclasses
import math
from typing import cast

import numpy as np
import pytest

from abcdp_core import pool, runner, summaries
from abcdp_core.experiments import soft_abc as study
from abcdp_core.parameters import ParameterError
from abcdp_core.privacy import cost
from abcdp_core.results import Result
from abcdp_core.simulators import uniform_mixture

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
    params = dataclasses.replace(SMALL, pseudo_n=100)
    assert study.event_of(params, 0.05, 1.0) == study.event_of(SMALL, 0.05, 1.0)
    key = pool.key_for(uniform_mixture.SCENARIO, 100, 300, 1, 1)
    comparison = pool.observed_comparison(key, 300, 100)
    weights = np.exp(-comparison.rho / 0.05)
    estimate = weights @ comparison.theta / weights.sum()
    result = run(pseudo_n=100)
    row = result.tables["main"].query("run == 1 and epsilon_abc == 0.05 and epsilon_total == inf")
    expected = np.abs(estimate - uniform_mixture.TRUTH).mean()
    assert row.mae.iloc[0] == pytest.approx(expected, rel=1e-9)
    settings = study.figures(result)["mse"].figure.layout.title.subtitle.text
    assert settings.startswith("N = 300 against 100 simulated points, T = 300, ")
    assert run(pseudo_n=300).tables["main"].equals(run().tables["main"])


def test_the_power_is_of_the_curve_without_noise_only() -> None:
    one, two = (run(power=power).tables["main"] for power in (1.0, 2.0))
    noisy = np.isfinite(one.epsilon_total)
    assert one[noisy].equals(two[noisy])
    assert not np.allclose(one[~noisy].mae, two[~noisy].mae)


def test_a_large_threshold_weighs_all_alike() -> None:
    main = run(epsilon_abc=(1.4,), epsilon_total=(1000.0, math.inf)).tables["main"]
    assert (main.effective_sample_size > 250).all()
    assert (abs(main.mae - study.PRIOR_ERRORS["mae"]) < 0.03).all()


def test_the_first_runs_of_many_are_the_runs_of_few() -> None:
    few, many = (run(runs=runs).tables["main"] for runs in (2, 4))
    assert few.equals(many[many.run < 2].reset_index(drop=True))


def test_a_looser_accountant_only_adds_noise() -> None:
    events = [
        study.event_of(dataclasses.replace(SMALL, accountant=each), 0.05, 1.0)
        for each in ("exact", "rdp-classic")
    ]
    costs = [cost(event, 1e-4).epsilon for event in events]
    assert costs[1] < 0.75 < 0.999 < costs[0] <= 1.0
    words = run(accountant="rdp-classic").privacy
    assert "for ε_total = 100 by the accountant rdp-classic" in words
    assert "accountant" not in run().privacy


def test_the_best_threshold_is_the_one_with_the_least_error() -> None:
    main = run().tables["main"]
    found = study.best(main)
    assert found.epsilon_total.tolist() == [1.0, 100.0, math.inf]
    means = main[np.isinf(main.epsilon_total)].groupby("epsilon_abc").mae.mean()
    assert found.mae.iloc[-1] == means.min()
    assert found.epsilon_abc.iloc[-1] == means.idxmin()


def test_the_best_threshold_of_a_run_is_the_one_with_its_least_error() -> None:
    tables = run().tables
    main, best = tables["main"], tables["best"]
    assert len(best) == 3 * 3
    for row in best.itertuples():
        part = main[(main.run == row.run) & (main.epsilon_total == row.epsilon_total)]
        assert row.best == part.epsilon_abc[part.mse.idxmin()]


def test_the_preset_is_the_papers_figure() -> None:
    params = cast(study.Params, study.PRESETS["p22-figure-2"])
    assert {0.001, 0.005, 0.01, 0.5} <= set(params.epsilon_abc)
    assert params.epsilon_total[-1] == math.inf
    assert (params.n, params.delta, params.runs) == (5000, 1e-4, 10)
    assert (params.sensitivity, params.accountant) == ("published", "rdp-classic")


def test_figures_have_a_line_for_each_budget_and_the_prior() -> None:
    drawn = study.figures(run())
    assert set(drawn) == {"mae", "mse", "effective-sample-size"}
    names = {trace.name for trace in drawn["mae"].figure.data}
    assert {"ε_total = 1", "ε_total = 100", "non-private", "prior mean"} <= names
    ends = " ".join(drawn["mae"].figure.layout.yaxis2.ticktext)
    assert all(name in ends for name in ("ε_total = 1", "no noise", "prior mean", "no ABC"))
    (line,) = [t for t in drawn["mae"].figure.data if t.name == "non-private" and t.fill is None]
    main = run().tables["main"]
    means = main[np.isinf(main.epsilon_total)].groupby("epsilon_abc").mae.mean()
    assert line.x.tolist() == means.index.tolist()
    assert line.y == pytest.approx(means.to_numpy())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon_abc": (0.0,)}, "epsilon_abc = 0"),
        ({"delta": 0.5}, "delta = 0.5"),
        ({"power": 9.0}, "power = 9"),
        ({"accountant": "linear"}, "accountant = linear"),
        ({"n": 20_000, "pool_size": 100_000}, "n . pool_size"),
    ],
)
def test_what_is_not_allowed_is_one_clear_line(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        run(**changes)


def test_the_rival_that_needs_no_simulation_is_drawn_at_the_smallest_budget() -> None:
    result = run()
    rival, main = result.tables["rival"], result.tables["main"]
    assert set(rival.epsilon_total) == set(main.epsilon_total)
    assert set(rival.run) == set(main.run)
    # (1 − Σθ²) / (5N) without noise (MATH E7).
    assert 0.2 * 0.709 / 1500 < rival.mse.mean() < 5.0 * 0.709 / 1500
    drawn = study.figures(result)
    name = "counts with noise, no ABC, ε_total = 1"
    (trace,) = (each for each in drawn["mse"].figure.data if each.name == name)
    at_one = rival[rival.epsilon_total == 1.0].mse.mean()
    assert trace.y.tolist() == pytest.approx([at_one, at_one])
    assert trace.x.tolist() == [0.005, 0.5]
    assert "likelihood" in drawn["mse"].sentence
    assert drawn["mse"].sentence.endswith(" at ε_total = 1, the smallest budget shown.")
    assert "no ABC" not in str(drawn["effective-sample-size"].figure.data)


def test_the_rival_without_noise_is_said_to_have_none() -> None:
    drawn = study.figures(run(epsilon_total=(math.inf,), epsilon_abc=(0.05,)))["mae"]
    assert "counts without noise, no ABC" in {each.name for each in drawn.figure.data}
    assert drawn.sentence.endswith("The line of the counts is without noise.")
