"""Recompute what the answers of a live poll reveal.

`poll` reads the file that a live poll offers and writes two tables: each question with its answer
and the interval of the mean after it, and the posterior of the mean. They are the tables of the
page, byte for byte. The answers are public: everyone's word was drawn on their own telephone.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Annotated

import pydantic

from abcdp_core import schemas
from abcdp_core.adaptive.poll import Design, Poll, Question
from abcdp_core.cli import arguments
from abcdp_core.cli.ending import say
from abcdp_core.output.atomic import together
from abcdp_core.parameters import ParameterError
from abcdp_core.schemas import Schema, Several
from abcdp_core.sentences import amount, counted
from abcdp_core.studies.poll import answers_of, posterior_of


class Record(Schema):
    """A poll as it is written (:func:`abcdp_core.studies.poll.written`)."""

    version: str
    question: str
    unit: str
    low: float
    high: float
    epsilon: float
    answers: Several[Annotated[tuple[float, float, int], pydantic.Field(strict=False)]]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="poll.toml, as a live poll saves it"
    )
    arguments.add_out(parser, "folder for the tables")


def run(options: argparse.Namespace) -> int:
    """Recompute a poll, write its tables, and print the interval."""
    record = schemas.read(options.file, Record)
    design = Design(record.low, record.high, record.epsilon)
    answers = []
    for number, (lower, upper, word) in enumerate(record.answers):
        if word not in range(3):
            raise ParameterError(f"{options.file}: answers[{number}] = {word}: must be 0, 1 or 2.")
        answers.append((Question(number, lower, upper), word))
    poll = Poll.replayed(design, tuple(answers))
    with arguments.writing("out", options.out), together(options.out) as folder:
        answers_of(poll).to_csv(folder / "poll.csv", index=False)
        posterior_of(poll).to_csv(folder / "poll.posterior.csv", index=False)
    low, high = (amount(end) for end in poll.interval())
    unit = f" {record.unit}" if record.unit else ""
    say(
        f"After {counted(len(answers), 'answer')}, the mean is {low} to {high}{unit} (95 % "
        "interval)."
    )
    return 0
