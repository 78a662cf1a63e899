"""Draws and summaries that somebody simulated before, from a CSV file.

A column ``theta.NAME`` holds a parameter, drawn from the prior, and ``summary.NAME`` a number of
the data set simulated there, before any noise; a row is one draw.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.own_model import tables
from abcdp_core.own_model.blame import OwnError
from abcdp_core.parameters import ParameterError, shown

Array = NDArray[np.float64]

THETA, SUMMARY = "theta.", "summary."
"""What the names of columns begin with."""

FEWEST = 100
"""Draws of the smallest pool."""


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
    try:
        table = tables.csv(file)
    except OwnError as error:
        raise ParameterError(f"pool = {error}") from error
    except OSError as error:
        raise ParameterError(f"pool = {file}: cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise ParameterError(f"pool = {file}: is no CSV in UTF-8 with a head line.") from error
    columns = [str(name) for name in table.columns]
    theta = [name for name in columns if name.startswith(THETA)]
    summary = [name for name in columns if name.startswith(SUMMARY)]
    for kind, found in ((THETA, theta), (SUMMARY, summary)):
        if not found:
            raise ParameterError(f"pool = {file}: has no column {kind}NAME.")
    if other := [name for name in columns if name not in (*theta, *summary)]:
        raise ParameterError(
            f"pool = {file}: column {shown(other[0])} must be called {THETA}NAME or {SUMMARY}NAME."
        )
    if len(table) < FEWEST:
        raise ParameterError(f"pool = {file}: has {len(table)} rows; at least {FEWEST} are needed.")
    for name in columns:
        _check(file, name, table[name])
    return Pool(
        tuple(name.removeprefix(THETA) for name in theta),
        tuple(name.removeprefix(SUMMARY) for name in summary),
        table[theta].to_numpy(float),
        table[summary].to_numpy(float),
    )


def _check(file: Path, name: str, column: pd.Series[float]) -> None:
    """Refuse a column that does not hold finite numbers that differ."""
    values = tables.numbers_of(column)
    wrong = ~(np.abs(values) <= tables.LARGEST)
    if wrong.any():
        # The head is line 1.
        row = int(np.argmax(wrong))
        raise ParameterError(
            f"pool = {file}: column {name}, line {row + 2}: {shown(str(column.iloc[row]))} is no "
            f"finite number."
        )
    if values.min() == values.max():
        raise ParameterError(
            f"pool = {file}: column {name} is {values[0]:g} in every row, so it tells nothing; "
            f"leave it out, here and in the query."
        )
