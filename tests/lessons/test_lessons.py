"""Lessons: what a file may hold, and every step of every lesson at its own settings."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from abcdp_core import experiments, lessons, summaries
from abcdp_core.lessons import Lesson, LessonError, Question, Step, numbers, printed, reading
from abcdp_core.lessons.guessed import guessed
from abcdp_core.lessons.printed import Sheet
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


def numbers_of(step: Step) -> dict[str, float]:
    runs = {name: results.of(run.experiment, step.params(name)) for name, run in step.runs.items()}
    return numbers.of(step, {name: found.tables for name, found in runs.items()})


@pytest.mark.parametrize("step", STEPS)
def test_every_step_computes_its_numbers_and_says_nothing_else(step: Step) -> None:
    found = numbers_of(step)
    assert not numbers.broken(step, found), found
    for name, form in numbers.NAMED.findall(step.text + step.reveal):
        # An error that is written as none says that there is none.
        if step.numbers.get(name, "").startswith("within "):
            assert re.search("[1-9]", numbers.fill(f"{{{name}:{form}}}", found)), name
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


PLAIN = {"50 in 100", "of 100", "Of 100", "90 %", "95 %"}
"""Numbers that are words: a chance of one half, of a hundred, what an interval is made for."""


@pytest.mark.parametrize("step", STEPS)
def test_what_is_measured_is_not_typed(step: Step) -> None:
    text = " ".join([step.text, step.reveal, step.question.ask if step.question else ""])
    for plain in PLAIN:
        text = text.replace(plain, "")
    assert not TYPED.findall(text)


FIRST_SCREEN = {
    "overview": {"posterior", "expected-error"},
    "flip_probability": {"flip-probability"},
    "mechanisms": {"compare-mechanisms", "coverage"},
    "posterior": {"posterior", "change-one-person"},
    "privacy_and_accuracy": {"expected-error"},
}
"""Page -> studies whose headline or figure one sees beside a question."""


@pytest.mark.parametrize("step", STEPS)
def test_the_page_does_not_tell_the_answer_before_the_guess(step: Step) -> None:
    if step.question and "main" in step.runs:
        run = step.runs["main"]
        shown = FIRST_SCREEN.get(step.page, set())
        assert run.experiment not in shown or run.settings, "the page shows the same run"


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


RUNS = pd.DataFrame(
    {
        "run": [3, 0, 2, 1, 0, 1, 2, 3],
        "c": [10, 10, 10, 10, 100, 100, 100, 100],
        "mse": [4.0, 1.0, 3.0, 2.0, 4.0, 8.0, 12.0, 16.0],
    }
)
"""With c = 100 the error is four times that with 10, in every run."""
SETS = pd.DataFrame({"dataset": range(10), "held": [True] * 8 + [False] * 2})
ONE = pd.DataFrame({"way": ["a"], "mae": [5.0], "mae_low": [4.0], "mae_high": [7.0]})
TABLES = {"main": {"main": RUNS, "sets": SETS, "summary": ONE}}
MEANS = {
    "few": "mean mse of main where c == 10",
    "many": "mean mse of main where c == 100",
    "share": "share held of main.sets",
    "known": "first mae of main.summary",
}


def found(**told: str) -> dict[str, float]:
    return numbers.of(Step("A", "overview", "", {"n": 2.0}, numbers=MEANS | told), TABLES)


def test_the_ends_of_a_mean_are_those_that_studies_draw() -> None:
    drawn = summaries.over_runs(RUNS, "mse", ["c"]).set_index("c").loc[10]
    told = {end: f"{end} mse of main where c == 10" for end in numbers.ENDS}
    mine = found(**told)
    assert (mine["low"], mine["high"]) == pytest.approx((drawn.low, drawn.high))
    assert mine["within"] == pytest.approx(
        max(drawn["mean"] - drawn.low, drawn.high - drawn["mean"])
    )
    of_number = found(**{end: f"{end} few" for end in numbers.ENDS})
    assert of_number == pytest.approx(mine)


def test_the_ends_of_a_share_are_clopper_pearsons_and_a_table_s_own_ends_count() -> None:
    # Of 10, 8: as in any table of exact binomial limits.
    mine = found(low="low held of main.sets", high="high share", within="within share")
    assert [mine[end] for end in ("low", "high", "within")] == pytest.approx(
        [0.4439, 0.9748, 0.8 - 0.4439], abs=5e-5
    )
    own = found(low="low mae of main.summary", within="within known")
    assert (own["low"], own["within"]) == (4.0, 2.0)


def test_what_is_computed_has_the_ends_of_its_expression() -> None:
    mine = found(
        root="= n * sqrt(few)", of_root="high root", few_high="high few",
        missed="= 100 * (1 - share)", missed_low="low missed", share_high="high share",
        times="= sqrt(many / few)", twice="= 2 * times", low="low twice", high="high twice",
    )  # fmt: skip
    assert mine["of_root"] == pytest.approx(2.0 * mine["few_high"] ** 0.5)
    assert mine["missed_low"] == pytest.approx(100.0 * (1.0 - mine["share_high"]))
    # Both means vary, but together: their ratio does not.
    assert (mine["twice"], mine["low"], mine["high"]) == pytest.approx((4.0, 4.0, 4.0))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"it": "within mse of main"}, "not repeats"),
        ({"it": "within c of main where run == 0 and c == 10"}, "two repeats"),
        ({"it": "within nothing"}, "no number nothing above"),
        ({"it": "within n"}, "no number n above"),
        ({"all": "count mse of main", "it": "low all"}, "all is exact"),
        ({"worst": "max mse of main", "it": "low worst"}, "no mean and no share"),
        ({"both": "= few + share", "it": "low both"}, "not all means over the same repeats"),
        ({"some": "mean mse of main where c == 10 and run > 0", "over": "= some / many",
          "it": "low over"}, "not all means over the same repeats"),
        ({"bent": "= (few - 2.5) ** 2", "it": "low bent"}, "rises and falls"),
        ({"end": "low few", "more": "= 2 * end", "it": "low more"}, "end is an end itself"),
    ],
)  # fmt: skip
def test_a_number_without_an_interval_is_an_error(told: dict[str, str], said: str) -> None:
    with pytest.raises(LessonError, match=said):
        found(**told)


def test_a_share_is_written_in_per_cent() -> None:
    text = "{x:.0%} ({low:.0p} to {high:.1%})"
    assert numbers.fill(text, {"x": 0.07, "low": 0.05, "high": 0.1}) == "7 % (5 to 10.0 %)"


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


# ----------------------------------------------------------------------------------- on paper

SERVER = "http://abc.example.org/"
BREAK = "§"
"""Stands in for the page break before the answers."""


class Read(HTMLParser):
    """What is to be read on a page, and whether all its elements are closed in their order."""

    VOID = ("meta", "img", "wbr")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.ids: list[str | None] = []
        self.feed(page)
        self.close()
        assert not self.open
        self.text = " ".join("".join(self.words).replace("\u00a0", " ").split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open += [tag] if tag not in self.VOID else []
        self.ids += [value for name, value in attrs if name == "id"]
        self.words.append(BREAK if ("class", "answers") in attrs else "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append("" if self.open[-1:] == ["style"] else data)


def on_paper(chosen: Lesson) -> str:
    return printed.page(
        chosen,
        2,
        [Sheet(step, numbers_of(step), "Posterior", ("c = 1",), SERVER) for step in chosen.steps],
        1,
    )


def plain(text: str, found: dict[str, float]) -> str:
    """A text as it is read, without its marks."""
    return " ".join(numbers.fill(text, found).replace("*", "").split())


@pytest.mark.parametrize("chosen", LESSONS.values(), ids=LESSONS.keys())
def test_on_paper_all_questions_stand_before_the_break_and_all_answers_after(
    chosen: Lesson,
) -> None:
    page = on_paper(chosen)
    text = Read(page).text
    assert not re.search("[{}*`]", text)
    assert not re.search("<script|<link|url\\(|@import|srcset", page)
    assert {*re.findall(r"https?://[^\s<]*", page)} == {SERVER}
    before, after = text.split(BREAK)
    said = set()
    for step in chosen.steps:
        found = numbers_of(step)
        if step.question is not None:
            for part in (step.text, step.question.ask):
                assert (before.count(plain(part, found)), after.count(plain(part, found))) == (1, 0)
            answer = plain(step.reveal, found)
            assert numbers.answer_in_words(step, found) in after
        else:
            answer = plain(step.text, found)
        # What is read before anything was asked is no answer.
        late = step.question is not None or said
        assert (before.count(answer), after.count(answer)) == ((0, 1) if late else (1, 0))
        said |= {step.title} if late else set()


def test_a_text_keeps_its_marks_on_paper() -> None:
    text = "One *two*\nthree & **four** `five`\n\n- [six](https://x.org)\n- ε_total < 7"
    assert printed.marked_up(text) == (
        "<p>One <em>two</em> three &amp; <strong>four</strong> <code>five</code></p>\n"
        "<ul><li>six</li><li>ε_total &lt; 7</li></ul>"
    )


@pytest.mark.parametrize(
    ("low", "high", "marks"),
    [
        (0, 100, [*range(0, 101, 10)]),
        (1, 3, [1, 1.2, 1.4, 1.6, 1.8, 2, 2.2, 2.4, 2.6, 2.8, 3]),
        (1, 30, [1, 5, 10, 15, 20, 25, 30]),
        (0, 0.15, [0, 0.025, 0.05, 0.075, 0.1, 0.125, 0.15]),
        (1, 20, [1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20]),
    ],
)
def test_a_scale_has_round_marks_from_end_to_end(
    low: float, high: float, marks: list[float]
) -> None:
    assert printed.ticks(low, high) == pytest.approx(marks)


def test_the_answer_stands_on_the_scale() -> None:
    drawn = printed.scale(Question("", "x", 0.0, 10.0, unit="times"), 2.5, "2.5 times")
    assert f'd="M{printed.MARGIN + printed.LENGTH / 4:.1f} 24l' in drawn
    assert 'aria-label="Scale from 0 to 10 times; the answer is 2.5 times"' in drawn
    assert "answer" not in printed.scale(Question("", "x", 0.0, 10.0))


def test_a_picture_stands_in_the_page_itself_with_its_sentence() -> None:
    (step,) = lesson().steps
    picture = printed.Picture(b"<svg/>", 'A "b" & c.')
    found = numbers.of_knobs(step) | {"root": 0.6, "error": 0.1}
    page = printed.page(lesson(), 1, [Sheet(step, found, "Overview", picture=picture)], 1)
    assert 'alt="A &quot;b&quot; &amp; c." src="data:image/svg+xml;base64,PHN2Zy8+"' in page
    assert 'A "b" & c.' in Read(page).text.split(BREAK)[1]


def test_guess_and_answer_are_drawn_on_the_scale_of_the_question() -> None:
    step = lessons.load()["a-release-is-a-draw"].steps[0]
    # With as many digits as the text has.
    drawn = guessed(step, 2.0, 3.42)
    assert drawn.sentence == "Your guess was 2 times; the answer is 3.4 times."
    assert [trace.x[1] for trace in drawn.figure.data] == [2.0, 3.42]
    assert step.question is not None
    assert tuple(drawn.figure.layout.xaxis.range) == (step.question.low, step.question.high)
