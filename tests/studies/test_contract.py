"""The contract of studies: one test for each promise, over the registry and the documented example.

Nothing passes in silence: where a promise is not for every study, a list says for which, and the
test fails if the list is wrong.
"""

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

from abcdp_core import studies
from abcdp_core.base import cache, registry
from abcdp_core.base.parameters import ParameterError, Params
from abcdp_core.figures import CaptionedFigure, one_line
from abcdp_core.publish.output import files
from abcdp_core.publish.output.tables import column_kinds
from abcdp_core.run import runner
from abcdp_core.run.results import Result, Tables
from abcdp_core.run.tasks import Chunk
from abcdp_core.studies import Experiment
from tests import results
from tests.studies.engine import own_study

SMALL: dict[str, Any] = {
    **{"n": 100, "pool_size": 200, "c": 3, "runs": 3, "draws": 30, "releases": 4, "noises": 20},
    **{"particles": 30, "iterations": 200, "candidates": 3, "observed_sets": 1},
    # Exact integration gives every seed the same.
    "integration": "monte-carlo",
}
"""Settings that make a study small enough to run here; used where it has such a parameter."""

SMALLER: dict[str, dict[str, Any]] = {
    "estimation-accuracy": {"n": 30, "runs": 2, "sampler": ("smc", "mhaar")},
    "published-query": {"problem": "linear-regression", "simulations": 9000},
    "vector-truncation": {"n": 30, "dimension": (1, 3)},
    # So that the number of kept draws depends on chance.
    own_study.NAME: {"n": 5000, "c": 50},
}
"""Further settings of single studies."""

MEASURED = "seconds"
"""Column of measured times, which differ each time."""

CLOSED_FORM = ("accounting", "gaussian-loss", "refereed-posteriors", "ways-of-asking")
"""Studies that draw no random number."""

EMPTY = {
    ("compare-mechanisms", "published"),
    *(("plan", table) for table in ("intervals", "enough", "curve")),
}
"""Tables without a row at these settings."""

CUT = {
    "adaptive-truncation": ("LINKS", 1),
    "compare-mechanisms": ("CHUNK", 2),
    "coverage": ("CHUNK", 2),
    "covid-fit": ("PART", 2),
    "distance-forms": ("PART", 7),
    "estimation-accuracy": ("computing.LINKS", 3),
    "expected-error": ("PART", 200_000),
    "vector-truncation": ("LINK", 10),
}
"""Study that works in parts -> where it defines their size or number, and another value."""

RANDOM_BY_PART = ("estimation-accuracy",)
"""Studies of which each part has its own random numbers: those of a chain's next iterations."""

ONE_TASK = {
    *("covid-fit", "error-bound", "tuberculosis-posterior", "tuberculosis-soft"),
    "unit-of-privacy",
}
"""Studies that do all their runs in one task."""

READERS = (
    *("change-one-person", "compare-mechanisms", "covid-fit", "error-bound", "expected-error"),
    *("gaussian-rejection", "many-releases", "mechanism-posterior", "mse-curves", "observed-data"),
    *("posterior", "soft-abc", "synthetic-data", "unit-of-privacy", own_study.NAME),
)
"""Studies that read the private data."""

NAMES = sorted({*studies.names(), own_study.NAME})


