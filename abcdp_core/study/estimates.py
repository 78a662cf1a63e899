"""Errors of estimates from people asked one by one: over runs, in words and as curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from abcdp_core import summaries
from abcdp_core.adaptive.stream import Answer
from abcdp_core.figures.lines import Curve, Lines
from abcdp_core.figures.looks import Style
from abcdp_core.figures.statistics import way_of_asking
from abcdp_core.results import Result
from abcdp_core.sentences import amount, plain, runs_in_words
from abcdp_core.study.tables import Array, At
from abcdp_core.tasks import Run

Key = tuple[str, ...]

SYMBOL = {"mu": "μ", "sigma": "σ"}  # Parameter of the people's values -> how it is written

ASKED = {
    "adaptive": way_of_asking("truncation").called("adaptive intervals"),
    "fixed": way_of_asking("fixed").called("fixed intervals"),
    "optimal": way_of_asking("optimal").called("optimal symbols"),
    "sign": way_of_asking("sign").called("signs"),
}
"""Way of asking -> its look and its name in words."""


def ask(run: Run[Any], state: Any, people: slice) -> tuple[Any, list[Answer]]:
    """Ask the next people of a stream whose parameters list one value each.

    Args:
        run: of a study with the parameters of a stream.
        state: of the sampler after the people before; ``None`` at first.
        people: which are asked.

    Returns:
        The state after them, and their answers.
    """
    at, params = At.first(run), run.params
    channel = getattr(at, "channel", "truncation")
    stream = params.stream(at.epsilon_total, at.sampler, at.interval, at.seed, at.run, channel)
    values, chances = params.people(at.seed, at.run, channel)
    turns = list(stream.ask(state, people.start, values[people], chances[people]))
    return turns[-1][0], [answer for _, answer in turns]


def least_error(variance: ArrayLike) -> Array:
    """Return the mean absolute error of a normal estimate without bias, by its variance."""
    error: Array = np.sqrt(2.0 / np.pi * np.asarray(variance, dtype=float))
    return error


@dataclass(frozen=True)
class Errors:
    """Mean absolute errors over runs, and what they would be by theory.

    Attributes:
        column: of the errors.
        what: is estimated.
        x: column along the axis.
        ways: columns that make a way; values of the first are lines, of others panels.
        at: place along the axis that the words are about, and a phrase for it to begin a sentence.
        theory: curves of the error if all information in the answers were used, given the rows.
        looks: value of the first of ``ways`` -> style, with the name that it has in words.
        table: that has the errors.
    """

    column: str
    what: str
    x: str
    ways: Key
    at: Callable[[Result], tuple[float, str]]
    theory: Callable[[Result, pd.DataFrame], list[Curve]]
    looks: Mapping[str, Style] = field(default_factory=dict)
    table: str = "main"

    def at_place(self, result: Result) -> dict[Key, dict[str, float]]:
        """Return way -> its mean error at that place, with a 95 % interval over runs."""
        main = result.tables[self.table]
        here = main[main[self.x] == self.at(result)[0]]
        rows: Any = summaries.over_runs(here, self.column, self.ways).to_dict("records")
        return {tuple(row[way] for way in self.ways): row for row in rows}

    def says(self, result: Result) -> tuple[str, str]:
        """Return a title that compares the ways, and their errors in a sentence."""
        main = result.tables[self.table]
        if main.empty:
            return f"Error of {self.what}", "No estimate is finished yet."
        found, (place, at) = self.at_place(result), self.at(result)
        what = f"mean absolute error of {self.what} over {runs_in_words(main)}"
        means = _in_words({self._name(result, key): row["mean"] for key, row in found.items()})
        known = [y[x == place].min() for _, x, y in self.theory(result, main) if place in x]
        least = min(known, default=math.nan)
        theory = f"; theory for many people and no prior gives {plain(least)} at best"
        if not math.isfinite(least):
            theory = "; the answers carry no information about it" * math.isinf(least)
        return self.title(result, found, at), f"{at}, the {what} is {means}{theory}."

    def title(self, result: Result, found: dict[Key, dict[str, float]], at: str) -> str:
        """Say which way has the largest error, if that is clear over runs."""
        if len(found) < 2 or any(math.isnan(row["low"]) for row in found.values()):
            return f"Error of {self.what}"
        if max(row["low"] for row in found.values()) <= min(row["high"] for row in found.values()):
            return f"{at}, no clear difference between the errors of {self.what}"
        means = {self._name(result, key): row["mean"] for key, row in found.items()}
        return f"{at}, {contrast(f'error of {self.what}', means)}"

    def _name(self, result: Result, key: Key) -> str:
        """A way in words, by what is not the same for all."""
        main, (first, *others) = result.tables[self.table], key
        name = self.looks[first].name if first in self.looks else first
        shown = zip(self.ways[1:], others, strict=True)
        more = [value for way, value in shown if len(main[way].unique()) > 1]
        return f"{name} ({', '.join(more)})" if more else name

    def view(self, **more: Any) -> Lines:
        """Return the view of them, with further attributes of its class."""
        usual: dict[str, Any] = {"says": self.says, "by": self.ways, "table": self.table}
        usual |= {"looks": self.looks, "curves": self.theory}
        return Lines(self.column, self.x, **(usual | more))


def _in_words(means: dict[str, float]) -> str:
    """Both of two, of more the smallest and the largest."""
    ordered = sorted(means.items(), key=lambda item: item[1])
    texts = [f"{amount(mean)} with {way}" for way, mean in ordered]
    return " and ".join(texts) if len(texts) <= 2 else f"between {texts[0]} and {texts[-1]}"


def contrast(what: str, values: Mapping[str, float]) -> str:
    """Say how many times the smallest of two values or more the largest is, to end a sentence.

    Args:
        what: has the values, as ``error of μ``; of the second its first words are said.
        values: way -> value.
    """
    (better, least), *_, (worse, most) = sorted(values.items(), key=lambda item: item[1])
    ratio = most / max(least, 1e-300)
    times = plain(ratio, 2 if ratio >= 2.0 else 3)
    if times == "1":
        return f"the {what} is about the same with {better} and {worse}"
    noun = what.split(" of ")[0]
    return f"the {what} with {worse} is {times} times the {noun} with {better}"
