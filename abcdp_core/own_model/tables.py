"""Tables made elsewhere: CSV or Parquet, and columns of finite numbers in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.own_model.blame import OwnError

Array = NDArray[np.float64]


def read(path: Path) -> pd.DataFrame:
    """A CSV or Parquet file.

    Raises:
        OwnError: there is none, or it is none of these.
    """
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        if path.suffix == ".csv":
            return pd.read_csv(path)
    except OSError as error:
        raise OwnError(f"{path.name}: {error.strerror or 'cannot be read'}.") from error
    except ImportError as error:
        raise OwnError(f"{path.name}: reading Parquet needs pyarrow; write it as CSV.") from error
    except ValueError as error:
        raise OwnError(f"{path.name}: is no table ({type(error).__name__}).") from error
    raise OwnError(f"{path.name}: must end with .csv or .parquet.")


def finite(place: str, table: pd.DataFrame, name: str) -> Array:
    """A column of finite numbers; an error tells the row and no value."""
    values = pd.to_numeric(table[name], errors="coerce").to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise OwnError(f"{place}: column {name}, row {row + 1}: is no finite number.")
    return values
