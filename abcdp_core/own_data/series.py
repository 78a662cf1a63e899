"""A person's own series of numbers, read from a file; errors tell the row, never what is in it.

A series is one column of a CSV file in UTF-8: a number per row, a header or none. Rows are counted
as a spreadsheet counts them, the header included. What is wrong is said in one sentence that can be
shown and kept: it holds no value of the data.
"""

from __future__ import annotations

import codecs
import math
import re

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LARGEST_FILE = 50_000_000
"""Bytes; a longer file is refused unread."""

LONGEST = 100
"""Characters of a number: more than any program writes."""

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

MISSING = {"na", "nan", "null", "none", "missing", "inf", "infinity"}
"""Words that stand for a number that is not there, so that they are no header either."""


class SeriesError(ValueError):
    """A file is no series; one sentence says why and in which row, and shows no value."""


def read(content: bytes, limit: int) -> Array:
    """The numbers ``(n,)`` of a file, ``2 <= n <= limit``.

    A number is written with a decimal point, with or without an exponent or double quotes around
    it. Blank rows at the end count for nothing; a blank row before is a missing number.

    Args:
        content: the file's bytes.
        limit: most numbers allowed.

    Raises:
        SeriesError: the file is something else, or has too few or too many numbers.
    """
    text = _text(content)
    first, _, _ = text.partition("\n")
    header = int(_is_header(first))
    n = text.count("\n") + 1 - header
    if n > limit:
        raise SeriesError(f"The file has {n:,} values: at most {limit:,} are allowed.")
    rows = text.split("\n")[header:]
    numbers = [_number(field, row) for row, field in enumerate(rows, start=1 + header)]
    if n < 2:
        raise SeriesError(f"The file has {n} value{'s' * (n != 1)}: at least 2 are needed.")
    return np.array(numbers)


def _text(content: bytes) -> str:
    """The file as text, rows parted by line feeds, nothing blank at the end."""
    if len(content) > LARGEST_FILE:
        raise SeriesError(f"The file is larger than {LARGEST_FILE // 10**6} MB.")
    text = _decoded(content.removeprefix(codecs.BOM_UTF8))
    if text is None or "\0" in text:
        raise SeriesError("The file is not plain text in UTF-8: save it as CSV in UTF-8.")
    text = text.replace("\r\n", "\n").replace("\r", "\n").rstrip(" \t\n")
    if not text:
        raise SeriesError("The file is empty.")
    return text


def _decoded(content: bytes) -> str | None:
    """``None`` for what is not UTF-8; so no error is about that carries the bytes with it."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _is_header(first: str) -> bool:
    """Whether the first row names the column: a word, which no spoilt number may pass for."""
    name = _unquoted(first)
    one_column = name != first.strip(" \t") or not _separates(name)
    return one_column and name[:1].isalpha() and name.lower() not in MISSING


def _unquoted(field: str) -> str:
    """A field without blanks around it, and without double quotes around that."""
    field = field.strip(" \t")
    quoted = len(field) >= 2 and field[0] == field[-1] == '"' and '"' not in field[1:-1]
    return field[1:-1].strip(" \t") if quoted else field


def _separates(field: str) -> bool:
    return any(mark in field for mark in ",;\t")


def _number(field: str, row: int) -> float:
    field = _unquoted(field)
    if len(field) <= LONGEST and NUMBER.fullmatch(field):
        value = float(field)
        if math.isfinite(value):
            return value
    raise SeriesError(f"Row {row} {_what_is_wrong(field)}.")


def _what_is_wrong(field: str) -> str:
    if not field:
        return "is empty: every row needs a number"
    if _separates(field):
        return "has more than one column: give one column only, a decimal point and no comma"
    if field.lower().lstrip("+-") in MISSING:
        return "is a missing or infinite value: every row needs a number"
    if len(field) > LONGEST:
        return f"is longer than the {LONGEST} characters of a number"
    if NUMBER.fullmatch(field):
        return "is a number too large to compute with"
    return "is not a number: write it like 12.5 or 1.25e1"


def to_domain(values: Array, domain: tuple[float, float], target: tuple[float, float]) -> Array:
    """Values ``(n,)`` clipped to a domain and carried over to another along a straight line."""
    low, high = domain
    share = (np.clip(values, low, high) - low) / (high - low)
    return np.clip(target[0] + share * (target[1] - target[0]), *target)
