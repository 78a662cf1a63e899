r"""Exact whole numbers of records, as released for a model or a pool of one's own.

Every number is a sum over records of a contribution $f_i$ that is clipped to public bounds
$[a, b]$. To make exact noise possible, contributions are rounded to a public *lattice* on which
one record moves a sum by at most $G$ = :data:`GRID` steps:

| kind | whole number $c_i$ of a record | a record replaced | one added or removed |
|---|---|---|---|
| count | 1 if the condition holds, else 0 | 1 | 1 |
| sum, mean; replaced | $\mathrm{rint}\big(G (f_i - a)/(b - a)\big) \in \{0, \dots, G\}$ | $G$ | |
| sum; added, removed | $\mathrm{rint}\big(G f_i/\max(|a|,|b|)\big) \in \{-G, \dots, G\}$ | | $G$ |

A number is $s_j = \sum_i c_{ij} / w_j$, with $w_j = 1$ for a count and $w_j = G$ otherwise. One
record moves each number by at most 1, its *unit*. The release is $w_j s_j$, a whole number, with
the noise of :mod:`abcdp_core.release.exact_noise`, where the proof continues.

**Proof that one record moves the numbers by at most $\Delta_1$ in L1.**

* *One at a time.* A contribution is computed from one record alone, since the user's function gets
  private records one at a time. (A function that keeps earlier records in a variable breaks this,
  and nothing here can detect it.) So replacing, adding or removing a record changes one $c_i$.
* *Bounds.* In floating point, $0 \le \mathrm{fl}(f - a) \le \mathrm{fl}(b - a)$ for
  $a \le f \le b$, as subtraction is monotone. The quotient is in $[0, 1]$, as division is monotone;
  multiplied by a power of two and rounded, it is in $\{0, \dots, G\}$. Likewise
  $|f| \le \max(|a|, |b|)$.
* *Sums.* Whole numbers are added exactly: $G$ times the largest number of records is far below
  $2^{63}$.
* *Composition.* Sensitivities add up. A record is in at most one count of a group, so a record
  replaced moves two counts by 1, and a record added moves one. The worst record may differ from
  number to number, so the sum is an upper bound.
* *Means.* Where records are replaced, n is public and the mean is $a + (b - a) s_j / n$; division
  by a public number is post-processing. Where records are added or removed, n is private and means
  are not available.
* *Declared numbers.* A user declares that one record moves k numbers, any function of all records,
  by at most $l$ in L1. They are released as $\mathrm{rint}(G s / l)$. Rounding moves each by at
  most 1/2 on either side, and floating point, below :data:`FARTHEST` units, by less than as much
  again. In units of $l$ the sensitivity is $1 + 2k/G$, if the declaration is true.
* *Numbers of a table.* Each is declared to be a sum of n parts, between bounds of absolute value m
  at most. Summed in floating point, in any order, it is off by less than $n^2 m \, 2^{-53}$ on
  either side. Twice this, in units, is added to the sensitivity.
* *Numbers in a file.* Next to a declared number, a file contains means and sums themselves. Reading
  one, times n, minus $na$, divided by $b - a$ takes six roundings of at most $2^{-53}$ of
  $n \max(|a|,|b|)/(b - a)$ units on either side. :data:`ROUNDINGS` of this is added to the
  sensitivity.

Simulated data sets use the same rounding. Numbers of a pool made elsewhere are known only as sums
and are rounded after summing, a difference of at most $n/2G$ of a unit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array
from abcdp_core.base.statistic import Neighbours, Statistic
from abcdp_core.models.own_model.statistics import Summary

Whole = NDArray[np.int64]

GRID = 2**32
"""Steps of the lattice in a unit. As a power of two, multiples of a step are exact in floating
point. It is large enough that rounding n records, n/2G at most, is far below the noise and
differences between processors do not matter, and small enough that sums of a million records are
below 2^53."""

FARTHEST = 2.0**20
"""Largest number of units of a declared number; clipping moves no two numbers farther apart."""

TOO_FAR = f"exceeds {FARTHEST:,.0f} times its sensitivity, the limit of a release"

RECORDS = "records"
"""Name of a table of records as a kind of file."""


@dataclass(frozen=True)
class OfRecords(Statistic):
    """A statistic whose numbers are sums on the lattice.

    Attributes:
        exactly: maps one private data set ``(n, d)`` to its whole numbers ``(k,)``.
    """

    exactly: Callable[[Array], list[int]] = field(default=lambda data: [], repr=False)  # noqa: ARG005

    def whole_of(self, data: Array) -> list[int]:
        """Return the numbers of one private data set ``(n, d)``, each times its ``whole``.

        Raises:
            OwnError: the user's function raised or gave a value that is not finite; shows no value.
        """
        return self.exactly(data)


@dataclass(frozen=True, eq=False)
class RecordSchema:
    """Public description of a table of records, and how it is reduced to numbers.

    Attributes:
        columns: columns read from a file.
        whole: columns of whole numbers.
        summaries: the k numbers.
        neighbours: ``replace`` or ``add-remove``.
        sizes: smallest and largest number of records; twice the room where the number is private.
        unit: the unit of privacy, with its article.
        declared: names of statistics with a declared sensitivity.
        file: file of the model or pool, without folders.
        digest: SHA-256 of the text of the model's file, without its imports, or of a pool's
            contents, in hexadecimal.
        statistic: all numbers together.
        bounds: a sentence on the bounds of a record.
        wrong: maps values ``(n, d)`` to a sentence on what is wrong, without a value, or an empty
            text.
        simulate: maps a generator, parameters ``(m, p)`` and rows to numbers ``(m, k)``, in units;
            NaN where the simulation fails. ``None`` for a pool.
        check: takes rows and a seed; refuses a model that is not reproducible or mixes records.
        pool: parameters ``(T, p)`` and numbers ``(T, k)``, in units, of a pool.
        records: number of records where it is known without the file; else ``None``.
        together: whether the sensitivity was declared for all numbers together, without units.
        levels: name of a categorical column -> its categories, coded from 0.
    """

    columns: tuple[str, ...]
    whole: frozenset[str]
    summaries: tuple[Summary, ...]
    neighbours: Neighbours
    sizes: tuple[int, int]
    unit: str
    declared: tuple[str, ...]
    file: str
    digest: str
    statistic: OfRecords
    bounds: str
    wrong: Callable[[Array], str]
    simulate: Callable[[np.random.Generator, Array, int], Array] | None = None
    check: Callable[[int, int], None] = lambda n, seed: None  # noqa: ARG005 - nothing is made
    pool: tuple[Array, Array] | None = None
    records: int | None = None
    together: bool = False
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_of_numbers(self) -> bool:
        """Whether a file contains the numbers themselves, in one row."""
        return self.records is not None and bool(self.declared)

    def natural(self, numbers: Array, n: int) -> Array:
        """Convert numbers ``(..., k)`` in units to counts, means and sums."""
        n = self.records or n
        columns = [
            each.natural(numbers[..., j], self.neighbours, n)
            for j, each in enumerate(self.summaries)
        ]
        return np.stack(columns, axis=-1)

    def per_unit(self, n: int) -> Array:
        """Return the change of each number in one unit ``(k,)``."""
        n = self.records or n
        return np.array([each.unit(self.neighbours, n) for each in self.summaries])

    def limits(self, n: int) -> list[tuple[float, float]]:
        """Return the limits of each number, by kind and bounds."""
        return [each.limits(self.neighbours, self.records or n) for each in self.summaries]


def on_lattice(each: Summary, contributions: Array, neighbours: str) -> Whole:
    """Round finite contributions of any shape, or declared numbers, to whole numbers."""
    if each.kind == "count":
        return (contributions != 0.0).astype(np.int64)
    if each.kind == "declared":
        units = np.clip(contributions / each.unit(neighbours, 1), -FARTHEST, FARTHEST)
        return np.rint(units * GRID).astype(np.int64)
    # In place, as there may be many.
    share = np.clip(contributions, each.lower, each.upper)
    if neighbours == "replace":
        share -= each.lower
        share /= each.upper - each.lower
    else:
        share /= max(abs(each.lower), abs(each.upper))
    share *= GRID
    return np.rint(share).astype(np.int64)


def whole_numbers(of: Sequence[Summary], values: Array, neighbours: str) -> Whole:
    """Round finite contributions ``(..., k)`` to whole numbers ``(..., k)``."""
    wholes = np.empty(values.shape, dtype=np.int64)
    for j, each in enumerate(of):
        wholes[..., j] = on_lattice(each, values[..., j], neighbours)
    return wholes


def steps(summaries: Sequence[Summary]) -> tuple[int, ...]:
    """Return the steps of the lattice in a unit of each number ``(k,)``."""
    return tuple(1 if each.kind == "count" else GRID for each in summaries)


def moved(summaries: Sequence[Summary], neighbours: str) -> int:
    """Return the L1 sensitivity of all numbers in units; at most two or one for a group."""
    cells = 2 if neighbours == "replace" else 1
    groups = Counter(each.group for each in summaries if each.group)
    alone = sum(not each.group for each in summaries)
    return alone + sum(min(cells, size) for size in groups.values())


def sensitivity(
    summaries: Sequence[Summary], neighbours: str, declared: Fraction | int, rounded: int
) -> float:
    """Return the L1 sensitivity of all numbers in units, rounded up.

    Args:
        summaries: the numbers.
        neighbours: ``replace`` or ``add-remove``.
        declared: L1 sensitivity of the declared numbers before rounding.
        rounded: number of sums that are rounded as a whole.
    """
    derived = [each for each in summaries if each.kind != "declared"]
    exact = moved(derived, neighbours) + Fraction(declared) + Fraction(2 * rounded, GRID)
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


def statistic(
    summaries: tuple[Summary, ...],
    neighbours: Neighbours,
    unit: str,
    l1: float,
    reduce: Callable[[Array], Array],
    exactly: Callable[[Array], list[int]],
) -> OfRecords:
    """Return the numbers as one statistic that is released together."""
    k = len(summaries)
    return OfRecords(
        name="numbers-on-a-lattice",
        unit=unit,
        neighbours=neighbours,
        names=tuple(each.name for each in summaries),
        reduce=reduce,
        l1=lambda n: l1,  # noqa: ARG005 - part of the interface
        l2=lambda n: l1,  # noqa: ARG005
        low=(-math.inf,) * k,
        high=(math.inf,) * k,
        whole=steps(summaries),
        exactly=exactly,
    )


def stated(
    table: RecordSchema, title: str, units: Mapping[str, str], *, independent: bool = True
) -> dict[str, Any]:
    """Return the fields of a scenario that accepts a table of records.

    Args:
        table: table that is read and released.
        title: title of the model.
        units: parameter name -> unit.
        independent: whether the model states that records are independent.
    """
    name, unit = next(iter(units.items()))
    # Both go into a format string.
    named, of_unit = (text.replace("{", "{{").replace("}", "}}") for text in (name, f" {unit}"))
    public = table.neighbours == "replace"
    low, high = table.sizes
    size = f" of {table.records or high:,} records" if public else ""
    rows, data = "a row for each record", f"a table{size}"
    if table.is_of_numbers:
        k = len(table.columns)
        rows, data = "one row", f"{'one number' if k == 1 else f'{k} numbers'}{size}"
    if low < high:
        data = "a table of {n} records"
    return {
        "own_table": table,
        "own_rows": "records",
        "own_sizes": table.sizes,
        "own_columns": (RECORDS,),
        "own_model": (
            f"For a table with a header and {rows}, with columns {', '.join(table.columns)}: the "
            f"model {title} in the file {table.file}. {table.bounds}".rstrip()
        ),
        "own_data": data,
        "own_names": {each: each for each in units},
        "own_hidden": "" if public else "How many records there are is protected too.",
        "own_repeated": SEVERAL if independent else f"{SEVERAL} {DEPENDENT}",
        "own_quantities": (),
        "own_questions": (),
        "own_headline": name,
        "own_finding": f"{named}: {{low}} to {{high}}{of_unit}".rstrip(),
        "from_series": lambda values: values,
    }


SEVERAL = (
    "Whoever has several records is protected less: k records together are protected with k times "
    "ε_total."
)

DEPENDENT = (
    "Records depend on each other in this model: what the records of others tell about somebody is "
    "not protected."
)


def bounds_in_words(columns: Sequence[tuple[str, float, float]]) -> str:
    """Describe names with their bounds in a sentence; empty without any."""
    if not columns:
        return ""
    ends = ([f"{end:,.12g}".replace("-", "\u2212") for end in item[1:]] for item in columns)
    each = (f"{item[0]} {low} to {high}" for item, (low, high) in zip(columns, ends, strict=True))
    return f"Public bounds: {', '.join(each)}; values outside are clipped."
