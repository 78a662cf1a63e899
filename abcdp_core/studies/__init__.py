"""Studies, one in each module, found by scanning this folder.

A module provides the attributes of :class:`Experiment`. Its docstring is the theory that its page
shows. ``tasks`` are plain data, about half a second of work each. ``work`` turns a task into
tables, or into a :class:`Chunk` of a chain. ``collect`` turns the tables of the finished tasks into
a result. ``figures`` draws a result, without further input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

from abcdp_core import registry
from abcdp_core.parameters import ParameterError
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.tasks import Chunk

if TYPE_CHECKING:
    # Not imported for a list of names, since these modules load slowly.
    from abcdp_core.figures import CaptionedFigure
    from abcdp_core.results import Result, Tables


class Experiment(Protocol):
    """The attributes of a module in this folder.

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
        ...

    def work(self, task: Any) -> Tables | Chunk:
        """Do one task, or one link of a chain."""
        ...

    def collect(self, params: BaseParams, rows: Tables) -> Result:
        """Return the result so far, from the rows of the finished tasks in order."""
        ...

    def figures(self, result: Result) -> dict[str, CaptionedFigure]:
        """Return the figures of a result with their captions, the main one first."""
        ...


def names() -> list[str]:
    """Return the names of all studies, without importing them."""
    return list(registry.scan(__name__, "EXPERIMENT"))


def titles() -> dict[str, str]:
    """Return name -> title of all studies, without importing them."""
    found = registry.scan(__name__, "EXPERIMENT")
    return {name: found.title(name) for name in found}


def load(name: str) -> Experiment:
    """Return the study with this name.

    Raises:
        ParameterError: there is no study with this name.
    """
    found = registry.scan(__name__, "EXPERIMENT")
    if name in GONE:
        raise ParameterError(f"experiment = {name}: {GONE[name]}")
    if name not in found:
        raise ParameterError(f"experiment = {name}: must be one of {', '.join(found)}.")
    module: Any = found[name]
    vars(module).setdefault("PRESETS", {})
    return cast(Experiment, module)


GONE = {
    "data-needed": "retired; `plan` finds the number of people for a given error.",
    "tuberculosis-distances": "retired; its pool comes with the program.",
    "truncation-theory": "retired; `reproduce Y23` checks these statements.",
}
"""Name of a former study -> its replacement."""

RETIRED = {"y23-figure-1": "y23-figure-2"}
"""Name of a former preset -> its replacement."""


def preset(experiment: Experiment, name: str) -> BaseParams:
    """Return the parameters of a preset.

    Raises:
        ParameterError: the study has no such preset; names the study that has it.
    """
    if name in experiment.PRESETS:
        return experiment.PRESETS[name]
    wanted = RETIRED.get(name, name)
    owners = [other for other in names() if wanted in load(other).PRESETS]
    if wanted != name:
        raise ParameterError(f"preset = {name}: retired; use {wanted} of {', '.join(owners)}.")
    known = ", ".join(experiment.PRESETS) or "none"
    elsewhere = f"; {name} belongs to {', '.join(owners)}" if owners else ""
    raise ParameterError(f"preset = {name}: {experiment.EXPERIMENT} has {known}{elsewhere}.")
