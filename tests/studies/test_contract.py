"""The contract of studies: one test for each promise, over the registry."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
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

from abcdp_core import runner, studies
from abcdp_core.figures import CaptionedFigure, one_line
from abcdp_core.output import files
from abcdp_core.output.tables import column_kinds
from abcdp_core.parameters import ParameterError, Params
from abcdp_core.results import Result, Tables
from abcdp_core.studies import Chunk, Experiment
from tests import results

SMALL: dict[str, Any] = {
    **{"n": 100, "pool_size": 200, "c": 3, "runs": 3, "draws": 30, "releases": 4, "noises": 20},
    **{"particles": 30, "iterations": 200, "candidates": 3, "observed_sets": 1},
    # Exact integration gives every seed the same.
    "integration": "monte-carlo",
}
"""Settings that make a study small enough to run here; used where it has such a parameter."""

# Settings where several can be listed.
SEVERAL: dict[str, Any] = {"sampler": ("smc", "mhaar"), "interval": ("adaptive", "fixed")}
SMALLER: dict[str, dict[str, Any]] = {
    "estimation-accuracy": {"n": 30, "runs": 2},
    "published-query": {"problem": "linear-regression", "simulations": 9000},
    "vector-truncation": {"n": 30, "dimension": (1, 3)},
}
"""Further settings of single studies."""

MEASURED = "seconds"
"""Column of measured times, which differ each time."""

CLOSED_FORM = ("accounting", "gaussian-loss", "ways-of-asking")
"""Studies that draw no random number."""

MAY_BE_EMPTY = ("chains", "published", "intervals", "enough", "curve", "refused")
"""Tables that are empty for some methods, scenarios or goals."""

CUT = {
    "adaptive-truncation": ("adaptive_truncation.LINKS", 1),
    "compare-mechanisms": ("compare_mechanisms.CHUNK", 2),
    "coverage": ("coverage.CHUNK", 2),
    "covid-fit": ("covid_fit.PART", 2),
    "distance-forms": ("distance_forms.PART", 7),
    "expected-error": ("expected_error.PART", 200_000),
    "vector-truncation": ("vector_truncation.LINK", 10),
}
"""Where a study defines the size of a part of a task, and another size."""

READERS = (
    *("change-one-person", "compare-mechanisms", "covid-fit", "error-bound", "expected-error"),
    *("gaussian-rejection", "many-releases", "mechanism-posterior", "mse-curves", "observed-data"),
    *("posterior", "soft-abc", "synthetic-data", "unit-of-privacy"),
)
"""Studies that read the private data."""

pytestmark = pytest.mark.parametrize("name", studies.names())


def small(name: str) -> Params:
    experiment = studies.load(name)
    known, usual = experiment.Params.specification(), vars(experiment.Params())
    chosen = {key: value for key, value in SMALL.items() if key in known}
    chosen |= {key: SEVERAL[key] for key in SEVERAL if isinstance(usual.get(key), tuple)}
    if isinstance(budgets := usual.get("epsilon_total"), tuple):
        chosen["epsilon_total"] = ends(budgets)
    chosen |= SMALLER.get(name, {})
    return experiment.Params(**chosen)


def ends(budgets: tuple[float, ...]) -> tuple[float, ...]:
    """Return the smallest and the largest, and infinity if it is listed."""
    finite = [budget for budget in budgets if math.isfinite(budget)]
    return tuple(budget for budget in budgets if budget in (min(finite), max(finite), math.inf))


@functools.cache
def result_of(name: str) -> Result:
    return runner.run_to_end(studies.load(name), small(name), 1)


@functools.cache
def figures_of(name: str) -> dict[str, CaptionedFigure]:
    """Draw the figures, and check that this leaves the result as it was."""
    result = result_of(name)
    before = {table: frame.copy() for table, frame in result.tables.items()}
    figures = studies.load(name).figures(result)
    for table, frame in before.items():
        assert_frame_equal(result.tables[table], frame, check_exact=True)
    return figures


def unmeasured(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=MEASURED, errors="ignore")


def links_of(experiment: Experiment, task: Any) -> Iterator[Tables]:
    """Yield the tables of each link of a task."""
    while task is not None:
        outcome = experiment.work(task)
        link = outcome if isinstance(outcome, Chunk) else Chunk(outcome, None)
        yield link.tables
        task = link.successor


def stored(experiment: Experiment, params: Params) -> set[Path]:
    """Return where a store keeps the tasks."""
    tasks = experiment.tasks(params, 1)
    paths = {entry.path for entry in runner.Store(Path()).entries(experiment, tasks)}
    assert len(paths) == len(tasks)
    return paths


def test_it_explains_itself(name: str) -> None:
    experiment = studies.load(name)
    assert name == experiment.EXPERIMENT
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert 10 <= len(experiment.TITLE) <= 80
    assert len((experiment.__doc__ or "").split()) > 40
    for parameter in experiment.Params.specification().values():
        assert parameter.label
        assert parameter.help.endswith(".")


def test_presets_are_allowed_and_survive_the_way_through_text(name: str) -> None:
    experiment = studies.load(name)
    for preset in [*experiment.PRESETS.values(), experiment.Params()]:
        assert isinstance(preset, experiment.Params)
        assert experiment.Params.from_text(preset.to_text()) == preset
        assert experiment.tasks(preset, 1)


def test_tasks_are_plain_data_that_follows_from_parameters_and_seed(name: str) -> None:
    experiment = studies.load(name)
    tasks = experiment.tasks(small(name), 1)
    assert tasks == experiment.tasks(small(name), 1)
    assert tasks != experiment.tasks(small(name), 2)
    assert pickle.loads(pickle.dumps(tasks)) == tasks
    for task in tasks:
        json.dumps(dataclasses.asdict(task))
        assert type(task).__dataclass_params__.frozen


def test_more_runs_leave_the_stored_tasks_of_the_first_ones_valid(name: str) -> None:
    experiment, params = studies.load(name), small(name)
    if "runs" in params.specification():
        few, many = (stored(experiment, changed(params, "runs", runs)) for runs in (10, 20))
        assert len(many) == len(few) or few < many


def test_tables_have_the_columns_they_should_have_each_of_one_kind(name: str) -> None:
    result = result_of(name)
    columns = {table: tuple(frame.columns) for table, frame in result.tables.items()}
    assert columns == studies.load(name).COLUMNS
    assert next(iter(columns)) == "main"
    for table, frame in result.tables.items():
        assert len(frame) > 0 or table in MAY_BE_EMPTY
        column_kinds(frame)
        assert list(frame.index) == list(range(len(frame)))


def test_every_task_gives_every_table(name: str) -> None:
    """So that a partial result has all that a complete one has."""
    experiment = studies.load(name)
    task, *_ = experiment.tasks(small(name), 1)
    parts = list(links_of(experiment, task))
    assert len(parts) == getattr(task, "links", 1)
    for count in {1, min(2, len(parts)), len(parts)}:
        partial = experiment.collect(small(name), runner.joined(parts[:count]))
        assert set(partial.tables) == set(experiment.COLUMNS)
        assert experiment.figures(partial)


def test_the_size_of_its_parts_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name not in CUT:
        return
    whole = result_of(name)
    place, size = CUT[name]
    monkeypatch.setattr(f"abcdp_core.studies.{place}", size)
    parted = runner.run_to_end(studies.load(name), small(name), 1)
    assert parted.total != whole.total
    both = [unmeasured(each.tables["main"]) for each in (parted, whole)]
    assert_frame_equal(*(each.sort_values([*each], ignore_index=True) for each in both))
    assert parted.summary == whole.summary


def test_another_seed_gives_another_result(name: str) -> None:
    """It is enough that one link of one task differs."""
    if name in CLOSED_FORM:
        return
    experiment = studies.load(name)
    pairs = zip(*(experiment.tasks(small(name), seed) for seed in (1, 2)), strict=True)
    links = (zip(*(links_of(experiment, task) for task in pair), strict=True) for pair in pairs)
    assert any(
        not unmeasured(frame).equals(unmeasured(second[table]))
        for first, second in itertools.chain.from_iterable(links)
        for table, frame in first.items()
    )


def test_the_same_seed_gives_the_same_result_and_a_store_changes_nothing(
    name: str, tmp_path: Path
) -> None:
    expected = result_of(name)
    for _ in ("computed again, filling the store", "taken from it"):
        *_, result = runner.run(studies.load(name), small(name), 1, store=runner.Store(tmp_path))
        assert dataclasses.replace(result, tables={}) == dataclasses.replace(expected, tables={})
        assert result.tables.keys() == expected.tables.keys()
        for table, frame in expected.tables.items():
            both = unmeasured(result.tables[table]), unmeasured(frame)
            assert_frame_equal(*both, check_exact=True)


def test_private_data_are_read_where_they_are_the_question_and_nowhere_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = studies.load(name)
    results.without_private_data(monkeypatch)
    # A seed for which nothing is stored yet.
    task, *_ = experiment.tasks(small(name), 3)
    with pytest.raises(ZeroDivisionError) if name in READERS else contextlib.nullcontext():
        assert list(links_of(experiment, task))


def test_figures_are_drawn_from_the_result_alone_even_when_saved(name: str, tmp_path: Path) -> None:
    result, figures = result_of(name), figures_of(name)
    files.write(result, figures, tmp_path, ("csv", "json"))
    saved = files.read(tmp_path, name)
    for table, frame in result.tables.items():
        assert_frame_equal(saved.tables[table], frame, check_exact=True)
    assert dataclasses.replace(saved, tables={}) == dataclasses.replace(result, tables={})
    again = studies.load(name).figures(saved)
    assert again.keys() == figures.keys()
    for key, each in figures.items():
        assert again[key].sentence == each.sentence
        assert again[key].figure.to_json() == each.figure.to_json()


def test_figures_have_titles_names_and_few_points_and_no_look_of_their_own(name: str) -> None:
    assert figures_of(name)
    for key, each in figures_of(name).items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key)
        layout, traces = each.figure.layout, each.figure.data
        assert layout.title.text
        assert layout.template.layout.colorway, "the shared template"
        assert not layout.margin.to_plotly_json()
        assert not layout.legend.to_plotly_json().keys() - {"itemsizing", "traceorder"}
        assert layout.title.to_plotly_json().keys() <= {"text", "subtitle"}
        assert all(trace.name for trace in traces)
        assert sum(len(trace.x) for trace in traces if trace.x is not None) < 20_000
        # Lists of numbers are slow to send.
        places = [trace.x for trace in traces if trace.x is not None]
        assert all(isinstance(x, np.ndarray) or isinstance(x[0], str) for x in places)


def test_a_summary_is_one_short_paragraph_and_every_figure_has_its_own(name: str) -> None:
    result, figures = result_of(name), figures_of(name)
    assert re.search(r"\d", result.summary)
    sentences = [each.sentence for each in figures.values()]
    # One study has two figures of the same numbers, as boxes and as a mean error.
    assert len(set(sentences)) == len(sentences) or name == "estimation-accuracy"
    for text in (result.summary, result.privacy, *sentences):
        assert 10 < len(text) < (1000 if text in sentences else 600)
        assert text.endswith(".")
        assert not re.search(r"[*`\n<>]", text)


QUICK = ("epsilon_total", "epsilon_abc")
OTHERS = ("c", "delta", "sigma", "mu", "wanted", "bound_quantile")
"""Parameters that are set to their smallest and largest value, each by itself."""

HOLE = re.compile(
    r"\b(nan|inf|None|NaT)\b|-0\b(?!\.)|\b1 (runs|draws|people|samples|data sets)\b|  "
)
"""Texts that no sentence has."""


def changed(params: Params, name: str, value: Any) -> Params:
    """Return the parameters with one at another value, the only one where it lists several."""
    many = isinstance(vars(params)[name], tuple)
    return dataclasses.replace(params, **{name: (value,) if many else value})


def extremes(params: Params, names: tuple[str, ...]) -> Iterator[Params]:
    """Yield as few of everything as possible, then each end of some parameters by itself."""
    few = params
    for name, value in vars(params).items():
        if isinstance(value, tuple):
            few = changed(few, name, value[0])
    for name in {"runs", "draws", "data_sets", "releases"} & set(vars(few)):
        with contextlib.suppress(ParameterError):
            few = changed(few, name, int(few.specification()[name].low))
    yield few
    specification = few.specification(getattr(few, "scenario", None))
    for name in set(names) & set(specification):
        parameter = specification[name]
        kind = int if parameter.kind == "integer" else float
        for value in (parameter.low, parameter.high, math.inf):
            # Some ends are not allowed together with other settings.
            with contextlib.suppress(ParameterError, OverflowError):
                yield changed(few, name, kind(value))


@pytest.mark.parametrize("ends", [QUICK, pytest.param(OTHERS, marks=pytest.mark.slow)])
def test_texts_have_no_hole_at_the_ends(name: str, ends: tuple[str, ...]) -> None:
    for params in (small(name), *extremes(small(name), ends)):
        try:
            result = runner.run_to_end(studies.load(name), params, 1)
        except ParameterError:
            continue
        drawn = studies.load(name).figures(result)
        texts = [result.summary, result.privacy, *(each.sentence for each in drawn.values())]
        for text in (*texts, *(one_line(each.figure) for each in drawn.values())):
            assert text
            assert not HOLE.search(text), (params, text)
