"""Read the values of a scenario from a person's file (:mod:`abcdp_core.base.tabular`).

The first row of strain labels is always a header. If its content decided that, leaving out one
patient could turn the next label into a header, and two things would change at once. The first row
of a table always names its columns. No error about data of people says how many people there are.
"""

from __future__ import annotations

import hashlib
import secrets
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from abcdp_core.base import tabular
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import Parameter, ParameterError, number_in, shown
from abcdp_core.base.tabular import LARGEST_FILE, TableError
from abcdp_core.base.tabular.table import header_of
from abcdp_core.models.own_model import lattice
from abcdp_core.models.own_model.lattice import RECORDS
from abcdp_core.models.simulators import Scenario
from abcdp_core.release import people
from abcdp_core.release.request import SERIES

LARGEST_CLUSTER = 1_000_000
"""Patients; a larger cluster is a typing error."""

LARGEST_COUNT = 1_000_000_000
"""Cases of a day; a larger count is a typing error."""

LARGEST_TABLE = 2**26
"""Bytes of a table of records: a million people with nine columns of six digits. A page takes less,
as an upload takes memory before it is read."""

LABELS, SIZES, DAYS = "labels", "sizes", "daily-counts"

WORDS = {
    SERIES: "numbers, one per row",
    LABELS: "strain labels, one per patient, below a header",
    SIZES: "sizes of clusters, one per row",
    DAYS: "new cases, one day per row",
    RECORDS: "a header and a row for each record",
}
"""Kind of a column -> what it holds."""


@dataclass(frozen=True)
class Reading:
    """How to read a file; all of it is chosen without looking at the data.

    Attributes:
        column: name of the column; ``None`` for the only one.
        date: name of the column of dates, by which rows are sorted.
        date_format: how dates are written, such as ``%d/%m/%Y``.
        missing: ``zero`` to count 0 cases for a day without a row, ``carry`` to keep a running
            total on a day without a number, ``drop`` to leave out a patient without a label;
            ``None`` to refuse all of these.
        cumulative: whether the numbers are totals so far; ``None`` to ask if they look so.
        count: name of the column that says how many clusters have a size, or how many records are
            like a row.
        thousands: the thousands separator; empty for none.
        sum_days: whether rows of the same day are added up.
        person: name of the column that says whose record a row is.
        at_most: most records of a person that are used; 0 if a row is a unit by itself.
        missing_person: what a row without a person is: ``drop`` for none, ``each`` for another
            person; ``None`` to refuse it.
        rows_are_people: whether each row is another person, whatever a column's name says.
        corrections: ``drop`` to count a negative number of cases as 0, ``add`` to add it to the
            other rows of its day; ``None`` to refuse it.
    """

    column: str | None = None
    date: str | None = None
    date_format: str | None = None
    missing: str | None = None
    cumulative: bool | None = None
    count: str | None = None
    thousands: str = ""
    sum_days: bool | None = None
    corrections: str | None = None
    person: str | None = None
    at_most: int = 0
    missing_person: str | None = None
    rows_are_people: bool = False


BY_DAY = {"column", "date", "date_format", "missing", "cumulative", "thousands", "sum_days"}

USED = {
    SERIES: BY_DAY,
    DAYS: BY_DAY | {"corrections"},
    LABELS: {"column", "missing", "rows_are_people"},
    SIZES: {"column", "count", "thousands"},
    RECORDS: {
        *("count", "thousands", "person", "at_most", "missing_person", "rows_are_people"),
    },
}
"""Kind of a column -> the choices of a :class:`Reading` that have an effect on it."""


def check_used(kind: str, how: Reading) -> None:
    """Refuse a choice that would have no effect, before a file is opened.

    Raises:
        ParameterError: there is one; one sentence says why.
    """
    given = {name: each for name, each in vars(how).items() if each != vars(AS_IT_IS)[name]}
    reasons = dict.fromkeys(given.keys() - USED[kind], f"has no effect on {WORDS[kind]}")
    if how.date is None:
        reasons |= dict.fromkeys({"date_format", "sum_days"} & given.keys(), "needs --date")
    if "missing" in given:
        reasons.setdefault("missing", _wrong_missing(kind, how))
    if how.person is None:
        reasons |= dict.fromkeys({"at_most", "missing_person"} & given.keys(), "needs --person")
    else:
        beside = {
            "count": "does not go with --person",
            "rows_are_people": "does not go with --person",
        }
        needs = {} if how.at_most else {"person": "needs --at-most K, chosen without the data"}
        reasons = needs | beside | reasons
    if how.corrections == "add" and not how.sum_days:
        reasons.setdefault("corrections", "needs --sum-days yes")
    for name in given:
        if reasons.get(name):
            value = {True: "yes", False: "no"}.get(given[name], given[name])
            raise ParameterError(f"{name} = {shown(value)}: {reasons[name]}.")


