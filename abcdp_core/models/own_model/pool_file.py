r"""A public pool made elsewhere: a table of draws, and a TOML file that describes it.

The table is CSV or Parquet with a row for each draw from the prior and columns ``theta.NAME`` and
``summary.NAME``. The TOML file is::

    name = "my-study"               # lower case with hyphens
    unit = "one person"             # the unit of privacy: one record, with its article
    neighbours = "replace"          # a record is replaced; or "add-remove"
    n = 1000                        # number of private records
    pool = "pool.csv"               # beside this file; or a .parquet file

    [theta.mu]
    low = -2.0                      # public bounds of the prior
    high = 2.0
    unit = "mm"                     # optional

    [summary.mean-of-x]
    kind = "mean"                   # count, mean or sum over records
    lower = -4.0                    # bounds to which a contribution is clipped,
    upper = 4.0                     # in the pool and in the data; not for a count

    [summary.young]
    kind = "count"
    group = "age"                   # a record counts at most once in a group; optional

    [summary.median-of-x]
    sensitivity = 0.1               # declared instead of kind and bounds; labels say so

The sensitivity follows from kind, bounds and groups as in :mod:`.statistics`. If only the
sensitivity of all summaries together is known, declare it once instead of kinds::

    [declared]
    l1 = 2.0
    l2 = 1.5

Both files are public and contain no private records. A release reads these from another file, with
a column of contributions for each summary and a row for each record (:mod:`.lattice`). Errors are
one line that names the file and the key, column or row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base import transforms
from abcdp_core.base.arrays import Array
from abcdp_core.base.statistic import Neighbours, Statistic
from abcdp_core.models.own_model import lattice
from abcdp_core.models.own_model.parameter import Parameter
from abcdp_core.models.own_model.statistics import ROUNDING, Summary, as_one
from abcdp_core.models.simulators import Later, Scenario


@dataclass(frozen=True)
class PoolFile:
    """A pool made elsewhere; all of it is public.

    Attributes:
        file: the TOML file.
        name, title: name of the study.
        unit: the unit of privacy, with its article.
        neighbours: whether a unit is replaced, or added or removed.
        n: private records; their typical number where they are added or removed.
        parameters: parameters with public bounds.
        summaries: the numbers.
        declared: L1 and L2 sensitivity of all numbers together, if declared.
        theta: parameters ``(T, d)``.
        numbers: numbers of each draw ``(T, k)``, in units.
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
        """The unit of privacy, and the condition if a sensitivity is declared."""
        names = [each.name for each in self.summaries if each.kind == "declared"]
        if self.declared is not None:
            return f"{self.unit}, if the sensitivity declared for all summaries holds"
        if not names:
            return self.unit
        return f"{self.unit}, if the sensitivity declared for {' and '.join(names)} holds"

    @property
    def support(self) -> transforms.Bijector:
        """The support of the prior."""
        low, high = zip(*((each.low, each.high) for each in self.parameters), strict=True)
        return transforms.box(np.array(low), np.array(high))

    def moves(self) -> tuple[float, float]:
        """Return the L1 and L2 sensitivity of all numbers together, in units."""
        if self.declared is not None:
            return self.declared
        l1 = lattice.moved(self.summaries, self.neighbours)
        return l1 * (1.0 + ROUNDING), math.sqrt(l1) * (1.0 + ROUNDING)

    def statistic(self) -> Statistic:
        """Return the numbers as one statistic that is released together."""
        return as_one(self.protected, self.neighbours, self.summaries, self.moves())


def scenario(pool: PoolFile, statistic: Statistic, **own: Any) -> Scenario:
    """Turn a pool into a scenario; it states nothing of :data:`UNKNOWN`.

    Args:
        pool: the pool.
        statistic: the numbers that are released.
        own: fields of scenarios that take a person's own data.
    """
    unknown: dict[str, Any] = dict.fromkeys(UNKNOWN, Later(_unknown))
    return Scenario(
        # Named by the file, since two pools may have the same name.
        module=f"abcdp_pool_{pool.file}",
        name=pool.name,
        title=pool.title,
        protected=pool.protected,
        neighbours=pool.neighbours,
        axes={each.name: (each.low, each.high) for each in pool.parameters},
        units={each.name: each.unit for each in pool.parameters},
        support=pool.support,
        statistics={statistic.name: statistic},
        **unknown | own,
    )


UNKNOWN = (
    "coordinates", "prior_mean", "domain", "n", "n_default", "epsilon_abc", "epsilon_abc_default",
    "c_default", "pool_size", "pool_size_default", "distances", "distance_axis", "prior",
    "simulate", "distance",
)  # fmt: skip
"""Fields about simulated data sets and their distances."""


def _unknown() -> None:
    raise AttributeError("A pool has no simulator and no distance.")


@dataclass(frozen=True, eq=False)
class Side:
    """The public side of a release of numbers, for mechanisms.

    Attributes:
        scenario: the pool as a scenario.
        n: number of private records.
        theta: parameters of the pool ``(T, d)``.
        numbers: numbers of the pool ``(T, k)``.
    """

    scenario: Scenario
    n: int
    theta: Array = field(repr=False)
    numbers: Array = field(repr=False)

    @property
    def pool_size(self) -> int:
        """Draws T in the pool."""
        return len(self.theta)

    def summaries(self, name: str) -> Array:
        """Return the numbers ``(T, k)``."""
        return self.numbers


@dataclass(frozen=True)
class Numbers:
    """Private data for mechanisms of numbers: name of a statistic -> ``(k,)``."""

    summaries: Mapping[str, Array] = field(repr=False)


def side(pool: PoolFile, rows: NDArray[np.int64] | None = None) -> Side:
    """Return the public side of a pool, or of some of its rows."""
    chosen = slice(None) if rows is None else rows
    public = scenario(pool, pool.statistic())
    return Side(public, pool.n, pool.theta[chosen], pool.numbers[chosen])
