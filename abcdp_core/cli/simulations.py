"""Run the simulations for a posterior, first in this process and then in workers."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from abcdp_core.base.interruption import defer_signals
from abcdp_core.cli import progress
from abcdp_core.posterior.rounds import TaskMap
from abcdp_core.run.workers import LostWorkersError, executor_for, width, with_plug_ins

AHEAD = 2
"""Tasks submitted ahead for each worker."""

ALONE = 1.0
"""Seconds before workers are started; starting takes about as long."""


@contextmanager
def done_by(count: int, plugins: Sequence[Path] = ()) -> Iterator[TaskMap]:
    """Give a function that does tasks in order, with so many workers, and shows progress."""
    began = time.monotonic()
    with ExitStack() as stack:
        executor: Executor | None = None

        def each(name: str, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterable[Any]:
            nonlocal executor
            waiting = deque(tasks)
            with progress.of_tasks(len(tasks), name, leave=False) as bar:
                while waiting and (count == 1 or time.monotonic() - began < ALONE):
                    yield work(waiting.popleft())
                    bar.update()
                if waiting and executor is None:
                    executor = stack.enter_context(executor_for(count))
                for draws in _given(executor, work, waiting, plugins):
                    bar.update()
                    yield draws

        yield each


def _given(
    executor: Executor | None,
    work: Callable[[Any], Any],
    tasks: Iterable[Any],
    plugins: Sequence[Path],
) -> Iterable[Any]:
    """Yield the results in order; few tasks are submitted ahead, so that all can stop soon."""
    if executor is None:
        yield from map(work, tasks)
        return
    plugged, packed = with_plug_ins(work, plugins)
    waiting, running = iter(tasks), deque[Future[Any]]()
    try:
        while True:
            with defer_signals():
                for task in itertools.islice(waiting, AHEAD * width(executor) - len(running)):
                    running.append(executor.submit(plugged, packed(task)))
            if not running:
                return
            yield running.popleft().result()
    except (BrokenExecutor, CancelledError) as error:
        raise LostWorkersError(
            "a worker process crashed or was killed, perhaps because memory ran out. --workers 1 "
            "uses no worker processes."
        ) from error
