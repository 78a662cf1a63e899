"""Errors of estimates from people asked one by one: sentences and curves over runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from abcdp_core.adaptive.stream import Answer
from abcdp_core.base import summaries
from abcdp_core.base.arrays import Array
from abcdp_core.base.sentences import amount, plain
from abcdp_core.figures.lines import Curve, Lines
from abcdp_core.figures.looks import Style
from abcdp_core.figures.statistics import way_of_asking
from abcdp_core.run.results import Result
from abcdp_core.run.tasks import Run
from abcdp_core.studies.engine.tables import Settings

Key = tuple[str, ...]

SYMBOL = {"mu": "μ", "sigma": "σ"}  # Parameter -> symbol

ASKED = {
    "adaptive": way_of_asking("truncation").called("adaptive intervals"),
    "fixed": way_of_asking("fixed").called("fixed intervals"),
    "optimal": way_of_asking("optimal").called("optimal symbols"),
    "sign": way_of_asking("sign").called("signs"),
}
"""Way of asking -> style and name."""


def ask(run: Run[Any], state: Any, people: slice) -> tuple[Any, list[Answer]]:
    """Ask the next people of a stream; its parameters list one value each.

    Args:
        run: run of a study with the parameters of a stream.
        state: state of the sampler after the people before; ``None`` at first.
        people: which people to ask.

    Returns:
        The state after these people, and their answers.
    """
    at, params = Settings.first(run), run.params
    channel = getattr(at, "channel", "truncation")
    stream = params.stream(at.epsilon_total, at.sampler, at.interval, at.seed, at.run, channel)
    values, chances = params.people(at.seed, at.run, channel)
    turns = list(stream.ask(state, people.start, values[people], chances[people]))
    return turns[-1][0], [answer for _, answer in turns]


def least_error(variance: ArrayLike) -> Array:
    """Return the mean absolute error of an unbiased normal estimate with this variance."""
    return np.sqrt(2.0 / np.pi * np.asarray(variance, dtype=float))


@dataclass(frozen=True)
class ErrorCurves:
    """Describe and draw mean absolute errors over runs, beside theory.

    Attributes:
        column: column of the errors.
        what: the estimated parameter, in words.
        x: column along the axis.
        ways: columns that identify a way of asking; the first gives lines, others give panels.
        at: the point on the axis that the text describes, and a phrase that begins a sentence.
        theory: from the rows, curves of the error if all information in the answers were used.
        looks: value of the first of ``ways`` -> style and name.
        table: name of the table with the errors.
        averaged: whether the error of a single run is a mean too, over coordinates.
    """

    column: str
    what: str
    x: str
    ways: Key
    at: Callable[[Result], tuple[float, str]]
    theory: Callable[[Result, pd.DataFrame], list[Curve]]
    looks: Mapping[str, Style] = field(default_factory=dict)
    table: str = "main"
    averaged: bool = False

    def says(self, result: Result) -> tuple[str, str]:
        """Return a title that compares the ways of asking, and a sentence with their errors."""
        main = result.tables[self.table]
        if main.empty:
            return f"Error of {self.what}", "No estimate is finished yet."
        place, at = self.at(result)
        over_runs = summaries.over_runs(main[main[self.x] == place], self.column, self.ways)
        rows: Any = over_runs.to_dict("records")
        by_way = {tuple(row[way] for way in self.ways): row for row in rows}
        runs = main.run.nunique()
        over = f"over {runs:,} runs" if runs > 1 else "in one run"
        error = f"{'mean ' * (self.averaged or runs > 1)}absolute error of {self.what}"
        means = _in_words({self._name(result, key): row["mean"] for key, row in by_way.items()})
        known = [y[x == place].min() for _, x, y in self.theory(result, main) if place in x]
        least = min(known, default=math.nan)
        theory = (
            f" The large-sample lower bound without a prior is a mean absolute error of "
            f"{plain(least)}; the prior can bring the error below it."
        )
        if not math.isfinite(least):
            about = f" The answers carry no information about {self.what}."
            theory = about * math.isinf(least)
        sentence = f"{at}, the {error} {over} is {means}."
        return self.title(result, by_way, at), f"{sentence}{theory}"

    def title(self, result: Result, by_way: dict[Key, dict[str, float]], at: str) -> str:
        """Say which way of asking has the largest error, if the runs show it clearly."""
        if len(by_way) < 2 or any(math.isnan(row["low"]) for row in by_way.values()):
            return f"Error of {self.what}"
        if max(row["low"] for row in by_way.values()) <= min(
            row["high"] for row in by_way.values()
        ):
            return f"{at}, the errors of {self.what} do not differ clearly"
        means = {self._name(result, key): row["mean"] for key, row in by_way.items()}
        return f"{at}, {contrast(f'error of {self.what}', means)}"

    def _name(self, result: Result, key: Key) -> str:
        """Name a way of asking by its distinguishing values."""
        main, (first, *others) = result.tables[self.table], key
        name = self.looks[first].name if first in self.looks else first
        shown = zip(self.ways[1:], others, strict=True)
        more = [value for way, value in shown if len(main[way].unique()) > 1]
        return f"{name} ({', '.join(more)})" if more else name

    def view(self, **more: Any) -> Lines:
        """Return a view of the errors, with further attributes of :class:`Lines`."""
        usual: dict[str, Any] = {"says": self.says, "by": self.ways, "table": self.table}
        usual |= {"looks": self.looks, "curves": self.theory}
        return Lines(self.column, self.x, **(usual | more))


def _in_words(means: dict[str, float]) -> str:
    """List one or two means; of more, the smallest and the largest."""
    ordered = sorted(means.items(), key=lambda item: item[1])
    texts = [f"{amount(mean)} with {way}" for way, mean in ordered]
    return " and ".join(texts) if len(texts) <= 2 else f"between {texts[0]} and {texts[-1]}"


def contrast(what: str, values: Mapping[str, float]) -> str:
    """Compare the largest of some values with the smallest, in a clause.

    Args:
        what: what has the values, such as ``error of μ``; shortened at the second mention.
        values: way of asking -> value.
    """
    (better, least), *_, (worse, most) = sorted(values.items(), key=lambda item: item[1])
    ratio = most / max(least, 1e-300)
    times = plain(ratio, 2 if ratio >= 2.0 else 3)
    if times == "1":
        return f"the {what} is about the same with {better} and {worse}"
    noun = what.split(" of ")[0]
    return f"the {what} with {worse} is {times} times the {noun} with {better}"
