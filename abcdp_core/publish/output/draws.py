"""Write draws of equal weight as a table that other programs read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.base.atomic import part_of
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.sentences import counted
from abcdp_core.base.tabular import pools

HELP = f"also write draws of equal weight, shuffled (a new {' or '.join(pools.ENDINGS)} file)"


def check_place(file: Path | None) -> None:
    """Refuse a file that exists or is not a table, before anything is computed.

    Raises:
        ParameterError: it is one of these.
    """
    if file is None:
        return
    if file.suffix not in pools.ENDINGS:
        raise ParameterError(f"draws = {file}: must end in {' or '.join(pools.ENDINGS)}.")
    if os.path.lexists(file):
        raise ParameterError(f"draws = {file}: already exists; choose a new file.")


def shuffled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return draws ``(m, d)`` of equal weight in another order, always the same.

    Resampling repeats draws, and repeats are adjacent: a program that treats the draws as a chain
    would find them correlated.
    """
    return np.random.default_rng(1).permutation(values)


def write(names: Sequence[str], values: NDArray[np.float64], file: Path) -> str:
    """Shuffle and write draws ``(m, d)`` of equal weight; return what was written, in words.

    Raises:
        ParameterError: the file cannot be written.
    """
    try:
        with part_of(file) as part:
            pools.write(pd.DataFrame(shuffled(values), columns=[*names]), part, file.suffix)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ParameterError(f"draws = {file}: cannot be written ({reason}).") from error
    distinct = len(np.unique(values, axis=0))
    return f"{counted(len(values), 'draw')} of equal weight ({distinct:,} distinct): {file}"
