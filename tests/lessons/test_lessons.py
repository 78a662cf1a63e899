"""Lessons: what a file may hold, and every step of every lesson at its own settings."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from abcdp_core import experiments, lessons
from abcdp_core.lessons import Lesson, LessonError, Step, numbers, reading
from tests import results

LESSONS = lessons.load()
STEPS = [
    pytest.param(step, id=f"{lesson.name}-{place}")
    for lesson in LESSONS.values()
    for place, step in enumerate(lesson.steps, 1)
]
TYPED = re.compile(r"(?<![\w.{:])\d[\d,.]*")
"""A number that stands in a text itself."""


def test_there_are_eight_and_each_takes_some_steps() -> None:
    assert len(LESSONS) == 8
    assert all(2 <= len(lesson.steps) <= 5 for lesson in LESSONS.values())
    assert len({lesson.title for lesson in LESSONS.values()}) == 8


@pytest.mark.parametrize("step", STEPS)
def test_every_step_computes_its_numbers_and_says_nothing_else(step: Step) -> None:
    tables = {
        name: results.of(run.experiment, step.params(name)).tables
        for name, run in step.runs.items()
    }
    found = numbers.of(step, tables)
    assert not numbers.broken(step, found), found
    for text in (step.text, step.reveal, step.question.ask if step.question else ""):
        assert "{" not in numbers.fill(text, found)
    if step.look and not step.look.startswith("chart-overview-"):
        # What stands out is a figure of one of its studies.
        studies = {
            run.experiment: results.of(run.experiment, step.params(name))
            for name, run in step.runs.items()
        }
        drawn = {
            f"chart-{name}-{each}"
            for name, found in studies.items()
            for each in experiments.load(name).figures(found)
        }
        assert step.look in drawn
    if step.question:
        assert step.question.low <= found[step.question.answer] <= step.question.high


PLAIN = {"50 in 100", "100 people", "of 100", "100 times", "90 %", "90 times", "√2", "Of 100"}
"""Numbers that are words: a chance of one half, a hundred people, nine times of ten."""


@pytest.mark.parametrize("step", STEPS)
def test_what_is_measured_is_not_typed(step: Step) -> None:
    text = " ".join([step.text, step.reveal, step.question.ask if step.question else ""])
    for plain in PLAIN:
        text = text.replace(plain, "")
    assert not TYPED.findall(text)


STEP = """# One
lead
```toml
set = { n = 100, c = 3 }
```
## A
```toml
page = "overview"
set = { c = 5 }
[runs.main]
experiment = "posterior"
pool_size = 1000
[numbers]
error = "first mse of main.errors where release == 'private'"
root = "= sqrt(error) * c"
[question]
ask = "How much?"
low = 0
high = 1
answer = "root"
```
Of {n:,d}
### Answer
{root:.2f}, {c:g}.
"""


def lesson(old: str = "", new: str = "") -> Lesson:
    assert old in STEP
    return reading.parsed("one", STEP.replace(old, new) if old else STEP)


def test_a_step_has_the_lessons_knobs_and_its_own() -> None:
    (step,) = lesson().steps
    assert (step.knobs, step.page, step.text) == ({"n": 100, "c": 5}, "overview", "Of {n:,d}")
    params = vars(step.params("main"))
    assert (params["n"], params["c"], params["pool_size"]) == (100, 5, 1000)
    errors = pd.DataFrame({"release": ["prior", "private"], "mse": [9.0, 0.04]})
    found = numbers.of(step, {"main": {"errors": errors}})
    assert numbers.fill(step.text, found) == "Of 100"
    assert numbers.fill(step.reveal, found) == "1.00, 5."


@pytest.mark.parametrize(
    ("told", "value"),
    [
        ("mean x of main", 2.5),
        ("median x of main", 2.5),
        ("sum x of main where y", 4.0),
        ("count x of main where x > 1", 3.0),
        ("share y of main", 0.5),
        ("q75 x of main", 3.25),
        ("first x of main where not y", 2.0),
        ("last x of main", 4.0),
        ("max x of main", 4.0),
        ("min x of main", 1.0),
        ("= floor(7 / 2)", 3.0),
    ],
)
def test_a_number_is_taken_from_a_table(told: str, value: float) -> None:
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": [True, False, True, False]})
    step = Step("A", "overview", "", numbers={"it": told})
    numbers.check(told)
    assert numbers.of(step, {"main": {"main": table}})["it"] == pytest.approx(value)


@pytest.mark.parametrize("told", ["mode x of main", "x of main", "mean x", "mean x of main where"])
def test_a_number_that_is_told_otherwise_is_refused(told: str) -> None:
    with pytest.raises(LessonError, match="must be like"):
        numbers.check(told)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("mean z of main", "z"),
        ("mean x of main where x > 9", "no row"),
        ("= nothing + 1", "nothing"),
        ("mean x of main.other", "other"),
    ],
)
def test_a_number_that_stands_nowhere_is_an_error_that_names_it(told: str, said: str) -> None:
    step = Step("A", "overview", "", numbers={"it": told})
    with pytest.raises(LessonError, match=rf"A: it = .*{said}"):
        numbers.of(step, {"main": {"main": pd.DataFrame({"x": [1.0]})}})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("# One", "One", "one title"),
        ("# One", "# One\n# Two", "one title"),
        ("page =", "pages =", "unknown: pages"),
        ('page = "overview"', "", "page"),
        ("{root:.2f}", "{other}", "not computed: other"),
        ("Of {n:,d}", "{root}", "tells the answer"),
        ("of main.errors", "of errors", "no run errors"),
        ("### Answer", "", "a question has an answer"),
        ("low = 0", "low = ", "not TOML"),
        ("low = 0", "lowest = 0", "lowest"),
        ("set = { n = 100, c = 3 }", 'page = "overview"', "may hold `set` only"),
    ],
)
def test_a_file_that_is_wrong_is_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(LessonError, match=re.escape(said)):
        lesson(old, new)


def test_a_number_that_is_none_is_not_written() -> None:
    with pytest.raises(LessonError, match="there is no such number"):
        numbers.fill("{x:.2f}", {"x": float("nan")})
