"""Parse the bytes of a file into named columns of text."""

from __future__ import annotations

import codecs
import csv
import io
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from abcdp_core.base.parameters import LONGEST_NUMBER, ParameterError, shown

LARGEST_FILE = 2 * 2**20
"""Bytes; a larger file is refused unread. The longest series, of 20,000 values, takes less."""

SEPARATORS = ("\t", ";", ",")
"""Separators of columns; the first of these in the header counts."""

OTHER_FILES = {
    b"PK\x03\x04": "a spreadsheet or a zip archive",
    b"\xd0\xcf\x11\xe0": "a spreadsheet",
    b"\x1f\x8b": "compressed",
    b"BZh": "compressed",
    b"\xfd7zXZ": "compressed",
    b"\x28\xb5\x2f\xfd": "compressed",
    b"%PDF": "a PDF document",
}
"""First bytes of files that are not text -> what they are."""

NO_NAMES = {
    *("not", "nan", "nil", "null", "none", "nothing", "empty", "blank", "missing", "absent"),
    *("unknown", "unavailable", "undefined", "unspecified", "invalid", "error", "err", "ref"),
    *("overflow", "underflow", "div", "num", "inf", "infty", "infinite", "infinity", "true"),
    *("false", "yes", "pending", "skipped", "refused", "withheld", "redacted", "censored", "tbd"),
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "hundred", "thousand", "million"),
}
"""Words for a number or a missing number, which no name of a column contains."""

LIKE_DIGITS = re.compile("[oOlISBZ]+")
"""Words that may be misread or mistyped digits."""

NAMES_SHOWN = 20
"""Most columns that an error names."""


class TableError(ParameterError):
    """A file cannot be used; one sentence says why, where and what to do, without any value."""


@dataclass(frozen=True)
class Table:
    """The fields of a file.

    Attributes:
        names: of its columns; empty for one column without a header.
        fields: text ``(n, k)`` without spaces around it; empty for a missing field.
        first: row of the file with the first fields.
        separator: of its columns; empty if there is only one column.
        note: to the person, on how the file was read; may be empty.
        divided: first row with a separator, if the header has none; else 0.
    """

    names: tuple[str, ...]
    fields: pd.DataFrame = field(repr=False)
    first: int
    separator: str
    note: str
    divided: int = 0

    def column(self, name: str | None, *but: str | None) -> Column:
        """Return the column called ``name``, else the only one besides ``but`` and row numbers.

        Raises:
            TableError: there is no such column, or more than one.
        """
        if name is None:
            others = {self.names.index(each) for each in but if each in self.names}
            may_be = [at for at in range(self.fields.shape[1]) if at not in others]
            may_be = [at for at in may_be if not self._counts_rows(at)]
            if len(may_be) != 1:
                raise TableError(
                    f"The file has {self.fields.shape[1]} columns: name the one to read "
                    "(--column NAME) as in the first row."
                )
            return Column(self, may_be[0])
        if self.names.count(name) != 1:
            why = "twice in the first row" if name in self.names else "not in the first row"
            dates = sum(bool(re.fullmatch(r"\d+([/.-])\d+\1\d+", each)) for each in self.names)
            turn = " Transpose the table: it needs one row for each day." if dates > 1 else ""
            raise TableError(f"Column {shown(name)} is {why}.{turn}")
        return Column(self, self.names.index(name))

    def choices(self) -> list[str]:
        """Return the names of the columns, without row numbers."""
        return [name for at, name in enumerate(self.names) if not self._counts_rows(at)]

    def _counts_rows(self, at: int) -> bool:
        """Whether a column is the unnamed first one that R and pandas write."""
        unnamed = at == 0 and self.fields.shape[1] > 1 and self.names[:1] == ("",)
        return unnamed and _counts_rows(self.fields[0])


@dataclass(frozen=True)
class Column:
    """The ``at``-th column of a table."""

    table: Table = field(repr=False)
    at: int

    @property
    def text(self) -> pd.Series[str]:
        """Its fields ``(n,)``."""
        return self.table.fields[self.at]

    def place(self, index: int) -> str:
        """Return the location of the ``index``-th field in words."""
        row = f"row {self.table.first + index}"
        if len(self.table.fields.columns) == 1 or not self.table.names:
            return f"R{row[1:]}"
        return f"Column {shown(self.table.names[self.at])}, {row}"


