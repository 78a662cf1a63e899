"""Read a lesson from its file, and check it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from abcdp_core.base import schemas
from abcdp_core.publish.lessons import STEP, LessonError, name_of, numbers
from abcdp_core.publish.lessons.step import Step

BLOCK = re.compile(r"```toml\n(.*?)```\n?", re.DOTALL)
TITLE = re.compile(r"^# +(.+)$", re.MULTILINE)
ANSWER = re.compile(r"^### +Answer *$", re.MULTILINE)


@dataclass(frozen=True)
class Lesson:
    """A lesson."""

    name: str
    title: str
    lead: str
    steps: tuple[Step, ...]


def read(file: Path) -> Lesson:
    """Read a lesson.

    Raises:
        LessonError: the file is wrong.
    """
    try:
        return parsed(name_of(file.stem), file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LessonError(f"{file.name}: {error}") from error


def parsed(name: str, text: str) -> Lesson:
    """Parse the text of a lesson's file.

    Raises:
        LessonError, ParameterError: the text is not a lesson.
    """
    before, *parts = STEP.split(text)
    usual, before = _block(before, "the lesson")
    titles = TITLE.findall(before)
    if len(titles) != 1 or not parts:
        raise LessonError("a lesson needs one title (# ...) and at least one step (## ...).")
    if usual.keys() - {"set"}:
        raise LessonError("before the first step, TOML may contain only `set`.")
    steps = zip(parts[::2], parts[1::2], strict=True)
    knobs, lead = usual.get("set", {}), TITLE.sub("", before).strip()
    return Lesson(name, titles[0].strip(), lead, tuple(_step(*each, knobs) for each in steps))


def _block(text: str, name: str) -> tuple[dict[str, Any], str]:
    """Return the TOML of a part, and its text."""
    blocks = BLOCK.findall(text)
    if len(blocks) > 1:
        raise LessonError(f"{name}: has more than one block of TOML.")
    try:
        return tomllib.loads("".join(blocks)), BLOCK.sub("", text)
    except tomllib.TOMLDecodeError as error:
        raise LessonError(f"{name}: the TOML is invalid ({error}).") from error


def _step(title: str, text: str, usual: Mapping[str, Any]) -> Step:
    name = f"step {title.strip()!r}"
    stated, words = _block(text, name)
    before, *after = (part.strip() for part in ANSWER.split(words))
    own = {"title": title.strip(), "text": before, "reveal": "\n".join(after)}
    step = schemas.check({**stated, **own, "set": {**usual, **stated.get("set", {})}}, Step, name)
    try:
        _check(step)
    except LessonError as error:
        raise LessonError(f"{name}: {error}") from error
    return step


def _check(step: Step) -> None:
    """Refuse a step whose text could not be filled."""
    if (step.question is None) != (not step.reveal):
        raise LessonError("a question and ### Answer need each other.")
    for stated in step.numbers.values():
        run = numbers.check(stated)
        if run and run not in step.runs:
            raise LessonError(f"{stated}: run {run} does not exist.")
    asked = step.question
    before = numbers.named_in(step.text + (asked.ask if asked else ""))
    wanted = before | numbers.named_in(step.reveal) | ({asked.answer} if asked else set())
    if missing := wanted - step.numbers.keys() - numbers.of_knobs(step).keys():
        raise LessonError(f"not computed: {', '.join(sorted(missing))}.")
    if asked and asked.answer in before:
        raise LessonError("the text before the guess gives away the answer.")
