"""The file of a poll: questions prepared for a class, or what a class has answered.

Both are one TOML file, in which a prepared question has no answers. All that is shown of a poll is
computed from it. Answers are public: everyone's word was drawn on their own telephone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pydantic

from abcdp_core import __version__
from abcdp_core.adaptive.categories import Choice
from abcdp_core.adaptive.poll import Design, Question
from abcdp_core.adaptive.questionnaire import Item, Questionnaire
from abcdp_core.base import schemas
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.schemas import Schema, Several


class Record(Schema):
    """One question with its answers in the order of their coming.

    Of a category an answer is the place of its word; of a number it is the question's number, its
    edges, and the place of the word.
    """

    question: str
    epsilon: float
    words: Several[str] = ()
    unit: str = ""
    low: float = 0.0
    high: float = 1.0
    seed: int = 0
    answers: Several[
        int
        | Annotated[tuple[int, float, float, int], pydantic.Field(strict=False)]
        | Annotated[tuple[float, float, int], pydantic.Field(strict=False)]
    ] = ()


class File(Schema):
    """All questions to a class, in their order."""

    version: str
    budget: float
    one_each: bool = False
    poll: Several[Record]


class OneQuestion(Record):
    """A file of 0.3.0, which has one question."""

    version: str


def read(file: Path) -> Questionnaire:
    """Return what a file has.

    Raises:
        ParameterError: it has something that is not allowed; one line says what and where.
    """
    return parse(schemas.content(file), file.name)


def parse(text: bytes, name: str) -> Questionnaire:
    """Return what a text has; errors are those of :func:`read`."""
    if not re.search(rb"^\[\[poll\]\]", text, re.MULTILINE):
        one = schemas.parse(text, OneQuestion, name)
        return Questionnaire((item(one, name),), one.epsilon)
    file = schemas.parse(text, File, name)
    items = (item(each, f"{name}: poll {n}") for n, each in enumerate(file.poll, start=1))
    return Questionnaire(tuple(items), file.budget, file.one_each)


def item(given: Record | Mapping[str, Any], name: str) -> Item:
    """Return a question with its answers, from what :func:`record` returned.

    Raises:
        ParameterError: an answer has no such word, or is of another kind of question.
    """
    record = given if isinstance(given, Record) else schemas.check(given, Record, name)
    design: Any = (
        Choice(record.words, record.epsilon)
        if record.words
        else Design(record.low, record.high, record.epsilon, record.seed)
    )
    fresh = Item.new(record.question, record.unit, design)
    poll: Any = fresh.poll
    for place, answer in enumerate(record.answers):
        *asked, word = (answer,) if isinstance(answer, int) else answer
        if bool(record.words) == bool(asked):
            raise ParameterError(f"{name}: answers[{place}]: is of another kind of question.")
        if word not in range(design.many):
            allowed = ", ".join(map(str, range(design.many - 1)))
            raise ParameterError(
                f"{name}: answers[{place}] = {word}: must be {allowed} or {design.many - 1}."
            )
        # Files of 0.3.0 leave the question's number out.
        number = int(asked[0]) if len(asked) == 3 else place
        poll = poll.take(design if record.words else Question(number, *asked[-2:]), word)
    return Item(fresh.text, fresh.unit, poll)


def record(item: Item) -> dict[str, Any]:
    """Return a question with its answers as :class:`Record` has it."""
    design = item.poll.design
    written: dict[str, Any] = {"question": item.text, "epsilon": design.epsilon}
    if isinstance(design, Choice):
        answers: list[Any] = [word for _, word in item.poll.answers]
        return written | {"words": [*design.words], "answers": answers}
    answers = [
        [asked.number, asked.lower, asked.upper, word]
        for asked, word in item.poll.answers
        if isinstance(asked, Question)
    ]
    of_numbers = {"unit": item.unit, "low": design.low, "high": design.high, "seed": design.seed}
    return written | of_numbers | {"answers": answers}


def written(questionnaire: Questionnaire) -> str:
    """Return questions and answers as TOML text."""
    head = {
        "version": __version__,
        "budget": questionnaire.budget,
        "one_each": questionnaire.one_each,
    }
    polls = (f"\n[[poll]]\n{_lines(record(each))}" for each in questionnaire.items)
    return "".join([_lines(head), *polls])


def _lines(table: dict[str, Any]) -> str:
    return "".join(
        f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items()
    )
