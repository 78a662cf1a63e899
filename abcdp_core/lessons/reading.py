"""What a lesson is, read from its file and checked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pydantic

from abcdp_core import schemas, studies
from abcdp_core.lessons import STEP, LessonError, name_of, numbers
from abcdp_core.parameters import Params, Scalar, text_of
from abcdp_core.schemas import Schema, Several

BLOCK = re.compile(r"```toml\n(.*?)```\n?", re.DOTALL)
TITLE = re.compile(r"^# +(.+)$", re.MULTILINE)
ANSWER = re.compile(r"^### +Answer *$", re.MULTILINE)


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


def read(file: Path) -> Lesson:
    """Read a lesson.

    Raises:
        LessonError: names the file, the step and what is wrong.
    """
    try:
        return parsed(name_of(file.stem), file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LessonError(f"{file.name}: {error}") from error


def parsed(name: str, text: str) -> Lesson:
    """Return a lesson from the text of its file.

    Raises:
        LessonError, ParameterError: the text is not a lesson.
    """
    before, *parts = STEP.split(text)
    usual, before = _block(before, "the lesson")
    titles = TITLE.findall(before)
    if len(titles) != 1 or not parts:
        raise LessonError("a lesson has one title (# ...) and at least one step (## ...).")
    if usual.keys() - {"set"}:
        raise LessonError("before the first step, TOML may hold `set` only.")
    steps = zip(parts[::2], parts[1::2], strict=True)
    knobs, lead = usual.get("set", {}), TITLE.sub("", before).strip()
    return Lesson(name, titles[0].strip(), lead, tuple(_step(*each, knobs) for each in steps))


def _block(text: str, name: str) -> tuple[dict[str, Any], str]:
    """Return the TOML of a part and the rest of it."""
    blocks = BLOCK.findall(text)
    if len(blocks) > 1:
        raise LessonError(f"{name}: a part has at most one block of TOML.")
    try:
        return tomllib.loads("".join(blocks)), BLOCK.sub("", text)
    except tomllib.TOMLDecodeError as error:
        raise LessonError(f"{name}: is not TOML ({error}).") from error


def _step(title: str, text: str, usual: Mapping[str, Any]) -> Step:
    name = f"step {title.strip()!r}"
    told, words = _block(text, name)
    before, *after = (part.strip() for part in ANSWER.split(words))
    own = {"title": title.strip(), "text": before, "reveal": "\n".join(after)}
    step = schemas.check({**told, **own, "set": {**usual, **told.get("set", {})}}, Step, name)
    try:
        _check(step)
    except LessonError as error:
        raise LessonError(f"{name}: {error}") from error
    return step


def _check(step: Step) -> None:
    """Refuse what would be found only when somebody reads the step."""
    if (step.question is None) != (not step.reveal):
        raise LessonError("a question has an answer below ### Answer, and an answer a question.")
    for told in step.numbers.values():
        run = numbers.check(told)
        if run and run not in step.runs:
            raise LessonError(f"{told}: there is no run {run}.")
    asked = step.question
    before = numbers.named_in(step.text + (asked.ask if asked else ""))
    wanted = before | numbers.named_in(step.reveal) | ({asked.answer} if asked else set())
    if missing := wanted - step.numbers.keys() - numbers.of_knobs(step).keys():
        raise LessonError(f"not computed: {', '.join(sorted(missing))}.")
    if asked and asked.answer in before:
        raise LessonError("the text before the guess gives away the answer.")
