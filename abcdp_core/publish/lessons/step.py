"""One screen of a lesson: what it opens, shows and asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pydantic

from abcdp_core import studies
from abcdp_core.base.parameters import Params, Scalar, text_of
from abcdp_core.base.schemas import Schema, Several


class Run(Schema):
    """A study whose tables a step reads.

    Attributes:
        experiment: name of the study.
        settings: parameters, as texts, that differ from the step's knobs.
    """

    experiment: str
    settings: Mapping[str, str] = {}

    @pydantic.model_validator(mode="before")
    @classmethod
    def _of_table(cls, given: Any) -> Any:
        """Gather the settings, which a file states beside the experiment, as texts."""
        if not isinstance(given, dict) or "settings" in given:
            return given
        settings = {
            key: text_of(tuple(value) if isinstance(value, list) else value)
            for key, value in given.items()
            if key != "experiment"
        }
        return {key: given[key] for key in given if key not in settings} | {"settings": settings}


class Question(Schema):
    """A question to guess before the answer is shown.

    Attributes:
        ask: the question, with numbers in braces.
        answer: name of the number that is the answer.
        low, high: ends of the scale, which contains the answer; a guess begins at the low one.
        step: step of the scale.
        unit: unit after a number.
        then: knobs of what the answer is about, where the step shows something else before.
    """

    ask: str
    answer: str
    low: float = pydantic.Field(ge=0.0)
    high: float
    step: float = 1.0
    unit: str = ""
    then: Mapping[str, Scalar] = {}


class Step(Schema):
    """One screen of a lesson.

    Attributes:
        title: its heading.
        page: file name of the page that it opens, without its ending.
        text: Markdown with numbers in braces; with a question, the part before the guess.
        knobs: key in a link -> its value; ``set`` in a file.
        look: key of the element to highlight, if any.
        runs: name -> the study.
        numbers: name -> where it is in the tables.
        holds: conditions on the numbers that the text relies on.
        question: the question, if any.
        reveal: the part after the guess.
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
        """Return the parameters of a run: the step's knobs, overridden by the run's settings.

        They are the page's parameters while its knobs are as the step sets them.

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
