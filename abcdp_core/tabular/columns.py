"""From the text of a column to numbers, labels and levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.parameters import LONGEST_NUMBER, NUMBER
from abcdp_core.tabular.table import Column, TableError

Array = NDArray[np.float64]

MISSING = {
    *("", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "missing", "inf", "infinity", "-inf"),
    *("unknown", "unk", "not done", "not available", "not known", "not typed", "not tested"),
    *("no data", "pending", "n.d.", "nd", "-", "--", "?", ".", "*", "x"),
}
"""What stands for a value that is not there, in small letters."""

LONGEST_LABEL = 200
"""Characters."""

ROWS_SHOWN = 5
"""Rows that are named in an error."""

TRUTH = {"true": "1", "false": "0"}
"""What R, pandas and spreadsheets write for yes and no -> a number."""


def numbers(column: Column, thousands: str = "", whole: bool = False) -> Array:
    """Return finite numbers ``(n,)``.

    Args:
        column: of text.
        thousands: the thousands separator in it; none unless named.
        whole: whether there may be whole numbers only.

    Raises:
        TableError: a field is not a number, is missing, or could be two different numbers.
    """
    text = column.text
    if thousands:
        parted = text.str.contains(thousands, regex=False)
        wrong = parted & ~text.str.fullmatch(_thousands(thousands))
        _refuse(column, wrong, f"has {thousands} where it cannot separate thousands")
        text = text.str.replace(thousands, "", regex=False)
    if column.table.separator != "," and thousands != ",":
        text = _decimal(column, text)
    missing = text.str.lower().isin(MISSING)
    _refuse(column, missing, "is missing: every row needs a number")
    plain = text.where(~text.str.lower().isin(TRUTH), text.str.lower().map(TRUTH))
    wrong = ~plain.str.fullmatch(NUMBER) | (plain.str.len() > LONGEST_NUMBER)
    _refuse(column, wrong, _what_to_write(column, text[wrong]))
    found = plain.astype(float).to_numpy()
    _refuse(column, pd.Series(~np.isfinite(found)), "is a number too large to compute with")
    fraction = pd.Series(found != np.rint(found))
    _refuse(column, fraction & whole, "is not a whole number")
    return np.asarray(found, dtype=np.float64)


def _thousands(mark: str) -> str:
    """A number with a mark between groups of three digits."""
    mark = f"[{mark}]"
    return rf"[+-]?\d{{1,3}}(?:{mark}\d{{3}})+(?:\.\d*|,\d*)?"


def _decimal(column: Column, text: pd.Series[str]) -> pd.Series[str]:
    """Decimal commas as points, where commas do not separate columns."""
    with_comma = text.str.contains(",", regex=False)
    if with_comma.any() and text[with_comma].str.fullmatch(_thousands(",")).all():
        _refuse(
            column,
            with_comma,
            "has a comma before three digits, which may separate decimals or thousands: write a "
            "decimal point, or name the thousands separator (--thousands ,)",
        )
    return text.str.replace(",", ".", regex=False)


def _what_to_write(column: Column, wrong: pd.Series[str]) -> str:
    if wrong.str.contains(",", regex=False).any():
        return "is not a number: name the thousands separator (--thousands ,), or write 1234.5"
    if (wrong.index == 0).any() and column.table.first == 1:
        return "is not a number like 12.5 and may be a spoilt one: if it is a header, remove it"
    return "is not a number: write it like 12.5 or 1.25e1"


def _refuse(column: Column, wrong: pd.Series[Any], why: str) -> None:
    """Refuse the first field that is wrong.

    Raises:
        TableError: there is one.
    """
    if wrong.any():
        raise TableError(f"{column.place(int(np.argmax(wrong)))} {why}.")


def whole_numbers(
    column: Column, what: str, lowest: int, largest: int, thousands: str = ""
) -> Array:
    """Return whole numbers ``(n,)``.

    Args:
        column: of text.
        what: they count: ``cases``.
        lowest: the smallest that there may be.
        largest: beyond this one is taken for a slip.
        thousands: as for :func:`numbers`.

    Raises:
        TableError: a field is no such number.
    """
    found = numbers(column, thousands)
    if lowest == 0:
        _refuse(
            column,
            pd.Series(found < 0.0),
            f"is negative, as a correction is: take it off the {what} of earlier days before you "
            "release; this program does not do that",
        )
    bad = (found != np.rint(found)) | (found < lowest)
    _refuse(column, pd.Series(bad), f"is not a number of {what}: whole numbers from {lowest} up")
    slip = f"is above {largest:,} {what}, which is taken for a slip"
    _refuse(column, pd.Series(found > largest), slip)
    return found


def labels(column: Column, drop_missing: bool = False) -> list[str]:
    """Return what each row is called, without rows that have no name where these are dropped.

    Raises:
        TableError: a name is missing, or differs from another in case or blanks only.
    """
    if column.table.divided:
        raise TableError(f"Row {column.table.divided} has more columns than the first row names.")
    text = column.text
    missing = text.str.lower().isin(MISSING)
    if missing.any() and not drop_missing:
        raise TableError(
            f"{_rows(column, missing)} no label, or a word for one that is not there: with "
            "--missing drop such rows are left out; else correct them."
        )
    text = text[~missing]
    too_long = text.str.len() > LONGEST_LABEL
    if too_long.any():
        raise TableError(f"{_rows(column, too_long)} more than {LONGEST_LABEL} characters.")
    alike = text.str.casefold().str.replace(r"\s+", "", regex=True)
    spelled = text.groupby(alike).transform("nunique") > 1
    if spelled.any():
        first = alike[spelled].iloc[0]
        raise TableError(
            f"{_rows(column, spelled & (alike == first))} labels that differ only in case or "
            "blanks: write them alike, or apart."
        )
    return text.tolist()


def _rows(column: Column, wrong: pd.Series[bool]) -> str:
    """The rows that are wrong, and the verb of their sentence."""
    places = [str(column.table.first + int(index)) for index in wrong[wrong].index]
    named = ", ".join(places[:ROWS_SHOWN])
    more = f" and {len(places) - ROWS_SHOWN:,} more" if len(places) > ROWS_SHOWN else ""
    rows = f"Rows {named}{more} have" if len(places) > 1 else f"Row {named} has"
    if not column.table.names or column.text.name is None or len(column.table.names) == 1:
        return rows
    return f"Column {column.table.names[column.at]}: {rows[0].lower()}{rows[1:]}"


def categories(column: Column, levels: Sequence[str]) -> Array:
    """Return the place of each field among declared levels, from 0 on ``(n,)``.

    Raises:
        TableError: a field is not among them.
    """
    place = {level: at for at, level in enumerate(levels)}
    found = column.text.map(place)
    _refuse(column, found.isna(), f"is none of the levels {', '.join(levels)}")
    return np.asarray(found, dtype=np.float64)
