"""A person's own series of numbers, read from a file; errors tell the row, never what is in it.

A series is one column of a CSV file in UTF-8: a number per row, a header or none. Rows are counted
as a spreadsheet counts them, the header included. What is wrong is said in one sentence that can be
shown and kept: it holds no value of the data.

A first row that is no number is a *header*, and left out, only if it cannot be a value gone wrong.
It has at most 100 characters and no digit of any script, and begins with a word of three letters
or more. None of its words stands for a number or for one that is missing (*null*, *seven*), or is
made only of letters that are taken for digits (*lOO*). In double quotes it may hold a comma. Any
other first row is refused: who has a header as short as *x* removes it.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import secrets
import stat
import unicodedata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from abcdp_core.parameters import LONGEST_NUMBER, NUMBER, number_in

Array = NDArray[np.float64]

LARGEST_FILE = 2 * 2**20
"""Bytes; a longer file is refused unread. The longest series, of 20,000 values, takes less, each as
long as a number may be, in quotes and with a line end."""

MISSING = {"na", "n/a", "nan", "null", "none", "missing", "inf", "infinity"}
"""Rows that stand for a number that is not there."""

NO_NAMES = {
    *("not", "nan", "nil", "null", "none", "nothing", "empty", "blank", "missing", "absent"),
    *("unknown", "unavailable", "undefined", "unspecified", "invalid", "error", "err", "ref"),
    *("overflow", "underflow", "div", "num", "inf", "infty", "infinite", "infinity", "true"),
    *("false", "yes", "pending", "skipped", "refused", "withheld", "redacted", "censored", "tbd"),
    *("tba", "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty"),
    *("ninety", "hundred", "thousand", "million"),
}
"""Words that stand for a number, or for one that is not there: no name of a column has them."""

LIKE_DIGITS = re.compile("[oOlISBZ]+")
"""Words that may be digits misread or mistyped."""

WORD = re.compile(r"[^\W\d_]+")
"""Letters of any script."""

OTHER_FILES = {
    b"PK\x03\x04": "a spreadsheet or a zip archive",
    b"\xd0\xcf\x11\xe0": "a spreadsheet",
    b"\x1f\x8b": "compressed",
    b"BZh": "compressed",
    b"\xfd7zXZ": "compressed",
    b"\x28\xb5\x2f\xfd": "compressed",
    b"%PDF": "a PDF document",
}
"""What files begin with that are no text -> what they are."""

_KEY = secrets.token_bytes()


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
    text = text_of(content, limit)
    header = header_rows(text)
    n = text.count("\n") + 1 - header
    if n > limit:
        raise SeriesError(f"The file has {n:,} values: at most {limit:,} are allowed.")
    rows = text.split("\n")[header:]
    numbers = [number_of(field, row) for row, field in enumerate(rows, start=1 + header)]
    if n < 2:
        raise SeriesError(f"The file has {n} value{'s' * (n != 1)}: at least 2 are needed.")
    return np.array(numbers)


def header_rows(text: str) -> int:
    """1 if the first row names the column and can be no value gone wrong, else 0."""
    return int(_is_header(text.partition("\n")[0]))


def content_of(file: Path, largest: int = LARGEST_FILE) -> bytes:
    """The bytes of a file, one more than ``largest`` at most; it never waits.

    Raises:
        SeriesError: it is none, or cannot be read.
    """
    try:
        # Looked at first, as opening a device may do something.
        _check_regular(file.stat())
        # What took the file's place since then is opened without waiting for a writer.
        with open(file, "rb", opener=_without_waiting) as opened:
            _check_regular(os.fstat(opened.fileno()))
            return opened.read(largest + 1)
    except OSError as error:
        raise SeriesError(f"cannot be read ({error.strerror or type(error).__name__}).") from error


def _without_waiting(file: str, flags: int) -> int:
    return os.open(file, flags | getattr(os, "O_NONBLOCK", 0))


def _check_regular(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe, a socket or a device"
        raise SeriesError(f"is {what}: give a file.")


def digest_of(values: Array) -> str:
    """By what the same numbers are known again, whatever their order and the file they came in.

    Nobody can look for a series by it: its key is drawn when the program starts and kept nowhere.
    """
    # Sorted: one person's value may stand elsewhere. Minus zero is zero.
    ordered = (np.sort(values) if values.ndim == 1 else values[np.lexsort(values.T)]) + 0.0
    return hashlib.blake2b(ordered.tobytes(), key=_KEY).hexdigest()


def text_of(
    content: bytes, limit: int, what: str = "one column", largest: int = LARGEST_FILE
) -> str:
    """The file as text, rows parted by line feeds, nothing blank at the end.

    Args:
        content: the file's bytes.
        limit: most rows that are read.
        what: has to be in it.
        largest: most bytes that are read.

    Raises:
        SeriesError: the file is something else.
    """
    if len(content) > largest:
        raise SeriesError(
            f"The file is larger than {largest // 2**20} MB, the most that is read: give "
            f"{what} of at most {limit:,} rows and no more, in as few digits as will do."
        )
    for beginning, what in OTHER_FILES.items():
        if content.startswith(beginning):
            raise SeriesError(f"The file is {what}: save the column as CSV in UTF-8.")
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
    """Whether the first row names the column and can be no value gone wrong."""
    if len(first) > LONGEST_NUMBER:
        return False
    # Letters in their one usual form: full-width ones are plain, accents are part of theirs.
    name = unicodedata.normalize("NFKC", unquoted(first))
    one_column = '"' in first or not separates(name)
    words = WORD.findall(name)
    return (
        one_column
        and name.isprintable()
        and '"' not in name
        and not any(sign.isnumeric() for sign in first + name)
        and bool(words)
        and name.startswith(words[0])
        and len(words[0]) >= 3
        and not any(word.lower() in NO_NAMES or LIKE_DIGITS.fullmatch(word) for word in words)
    )


def unquoted(field: str) -> str:
    """A field without blanks around it, and without double quotes around that."""
    field = field.strip(" \t")
    quoted = len(field) >= 2 and field[0] == field[-1] == '"'
    return field[1:-1].strip(" \t") if quoted else field


def separates(field: str) -> bool:
    """Whether a row without quotes has several columns."""
    return any(mark in field for mark in ",;\t")


def number_of(field: str, row: int) -> float:
    """The number in a row of the file.

    Raises:
        SeriesError: it is none.
    """
    field = unquoted(field)
    value = number_in(field)
    if value is None:
        raise SeriesError(f"Row {row} {_what_is_wrong(field, row)}.")
    return value


def _what_is_wrong(field: str, row: int) -> str:
    if not field:
        return "is empty: every row needs a number"
    if separates(field):
        return "has more than one column: give one column only, a decimal point and no comma"
    if field.lower().lstrip("+-") in MISSING:
        return "is a missing or infinite value: every row needs a number"
    if len(field) > LONGEST_NUMBER:
        return f"is longer than the {LONGEST_NUMBER} characters of a number"
    if NUMBER.fullmatch(field):
        return "is a number too large to compute with"
    if row == 1:
        return "is not a number like 12.5 and may be a spoilt one: if it is a header, remove it"
    return "is not a number: write it like 12.5 or 1.25e1"


def to_domain(values: Array, domain: tuple[float, float], target: tuple[float, float]) -> Array:
    """Values ``(n,)`` clipped to a domain and carried over to another along a straight line.

    What is a whole number there but for rounding is that number: where cells meet at whole numbers,
    a value that is written as such a place belongs to the cell above, however its decimals round.
    """
    low, high = domain
    share = (np.clip(values, low, high) - low) / (high - low)
    carried = target[0] + share * (target[1] - target[0])
    # Half an ulp each of value and ends, beside their difference, and of the operations here.
    rounding = 2.0 * np.finfo(float).eps * (max(abs(low), abs(high)) / (high - low) + 1.0)
    whole = np.rint(carried)
    near = np.abs(carried - whole) <= min(rounding * (target[1] - target[0]), MOST_ROUNDING)
    return np.clip(np.where(near, whole, carried), *target)


MOST_ROUNDING = 1e-6
"""Beyond this a domain is too narrow for its place to tell its values from each other anyway."""
