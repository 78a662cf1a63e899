"""What a file may hold, one column or a table, and how it is read; what is wrong, in a sentence.

As in :mod:`~abcdp_core.own_data.series`, no sentence has a value of the data; nor has one of people
how many there are.

Strain labels, one a patient, cannot be told from a header, so their first row always is one: were
that decided by what stands in it, a patient who is left out could make the next one a header, and
change two things at once. A table's first row always names its columns.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core import simulators
from abcdp_core.own_data import series
from abcdp_core.own_data.request import SERIES, columns_of, own_sizes
from abcdp_core.own_data.series import SeriesError
from abcdp_core.own_model.lattice import RECORDS, Table
from abcdp_core.parameters import Parameter, ParameterError, number_in, shown

Array = NDArray[np.float64]

LARGEST_CLUSTER = 1_000_000
"""Patients; a limit on what is no slip, and on nothing else."""

LARGEST_COUNT = 1_000_000_000
"""Cases of a day: more is a slip."""

LARGEST_TABLE = 2**26
"""Bytes of a table of records: a register of a million people in columns of six digits has nine of
them. A page takes less, as what is sent to a server takes memory before it is looked at."""

LONGEST_LABEL = 200
"""Characters."""

NAMES_SHOWN = 20
"""Columns that are named where a first row is wrong; a pool may have hundreds."""


def _daily_counts(content: bytes, limit: int) -> Array:
    """New cases of each day ``(days,)``, at most ``limit`` days."""
    rows = _rows(content, limit, "days")
    return np.array([_whole(field, row, 0, LARGEST_COUNT, "cases") for row, field in rows])


def _sizes(content: bytes, limit: int) -> Array:
    """Sizes of clusters ``(limit,)``, rows of size 0 after them."""
    rows = _rows(content, limit, "clusters")
    sizes = [_whole(field, row, 1, LARGEST_CLUSTER, "patients") for row, field in rows]
    return _filled(sizes, limit)


def _labels(content: bytes, limit: int) -> Array:
    """Sizes of clusters ``(limit,)`` from a strain label a patient, the largest first."""
    text = series.text_of(content, limit)
    header, *rows = text.split("\n")
    if len(rows) > limit:
        raise SeriesError(f"The file has more than {limit:,} patients, the most that are read.")
    counted = Counter(_label(field, row) for row, field in enumerate(rows, start=2))
    if number_in(series.unquoted(header)) is not None:
        raise SeriesError("Row 1 is a number: the first row of labels must name the column.")
    if _label(header, 1) in counted:
        raise SeriesError("Row 1 is a label of patients: the first row must name the column.")
    return _filled(sorted(counted.values(), reverse=True), limit)


def _label(field: str, row: int) -> str:
    name = series.unquoted(field)
    if not name:
        raise SeriesError(f"Row {row} is empty: every patient needs a label.")
    if len(name) > LONGEST_LABEL:
        raise SeriesError(f"Row {row} is longer than the {LONGEST_LABEL} characters of a label.")
    if '"' in name or (series.separates(name) and '"' not in field):
        raise SeriesError(f"Row {row} has more than one column: give one label a row only.")
    return name


def _rows(content: bytes, limit: int, what: str) -> list[tuple[int, str]]:
    """Number and text of each row but a header."""
    text = series.text_of(content, limit)
    header = series.header_rows(text)
    rows = text.split("\n")[header:]
    if len(rows) > limit:
        raise SeriesError(f"The file has more than {limit:,} {what}, the most that are read.")
    return list(enumerate(rows, start=1 + header))


def _whole(field: str, row: int, lowest: int, largest: int, what: str) -> int:
    number = series.number_of(field, row)
    if not number.is_integer() or number < lowest:
        raise SeriesError(
            f"Row {row} is no number of {what}: write a whole number from {lowest} up."
        )
    if number > largest:
        raise SeriesError(f"Row {row} is above {largest:,} {what}, which is taken for a slip.")
    return int(number)


def _filled(sizes: list[int], rows: int) -> Array:
    filled = np.zeros(rows)
    filled[: len(sizes)] = sizes
    return filled


def records(content: bytes, table: Table) -> Array:
    """A table's columns ``(n, d)`` of a CSV file with a header; others are not looked at.

    Where the number of records is private, the table is filled up with rows that are all NaN.

    Raises:
        SeriesError: the file is something else; a sentence names column and row, and no value.
    """
    most, public = table.sizes[1], table.neighbours == "replace"
    text = series.text_of(content, most, "the columns that are read", LARGEST_TABLE)
    header, *rows = text.split("\n")
    names = [series.unquoted(name) for name in _fields(header, 1)]
    for name in table.columns:
        if names.count(name) != 1:
            why = "is missing" if name not in names else "is there twice"
            raise SeriesError(
                f"Column {name} {why}: the first row must name the columns, separated by commas: "
                f"{_header(table.columns)}."
            )
    if len(rows) > most and public:
        allowed = Parameter("integer", "Records", low=table.sizes[0], high=most).allowed()
        raise SeriesError(f"number of records = {len(rows)}: must be {allowed}.")
    if len(rows) > most:
        raise SeriesError(f"The file has more than {most:,} records, the most that are read.")
    places = [names.index(name) for name in table.columns]
    found = np.full((len(rows) if public else most, len(places)), np.nan)
    for row, line in enumerate(rows, start=2):
        fields = _fields(line, row)
        if len(fields) != len(names):
            raise SeriesError(
                f"Row {row} has {len(fields)} fields, and the first row {len(names)}."
            )
        for j, (name, place) in enumerate(zip(table.columns, places, strict=True)):
            found[row - 2, j] = _entry(fields[place], name, row, whole=name in table.whole)
    if wrong := table.wrong(found):
        raise SeriesError(wrong)
    return found


def _header(names: Sequence[str]) -> str:
    """A first row that names columns, as CSV has it; of a long one its beginning."""
    first = names[:NAMES_SHOWN]
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(first)
    more = f" and {len(names) - len(first):,} more" if first != names else ""
    return f"{text.getvalue()}{more}"


def _fields(line: str, row: int) -> list[str]:
    try:
        return next(csv.reader([line], strict=True), [""])
    except (csv.Error, StopIteration):
        raise SeriesError(f"Row {row} is not of the form of CSV.") from None


def _entry(field: str, column: str, row: int, *, whole: bool) -> float:
    number = number_in(series.unquoted(field))
    if number is None:
        raise SeriesError(f"Column {column}, row {row}: is no finite number.")
    if whole and not number.is_integer():
        raise SeriesError(f"Column {column}, row {row}: is no whole number.")
    return number


READERS: dict[str, Callable[[bytes, int], Array]] = {
    SERIES: series.read,
    "labels": _labels,
    "sizes": _sizes,
    "daily-counts": _daily_counts,
}
"""Name of a column -> its file's bytes and the most rows, to the values ``(n,)``."""

