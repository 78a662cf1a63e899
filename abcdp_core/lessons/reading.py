"""Reading and checking a lesson's file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from abcdp_core.lessons import Lesson, LessonError, Question, Run, Step, numbers
from abcdp_core.parameters import text_of

BLOCK = re.compile(r"```toml\n(.*?)```\n?", re.DOTALL)
STEP = re.compile(r"^## +(.+)$", re.MULTILINE)
TITLE = re.compile(r"^# +(.+)$", re.MULTILINE)
ANSWER = re.compile(r"^### +Answer *$", re.MULTILINE)

KEYS = {"page", "look", "set", "holds", "runs", "numbers", "question"}


def read(file: Path) -> Lesson:
    """A lesson.

    Raises:
        LessonError: names the file, the step and what is wrong.
    """
    try:
        return parsed(file.stem.lstrip("0123456789-"), file.read_text(encoding="utf-8"))
    except (LessonError, OSError, UnicodeDecodeError) as error:
        raise LessonError(f"{file.name}: {error}") from error


def parsed(name: str, text: str) -> Lesson:
    """A lesson from the text of its file.

    Raises:
        LessonError: the text is no lesson.
    """
    before, *parts = STEP.split(text)
    usual, before = _block(before)
    titles = TITLE.findall(before)
    if len(titles) != 1 or not parts:
        raise LessonError("a lesson has one title (# ...) and at least one step (## ...).")
    if usual.keys() - {"set"}:
        raise LessonError("before the first step, TOML may hold `set` only.")
    knobs = usual.get("set", {})
    steps = zip(parts[::2], parts[1::2], strict=True)
    lead = TITLE.sub("", before).strip()
    return Lesson(name, titles[0].strip(), lead, tuple(_step(*each, knobs) for each in steps))


def _block(text: str) -> tuple[dict[str, Any], str]:
    """The TOML of a part and the rest of it."""
    blocks = BLOCK.findall(text)
    if len(blocks) > 1:
        raise LessonError("a part has at most one block of TOML.")
    try:
        return tomllib.loads(blocks[0]) if blocks else {}, BLOCK.sub("", text)
    except tomllib.TOMLDecodeError as error:
        raise LessonError(f"not TOML: {error}") from error


def _step(title: str, text: str, usual: Mapping[str, Any]) -> Step:
    told, words = _block(text)
    try:
        if unknown := told.keys() - KEYS:
            raise LessonError(f"unknown: {', '.join(sorted(unknown))}.")
        before, *after = (part.strip() for part in ANSWER.split(words))
        question = Question(**told["question"]) if "question" in told else None
        step = Step(
            title=title.strip(),
            page=told["page"],
            text=before,
            knobs=dict(usual) | told.get("set", {}),
            look=told.get("look", ""),
            runs={name: _run(entry) for name, entry in told.get("runs", {}).items()},
            numbers=told.get("numbers", {}),
            holds=tuple(told.get("holds", ())),
            question=question,
            reveal="\n".join(after),
        )
        _check(step)
    except (LessonError, KeyError, TypeError) as error:
        raise LessonError(f"step {title.strip()!r}: {error}") from error
    return step


def _run(entry: Mapping[str, Any]) -> Run:
    settings = {
        key: text_of(tuple(value) if isinstance(value, list) else value)
        for key, value in entry.items()
        if key != "experiment"
    }
    return Run(entry["experiment"], settings)


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
        raise LessonError("the text before the guess tells the answer.")
