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
noise of :mod:`abcdp_core.own_data.discrete_summary`, where the proof goes on.

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

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core import registry, supports
from abcdp_core.own_model.blame import TWICE, OwnError, call, call_quietly, check_again
from abcdp_core.own_model.model import Model, Parameter
from abcdp_core.own_model.pool_file import PoolFile, Summary
from abcdp_core.own_model.statistics import OwnStatistic, is_text
from abcdp_core.statistic import Neighbours, Statistic
from abcdp_core.streams import generator

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

TOO_FAR_TOGETHER = (
    f"reaches beyond ±{FARTHEST:,.0f}, the most of a release; divide it, l1 and l2 by a number"
)

ROUNDINGS = Fraction(1, 2**49)
"""Twelve of 2^-53, and some room."""

COARSEST = 1
"""Unit up to which these are made up for by more noise."""

PART = 20
"""Draws that are simulated at a time."""

AT_ONCE = 4_000_000
"""Contributions that are in memory at once, 32 MB a copy; or those of one data set."""

LOOKED_AT = 200
"""Simulated records on which a statistic is compared with itself, one record at a time."""


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

    def __post_init__(self) -> None:
        """Check the name of the file.

        Raises:
            OwnError: it is in no encoding that a document has.
        """
        if not is_text(self.file):
            raise OwnError(
                f"{self.file}: give the file a name in UTF-8, which a document can hold."
            )

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


def summaries_of(model: Model) -> tuple[Summary, ...]:
    """The numbers of a model, each as the file of a pool says it."""
    found = []
    for own in model.statistics:
        for name in own.names:
            if own.whole:
                group = own.name if own.kind == "histogram" else ""
                found.append(Summary(name, "count", group=group, column=name))
            elif own.kind == "declared":
                # Of several numbers together nobody declared what each of them does.
                found.append(Summary(name, "declared", sensitivity=own.l1, column=name))
            else:
                found.append(Summary(name, own.kind, own.lower, own.upper, column=name))
    return tuple(found)


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


def steps(summaries: Sequence[Summary]) -> tuple[int, ...]:
    """Steps of the lattice in a unit of each number ``(k,)``."""
    return tuple(1 if each.kind == "count" else GRID for each in summaries)


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
    groups: dict[str, int] = {}
    alone = 0
    for each in summaries:
        if each.group:
            groups[each.group] = groups.get(each.group, 0) + 1
        elif each.kind != "declared":
            alone += 1
    cells = 2 if neighbours == "replace" else 1
    exact = alone + sum(min(cells, size) for size in groups.values()) + Fraction(declared)
    exact += Fraction(2 * rounded, GRID)
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


# --------------------------------------------------------------------------------- of a model


def of_model(model: Model) -> Table:
    """What is released of records by a model; it has statistics."""
    summaries = summaries_of(model)
    declared = tuple(each.name for each in model.statistics if each.kind == "declared")
    rounded = sum(each.kind == "declared" for each in summaries)
    l1 = sensitivity(summaries, model.neighbours, len(declared), rounded)
    last = model.sizes[-1]
    free = model.independent and model.neighbours == "replace" and not declared
    text = registry.texts.get(model.module, b"")
    return Table(
        columns=tuple(each.name for each in model.columns),
        whole=frozenset(each.name for each in model.columns if each.whole),
        summaries=summaries,
        neighbours=model.neighbours,
        sizes=(min(2, last) if free else last, last),
        unit=model.unit,
        declared=declared,
        file=model.file,
        digest=hashlib.sha256(text).hexdigest(),
        statistic=statistic(
            summaries,
            model.neighbours,
            model.protected(by_numbers=True),
            l1,
            lambda data: _together(model, summaries, data),
            lambda data: _one_by_one(model, summaries, data),
        ),
        bounds=_bounds([(each.name, each.low, each.high) for each in model.columns]),
        wrong=lambda values: "",  # noqa: ARG005 - records are what they are
        simulate=lambda rng, theta, n: _simulated(model, summaries, rng, theta, n),
        check=lambda n, seed: _check(model, summaries, n, seed),
    )


