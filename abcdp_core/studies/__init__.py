"""Experiments: one study per module here, found by scanning.

A module provides what :class:`Experiment` names; its docstring is the theory its page shows.
``tasks`` are plain data, about half a second of work each; ``work`` turns one into tables, or into
a :class:`Chunk` of a chain; ``collect`` turns the tables of all (or, while a run is still going,
some) tasks into a result; ``figures`` draws a result from nothing but itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

from abcdp_core import registry
from abcdp_core.parameters import ParameterError
from abcdp_core.parameters import Params as BaseParams
from abcdp_core.tasks import Chunk

if TYPE_CHECKING:
    # Only studies compute and draw; who asks for their names waits for none of it.
    from abcdp_core.figures import CaptionedFigure
    from abcdp_core.results import Result, Tables


class Experiment(Protocol):
    """What a module in this folder provides.

    Attributes:
        EXPERIMENT: its name.
        TITLE: the question in a few words.
        Params: its parameters.
        PRESETS: name -> parameters; a paper's figure goes by paper and number. May be left out.
        COLUMNS: table -> names of its columns.

    It may also have ``missing_pools(params, seed)``, the keys of the public pools that have to be
    made first; and ``MAY_BE_LONG = True``, where a task takes many seconds at some allowed
    settings. With a work limit such tasks are not done in the server.
    """

    __name__: str
    EXPERIMENT: str
    TITLE: str
    Params: type[BaseParams]
    PRESETS: dict[str, BaseParams]
    COLUMNS: dict[str, tuple[str, ...]]

    def tasks(self, params: BaseParams, seed: int) -> list[Any]:
        """The work to be done, as frozen dataclasses of plain values."""
        ...

    def work(self, task: Any) -> Tables | Chunk:
        """Do one task, or one link of it."""
        ...

    def collect(self, params: BaseParams, rows: Tables) -> Result:
        """The result so far, from the rows of all finished tasks in the tasks' order."""
        ...

    def figures(self, result: Result) -> dict[str, CaptionedFigure]:
        """Figures of a result, each with its own sentence, the main one first."""
        ...


def names() -> list[str]:
    """Names of all experiments; imports none of them."""
    return list(registry.scan(__name__, "EXPERIMENT"))


def titles() -> dict[str, str]:
    """Name -> title of all experiments; imports none of them."""
    found = registry.scan(__name__, "EXPERIMENT")
    return {name: found.title(name) for name in found}


def load(name: str) -> Experiment:
    """The experiment called ``name``.

    Raises:
        ParameterError: there is none of that name.
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
    "data-needed": "retired; `plan` says how many people a wanted error takes.",
    "tuberculosis-distances": "retired; its pool comes with the program.",
    "truncation-theory": "retired; `reproduce Y23` checks these statements.",
}
"""Name of a study that is no more -> what took its place."""

RETIRED = {"y23-figure-1": "y23-figure-2"}
"""Name of a preset that is no more -> the one that took its place."""


def preset(experiment: Experiment, name: str) -> BaseParams:
    """The parameters of a preset.

    Raises:
        ParameterError: the experiment has none of that name; says which has it or its successor.
    """
    if name in experiment.PRESETS:
        return experiment.PRESETS[name]
    wanted = RETIRED.get(name, name)
    owners = [other for other in names() if wanted in load(other).PRESETS]
    if wanted != name:
        raise ParameterError(f"preset = {name}: retired; use {wanted} of {', '.join(owners)}.")
    known = ", ".join(experiment.PRESETS) or "none"
    elsewhere = f"; {name} is of {', '.join(owners)}" if owners else ""
    raise ParameterError(f"preset = {name}: {experiment.EXPERIMENT} has {known}{elsewhere}.")
