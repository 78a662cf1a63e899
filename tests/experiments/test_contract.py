"""What every experiment owes, whichever they are: one test for each promise, over the registry."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import math
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from abcdp_core import experiments, runner
from abcdp_core.experiments import Experiment, Link
from abcdp_core.figures import Drawn, one_line
from abcdp_core.output import files
from abcdp_core.output.tables import column_kinds
from abcdp_core.parameters import Parameter, ParameterError, Params
from abcdp_core.results import Result, Tables

# What makes an experiment small enough to be run here; taken where it has such a parameter.
SMALL: dict[str, Any] = {
    "n": 100,
    "pool_size": 200,
    "c": 3,
    "runs": 3,
    "draws": 30,
    "releases": 4,
    "noises": 20,
    "particles": 30,
    "iterations": 200,
    "candidates": 3,
    "observed_sets": 1,
    # Exact integration gives every seed the same.
    "integration": "monte-carlo",
}
# Where one of these can be chosen several times, all that are to be looked at.
SEVERAL: dict[str, Any] = {
    "sampler": ("smc", "mhaar"),
    "interval": ("adaptive", "fixed"),
}
SMALLER: dict[str, dict[str, Any]] = {
    # Two samplers in two intervals at two budgets.
    "estimation-accuracy": {"n": 30, "runs": 2},
    # Its first parts have too few draws each.
    "published-query": {"problem": "sir-epidemic", "simulations": 2500},
}
"""What single experiments need beyond that."""

MEASURED = ("seconds",)
"""Columns that hold a time measured: different each time, so left out of exact comparisons."""

CLOSED_FORM = ("accounting", "gaussian-loss", "ways-of-asking")
"""Experiments that draw no random number."""

MAY_BE_EMPTY = ("chains", "published", "intervals", "enough", "curve", "refused")
"""Tables that some methods, scenarios or goals have no row of."""

pytestmark = pytest.mark.parametrize("name", experiments.names())


def small(name: str) -> Params:
    experiment = experiments.load(name)
    known, usual = experiment.Params.specification(), vars(experiment.Params())
    chosen = {key: value for key, value in SMALL.items() if key in known}
    chosen |= {key: SEVERAL[key] for key in SEVERAL if isinstance(usual.get(key), tuple)}
    if isinstance(budgets := usual.get("epsilon_total"), tuple):
        chosen["epsilon_total"] = ends(budgets)
    chosen |= SMALLER.get(name, {})
    return experiment.Params(**chosen)


def ends(budgets: tuple[float, ...]) -> tuple[float, ...]:
    """The smallest and the largest, and the one without noise if it is there."""
    finite = [budget for budget in budgets if math.isfinite(budget)]
    return tuple(budget for budget in budgets if budget in (min(finite), max(finite), math.inf))


@functools.cache
def result_of(name: str) -> Result:
    return runner.run_to_end(experiments.load(name), small(name), 1)


@functools.cache
def figures_of(name: str) -> dict[str, Drawn]:
    """Its figures, which leave the result that they are drawn from as it was."""
    result = result_of(name)
    before = {table: frame.copy() for table, frame in result.tables.items()}
    figures = experiments.load(name).figures(result)
    for table, frame in before.items():
        assert_frame_equal(result.tables[table], frame, check_exact=True)
    return figures


def assert_same_tables(first: Result, second: Result) -> None:
    assert first.tables.keys() == second.tables.keys()
    for table in first.tables:
        assert_frame_equal(
            unmeasured(first.tables[table]), unmeasured(second.tables[table]), check_exact=True
        )


def unmeasured(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=[column for column in MEASURED if column in frame])


def links_of(experiment: Experiment, task: Any) -> Iterator[Tables]:
    """The tables of a task: of each link, where it is a chain."""
    while task is not None:
        outcome = experiment.work(task)
        link = outcome if isinstance(outcome, Link) else Link(outcome, None)
        yield link.tables
        task = link.successor


def drawn(figures: dict[str, Drawn]) -> dict[str, tuple[str, str]]:
    return {key: (each.figure.to_json(), each.sentence) for key, each in figures.items()}


# ---------------------------------------------------------------- what it says


def test_it_explains_itself(name: str) -> None:
    experiment = experiments.load(name)
    assert name == experiment.EXPERIMENT
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert 10 <= len(experiment.TITLE) <= 80
    assert len((experiment.__doc__ or "").split()) > 40, "the theory that its page shows"


def test_every_parameter_can_be_shown(name: str) -> None:
    for parameter in experiments.load(name).Params.specification().values():
        assert parameter.label
        assert parameter.help.endswith(".")


def test_presets_are_allowed_and_survive_the_way_through_text(name: str) -> None:
    experiment = experiments.load(name)
    for preset in [*experiment.PRESETS.values(), experiment.Params()]:
        assert isinstance(preset, experiment.Params)
        assert dataclasses.replace(preset) == preset
        assert experiment.Params.from_text(preset.to_text()) == preset
        assert experiment.tasks(preset, 1)


# ---------------------------------------------------------------- what it does


def test_tasks_are_plain_data_that_follows_from_parameters_and_seed(name: str) -> None:
    experiment = experiments.load(name)
    tasks = experiment.tasks(small(name), 1)
    assert tasks == experiment.tasks(small(name), 1)
    assert tasks != experiment.tasks(small(name), 2)
    assert pickle.loads(pickle.dumps(tasks)) == tasks
    for task in tasks:
        json.dumps(dataclasses.asdict(task))
        assert type(task).__dataclass_params__.frozen
    paths = {entry.path for entry in runner.Store(Path()).entries(experiment, tasks)}
    assert len(paths) == len(tasks), "a store tells them apart"


def test_more_runs_leave_the_stored_tasks_of_the_first_ones_valid(name: str) -> None:
    experiment = experiments.load(name)
    if "runs" not in experiment.Params.specification():
        return
    few, many = (
        experiment.tasks(dataclasses.replace(small(name), runs=runs), 1)  # type: ignore[call-arg]
        for runs in (10, 20)
    )
    stored = [
        {entry.path for entry in runner.Store(Path()).entries(experiment, tasks)}
        for tasks in (few, many)
    ]
    assert len(many) == len(few) or stored[0] < stored[1]


def test_tables_have_the_columns_they_should_have_each_of_one_kind(name: str) -> None:
    result = result_of(name)
    columns = {table: tuple(frame.columns) for table, frame in result.tables.items()}
    assert columns == experiments.load(name).COLUMNS
    assert next(iter(columns)) == "main"
    for table, frame in result.tables.items():
        assert len(frame) > 0 or table in MAY_BE_EMPTY
        column_kinds(frame)
        assert list(frame.index) == list(range(len(frame)))


def test_every_task_gives_every_table(name: str) -> None:
    """So that a partial result has all that a complete one has."""
    experiment = experiments.load(name)
    for task in experiment.tasks(small(name), 1)[:3]:
        parts = list(links_of(experiment, task))
        assert len(parts) == getattr(task, "links", 1)
        for count in {1, min(2, len(parts)), len(parts)}:
            partial = experiment.collect(small(name), runner._joined(parts[:count]))
            assert set(partial.tables) == set(experiment.COLUMNS)
            assert experiment.figures(partial)


def test_another_seed_gives_another_result(name: str) -> None:
    """That of a single task is enough."""
    if name in CLOSED_FORM:
        return
    experiment = experiments.load(name)
    pairs = zip(*(experiment.tasks(small(name), seed) for seed in (1, 2)), strict=True)
    partial = (
        [experiment.collect(small(name), rows).tables for rows in both]
        for pair in pairs
        for both in zip(*(links_of(experiment, task) for task in pair), strict=True)
    )
    assert any(
        not unmeasured(frame).equals(unmeasured(second[table]))
        for first, second in partial
        for table, frame in first.items()
    )


def test_the_same_seed_gives_the_same_result_and_a_store_changes_nothing(
    name: str, tmp_path: Path
) -> None:
    experiment = experiments.load(name)
    for _ in ("computed again, filling the store", "taken from it"):
        *_, result = runner.run(experiment, small(name), 1, store=runner.Store(tmp_path))
        assert_same_tables(result, result_of(name))
        assert result.summary == result_of(name).summary
        assert result.privacy == result_of(name).privacy


SAID_TOGETHER = {"estimation-accuracy"}
"""Experiments with two figures of the same numbers, as boxes and as their mean error."""


# -------------------------------------------------------------- what it found


def test_the_summary_is_one_short_paragraph(name: str) -> None:
    result = result_of(name)
    assert 20 < len(result.summary) < 600
    assert "\n" not in result.summary
    assert result.summary.endswith(".")
    assert re.search(r"\d", result.summary)
    assert not re.search(r"\bnan\b", result.summary)
    assert 10 < len(result.privacy) < 600
    assert "\n" not in result.privacy


def test_figures_are_drawn_from_the_result_alone_even_when_saved(name: str, tmp_path: Path) -> None:
    result = result_of(name)
    figures = figures_of(name)
    assert figures
    files.write(result, figures, tmp_path, ("csv", "json"))
    saved = files.read(tmp_path, name)
    assert_same_tables(saved, result)
    for column in MEASURED:
        assert all(
            column not in frame or frame[column].equals(saved.tables[table][column])
            for table, frame in result.tables.items()
        )
    assert dataclasses.replace(saved, tables={}) == dataclasses.replace(result, tables={})
    assert drawn(experiments.load(name).figures(saved)) == drawn(figures)


def test_figures_have_titles_names_and_few_points(name: str) -> None:
    for key, each in figures_of(name).items():
        figure = each.figure
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key)
        assert figure.layout.title.text
        assert figure.layout.template.layout.colorway, "the shared template"
        assert all(trace.name for trace in figure.data)
        assert sum(len(trace.x) for trace in figure.data if trace.x is not None) < 20_000
        for trace in figure.data:
            words = trace.x is None or all(isinstance(item, str) for item in trace.x)
            assert words or isinstance(trace.x, np.ndarray), "lists of numbers are slow to send"


def test_every_figure_has_a_sentence_of_its_own_without_markup(name: str) -> None:
    every = figures_of(name)
    assert len({each.sentence for each in every.values()}) == len(every) or name in SAID_TOGETHER
    for each in every.values():
        assert 20 < len(each.sentence) < 1000
        assert each.sentence.endswith(".")
        assert not re.search(r"[*`\n<>]|\bnan\b", each.sentence)


def test_looks_are_left_to_the_one_place_for_them(name: str) -> None:
    for each in figures_of(name).values():
        layout = each.figure.layout
        assert not layout.margin.to_plotly_json()
        assert not layout.legend.to_plotly_json().keys() - {"itemsizing", "traceorder"}
        assert layout.title.to_plotly_json().keys() <= {"text", "subtitle"}


def test_no_number_of_a_table_is_missing_where_it_should_be_there(name: str) -> None:
    """A missing real is an interval, a frequency of no trial, or a number that cannot be.

    A released estimate accepts no draws and rejects none, and not every mechanism has a threshold.
    One without a setting to choose is not tried. A truncated answer has no table of symbols, and
    a table of symbols no interval.
    """
    for table, frame in result_of(name).tables.items():
        for column, values in frame.items():
            if not pd.api.types.is_float_dtype(values) or not values.isna().any():
                continue
            if (name, table, column) == ("compare-mechanisms", "grid", "mse"):
                # Where there is a choice there are several rows, and all of them have an error.
                rows = frame.groupby(["mechanism", "epsilon_total", "c"]).mse
                assert set(rows.transform("size")[values.isna()]) == {1}
                continue
            assert re.search(
                r"_low|_high|in_run|ratio|paper_|accepted|epsilon_abc|symbols|bound|^[ab]$|between",
                str(column),
            ), f"{table}: {column}"


# ------------------------------------------------------ at the ends of what may be set


ENDS = ("epsilon_total", "epsilon_abc", "c", "delta", "sigma", "mu", "wanted", "bound_quantile")
"""Parameters that are set to their smallest and largest value, each by itself."""

HOLE = re.compile(
    r"\b(nan|inf|None|NaT)\b|-0\b(?!\.)|\b1 (runs|draws|people|samples|data sets)\b|  "
)
"""Texts that no sentence has."""


def changed(params: Params, name: str, value: Any) -> Params:
    """The parameters with one of them at another value; the only one where it lists several."""
    many = isinstance(vars(params)[name], tuple)
    return dataclasses.replace(params, **{name: (value,) if many else value})


def limits(parameter: Parameter) -> Iterator[float]:
    yield from (parameter.low, parameter.high, *(s for s in parameter.special if s == math.inf))


def extremes(params: Params) -> Iterator[Params]:
    """As few of everything as may be, then each end of some parameters by itself."""
    few = params
    for name, value in vars(params).items():
        if isinstance(value, tuple):
            few = changed(few, name, value[0])
    for name in ("runs", "draws", "data_sets", "releases"):
        if name in vars(few):
            with contextlib.suppress(ParameterError):
                few = changed(few, name, int(few.specification()[name].low))
    yield few
    specification = few.specification(getattr(few, "scenario", None))
    for name in ENDS:
        for value in limits(specification[name]) if name in specification else ():
            kind = int if specification[name].kind == "integer" else float
            with contextlib.suppress(ParameterError, OverflowError):
                yield changed(few, name, kind(value))


def test_texts_have_no_hole_at_the_ends(name: str) -> None:
    experiment = experiments.load(name)
    for params in extremes(small(name)):
        try:
            result = runner.run_to_end(experiment, params, 1)
        except ParameterError:
            # Some ends cannot be had together with others.
            continue
        drawn = experiment.figures(result)
        texts = [result.summary, result.privacy, *(each.sentence for each in drawn.values())]
        for text in (*texts, *(one_line(each.figure) for each in drawn.values())):
            assert text
            assert not HOLE.search(text), (params, text)