def _placed(model: Model, summaries: tuple[Summary, ...]) -> list[tuple[OwnStatistic, Any]]:
    """Each statistic with the summaries of its numbers."""
    place, found = 0, []
    for own in model.statistics:
        found.append((own, summaries[place : place + len(own.names)]))
        place += len(own.names)
    return found


def _whole(of: tuple[Summary, ...], values: Array, neighbours: str) -> Whole:
    """Whole numbers ``(..., k)`` of contributions ``(..., k)``."""
    columns = [on_lattice(each, values[..., j], neighbours) for j, each in enumerate(of)]
    return np.stack(columns, axis=-1)


def _together(model: Model, summaries: tuple[Summary, ...], data: Array) -> Array:
    """Numbers ``(..., k)`` in units of public data sets ``(..., n, d)``.

    Raises:
        OwnError: a person's statistic raises, or makes something else.
    """
    absent = np.isnan(data).all(axis=-1, keepdims=True)
    parts = []
    for own, of in _placed(model, summaries):
        within = np.clip(data, model.low, model.high)
        what = f"statistic {own.name}"
        if own.kind == "declared":
            values = _finite(model, own, call(model.file, what, own.whole_set, within))
            if np.abs(values).max() > FARTHEST * own.l1:
                raise OwnError(f"{model.file}: {what} {TOO_FAR}.")
            found = _whole(of, values, model.neighbours)
        else:
            values = call(model.file, what, own.contributions, within)
            values = _finite(model, own, np.where(absent, 0.0, values))
            whole = np.where(absent, 0, _whole(of, values, model.neighbours))
            _check_cells(model, own, whole)
            found = whole.sum(axis=-2)
        parts.append(found / np.array(steps(of)))
    return np.concatenate(parts, axis=-1)


def _finite(model: Model, own: OwnStatistic, values: Array) -> Array:
    if not np.isfinite(values).all():
        raise OwnError(f"{model.file}: statistic {own.name} makes NaN or infinity.")
    return values


def _one_by_one(model: Model, summaries: tuple[Summary, ...], data: Array) -> list[int]:
    """Whole numbers ``(k,)`` of a private data set ``(n, d)``, one record at a time.

    Raises:
        OwnError: a person's statistic raises, or makes something else; no value is shown.
    """
    present = np.clip(data[~np.isnan(data).all(axis=-1)], model.low, model.high)
    numbers: list[int] = []
    for own, of in _placed(model, summaries):
        if own.kind == "declared":
            within = np.clip(data, model.low, model.high)
            values = _quietly(model, own, own.whole_set, within, "")
            numbers += _whole(of, values, model.neighbours).tolist()
            continue
        total = np.zeros(len(of), dtype=np.int64)
        for row, record in enumerate(present):
            where = f" of record {row + 1}"
            values = _quietly(model, own, own.contributions, record[None].copy(), where)
            whole = _whole(of, values[0], model.neighbours)
            _check_cells(model, own, whole)
            total += whole
        numbers += total.tolist()
    return numbers


def _check_cells(model: Model, own: OwnStatistic, whole: Whole) -> None:
    """Refuse a histogram that counts one record of ``(..., k)`` in several cells."""
    if own.kind == "histogram" and (whole.sum(axis=-1) > 1).any():
        raise OwnError(f"{model.file}: statistic {own.name} counts a record in several cells.")


def _quietly(
    model: Model,
    own: OwnStatistic,
    function: Callable[[Array], Array],
    records: Array,
    where: str,
) -> Array:
    """What a statistic makes of private records; what it says of them is told to nobody."""
    what = f"statistic {own.name}{where}"
    found = call_quietly(model.file, what, function, records)
    if not np.isfinite(found).all():
        raise OwnError(f"{model.file}: {what} is NaN or infinite; nothing was released.")
    return found


