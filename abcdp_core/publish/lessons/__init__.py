"""Lessons: texts that lead through the pages, in which every number is computed.

``assets/lessons`` has one Markdown file per lesson, in the order of their names. A file has a title
(``# ``), an introduction and steps. A step is a heading (``## ``), a block of TOML that says what
it shows and computes, and its text. If it asks a question, readers see the part below
``### Answer`` after they guess.

Data flow: file → ``Lesson`` → ``Step`` (:mod:`.reading`) → its runs → tables → *numbers* → text. A
text has numbers in braces, with a format: ``{error:.2g}``. A step with a number that it does not
compute is refused when the file is read.

The TOML of a step::

    page = "posterior"                    # the page that it opens
    look = "chart-posterior-decisions"    # the key of the element to highlight
    set = { c = 100 }                     # knobs by their keys in a link, besides the lesson's own
    holds = ["flips > 5"]                 # conditions that the text relies on, for a test to check
    [runs]                                # name -> the study whose tables are read, with settings
    main = { experiment = "posterior" }   # besides the step's knobs
    [numbers]                             # name -> where it is (see numbers.py)
    flips = "sum flipped of main.decisions"
    [question]                            # what to guess, on which scale, and the number it is
    ask = "How many of 100?"
    low = 0
    high = 100
    answer = "flips"
    then = { c = 50 }                     # knobs that the answer sets, if it is about others
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from abcdp_core.base.places import ASSETS

if TYPE_CHECKING:
    from abcdp_core.publish.lessons.reading import Lesson

FILES = sorted((ASSETS / "lessons").glob("*.md"))
STEP = re.compile(r"^## +(.+)$", re.MULTILINE)


class LessonError(ValueError):
    """A lesson's file is wrong; one line says where and why."""


@functools.cache
def lengths() -> Mapping[str, int]:
    """Return name -> number of steps, in the order of the files."""
    return {name_of(file.stem): len(STEP.findall(file.read_text("utf-8"))) for file in FILES}


def name_of(stem: str) -> str:
    """Return the name of a lesson in links: its file's name without number and ending."""
    return stem.lstrip("0123456789-")


@functools.cache
def load() -> Mapping[str, Lesson]:
    """Return name -> lesson, in the order of the files.

    Raises:
        LessonError: a file is wrong.
    """
    # Imported late: most pages are seen without a lesson.
    from abcdp_core.publish.lessons import reading

    return {lesson.name: lesson for lesson in map(reading.read, FILES)}
