"""What a file of one's own holds for a scenario, and how it is read (:mod:`abcdp_core.tabular`).

Strain labels cannot be told from a header, so their first row always is one: were that decided by
what is in it, a patient who is left out could make the next one a header, and change two things at
once. A table's first row always names its columns. No sentence about data of people says how many
there are.
"""

from __future__ import annotations

import hashlib
import secrets
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core import simulators, tabular
from abcdp_core.own_model.lattice import RECORDS
from abcdp_core.parameters import Parameter, ParameterError, number_in, shown
from abcdp_core.release.request import SERIES, columns_of, own_sizes
from abcdp_core.tabular import LARGEST_FILE, TableError
from abcdp_core.tabular.table import header_of

Array = NDArray[np.float64]

LARGEST_CLUSTER = 1_000_000
"""Patients; a limit on what is no slip, and on nothing else."""

LARGEST_COUNT = 1_000_000_000
"""Cases of a day: more is a slip."""

LARGEST_TABLE = 2**26
"""Bytes of a table of records: a register of a million people in columns of six digits has nine of
them. A page takes less, as what is sent to a server takes memory before it is looked at."""

LABELS, SIZES, DAYS = "labels", "sizes", "daily-counts"

WORDS = {
    SERIES: "numbers, one a row",
    LABELS: "strain labels, one a patient, below a header",
    SIZES: "sizes of clusters, one a row",
    DAYS: "new cases, one day a row",
    RECORDS: "a header and a row for each record",
}
"""Kind of a column -> what it holds."""


@dataclass(frozen=True)
class Reading:
    """How a file is read; all of it is chosen without looking at the data.

    Attributes:
        column: its name; ``None`` for the only one there is.
        date: name of the column with dates, by which rows are put in order.
        date_format: how dates are written, as ``%d/%m/%Y``.
        missing: ``zero`` where a day without a row had none, ``drop`` where a patient without a
            label is left out; ``None`` to refuse either.
        cumulative: whether numbers are totals so far; ``None`` to ask where they look it.
        count: name of the column that says how many clusters have a size.
        thousands: the thousands separator; empty for none.
    """

    column: str | None = None
    date: str | None = None
    date_format: str | None = None
    missing: str | None = None
    cumulative: bool | None = None
    count: str | None = None
    thousands: str = ""


AS_IT_IS = Reading()

_KEY = secrets.token_bytes()


def digest_of(values: Array) -> str:
    """Return by what the same numbers are known again, whatever their order and their file.

    Nobody can look for a series by it: its key is drawn when the program starts and kept nowhere.
    """
    # Sorted: one person's value may be elsewhere. Minus zero is zero.
    ordered = (np.sort(values) if values.ndim == 1 else values[np.lexsort(values.T)]) + 0.0
    return hashlib.blake2b(ordered.tobytes(), key=_KEY).hexdigest()


class CumulativeError(TableError):
    """Numbers of days look like totals so far, and nobody has said whether they are."""

    def __init__(self) -> None:
        super().__init__(
            "The numbers never fall, so they look cumulative: with --cumulative yes each day's "
            "difference is taken, with --cumulative no they stay as they are."
        )


def _series(table: tabular.Table, limit: int, how: Reading) -> Array:
    values = tabular.numbers(table.column(how.column, how.date), how.thousands)
    if len(values) < 2:
        raise TableError(f"The file has {len(values)} value: at least 2 are needed.")
    if len(values) > limit:
        raise TableError(f"The file has {len(values):,} values: at most {limit:,} are allowed.")
    return _by_day(table, values, how)


def _daily_counts(table: tabular.Table, _: int, how: Reading) -> Array:
    """New cases of each day ``(days,)``."""
    column = table.column(how.column, how.date)
    values = tabular.whole_numbers(column, "cases", 0, LARGEST_COUNT, how.thousands)
    return _by_day(table, values, how)


def _by_day(table: tabular.Table, values: Array, how: Reading) -> Array:
    if how.date is not None:
        dates = table.column(how.date)
        values = tabular.in_order(values, dates, how.date_format, how.missing == "zero")
    return tabular.differences(values) if how.cumulative else values


def _sizes(table: tabular.Table, limit: int, how: Reading) -> Array:
    """Sizes of clusters ``(limit,)``, rows of size 0 after them."""
    column = table.column(how.column, how.count)
    sizes = tabular.whole_numbers(column, "patients", 1, LARGEST_CLUSTER, how.thousands)
    if how.count is not None:
        counts = tabular.whole_numbers(table.column(how.count), "clusters", 0, limit, how.thousands)
        sizes = np.repeat(sizes, counts.astype(int)) if counts.sum() <= limit else counts
    return _filled(sizes, limit, "clusters")


