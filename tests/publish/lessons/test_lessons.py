"""Lessons: what a file may hold, and every step of every lesson at its own settings."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pandas as pd
import pytest

from abcdp_core import studies
from abcdp_core.base import summaries
from abcdp_core.publish import lessons
from abcdp_core.publish.lessons import numbers, printed, reading
from abcdp_core.publish.lessons.printed import Sheet
from abcdp_core.publish.lessons.reading import Lesson
from abcdp_core.publish.lessons.step import Step
from abcdp_core.publish.output import documents
from tests import results

LESSONS = lessons.load()
STEPS = {
    f"{lesson.name}-{place}": step
    for lesson in LESSONS.values()
    for place, step in enumerate(lesson.steps, 1)
}
QUICK = {"many-releases", "posterior"}
"""Studies whose steps are computed by every run of the tests, and not only by the long one."""


def is_quick(step: Step) -> bool:
    return {run.experiment for run in step.runs.values()} <= QUICK


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(step, id=name, marks=() if is_quick(step) else pytest.mark.slow)
        for name, step in STEPS.items()
    ],
)
def test_every_step_computes_its_numbers_and_says_nothing_else(step: Step) -> None:
    runs = {name: results.of(run.experiment, step.params(name)) for name, run in step.runs.items()}
    found = numbers.of(step, {name: result.tables for name, result in runs.items()})
    assert not numbers.broken(step, found), found
    for name, form in numbers.NAMED.findall(step.text + step.reveal):
        # An error that is written as none says that there is none.
        if step.numbers.get(name, "").startswith("within "):
            assert re.search("[1-9]", numbers.fill(f"{{{name}:{form}}}", found)), name
    for text in (step.text, step.reveal, step.question.ask if step.question else ""):
        assert "{" not in numbers.fill(text, found)
    if step.runs and step.look:
        # What stands out is a figure of one of its studies.
        assert step.look in {
            f"chart-{result.experiment}-{each}"
            for result in runs.values()
            for each in studies.load(result.experiment).figures(result)
        }
    if step.question:
        assert step.question.low <= found[step.question.answer] <= step.question.high


TYPED = re.compile(r"(?<![\w.{:])\d[\d,.]*")
"""A number that stands in a text itself."""

PLAIN = r"50 in 100|[oO]f 100|9[05] %|[lL]esson \d|below 0\.05"
"""Numbers that are words: a chance of one half, of a hundred, what an interval is made for, another
lesson, and what an exercise asks for."""

FIRST_SCREEN = {
    "flip_probability": {"flip-probability"},
    "mechanisms": {"compare-mechanisms", "coverage"},
    "posterior": {"posterior", "change-one-person"},
    "privacy_and_accuracy": {"expected-error"},
}
"""Page -> studies whose headline or figure one sees beside a question."""


def test_what_is_measured_is_not_typed_and_no_page_tells_the_answer_before_the_guess() -> None:
    assert TYPED.findall("0.7 of {n}") == ["0.7"]
    for name, step in STEPS.items():
        text = " ".join([step.text, step.reveal, step.question.ask if step.question else ""])
        assert not TYPED.findall(re.sub(PLAIN, "", text)), name
        if step.question and "main" in step.runs:
            run = step.runs["main"]
            shown = FIRST_SCREEN.get(step.page, set())
            assert run.experiment not in shown or run.settings, f"{name}: the page shows its run"


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


def lesson() -> Lesson:
    return reading.parsed("one", STEP)


def test_a_step_has_the_lessons_knobs_and_its_own() -> None:
    (step,) = lesson().steps
    assert (step.knobs, step.page, step.text) == ({"n": 100, "c": 5}, "overview", "Of {n:,d}")
    params = vars(step.params("main"))
    assert (params["n"], params["c"], params["pool_size"]) == (100, 5, 1000)
    errors = pd.DataFrame({"release": ["prior", "private"], "mse": [9.0, 0.04]})
    found = numbers.of(step, {"main": {"errors": errors}})
    assert numbers.fill(step.text, found) == "Of 100"
    assert numbers.fill(step.reveal, found) == "1.00, 5."


RUNS = pd.DataFrame(
    {
        "run": [3, 0, 2, 1, 0, 1, 2, 3],
        "c": [10, 10, 10, 10, 100, 100, 100, 100],
        "mse": [4.0, 1.0, 3.0, 2.0, 4.0, 8.0, 12.0, 16.0],
    }
)
"""With c = 100 the error is four times that with 10, in every run."""
SETS = pd.DataFrame({"dataset": range(10), "held": [1.0] * 8 + [0.0] * 2})
ONE = pd.DataFrame({"way": ["a"], "mae": [5.0], "mae_low": [4.0], "mae_high": [7.0]})
MEANS = {
    "few": "mean mse of main where c == 10",
    "many": "mean mse of main where c == 100",
    "held": "mean held of main.sets",
    "known": "first mae of main.summary",
}


def found(**told: str) -> dict[str, float]:
    step = Step(title="A", page="overview", text="", set={"n": 2.0}, numbers=MEANS | told)
    return numbers.of(step, {"main": {"main": RUNS, "sets": SETS, "summary": ONE}})


def test_a_number_is_taken_from_a_table() -> None:
    mine = found(
        sum_of="sum mse of main where c == 10", quantile="q75 mse of main where c == 10",
        last="last mse of main", computed="= floor(n * 7 / 4)",
    )  # fmt: skip
    assert [mine[name] for name in ("few", "sum_of", "quantile", "last", "computed")] == [
        *(2.5, 10.0, 3.25, 16.0, 3.0)
    ]


def test_the_ends_of_a_mean_are_those_that_studies_draw() -> None:
    drawn = summaries.over_runs(RUNS, "mse", ["c"]).set_index("c").loc[10]
    mine = found(low="low few", high="high few", within="within few")
    assert (mine["low"], mine["high"]) == pytest.approx((drawn.low, drawn.high))
    farther = max(drawn["mean"] - drawn.low, drawn.high - drawn["mean"])
    assert mine["within"] == pytest.approx(farther)


def test_what_is_computed_has_the_ends_of_its_expression() -> None:
    mine = found(
        own="low known", off="within known",
        root="= n * sqrt(few)", of_root="high root", few_high="high few",
        missed="= 100 * (1 - held)", missed_low="low missed", held_high="high held",
        times="= sqrt(many / few)", twice="= 2 * times", low="low twice", high="high twice",
    )  # fmt: skip
    assert (mine["own"], mine["off"]) == (4.0, 2.0)
    assert mine["of_root"] == pytest.approx(2.0 * mine["few_high"] ** 0.5)
    assert mine["missed_low"] == pytest.approx(100.0 * (1.0 - mine["held_high"]))
    # Both means vary, but together: their ratio does not.
    assert (mine["twice"], mine["low"], mine["high"]) == pytest.approx((4.0, 4.0, 4.0))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"all": "mean mse of main", "it": "within all"}, "all has no interval"),
        ({"one": "mean c of main where run == 0 and c == 10", "it": "low one"}, "at least two"),
        ({"it": "within nothing"}, "no earlier number is called nothing"),
        ({"two": "= 1 + 1", "it": "low two"}, "two is exact"),
        ({"both": "= few + held", "it": "low both"}, "not all means over the same repeats"),
        ({"bent": "= (few - 2.5) ** 2", "it": "low bent"}, "not monotonic"),
        ({"end": "low few", "more": "= 2 * end", "it": "low more"}, "end is itself an end"),
        ({"it": "mean c of main where c > 1000"}, "A: it = .*no row"),
    ],
)
def test_a_number_that_cannot_be_had_is_an_error_that_says_why(
    told: dict[str, str], said: str
) -> None:
    with pytest.raises(lessons.LessonError, match=said):
        found(**told)


def test_a_share_is_written_in_per_cent_and_what_is_no_number_is_not() -> None:
    text = "{x:.0%} ({low:.0p} to {high:.1%})"
    assert numbers.fill(text, {"x": 0.07, "low": 0.05, "high": 0.1}) == "7 % (5 to 10.0 %)"
    with pytest.raises(lessons.LessonError, match="x: this number does not exist"):
        numbers.fill("{x:.2f}", {"x": float("nan")})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("# One", "One", "one title"),
        ("page =", "pages =", "step 'A': pages: unknown; known are title, page, "),
        ("Of {n:,d}", "{root}", "gives away the answer"),
        ("of main.errors", "of errors", "run errors does not exist"),
        ("### Answer", "", "need each other"),
        ("low = 0", "low = ", "step 'A': the TOML is invalid"),
        ("low = 0", 'low = "0"', "question.low = 0: must be a number"),
        ("low = 0", "low = -1", "question.low = -1: must be at least 0"),
    ],
)
def test_a_file_that_is_wrong_is_refused_in_one_line(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    assert old in STEP
    file = tmp_path / "1-wrong.md"
    file.write_text(STEP.replace(old, new), encoding="utf-8")
    with pytest.raises(lessons.LessonError, match=rf"^1-wrong\.md: .*{re.escape(said)}"):
        reading.read(file)


# ----------------------------------------------------------------------------------- on paper

SERVER = "http://abc.example.org/"
BREAK = '<section class="answers">'


def made_up(step: Step) -> dict[str, float]:
    return dict.fromkeys(step.numbers, 7.0) | numbers.of_knobs(step)


def read(page: str) -> str:
    """What is read on a page or a part of it."""
    text = re.sub(r"<style>.*?</style>|<[^>]*>", "", page, flags=re.DOTALL)
    return " ".join(html.unescape(text).split())


def shown(text: str, found: dict[str, float]) -> str:
    return read(documents.markdown(numbers.fill(text, found)))


@pytest.mark.parametrize("chosen", LESSONS.values(), ids=LESSONS.keys())
def test_on_paper_all_questions_are_before_the_break_and_all_answers_after(chosen: Lesson) -> None:
    sheets = [Sheet(step, made_up(step), "Posterior", ("c = 1",), SERVER) for step in chosen.steps]
    page = printed.page(chosen, 2, sheets, 1)
    assert not re.search("<script|<link|url\\(|@import|srcset", page)
    assert {*re.findall(r"https?://[^\s<]*", page)} == {SERVER}
    before, after = map(read, page.split(BREAK))
    assert not re.search("[{}*`]", before + after)
    is_late = False
    for step in chosen.steps:
        known, question = made_up(step), step.question
        is_late = is_late or question is not None
        if question is not None:
            for part in (step.text, question.ask):
                words = shown(part, known)
                assert (before.count(words), after.count(words)) == (1, 0)
            assert numbers.answer_in_words(step, known) in after
        answer = shown(step.reveal or step.text, known)
        # What is read before anything was asked is not an answer.
        assert (before.count(answer), after.count(answer)) == ((0, 1) if is_late else (1, 0))


def test_foreign_text_is_text_on_paper_and_the_answer_is_on_its_scale() -> None:
    (step,) = lesson().steps
    picture = printed.Picture(b"<svg/>", 'A "b" & <c>.')
    found = numbers.of_knobs(step) | {"root": 0.25, "error": 0.1}
    page = printed.page(lesson(), 1, [Sheet(step, found, "<Overview>", picture=picture)], 1)
    assert "<Overview>" not in page
    assert 'src="data:image/svg+xml;base64,PHN2Zy8+"' in page
    before, after = page.split(BREAK)
    assert 'A "b" & <c>.' in read(after)
    mark = printed.MARGIN + printed.LENGTH / 4
    assert f'd="M{mark:.1f} 24l' in after
    assert 'aria-label="Scale from 0 to 1; the answer is 0.25"' in after
    assert "answer is" not in before
    # A scale has round marks from end to end.
    assert printed.ticks(1, 3)[::5] == pytest.approx([1, 2, 3])
    assert printed.ticks(0, 0.15) == pytest.approx([0, 0.025, 0.05, 0.075, 0.1, 0.125, 0.15])
