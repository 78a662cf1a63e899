"""Write tables as CSV in full precision, and read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import numpy as np
import pandas as pd


def column_kinds(table: pd.DataFrame) -> dict[str, str]:
    """Return column -> ``integer``, ``real``, ``switch`` or ``text``.

    Raises:
        TypeError: a column mixes kinds, or has another one.
    """
    return {str(name): _kind(str(name), column) for name, column in table.items()}


def _kind(name: str, column: pd.Series[Any]) -> str:
    kinds = {"i": "integer", "u": "integer", "f": "real", "b": "switch"}
    code = getattr(column.dtype, "kind", "O")
    if code in kinds:
        return kinds[code]
    if (
        pd.api.types.is_string_dtype(column)
        and column.map(lambda item: isinstance(item, str)).all()
    ):
        return "text"
    raise TypeError(f"column {name}: has more than one kind of value.")


def as_csv(table: pd.DataFrame) -> str:
    """Return a table as CSV, with the shortest digits that restore each number.

    Raises:
        TypeError: a column mixes kinds.
    """
    column_kinds(table)
    return table.to_csv(index=False, lineterminator="\n", na_rep="nan")


PARSE: dict[str, Callable[[pd.Series[str]], Any]] = {
    # Python's parser restores exactly the number that was written.
    "integer": lambda column: np.array([int(text) for text in column], np.int64),
    "real": lambda column: np.array([float(text) for text in column], np.float64),
    "switch": lambda column: column.to_numpy() == "True",
    "text": lambda column: column,
}


def read_csv(file: BinaryIO, kinds: Mapping[str, str]) -> pd.DataFrame:
    """Read a table that :func:`as_csv` wrote, with the given kinds of columns."""
    texts = pd.read_csv(file, dtype=str, keep_default_na=False, encoding="utf-8")
    return pd.DataFrame({name: PARSE[kind](texts[name]) for name, kind in kinds.items()})
