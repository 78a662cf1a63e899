"""What the one column of a file may hold, and how it is read; what is wrong, in a sentence.

As in :mod:`~abcdp_core.own_data.series`, no sentence has a value of the data; nor has one of people
how many there are.

Strain labels, one a patient, cannot be told from a header, so their first row always is one: were
that decided by what stands in it, a patient who is left out could make the next one a header, and
change two things at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from abcdp_core.own_data import series
from abcdp_core.own_data.request import SERIES, columns_of, own_sizes
from abcdp_core.own_data.series import SeriesError
from abcdp_core.parameters import ParameterError, shown

Array = NDArray[np.float64]

LARGEST_CLUSTER = 1_000_000
"""Patients; a limit on what is no slip, and on nothing else."""

LARGEST_COUNT = 1_000_000_000
"""Cases of a day: more is a slip."""

LONGEST_LABEL = 200
"""Characters."""


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
}
"""What a file holds."""


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


def read(content: bytes, scenario: str, column: str) -> Array:
    """The values ``(n,)`` of a file.

    Raises:
        SeriesError: the file is something else; one sentence says what, without a value.
    """
    return READERS[column](content, own_sizes(scenario)[1])