@pytest.fixture(scope="module", autouse=True)
def example_in_the_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let the folder of studies hold the example of ``docs/own_study.md``, too."""
    folder = tmp_path_factory.mktemp("studies")
    own_study.write(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(studies, "__path__", [*studies.__path__, str(folder)])
        registry.forget()
        yield
    registry.forget()


@pytest.fixture(params=NAMES)
def study(request: pytest.FixtureRequest) -> Experiment:
    found = studies.load(request.param)
    assert request.param == found.EXPERIMENT
    return found


@functools.cache
def small(study: Experiment) -> Params:
    """Return few runs of little data, with the first and the last value of each list."""
    usual = vars(study.Params())
    lists = {key: value for key, value in usual.items() if isinstance(value, tuple)}
    chosen = {key: tuple(dict.fromkeys((value[0], value[-1]))) for key, value in lists.items()}
    chosen |= {key: value for key, value in SMALL.items() if key in usual}
    return study.Params(**chosen | SMALLER.get(study.EXPERIMENT, {}))


def store() -> runner.Store:
    """Return where this test run keeps finished tasks."""
    return runner.Store(cache.folder() / "contract")


def run(study: Experiment) -> Result:
    *_, result = runner.run(study, small(study), 1, store=store())
    return result


@functools.cache
def result_of(study: Experiment) -> Result:
    result = run(study)
    assert result.kept == 0, "computed here"
    return result


@functools.cache
def first_task_of(study: Experiment) -> list[Tables]:
    """Return the tables of each link of the first task, computed again."""
    task, *_ = study.tasks(small(study), 1)
    return list(links_of(study, task))


@functools.cache
def figures_of(study: Experiment) -> dict[str, CaptionedFigure]:
    """Draw the figures, and check that this leaves the result as it was."""
    result = result_of(study)
    before = {table: frame.copy() for table, frame in result.tables.items()}
    figures = study.figures(result)
    for table, frame in before.items():
        assert_frame_equal(result.tables[table], frame, check_exact=True)
    return figures


def unmeasured(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=MEASURED, errors="ignore")


def links_of(study: Experiment, task: Any) -> Iterator[Tables]:
    """Yield the tables of each link of a task."""
    while task is not None:
        outcome = study.work(task)
        link = outcome if isinstance(outcome, Chunk) else Chunk(outcome, None)
        yield link.tables
        task = link.successor


def changed(params: Params, name: str, value: Any) -> Params:
    """Return the parameters with one at another value, the only one where it lists several."""
    many = isinstance(vars(params)[name], tuple)
    return dataclasses.replace(params, **{name: (value,) if many else value})


def test_it_explains_itself(study: Experiment) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", study.EXPERIMENT)
    assert 10 <= len(study.TITLE) <= 80
    assert len((study.__doc__ or "").split()) > 40
    for parameter in study.Params.specification().values():
        assert parameter.label
        assert parameter.help.endswith(".")


def test_presets_are_allowed_and_survive_the_way_through_text(study: Experiment) -> None:
    for preset in [*study.PRESETS.values(), study.Params()]:
        assert isinstance(preset, study.Params)
        assert study.Params.from_text(preset.to_text()) == preset
        assert study.tasks(preset, 1)


def test_tasks_are_plain_data_that_follows_from_parameters_and_seed(study: Experiment) -> None:
    tasks = study.tasks(small(study), 1)
    assert tasks == study.tasks(small(study), 1)
    assert tasks != study.tasks(small(study), 2)
    assert pickle.loads(pickle.dumps(tasks)) == tasks
    for task in tasks:
        json.dumps(dataclasses.asdict(task))
        assert type(task).__dataclass_params__.frozen


def test_more_runs_leave_the_stored_tasks_of_the_first_ones_valid() -> None:
    in_one_task = set()
    for study in map(studies.load, NAMES):
        if "runs" in vars(small(study)):
            asked = (study.tasks(changed(small(study), "runs", runs), 1) for runs in (20, 40))
            few, many = ({each.path for each in store().entries(study, tasks)} for tasks in asked)
            assert few < many or len(few) == len(many) == 1, study.EXPERIMENT
            in_one_task |= {study.EXPERIMENT} if len(many) == 1 else set()
    assert in_one_task == ONE_TASK


def test_tables_have_the_columns_they_should_have_each_of_one_kind(study: Experiment) -> None:
    tables = result_of(study).tables
    assert {table: tuple(frame.columns) for table, frame in tables.items()} == study.COLUMNS
    assert next(iter(tables)) == "main"
    for table, frame in tables.items():
        assert frame.empty == ((study.EXPERIMENT, table) in EMPTY), table
        column_kinds(frame)
        assert list(frame.index) == list(range(len(frame)))


def test_every_task_gives_every_table(study: Experiment) -> None:
    """So that a partial result has all that a complete one has."""
    parts, (task, *others) = first_task_of(study), study.tasks(small(study), 1)
    assert len(parts) == getattr(task, "links", 1)
    first = study.collect(small(study), parts[0])
    assert set(first.tables) == set(study.COLUMNS)
    if others or len(parts) > 1:
        assert study.figures(first)


def sizes_of_parts(source: str) -> list[str]:
    """Return the names of constants that say how a source cuts its work into parts."""
    return re.findall(r"^((?:CHUNK|LINK|PART)S?)\b.* = ", source, re.MULTILINE)


def test_studies_that_work_in_parts_are_listed_as_such() -> None:
    assert sizes_of_parts("PART: int = 7\nPARTY = 3\nx = PART\n") == ["PART"]
    for name in NAMES:
        module = Path(studies.load(name).__file__)
        sources = module.parent.rglob("*.py") if module.stem == "__init__" else [module]
        found = [size for each in sources for size in sizes_of_parts(each.read_text("utf-8"))]
        listed = [CUT[name][0].rpartition(".")[2]] if name in CUT else []
        assert found == listed, f"{name}: list in CUT how it cuts its work"


@pytest.mark.parametrize("name", CUT)
def test_the_size_of_its_parts_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study, (place, size) = studies.load(name), CUT[name]
    whole = result_of(study)
    monkeypatch.setattr(f"{study.__name__}.{place}", size)
    parted = runner.run_to_end(study, small(study), 1)
    assert parted.total != whole.total
    both = [unmeasured(each.tables["main"]) for each in (parted, whole)]
    with pytest.raises(AssertionError) if name in RANDOM_BY_PART else contextlib.nullcontext():
        assert_frame_equal(*(each.sort_values([*each], ignore_index=True) for each in both))
        assert parted.summary == whole.summary


def test_another_seed_gives_another_result_unless_nothing_is_random(study: Experiment) -> None:
    """It is enough that one task differs."""
    first, second = (study.tasks(small(study), seed) for seed in (1, 2))
    assert result_of(study).total >= len(first)
    known = [store().load(entry) for entry in store().entries(study, first)]
    assert all(known)
    differs = any(
        not unmeasured(frame).equals(unmeasured(tables[table]))
        for tables, task in zip(known, second, strict=True)
        for table, frame in runner.joined(list(links_of(study, task))).items()
    )
    assert differs == (study.EXPERIMENT not in CLOSED_FORM)


def test_the_same_seed_gives_the_same_result_and_a_store_changes_nothing(study: Experiment) -> None:
    expected, again = result_of(study), run(study)
    assert again.kept == again.total, "all taken from the store"
    same = {"tables": {}, "kept": 0}
    assert dataclasses.replace(again, **same) == dataclasses.replace(expected, **same)
    (entry, *_) = store().entries(study, study.tasks(small(study), 1))
    computed_again = runner.joined(first_task_of(study))
    for one, other in (again.tables, expected.tables), (store().load(entry), computed_again):
        assert one.keys() == other.keys()
        for table, frame in one.items():
            assert_frame_equal(unmeasured(frame), unmeasured(other[table]), check_exact=True)


def test_private_data_are_read_where_they_are_the_question_and_nowhere_else(
    study: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    results.without_private_data(monkeypatch)
    # A seed for which nothing is stored yet.
    task, *_ = study.tasks(small(study), 3)
    reads = study.EXPERIMENT in READERS
    with pytest.raises(ZeroDivisionError) if reads else contextlib.nullcontext():
        assert list(links_of(study, task))


def test_figures_are_drawn_from_the_result_alone_even_when_saved(
    study: Experiment, tmp_path: Path
) -> None:
    result, figures = result_of(study), figures_of(study)
    files.write(result, figures, tmp_path, ("csv", "json"))
    saved = files.read(tmp_path, study.EXPERIMENT)
    for table, frame in result.tables.items():
        assert_frame_equal(saved.tables[table], frame, check_exact=True)
    assert dataclasses.replace(saved, tables={}) == dataclasses.replace(result, tables={})
    again = study.figures(saved)
    assert again.keys() == figures.keys()
    for key, each in figures.items():
        assert again[key].sentence == each.sentence
        assert again[key].figure.to_json() == each.figure.to_json()


def test_figures_have_titles_names_and_few_points_and_no_look_of_their_own(
    study: Experiment,
) -> None:
    assert figures_of(study)
    for key, each in figures_of(study).items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key)
        layout, traces = each.figure.layout, each.figure.data
        assert layout.title.text
        assert layout.template.layout.colorway, "the shared template"
        assert not layout.margin.to_plotly_json()
        assert not layout.legend.to_plotly_json().keys() - {"itemsizing", "traceorder"}
        assert layout.title.to_plotly_json().keys() <= {"text", "subtitle"}
        assert all(trace.name for trace in traces)
        places = [trace.x for trace in traces if trace.x is not None]
        assert sum(map(len, places)) < 20_000
        # Lists of numbers are slow to send.
        assert all(isinstance(x, np.ndarray) or isinstance(x[0], str) for x in places)


def test_a_summary_is_one_short_paragraph_and_every_figure_has_its_own(study: Experiment) -> None:
    result = result_of(study)
    assert re.search(r"\d", result.summary)
    sentences = [each.sentence for each in figures_of(study).values()]
    assert len(set(sentences)) == len(sentences)
    for text in (result.summary, result.privacy, *sentences):
        assert 10 < len(text) < (1000 if text in sentences else 600)
        assert text.endswith(".")
        assert not re.search(r"[*`\n<>]", text)


HOLE = re.compile(
    r"\b(nan|inf|None|NaT)\b|-0\b(?!\.)|\b1 (runs|draws|people|samples|data sets)\b|  "
)
"""Texts that no sentence has."""

ENDS = {
    *("epsilon_total", "epsilon_abc", "c", "delta", "sigma", "mu", "wanted"),
    "bound_quantile",
}
"""Parameters that are set to their smallest and largest value, each by itself."""


def fewest(params: Params) -> Params:
    """Return as few of everything as possible."""
    for name, value in vars(params).items():
        if isinstance(value, tuple):
            params = changed(params, name, value[0])
    for name in {"runs", "draws", "data_sets", "releases"} & set(vars(params)):
        with contextlib.suppress(ParameterError):
            params = changed(params, name, int(params.specification()[name].low))
    return params


def extremes(params: Params) -> Iterator[Params]:
    """Yield the parameters with the ends of some of them, each by itself."""
    specification = params.specification(getattr(params, "scenario", None))
    for name in ENDS & set(specification):
        parameter = specification[name]
        kind = int if parameter.kind == "integer" else float
        for value in (parameter.low, parameter.high, math.inf):
            # Some ends are not allowed together with other settings.
            with contextlib.suppress(ParameterError, OverflowError):
                yield changed(params, name, kind(value))


def assert_no_holes(result: Result, figures: dict[str, CaptionedFigure]) -> None:
    texts = [result.summary, result.privacy, *(each.sentence for each in figures.values())]
    for text in (*texts, *(one_line(each.figure) for each in figures.values())):
        assert text
        assert not HOLE.search(text), (result.params, text)


def test_texts_have_no_hole_where_little_is_learned(study: Experiment) -> None:
    """With one run of the smallest budget."""
    assert_no_holes(result_of(study), figures_of(study))
    few = fewest(small(study))
    if "epsilon_total" in vars(few):
        few = changed(few, "epsilon_total", few.specification()["epsilon_total"].low)
    result = runner.run_to_end(study, few, 1)
    assert_no_holes(result, study.figures(result))


@pytest.mark.slow
def test_texts_have_no_hole_at_the_ends(study: Experiment) -> None:
    for params in extremes(fewest(small(study))):
        with contextlib.suppress(ParameterError):
            result = runner.run_to_end(study, params, 1)
            assert_no_holes(result, study.figures(result))
