"""Read a pool, draws from a prior with simulated summaries, from a CSV or Parquet file.

A row is one draw. A column ``theta.NAME`` holds a parameter, and ``summary.NAME`` a number of the
data set simulated there, before any noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from abcdp_core.base import tabular
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError, shown
from abcdp_core.models.own_model import reading
from abcdp_core.models.own_model.statistics import AS_HTML, HTML

THETA, SUMMARY = "theta.", "summary."
"""Prefixes of column names."""


@dataclass(frozen=True)
class Pool:
    """Draws from a prior, and a summary simulated at each.

    Attributes:
        parameters: names of the d parameters.
        numbers: names of the k numbers.
        theta: parameters ``(T, d)``.
        summaries: numbers ``(T, k)``.
    """

    parameters: tuple[str, ...]
    numbers: tuple[str, ...]
    theta: Array = field(repr=False)
    summaries: Array = field(repr=False)


def read(file: Path) -> Pool:
    """Read a pool from its file.

    Raises:
        ParameterError: the file cannot be read or is invalid; one line says what is wrong where.
    """
    return from_table(file.name, tabular.pools.read(file))


def from_table(name: str, table: pd.DataFrame) -> Pool:
    """Return the pool in a table; errors begin with ``name``.

    Raises:
        ParameterError: the table is invalid; one line says what is wrong where.
    """
    names: dict[str, list[str]] = {THETA: [], SUMMARY: []}
    for column in map(str, table.columns):
        begins = column[: column.find(".") + 1]
        if begins not in names:
            known = f"{THETA}NAME or {SUMMARY}NAME"
            raise ParameterError(f"{name}: column {shown(column)} must be called {known}.")
        if HTML.search(column):
            raise ParameterError(f"{name}: column {shown(column)}: {AS_HTML}.")
        names[begins].append(column)
    for begins, columns in names.items():
        if not columns:
            raise ParameterError(f"{name}: has no column {begins}NAME.")
    return Pool(
        tuple(column.removeprefix(THETA) for column in names[THETA]),
        tuple(column.removeprefix(SUMMARY) for column in names[SUMMARY]),
        reading.draws(name, table, names[THETA]),
        reading.draws(name, table, names[SUMMARY]),
    )
