"""Sort daily numbers by their dates, and convert totals to daily numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from abcdp_core.base.arrays import Array
from abcdp_core.base.tabular.columns import MISSING
from abcdp_core.base.tabular.table import Column, TableError

FORMATS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%Y"),
    *("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
)
"""Formats of dates that are recognized."""

MIDNIGHT = r"[T ]00:00(?::00(?:\.0+)?)?(?:Z|\+00:?00)?$"
"""A time of day that may follow a date."""

DATES_SHOWN = 5
"""Most dates that an error names."""

FEWEST = 10
"""Fewest days at which numbers that never fall look cumulative."""


def in_order(
    values: Array,
    dates: Column,
    date_format: str | None = None,
    missing: str | None = None,
    *,
    add_up: bool = False,
) -> Array:
    """Return numbers ``(days,)`` sorted by date, one per day; NaN for a day to be carried.

    Args:
        values: one per row ``(n,)``.
        dates: of the rows.
        date_format: such as ``%d/%m/%Y``; without it, dates have one of :data:`FORMATS`.
        missing: ``zero`` if a day without a row counts as 0, ``carry`` if it is carried forward
            (see :func:`carried`); ``None`` to refuse it.
        add_up: whether rows of the same day are added up.

    Raises:
        TableError: a date is invalid or ambiguous, occurs twice, or is missing.
    """
    days = _parsed(dates, date_format).dt.normalize()
    twice = days.duplicated(keep=False)
    if twice.any() and not add_up:
        same = days[twice] == days[twice].iloc[0]
        rows = [str(dates.table.first + int(index)) for index in same[same].index[:2]]
        raise TableError(
            f"Rows {' and '.join(rows)} have the same date: there must be one row for each day. "
            "Add them up with --sum-days yes, or keep the rows of one place."
        )
    known = pd.Series(values, index=pd.DatetimeIndex(days)).sort_index()
    if add_up:
        known = known.groupby(level=0).sum()
    every = pd.date_range(days.min(), days.max())
    absent = every[~every.isin(known.index)]
    if len(absent) and missing is None:
        named = ", ".join(f"{day:%Y-%m-%d}" for day in absent[:DATES_SHOWN])
        more = f" and {len(absent) - DATES_SHOWN:,} more" if len(absent) > DATES_SHOWN else ""
        raise TableError(
            f"These days have no row: {named}{more}. With --missing zero they count as 0, with "
            "--missing carry a running total stays as it was; otherwise add them."
        )
    filler = 0.0 if missing == "zero" else np.nan
    return np.asarray(known.reindex(every, fill_value=filler), dtype=np.float64)


def carried(totals: Array) -> Array:
    """Return totals ``(days,)`` in which a missing one, NaN, is that of the day before.

    Raises:
        TableError: the first one is missing.
    """
    if np.isnan(totals[0]):
        raise TableError("The first total is missing, so there is nothing to carry forward.")
    return np.asarray(pd.Series(totals).ffill(), dtype=np.float64)


def _parsed(column: Column, date_format: str | None) -> pd.Series[pd.Timestamp]:
    """Dates of all fields."""
    text = column.text.str.replace(MIDNIGHT, "", regex=True)
    missing = text.str.lower().isin(MISSING)
    if missing.any():
        raise TableError(f"{column.place(int(np.argmax(missing)))} is not a date.")
    tried = (date_format,) if date_format else FORMATS
    read = {each: pd.to_datetime(text, format=each, errors="coerce") for each in tried}
    fits = [each for each in tried if read[each].notna().all()]
    if not fits:
        nearest = min(tried, key=lambda each: int(read[each].isna().sum()))
        place = column.place(int(np.argmax(read[nearest].isna())))
        how = f"has not the form {date_format}" if date_format else "is not a known form of date"
        raise TableError(f"{place} {how}: name the form, such as --date-format %d/%m/%Y.")
    if len(fits) > 1:
        raise TableError(
            f"Dates may have the form {' or '.join(fits)}: name it (--date-format {fits[0]})."
        )
    return read[fits[0]]


def looks_cumulative(values: Array) -> bool:
    """Return whether daily numbers may be totals: they never fall, over ten days or more."""
    return bool(len(values) >= FEWEST and (np.diff(values) >= 0.0).all() and values[-1] > values[0])


def differences(values: Array) -> Array:
    """Return the daily increase of totals ``(n,)``, from the second day on ``(n - 1,)``.

    Raises:
        TableError: a total is below the total of the day before.
    """
    added = np.diff(values)
    if (added < 0.0).any():
        day = int(np.argmax(added < 0.0)) + 2
        raise TableError(
            f"The total of day {day} is below the total of the day before, as after a correction: "
            "subtract the difference from earlier days before you release; this program does not "
            "do that."
        )
    return added
