"""Print a lesson: the questions to write on and, after a page break, the answers.

The page is HTML that works offline and without scripts (``assets/templates``); a browser prints it
on A4 or Letter. A step that comes before the first question is in its place. Later steps may give
away answers, so their texts are among the answers, and the sheet asks what you see instead.
"""

from __future__ import annotations

import base64
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from abcdp_core import __version__
from abcdp_core.figures import CaptionedFigure
from abcdp_core.publish.lessons import numbers
from abcdp_core.publish.lessons.reading import Lesson
from abcdp_core.publish.lessons.step import Question, Step
from abcdp_core.publish.output import citation, documents, images
from abcdp_core.publish.output.formats import ExportError
from abcdp_core.run.results import Result


@dataclass(frozen=True)
class Picture:
    """A figure among the answers."""

    svg: bytes
    sentence: str

    @property
    def source(self) -> str:
        """Data URL, so that names inside one SVG cannot clash with another's."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg).decode()}"


def pictures(drawn: Mapping[int, tuple[Result, CaptionedFigure]]) -> dict[int, Picture]:
    """Return place -> figure as SVG, drawn by one browser; empty if that fails."""
    if not drawn or images.obstacle() is not None:
        return {}
    with TemporaryDirectory() as folder:
        orders = {
            place: images.images_of(result, {"": each}, Path(folder), ["svg"], str(place))[0]
            for place, (result, each) in drawn.items()
        }
        try:
            images.draw([*orders.values()])
        except ExportError:
            return {}
        return {
            place: Picture(order.path.read_bytes(), drawn[place][1].sentence)
            for place, order in orders.items()
        }


@dataclass(frozen=True)
class Sheet:
    """A step on paper; ``code`` is the QR code of its ``address`` as SVG."""

    step: Step
    numbers: Mapping[str, float]
    page: str
    settings: tuple[str, ...] = ()
    address: str = ""
    code: str = field(default="", repr=False)
    picture: Picture | None = None

    def filled(self, text: str) -> str:
        """Fill numbers into a text of the step."""
        return numbers.fill(text, self.numbers)

    def answer_scale(self) -> dict[str, Any]:
        """Return the scale of the step's question with the answer."""
        question = self.step.question
        assert question is not None, "called for questions only"
        words = numbers.answer_in_words(self.step, self.numbers)
        return scale(question, self.numbers[question.answer], words)


def page(lesson: Lesson, number: int, sheets: Sequence[Sheet], seed: int) -> str:
    """Return a lesson as an HTML page.

    Raises:
        LessonError: a number is missing.
    """
    asked = itertools.accumulate(bool(sheet.step.question) for sheet in sheets)
    return documents.render(
        "lesson.html",
        title=f"Lesson {number}: {lesson.title}",
        number=number,
        lesson=lesson,
        places=[*zip(itertools.count(1), sheets, asked, strict=False)],
        scale=scale,
        seed=seed,
        studies=[*dict.fromkeys(run.experiment for s in sheets for run in s.step.runs.values())],
        version=__version__,
        citation=citation.TEXT,
    )


# ------------------------------------------------------------------------------------- the scale

LENGTH, MARGIN = 600, 22
"""Length of a scale, and the room for the numbers at its ends."""

MOST_STEPS = 10
ROOM = 0.4
"""Least distance of a tick from an end, in steps."""


def scale(question: Question, answer: float | None = None, words: str = "") -> dict[str, Any]:
    """Return what the template draws for the scale of a question."""

    def at(value: float) -> float:
        return MARGIN + LENGTH * (value - question.low) / (question.high - question.low)

    ticked = [(f"{at(value):.1f}", f"{value:g}") for value in ticks(question.low, question.high)]
    label = f"Scale from {question.low:g} to {question.high:g} {question.unit}".rstrip()
    drawn = {"length": LENGTH, "margin": MARGIN, "ticks": ticked, "label": label, "words": words}
    if answer is None:
        return drawn
    mark = at(answer)
    # Near an end, a centered text would leave the drawing.
    side = "start" if mark < LENGTH / 4 else "end" if mark > LENGTH * 3 / 4 else "middle"
    return drawn | {"mark": f"{mark:.1f}", "side": side, "label": f"{label}; the answer is {words}"}


def ticks(low: float, high: float) -> list[float]:
    """Return both ends and round values between them, in at most ten steps.

    Steps that divide the range are preferred; values too near an end are left out.
    """
    power = 10.0 ** math.floor(math.log10((high - low) / MOST_STEPS))
    steps = [first * power for first in (1.0, 2.0, 2.5, 5.0, 10.0, 20.0)]
    fitting = [step for step in steps if (high - low) / step <= MOST_STEPS + 1e-9]
    even = [step for step in fitting if abs((high - low) / step % 1.0 - 0.5) > 0.5 - 1e-9]
    step = (even or fitting)[0]
    inner = step * np.arange(math.floor(low / step), math.ceil(high / step) + 1)
    inner = inner[(inner > low + ROOM * step) & (inner < high - ROOM * step)]
    return [low, *inner.round(10).tolist(), high]
