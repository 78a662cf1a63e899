"""Results of studies, complete enough to be drawn, saved and tested without the study."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from abcdp_core import __version__
from abcdp_core.base.parameters import Params
from abcdp_core.privacy import Event

Tables = Mapping[str, pd.DataFrame]

REPORTED = ("numpy", "scipy", "numba", "pandas", "plotly")


@dataclass(frozen=True)
class Result:
    """Result of a study.

    Attributes:
        experiment: name of the study.
        params: its parameters.
        tables: name -> table; there is always a table ``main``.
        summary: the finding in one sentence, for the page and for screen readers.
        privacy: privacy statement in plain words.
        event: event of the release, if there is a single one.
        seed: root seed.
        done, total: finished tasks and all tasks; a partial result has fewer.
        run_time: seconds of the run; ``None`` if unknown. Results that differ in it are equal.
        kept: number of finished tasks that were stored by an earlier run.
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
    """Return the versions of the program, Python and libraries."""
    known = {name: importlib.metadata.version(name) for name in REPORTED}
    return {"abcdp-explorer": __version__, "python": platform.python_version()} | known
