"""Plans: what is ranked, advised and predicted to be enough."""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from abcdp_core import mechanisms
from abcdp_core.evaluation.planning import TRIED
from abcdp_core.run.results import Result
from abcdp_core.studies import plan

FEW = ("sparse-vector", "noisy-counts", "nearest-selection-approximate")
OTHERS = {"epsilon_total": [0.1, 100.0], "n": [20_000]}


@pytest.fixture(scope="module", autouse=True)
def few_other_settings() -> Iterator[None]:
    """Try few budgets and sizes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_others", lambda _, knob: OTHERS[knob])
        yield


SMALL = plan.Params(n=300, pool_size=200, runs=4, mechanism=FEW, epsilon_total=1.0)
BELOW = {"goal": "error-below"}


def result_of(**changes: Any) -> Result:
    params = dataclasses.replace(SMALL, **changes)
    return collected(params, plan.tasks(params, 1))


def collected(params: plan.Params, tasks: list[plan.Task]) -> Result:
    return plan.collect(params, {"outcomes": pd.concat(map(outcomes_of, tasks), ignore_index=True)})


@functools.cache
def outcomes_of(task: plan.Task) -> pd.DataFrame:
    return plan.work(task)["outcomes"]


@pytest.mark.parametrize("changes", [{}, {"metric": "mae"}, BELOW | {"probability": 0.8}], ids=str)
def test_mechanisms_are_ranked_by_what_the_goal_is_about(changes: dict[str, Any]) -> None:
    tables = result_of(**changes).tables
    assert tables["goal"].value.is_monotonic_increasing
    assert tables["goal"].mechanism.tolist() == tables["main"].mechanism.tolist()
    assert tables["main"].mechanism[0] == "noisy-counts"
    assert set(tables["main"].metric) == {changes.get("metric", "rmse")}


def test_every_mechanism_is_planned_or_refused_with_a_reason() -> None:
    named = set(plan.Params().planned)
    refused = result_of().tables["refused"].set_index("mechanism").why
    assert named | set(refused.index) | set(plan.NOT_ADVISED) == set(mechanisms.names())
    assert not named & set(refused.index)
    assert refused["private-summary-large-unit"].endswith("unit.")


def test_a_goal_is_met_by_those_within_it() -> None:
    least = result_of().tables["goal"].value
    found = result_of(**BELOW, wanted=float(least[1]) * 1.01)
    assert found.tables["main"].meets.tolist() == [True, True, False]
    hardly = result_of(**BELOW, wanted=float(least[0]) * 1.001)
    assert hardly.tables["main"].meets.tolist() == [True, False, False]
    assert "This is not certain: the 95 % interval extends beyond the goal." in hardly.summary


def test_a_plan_that_nothing_meets_says_what_would_be_enough_or_that_nothing_is() -> None:
    found = result_of(**BELOW, wanted=1e-6)
    assert not found.tables["main"].meets.any()
    assert np.isinf(found.tables["enough"].enough).all()
    assert "predicted even at" in found.tables["enough"].why.iloc[0]
    somewhere = result_of(**BELOW, wanted=0.01)
    enough = somewhere.tables["enough"].set_index(["mechanism", "knob"]).loc["noisy-counts", "n"]
    assert 300 < enough.enough_low < enough.enough < enough.enough_high < 20_000
    title = plan.figures(somewhere)["enough-people"].figure.layout.title.text
    assert title == f"N = {enough.enough:,.0f} is predicted to be enough with noisy counts"
    # It is said once all other settings were tried.
    missing = OTHERS["epsilon_total"][-1]
    every = plan.tasks(found.params, 1)
    tasks = [task for task in every if task.params.epsilon_total != missing]
    assert {*collected(found.params, tasks).tables["enough"].knob} == {"n"}


def test_a_quantile_of_few_data_sets_has_no_upper_end_and_the_plan_says_so() -> None:
    few = {"runs": TRIED, "pool_size": 50, "mechanism": FEW[:2]}
    found = result_of(**BELOW, wanted=0.5, probability=0.99, **few)
    goal = found.tables["goal"]
    assert np.isinf(goal.value_high).all()
    assert (goal.value_low < goal.value).all()
    assert np.isinf(found.tables["curve"].value_high).all()
    assert "This is not certain" in found.summary


def test_settings_are_tried_on_the_first_data_sets_and_predicted_on_others() -> None:
    parts = [task.part for task in plan.tasks(plan.Params(runs=TRIED + 3), 1)]
    assert parts == ["tried"] * TRIED + ["predicted"] * 3
    goal = plan.tasks(plan.Params(runs=TRIED + 3, **BELOW), 1)
    assert {task.part for task in goal} == {"tried", "budget", "size", "predicted"}
    # Another number to reach computes nothing again.
    assert goal == plan.tasks(plan.Params(runs=TRIED + 3, **BELOW, wanted=0.5), 1)