def _wrong_missing(kind: str, how: Reading) -> str:
    """Return why the choice for missing numbers does not suit; empty if it does."""
    if (how.missing == "drop") != (kind == LABELS):
        return f"is for {WORDS[LABELS if how.missing == 'drop' else DAYS]}"
    if how.missing == "carry" and not how.cumulative:
        return "is for running totals: add --cumulative yes"
    if how.missing == "zero" and how.cumulative:
        return "would end a running total: use --missing carry"
    return "needs --date" if how.missing == "zero" and how.date is None else ""


AS_IT_IS = Reading()

_KEY = secrets.token_bytes()


def digest_of(values: Array) -> str:
    """Return a digest that is equal for the same numbers in any order and any file.

    Nobody can search for a series by it: its key is drawn when the program starts and not stored.
    """
    # Sorted, because one person's value may be elsewhere; + 0.0 turns -0 into 0.
    ordered = (np.sort(values) if values.ndim == 1 else values[np.lexsort(values.T)]) + 0.0
    return hashlib.blake2b(ordered.tobytes(), key=_KEY).hexdigest()


class CumulativeError(TableError):
    """Daily numbers look like totals so far, and the request does not say whether they are."""

    def __init__(self) -> None:
        super().__init__(
            "The numbers never fall, so they look cumulative: --cumulative yes takes each day's "
            "difference, --cumulative no leaves them as they are."
        )


def _series(table: tabular.Table, limit: int, how: Reading) -> Array:
    column = table.column(how.column, how.date)
    values = tabular.numbers(column, how.thousands, blank=how.missing == "carry")
    if len(values) < 2:
        raise TableError(f"The file has {len(values)} value: at least 2 are needed.")
    if len(values) > limit:
        raise TableError(f"The file has {len(values):,} values: at most {limit:,} are allowed.")
    return _by_day(table, values, how)


def _daily_counts(table: tabular.Table, _: int, how: Reading) -> Array:
    """New cases of each day ``(days,)``."""
    column = table.column(how.column, how.date)
    values = tabular.whole_numbers(
        column, "cases", -LARGEST_COUNT, LARGEST_COUNT, how.thousands, how.missing == "carry"
    )
    below = values < 0.0
    if how.corrections is None and below.any():
        raise TableError(f"{column.place(int(np.argmax(below)))} is negative. {CORRECTIONS}")
    if how.corrections == "drop":
        values = np.where(below, 0.0, values)
    per_day = _by_day(table, values, how)
    if (per_day < 0.0).any():
        raise TableError(
            f"Day {int(np.argmax(per_day < 0.0)) + 1} has a negative sum, even with its other rows."
        )
    return per_day


CORRECTIONS = (
    "In files of the RKI, a row of −1 withdraws a case that an earlier file had: --corrections "
    "drop counts it as 0, which gives the cases as of this file; --corrections add adds it to the "
    "other rows of its day (with --sum-days yes). Elsewhere it may mean something else: ask the "
    "source."
)
"""What negative numbers of cases may mean."""


def _by_day(table: tabular.Table, values: Array, how: Reading) -> Array:
    if how.date is not None:
        if how.sum_days and np.isnan(values).any():
            raise TableError("A number is missing: rows that are added up need one each.")
        dates = table.column(how.date)
        values = tabular.in_order(
            values, dates, how.date_format, how.missing, add_up=bool(how.sum_days)
        )
    if how.missing == "carry":
        values = tabular.carried(values)
    return tabular.differences(values) if how.cumulative else values


def _sizes(table: tabular.Table, limit: int, how: Reading) -> Array:
    """Sizes of clusters ``(limit,)``, filled up with zeros."""
    column = table.column(how.column, how.count)
    sizes = tabular.whole_numbers(column, "patients", 1, LARGEST_CLUSTER, how.thousands)
    if how.count is not None:
        counts = tabular.whole_numbers(table.column(how.count), "clusters", 0, limit, how.thousands)
        sizes = np.repeat(sizes, counts.astype(int)) if counts.sum() <= limit else counts
    return _filled(sizes, limit, "clusters")


def _labels(table: tabular.Table, limit: int, how: Reading) -> Array:
    """Sizes of clusters ``(limit,)`` from one strain label per patient, the largest first."""
    column = table.column(how.column)
    header = table.names[column.at]
    if not how.rows_are_people:
        people.ask(table, (header,), can_bound=False)
    if number_in(header) is not None:
        raise TableError("Row 1 is a number: the first row of labels must name the column.")
    counted = Counter(tabular.labels(column, how.missing == "drop"))
    if header in counted:
        raise TableError("Row 1 is a label of patients: the first row must name the column.")
    return _filled(np.array(sorted(counted.values(), reverse=True), dtype=float), limit, "patients")


def _filled(sizes: Array, rows: int, what: str) -> Array:
    if len(sizes) > rows:
        raise TableError(f"The file has more than {rows:,} {what}, the most that can be read.")
    filled = np.zeros(rows)
    filled[: len(sizes)] = sizes
    return filled


