r"""Exact whole numbers of a table of records: what is released of a model or a pool of one's own.

Every number is a sum over records of a contribution $f_i$ that is clipped into public bounds
$[a, b]$. So that its noise can be exact, a contribution is rounded to one of finitely many public
places, the *lattice*, of which the most that one record moves the sum is $G$ = :data:`GRID` steps:

| kind | whole number $c_i$ of a record | a record replaced | one added or removed |
|---|---|---|---|
| count | 1 if the condition holds, else 0 | 1 | 1 |
| sum, mean; replaced | $\mathrm{rint}\big(G (f_i - a)/(b - a)\big) \in \{0, \dots, G\}$ | $G$ | |
| sum; added, removed | $\mathrm{rint}\big(G f_i/\max(|a|,|b|)\big) \in \{-G, \dots, G\}$ | | $G$ |

A number is $s_j = \sum_i c_{ij} / w_j$, with $w_j = 1$ for a count and $G$ for the others: so one
record moves each by at most 1, its *unit*. What is released is $w_j s_j$, a whole number, with
noise of :mod:`abcdp_core.release.exact_noise`, where the proof goes on.

**Proof that one record moves the numbers by at most $\Delta_1$, added up.**

* *Alone.* The contribution of a record is computed from that record and nothing else: of private
  data a person's function gets one record at a time. (One that keeps what it saw before in a
  variable of its own breaks this, and nothing here can see it.) So a record that is replaced, added
  or removed changes one $c_i$, whatever the others are.
* *Bounds.* In floating point too, $0 \le \mathrm{fl}(f - a) \le \mathrm{fl}(b - a)$ for
  $a \le f \le b$, as subtraction is monotone; their quotient is in $[0, 1]$, as division is, and
  multiplied by a power of two and rounded it is in $\{0, \dots, G\}$. Likewise
  $|f| \le \max(|a|, |b|)$.
* *Sum.* Whole numbers are added exactly: $G$ times the most records there can be is far below
  $2^{63}$.
* *Together.* The sensitivities of single numbers add up to one for all; in a group of counts, of
  which a record is in one at most, a record replaced moves two by 1, one added moves one. One
  record need not be the worst for all at once, so this is an upper bound.
* *Mean.* Where records are replaced, n is public and $(a + (b - a) s_j / n)$ is a mean: division by
  a public number comes after the noise. Where records are added or removed n is private, and there
  is no such kind.
* *Declared.* Of a number that is any function of all records somebody says that one record moves
  all that it makes by at most $l$ in sum. It is released as $\mathrm{rint}(G s / l)$, k of them.
  Rounding moves each by at most 1/2 on either side, and floating point below
  :data:`FARTHEST` units by less than that again: so in units of $l$ together by at most
  $1 + 2k/G$, if what was said is true.
* *Given as numbers.* Beside a declared number a file has means and sums themselves, as nothing says
  how they come from records. Where bounds are far from 0 for their distance, floating point moves
  such a number by more than that: reading it, times n, minus $na$ and divided by $b - a$ are six
  roundings of $2^{-53}$ of $n \max(|a|,|b|)/(b - a)$ units at most, on either side. So
  :data:`ROUNDINGS` of that is added to what is moved.

The numbers of simulated data sets are made by the same rounding; those of a pool made elsewhere
are known as sums, and rounded after the sum, which differs by at most $n/2G$ of a unit.
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

from abcdp_core.own_model.statistics import Summary
from abcdp_core.statistic import Neighbours, Statistic

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

GRID = 2**32
"""Steps of the lattice in the most that one record moves a sum. A power of two, so that floating
point holds every multiple of a step exactly; so large that rounding n records, by n/2G at most, is
far below the noise, and that a simulated one that another processor rounds to the next step changes
nothing that is verified; so small that sums of a million records are below 2^53."""

FARTHEST = 2.0**20
"""Units to which a declared number is clipped, which moves none farther from another."""

TOO_FAR = f"reaches more than {FARTHEST:,.0f} times what one record moves it, the most of a release"

RECORDS = "records"
"""What a file holds for a table."""


@dataclass(frozen=True)
class OfRecords(Statistic):
    """A statistic whose numbers are sums on the lattice.

    Attributes:
        exactly: one data set ``(n, d)``, private, to its whole numbers ``(k,)``.
    """

    exactly: Callable[[Array], list[int]] = field(default=lambda data: [], repr=False)  # noqa: ARG005

    def whole_of(self, data: Array) -> list[int]:
        """The numbers of one private data set ``(n, d)``, each times its ``whole``.

        Raises:
            OwnError: a person's function raises, or makes no number; no value is shown.
        """
        return self.exactly(data)


@dataclass(frozen=True, eq=False)
class Table:
    """What is public of a table of records of one's own, and how it is reduced.

    Attributes:
        columns: of the file that are read.
        whole: which of them hold whole numbers.
        summaries: the k numbers.
        neighbours: ``replace`` or ``add-remove``.
        sizes: fewest and most records; where their number is private, the room for them twice.
        unit: whose privacy is protected, with its article.
        declared: names of what has a sensitivity that somebody declared.
        file: that states the model or the pool, without folders.
        digest: SHA-256, in hexadecimal digits, of the text of a model's file, and of nothing that
            it imports; or of all that a pool states.
        statistic: the numbers together.
        bounds: between which a record's numbers are known to lie, in a sentence.
        wrong: values ``(n, d)`` to a sentence on why they are none, without a value; or empty.
        simulate: generator, parameters ``(m, p)`` and rows to numbers ``(m, k)``, in units; NaN
            where that fails. ``None`` where the pool is there.
        check: rows and seed; refuses what makes something else each time, or of a record alone.
        pool: parameters ``(T, p)`` and numbers ``(T, k)``, in units, where they are there.
        records: how many there are, where a file of numbers does not tell; else ``None``.
        together: whether what one record moves was declared for all numbers together, so that none
            has a unit.
        levels: name of a column of categories -> their names, which are the numbers from 0 on.
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
        """Whether a file has the numbers themselves, in one row."""
        return self.records is not None and bool(self.declared)

    def natural(self, numbers: Array, n: int) -> Array:
        """Numbers ``(..., k)`` in units as what they are: counts, means, sums."""
        n = self.records or n
        columns = [
            each.natural(numbers[..., j], self.neighbours, n)
            for j, each in enumerate(self.summaries)
        ]
        return np.stack(columns, axis=-1)

    def per_unit(self, n: int) -> Array:
        """How much each number changes in one unit ``(k,)``."""
        n = self.records or n
        return np.array([each.unit(self.neighbours, n) for each in self.summaries])

    def limits(self, n: int) -> list[tuple[float, float]]:
        """Between which each number can lie, by kind and bounds."""
        return [each.limits(self.neighbours, self.records or n) for each in self.summaries]


