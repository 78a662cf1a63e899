"""Notebooks run, print the output saved in them, and find the numbers of the lessons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from abcdp_core import figures as fig
from abcdp_core.base.parameters import Params
from abcdp_core.publish import lessons
from abcdp_core.publish.lessons import numbers
from abcdp_core.publish.lessons.step import Step
from abcdp_core.run import runner
from abcdp_core.run.results import Result
from abcdp_core.studies import Experiment
from tests import notebooks, results
from tests.notebooks import Cell

TITLE = re.compile(r"^## (.+)$", re.MULTILINE)
HEADING = re.compile(r"^### (.+)$", re.MULTILINE)
LESSONS = {lesson.title: lesson for lesson in lessons.load().values()}


def parts(kept: Sequence[Cell]) -> Iterator[tuple[str, str, list[Cell]]]:
    """Return the parts of a notebook: title of the lesson, heading of the step, cells."""
    title, heading, own = "", "", list[Cell]()
    for cell in kept:
        text = "" if cell.is_code else cell.source
        if found := HEADING.findall(text):
            yield title, heading, own
            (heading,), own = found, []
            title = next(iter(TITLE.findall(text)), title)
        own.append(cell)
    yield title, heading, own


def numbers_in(step: Step) -> dict[str, float]:
    """Return the numbers in the text of a step, without those of its knobs."""
    tables = {
        name: results.of(run.experiment, step.params(name)).tables
        for name, run in step.runs.items()
    }
    found, asked = numbers.of(step, tables), step.question
    texts = step.text, step.reveal, f"{asked.ask} {{{asked.answer}}}" if asked else ""
    names = numbers.named_in(" ".join(texts)) - numbers.of_knobs(step).keys()
    return {name: found[name] for name in sorted(names)}


def check(title: str, heading: str, namespace: Mapping[str, Any]) -> None:
    """Compare variables after the cells of a step with the numbers in its text."""
    (step,) = [step for step in LESSONS[title].steps if step.title == heading]
    wanted = numbers_in(step)
    found = {name: float(namespace[name]) for name in wanted}
    assert found == pytest.approx(wanted, rel=1e-9, abs=0.0), heading


def run_to_end(experiment: Experiment, params: Params, seed: int) -> Result:
    """Reuse the results that tests of the lessons compute."""
    return results.of(experiment.EXPERIMENT, params, seed)


def test_the_notebooks_have_every_step_of_the_lessons_in_order() -> None:
    found = [part[:2] for file in notebooks.OF_LESSONS for part in parts(notebooks.cells(file))]
    # The last one, about a live poll, has no code but that of its page.
    *told, _ = LESSONS.items()
    steps = [(title, step.title) for title, lesson in told for step in lesson.steps]
    assert [part for part in found if any(part)] == steps
    assert len(notebooks.OF_LESSONS) == len(told) / 2


QUICKEST = "lessons-5-6"


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, id=file.stem, marks=[pytest.mark.slow] * (file.stem != QUICKEST))
        for file in notebooks.OF_LESSONS
    ],
)
def test_a_notebook_finds_the_numbers_of_its_lessons(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "run_to_end", run_to_end)
    kept, namespace, ran = notebooks.cells(file), dict[str, Any](), []
    for title, heading, own in parts(kept):
        ran += [notebooks.run(cell, namespace) for cell in own if cell.is_code]
        if heading:
            check(title, heading, namespace)
    shown = [each.shown for each in ran if each.shown is not None]
    assert shown
    assert all(isinstance(each, go.Figure) and each.data for each in shown)
    assert {each.layout.width for each in shown} == {fig.WIDTH}, "a figure alone: on_paper()"
    # Output and format are saved, and nothing about the machine.
    assert notebooks.text(kept, ran) == file.read_text(encoding="utf-8"), "run: make notebooks"


@pytest.mark.parametrize("wrong", ["most *= 1.0 + 1e-8", "least, most = most, least", "del most"])
def test_a_number_that_differs_is_noticed(wrong: str) -> None:
    (_, _, before), (title, heading, own), *_ = parts(notebooks.cells(notebooks.OF_LESSONS[2]))
    namespace: dict[str, Any] = {}
    for cell in [*before, *own]:
        if cell.is_code:
            notebooks.run(cell, namespace)
    check(title, heading, namespace)
    exec(wrong, namespace)
    with pytest.raises((AssertionError, KeyError), match=r"most|Thirty releases"):
        check(title, heading, namespace)
