"""Convert the text of a column to numbers, labels and levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import LONGEST_NUMBER, NUMBER
from abcdp_core.base.tabular.table import Column, TableError

MISSING = {
    *("", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "missing", "inf", "infinity", "-inf"),
    *("unknown", "unk", "not done", "not available", "not known", "not typed", "not tested"),
    *("no data", "pending", "n.d.", "nd", "-", "--", "?", ".", "*", "x"),
}
"""Texts for a missing value, in lower case."""

LONGEST_LABEL = 200
"""Characters."""

ROWS_SHOWN = 5
"""Most rows that an error names."""

TRUTH = {"true": "1", "false": "0"}
"""Yes and no as R, pandas and spreadsheets write them -> a number."""


def numbers(column: Column, thousands: str = "", whole: bool = False, blank: bool = False) -> Array:
    """Return finite numbers ``(n,)``, or only ``whole`` ones; ``thousands`` is a separator.

    With ``blank``, a missing number is NaN.

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
    if not blank:
        _refuse(column, missing, "is missing: every row needs a number")
    plain = text.where(~text.str.lower().isin(TRUTH), text.str.lower().map(TRUTH))
    wrong = ~missing & (~plain.str.fullmatch(NUMBER) | (plain.str.len() > LONGEST_NUMBER))
    _refuse(column, wrong, _what_to_write(column, text[wrong]))
    values = plain.mask(missing).astype(float).to_numpy()
    _refuse(column, pd.Series(np.isinf(values)), "is a number too large to compute with")
    fraction = ~missing & pd.Series(values != np.rint(values))
    _refuse(column, fraction & whole, "is not a whole number")
    return np.asarray(values, dtype=np.float64)


def _thousands(separator: str) -> str:
    """A pattern of numbers with a separator between groups of three digits."""
    return rf"[+-]?\d{{1,3}}(?:[{separator}]\d{{3}})+(?:\.\d*|,\d*)?"


def _decimal(column: Column, text: pd.Series[str]) -> pd.Series[str]:
    """Text with decimal commas as points, in a file whose columns other signs separate."""
    with_comma = text.str.contains(",", regex=False)
    if with_comma.any() and text[with_comma].str.fullmatch(_thousands(",")).all():
        _refuse(
            column,
            with_comma,
            "has a comma before three digits, for decimals or thousands: write a decimal point, or "
            "name the thousands separator (--thousands ,)",
        )
    return text.str.replace(",", ".", regex=False)


def _what_to_write(column: Column, wrong: pd.Series[str]) -> str:
    if wrong.str.contains(",", regex=False).any():
        return "is not a number: name the thousands separator (--thousands ,), or write 1234.5"
    if (wrong.index == 0).any() and column.table.first == 1:
        return "is not a number like 12.5 and may be a mistyped one: if it is a header, remove it"
    return "is not a number: write it like 12.5 or 1.25e1"


def _refuse(column: Column, wrong: pd.Series[Any], why: str) -> None:
    """Raise a TableError on the first wrong field, if there is one."""
    if wrong.any():
        raise TableError(f"{column.place(int(np.argmax(wrong)))} {why}.")


def whole_numbers(
    column: Column,
    what: str,
    lowest: int,
    largest: int,
    thousands: str = "",
    blank: bool = False,
) -> Array:
    """Return whole numbers ``(n,)`` from ``lowest`` to ``largest``, counts of ``what``.

    With ``blank``, a missing number is NaN.

    Raises:
        TableError: a field is not such a number.
    """
    values = numbers(column, thousands, blank=blank)
    bad = ~np.isnan(values) & ((values != np.rint(values)) | (values < lowest))
    _refuse(column, pd.Series(bad), f"is not a number of {what}: whole numbers from {lowest} up")
    error = f"is above {largest:,} {what}, which must be a typing error"
    _refuse(column, pd.Series(values > largest), error)
    return values


def missing(column: Column) -> pd.Series[bool]:
    """Return which fields ``(n,)`` are empty, or a word for a missing one."""
    return column.text.str.lower().isin(MISSING)


def labels(column: Column, drop_missing: bool = False) -> list[str]:
    """Return the label of each row; with ``drop_missing``, rows without one are left out.

    Raises:
        TableError: a label is missing, or differs from another in case or spaces only.
    """
    if column.table.divided:
        raise TableError(f"Row {column.table.divided} has more columns than the first row names.")
    text, is_missing = column.text, missing(column)
    if is_missing.any() and not drop_missing:
        raise TableError(
            f"{_rows(column, is_missing)} no label, or a word for a missing one: --missing drop "
            "leaves such rows out; otherwise correct them."
        )
    text = text[~is_missing]
    too_long = text.str.len() > LONGEST_LABEL
    if too_long.any():
        raise TableError(f"{_rows(column, too_long)} more than {LONGEST_LABEL} characters.")
    alike = text.str.casefold().str.replace(r"\s+", "", regex=True)
    spelled = text.groupby(alike).transform("nunique") > 1
    if spelled.any():
        first = alike[spelled].iloc[0]
        raise TableError(
            f"{_rows(column, spelled & (alike == first))} labels that differ only in case or "
            "spaces: write them alike, or make them clearly different."
        )
    return text.tolist()


def _rows(column: Column, wrong: pd.Series[bool]) -> str:
    """The wrong rows, with a verb: "Rows 2 and 3 have"."""
    places = [str(column.table.first + int(index)) for index in wrong[wrong].index]
    named = ", ".join(places[:ROWS_SHOWN])
    more = f" and {len(places) - ROWS_SHOWN:,} more" if len(places) > ROWS_SHOWN else ""
    rows = f"Rows {named}{more} have" if len(places) > 1 else f"Row {named} has"
    if not column.table.names or column.text.name is None or len(column.table.names) == 1:
        return rows
    return f"Column {column.table.names[column.at]}: {rows[0].lower()}{rows[1:]}"


def categories(column: Column, levels: Sequence[str]) -> Array:
    """Return the index of each field among the declared levels ``(n,)``, from 0.

    An empty field, or a word for a missing one, is the level that is empty, if there is one.

    Raises:
        TableError: a field is not a level.
    """
    index = {level: at for at, level in enumerate(levels)}
    codes, is_missing = column.text.map(index), missing(column) & ~column.text.isin(levels)
    if "" in levels:
        codes = codes.mask(is_missing, index[""])
    _refuse(
        column, is_missing & codes.isna(), "is missing: missing=True in the model makes it a level"
    )
    _refuse(column, codes.isna(), f"is not one of the levels {', '.join(levels)}")
    return np.asarray(codes, dtype=np.float64)
