"""Plans: what is ranked, advised and said to be enough."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from abcdp_core import mechanisms
from abcdp_core.commands import plan as commands_plan
from abcdp_core.experiments import plan
from abcdp_core.experiments.plan import views
from abcdp_core.mechanisms import noisy_counts
from abcdp_core.parameters import ParameterError
from abcdp_core.planning import TRIED
from abcdp_core.results import Result

FEW = ("sparse-vector", "noisy-counts", "nearest-selection-approximate")
VALUE = ("noisy-counts", "embedding-estimate")
OTHERS = {"epsilon_total": [0.1, 100.0], "n": [20_000]}


@pytest.fixture(scope="module", autouse=True)
def few_other_settings() -> Iterator[None]:
    """What would be enough is looked at for few budgets and sizes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_others", lambda _, knob: OTHERS[knob])
        yield


@functools.cache
def result_of(**changes: Any) -> Result:
    usual = {"n": 300, "pool_size": 300, "runs": 4, "mechanism": FEW, "epsilon_total": 1.0}
    params = plan.Params(**(usual | changes))
    rows = [outcomes_of(task) for task in plan.tasks(params, 1)]
    return plan.collect(params, {"outcomes": pd.concat(rows, ignore_index=True)})


@functools.cache
def outcomes_of(task: plan.Task) -> pd.DataFrame:
    """Of a data set; what is wanted of it makes no difference."""
    return plan.work(task)["outcomes"]


def test_mechanisms_are_ranked_by_what_the_goal_is_about() -> None:
    for changes in ({}, {"metric": "mae"}, {"goal": "error-below", "probability": 0.8}):
        found = result_of(**changes)
        assert found.tables["goal"].value.is_monotonic_increasing
        assert found.tables["goal"].mechanism.tolist() == found.tables["main"].mechanism.tolist()
        assert found.tables["main"].mechanism[0] == "noisy-counts"
        assert set(found.tables["main"].metric) == {changes.get("metric", "rmse")}
        assert "oisy counts is" in found.summary
        assert noisy_counts.RIVAL in plan.figures(found)["plan"].sentence


def test_every_mechanism_is_planned_or_it_is_said_why_not() -> None:
    named = set(plan.Params().planned)
    refused = result_of().tables["refused"].set_index("mechanism").why
    assert named | set(refused.index) | set(plan.NOT_ADVISED) == set(mechanisms.names())
    assert not named & set(refused.index)
    assert refused["private-summary-large-unit"].endswith("unit.")
    with pytest.raises(ParameterError, match="cannot serve uniform-mixture"):
        plan.Params(mechanism=("private-summary-large-unit",))


def test_a_goal_is_met_by_those_within_it() -> None:
    least = result_of().tables["goal"].value
    found = result_of(goal="error-below", wanted=float(least[1]) * 1.01)
    assert found.tables["main"].meets.tolist() == [True, True, False]
    assert found.summary.startswith("The goal is predicted to be met by 2 of 3 mechanisms with N =")
    hardly = result_of(goal="error-below", wanted=float(least[0]) * 1.001)
    assert hardly.summary.startswith("The goal is predicted to be met by 1 of 3 mechanisms with")
    assert "The interval reaches above what is wanted, so this is not certain." in hardly.summary


def test_a_plan_that_nothing_meets_says_what_would_be_enough_or_that_nothing_is() -> None:
    found = result_of(goal="error-below", wanted=1e-6)
    assert not found.tables["main"].meets.any()
    assert found.summary.startswith("No mechanism is predicted to meet the goal with N = 300")
    assert "at most 0.000001 is wanted." in found.summary
    for name in ("ε_total", "N"):
        assert f" No {name} that was looked at is predicted to be enough." in found.summary
    assert np.isinf(found.tables["enough"].enough).all()
    assert "predicted even at" in found.tables["enough"].why.iloc[0]
    somewhere = result_of(goal="error-below", wanted=0.01)
    enough = somewhere.tables["enough"].set_index(["mechanism", "knob"]).loc["noisy-counts", "n"]
    assert 300 < enough.enough_low < enough.enough < enough.enough_high < 20_000
    drawn = plan.figures(somewhere)
    assert list(drawn) == ["plan", "enough-budget", "enough-people"]
    title = drawn["enough-people"].figure.layout.title.text
    assert title == f"N = {enough.enough:,.0f} is predicted to be enough, with noisy counts"
    assert f"{title}." in somewhere.summary


def test_a_quantile_of_few_data_sets_has_no_upper_end_and_the_plan_says_so() -> None:
    found = result_of(goal="error-below", wanted=0.5, probability=0.99, runs=TRIED, pool_size=100)
    goal = found.tables["goal"]
    assert np.isinf(goal.value_high).all()
    assert (goal.value_low < goal.value).all()
    assert "(95 % interval" not in found.summary
    assert "so this is not certain." in found.summary
    assert np.isinf(found.tables["curve"].value_high).all()
    figure = plan.figures(found)["plan"].figure
    marks = [trace for trace in figure.data if trace.error_x.array is not None]
    ends = [trace.x[0] + trace.error_x.array[0] for trace in marks]
    assert ends == [pytest.approx(ends[0])] * len(goal), "to the end of the axis"


