"""The tables of a study: from cells, from functions, and from the rows of all runs."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from abcdp_core.base.streams import generator
from abcdp_core.run.results import Tables
from abcdp_core.run.tasks import Run

W = TypeVar("W")


def columns(**tables: str) -> dict[str, tuple[str, ...]]:
    """Return table -> column names, from names separated by spaces."""
    return {name: tuple(listed.split()) for name, listed in tables.items()}


class Settings(SimpleNamespace):
    """The settings of a cell: one value of every parameter, the number ``run``, the ``seed``."""

    @classmethod
    def first(cls, run: Run[Any]) -> Settings:
        """Return the settings of a task, with the first value of each parameter."""
        values = vars(run.params).items()
        single = {name: each[0] if isinstance(each, tuple) else each for name, each in values}
        return cls(**single | {name: each for name, each in vars(run).items() if name != "params"})

    def rng(self, role: str = "noise") -> np.random.Generator:
        """Return the random stream of a role in this run, the same in all cells."""
        return generator(self.seed, role, self.run, getattr(self, "noise_draw", 0))


RowData = pd.DataFrame | list[Any]  # A table, or its rows as tuples or by column


@dataclass(frozen=True)
class RunTable(Generic[W]):
    """A table that a function makes for each run.

    Attributes:
        columns: names, separated by spaces.
        make: world and run -> rows.
    """

    columns: str
    make: Callable[[W, Run[Any]], RowData]

    def of(self, world: W, run: Run[Any]) -> pd.DataFrame:
        """Return the rows of a run."""
        return table_of(self.columns, self.make(world, run))


def table_of(columns: str, made: RowData) -> pd.DataFrame:
    """Return rows as a table."""
    if isinstance(made, pd.DataFrame):
        return made
    return pd.DataFrame(made, columns=columns.split())


@dataclass(frozen=True)
class CellTable(Generic[W]):
    """A table with a row for each combination of listed parameter values.

    Only parameters among the columns are combined, in the order of the columns.

    Attributes:
        columns: names, separated by spaces: parameters, ``run``, and the results of a cell.
        cell: world and settings -> column -> value.
    """

    columns: str
    cell: Callable[[W, Settings], Mapping[str, Any]]

    def of(self, world: W, run: Run[Any]) -> pd.DataFrame:
        """Return the rows of a run."""
        names = self.columns.split()
        given = vars(run.params) | {"run": run.run, "seed": run.seed}
        listed = [name for name in names if isinstance(given.get(name), tuple)]
        rows = []
        for values in itertools.product(*(given[name] for name in listed)):
            at = Settings(**given | dict(zip(listed, values, strict=True)))
            row = vars(at) | dict(self.cell(world, at))
            rows.append([row[name] for name in names])
        return pd.DataFrame(rows, columns=names)


TEXTS = "sampler interval channel way parameter fit kind"
NUMBERS = "run t people dimension asked coordinate answers simulated c sample day"
KINDS = {**dict.fromkeys(TEXTS.split(), str), **dict.fromkeys(NUMBERS.split(), int)}
"""Column -> kind in a table without rows, if it is not a real number."""


def of_link(columns: str, rows: Any, at: Settings) -> pd.DataFrame:
    """Return the table of a link; missing columns are filled in from the task's settings.

    Args:
        columns: names, separated by spaces.
        rows: a table or a list of rows by column; ``None`` if the link has no row.
        at: settings of the task.
    """
    names, known = columns.split(), vars(at)
    if rows is None:
        return _no_rows(columns).copy(deep=False)
    if isinstance(rows, pd.DataFrame):
        missing = {name: known[name] for name in names if name not in rows}
        return rows if list(rows) == names else rows.assign(**missing)[names]
    # Most links have a row or two, and pandas would take far longer for these.
    whole = [known | row for row in rows]
    return pd.DataFrame([[row[name] for name in names] for row in whole], columns=names)


@functools.cache
def _no_rows(columns: str) -> pd.DataFrame:
    """Return a table without rows, which is slow to make and fast to copy."""
    kinds = {name: KINDS.get(name, float) for name in columns.split()}
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in kinds.items()})


@dataclass(frozen=True)
class DerivedTable:
    """A table made from the rows of all runs.

    Attributes:
        columns: names, separated by spaces.
        make: parameters and the tables of all runs so far -> rows.
    """

    columns: str
    make: Callable[[Any, Tables], RowData]
