"""The tasks that a study's work is cut into: plain data, about half a second of work each."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from abcdp_core.parameters import Params

if TYPE_CHECKING:
    from abcdp_core.results import Tables


@dataclass(frozen=True)
class Chunk:
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
class Continuation(Generic[T]):
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
    def of(cls, task: T | Continuation[T], state: Any = None) -> Continuation[T]:
        """What ``work`` was given, as the rest of a task: before the first link all of it."""
        return task if isinstance(task, Continuation) else cls(task, state, 0)

    @property
    def is_last(self) -> bool:
        """Whether no other link comes after the next one."""
        return self.done + 1 == self.task.links

    def part(self, whole: int) -> slice:
        """Which of so many pieces of work the next link does."""
        first, last = (done * whole // self.task.links for done in (self.done, self.done + 1))
        return slice(first, last)

    def link(self, tables: Tables, state: Any = None) -> Chunk:
        """The next link: its rows, and the rest after it, which stands where ``state`` says."""
        rest = Continuation(self.task, state, self.done + 1)
        return Chunk(tables, rest if rest.done < self.task.links else None)


P = TypeVar("P", bound=Params)


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


@dataclass(frozen=True)
class Chain(Run[P]):
    """A run that is done in links.

    Attributes:
        links: how many.
    """

    links: int


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


def in_parts(params: P, seed: int, size: int, *names: str) -> list[Part[P]]:
    """Return tasks of up to ``size`` runs each, for all combinations of what some fields list.

    The first runs of all combinations come before any later run.
    """
    runs = vars(params)["runs"]
    each = per_value(with_values(params, runs=1), seed, *names)
    return [
        Part(at.params, first, min(size, runs - first), seed)
        for first in range(0, runs, size)
        for at in each
    ]


def with_values(params: P, **values: object) -> P:
    """The same parameters but for some of their fields."""
    return dataclasses.replace(params, **values)
