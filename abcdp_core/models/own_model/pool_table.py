"""Numbers that a pool made elsewhere releases, as exact whole numbers."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np

from abcdp_core.base.arrays import Array
from abcdp_core.models.own_model import lattice, pool_file
from abcdp_core.models.own_model.lattice import FARTHEST, RecordSchema, Whole, steps, whole_numbers
from abcdp_core.models.own_model.pool_file import PoolFile
from abcdp_core.models.own_model.statistics import Summary
from abcdp_core.models.own_model.user_errors import OwnError
from abcdp_core.models.simulators import Scenario

TOO_FAR_TOGETHER = (
    f"exceeds ±{FARTHEST:,.0f}, the limit of a release; divide it, l1 and l2 by a number"
)

ROUNDINGS = Fraction(1, 2**49)
"""Twelve times 2^-53, with a margin."""

COARSEST = 1
"""Largest effect of rounding, in units, that more noise may cover."""


def of_pool(pool: PoolFile) -> RecordSchema:
    """Describe the release of records by a pool.

    If a sensitivity is declared, it is unknown how numbers are computed from records. A file then
    has one row with the numbers themselves, and all but counts are rounded as a whole.

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
    return RecordSchema(
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
    """Refuse a pool whose numbers exceed the limit at which private ones are clipped."""
    for each, numbers in zip(pool.summaries, pool.numbers.T, strict=True):
        if np.abs(numbers).max() > FARTHEST:
            why = lattice.TOO_FAR if pool.declared is None else TOO_FAR_TOGETHER
            raise OwnError(f"{pool.file.name}: summary.{each.name}: {why}.")


def _moved_by_roundings(pool: PoolFile, each: Summary) -> Fraction:
    """Bound the effect of rounding on the difference of neighboring means or sums, in units."""
    if each.kind not in ("mean", "sum") or pool.neighbours == "add-remove":
        return Fraction(0)
    farthest = Fraction(max(abs(each.lower), abs(each.upper)))
    moved = ROUNDINGS * pool.n * farthest / (Fraction(each.upper) - Fraction(each.lower))
    if moved > COARSEST:
        raise OwnError(
            f"{pool.file.name}: summary.{each.name}: the bounds are so far from 0 that rounding "
            f"hides a single record; subtract a public number from both bounds."
        )
    return moved


def _sums(pool: PoolFile, data: Array) -> Whole:
    """Return whole numbers ``(k,)`` of contributions ``(n, k)``; absent records are all NaN."""
    present = data[np.isfinite(data[:, 0])]
    return whole_numbers(pool.summaries, present, pool.neighbours).sum(axis=0)


def _numbers(pool: PoolFile, data: Array) -> Whole:
    """Return whole numbers ``(k,)`` of a row ``(1, k)`` of the numbers themselves."""
    units = []
    for each, value in zip(pool.summaries, data[0], strict=True):
        natural = np.clip(value, *each.limits(pool.neighbours, pool.n))
        units.append(each.in_units(natural, pool.neighbours, pool.n))
    within = np.clip(units, -FARTHEST, FARTHEST)
    return np.rint(within * steps(pool.summaries)).astype(np.int64)


def _wrong_numbers(pool: PoolFile, values: Array) -> str:
    """Describe what is wrong with a row ``(1, k)`` of numbers, without a value."""
    if np.isnan(values).any():
        # A table of records may be empty and is filled up; a row of numbers is required.
        return "There is no row of numbers below the column names."
    for each, numbers in zip(pool.summaries, values.T, strict=True):
        # Halves that are 1 apart could be rounded to whole numbers 2 apart.
        if each.kind == "count" and not np.array_equal(numbers, np.rint(numbers)):
            return f"Column {each.column}: must be a whole number, as {each.name} is a count."
    return ""


def _wrong_records(pool: PoolFile, values: Array) -> str:
    """Describe what is wrong with contributions ``(n, k)``, without a value."""
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
            return f"Record {int(np.argmax(count > 1.0)) + 1}: counts twice in group {group}."
    return ""


def _digest(pool: PoolFile) -> str:
    """Return the SHA-256 of the contents of a pool in any file format."""
    digest = hashlib.sha256()
    stated = (pool.name, pool.title, pool.unit, pool.neighbours, pool.n, pool.parameters,
              pool.summaries, pool.declared)  # fmt: skip
    digest.update(repr(stated).encode())
    for array in (pool.theta, pool.numbers):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def scenario_of(pool: PoolFile) -> Scenario:
    """Turn a pool into a scenario for releasing, verifying and reporting."""
    table = of_pool(pool)
    units = {each.name: each.unit for each in pool.parameters}
    return pool_file.scenario(pool, table.statistic, **lattice.stated(table, pool.title, units))
