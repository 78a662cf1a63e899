"""Numbers of a text: where they stand in the tables of a step's runs, and how far off they may be.

A number is told in one of three ways::

    mean mse of main.errors where release == 'private'
    = sqrt(private / without)
    within mse of main where c == 10        or, of a number above:  within times

The first takes a column of a table of a run (``RUN.TABLE``, or ``RUN`` for its table ``main``) and
makes one number of its rows: ``mean, median, sum, min, max, first, last, count`` or ``share`` (the
part that is true or not zero), or a quantile such as ``q10``. What follows *where* is a condition
as pandas reads it. The second computes with the numbers above it, the step's knobs (``n``, ``c``,
``epsilon_total``) and the usual functions.

The third says how far off a number may be that was measured over repeats: ``low`` and ``high`` are
the ends of its 95 % interval, ``within`` is the distance to the farther end, so that what stands
after ± never says too little. Which interval it is depends on what was measured:

* a value that stands in one row beside ``COLUMN_low`` and ``COLUMN_high``: the study's own ends;
* a mean over runs, data sets or releases, one row of each: the bootstrap interval that studies
  draw (:func:`abcdp_core.summaries.mean_interval`, and the same draws);
* the share of them in which a column is true: Clopper-Pearson;
* what is computed (``= ...``) from one of these: the same expression of its ends, if between them
  it only rises or only falls;
* what is computed from several means over the same repeats, such as a ratio: the bootstrap
  interval of the expression itself. The repeats are drawn together, as one that is hard for the
  numerator is hard for the denominator; to combine the ends of both would forget that.

What else is computed has none, and a lesson that asks for it is refused: one that combines shares,
means over different repeats, or a number of which nobody says how far off it may be. Knobs and
counts are exact.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import summaries
from abcdp_core.lessons import LessonError, Step
from abcdp_core.streams import generator

Array = NDArray[np.float64]

Tables = Mapping[str, Mapping[str, pd.DataFrame]]
"""Name of the run -> name of the table -> the table."""

PLACE = re.compile(
    r"(?P<take>\w+) (?P<column>\w+) of (?P<run>\w+)(?:\.(?P<table>\w+))?(?: where (?P<where>.+))?"
)

TAKES: Mapping[str, Callable[[pd.Series], float]] = {
    "mean": pd.Series.mean,
    "median": pd.Series.median,
    "sum": pd.Series.sum,
    "min": pd.Series.min,
    "max": pd.Series.max,
    "first": lambda rows: rows.iloc[0],
    "last": lambda rows: rows.iloc[-1],
    "count": pd.Series.count,
    "share": lambda rows: (rows != 0).mean(),
}
QUANTILE = re.compile(r"q(\d\d)")

ENDS = ("within", "low", "high")
"""What may be asked of a number that was measured over repeats."""

OF_NUMBER = re.compile(r"(?P<end>within|low|high) (?P<number>\w+)")

REPEATS = ("run", "release_number", "dataset")
"""Columns that number what is repeated."""

NAMED = re.compile(r"\{(\w+)(?::([^{}]*))?\}")
"""A number in a text, with its format."""


def named_in(text: str) -> frozenset[str]:
    """Names of the numbers that a text holds."""
    return frozenset(name for name, _ in NAMED.findall(text))


def fill(text: str, numbers: Mapping[str, float]) -> str:
    """A text with its numbers.

    Formats are Python's, but for shares: ``{x:.0%}`` writes 7 %, with a space, and ``{x:.0p}`` the
    7 alone, for the first end of a range.

    Raises:
        LessonError: a number is not there, or is none.
    """

    def written(found: re.Match[str]) -> str:
        name, form = found.groups()
        value = numbers.get(name, float("nan"))
        if value != value:
            raise LessonError(f"{name}: there is no such number.")
        if form.endswith(("%", "p")):
            return format(100.0 * value, f"{form[:-1]}f") + (" %" if form.endswith("%") else "")
        return format(round(value) if form == ",d" else value, form or "g")

    return NAMED.sub(written, text)


def answer_in_words(step: Step, found: Mapping[str, float]) -> str:
    """The answer to a step's question with its unit, written as the text after the guess has it."""
    question = step.question
    assert question is not None, "is called for questions only"
    forms = [form for name, form in NAMED.findall(step.reveal) if name == question.answer]
    text = fill(f"{{{question.answer}:{forms[0] if forms else '.3g'}}}", found)
    return f"{text} {question.unit}".rstrip()


