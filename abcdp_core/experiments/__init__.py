"""Experiments: one study per module here, found by scanning.

A module provides what :class:`Experiment` names; its docstring is the theory its page shows.
``tasks`` are plain data, about half a second of work each; ``work`` turns one into tables, or into
a :class:`Link` of a chain; ``collect`` turns the tables of all (or, while a run is still going,
some) tasks into a result; ``figures`` draws a result from nothing but itself.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from abcdp_core import registry
from abcdp_core.parameters import ParameterError
from abcdp_core.parameters import Params as BaseParams

if TYPE_CHECKING:
    # Only studies compute and draw; who asks for their names waits for none of it.
    from abcdp_core.figures import Drawn
    from abcdp_core.results import Result, Tables


class Experiment(Protocol):
    """What a module in this folder provides.

    Attributes:
        EXPERIMENT: its name.
        TITLE: the question in a few words.
        Params: its parameters.
        PRESETS: name -> parameters; a paper's figure goes by paper and number.
        COLUMNS: table -> names of its columns.

    It may also have ``prepare(params, seed, progress)``, which makes the public pool beforehand and
    calls ``progress`` with the fraction done; and ``MAY_BE_LONG = True``, where a task takes many
    seconds at some allowed settings. With a work limit such tasks are not done in the server.
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

    def work(self, task: Any) -> Tables | Link:
        """Do one task, or one link of it."""
        ...

    def collect(self, params: BaseParams, rows: Tables) -> Result:
        """The result so far, from the rows of all finished tasks in the tasks' order."""
        ...

    def figures(self, result: Result) -> dict[str, Drawn]:
        """Figures of a result, each with its own sentence, the main one first."""
        ...


@dataclass(frozen=True)
class Link:
    """A part of a task that is done part after part, so that it can be watched and stopped.

    A task that comes in links says how many by an attribute ``links``.

    Attributes:
        tables: rows of this part.
        successor: what ``work`` has to be given to go on; ``None`` after the last part.
    """

    tables: Tables
    successor: Any


class InLinks(Protocol):
    """A task that is done in links."""

    @property
    def links(self) -> int:
        """How many."""
        ...


T = TypeVar("T", bound=InLinks)


@dataclass(frozen=True)
class Onward(Generic[T]):
    """The rest of a task that is done in links.

    Attributes:
        task: the whole one.
        state: where it stands; what the next link needs to know.
        done: links that are done.
    """

    task: T
    state: Any
    done: int

    @classmethod
    def of(cls, task: T | Onward[T], state: Any = None) -> Onward[T]:
        """What ``work`` was given, as the rest of a task: before the first link all of it."""
        return task if isinstance(task, Onward) else cls(task, state, 0)

    def link(self, tables: Tables, state: Any = None) -> Link:
        """The next link: its rows, and the rest after it, which stands where ``state`` says."""
        rest = Onward(self.task, state, self.done + 1)
        return Link(tables, rest if rest.done < self.task.links else None)


P = TypeVar("P", bound=BaseParams)


@dataclass(frozen=True)
class SingleTask(Generic[P]):
    """The task of an experiment that is done in one go."""

    params: P
    seed: int


def single_task(params: P, seed: int) -> list[SingleTask[P]]:
    """A single task, for experiments that take a moment."""
    return [SingleTask(params, seed)]


@dataclass(frozen=True)
class Run(Generic[P]):
    """One run of a study that is repeated, with chance of its own.

    Attributes:
        params: of the study as if it had this one run. A stored task is known by all that it
            holds; so raising the number of runs from 3 to 60 leaves the first three valid.
        run: its number, from 0.
        seed: root seed of all random numbers.
    """

    params: P
    run: int
    seed: int


def per_run(params: P, seed: int) -> list[Run[P]]:
    """One task per run of parameters that have a field ``runs``; each as if it had the fewest."""
    single = with_values(params, runs=int(params.specification()["runs"].low))
    return [Run(single, run, seed) for run in range(vars(params)["runs"])]


@dataclass(frozen=True)
class Part(Generic[P]):
    """Pieces ``first`` to ``first + count − 1`` of work that falls into many alike.

    Attributes:
        params: of the study without the number of pieces, as in :class:`Run`.
        first, count: which pieces.
        seed: root seed of all random numbers.
    """

    params: P
    first: int
    count: int
    seed: int

    @property
    def pieces(self) -> range:
        """Numbers of its pieces."""
        return range(self.first, self.first + self.count)


def per_value(params: P, seed: int, *names: str) -> list[SingleTask[P]]:
    """One task for every combination of the values that some fields list, each holding one."""
    return [
        SingleTask(with_values(params, **{name: (value,) for name, value in chosen}), seed)
        for chosen in itertools.product(
            *([(name, value) for value in vars(params)[name]] for name in names)
        )
    ]


def with_values(params: P, **values: object) -> P:
    """The same parameters but for some of their fields."""
    return dataclasses.replace(params, **values)


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
    if name not in found:
        raise ParameterError(f"experiment = {name}: must be one of {', '.join(found)}.")
    return cast(Experiment, found[name])


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