def on_lattice(each: Summary, contributions: Array, neighbours: str) -> Whole:
    """Whole numbers of contributions of any shape, finite; of a declared number, of it itself."""
    if each.kind == "count":
        return (contributions != 0.0).astype(np.int64)
    if each.kind == "declared":
        units = np.clip(contributions / each.sensitivity, -FARTHEST, FARTHEST)
        return np.rint(units * GRID).astype(np.int64)
    clipped = np.clip(contributions, each.lower, each.upper)
    if neighbours == "replace":
        share = (clipped - each.lower) / (each.upper - each.lower)
    else:
        share = clipped / max(abs(each.lower), abs(each.upper))
    return np.rint(share * GRID).astype(np.int64)


def whole_numbers(of: Sequence[Summary], values: Array, neighbours: str) -> Whole:
    """Whole numbers ``(..., k)`` of finite contributions ``(..., k)``."""
    columns = [on_lattice(each, values[..., j], neighbours) for j, each in enumerate(of)]
    return np.stack(columns, axis=-1)


def steps(summaries: Sequence[Summary]) -> tuple[int, ...]:
    """Steps of the lattice in a unit of each number ``(k,)``."""
    return tuple(1 if each.kind == "count" else GRID for each in summaries)


def moved(summaries: Sequence[Summary], neighbours: str) -> int:
    """Units by which one record moves all numbers, added up; of a group two at most, or one."""
    cells = 2 if neighbours == "replace" else 1
    groups = Counter(each.group for each in summaries if each.group)
    alone = sum(not each.group for each in summaries)
    return alone + sum(min(cells, size) for size in groups.values())


def sensitivity(
    summaries: Sequence[Summary], neighbours: str, declared: Fraction | int, rounded: int
) -> float:
    """Most by which one record moves all numbers, added up, in units; rounded up.

    Args:
        summaries: the numbers.
        neighbours: ``replace`` or ``add-remove``.
        declared: what the declared numbers move together, before they are rounded.
        rounded: how many numbers are rounded as a whole, and not each contribution.
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
    """The numbers as one statistic that is released together."""
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
    table: Table, title: str, units: Mapping[str, str], *, independent: bool = True
) -> dict[str, Any]:
    """What a scenario states that takes a person's own data, for a table of records.

    Args:
        table: what is read and released.
        title: of the model.
        units: of the parameters that are inferred, by their names.
        independent: whether the model says that records do not depend on each other.
    """
    name, unit = next(iter(units.items()))
    # These two stand in a text that is filled in.
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
        "OWN_TABLE": table,
        "OWN_ROWS": "records",
        "OWN_SIZES": table.sizes,
        "OWN_COLUMNS": (RECORDS,),
        "OWN_MODEL": (
            f"For a table with a header and {rows}, columns {', '.join(table.columns)}: the model "
            f"{title} of the file {table.file}. {table.bounds}".rstrip()
        ),
        "OWN_DATA": data,
        "OWN_NAMES": {each: each for each in units},
        "OWN_HIDDEN": "" if public else "How many records there are is protected too.",
        "OWN_REPEATED": SEVERAL if independent else f"{SEVERAL} {DEPENDENT}",
        "OWN_QUANTITIES": (),
        "OWN_QUESTIONS": (),
        "OWN_HEADLINE": name,
        "OWN_FINDING": f"{named}: {{low}} to {{high}}{of_unit}".rstrip(),
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
    """Names with their bounds in a sentence; empty if there are none."""
    if not columns:
        return ""
    ends = ([f"{end:,.12g}".replace("-", "\u2212") for end in item[1:]] for item in columns)
    each = (f"{item[0]} {low} to {high}" for item, (low, high) in zip(columns, ends, strict=True))
    return f"Known beforehand: {', '.join(each)}; what lies outside counts as the nearer bound."
