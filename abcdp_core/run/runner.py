"""Run the tasks of a study on any executor and yield growing results.

The command line, the pages and the tests all call :func:`run`. Closing the iterator cancels; a
store folder lets a later run resume. Results do not depend on the executor, the number of workers
or the order in which tasks finish. Tasks of lost workers are done again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import pandas as pd

from abcdp_core.base.interruption import defer_signals
from abcdp_core.base.parameters import ParameterError, Params
from abcdp_core.run import workers
from abcdp_core.run.experiment import Experiment
from abcdp_core.run.results import Result, Tables
from abcdp_core.run.store import Store
from abcdp_core.run.tasks import Chunk
from abcdp_core.run.workers import executor_for

__all__ = ["Store", "executor_for", "joined", "run", "run_to_end"]

YIELD_EVERY = 0.25
"""Least number of seconds between two partial results."""

YIELD_SHARE = 0.1
"""Largest share of the time spent on partial results; large ones come less often."""

IN_FLIGHT_PER_WORKER = 2
"""Tasks submitted per worker: enough to keep it busy, few enough to cancel fast."""

CHECK_EVERY = 1.0
"""Seconds between two checks whether to go on waiting."""

Check = Callable[[], None]
"""Raises an error to end a run."""


def run(
    experiment: Experiment,
    params: Params,
    seed: int,
    executor: Executor | None = None,
    store: Store | None = None,
    plugins: Sequence[Path] = (),
    check: Check | None = None,
) -> Generator[Result]:
    """Run a study; yield partial results as tasks finish, then the complete one.

    Before it raises, it yields a last result with all finished tasks, also at Ctrl-C and if memory
    runs out.

    Args:
        experiment: the study.
        params: its parameters.
        seed: root seed of all random numbers.
        executor: where tasks run; in this thread if ``None``.
        store: where finished tasks are read and kept.
        plugins: files that were added to this process and that workers need, too.
        check: called between tasks, and every :data:`CHECK_EVERY` seconds while waiting; an error
            it raises ends the run. Workers finish the tasks they have begun.

    Raises:
        LostWorkersError: workers were lost twice at the same task.
        ParameterError: a cluster's worker or your own model cannot be used.
    """
    begun = time.monotonic()
    tasks = experiment.tasks(params, seed)
    total = sum(_links(task) for task in tasks)
    parts: dict[int, list[Tables]] = {}
    done, kept, unsaid, due = 0, 0, False, -float("inf")

    def result_now() -> Result:
        rows = joined([part for index in sorted(parts) for part in parts[index]])
        result = experiment.collect(params, rows)
        run_time = time.monotonic() - begun
        return dataclasses.replace(
            result, seed=seed, done=done, total=total, kept=kept, run_time=run_time
        )

    try:
        with contextlib.closing(
            _finish(experiment, tasks, executor, store, plugins, check)
        ) as finished:
            for index, tables, links, is_stored in finished:
                of_task = parts.setdefault(index, [])
                of_task.append(tables)
                if len(of_task) == _links(tasks[index]):
                    # Each table takes kilobytes, however few rows it has.
                    parts[index] = [joined(of_task)]
                done += links
                unsaid = True
                kept += links if is_stored else 0
                started = time.monotonic()
                if done == total or started >= due:
                    result = result_now()
                    taken = time.monotonic() - started
                    unsaid = False
                    yield result
                    due = time.monotonic() + max(YIELD_EVERY, taken / YIELD_SHARE)
    except (KeyboardInterrupt, MemoryError, BrokenExecutor, ParameterError):
        if unsaid:
            yield result_now()
        raise


def run_to_end(
    experiment: Experiment, params: Params, seed: int, check: Check | None = None
) -> Result:
    """Return the complete result, computed in this thread.

    Args:
        experiment: a module of ``abcdp_core.studies``, as from ``studies.load``.
        params: its ``Params``.
        seed: root seed of all random numbers, from 0.
        check: called between tasks; an error it raises ends the run.
    """
    *_, result = run(experiment, params, seed, check=check)
    return result


def joined(parts: Sequence[Tables]) -> Tables:
    """Concatenate the tables of each name, in the order of the parts."""
    first, *others = parts
    if not others:
        return first
    whole = {}
    for name, table in first.items():
        # Empty tables, as of most links of a chain, would take as long as full ones.
        filled = [tables[name] for tables in parts if len(tables[name])] or [table]
        whole[name] = pd.concat(filled, ignore_index=True)
    return whole


def _links(task: Any) -> int:
    """Return the number of links of a task."""
    return int(getattr(task, "links", 1))


Work = Callable[[Any], Tables | Chunk]
Missing = list[tuple[int, Any]]
Done = Generator[tuple[int, Chunk]]


def _finish(
    experiment: Experiment,
    tasks: list[Any],
    executor: Executor | None,
    store: Store | None,
    plugins: Sequence[Path],
    check: Check | None,
) -> Generator[tuple[int, Tables, int, bool]]:
    """Yield index, tables, number of links and whether they were stored; stored tasks first."""
    missing: Missing = []
    entries = store.entries(experiment, tasks) if store else []
    for index, task in enumerate(tasks):
        stored = store.load(entries[index]) if store else None
        if stored is None:
            missing.append((index, task))
        else:
            yield index, stored, _links(task), True
    work: Work = experiment.work
    if executor is not None and plugins:
        work, packed = workers.with_plug_ins(work, plugins)
        missing = [(index, packed(task)) for index, task in missing]
    turns = (
        _in_turn(work, missing, check)
        if executor is None
        else _at_once(work, missing, executor, check)
    )
    parts: dict[int, list[Tables]] = {}
    with contextlib.closing(turns) as done:
        for index, link in done:
            parts.setdefault(index, []).append(link.tables)
            if link.successor is None:
                whole = joined(parts.pop(index))
                if store:
                    store.save(entries[index], whole)
            yield index, link.tables, 1, False


def _link(outcome: Tables | Chunk) -> Chunk:
    """Return the outcome of a task as a link; a task without links is its own last one."""
    return outcome if isinstance(outcome, Chunk) else Chunk(outcome, None)


def _in_turn(work: Work, missing: Missing, check: Check | None) -> Done:
    for index, task in missing:
        while task is not None:
            if check is not None:
                check()
            link = _link(work(task))
            yield index, link
            task = link.successor


@dataclasses.dataclass(frozen=True)
class _Given:
    """A task, or the next link of one, for workers.

    Attributes:
        index: number of the task.
        task: argument of ``work``.
        alone: whether it runs alone, because workers were lost at it before: it then has all the
            memory, and no other task can be to blame.
    """

    index: int
    task: Any
    alone: bool = False


Ended = SimpleQueue[Future[Tables | Chunk]]


def _at_once(work: Work, missing: Missing, executor: Executor, check: Check | None) -> Done:
    fresh = (_Given(index, task) for index, task in missing)
    again: deque[_Given] = deque()
    alone: deque[_Given] = deque()
    running: dict[Future[Tables | Chunk], _Given] = {}
    ended: Ended = SimpleQueue()

    def due() -> list[_Given]:
        """Return what to submit: next links, then new tasks, then lost ones one at a time."""
        if any(given.alone for given in running.values()):
            return []
        room = max(IN_FLIGHT_PER_WORKER * workers.width(executor) - len(running), 0)
        chosen = [again.popleft() for _ in range(min(room, len(again)))]
        chosen += itertools.islice(fresh, room - len(chosen))
        return chosen if chosen or running or not alone else [alone.popleft()]

    try:
        while True:
            for given in due():
                with defer_signals():
                    future = executor.submit(work, given.task)
                    running[future] = given
                    future.add_done_callback(ended.put)
            if not running:
                return
            future = _next_ended(ended, check)
            given = running.pop(future)
            error = CancelledError() if future.cancelled() else future.exception()
            is_new_loss = workers.is_loss(error) and not given.alone
            if is_new_loss and workers.can_replace(executor):
                alone.append(dataclasses.replace(given, alone=True))
                continue
            if error is not None:
                raise workers.described(executor, error)
            link = _link(future.result())
            if link.successor is not None:
                again.append(_Given(given.index, link.successor))
            yield given.index, link
    finally:
        with defer_signals():
            for future in running:
                future.cancel()


def _next_ended(ended: Ended, check: Check | None) -> Future[Tables | Chunk]:
    """Wait for the future that ends next."""
    while check is not None:
        check()
        with contextlib.suppress(Empty):
            return ended.get(timeout=CHECK_EVERY)
    return ended.get()
