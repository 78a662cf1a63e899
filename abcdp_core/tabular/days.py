"""Numbers of days: put in order by their dates, and cumulative ones made daily."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.tabular.columns import MISSING
from abcdp_core.tabular.table import Column, TableError

Array = NDArray[np.float64]

FORMATS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%Y"),
    *("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
)
"""Dates that are read without being told."""

MIDNIGHT = r"[T ]00:00(?::00(?:\.0+)?)?(?:Z|\+00:?00)?$"
"""A time that says no more than its date."""

DATES_SHOWN = 5
"""Dates that are named in an error."""

FEWEST = 10
"""Days from which numbers that never fall look cumulative."""


def in_order(values: Array, dates: Column, date_format: str | None, fill: bool) -> Array:
    """Return numbers ``(days,)`` in the order of their dates, one for each day.

    Args:
        values: numbers ``(n,)`` in the order of the file.
        dates: text ``(n,)``.
        date_format: how a date is written, as ``%d/%m/%Y``; ``None`` for one of :data:`FORMATS`.
        fill: whether a day without a row had 0.

    Raises:
        TableError: a date is invalid or ambiguous, occurs twice, or is missing.
    """
    days = _parsed(dates, date_format).dt.normalize()
    twice = days.duplicated(keep=False)
    if twice.any():
        same = days[twice] == days[twice].iloc[0]
        rows = [str(dates.table.first + int(index)) for index in same[same].index[:2]]
        raise TableError(
            f"Rows {' and '.join(rows)} have the same date: there must be one row for each day. "
            "Add up what belongs together, or keep the rows of one place."
        )
    known = pd.Series(values, index=pd.DatetimeIndex(days)).sort_index()
    every = pd.date_range(days.min(), days.max())
    absent = every[~every.isin(known.index)]
    if len(absent) and not fill:
        named = ", ".join(f"{day:%Y-%m-%d}" for day in absent[:DATES_SHOWN])
        more = f" and {len(absent) - DATES_SHOWN:,} more" if len(absent) > DATES_SHOWN else ""
        raise TableError(
            f"These days have no row: {named}{more}. With --missing zero they count as 0; else "
            "add them."
        )
    return np.asarray(known.reindex(every, fill_value=0.0), dtype=np.float64)


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
        how = f"is not of the form {date_format}" if date_format else "is not a known form of date"
        raise TableError(f"{place} {how}: say how dates are written, as --date-format %d/%m/%Y.")
    if len(fits) > 1:
        raise TableError(
            f"Dates may be read as {' or as '.join(fits)}: say which (--date-format {fits[0]})."
        )
    return read[fits[0]]


def looks_cumulative(values: Array) -> bool:
    """Whether numbers of days may be totals so far: they never fall, over ten days or more."""
    return bool(len(values) >= FEWEST and (np.diff(values) >= 0.0).all() and values[-1] > values[0])


def differences(values: Array) -> Array:
    """Return what each day added to totals ``(n,)``, from the second day on ``(n - 1,)``.

    Raises:
        TableError: a total is below that of the day before.
    """
    added = np.diff(values)
    if (added < 0.0).any():
        day = int(np.argmax(added < 0.0)) + 2
        raise TableError(
            f"The total of day {day} is below that of the day before, as after a correction: take "
            "the difference off earlier days before you release; this program does not do that."
        )
    return added