def of_knobs(step: Step) -> dict[str, float]:
    """What a step's knobs stand at, by the part of their keys after the page's name."""
    return {
        key.rpartition(".")[2]: float(value)
        for key, value in step.knobs.items()
        if isinstance(value, int | float)
    }


def of(step: Step, tables: Tables) -> dict[str, float]:
    """All numbers of a step, its knobs among them.

    Args:
        step: which.
        tables: of its runs.

    Raises:
        LessonError: a number stands nowhere.
    """
    found = of_knobs(step)
    for name, told in step.numbers.items():
        try:
            if told.startswith("="):
                value = _computed(told, found)
            elif own := OF_NUMBER.fullmatch(told):
                value = _interval_of(step, own["number"], found, tables).end(own["end"])
            else:
                value = _taken(told, tables)
            found[name] = float(value)
        except (ArithmeticError, KeyError, IndexError, NameError, TypeError, ValueError) as error:
            raise LessonError(f"{step.title}: {name} = {told}: {error}") from error
    return found


def broken(step: Step, found: Mapping[str, float]) -> list[str]:
    """Conditions of a step that its numbers do not meet."""
    return [each for each in step.holds if not pd.eval(each, local_dict={**found}, engine="python")]


def check(told: str) -> str:
    """The run that a number is read from; empty for one that is made of others.

    Raises:
        LessonError: it is told in neither way.
    """
    if told.startswith("=") or OF_NUMBER.fullmatch(told):
        return ""
    found = PLACE.fullmatch(told)
    takes = (*TAKES, *ENDS)
    if found is None or not (found["take"] in takes or QUANTILE.fullmatch(found["take"])):
        raise LessonError(f"{told}: must be like 'mean mse of main.errors' or '= 2 * other'.")
    return found["run"]


def _computed(told: str, found: Mapping[str, Any]) -> Any:
    """What an expression comes to; of arrays, elementwise."""
    return pd.eval(told[1:], local_dict={**found}, engine="python")


def _taken(told: str, tables: Tables) -> float:
    take, column, rows = _place(told, tables)
    if take in ENDS:
        return _measured(rows, column).end(take)
    if quantile := QUANTILE.fullmatch(take):
        return float(rows[column].quantile(int(quantile[1]) / 100))
    return float(TAKES[take](rows[column]))


def _place(told: str, tables: Tables) -> tuple[str, str, pd.DataFrame]:
    """What is taken, of which column, of which rows."""
    found = PLACE.fullmatch(told)
    assert found is not None, "was checked when the lesson was read"
    rows = tables[found["run"]][found["table"] or "main"]
    if found["where"]:
        rows = rows.query(found["where"], engine="python")
    if rows.empty:
        raise LessonError("no row is so.")
    return found["take"], found["column"], rows


# ------------------------------------------------------------------------- how far off they may be


@dataclass(frozen=True)
class Interval:
    """A number that was measured over repeats, and its 95 % interval.

    Attributes:
        value: the number.
        low, high: the ends.
        repeats: of a mean, the values by repeat; ``None`` for what is no mean.
    """

    value: float
    low: float
    high: float
    repeats: pd.Series[float] | None = None

    def end(self, which: str) -> float:
        """One of :data:`ENDS`."""
        if which == "within":
            return max(self.value - self.low, self.high - self.value)
        return self.low if which == "low" else self.high


