"""Draws and summaries that somebody simulated before, from a CSV or Parquet file.

A column ``theta.NAME`` holds a parameter, drawn from the prior, and ``summary.NAME`` a number of
the data set simulated there, before any noise; a row is one draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.own_model import tables
from abcdp_core.own_model.statistics import AS_HTML, HTML
from abcdp_core.parameters import ParameterError, shown

Array = NDArray[np.float64]

THETA, SUMMARY = "theta.", "summary."
"""What the names of columns begin with."""

FEWEST = 100
"""Draws of the smallest pool."""

LARGEST = 1e12
"""Numbers of a pool, and of a query, are no larger, on either side of 0."""


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
    """A pool from its file.

    Raises:
        ParameterError: it cannot be read, or is no pool; one line says what is wrong where.
    """
    return from_table(file.name, tables.read(file))


def from_table(name: str, table: pd.DataFrame) -> Pool:
    """A pool from a table, of which errors give the name.

    Raises:
        ParameterError: it is none; one line says what is wrong where.
    """
    columns = [str(column) for column in table.columns]
    theta = [column for column in columns if column.startswith(THETA)]
    summary = [column for column in columns if column.startswith(SUMMARY)]
    for kind, found in ((THETA, theta), (SUMMARY, summary)):
        if not found:
            raise ParameterError(f"{name}: has no column {kind}NAME.")
    if other := [column for column in columns if column not in (*theta, *summary)]:
        raise ParameterError(
            f"{name}: column {shown(other[0])} must be called {THETA}NAME or {SUMMARY}NAME."
        )
    for column in columns:
        if HTML.search(column):
            raise ParameterError(f"{name}: column {shown(column)}: {AS_HTML}.")
    if len(table) < FEWEST:
        raise ParameterError(f"{name}: has {len(table)} rows; at least {FEWEST} are needed.")
    return Pool(
        tuple(column.removeprefix(THETA) for column in theta),
        tuple(column.removeprefix(SUMMARY) for column in summary),
        _values(name, table, theta),
        _values(name, table, summary),
    )


def _values(name: str, table: pd.DataFrame, columns: Sequence[str]) -> Array:
    """Columns of finite numbers that differ ``(T, len(columns))``."""
    values = np.stack([tables.finite(name, table, column) for column in columns], axis=1)
    for column, each in zip(columns, values.T, strict=True):
        beyond = np.abs(each) > LARGEST
        if beyond.any():
            row = int(np.argmax(beyond))
            raise ParameterError(
                f"{name}: column {column}, row {row + 1}: {each[row]:g} must be from "
                f"-{LARGEST:g} to {LARGEST:g}."
            )
        if each.min() == each.max():
            raise ParameterError(
                f"{name}: column {column} is {each[0]:g} in every row, so it tells nothing; "
                f"leave it out, here and in the query."
            )
    return values