def test_what_would_be_enough_is_said_once_all_was_looked_at() -> None:
    left_out, looked_at = "epsilon_total", "n"
    params: Any = result_of(goal="error-below", wanted=1e-6).params
    tasks, missing = plan.tasks(params, 1), OTHERS[left_out][-1]
    rows = [outcomes_of(task) for task in tasks if getattr(task.params, left_out) != missing]
    found = plan.collect(params, {"outcomes": pd.concat(rows)})
    assert {*found.tables["enough"].knob} == {looked_at}
    assert views.enough_title(found, looked_at) in found.summary
    assert found.summary.count("to be enough") == 1


def test_what_another_plan_has_kept_alone_predicts_nothing_and_says_so() -> None:
    whole = result_of(goal="interval-below", mechanism=("noisy-counts",), runs=2, wanted=0.1)
    params: Any = whole.params
    # What a plan for another budget keeps comes before what is computed.
    kept = [outcomes_of(task) for task in plan.tasks(params, 1) if task.part == "budget"][:3]
    found = plan.collect(params, {"outcomes": pd.concat(kept)})
    assert {name: len(table) for name, table in found.tables.items() if len(table)} == {
        "refused": len(whole.tables["refused"]), "prior": 2,
    }  # fmt: skip
    (drawn,) = plan.figures(found).values()
    assert drawn.sentence == found.summary == views.NOT_YET
    assert commands_plan.lines(found, drawn.sentence)[0] == views.NOT_YET
    for name, table in found.tables.items():
        assert [*table.columns] == [*whole.tables[name].columns]


def test_that_nothing_is_clearly_better_than_the_prior_is_said() -> None:
    found = result_of(epsilon_total=0.001, n=10, mechanism=("gaussian-rejection",))
    assert not found.tables["main"].meets.any()
    title = "No mechanism is clearly better than the prior"
    assert found.summary.startswith(f"{title} with N = 10 and ε_total = 0.001. The root")
    assert plan.figures(found)["plan"].figure.layout.title.text == title


def test_a_value_has_no_intervals_and_the_plan_says_so() -> None:
    found = result_of(goal="interval-below", wanted=0.2, mechanism=VALUE, pool_size=100)
    goal = found.tables["goal"].set_index("mechanism")
    assert math.isinf(goal.value["embedding-estimate"])
    assert goal.index[-1] == "embedding-estimate"
    assert "embedding-estimate" not in set(found.tables["intervals"].mechanism)
    ticks = plan.figures(found)["plan"].figure.layout.yaxis.ticktext
    assert any("no draws" in text.replace("<br>", " ") for text in ticks)
    assert found.tables["intervals"].coverage.between(0.0, 1.0).all()


def test_intervals_that_miss_too_often_are_said_not_to_meet_the_goal() -> None:
    found = result_of(goal="interval-below", wanted=1e6, mechanism=("noisy-counts",))
    few = found.tables["intervals"].assign(coverage=0.5)
    tables = {**found.tables, "intervals": few, "main": found.tables["main"].assign(meets=False)}
    said = views.advice(dataclasses.replace(found, tables=tables))
    assert "Its intervals hold the truth in 50 % of cases." in said


def test_settings_are_tried_on_the_first_data_sets_and_predicted_on_others() -> None:
    parts = [task.part for task in plan.tasks(plan.Params(runs=TRIED + 3), 1)]
    assert parts == ["tried"] * TRIED + ["predicted"] * 3
    goal = plan.tasks(plan.Params(runs=TRIED + 3, goal="error-below"), 1)
    assert {task.part for task in goal} == {"tried", "budget", "size", "predicted"}
    # What is wanted changes no outcome, so that none is computed again.
    other = plan.tasks(plan.Params(runs=TRIED + 3, goal="error-below", wanted=0.5), 1)
    assert other == goal


@pytest.mark.parametrize(
    "changes",
    [
        {"n": 10, "epsilon_total": 0.001, "delta": 1e-12, "pool_size": 10, "runs": 2},
        {"n": 20_000, "epsilon_total": 1000.0, "delta": 0.01, "runs": 2, "metric": "mae"},
        {"goal": "interval-below", "wanted": 1e6, "runs": 2, "n": 10, "pool_size": 10},
    ],
)
def test_every_sentence_is_whole_at_the_extremes(changes: dict[str, Any]) -> None:
    found = result_of(**changes)
    for each in (found.summary, *(drawn.sentence for drawn in plan.figures(found).values())):
        assert "nan" not in each.split()
        assert "  " not in each
        assert each.endswith(".")
        assert len(each) < 1000
    assert len(found.summary) < 600


def test_units_that_differ_and_errors_in_several_units_are_said() -> None:
    found = result_of(
        scenario="covid-people",
        n=18,
        pool_size=60,
        runs=2,
        mechanism=("private-summary", "private-summary-large-unit"),
    )
    first, second = found.tables["main"].mechanism
    sentence = plan.figures(found)["plan"].sentence
    assert f"{second.replace('-', ' ').capitalize()} protects " in sentence
    assert f"{first.replace('-', ' ').capitalize()} protects " not in sentence
    assert "in prior standard deviations" in sentence
    assert noisy_counts.NO_RIVAL in sentence
