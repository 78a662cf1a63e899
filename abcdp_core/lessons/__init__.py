"""Lessons: texts that lead through the pages, in which every number is computed.

``assets/lessons`` has one Markdown file per lesson, in the order of their names. A file is a title
(``# ``), what the lesson is about, and its steps. A step is a heading (``## ``), a block of TOML
that says what it shows and computes, and its text; with a question, the part below ``### Answer``
is what a person reads after guessing.

Data flow: file → ``Lesson`` → ``Step`` (:mod:`.reading`) → the runs that it names → tables →
*numbers* → text. A text names its numbers in braces, with a format: ``{error:.2g}``. A step whose
text holds a number that it does not compute is refused when the file is read.

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
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from abcdp_core.places import ASSETS

if TYPE_CHECKING:
    from abcdp_core.lessons.reading import Lesson

FILES = sorted((ASSETS / "lessons").glob("*.md"))
STEP = re.compile(r"^## +(.+)$", re.MULTILINE)


class LessonError(ValueError):
    """A lesson's file is wrong; one line says which step and why."""


@functools.cache
def lengths() -> Mapping[str, int]:
    """Return name -> number of steps, in the order of the files; reads no more of them."""
    return {name_of(file.stem): len(STEP.findall(file.read_text("utf-8"))) for file in FILES}


def name_of(stem: str) -> str:
    """The name of a lesson, used in a link: its file's, without number and ending."""
    return stem.lstrip("0123456789-")


@functools.cache
def load() -> Mapping[str, Lesson]:
    """Return name -> lesson, in the order of the files.

    Raises:
        LessonError: a file is wrong.
    """
    # Inside the function: most pages are seen without a lesson.
    from abcdp_core.lessons import reading

    return {lesson.name: lesson for lesson in map(reading.read, FILES)}
