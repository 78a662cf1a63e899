"""Recompute what the answers of a live poll reveal.

`poll` reads the file that a live poll offers and writes the tables of the page, byte for byte. Of
numbers: each question with its answer and the interval of the mean after it, and the posterior of
the mean. Of categories: their shares, with intervals for the class and for a wider population. The
answers are public: everyone's word was drawn on their own telephone.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Annotated, Any, cast

import pydantic

from abcdp_core import schemas
from abcdp_core.adaptive.categories import Choice, ChoicePoll
from abcdp_core.adaptive.poll import Design, Poll, Question
from abcdp_core.cli import arguments
from abcdp_core.cli.ending import say
from abcdp_core.output.atomic import together
from abcdp_core.parameters import ParameterError
from abcdp_core.schemas import Schema, Several
from abcdp_core.sentences import amount, counted
from abcdp_core.studies.poll import tables_of


class Record(Schema):
    """A poll as it is written (:func:`abcdp_core.studies.poll.written`)."""

    version: str
    question: str
    epsilon: float
    answers: Several[
        int
        | Annotated[tuple[int, float, float, int], pydantic.Field(strict=False)]
        | Annotated[tuple[float, float, int], pydantic.Field(strict=False)]
    ]
    words: Several[str] = ()
    unit: str = ""
    low: float = 0.0
    high: float = 1.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="poll.toml, as a live poll saves it"
    )
    arguments.add_out(parser, "folder for the tables")


def run(options: argparse.Namespace) -> int:
    """Recompute a poll, write its tables, and print the interval."""
    record = schemas.read(options.file, Record)
    poll = _poll(record, str(options.file))
    with arguments.writing("out", options.out), together(options.out) as folder:
        for name, table in tables_of(poll).items():
            table.to_csv(folder / name, index=False)
    answered = f"After {counted(len(poll.answers), 'answer')}"
    if isinstance(poll, ChoicePoll):
        said = poll.leader()
    else:
        low, high = (amount(end) for end in poll.class_interval())
        said = f"the mean of the class is {low} to {high}{record.unit and f' {record.unit}'}"
    say(f"{answered}, {said} (95 % interval).")
    return 0


def _poll(record: Record, file: str) -> Poll | ChoicePoll:
    """Return the poll of a record.

    Raises:
        ParameterError: an answer has no such word, or is of another kind of question.
    """
    if record.words:
        poll: Any = ChoicePoll(Choice(record.words, record.epsilon))
    else:
        poll = Poll(Design(record.low, record.high, record.epsilon))
    for place, answer in enumerate(record.answers):
        *asked, word = (answer,) if isinstance(answer, int) else answer
        if bool(record.words) == bool(asked):
            raise ParameterError(f"{file}: answers[{place}]: is of another kind of question.")
        if word not in range(poll.design.many):
            allowed = ", ".join(map(str, range(poll.design.many - 1)))
            raise ParameterError(
                f"{file}: answers[{place}] = {word}: must be {allowed} or {poll.design.many - 1}."
            )
        # Files of 0.3.0 leave the question's number out.
        number = int(asked[0]) if len(asked) == 3 else place
        poll = poll.take(poll.design if record.words else Question(number, *asked[-2:]), word)
    return cast(Poll | ChoicePoll, poll)
