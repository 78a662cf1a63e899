"""What the runner asks of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from abcdp_core.base.parameters import Params as BaseParams

if TYPE_CHECKING:
    # Not imported for a list of names, since these modules load slowly.
    from abcdp_core.run.results import Result, Tables
    from abcdp_core.run.tasks import Chunk


class Experiment(Protocol):
    """The attributes of a module in the folder of studies.

    Attributes:
        EXPERIMENT: name of the study.
        TITLE: the question in a few words.
        Params: the parameters.
        PRESETS: name -> parameters; optional. Figures of papers are named by paper and number.
        COLUMNS: table -> names of its columns.

    Also optional: ``missing_pools(params, seed)`` returns the keys of public pools to make first.
    ``MAY_BE_LONG = True`` declares that some legal settings give a task of many seconds; a server
    with a work limit runs such tasks in other processes.
    """

    __name__: str
    EXPERIMENT: str
    TITLE: str
    Params: type[BaseParams]
    PRESETS: dict[str, BaseParams]
    COLUMNS: dict[str, tuple[str, ...]]

    def tasks(self, params: BaseParams, seed: int) -> list[Any]:
        """Return the work to do, as frozen dataclasses of plain values."""

    def work(self, task: Any) -> Tables | Chunk:
        """Do one task, or one link of a chain."""

    def collect(self, params: BaseParams, rows: Tables) -> Result:
        """Return the result so far, from the rows of the finished tasks in order."""

    def figures(self, result: Result) -> dict[str, Any]:
        """Return the figures of a result with their captions, the main one first."""
