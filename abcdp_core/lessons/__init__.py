"""Lessons: texts that lead through the pages, in which every number is computed.

``assets/lessons`` has one Markdown file per lesson, in the order of their names. A file is a title
(``# ``), what the lesson is about, and its steps. A step is a heading (``## ``), a block of TOML
that says what it shows and computes, and its text; with a question, the part below ``### Answer``
is what a person reads after guessing.

Data flow: file → :class:`Lesson` → :class:`Step` → the runs that it names → tables → *numbers* →
text. A text names its numbers in braces, with a format: ``{error:.2g}``. A step whose text holds a
number that it does not compute is refused when the file is read.

The TOML of a step::

    page = "overview"                     # the page that it opens
    look = "chart-overview-decisions"               # what stands out there: the key of an element
    set = { c = 100 }                     # knobs by their keys in a link, besides the lesson's own
    holds = ["flips > 5"]                 # what the words say of the numbers, for a test to check
    [runs]                                # name -> the study whose tables are read, and what it
    main = { experiment = "posterior" }   # sets besides the step's knobs
    [numbers]                             # name -> where it is (see numbers.py)
    flips = "sum flipped of main.decisions"
    [question]                            # what to guess, on which scale, which number it is
    ask = "How many of 100?"
    low = 0
    high = 100
    answer = "flips"
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pydantic

from abcdp_core import studies
from abcdp_core.parameters import Params, Scalar, text_of
from abcdp_core.places import ASSETS
from abcdp_core.schemas import Schema, Several

FOLDER = ASSETS / "lessons"


class LessonError(ValueError):
    """A lesson's file is wrong; one line says which step and why."""


class Run(Schema):
    """A study whose tables a step reads.

    Attributes:
        experiment: its name.
        settings: its parameters, as texts, where they differ from the step's knobs.
    """

    experiment: str
    settings: Mapping[str, str] = {}

    @pydantic.model_validator(mode="before")
    @classmethod
    def _of_table(cls, given: Any) -> Any:
        """In a file settings are beside the experiment, each in its own type."""
        if not isinstance(given, dict) or "settings" in given:
            return given
        settings = {
            key: text_of(tuple(value) if isinstance(value, list) else value)
            for key, value in given.items()
            if key != "experiment"
        }
        return {key: given[key] for key in given if key not in settings} | {"settings": settings}


class Question(Schema):
    """What a person guesses before the answer is shown.

    Attributes:
        ask: the question, with numbers in braces.
        answer: name of the number that is the answer.
        low, high: ends of the scale of guesses; the answer is drawn on it too.
        step: of the scale.
        unit: said after a number.
    """

    ask: str
    answer: str
    low: float
    high: float
    step: float = 1.0
    unit: str = ""


class Step(Schema):
    """One screen of a lesson.

    Attributes:
        title: its heading.
        page: file name of the page that it opens, without its ending.
        text: Markdown with numbers in braces; with a question, what is read before the guess.
        knobs: key in a link -> its value; ``set`` in a file.
        look: key of the element that stands out; empty if none.
        runs: name -> the study.
        numbers: name -> where it is in the tables.
        holds: conditions on the numbers without which the words would not be true.
        question: what to guess, if anything.
        reveal: what is read after the guess.
    """

    title: str
    page: str
    text: str
    knobs: Mapping[str, Scalar] = pydantic.Field({}, alias="set")
    look: str = ""
    runs: Mapping[str, Run] = {}
    numbers: Mapping[str, str] = {}
    holds: Several[str] = ()
    question: Question | None = None
    reveal: str = ""

    def params(self, name: str) -> Params:
        """Return the parameters of a run: the step's knobs, then the run's own settings.

        A page asks for the same ones while its knobs are as the step sets them.

        Raises:
            ParameterError: the study does not allow them.
        """
        run = self.runs[name]
        study = studies.load(run.experiment).Params
        known = study.specification(str(self.knobs.get("scenario", "")) or None)
        own = f"{run.experiment}."
        settings = {
            key.removeprefix(own): text_of(value)
            for key, value in self.knobs.items()
            if key.removeprefix(own) in known
        }
        return study.from_text(settings | dict(run.settings))


@dataclass(frozen=True)
class Lesson:
    """A lesson.

    Attributes:
        name: of its file, without number and ending; it is used in a link.
        title: what it says.
        lead: what it is about, in Markdown.
        steps: one or more.
    """

    name: str
    title: str
    lead: str
    steps: tuple[Step, ...]


@functools.cache
def load() -> Mapping[str, Lesson]:
    """Return name -> lesson, in the order of the files.

    Raises:
        LessonError: a file is wrong.
    """
    from abcdp_core.lessons import reading

    return {lesson.name: lesson for lesson in map(reading.read, sorted(FOLDER.glob("*.md")))}
