"""The error against the budget: exact where that can be checked."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pandas as pd
import pytest

from abcdp_core import error_curve, error_gaps
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.simulators import uniform_mixture
from abcdp_core.studies import expected_error
from tests import results
from tests.statistics import assert_mean_of_repeats, rejects

SMALL = expected_error.Params(n=100, pool_size=400, epsilon_abc=0.3, epsilon_total=20.0, runs=2)

result_of = functools.partial(results.changed, expected_error, SMALL)


def test_simulated_releases_have_the_exact_error_and_not_that_of_half_the_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(expected_error, "NOISES", 2000)
    task = expected_error.tasks(SMALL, 1)[0]
    simulated = expected_error.work(task).tables["releases"].private_mse.to_numpy()
    main = result_of().tables["main"]
    own = main[(main.c == SMALL.c) & (main.run == 0)].set_index("epsilon_total").mse
    repeats, nothing = simulated[:, None], np.zeros(1)
    assert_mean_of_repeats(repeats, np.array([own[SMALL.epsilon_total]]), nothing)
    assert rejects(assert_mean_of_repeats, repeats, np.array([own[10.0]]), nothing)


def test_few_nodes_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    coarse = result_of().tables["main"].query("run == 0")
    monkeypatch.setattr(error_curve, "NODES", 128)
    fine = [
        error_curve.mse(expected_error._setting(SMALL, c, 0, 1), epsilon_total)
        for c, epsilon_total in zip(coarse.c, coarse.epsilon_total, strict=True)
    ]
    np.testing.assert_allclose(np.sqrt(coarse.mse), np.sqrt(fine), rtol=0.01)


@pytest.mark.parametrize(
    ("own", "n", "sensitivity", "resample"),
    [(0.001, 20_000, "sharp", False), (0.7, 100, "published", True), (1000.0, 10, "sharp", True)],
)
def test_so_many_people_have_the_noise_of_the_other_budget(
    own: float, n: int, sensitivity: str, resample: bool
) -> None:
    def noise(epsilon_total: float, n: float) -> float:
        # Lemma 1 and its sharp form hold for whole people; between them Δ is proportional to 1/N.
        whole = math.ceil(n)
        delta = uniform_mixture.distance().sensitivity(whole, sensitivity) * whole / n
        return sparse_vector.calibrate(epsilon_total, delta, 7, resample=resample).threshold_scale

    params = expected_error.Params(epsilon_total=own, n=n, sensitivity=sensitivity, c=7)
    for epsilon_total in expected_error.BUDGETS:
        people = expected_error.people(params, epsilon_total)
        wanted = noise(epsilon_total, n)
        # With more, what sums over so many points round is part of the calibrated noise.
        if 1.0 <= people <= 1e5:
            assert noise(own, people) == pytest.approx(wanted, rel=1e-6)
            assert noise(own, math.ceil(people)) <= wanted * (1.0 + 1e-6)


def test_half_the_noise_is_found_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = expected_error.figures(result_of(noises=25))["error"]
    assert "no difference from the curves was found (joint test" in drawn.sentence
    usual = sparse_vector.run

    def halved(rho, epsilon_abc, event, rng):  # type: ignore[no-untyped-def]
        threshold, query = event.threshold_scale / 2, event.query_scale / 2
        less = dataclasses.replace(event, threshold_scale=threshold, query_scale=query)
        return usual(rho, epsilon_abc, less, rng)

    monkeypatch.setattr(sparse_vector, "run", halved)
    much = dataclasses.replace(SMALL, noises=200)
    rows = expected_error.work(expected_error.tasks(much, 1)[0]).tables
    wrong = expected_error.collect(much, rows)
    assert not error_gaps.agrees(wrong.tables["gaps"])
    assert "they differ from the curves" in expected_error.figures(wrong)["error"].sentence


@pytest.mark.parametrize(("others", "tested"), [(0, 0), (19, 0), (20, 1)])
def test_releases_that_are_nearly_all_the_same_are_not_tested(others: int, tested: int) -> None:
    # With few of a rarer kind, or none by chance, their spread is no measure of the gap.
    run = np.arange(100) % 2
    errors = np.where(np.arange(100) < others, 0.05, 0.02)
    expected = np.where(run, 0.0261, 0.0259)
    simulated = {"c": 1, "epsilon_total": 0.1, "run": run, "mse": errors, "expected_mse": expected}
    table = error_gaps.of(pd.DataFrame(simulated))
    assert table.gap.count() == table.low.count() == table.high.count() == tested
    assert error_gaps.agrees(table)
    assert ("too alike to test" in error_gaps.in_words(table)) == (not tested)
