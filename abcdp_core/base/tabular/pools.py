"""Read and write large tables of finite numbers, such as pools, as CSV or Parquet."""

from __future__ import annotations

import csv
import functools
import io
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import shown
from abcdp_core.base.tabular.table import TableError, separator_of

ENDINGS = (".csv", ".parquet")

LARGEST_FILE = 2**30
"""Bytes of a file."""

MOST_NUMBERS = 100_000_000
"""Rows times columns: a Parquet file may hold a million equal rows in a few bytes."""

LARGEST = 1e60
"""Largest number; larger ones may overflow in later computations."""

HEAD = 2**22
"""Bytes that hold the first two rows of a CSV file."""

PIECE = 2**22
"""Bytes that are searched for lines at a time."""

ROW_NAMES = "row numbers beside the columns: write it without (row.names = FALSE in R)"


def write(table: pd.DataFrame, file: Path, ending: str) -> None:
    """Write a table in the format of one of the :data:`ENDINGS`.

    Raises:
        OSError: the file cannot be written.
    """
    if ending == ".parquet":
        table.to_parquet(file, index=False)
    else:
        table.to_csv(file, index=False, lineterminator="\n")


def read(path: Path) -> pd.DataFrame:
    """Return the table in a CSV or Parquet file.

    Raises:
        TableError: the file does not exist, or is not such a table.
    """
    if path.suffix not in ENDINGS:
        raise TableError(f"{path.name}: must end with {' or '.join(ENDINGS)}.")
    try:
        if path.exists() and not path.is_file():
            raise TableError(f"{path.name}: is not a file.")
        if path.stat().st_size > LARGEST_FILE:
            raise TableError(f"{path.name}: is larger than {LARGEST_FILE // 2**20:,} MB.")
        with path.open("rb") as source:
            return parsed(path.name, source)
    except OSError as error:
        raise TableError(f"{path.name}: {error.strerror or 'cannot be read'}.") from error


def parsed(name: str, source: BinaryIO) -> pd.DataFrame:
    """Return the table in an open file; Parquet if its name says so, else CSV.

    Raises:
        TableError: the file is not a table, or is too large.
        OSError: it cannot be read.
    """
    try:
        return _parquet(name, source) if name.endswith(".parquet") else _csv(name, source)
    except TableError:
        raise
    except UnicodeDecodeError as error:
        raise TableError(f"{name}: is not in UTF-8.") from error
    # The text of a parser's error may hold values.
    except (ValueError, NotImplementedError, MemoryError) as error:
        raise TableError(f"{name}: is not a table ({type(error).__name__}).") from None


def _csv(name: str, source: BinaryIO) -> pd.DataFrame:
    head = source.read(HEAD).decode("utf-8-sig", errors="replace").split("\n")[:2]
    source.seek(0)
    separator = separator_of(head[0]) or ","
    first, *second = csv.reader(io.StringIO("\n".join(head)), delimiter=separator)
    if twice := {each for each in first if each and first.count(each) > 1}:
        raise TableError(f"{name}: has two columns {shown(min(twice))}.")
    pieces = iter(functools.partial(source.read, PIECE), b"")
    lines = sum(max(piece.count(b"\n"), piece.count(b"\r")) for piece in pieces)
    if lines * len(first) > MOST_NUMBERS:
        raise TableError(f"{name}: has more than {MOST_NUMBERS:,} numbers.")
    source.seek(0)
    decimal = "," if separator != "," and "," in "".join(*second) else "."
    table = pd.read_csv(
        source, sep=separator, decimal=decimal, encoding="utf-8-sig", low_memory=False
    )
    # R omits the name of its row numbers, or leaves it empty.
    named = isinstance(table.index, pd.RangeIndex)
    numbers = table.pop("Unnamed: 0") if named and not first[0].strip('" ') else table.index
    for start in (0, 1):
        if list(numbers) == list(range(start, len(table) + start)):
            return table.reset_index(drop=True)
    raise TableError(f"{name}: has {ROW_NAMES}.")


def _parquet(name: str, source: BinaryIO) -> pd.DataFrame:
    """The table in a Parquet file; columns that do not hold numbers are NaN."""
    # Imported here because the library takes a second and few files need it.
    from pyarrow import parquet, types

    file = parquet.ParquetFile(source)
    about = file.metadata
    size = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
    if size > LARGEST_FILE:
        raise TableError(f"{name}: is larger than {LARGEST_FILE // 2**20:,} MB once unpacked.")
    if about.num_rows * about.num_columns > MOST_NUMBERS:
        raise TableError(f"{name}: has more than {MOST_NUMBERS:,} numbers.")
    schema = about.schema.to_arrow_schema()
    if twice := {each for each in schema.names if schema.names.count(each) > 1}:
        raise TableError(f"{name}: has two columns {shown(min(twice))}.")
    kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    numeric = [each.name for each in schema if any(is_kind(each.type) for is_kind in kinds)]
    # The metadata of pandas is not needed and may be wrong.
    table: pd.DataFrame = file.read(columns=numeric).to_pandas(ignore_metadata=True)
    return table.reindex(columns=schema.names)


def finite(place: str, table: pd.DataFrame, name: str) -> Array:
    """Return a column of finite numbers ``(n,)``.

    Raises:
        TableError: a field is something else; the error names its row and no value.
    """
    values = numbers_of(table[name])
    usable = np.abs(values) <= LARGEST
    if np.isnan(values).all() and len(values):
        raise TableError(f"{place}: column {name}: holds no number.")
    if not usable.all():
        row = int(np.argmin(usable))
        beyond = f"is beyond {LARGEST:g}"
        what = beyond if np.isfinite(values[row]) else "is not a finite number"
        raise TableError(f"{place}: column {name}, row {row + 1}: {what}.")
    return values


def numbers_of(column: pd.Series[float]) -> Array:
    """Return a column as numbers ``(n,)``, with NaN for everything else."""
    if column.dtype.kind in "mM":
        return np.full(len(column), np.nan)
    values = pd.to_numeric(
        column.astype(str) if column.dtype == object else column, errors="coerce"
    )
    return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
