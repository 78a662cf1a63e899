r"""A public pool made anywhere: a table of draws, and a TOML file that says what is in it.

The table is CSV or Parquet: a row for each draw from the prior, columns ``theta.NAME`` and
``summary.NAME``. The TOML file beside it says the rest::

    name = "my-study"               # lower case with hyphens
    unit = "one person"             # whose privacy: what one record is, with its article
    neighbours = "replace"          # a record is replaced; or "add-remove"
    n = 1000                        # records of the private data
    pool = "pool.csv"               # beside this file, or its .parquet

    [theta.mu]
    low = -2.0                      # public bounds of the prior
    high = 2.0
    unit = "mm"                     # may be left out

    [summary.mean-of-x]
    kind = "mean"                   # count, mean or sum over records
    lower = -4.0                    # one record's contribution is clipped to these,
    upper = 4.0                     # in the pool as in the data; a count needs none

    [summary.young]
    kind = "count"
    group = "age"                   # a record is counted once at most in a group; may be left out

    [summary.median-of-x]
    sensitivity = 0.1               # declared instead of kind and bounds; labels say so

The sensitivity follows from kind, bounds and groups as in :mod:`.statistics`. Where the numbers of
all summaries together have one that is known, it is declared once, instead of kinds::

    [declared]
    l1 = 2.0
    l2 = 1.5

All of both files is public. Private records are in neither: a release reads them from a file of
their own, with a column of contributions for each summary and a row for each record
(:mod:`.lattice`). What is wrong is one line that names the file and the key, column or row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core import transforms
from abcdp_core.own_model import lattice
from abcdp_core.own_model.parameter import Parameter
from abcdp_core.own_model.statistics import ROUNDING, Summary, as_one
from abcdp_core.statistic import Neighbours, Statistic

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PoolFile:
    """A pool made anywhere; all of it is public.

    Attributes:
        file: the TOML file.
        name, title: of the study.
        unit: whose privacy is protected, with its article.
        neighbours: what happens to one unit.
        n: records of the private data; where they are added or removed, of a usual data set.
        parameters: with their public bounds.
        summaries: the numbers.
        declared: L1 and L2 sensitivity of all numbers together, if they are declared.
        theta: parameters ``(T, d)``.
        numbers: of each draw ``(T, k)``, in their units.
    """

    file: Path
    name: str
    title: str
    unit: str
    neighbours: Neighbours
    n: int
    parameters: tuple[Parameter, ...]
    summaries: tuple[Summary, ...]
    declared: tuple[float, float] | None
    theta: Array = field(repr=False, compare=False)
    numbers: Array = field(repr=False, compare=False)

    @property
    def protected(self) -> str:
        """Whose privacy is protected, and on what condition where somebody declared something."""
        names = [each.name for each in self.summaries if each.kind == "declared"]
        if self.declared is not None:
            return f"{self.unit}, if the sensitivity declared for all summaries holds"
        if not names:
            return self.unit
        return f"{self.unit}, if the sensitivity declared for {' and '.join(names)} holds"

    @property
    def support(self) -> transforms.Bijector:
        """Where the prior's draws can lie."""
        low, high = zip(*((each.low, each.high) for each in self.parameters), strict=True)
        return transforms.box(np.array(low), np.array(high))

    def moves(self) -> tuple[float, float]:
        """L1 and L2 sensitivity of all numbers together, each in its unit."""
        if self.declared is not None:
            return self.declared
        # In a group of counts two move by 1; every other number has its own unit.
        l1 = lattice.moved(self.summaries, self.neighbours)
        return l1 * (1.0 + ROUNDING), math.sqrt(l1) * (1.0 + ROUNDING)

    def statistic(self) -> Statistic:
        """The numbers as one statistic that is released together."""
        return as_one(self.protected, self.neighbours, self.summaries, self.moves())


@dataclass(frozen=True, eq=False)
class Side:
    """The public side of a release of numbers, as mechanisms read it.

    Attributes:
        scenario: what is stated of the numbers.
        n: records of the private data.
        theta: parameters of the pool ``(T, d)``.
        numbers: ``(T, k)``.
        support: where the prior's draws can lie.
    """

    scenario: Any
    n: int
    theta: Array = field(repr=False)
    numbers: Array = field(repr=False)
    support: transforms.Bijector = field(repr=False)

    @property
    def pool_size(self) -> int:
        """Draws of the pool, T."""
        return len(self.theta)

    def statistic(self, name: str) -> Statistic:
        """What one unit is in the numbers, and how far it moves them."""
        found: Statistic = self.scenario.STATISTICS[name]
        return found

    def summaries(self, name: str) -> Array:
        """The numbers ``(T, k)``."""
        return self.numbers


@dataclass(frozen=True)
class Numbers:
    """The private data as mechanisms of numbers read them: name of a statistic -> ``(k,)``."""

    summaries: Mapping[str, Array] = field(repr=False)


def side(pool: PoolFile, rows: NDArray[np.int64] | None = None) -> Side:
    """The public side of a pool, or of some of its rows."""
    chosen = slice(None) if rows is None else rows
    statistic = pool.statistic()
    scenario = SimpleNamespace(
        PROTECTED=pool.protected,
        NEIGHBOURS=pool.neighbours,
        AXES={each.name: (each.low, each.high) for each in pool.parameters},
        STATISTICS={statistic.name: statistic},
    )
    return Side(scenario, pool.n, pool.theta[chosen], pool.numbers[chosen], pool.support)
