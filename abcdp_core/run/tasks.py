"""Tasks, the parts of a study's work: plain data, about half a second of work each."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from abcdp_core.base.parameters import Params

if TYPE_CHECKING:
    from abcdp_core.run.results import Tables


@dataclass(frozen=True)
class Chunk:
    """One link of a task that is done link by link, so that it shows progress and can be stopped.

    Such a task has an attribute ``links``, their number.

    Attributes:
        tables: rows of this link.
        successor: argument of ``work`` for the next link; ``None`` after the last.
    """

    tables: Tables
    successor: Any


class InLinks(Protocol):
    """A task that is done in links."""

    @property
    def links(self) -> int:
        """Number of links."""


T = TypeVar("T", bound=InLinks)


@dataclass(frozen=True)
class Continuation(Generic[T]):
    """The rest of a task that is done in links.

    Attributes:
        task: the whole task.
        state: data for the next link.
        done: number of finished links.
    """

    task: T
    state: Any
    done: int

    @classmethod
    def of(cls, task: T | Continuation[T], state: Any = None) -> Continuation[T]:
        """Return the argument of ``work`` as a continuation, also before the first link."""
        return task if isinstance(task, Continuation) else cls(task, state, 0)

    @property
    def is_last(self) -> bool:
        """Whether the next link is the last."""
        return self.done + 1 == self.task.links

    def part(self, whole: int) -> slice:
        """Return which of ``whole`` pieces of work the next link does."""
        first, last = (done * whole // self.task.links for done in (self.done, self.done + 1))
        return slice(first, last)

    def link(self, tables: Tables, state: Any = None) -> Chunk:
        """Return the next link with its rows, and the state for the link after it."""
        rest = Continuation(self.task, state, self.done + 1)
        return Chunk(tables, rest if rest.done < self.task.links else None)


P = TypeVar("P", bound=Params)


@dataclass(frozen=True)
class SingleTask(Generic[P]):
    """The only task of a study."""

    params: P
    seed: int


def single_task(params: P, seed: int) -> list[SingleTask[P]]:
    """Return a single task, for studies that take a moment."""
    return [SingleTask(params, seed)]


@dataclass(frozen=True)
class Run(Generic[P]):
    """One run of a repeated study, with its own randomness.

    Attributes:
        params: parameters of the study with a single run. They identify a stored task, so raising
            the number of runs from 3 to 60 keeps the first three valid.
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
        links: number of links.
    """

    links: int


def per_run(params: P, seed: int) -> list[Run[P]]:
    """Return one task per run, for parameters with a field ``runs``."""
    single = with_values(params, runs=int(params.specification()["runs"].low))
    return [Run(single, run, seed) for run in range(vars(params)["runs"])]


@dataclass(frozen=True)
class Part(Generic[P]):
    """Pieces ``first`` to ``first + count − 1`` of work that consists of many equal pieces.

    Attributes:
        params: parameters of the study without the number of pieces, as in :class:`Run`.
        first, count: first piece and number of pieces.
        seed: root seed of all random numbers.
    """

    params: P
    first: int
    count: int
    seed: int

    @property
    def pieces(self) -> range:
        """The numbers of its pieces."""
        return range(self.first, self.first + self.count)


def per_value(params: P, seed: int, *names: str) -> list[SingleTask[P]]:
    """Return one task for every combination of the values that some fields list."""
    return [
        SingleTask(with_values(params, **{name: (value,) for name, value in chosen}), seed)
        for chosen in itertools.product(
            *([(name, value) for value in vars(params)[name]] for name in names)
        )
    ]


def in_parts(params: P, seed: int, size: int, *names: str) -> list[Part[P]]:
    """Return tasks of up to ``size`` runs for all combinations of the values in some fields.

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
    """Return the same parameters with some fields changed."""
    return dataclasses.replace(params, **values)