READERS: dict[str, Callable[[tabular.Table, int, Reading], Array]] = {
    SERIES: _series,
    LABELS: _labels,
    SIZES: _sizes,
    DAYS: _daily_counts,
}
"""Kind of a column -> function from its table and the most rows to the values ``(n,)``."""


def _records(content: bytes, scenario: Scenario, how: Reading) -> Array:
    """Return the columns ``(n, d)`` that a model names; other columns are ignored.

    If the number of records is private, rows of NaN fill the table up to the most there can be.
    """
    own: lattice.RecordSchema = scenario.own_table
    most, public = own.sizes[1], own.neighbours == "replace"
    table = tabular.parse(content, sys.maxsize, header=True, largest=LARGEST_TABLE)
    for name in own.columns:
        if name not in table.names:
            needed = header_of(own.columns)
            raise TableError(f"Column {shown(name)} is missing: the first row must have {needed}.")
    rows, repeats = np.arange(len(table.fields)), np.ones(len(table.fields), dtype=int)
    if how.person is not None:
        if how.person in own.columns:
            raise TableError(f"Column {shown(how.person)} is one of the model's, not a person.")
        rows = people.used_rows(table.column(how.person), how.at_most, how.missing_person)
    elif not how.rows_are_people:
        people.ask(table, (*own.columns, how.count or ""), can_bound=not public)
    if how.count is not None:
        if how.count in own.columns:
            raise TableError(f"Column {shown(how.count)} is one of the model's, not a count.")
        column = table.column(how.count)
        repeats = tabular.whole_numbers(column, "records", 0, most, how.thousands).astype(int)
    n = int(repeats[rows].sum())
    if n > most and public:
        allowed = Parameter("integer", "Records", low=own.sizes[0], high=most).allowed()
        raise TableError(f"number of records = {n}: must be {allowed}.")
    if n > most:
        raise TableError(f"The file has more than {most:,} records, the most that can be read.")
    records = np.full((n if public else most, len(own.columns)), np.nan)
    for j, name in enumerate(own.columns):
        column = table.column(name)
        if name in own.levels:
            values = tabular.categories(column, own.levels[name])
        else:
            values = tabular.numbers(column, how.thousands, whole=name in own.whole)
        records[:n, j] = np.repeat(values[rows], repeats[rows])
    if wrong := own.wrong(records):
        raise TableError(wrong)
    return records


def read(content: bytes, scenario: Scenario, kind: str, how: Reading = AS_IT_IS) -> Array:
    """Return the values ``(n,)`` in a file, or its records ``(n, d)``; ``kind`` is of WORDS.

    Raises:
        TableError: the file holds something else; one sentence says what, without a value.
        CumulativeError: the numbers may be totals.
        ParameterError: a choice has no effect.
    """
    check_used(kind, how)
    if kind == RECORDS:
        return _records(content, scenario, how)
    limit = scenario.own_sizes[1]
    header = True if kind == LABELS or how.column else None
    values = READERS[kind](tabular.parse(content, 100 * limit, header=header), limit, how)
    if kind == DAYS and how.cumulative is None and tabular.looks_cumulative(values):
        raise CumulativeError
    return values


def content(scenario: Scenario, kind: str) -> str:
    """Return what a file for a scenario has to hold, in words."""
    smallest, largest = scenario.own_sizes
    if kind == SERIES:
        return f"one column of {smallest} to {largest:,} numbers"
    table: lattice.RecordSchema | None = scenario.own_table
    if table is not None:
        rows = f"{smallest:,} to {largest:,}" if smallest < largest else f"{largest:,}"
        most = "at most " if table.neighbours == "add-remove" else ""
        holds = "a header and one row of numbers" if table.is_of_numbers else WORDS[RECORDS]
        return (
            f"{holds}: the columns {', '.join(table.columns)}, "
            f"{most}{rows} {'row' if largest == 1 else 'rows'} below the header"
        )
    size = f", {smallest} to {largest} days in a row" if smallest < largest else ""
    return f"{WORDS[kind]}{size}"


def chosen(scenario: Scenario, kind: str | None) -> str:
    """Return the kind that is named, or the only one that a scenario takes.

    Raises:
        ParameterError: the scenario does not take this kind, or takes several and none is named;
            a guess would depend on the data.
    """
    known = scenario.own_columns
    if kind is None and len(known) == 1:
        return known[0]
    if kind not in known:
        which = " or ".join(f"{each} ({WORDS[each]})" for each in known)
        given = "is required" if kind is None else f"= {shown(kind)}"
        raise ParameterError(f"kind {given}: for {scenario.name} it must be {which}.")
    return kind


def largest_file(kind: str) -> int:
    """Return the most bytes that a file of such values may have."""
    return LARGEST_TABLE if kind == RECORDS else LARGEST_FILE
