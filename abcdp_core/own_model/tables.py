"""Tables made elsewhere: CSV or Parquet, and columns of finite numbers in them."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.own_model.blame import OwnError

Array = NDArray[np.float64]

ENDINGS = (".csv", ".parquet")

LARGEST_FILE = 2**30
"""Bytes of a file."""


def read(path: Path) -> pd.DataFrame:
    """A CSV or Parquet file.

    Raises:
        OwnError: there is none, or it is none of these.
    """
    if path.suffix not in ENDINGS:
        raise OwnError(f"{path.name}: must end with {' or '.join(ENDINGS)}.")
    try:
        size = path.stat().st_size
        # A device has no end, and a pipe would be waited for.
        if not path.is_file():
            raise OwnError(f"{path.name}: is no file.")
        if size > LARGEST_FILE:
            raise OwnError(f"{path.name}: is larger than {LARGEST_FILE // 2**20:,} MB.")
        return parsed(path.name, path)
    except OSError as error:
        raise OwnError(f"{path.name}: {error.strerror or 'cannot be read'}.") from error


def parsed(name: str, source: Path | BinaryIO) -> pd.DataFrame:
    """A table from a file or from what one holds; Parquet if its name says so, else CSV.

    Raises:
        OwnError: it is none.
        OSError: it cannot be read.
    """
    try:
        if name.endswith(".parquet"):
            return pd.read_parquet(source)
        table = pd.read_csv(source, encoding="utf-8", low_memory=False)
    except ImportError as error:
        raise OwnError(f"{name}: reading Parquet needs pyarrow; write it as CSV.") from error
    except ValueError as error:
        raise OwnError(f"{name}: is no table ({type(error).__name__}).") from error
    # Or the first fields of rows that have more than the head line would be taken for names.
    if not isinstance(table.index, pd.RangeIndex):
        raise OwnError(f"{name}: its rows have more fields than its head line.")
    return table


def finite(place: str, table: pd.DataFrame, name: str) -> Array:
    """A column of finite numbers; an error tells the row and no value."""
    values = pd.to_numeric(table[name], errors="coerce").to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise OwnError(f"{place}: column {name}, row {row + 1}: is no finite number.")
    return values
