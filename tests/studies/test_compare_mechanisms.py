"""The comparison of mechanisms: equal privacy, equal data, public choices."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

from abcdp_core import mechanisms, trials
from abcdp_core.mechanisms import Budget, Release
from abcdp_core.privacy import NonPrivate, cost
from abcdp_core.simulators import uniform_mixture
from abcdp_core.studies import compare_mechanisms as study
from tests import results

SMALL = study.Params(
    mechanism=tuple(mechanisms.for_scenario(uniform_mixture)),
    epsilon_total=(1.0, 10.0),
    n=300,
    pool_size=1000,
    runs=2,
)

EVERY = pytest.mark.parametrize("name", SMALL.mechanism)

result_of = functools.partial(results.changed, study, SMALL)


def task_of(name: str, **changes: object) -> study.Task:
    asked = {"mechanism": name, "epsilon_total": 1.0} | changes
    return study.tasks(dataclasses.replace(SMALL, **asked), 1)[0]


def released(task: study.Task, run: int = 0) -> Release:
    """Return the release at the common setting."""
    *_, common, _, _ = study.asked(task)
    task = dataclasses.replace(task, first=run, count=1)
    ((_, _, release),) = study.releases(task, common)
    return release


@EVERY
def test_every_release_costs_the_budget_that_all_are_given(name: str) -> None:
    for budget, sensitivity in ((0.1, "sharp"), (3.0, "published")):
        task = task_of(name, epsilon_total=budget, sensitivity=sensitivity)
        event = released(task).event
        assert not isinstance(event, NonPrivate)
        promised = mechanisms.load(name).spends(Budget(budget, task.params.delta))
        spent = cost(event, promised.delta)
        assert spent.delta == promised.delta
        assert 0.99 * budget < spent.epsilon <= budget * (1 + 1e-12)


def test_thresholds_are_chosen_without_the_data_that_are_scored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def choices() -> list[object]:
        trials.tried.cache_clear()
        return [trials.best(*study.asked(task_of(name))) for name in SMALL.mechanism]

    before = choices()
    results.without_private_data(monkeypatch)
    assert choices() == before


def test_the_best_threshold_has_the_lowest_error_of_the_grid_and_is_the_one_scored() -> None:
    tables = result_of().tables
    for (name, budget), part in tables["grid"].groupby(["mechanism", "epsilon_total"]):
        assert part.mse.notna().all() == (len(part) > 1)
        best = part.epsilon_abc[part.mse.fillna(0.0).idxmin()]
        main = tables["main"]
        scored = main[(main.mechanism == name) & (main.epsilon_total == budget)]
        assert np.array_equal(scored.epsilon_abc.unique(), [best], equal_nan=True)
    thresholds = tables["common"].epsilon_abc
    assert thresholds.dropna().unique().tolist() == [SMALL.epsilon_abc]
    without = set(tables["common"].mechanism[thresholds.isna()])
    assert without == {n for n in SMALL.mechanism if "epsilon_abc" not in mechanisms.load(n).takes}


@pytest.mark.slow
def test_at_a_large_pool_what_pays_once_is_ahead() -> None:
    names = ("sparse-vector", "gaussian-rejection", "soft-weights", "embedding-estimate")
    params = study.Params(epsilon_total=(1.0,), runs=3, mechanism=names)
    means = results.changed(study, params).tables["main"].groupby("mechanism").mse.mean()
    assert means["embedding-estimate"] < 0.2 * means["sparse-vector"]
    assert means["sparse-vector"] < 0.5 * means["soft-weights"]
    assert means["soft-weights"] < means["gaussian-rejection"]
