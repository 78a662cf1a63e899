"""Results: what an experiment found, complete enough to be drawn, saved and judged without it."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from abcdp_core import __version__
from abcdp_core.parameters import Params
from abcdp_core.privacy import Event

Tables = Mapping[str, pd.DataFrame]

REPORTED = ("numpy", "scipy", "numba", "pandas", "plotly")


@dataclass(frozen=True)
class Result:
    """What an experiment found.

    Attributes:
        experiment: its name.
        params: its parameters.
        tables: name -> table; ``main`` is there always.
        summary: the finding in one sentence, for the page and for screen readers.
        privacy: what is protected and how much, in plain words.
        event: what was done with private data, where it is one thing.
        seed: root seed.
        done, total: tasks finished and tasks there are; fewer mean a partial result.
        run_time: seconds until it was there, of the run that made it; ``None`` if not known. What
            was found does not depend on it, so results that differ in it are equal.
        kept: of those finished, how many were stored from an earlier run.
    """

    experiment: str
    params: Params
    tables: Tables = field(repr=False)
    summary: str
    privacy: str
    event: Event | None = None
    seed: int = 0
    done: int = 1
    total: int = 1
    run_time: float | None = field(default=None, compare=False)
    kept: int = field(default=0, compare=False)

    @property
    def is_partial(self) -> bool:
        """Whether tasks are missing."""
        return self.done < self.total


def versions() -> dict[str, str]:
    """Versions of what computed a result."""
    known = {name: importlib.metadata.version(name) for name in REPORTED}
    return {"abcdp-explorer": __version__, "python": platform.python_version()} | known
