"""Keep finished tasks of studies in a folder, and read results that come with the program.

A stored task lets a later run do only the missing ones. It counts only for the same study, the same
task and the same code: the study, everything it imports, and all scenarios and mechanisms if it can
look these up.

A result that everyone asks for (of a page with nothing moved, of a step of a lesson) is computed
once, by ``python -m tools.first_view results``, and its tables are a file in ``assets/results``.
Its finding and its privacy statement are made anew from the tables. It does not depend on the code
that runs: a test computes each result again and fails if the program has moved away from it.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core.base import cache, fingerprint
from abcdp_core.base.parameters import Params
from abcdp_core.base.places import ASSETS
from abcdp_core.run.experiment import Experiment
from abcdp_core.run.results import Result, Tables

LOOKED_UP = ("abcdp_core.models.simulators", "abcdp_core.mechanisms")
"""Packages whose modules a study may look up by name instead of importing them."""


def code_of(experiment: Experiment) -> str:
    """Return the fingerprint of the code that makes and stores a study's tasks."""
    return fingerprint.of(__name__, experiment.__name__, folders=LOOKED_UP)


@dataclass(frozen=True)
class Store:
    """A folder of finished tasks, one file each.

    Attributes:
        folder: made when it is first needed.
        keep_all: whether it may grow without limit, unlike a cache.
    """

    folder: Path
    keep_all: bool = False

    def entries(self, experiment: Experiment, tasks: Sequence[Any]) -> list[cache.Entry]:
        """Return the cache entry of each task."""
        code, study = code_of(experiment), {"experiment": experiment.EXPERIMENT}
        keys = [
            study | {"kind": type(task).__name__, "task": dataclasses.asdict(task)}
            for task in tasks
        ]
        return [cache.entry("task", key, code, self.folder) for key in keys]

    def load(self, entry: cache.Entry) -> Tables | None:
        """Return the tables of a task; ``None`` if it is missing, damaged or of other code."""
        arrays = cache.load(entry)
        if arrays is None:
            return None
        return tables_of(arrays)

    def save(self, entry: cache.Entry, tables: Tables) -> None:
        """Keep the tables of a finished task."""
        cache.save(entry, arrays_of(tables), make_room=not self.keep_all)


def arrays_of(tables: Tables) -> dict[str, NDArray[Any]]:
    """Return ``table/column`` -> values that can be stored without pickle."""
    return {
        f"{name}/{column}": _plain(table[column])
        for name, table in tables.items()
        for column in table.columns
    }


def tables_of(arrays: Mapping[str, NDArray[Any]]) -> Tables:
    """Return the tables of :func:`arrays_of`."""
    tables: dict[str, dict[str, Any]] = {}
    for name, values in arrays.items():
        table, _, column = name.partition("/")
        tables.setdefault(table, {})[column] = values
    return {table: pd.DataFrame(columns) for table, columns in tables.items()}


def _plain(column: pd.Series[Any]) -> np.ndarray[Any, Any]:
    """Return a column as an array that can be stored without pickle."""
    values = column.to_numpy()
    numeric = isinstance(values, np.ndarray) and values.dtype.kind in "biuf"
    return values if numeric else np.asarray(column.astype(str), dtype=str)


SHIPPED = ASSETS / "results"
"""The folder of results that come with the program."""


def shipped_file(experiment: str, params: Params, seed: int) -> Path:
    """Return where the result of a request is, if it comes with the program."""
    asked = json.dumps({"seed": seed, **params.to_text()}, sort_keys=True)
    return SHIPPED / f"{experiment}-{hashlib.sha256(asked.encode()).hexdigest()[:12]}.npz"


@functools.cache
def _shipped_names() -> frozenset[str]:
    return frozenset(file.name for file in SHIPPED.glob("*.npz"))


def is_shipped(experiment: str, params: Params, seed: int) -> bool:
    """Return whether the result of a request comes with the program."""
    return shipped_file(experiment, params, seed).name in _shipped_names()


def shipped(study: Experiment, params: Params, seed: int) -> Result:
    """Return the whole result of a request that comes with the program."""
    with np.load(shipped_file(study.EXPERIMENT, params, seed), allow_pickle=False) as file:
        tables = tables_of({name: file[name] for name in file.files})
    total = len(study.tasks(params, seed))
    return dataclasses.replace(
        study.collect(params, tables), seed=seed, done=total, total=total, kept=total
    )
