"""What is released of records by a pool that was made elsewhere, as exact whole numbers."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from abcdp_core.own_model import lattice
from abcdp_core.own_model.lattice import FARTHEST, Table, Whole, steps, whole_numbers
from abcdp_core.own_model.pool_file import PoolFile
from abcdp_core.own_model.statistics import Summary
from abcdp_core.own_model.user_errors import OwnError

Array = NDArray[np.float64]

TOO_FAR_TOGETHER = (
    f"reaches beyond ±{FARTHEST:,.0f}, the most of a release; divide it, l1 and l2 by a number"
)

ROUNDINGS = Fraction(1, 2**49)
"""Twelve of 2^-53, and some room."""

COARSEST = 1
"""Unit up to which these are made up for by more noise."""


def of_pool(pool: PoolFile) -> Table:
    """What is released of records by a pool.

    Where a sensitivity is declared nothing says how the number is computed from records. Then a
    file has one row with the numbers themselves, and each but a count is rounded as a whole.

    Raises:
        OwnError: a declared number, or bounds, are too far from 0 for exact noise.
    """
    declared = tuple(each.name for each in pool.summaries if each.kind == "declared")
    moved, rounded = Fraction(0), 0
    if declared:
        moved = Fraction(len(declared) if pool.declared is None else pool.declared[0])
        moved += sum(_moved_by_roundings(pool, each) for each in pool.summaries)
        rounded = sum(each.kind != "count" for each in pool.summaries)
        _check_reach(pool)
    reduced = _numbers if declared else _sums
    scale = np.array(steps(pool.summaries))
    bounded = [each for each in pool.summaries if each.kind in ("mean", "sum") and not declared]
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
        statistic=lattice.statistic(
            pool.summaries,
            pool.neighbours,
            pool.protected,
            lattice.sensitivity(pool.summaries, pool.neighbours, moved, rounded),
            lambda data: reduced(pool, data) / scale,
            lambda data: reduced(pool, data).tolist(),
        ),
        bounds=lattice.bounds_in_words([(each.column, each.lower, each.upper) for each in bounded]),
        wrong=lambda values: (_wrong_numbers if declared else _wrong_records)(pool, values),
        pool=(pool.theta, np.rint(pool.numbers * scale) / scale),
        records=pool.n,
        together=pool.declared is not None,
    )


def _check_reach(pool: PoolFile) -> None:
    """Refuse numbers of which a private one would be clipped, as the pool's are beyond that."""
    for each, numbers in zip(pool.summaries, pool.numbers.T, strict=True):
        if np.abs(numbers).max() > FARTHEST:
            why = lattice.TOO_FAR if pool.declared is None else TOO_FAR_TOGETHER
            raise OwnError(f"{pool.file.name}: summary.{each.name}: {why}.")


def _moved_by_roundings(pool: PoolFile, each: Summary) -> Fraction:
    """Units by which floating point moves a mean or a sum of two neighbors apart at most."""
    if each.kind not in ("mean", "sum") or pool.neighbours == "add-remove":
        return Fraction(0)
    farthest = Fraction(max(abs(each.lower), abs(each.upper)))
    found = ROUNDINGS * pool.n * farthest / (Fraction(each.upper) - Fraction(each.lower))
    if found > COARSEST:
        raise OwnError(
            f"{pool.file.name}: summary.{each.name}: with bounds so far from 0 floating point does "
            f"not tell one record from none; subtract a public number from both bounds."
        )
    return found


def _sums(pool: PoolFile, data: Array) -> Whole:
    """Whole numbers ``(k,)`` of contributions ``(n, k)``; records that are all NaN are none."""
    present = data[np.isfinite(data[:, 0])]
    found: Whole = whole_numbers(pool.summaries, present, pool.neighbours).sum(axis=0)
    return found


def _numbers(pool: PoolFile, data: Array) -> Whole:
    """Whole numbers ``(k,)`` of one row ``(1, k)`` of the numbers themselves."""
    units = []
    for each, value in zip(pool.summaries, data[0], strict=True):
        natural = np.clip(value, *each.limits(pool.neighbours, pool.n))
        units.append(each.in_units(natural, pool.neighbours, pool.n))
    within = np.clip(units, -FARTHEST, FARTHEST)
    found: Whole = np.rint(within * steps(pool.summaries)).astype(np.int64)
    return found


def _wrong_numbers(pool: PoolFile, values: Array) -> str:
    """Why values ``(1, k)`` are no numbers themselves; shows none of them."""
    if np.isnan(values).any():
        # A table without a row is filled up; of numbers themselves there has to be one.
        return "There is no row of numbers below the names of the columns."
    for each, numbers in zip(pool.summaries, values.T, strict=True):
        # Of halves two that are 1 apart are rounded to whole numbers 2 apart.
        if each.kind == "count" and not np.array_equal(numbers, np.rint(numbers)):
            return f"Column {each.column}: must be a whole number, as {each.name} is a count."
    return ""


def _wrong_records(pool: PoolFile, values: Array) -> str:
    """Why values ``(n, k)`` are no contributions; shows none of them."""
    counts: dict[str, Array] = {}
    for each, numbers in zip(pool.summaries, values.T, strict=True):
        odd = ~(np.isin(numbers, (0.0, 1.0)) | np.isnan(numbers))
        if each.kind == "count" and odd.any():
            return (
                f"Column {each.column}, record {int(np.argmax(odd)) + 1}: must be 0 or 1, as "
                f"{each.name} is a count."
            )
        if each.group:
            counts[each.group] = counts.get(each.group, 0.0) + numbers
    for group, count in counts.items():
        if (count > 1.0).any():
            return f"Record {int(np.argmax(count > 1.0)) + 1}: is counted twice in group {group}."
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


def scenario_of(pool: PoolFile) -> ModuleType:
    """A pool as far as it is a scenario: enough to release by, to verify and to report."""
    # By the file: of two pools of one name the second would count.
    module = ModuleType(f"abcdp_pool_{pool.file}", pool.title)
    table = of_pool(pool)
    units = {each.name: each.unit for each in pool.parameters}
    vars(module).update({
        "SCENARIO": pool.name,
        "TITLE": pool.title,
        "PROTECTED": pool.protected,
        "NEIGHBOURS": pool.neighbours,
        "AXES": {each.name: (each.low, each.high) for each in pool.parameters},
        "UNITS": units,
        "SUPPORT": pool.support,
        "STATISTICS": {table.statistic.name: table.statistic},
        **lattice.stated(table, pool.title, units),
    })  # fmt: skip
    return module