def _labels(table: tabular.Table, limit: int, how: Reading) -> Array:
    """Sizes of clusters ``(limit,)`` from a strain label a patient, the largest first."""
    column = table.column(how.column)
    header = table.names[column.at]
    if number_in(header) is not None:
        raise TableError("Row 1 is a number: the first row of labels must name the column.")
    counted = Counter(tabular.labels(column, how.missing == "drop"))
    if header in counted:
        raise TableError("Row 1 is a label of patients: the first row must name the column.")
    return _filled(np.array(sorted(counted.values(), reverse=True), dtype=float), limit, "patients")


def _filled(sizes: Array, rows: int, what: str) -> Array:
    if len(sizes) > rows:
        raise TableError(f"The file has more than {rows:,} {what}, the most that are read.")
    filled = np.zeros(rows)
    filled[: len(sizes)] = sizes
    return filled


READERS: dict[str, Callable[[tabular.Table, int, Reading], Array]] = {
    SERIES: _series,
    LABELS: _labels,
    SIZES: _sizes,
    DAYS: _daily_counts,
}
"""Kind of a column -> its table, the most rows and how it is read, to the values ``(n,)``."""


def _records(content: bytes, scenario: str, how: Reading) -> Array:
    """Return a table's columns ``(n, d)`` of a file with a header; others are not looked at.

    Where the number of records is private, the table is filled up with rows that are all NaN.
    """
    source: Any = simulators.load(scenario)
    own = source.OWN_TABLE
    most, public = own.sizes[1], own.neighbours == "replace"
    table = tabular.parse(content, sys.maxsize, header=True, largest=LARGEST_TABLE)
    for name in own.columns:
        if name not in table.names:
            needed = header_of(own.columns)
            raise TableError(f"Column {shown(name)} is missing: the first row must have {needed}.")
    n = len(table.fields)
    if n > most and public:
        allowed = Parameter("integer", "Records", low=own.sizes[0], high=most).allowed()
        raise TableError(f"number of records = {n}: must be {allowed}.")
    if n > most:
        raise TableError(f"The file has more than {most:,} records, the most that are read.")
    found = np.full((n if public else most, len(own.columns)), np.nan)
    for j, name in enumerate(own.columns):
        column = table.column(name)
        if name in own.levels:
            found[:n, j] = tabular.categories(column, own.levels[name])
        elif name in own.whole:
            found[:n, j] = tabular.numbers(column, how.thousands, whole=True)
        else:
            found[:n, j] = tabular.numbers(column, how.thousands)
    if wrong := own.wrong(found):
        raise TableError(wrong)
    return found


def read(content: bytes, scenario: str, kind: str, how: Reading = AS_IT_IS) -> Array:
    """Return the values ``(n,)`` of a file, or of records ``(n, d)``.

    Args:
        content: the file's bytes.
        scenario: whose data they are.
        kind: of the column, of :data:`WORDS`.
        how: it is read.

    Raises:
        TableError: the file is something else; one sentence says what, without a value.
        CumulativeError: it may hold totals.
    """
    if kind == RECORDS:
        return _records(content, scenario, how)
    limit = own_sizes(scenario)[1]
    header = True if kind == LABELS or how.column else None
    values = READERS[kind](tabular.parse(content, 100 * limit, header=header), limit, how)
    if kind == DAYS and how.cumulative is None and tabular.looks_cumulative(values):
        raise CumulativeError
    return values


def words_of(scenario: str, kind: str) -> str:
    """Return what a file for a scenario holds."""
    source: Any = simulators.load(scenario)
    if kind == RECORDS and source.OWN_TABLE.is_of_numbers:
        return "a header and one row of numbers"
    return WORDS[kind]


def content(scenario: str, kind: str) -> str:
    """Return what a file of a scenario has to hold, in words."""
    smallest, largest = own_sizes(scenario)
    if kind == SERIES:
        return f"one column of {smallest} to {largest:,} numbers, which never take more"
    table = getattr(simulators.load(scenario), "OWN_TABLE", None)
    if table is not None:
        rows = f"{smallest:,} to {largest:,}" if smallest < largest else f"{largest:,}"
        most = "at most " if table.neighbours == "add-remove" else ""
        return (
            f"{words_of(scenario, kind)}: the columns {', '.join(table.columns)}, "
            f"{most}{rows} {'row' if largest == 1 else 'rows'} below the header"
        )
    size = f", {smallest} to {largest} days in a row" if smallest < largest else ""
    return f"{WORDS[kind]}{size}"


def chosen(scenario: str, kind: str | None) -> str:
    """Return the kind that is named, or the only one that a scenario takes.

    Raises:
        ParameterError: it takes others, or several and none is named; a guess would be made from
            the data.
    """
    known = columns_of(scenario)
    if kind is None and len(known) == 1:
        return known[0]
    if kind not in known:
        which = " or ".join(f"{each} ({WORDS[each]})" for each in known)
        given = "none was named" if kind is None else shown(kind)
        raise ParameterError(f"kind = {given}: for {scenario} it must be {which}.")
    return kind


def largest_file(kind: str) -> int:
    """Return the most bytes that a file of such values may have."""
    return LARGEST_TABLE if kind == RECORDS else LARGEST_FILE
