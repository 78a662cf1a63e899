"""Studies, one in each module, found by scanning this folder; :mod:`.engine` is what they share.

A module provides the attributes of :class:`~abcdp_core.run.experiment.Experiment`. Its docstring is
the theory that its page shows. ``tasks`` are plain data, about half a second of work each. ``work``
turns a task into tables, or into a :class:`~abcdp_core.run.tasks.Chunk` of a chain. ``collect``
turns the tables of the finished tasks into a result. ``figures`` draws a result, without further
input. A caption's numbers come from the result alone, by a function in the study's own module:
the one that it gives to its curves as ``says``, else the one that draws the figure. Several studies
share those of :mod:`.engine.errors` and :mod:`.engine.estimates`. A study's own ``says`` is its
summary, which some figures have as their caption.
"""

from __future__ import annotations

from typing import Any, cast

from abcdp_core.base import registry
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.parameters import Params as BaseParams
from abcdp_core.run.experiment import Experiment


def names() -> list[str]:
    """Return the names of all studies, without importing them."""
    return list(registry.scan(__name__, "EXPERIMENT"))


def titles() -> dict[str, str]:
    """Return name -> title of all studies, without importing them."""
    scanned = registry.scan(__name__, "EXPERIMENT")
    return {name: scanned.title(name) for name in scanned}


def load(name: str) -> Experiment:
    """Return the study with this name.

    Raises:
        ParameterError: there is no study with this name.
    """
    scanned = registry.scan(__name__, "EXPERIMENT")
    if name in GONE:
        raise ParameterError(f"experiment = {name}: {GONE[name]}")
    if name not in scanned:
        raise ParameterError(f"experiment = {name}: must be one of {', '.join(scanned)}.")
    module: Any = scanned[name]
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
