"""Toy studies with other work, and comparison of their results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

from pandas.testing import assert_frame_equal

from abcdp_core.run import runner
from abcdp_core.run.results import Result
from abcdp_core.run.tasks import Chunk
from abcdp_core.studies import Experiment
from tests import toy_chain, toy_experiment

TOY = cast(Experiment, toy_experiment)
CHAIN = cast(Experiment, toy_chain)


def toy_with(**changes: Any) -> Experiment:
    """Return the toy study with other work or other tasks."""
    return cast(Experiment, SimpleNamespace(**vars(toy_experiment) | changes))


def chain_with(work: Callable[[Any], Any]) -> Experiment:
    """Return the toy chains with other work."""
    return cast(Experiment, SimpleNamespace(**vars(toy_chain) | {"work": work}))


def place(task: Any) -> tuple[int, int]:
    """Return the chain of what ``work`` is given, and how many of its links are done."""
    onward = isinstance(task, toy_chain.Continuation)
    return (task.task.chain, task.done) if onward else (task.chain, 0)


def recording(begun: list[tuple[int, int]]) -> Experiment:
    """Return toy chains that append the place of each link they begin to a list."""

    def work(task: Any) -> Chunk:
        begun.append(place(task))
        return toy_chain.work(task)

    return chain_with(work)


def last(results: Iterator[Result]) -> Result:
    *_, result = results
    return result


def assert_same(first: Result, second: Result) -> None:
    assert first.tables.keys() == second.tables.keys()
    for name in first.tables:
        assert_frame_equal(first.tables[name], second.tables[name], check_exact=True)


@functools.cache
def chains_alone() -> Result:
    """Return the result of the toy chains computed in this thread."""
    return runner.run_to_end(CHAIN, toy_chain.Params(), 1)