WORDS = {
    SERIES: "one column of numbers",
    "labels": "one strain label a patient below a header",
    "sizes": "one size of a cluster a row",
    "daily-counts": "the new cases of one day a row",
    RECORDS: "a header and a row for each record",
}
"""What a file holds."""


def words_of(scenario: str, column: str) -> str:
    """What a file for a scenario holds."""
    source: Any = simulators.load(scenario)
    if column == RECORDS and source.OWN_TABLE.is_of_numbers:
        return "a header and one row of numbers"
    return WORDS[column]


def content(scenario: str, column: str) -> str:
    """Return what a file of a scenario has to hold, in words."""
    smallest, largest = own_sizes(scenario)
    if column == SERIES:
        return f"one column of {smallest} to {largest:,} numbers, which never take more"
    table: Table | None = getattr(simulators.load(scenario), "OWN_TABLE", None)
    if table is not None:
        rows = f"{smallest:,} to {largest:,}" if smallest < largest else f"{largest:,}"
        most = "at most " if table.neighbours == "add-remove" else ""
        return (
            f"{words_of(scenario, column)}: the columns {', '.join(table.columns)}, "
            f"{most}{rows} {'row' if largest == 1 else 'rows'} below the header"
        )
    size = f", {smallest} to {largest} days in a row" if smallest < largest else ""
    return f"{WORDS[column]}{size}"


def chosen(scenario: str, name: str | None) -> str:
    """The column that is named, or the only one that a scenario takes.

    Raises:
        ParameterError: it takes others, or several and none is named; a guess would be made from
            the data.
    """
    known = columns_of(scenario)
    if name is None and len(known) == 1:
        return known[0]
    if name not in known:
        which = " or ".join(f"{each} ({WORDS[each]})" for each in known)
        given = "none was named" if name is None else shown(name)
        raise ParameterError(f"column = {given}: for {scenario} it must be {which}.")
    return name


def largest_file(column: str) -> int:
    """Bytes of a file of such values, at most."""
    return LARGEST_TABLE if column == RECORDS else series.LARGEST_FILE


def read(content: bytes, scenario: str, column: str) -> Array:
    """The values ``(n,)`` of a file.

    Raises:
        SeriesError: the file is something else; one sentence says what, without a value.
    """
    if column == RECORDS:
        source: Any = simulators.load(scenario)
        return records(content, source.OWN_TABLE)
    return READERS[column](content, own_sizes(scenario)[1])
