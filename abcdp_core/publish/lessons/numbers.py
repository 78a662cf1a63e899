"""Compute the numbers in a lesson's text from the tables of its runs, with their uncertainty.

A number is written in one of three ways::

    mean mse of main.errors where release == 'private'
    = sqrt(private / without)
    within times

The first reduces a column of a table of a run (``RUN.TABLE``, or ``RUN`` for its table ``main``) to
one number: ``mean, median, sum, min, max, first, last, count``, or a quantile such as ``q10``; a
pandas condition follows *where*. The second computes with earlier numbers, the step's knobs (``n``,
``c``, ``epsilon_total``) and the usual functions.

The third is the uncertainty of an earlier number that was measured over repeats: ``low`` and
``high`` are the ends of its 95 % interval, and ``within`` is the distance to the farther end, so
that ± is never too small. The interval depends on the number:

* one row with ``COLUMN_low`` and ``COLUMN_high`` beside the value: the study's own interval;
* a mean over runs, data sets or releases, one row each: the bootstrap interval that studies draw
  (:func:`abcdp_core.base.summaries.mean_interval`, with the same resamples);
* computed (``= ...``) from one of these: the expression at both ends, if it is monotonic;
* computed from several means over the same repeats, such as a ratio: the bootstrap interval of the
  expression. Repeats are resampled together, because one that is hard for the numerator is hard for
  the denominator.

Nothing else has an interval, and a lesson that asks for one is refused. Knobs are exact.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from abcdp_core.base import summaries
from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from abcdp_core.publish.lessons import LessonError
from abcdp_core.publish.lessons.step import Step

Tables = Mapping[str, Mapping[str, pd.DataFrame]]
"""Name of the run -> name of the table -> the table."""

PLACE = re.compile(
    r"(?P<take>mean|median|sum|min|max|first|last|count|q\d\d) (?P<column>\w+) "
    r"of (?P<run>\w+)(?:\.(?P<table>\w+))?(?: where (?P<where>.+))?"
)

END = re.compile(r"(?P<end>within|low|high) (?P<number>\w+)")

REPEATS = ("run", "release_number", "dataset")
"""Columns that number what is repeated."""

NAMED = re.compile(r"\{(\w+)(?::([^{}]*))?\}")
"""A number in a text, with its format."""

BETWEEN = 101
"""Points between two ends at which an expression is checked for monotonicity."""


def named_in(text: str) -> frozenset[str]:
    """Return the names of the numbers in a text."""
    return frozenset(name for name, _ in NAMED.findall(text))


def fill(text: str, numbers: Mapping[str, float]) -> str:
    """Write numbers into a text.

    Formats are Python's, except that ``{x:.0%}`` writes 7 % (with a space) and ``{x:.0p}`` only the
    7, for the first end of a range.

    Raises:
        LessonError: a number is missing or NaN.
    """

    def written(match: re.Match[str]) -> str:
        name, form = match[1], match[2] or "g"
        value = numbers.get(name, float("nan"))
        if np.isnan(value):
            raise LessonError(f"{name}: this number does not exist.")
        if form.endswith(("%", "p")):
            return format(100.0 * value, f"{form[:-1]}f") + (" %" if form.endswith("%") else "")
        return format(round(value) if form == ",d" else value, form)

    return NAMED.sub(written, text)


def answer_in_words(step: Step, computed: Mapping[str, float]) -> str:
    """Return the answer to a step's question with its unit, in the format of the text below it."""
    question = step.question
    assert question is not None, "is called for questions only"
    forms = [form for name, form in NAMED.findall(step.reveal) if name == question.answer]
    text = fill(f"{{{question.answer}:{forms[0] if forms else '.3g'}}}", computed)
    return f"{text} {question.unit}".rstrip()


def of_knobs(step: Step) -> dict[str, float]:
    """Return the values of a step's knobs, by the part of their keys after the page's name."""
    return {
        key.rpartition(".")[2]: float(value)
        for key, value in step.knobs.items()
        if isinstance(value, int | float)
    }


def of(step: Step, tables: Tables) -> dict[str, float]:
    """Compute all numbers of a step, including its knobs.

    Raises:
        LessonError: a number cannot be found or computed.
    """
    computed = of_knobs(step)
    for name, stated in step.numbers.items():
        try:
            if stated.startswith("="):
                value = _computed(stated, computed)
            elif end := END.fullmatch(stated):
                value = _interval(step, end["number"], computed, tables).end(end["end"])
            else:
                take, rows, column = _place(stated, tables)
                value = _taken(take, rows[column])
            computed[name] = float(value)
        except (ArithmeticError, KeyError, IndexError, NameError, TypeError, ValueError) as error:
            raise LessonError(f"{step.title}: {name} = {stated}: {error}") from error
    return computed


def broken(step: Step, computed: Mapping[str, float]) -> list[str]:
    """Return the conditions of a step that its numbers violate."""
    return [each for each in step.holds if not _computed(f"={each}", computed)]


def check(stated: str) -> str:
    """Return the run that a number is read from, or an empty text if it comes from other numbers.

    Raises:
        LessonError: the number is written in none of the three ways.
    """
    if stated.startswith("=") or END.fullmatch(stated):
        return ""
    if not (place := PLACE.fullmatch(stated)):
        raise LessonError(f"{stated}: must be like 'mean mse of main.errors' or '= 2 * other'.")
    return place["run"]


