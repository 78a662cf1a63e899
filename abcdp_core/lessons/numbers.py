"""Numbers of a text: where they stand in the tables of a step's runs.

A number is told in one of two ways::

    mean mse of main.errors where release == 'private'
    = sqrt(private / without)

The first takes a column of a table of a run (``RUN.TABLE``, or ``RUN`` for its table ``main``) and
makes one number of its rows: ``mean, median, sum, min, max, first, last, count`` or ``share`` (the
part that is true or not zero), or a quantile such as ``q10``. What follows *where* is a condition
as pandas reads it. The second computes with the numbers above it, the step's knobs (``n``, ``c``,
``epsilon_total``) and the usual functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from abcdp_core.lessons import LessonError, Step

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

NAMED = re.compile(r"\{(\w+)(?::([^{}]*))?\}")
"""A number in a text, with its format."""


def named_in(text: str) -> frozenset[str]:
    """Names of the numbers that a text holds."""
    return frozenset(name for name, _ in NAMED.findall(text))


def fill(text: str, numbers: Mapping[str, float]) -> str:
    """A text with its numbers.

    Raises:
        LessonError: a number is not there, or is none.
    """

    def written(found: re.Match[str]) -> str:
        name, form = found.groups()
        value = numbers.get(name, float("nan"))
        if value != value:
            raise LessonError(f"{name}: there is no such number.")
        return format(round(value) if form == ",d" else value, form or "g")

    return NAMED.sub(written, text)


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
                value: Any = pd.eval(told[1:], local_dict=found, engine="python")
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
    """The run that a number is read from; empty for one that is computed from others.

    Raises:
        LessonError: it is told in neither way.
    """
    if told.startswith("="):
        return ""
    found = PLACE.fullmatch(told)
    if found is None or not (found["take"] in TAKES or QUANTILE.fullmatch(found["take"])):
        raise LessonError(f"{told}: must be like 'mean mse of main.errors' or '= 2 * other'.")
    return found["run"]


def _taken(told: str, tables: Tables) -> float:
    found = PLACE.fullmatch(told)
    assert found is not None, "was checked when the lesson was read"
    rows = tables[found["run"]][found["table"] or "main"]
    if found["where"]:
        rows = rows.query(found["where"], engine="python")
    if rows.empty:
        raise LessonError("no row is so.")
    column = rows[found["column"]]
    if quantile := QUANTILE.fullmatch(found["take"]):
        return float(column.quantile(int(quantile[1]) / 100))
    return float(TAKES[found["take"]](column))
