"""Finished tasks of experiments, kept in a folder, so that a later run does only what is missing.

A task is there if it was kept for the same experiment and the same task, by the same code: that of
the study, of all that it imports, and of every scenario and mechanism if it can look these up.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from abcdp_core import cache, fingerprint
from abcdp_core.results import Tables
from abcdp_core.studies import Experiment

LOOKED_UP = ("abcdp_core.simulators", "abcdp_core.mechanisms")
"""Packages whose modules a study may find by name instead of importing them."""


def code_of(experiment: Experiment) -> str:
    """Fingerprint of the code that turns an experiment's tasks into what is kept."""
    return fingerprint.of(__name__, experiment.__name__, folders=LOOKED_UP)


@dataclass(frozen=True)
class Store:
    """A folder of finished tasks, each in a file named after what it was asked.

    Attributes:
        folder: made when it is first needed.
        keep_all: whether it may grow without limit; otherwise it is part of a cache.
    """

    folder: Path
    keep_all: bool = False

    def entries(self, experiment: Experiment, tasks: Sequence[Any]) -> list[cache.Entry]:
        """Where each task is or would be, and with what label."""
        code, study = code_of(experiment), {"experiment": experiment.EXPERIMENT}
        keys = [
            study | {"kind": type(task).__name__, "task": dataclasses.asdict(task)}
            for task in tasks
        ]
        return [cache.entry("task", key, code, self.folder) for key in keys]

    def load(self, entry: cache.Entry) -> Tables | None:
        """Tables of a finished task, ``None`` if it is not there, damaged or of other code."""
        arrays = cache.load(entry)
        if arrays is None:
            return None
        tables: dict[str, dict[str, Any]] = {}
        for name, values in arrays.items():
            table, _, column = name.partition("/")
            tables.setdefault(table, {})[column] = values
        return {table: pd.DataFrame(columns) for table, columns in tables.items()}

    def save(self, entry: cache.Entry, tables: Tables) -> None:
        """Keep the tables of a finished task."""
        arrays = {
            f"{name}/{column}": _plain(table[column])
            for name, table in tables.items()
            for column in table.columns
        }
        cache.save(entry, arrays, make_room=not self.keep_all)


def _plain(column: pd.Series[Any]) -> np.ndarray[Any, Any]:
    """A column as an array that can be stored without pickle."""
    values = column.to_numpy()
    numeric = isinstance(values, np.ndarray) and values.dtype.kind in "biuf"
    return values if numeric else np.asarray(column.astype(str), dtype=str)