def _computed(stated: str, computed: Mapping[str, Any]) -> Any:
    """Evaluate an expression; for arrays, elementwise."""
    return pd.eval(stated[1:], local_dict={**computed}, engine="python")


def _place(stated: str, tables: Tables) -> tuple[str, pd.DataFrame, str]:
    """Return the operation, the rows and the column of a number."""
    place = PLACE.fullmatch(stated)
    assert place is not None, "checked when the lesson was read"
    rows = tables[place["run"]][place["table"] or "main"]
    if place["where"]:
        rows = rows.query(place["where"], engine="python")
    if rows.empty:
        raise LessonError("no row meets the condition.")
    return place["take"], rows, place["column"]


def _taken(take: str, values: pd.Series[Any]) -> Any:
    if take.startswith("q"):
        return values.quantile(int(take[1:]) / 100)
    if take in ("first", "last"):
        return values.iloc[0 if take == "first" else -1]
    return getattr(values, take)()


# ----------------------------------------------------------------------------------- uncertainty


@dataclass(frozen=True)
class Interval:
    """A number with its 95 % interval and, for a mean, the values by repeat."""

    value: float
    low: float
    high: float
    repeats: pd.Series[float] | None = None

    def end(self, which: str) -> float:
        """Return ``low``, ``high``, or the distance to the farther end (``within``)."""
        if which == "within":
            return max(self.value - self.low, self.high - self.value)
        return self.low if which == "low" else self.high


def _interval(step: Step, name: str, found: Mapping[str, float], tables: Tables) -> Interval:
    """Return the interval of an earlier number.

    Raises:
        LessonError: it has none.
    """
    if name not in found or name not in step.numbers:
        raise LessonError(f"no earlier number is called {name}.")
    parts = [part for part in step.numbers if part in _parts(step, name)]
    computed = [part for part in parts if step.numbers[part].startswith("=")]
    measured = {p: _measured(p, step.numbers[p], tables) for p in parts if p not in computed}
    if name in measured:
        return measured[name]
    if not measured:
        raise LessonError(f"{name} is exact: it rests on no repeats.")
    values: dict[str, Any] = {**found, **_together(measured)}
    for part in computed:
        values[part] = _computed(step.numbers[part], values)
    drawn = np.asarray(values[name], dtype=float)
    if len(measured) > 1:
        low, high = np.quantile(drawn, [0.025, 0.975])
        return Interval(found[name], float(low), float(high))
    steps = np.diff(drawn)
    if not ((steps >= 0).all() or (steps <= 0).all()):
        raise LessonError(f"{name} is not monotonic between the ends of the number it rests on.")
    return Interval(found[name], float(drawn.min()), float(drawn.max()))


def _parts(step: Step, name: str) -> set[str]:
    """Return a number and all numbers that it is computed from, without knobs."""
    stated = step.numbers.get(name, "")
    if not stated.startswith("="):
        return {name} & step.numbers.keys()
    nodes = ast.walk(ast.parse(stated[1:].strip(), mode="eval"))
    named = [node.id for node in nodes if isinstance(node, ast.Name)]
    return {name}.union(*(_parts(step, each) for each in named))


def _measured(name: str, stated: str, tables: Tables) -> Interval:
    """Return the interval of a number from a table.

    Raises:
        LessonError: its uncertainty is unknown.
    """
    if END.fullmatch(stated):
        raise LessonError(f"{name} is itself an end of an interval.")
    take, rows, column = _place(stated, tables)
    own = [column, f"{column}_low", f"{column}_high"]
    if len(rows) == 1 and {*own} <= {*rows.columns}:
        return Interval(*rows[own].iloc[0].astype(float))
    counted = [repeat for repeat in REPEATS if repeat in rows]
    if take != "mean" or not counted or rows[counted[0]].duplicated().any():
        raise LessonError(
            f"{name} has no interval: it is neither a mean with one row per repeat "
            f"({' or '.join(REPEATS)}) nor a single row with {own[1]} and {own[2]}."
        )
    values = rows.set_index(counted[0])[column].dropna().sort_index().astype(float)
    if len(values) < 2:
        raise LessonError("an interval needs at least two repeats.")
    low, high = summaries.mean_interval(np.asarray(values), generator(0, "bootstrap"))
    return Interval(float(values.mean()), float(low), float(high), values)


def _together(measured: Mapping[str, Interval]) -> Mapping[str, Array]:
    """Return possible values: one number from end to end, or several means resampled together.

    Raises:
        LessonError: several numbers are not means over the same repeats.
    """
    if len(measured) == 1:
        ((name, one),) = measured.items()
        return {name: np.linspace(one.low, one.high, BETWEEN)}
    series = [each.repeats for each in measured.values() if each.repeats is not None]
    same = all(each.index.equals(series[0].index) for each in series)
    if len(series) < len(measured) or not same:
        raise LessonError(f"{', '.join(measured)} are not all means over the same repeats.")
    means = summaries.resampled_means(np.column_stack(series), generator(0, "bootstrap"))
    return dict(zip(measured, means.T, strict=True))
