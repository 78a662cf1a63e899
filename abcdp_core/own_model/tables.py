"""Tables made elsewhere: CSV or Parquet, and columns of finite numbers in them."""

from __future__ import annotations

import bisect
import csv
import functools
import io
import itertools
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.own_model.blame import OwnError
from abcdp_core.own_model.statistics import LARGEST
from abcdp_core.parameters import shown

if TYPE_CHECKING:
    # Who has no such file needs no library for it.
    import pyarrow as pa

Array = NDArray[np.float64]

ENDINGS = (".csv", ".parquet")

LARGEST_FILE = 2**30
"""Bytes of a file."""

MOST_COLUMNS = 10_000
"""Of a CSV file: reading the names of a million takes a minute."""

MOST_NUMBERS = 100_000_000
"""Rows times columns: a Parquet file may say a million equal rows in a few bytes, and short lines
of a CSV file are filled up."""

DECIMALS = 2**16
"""Decimal numbers that are made floats at a time."""

HEAD = 2**22
"""Characters of a CSV file's first two rows, at most."""


def check_file(path: Path) -> None:
    """Refuse a pipe, which would be waited for, a device, which may have no end, and a huge file.

    Raises:
        OSError: there is nothing.
        OwnError: there is something else than a file, or it is too large.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OwnError(f"{path.name}: is no file.")
    if found.st_size > LARGEST_FILE:
        raise OwnError(f"{path.name}: is larger than {LARGEST_FILE // 2**20:,} MB.")


def read(path: Path) -> pd.DataFrame:
    """A CSV or Parquet file.

    Raises:
        OwnError: there is none, or it is none of these.
    """
    if path.suffix not in ENDINGS:
        raise OwnError(f"{path.name}: must end with {' or '.join(ENDINGS)}.")
    try:
        check_file(path)
        with path.open("rb") as source:
            return parsed(path.name, source)
    except OSError as error:
        raise OwnError(f"{path.name}: {error.strerror or 'cannot be read'}.") from error


def parsed(name: str, source: BinaryIO) -> pd.DataFrame:
    """A table from a file that is open or held; Parquet if its name says so, else CSV.

    Raises:
        OwnError: it is none, or has too many columns.
        OSError: it cannot be read.
    """
    try:
        if name.endswith(".parquet"):
            return _parquet(name, source)
        _check_csv(name, source)
        source.seek(0)
        table = pd.read_csv(source, encoding="utf-8", low_memory=False)
    except OwnError:
        raise
    except ImportError as error:
        raise OwnError(f"{name}: reading Parquet needs pyarrow; write it as CSV.") from error
    except UnicodeDecodeError as error:
        raise OwnError(f"{name}: is no table (not in UTF-8).") from error
    except (ValueError, NotImplementedError) as error:
        raise OwnError(f"{name}: is no table ({type(error).__name__}).") from error
    if not isinstance(table.index, pd.RangeIndex):
        # The first field would be taken for a name of its row, and all others move.
        raise OwnError(f"{name}: rows have more fields than the first line has names.")
    return table


def _check_csv(name: str, source: BinaryIO) -> None:
    """Refuse a CSV file that, filled up, has more in it than the memory may hold, or a name twice.

    One of two columns of a name would be called anew.

    Raises:
        OwnError: it is such a one.
        OSError: it cannot be read.
    """
    pieces = iter(functools.partial(source.read, HEAD), b"")
    lines = sum(max(map(piece.count, (b"\n", b"\r"))) + 1 for piece in pieces)
    source.seek(0)
    if lines > MOST_NUMBERS:
        raise OwnError(f"{name}: has more than {MOST_NUMBERS:,} lines.")
    rows = _first_rows(name, source)
    columns = max(map(len, rows), default=0)
    if columns > MOST_COLUMNS:
        raise OwnError(f"{name}: has more than {MOST_COLUMNS:,} columns.")
    if lines * columns > MOST_NUMBERS:
        raise OwnError(f"{name}: has more than {MOST_NUMBERS:,} numbers.")
    # Of columns without a name each is given one of its own.
    if twice := _twice(each for row in rows[:1] for each in row if each):
        raise OwnError(f"{name}: has two columns {shown(twice)}.")


def _twice(names: Iterable[str]) -> str:
    """The first of the names that is there more than once, or nothing."""
    return next((name for name, count in Counter(names).items() if count > 1), "")


def _first_rows(name: str, source: BinaryIO) -> list[list[str]]:
    """Names, and the first row, which may have more fields; a row may have many lines.

    Raises:
        OwnError: they are too long.
        OSError: it cannot be read.
    """
    text = io.TextIOWrapper(source, encoding="utf-8-sig", errors="replace", newline="")

    def lines() -> Iterator[str]:
        room = HEAD
        while line := text.readline(room):
            # Any number of blank lines is left out.
            room -= len(line) if line.strip() else 0
            if not room:
                raise OwnError(f"{name}: has first rows longer than {HEAD:,} characters.")
            yield line

    try:
        rows = (row for row in csv.reader(lines()) if len(row) > 1 or "".join(row).strip())
        return list(itertools.islice(rows, 2))
    except csv.Error as error:
        most = f"{csv.field_size_limit():,} characters"
        raise OwnError(f"{name}: has a field longer than {most} in its first rows.") from error
    finally:
        text.detach()


def _parquet(name: str, source: BinaryIO) -> pd.DataFrame:
    """A Parquet file; a column of texts, lists, times or whatever else is no number is NaN.

    Raises:
        OwnError: it has more in it than the memory may hold.
        ImportError, ValueError, OSError: it cannot be read.
    """
    # Inside the function: who has no such file needs no library for it.
    from pyarrow import parquet, types

    found = parquet.ParquetFile(source)
    said = found.metadata
    parts = [said.row_group(number) for number in range(said.num_row_groups)]
    if sum(abs(part.total_byte_size) for part in parts) > LARGEST_FILE:
        raise OwnError(f"{name}: is larger than {LARGEST_FILE // 2**20:,} MB once unpacked.")
    columns = said.schema.to_arrow_schema()
    if twice := _twice(columns.names):
        raise OwnError(f"{name}: has two columns {shown(twice)}.")
    of_numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    kinds = {
        column.name: column.type.value_type if types.is_dictionary(column.type) else column.type
        for column in columns
    }
    leaves = [said.schema.column(at) for at in range(said.num_columns)]
    at = {leaf.path: at for at, leaf in enumerate(leaves) if leaf.path == leaf.name}
    flat = [each for each in at if any(is_kind(kinds[each]) for is_kind in of_numbers)]
    # Asked for by its name, what is within another column and has that name would be read as well.
    within = sorted(f"{leaf.path}." for leaf in leaves if leaf.path != leaf.name)
    for each in flat:
        first = bisect.bisect_left(within, f"{each}.")
        if "".join(within[first : first + 1]).startswith(f"{each}."):
            raise OwnError(f"{name}: has two columns {shown(each)}.")
    # Each part says how many it has, which need not be what the whole says, nor more than none.
    numbers = sum(
        max(abs(part.num_rows), abs(part.column(at[each]).num_values))
        for part in parts
        for each in flat
    )
    rows = max(said.num_rows, sum(abs(part.num_rows) for part in parts))
    if max(numbers, rows * said.num_columns) > MOST_NUMBERS:
        raise OwnError(f"{name}: has more than {MOST_NUMBERS:,} numbers.")
    # One piece at a time: what a file says of its size need not be true, and a piece has gigabytes.
    read = found.read(columns=flat, use_threads=False)
    decimals = [each for each in flat if types.is_decimal(kinds[each])]
    # What pandas noted beside the numbers is not needed, and need not be true.
    table: pd.DataFrame = read.drop_columns(decimals).to_pandas(ignore_metadata=True)
    if decimals:
        made = {each: _floats(read[each].cast(kinds[each])) for each in decimals}
        table = pd.concat([table, pd.DataFrame(made, index=table.index)], axis=1)
    return table.reindex(columns=columns.names)


def _floats(column: pa.ChunkedArray) -> Array:
    """Decimal numbers, some at a time: each takes a hundred bytes on the way."""
    starts = range(0, len(column), DECIMALS)
    pieces = [column.slice(start, DECIMALS).to_pandas().astype(float) for start in starts]
    return np.concatenate([np.zeros(0), *pieces])


def finite(place: str, table: pd.DataFrame, name: str) -> Array:
    """A column of finite numbers; an error tells the row and no value."""
    values = numbers_of(table[name])
    usable = np.abs(values) <= LARGEST
    if np.isnan(values).all() and len(values):
        raise OwnError(f"{place}: column {name}: holds no number.")
    if not usable.all():
        row = int(np.argmin(usable))
        what = "is no finite number" if not np.isfinite(values[row]) else f"is beyond {LARGEST:g}"
        raise OwnError(f"{place}: column {name}, row {row + 1}: {what}.")
    return values


def numbers_of(column: pd.Series[float]) -> Array:
    """A column as numbers; NaN where there is none.

    Times are none: their numbers depend on the unit in which a library happens to keep them.
    """
    if column.dtype.kind in "mM":
        return np.full(len(column), np.nan)
    try:
        found = pd.to_numeric(column, errors="coerce")
    except OverflowError:
        # A whole number of hundreds of digits; as a text it is infinite.
        found = pd.to_numeric(column.astype(str), errors="coerce")
    values: Array = found.to_numpy(dtype=np.float64, na_value=np.nan)
    return values
