"""Rounds of simulations done part after part, so that they can be watched and stopped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from abcdp_core.posterior.rounds import Draws, Effort, Found, Question, Task, infer, simulate

Rounds = tuple[tuple[Draws, ...], ...]


class _UnsimulatedError(Exception):
    """Has the tasks of a round whose draws are missing."""


@dataclass(frozen=True)
class Simulated:
    """What is simulated so far.

    Attributes:
        rounds: their draws, the last round's perhaps in part.
        waiting: the tasks of the last round that are to be done.
    """

    rounds: Rounds = ()
    waiting: tuple[Task, ...] = ()

    def until(self, enough: float, question: Question, most: int) -> Simulated:
        """With parts added until there are enough draws, or there is nothing more to simulate.

        Args:
            enough: draws.
            question: that they answer.
            most: draws in all.
        """
        here: Simulated | None = self
        simulated = self
        while here is not None and sum(_sizes(here.rounds)) < enough:
            simulated, here = here, here._further(question, most)
        return here or simulated

    def _further(self, question: Question, most: int) -> Simulated | None:
        """With one more part; nothing if that was all."""
        rounds, waiting = self.rounds, self.waiting
        if not waiting:
            try:
                # More than so many draws can count for: only their number ends it.
                _replayed(question, rounds, Effort(most + 1, most))
            except _UnsimulatedError as unsimulated:
                rounds, waiting = (*rounds, ()), unsimulated.args
            else:
                return None
        last = (*rounds[-1], simulate(waiting[0]))
        return Simulated((*rounds[:-1], last), waiting[1:])

    @property
    def whole(self) -> Rounds:
        """What a posterior can be inferred from: whole rounds, or a part of the first."""
        return self.rounds[:-1] if self.waiting and len(self.rounds) > 1 else self.rounds

    @property
    def size(self) -> int:
        """Draws of those."""
        return sum(_sizes(self.whole))

    def infer(self, question: Question) -> Found:
        """The posterior from them."""
        return _replayed(question, self.whole, Effort(rounds=_sizes(self.whole)))


def _sizes(rounds: Rounds) -> tuple[int, ...]:
    return tuple(sum(map(len, draws)) for draws in rounds)


def _replayed(question: Question, rounds: Rounds, effort: Effort) -> Found:
    """The posterior from rounds that are simulated.

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