def _measured(rows: pd.DataFrame, column: str) -> Interval:
    """The interval of a column's mean over rows that are repeats, or the one that stands beside it.

    Raises:
        LessonError: nothing says how far off the number may be.
    """
    own = [column, f"{column}_low", f"{column}_high"]
    if len(rows) == 1 and {*own} <= {*rows.columns}:
        return Interval(*rows[own].iloc[0].astype(float))
    counted = [name for name in REPEATS if name in rows]
    if not counted or rows[counted[0]].duplicated().any():
        raise LessonError(
            f"nothing says how far off it may be: no {own[1]} and {own[2]} stand beside it in one "
            f"row, and its rows are not repeats, one for each {', '.join(REPEATS)}."
        )
    values = rows.set_index(counted[0])[column].dropna().sort_index()
    if len(values) < 2:
        raise LessonError("an interval needs two repeats or more.")
    if pd.api.types.is_bool_dtype(values):
        low, high = summaries.binomial_interval(values.sum(), len(values))
        return Interval(float(values.mean()), float(low), float(high))
    values = values.astype(float)
    low, high = summaries.mean_interval(np.asarray(values), generator(0, "bootstrap"))
    return Interval(float(values.mean()), float(low), float(high), values)


def _interval_of(step: Step, name: str, found: Mapping[str, float], tables: Tables) -> Interval:
    """The interval of a number above.

    Raises:
        LessonError: it has none.
    """
    if name not in found or name not in step.numbers:
        raise LessonError(f"there is no number {name} above it.")
    order = [each for each in step.numbers if each in _parts(step, name)]
    measured: dict[str, Interval] = {}
    for part in order:
        if not step.numbers[part].startswith("=") and (known := _of_part(step, part, tables)):
            measured[part] = known
    if name in measured:
        return measured[name]
    if not measured:
        raise LessonError(f"{name} is exact: nothing in it was measured over repeats.")
    values: dict[str, Any] = {**found, **_together(measured)}
    for part in order:
        if step.numbers[part].startswith("="):
            values[part] = _computed(step.numbers[part], values)
    drawn = np.asarray(values[name], dtype=float)
    if len(measured) > 1:
        low, high = np.quantile(drawn, [0.025, 0.975])
        return Interval(found[name], float(low), float(high))
    steps = np.diff(drawn)
    if not ((steps >= 0).all() or (steps <= 0).all()):
        raise LessonError(f"{name} rises and falls between the ends of what it is computed from.")
    return Interval(found[name], float(drawn.min()), float(drawn.max()))


def _parts(step: Step, name: str) -> set[str]:
    """A number and all that it is computed from, knobs left out."""
    told = step.numbers.get(name, "")
    if not told.startswith("="):
        return {name} & step.numbers.keys()
    nodes = ast.walk(ast.parse(told[1:].strip(), mode="eval"))
    named = [node.id for node in nodes if isinstance(node, ast.Name)]
    return {name}.union(*(_parts(step, each) for each in named))


def _of_part(step: Step, name: str, tables: Tables) -> Interval | None:
    """The interval of a number that is taken from a table; ``None`` for a count, which is exact."""
    told = step.numbers[name]
    if OF_NUMBER.fullmatch(told) or (taken := _place(told, tables))[0] in ENDS:
        raise LessonError(f"{name} is an end itself.")
    take, column, rows = taken
    if take == "count":
        return None
    is_share = take == "share" and pd.api.types.is_bool_dtype(rows[column])
    is_alone = len(rows) == 1 and take != "share"
    if not (take == "mean" or is_share or is_alone):
        raise LessonError(
            f"{name} is no mean and no share of trues: nothing says how far off it is."
        )
    return _measured(rows, column)


def _together(measured: Mapping[str, Interval]) -> Mapping[str, Array]:
    """Values that numbers may have: of one, from end to end; of several means, resampled alike.

    Raises:
        LessonError: several that are no means over the same repeats.
    """
    if len(measured) == 1:
        ((name, one),) = measured.items()
        return {name: np.linspace(one.low, one.high, BETWEEN)}
    series = [each.repeats for each in measured.values() if each.repeats is not None]
    if len(series) < len(measured) or any(
        not each.index.equals(series[0].index) for each in series
    ):
        raise LessonError(f"{', '.join(measured)} are not all means over the same repeats.")
    means = summaries.resampled_means(np.column_stack(series), generator(0, "bootstrap"))
    return dict(zip(measured, means.T, strict=True))


BETWEEN = 101
"""Places between two ends at which it is looked whether an expression only rises or only falls."""
