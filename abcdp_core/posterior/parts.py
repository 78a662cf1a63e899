"""Simulate rounds in parts, so that they can be watched and stopped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from abcdp_core.posterior.rounds import (
    Draws,
    Effort,
    InferenceProblem,
    Task,
    WeightedDraws,
    in_rounds,
    infer,
    simulate,
)

Rounds = tuple[tuple[Draws, ...], ...]


@dataclass(frozen=True)
class ResumableInference:
    """Draws of each round, the last perhaps incomplete, and its remaining tasks."""

    rounds: Rounds = ()
    waiting: tuple[Task, ...] = ()

    def until(self, enough: float, question: InferenceProblem, most: int) -> ResumableInference:
        """Simulate parts until there are enough draws or no more are needed, at most ``most``."""
        rounds, waiting = [*map(list, self.rounds)], [*self.waiting]
        while sum(_sizes(rounds)) < enough:
            if not waiting:
                waiting = _next_tasks(question, rounds, most)
                if not waiting:
                    break
                rounds.append([])
            rounds[-1].append(simulate(waiting.pop(0)))
        return ResumableInference(tuple(map(tuple, rounds)), tuple(waiting))

    @property
    def whole(self) -> Rounds:
        """Rounds from which a posterior can be computed: complete ones, or part of the first."""
        return self.rounds[:-1] if self.waiting and len(self.rounds) > 1 else self.rounds

    @property
    def size(self) -> int:
        """Number of their draws."""
        return sum(_sizes(self.whole))

    def infer(self, question: InferenceProblem) -> WeightedDraws:
        """Compute the posterior from them."""
        known = iter(self.whole)
        return infer(question, Effort(rounds=_sizes(self.whole)), lambda *_: next(known))


def _sizes(rounds: Iterable[Sequence[Draws]]) -> tuple[int, ...]:
    return tuple(sum(map(len, draws)) for draws in rounds)


def _next_tasks(
    question: InferenceProblem, rounds: Sequence[Sequence[Draws]], most: int
) -> list[Task]:
    """Return the tasks of the round after some; none if there is no other."""
    # An unreachable sample size: only the number of draws ends it.
    asked = in_rounds(question, Effort(most + 1, most))
    try:
        tasks = next(asked)
        for draws in rounds:
            tasks = asked.send(Draws.joined(draws))
    except StopIteration:
        return []
    return tasks