def _simulated(
    model: Model, summaries: tuple[Summary, ...], rng: np.random.Generator, theta: Array, n: int
) -> Array:
    """Numbers ``(m, k)`` in units, at parameters ``(m, p)``; NaN where a simulation failed.

    Raises:
        OwnError: the model raises or makes something else, or fails although it must not.
    """
    found, step = np.empty((len(theta), len(summaries))), max(1, AT_ONCE // (n * len(summaries)))
    for start in range(0, len(theta), PART):
        data = model.records(rng, theta[start : start + PART], n)
        failed = model.failed(data)
        for first in range(0, len(data), step):
            part = slice(first, first + step)
            numbers = np.full((len(data[part]), len(summaries)), np.nan)
            done = ~failed[part]
            if done.any():
                numbers[done] = _together(model, summaries, data[part][done])
            found[start + first : start + first + len(numbers)] = numbers
    return found


def _check(model: Model, summaries: tuple[Summary, ...], n: int, seed: int) -> None:
    """Refuse a model whose documents nobody could verify, as it makes something else each time.

    Raises:
        OwnError: it does, or raises; or a statistic of single records looks at several.
    """
    for what, first, second in zip(
        ("prior is", "simulate is", "the statistics are"),
        *(_made(model, summaries, n, seed) for _ in range(2)),
        strict=True,
    ):
        check_again(model.file, what, first, second)
    data = model.records(
        generator(seed, "own-summary-alone"),
        model.draw(generator(seed, "own-summary-prior"), PART),
        n,
    )
    data = data[~model.failed(data)]
    if len(data):
        _check_alone(model, summaries, data[0, :LOOKED_AT])


def _made(model: Model, summaries: tuple[Summary, ...], n: int, seed: int) -> tuple[Array, ...]:
    """Parameters, data sets and numbers of the first draws."""
    theta = model.draw(generator(seed, "own-summary-prior"), PART)[:TWICE]
    data = model.records(generator(seed, "own-summary-again"), theta, n)
    return theta, data, _together(model, summaries, data[~model.failed(data)])


def _check_alone(model: Model, summaries: tuple[Summary, ...], data: Array) -> None:
    """Refuse a statistic that makes other contributions of simulated records one at a time.

    Args:
        model: whose.
        summaries: its numbers.
        data: simulated records ``(n, d)``.
    """
    present = data[~np.isnan(data).all(axis=-1)]
    for own, of in _placed(model, summaries):
        if own.kind == "declared" or not len(present):
            continue
        what = f"statistic {own.name}"
        many = call(model.file, what, own.contributions, present.copy())
        single = [call(model.file, what, own.contributions, each[None].copy()) for each in present]
        both = (many, np.concatenate(single))
        first, second = (
            _whole(of, _finite(model, own, values), model.neighbours) for values in both
        )
        # The last digit may depend on how many are computed at once; a count has no other.
        if np.abs(first - second).max() > (0 if own.whole else 1):
            raise OwnError(
                f"{model.file}: statistic {own.name} makes something else of a record alone than "
                f"among others; compute it from each record alone, or declare its sensitivity."
            )


# ------------------------------------------------------------------------ of a pool from anywhere


def of_pool(pool: PoolFile) -> Table:
    """What is released of records by a pool that was made elsewhere.

    Where a sensitivity is declared nothing says how the number is computed from records. Then a
    file has one row with the numbers themselves, and each but a count is rounded as a whole.
    """
    declared = tuple(each.name for each in pool.summaries if each.kind == "declared")
    together = len(declared) if pool.declared is None else Fraction(pool.declared[0])
    rounded = sum(each.kind != "count" for each in pool.summaries) if declared else 0
    roundings = [_moved_by_roundings(pool, each) for each in pool.summaries] if declared else []
    together = sum(roundings, Fraction(together))
    l1 = sensitivity(pool.summaries, pool.neighbours, together, rounded)
    for each, numbers in zip(pool.summaries, pool.numbers.T, strict=True):
        if declared and np.abs(numbers).max() > FARTHEST:
            why = TOO_FAR if pool.declared is None else TOO_FAR_TOGETHER
            raise OwnError(f"{pool.file.name}: key summary.{each.name}: {why}.")
    whole_of = _numbers if declared else _sums
    own = statistic(
        pool.summaries,
        pool.neighbours,
        pool.protected,
        l1,
        lambda data: whole_of(pool, data) / np.array(steps(pool.summaries)),
        lambda data: whole_of(pool, data).tolist(),
    )
    scale = np.array(own.whole)
    return Table(
        columns=tuple(each.column for each in pool.summaries),
        whole=frozenset(),
        summaries=pool.summaries,
        neighbours=pool.neighbours,
        sizes=(1, 1) if declared else (pool.n, pool.n),
        unit=pool.unit,
        declared=declared,
        file=pool.file.name,
        digest=_digest(pool),
        statistic=own,
        bounds=_bounds(
            [
                (each.column, each.lower, each.upper)
                for each in pool.summaries
                if each.kind in ("mean", "sum") and not declared
            ]
        ),
        wrong=lambda values: _wrong(pool, values, in_records=not declared),
        pool=(pool.theta, np.rint(pool.numbers * scale) / scale),
        records=pool.n,
        together=pool.declared is not None,
    )


def _moved_by_roundings(pool: PoolFile, each: Summary) -> Fraction:
    """Units by which floating point moves a mean or a sum of two neighbours apart at most.

    Raises:
        OwnError: they are so many that the number would tell nothing.
    """
    if each.kind not in ("mean", "sum") or pool.neighbours == "add-remove":
        return Fraction(0)
    farthest, width = (
        max(abs(each.lower), abs(each.upper)),
        Fraction(each.upper) - Fraction(each.lower),
    )
    found = ROUNDINGS * pool.n * Fraction(farthest) / width
    if found > COARSEST:
        raise OwnError(
            f"{pool.file.name}: key summary.{each.name}: with bounds so far from 0 floating point "
            f"does not tell one record from none; subtract a public number from both bounds."
        )
    return found


def _sums(pool: PoolFile, data: Array) -> Whole:
    """Whole numbers ``(k,)`` of contributions ``(n, k)``; records that are all NaN are none."""
    present = data[np.isfinite(data[:, 0])]
    found: Whole = _whole(pool.summaries, present, pool.neighbours).sum(axis=0)
    return found


def _numbers(pool: PoolFile, data: Array) -> Whole:
    """Whole numbers ``(k,)`` of one row ``(1, k)`` of the numbers themselves."""
    found = []
    for each, value in zip(pool.summaries, data[0], strict=True):
        natural = np.clip(value, *each.limits(pool.neighbours, pool.n))
        units = each.in_units(natural, pool.neighbours, pool.n)
        steps_of = 1 if each.kind == "count" else GRID
        found.append(np.rint(np.clip(units, -FARTHEST, FARTHEST) * steps_of))
    return np.array(found).astype(np.int64)


def _wrong(pool: PoolFile, values: Array, *, in_records: bool) -> str:
    """Why values ``(n, k)`` are no contributions, or numbers; shows none of them."""
    if not in_records:
        if np.isnan(values).any():
            # A table without a row is filled up; of numbers themselves there has to be one.
            return "There is no row of numbers below the names of the columns."
        for each, numbers in zip(pool.summaries, values.T, strict=True):
            # Of halves two that are 1 apart are rounded to whole numbers 2 apart.
            if each.kind == "count" and not np.array_equal(numbers, np.rint(numbers)):
                return f"Column {each.column}: must be a whole number, as {each.name} is a count."
        return ""
    groups: dict[str, list[int]] = {}
    for j, each in enumerate(pool.summaries):
        if each.group:
            groups.setdefault(each.group, []).append(j)
        odd = ~(np.isin(values[:, j], (0.0, 1.0)) | np.isnan(values[:, j]))
        if each.kind == "count" and odd.any():
            return (
                f"Column {each.column}, record {int(np.argmax(odd)) + 1}: must be 0 or 1, as "
                f"{each.name} is a count."
            )
    for group, columns in groups.items():
        twice = values[:, columns].sum(axis=1) > 1.0
        if twice.any():
            return f"Record {int(np.argmax(twice)) + 1}: is counted twice in group {group}."
    return ""


def _digest(pool: PoolFile) -> str:
    """SHA-256 of all that a pool states, however its table is written."""
    said = hashlib.sha256()
    stated = (pool.name, pool.title, pool.unit, pool.neighbours, pool.n, pool.parameters,
              pool.summaries, pool.declared)  # fmt: skip
    said.update(repr(stated).encode())
    for array in (pool.theta, pool.numbers):
        said.update(np.ascontiguousarray(array).tobytes())
    return said.hexdigest()


# --------------------------------------------------------------------------------- as a scenario


def stated(
    table: Table, title: str, parameters: Sequence[Parameter], *, independent: bool = True
) -> dict[str, Any]:
    """What a scenario says that takes a person's own data, for a table of records.

    Args:
        table: what is read and released.
        title: of the model.
        parameters: what is inferred.
        independent: whether the model says that records do not depend on each other.
    """
    first = parameters[0]
    unit = f" {first.unit}" if first.unit else ""
    public = table.neighbours == "replace"
    low, high = table.sizes
    size = f" of {table.records or high:,} records" if public else ""
    if table.is_of_numbers:
        rows, data = "one row", f"{_numbers_in_words(len(table.columns))}{size}"
    else:
        rows, data = "a row for each record", f"a table{size}"
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
        "OWN_NAMES": {each.name: each.name for each in parameters},
        "OWN_HIDDEN": "" if public else "How many records there are is protected too.",
        "OWN_REPEATED": (
            "Whoever has several records is protected less: k records together are protected with "
            "k times ε_total." + ("" if independent else f" {DEPENDENT}")
        ),
        "OWN_QUANTITIES": (),
        "OWN_QUESTIONS": (),
        "OWN_HEADLINE": first.name,
        "OWN_FINDING": f"{_plain(first.name)}: {{low}} to {{high}}{_plain(unit)}",
        "from_series": _as_they_are,
    }


