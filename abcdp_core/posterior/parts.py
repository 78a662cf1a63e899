"""Simulate rounds in parts, so that they can be watched and stopped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from abcdp_core.posterior.rounds import Draws, Effort, Found, Question, Task, infer, simulate

Rounds = tuple[tuple[Draws, ...], ...]


class _UnsimulatedError(Exception):
    """Carries the tasks of a round whose draws are missing."""


@dataclass(frozen=True)
class Simulated:
    """Draws of each round, the last perhaps incomplete, and its remaining tasks."""

    rounds: Rounds = ()
    waiting: tuple[Task, ...] = ()

    def until(self, enough: float, question: Question, most: int) -> Simulated:
        """Simulate parts until there are enough draws or no more are needed, at most ``most``."""
        here: Simulated | None = self
        simulated = self
        while here is not None and sum(_sizes(here.rounds)) < enough:
            simulated, here = here, here._further(question, most)
        return here or simulated

    def _further(self, question: Question, most: int) -> Simulated | None:
        """Simulate one more part; ``None`` if nothing is left."""
        rounds, waiting = self.rounds, self.waiting
        if not waiting:
            try:
                # An unreachable sample size: only the number of draws ends it.
                _replayed(question, rounds, Effort(most + 1, most))
            except _UnsimulatedError as unsimulated:
                rounds, waiting = (*rounds, ()), unsimulated.args
            else:
                return None
        last = (*rounds[-1], simulate(waiting[0]))
        return Simulated((*rounds[:-1], last), waiting[1:])

    @property
    def whole(self) -> Rounds:
        """Rounds from which a posterior can be computed: complete ones, or part of the first."""
        return self.rounds[:-1] if self.waiting and len(self.rounds) > 1 else self.rounds

    @property
    def size(self) -> int:
        """Number of their draws."""
        return sum(_sizes(self.whole))

    def infer(self, question: Question) -> Found:
        """Compute the posterior from them."""
        return _replayed(question, self.whole, Effort(rounds=_sizes(self.whole)))


def _sizes(rounds: Rounds) -> tuple[int, ...]:
    return tuple(sum(map(len, draws)) for draws in rounds)


def _replayed(question: Question, rounds: Rounds, effort: Effort) -> Found:
    """Compute the posterior from simulated rounds.

    Raises:
        _UnsimulatedError: one more round is needed.
    """
    left = iter(rounds)

    def each(_name: str, _work: Any, tasks: Sequence[Task]) -> Iterable[Draws]:
        found = next(left, None)
        if found is None:
            raise _UnsimulatedError(*tasks)
        return found

    return infer(question, effort, each)
