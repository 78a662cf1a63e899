"""The tables of a study: rows of cells, of functions, and what follows from all runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from abcdp_core.results import Tables
from abcdp_core.streams import generator
from abcdp_core.tasks import Run

W = TypeVar("W")


class At(SimpleNamespace):
    """Where a cell is: every parameter of the study, of those that list several values one.

    With ``run``, its number, and ``seed``, the root seed.
    """

    @classmethod
    def first(cls, run: Run[Any]) -> At:
        """Where a task is whose parameters list one value each; of several it is the first."""
        values = vars(run.params).items()
        single = {name: each[0] if isinstance(each, tuple) else each for name, each in values}
        return cls(**single, run=run.run, seed=run.seed)

    def rng(self, role: str = "noise") -> np.random.Generator:
        """The stream of one role in this run; the same in all its cells."""
        return generator(self.seed, role, self.run, getattr(self, "noise_draw", 0))


@dataclass(frozen=True)
class Rows(Generic[W]):
    """A table that a function makes for each run.

    Attributes:
        columns: names separated by spaces.
        make: world and run -> rows.
    """

    columns: str
    make: Callable[[W, Run[Any]], pd.DataFrame]

    def of(self, world: W, run: Run[Any]) -> pd.DataFrame:
        """The rows of a run."""
        return self.make(world, run)


@dataclass(frozen=True)
class Cells(Generic[W]):
    """A table with a row for each combination of the values that some parameters list.

    Those are the parameters among its columns that have several values, in the columns' order.

    Attributes:
        columns: names separated by spaces: of parameters, ``run``, and of what a cell gives.
        cell: world and place -> column -> value.
    """

    columns: str
    cell: Callable[[W, At], Mapping[str, Any]]

    def of(self, world: W, run: Run[Any]) -> pd.DataFrame:
        """The rows of a run."""
        names = self.columns.split()
        given = vars(run.params) | {"run": run.run, "seed": run.seed}
        listed = [name for name in names if isinstance(given.get(name), tuple)]
        rows = []
        for values in itertools.product(*(given[name] for name in listed)):
            at = At(**given | dict(zip(listed, values, strict=True)))
            row = vars(at) | dict(self.cell(world, at))
            rows.append([row[name] for name in names])
        return pd.DataFrame(rows, columns=names)


@dataclass(frozen=True)
class Total:
    """A table that follows from the rows of all runs.

    Attributes:
        columns: names separated by spaces.
        make: the study's parameters and the tables of all runs so far -> rows.
    """

    columns: str
    make: Callable[[Any, Tables], pd.DataFrame]