def parse(
    content: bytes, most: int, *, header: bool | None = None, largest: int = LARGEST_FILE
) -> Table:
    """Return the table in the bytes of a file.

    Args:
        content: of at most ``largest`` bytes.
        most: rows below the header.
        header: whether the first row of one column names it; ``None`` for yes, unless it is a
            number or may be a mistyped one.

    Raises:
        TableError: the file is not a table, or is too large.
    """
    if len(content) > largest:
        raise TableError(
            f"The file is larger than {largest // 2**20} MB, the most that can be read: leave out "
            "columns that are not needed."
        )
    text, note = _decoded(content)
    lines = text.split("\n", 2)
    separator = separator_of(lines[0])
    if not separator and '" ' in lines[0] + "\n".join(lines[1:2]):
        raise TableError(
            "Columns are separated by spaces: separate them with commas "
            '(in R, write.csv, or sep = ",").'
        )
    first, second = (_fields(line, separator) for line in [*lines, ""][:2])
    several = len(first) > 1
    has_header = several or (could_name(first[0]) if header is None else header)
    one_more = several and len(second) == len(first) + 1
    fields = _parsed(text, separator, len(first) + one_more, has_header)
    names = first
    if one_more and not fields[len(first)].any():
        # Each row ends with a separator.
        fields = fields.drop(columns=len(first))
    elif one_more and _counts_rows(fields[0]):
        # R omits the name of its row numbers.
        names = ["", *first]
    elif one_more:
        raise TableError(f"Row 2 has {len(second)} fields, and the first row {len(first)}.")
    if len(fields) > most:
        raise TableError(f"The file has more than {most:,} rows, the most that can be read.")
    rows = enumerate([] if separator else text.split("\n"), start=1)
    divided = next((row for row, line in rows if separator_of(line)), 0)
    own_names = tuple(names) if has_header else ()
    return Table(own_names, fields, 1 + has_header, separator, note, divided)


def _counts_rows(column: pd.Series[str]) -> bool:
    """Whether a column counts from 0 or 1."""
    written, n = column.tolist(), len(column)
    return any(written == [str(row + start) for row in range(n)] for start in (0, 1))


def _decoded(content: bytes) -> tuple[str, str]:
    """The text, with line feeds between rows and no space at its end, and a note."""
    for beginning, what in OTHER_FILES.items():
        if content.startswith(beginning):
            raise TableError(f"The file is {what}: save the table as CSV.")
    marks = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
    known = next((marks[mark] for mark in marks if content.startswith(mark)), "utf-8-sig")
    note = ""
    text = _tried(content, known)
    if text is None:
        text, note = content.decode("latin-1"), "The file is not UTF-8 and was read as Latin-1."
    if any(unicodedata.category(sign) == "Cc" and sign not in "\t\r\n" for sign in set(text)):
        raise TableError("The file is not plain text: save the table as CSV in UTF-8.")
    text = text.replace("\r\n", "\n").replace("\r", "\n").rstrip(" \t\n")
    if not text.strip():
        raise TableError("The file is empty.")
    return text, note


def _tried(content: bytes, encoding: str) -> str | None:
    """The text, or ``None``; an exception would carry the bytes with it."""
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return None


def separator_of(header: str) -> str:
    """Return the separator in a header; empty if it names one column."""
    unquoted = re.sub('"[^"]*"', "", header)
    return next((mark for mark in SEPARATORS if mark in unquoted), "")


def _fields(line: str, separator: str) -> list[str]:
    """The fields in the first line of a row."""
    row = next(csv.reader([line], delimiter=separator or "\t"), [""])
    return [each.strip() for each in row] or [""]


def _parsed(text: str, separator: str, width: int, has_header: bool) -> pd.DataFrame:
    try:
        fields = pd.read_csv(
            io.StringIO(text),
            sep=separator or "\t",
            header=None,
            names=range(width),
            index_col=False,
            skiprows=int(has_header),
            dtype=str,
            na_filter=False,
            skip_blank_lines=False,
        )
    except pd.errors.EmptyDataError:
        return pd.DataFrame({at: pd.Series(dtype=str) for at in range(width)})
    except (pd.errors.ParserError, ValueError) as error:
        raise TableError(_where(str(error))) from None
    return fields.apply(lambda column: column.str.strip())


def _where(error: str) -> str:
    """The parser's error without the values that it quotes."""
    if uneven := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", error):
        expected, row, seen = uneven.groups()
        return f"Row {row} has {seen} fields, and the first row {expected}."
    if "inside string" in error:
        return 'The file has a double quote (") without a closing one.'
    return "The file is not valid CSV."


def could_name(text: str) -> bool:
    """Return whether a first row names a column and is not a mistyped value.

    A name begins with a letter or an underscore, and none of its words means a number.
    """
    name = unicodedata.normalize("NFKC", text)
    words = re.findall(r"[^\W\d_]+", name)
    return (
        0 < len(name) <= LONGEST_NUMBER
        and name.isprintable()
        and (name[0].isalpha() or name[0] == "_")
        and bool(words)
        and not any(word.lower() in NO_NAMES or LIKE_DIGITS.fullmatch(word) for word in words)
    )


def content_of(file: Path, largest: int = LARGEST_FILE) -> bytes:
    """Return the first ``largest`` + 1 bytes of a file.

    Raises:
        TableError: the file does not exist or cannot be read.
    """
    try:
        # Checked first, because reading a pipe would wait.
        if file.exists() and not file.is_file():
            raise TableError("is not a file.")
        with file.open("rb") as opened:
            return opened.read(largest + 1)
    except OSError as error:
        raise TableError(f"cannot be read ({error.strerror or type(error).__name__}).") from error


def header_of(names: Sequence[str]) -> str:
    """Return a header that names some columns, as CSV; a long one is shortened."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names[:NAMES_SHOWN])
    more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
    return f"{text.getvalue()}{more}"