DEPENDENT = (
    "Records depend on each other in this model: what the records of others tell about somebody is "
    "not protected."
)


def _numbers_in_words(k: int) -> str:
    return "one number" if k == 1 else f"{k} numbers"


def _bounds(columns: Sequence[tuple[str, float, float]]) -> str:
    """Names with their bounds in a sentence; empty if there are none."""
    if not columns:
        return ""
    ends = ([f"{end:,.12g}".replace("-", "\u2212") for end in item[1:]] for item in columns)
    each = (f"{item[0]} {low} to {high}" for item, (low, high) in zip(columns, ends, strict=True))
    return f"Known beforehand: {', '.join(each)}; what lies outside counts as the nearer bound."


RECORDS = "records"
"""What a file holds for a table."""


def _as_they_are(values: Array) -> Array:
    """Records ``(n, d)`` as data points."""
    return values


def _plain(name: str) -> str:
    """A name in a text that is filled in."""
    return name.replace("{", "{{").replace("}", "}}")


def scenario_of(pool: PoolFile) -> ModuleType:
    """A pool as far as it is a scenario: enough to release by, to verify and to report."""
    # By the file: of two pools of one name the second would count.
    module = ModuleType(f"abcdp_pool_{pool.file}", pool.title)
    table = of_pool(pool)
    low, high = (np.array([getattr(p, end) for p in pool.parameters]) for end in ("low", "high"))
    vars(module).update({
        "SCENARIO": pool.name,
        "TITLE": pool.title,
        "PROTECTED": pool.protected,
        "NEIGHBOURS": pool.neighbours,
        "AXES": {each.name: (each.low, each.high) for each in pool.parameters},
        "UNITS": {each.name: each.unit for each in pool.parameters},
        "SUPPORT": supports.box(low, high),
        "STATISTICS": {table.statistic.name: table.statistic},
        **stated(table, pool.title, pool.parameters),
    })  # fmt: skip
    return module
