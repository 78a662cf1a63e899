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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core import supports
from abcdp_core.own_model.model import Parameter
from abcdp_core.own_model.statistics import ROUNDING
from abcdp_core.statistic import Neighbours, Statistic, whole_only

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Summary:
    """A number that a pool holds of each data set.

    Attributes:
        name: in the column ``summary.NAME``.
        kind: ``count``, ``mean``, ``sum``; or ``declared``.
        lower, upper: bounds of one record's contribution.
        group: of counts of which a record is in one at most; empty if it is in none.
        sensitivity: that is declared, of a declared one.
        column: of a file of records, in which its contributions are.
    """

    name: str
    kind: str
    lower: float = 0.0
    upper: float = 1.0
    group: str = ""
    sensitivity: float = 1.0
    column: str = ""

    def in_units(self, values: Array, neighbours: str, n: int) -> Array:
        """The number in units of the most that one record moves it; :mod:`.statistics`.

        Args:
            values: the number itself, any shape.
            neighbours: ``replace`` or ``add-remove``.
            n: records of each data set.
        """
        if self.kind == "count":
            return values
        if self.kind == "declared":
            return values / self.sensitivity
        if neighbours == "add-remove":
            return values / max(abs(self.lower), abs(self.upper))
        total = values * n if self.kind == "mean" else values
        return (total - n * self.lower) / (self.upper - self.lower)

    def natural(self, units: Array, neighbours: str, n: int) -> Array:
        """The inverse of :meth:`in_units`."""
        if self.kind == "count":
            return units
        if self.kind == "declared":
            return units * self.sensitivity
        if neighbours == "add-remove":
            return units * max(abs(self.lower), abs(self.upper))
        total = units * (self.upper - self.lower) + n * self.lower
        return total / n if self.kind == "mean" else total

    def unit(self, neighbours: str, n: int) -> float:
        """How much the number itself changes in one unit."""
        if self.kind == "count":
            return 1.0
        if self.kind == "declared":
            return self.sensitivity
        if neighbours == "add-remove":
            return max(abs(self.lower), abs(self.upper))
        width = self.upper - self.lower
        return width / n if self.kind == "mean" else width

    def limits(self, neighbours: str, n: int) -> tuple[float, float]:
        """Between which the number itself can lie."""
        if self.kind == "declared":
            return -math.inf, math.inf
        if self.kind == "count":
            return 0.0, float(n) if neighbours == "replace" else math.inf
        if self.kind == "mean":
            return self.lower, self.upper
        if neighbours == "replace":
            return n * self.lower, n * self.upper
        return (-math.inf if self.lower < 0.0 else 0.0), (math.inf if self.upper > 0.0 else 0.0)


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

    def moves(self) -> tuple[float, float]:
        """L1 and L2 sensitivity of all numbers together, each in its unit."""
        if self.declared is not None:
            return self.declared
        sizes: dict[str, int] = {}
        for number, each in enumerate(self.summaries):
            place = each.group or f"\0{number}"
            sizes[place] = sizes.get(place, 0) + 1
        cells = 2 if self.neighbours == "replace" else 1
        # Of a group of counts two move by 1; every other number has a unit of its own.
        l1 = sum(min(cells, size) for size in sizes.values())
        return l1 * (1.0 + ROUNDING), math.sqrt(l1) * (1.0 + ROUNDING)

    def statistic(self) -> Statistic:
        """The numbers as one statistic that is released together."""
        l1, l2 = self.moves()
        limits = [each.limits(self.neighbours, self.n) for each in self.summaries]
        low = [
            float(each.in_units(np.array(ends[0]), self.neighbours, self.n))
            for each, ends in zip(self.summaries, limits, strict=True)
        ]
        whole = all(each.kind == "count" for each in self.summaries)
        return Statistic(
            name="numbers",
            unit=self.protected,
            neighbours=self.neighbours,
            names=tuple(each.name for each in self.summaries),
            reduce=whole_only,
            l1=lambda n: l1,  # noqa: ARG005 - part of the interface
            l2=lambda n: l2,  # noqa: ARG005
            low=tuple(low),
            high=(math.inf,) * len(low),
            whole=(1,) * len(low) if whole else None,
        )


@dataclass(frozen=True)
class Scenario:
    """The part of a scenario that a pool from anywhere has: enough for what reads numbers alone."""

    PROTECTED: str
    NEIGHBOURS: Neighbours
    AXES: Mapping[str, tuple[float, float]]
    STATISTICS: Mapping[str, Statistic]


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
    support: supports.Support = field(repr=False)

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
    chosen = np.arange(len(pool.theta)) if rows is None else rows
    statistic = pool.statistic()
    scenario = Scenario(
        pool.protected,
        pool.neighbours,
        {each.name: (each.low, each.high) for each in pool.parameters},
        {statistic.name: statistic},
    )
    low, high = (np.array([getattr(p, end) for p in pool.parameters]) for end in ("low", "high"))
    return Side(scenario, pool.n, pool.theta[chosen], pool.numbers[chosen], supports.box(low, high))
