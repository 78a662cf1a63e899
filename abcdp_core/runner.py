"""Runs an experiment's tasks on any executor and yields growing results.

The command line, the pages and the tests call the same :func:`run`; what it may be given to work
with comes from here too. Closing the iterator cancels; a store folder lets a later run resume.
Results do not depend on the executor, on the number of workers or on the order in which tasks
finish.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from pathlib import Path
from typing import Any

import pandas as pd

from abcdp_core import cache, workers
from abcdp_core.experiments import Experiment, Link
from abcdp_core.parameters import Params
from abcdp_core.results import Result, Tables
from abcdp_core.store import Store
from abcdp_core.workers import executor_for

__all__ = ["Store", "executor_for", "run", "run_to_end"]

YIELD_EVERY = 0.25
"""Seconds between two partial results, at least."""

YIELD_SHARE = 0.1
"""Largest share of the time that goes into partial results; a large one comes less often."""

IN_FLIGHT_PER_WORKER = 2
"""Tasks handed out ahead of time: enough to keep workers busy, few enough to cancel fast."""


def run(
    experiment: Experiment,
    params: Params,
    seed: int,
    executor: Executor | None = None,
    store: Store | None = None,
    plugins: Sequence[Path] = (),
) -> Generator[Result]:
    """Run an experiment; yield a result whenever enough new tasks are done, and the last one.

    Args:
        experiment: which.
        params: its parameters.
        seed: root seed of all random numbers.
        executor: where tasks run; in this thread if ``None``.
        store: finished tasks are taken from and kept in it.
        plugins: files that were added to this process and that workers need as well.
    """
    tasks = experiment.tasks(params, seed)
    total = sum(_links(task) for task in tasks)
    parts: dict[int, list[Tables]] = {}
    done, due = 0, -float("inf")
    with contextlib.closing(_finish(experiment, tasks, executor, store, plugins)) as finished:
        for index, tables, links in finished:
            parts.setdefault(index, []).append(tables)
            done += links
            started = time.monotonic()
            if done == total or started >= due:
                result = _collect(experiment, params, parts)
                taken = time.monotonic() - started
                yield dataclasses.replace(result, seed=seed, done=done, total=total)
                due = time.monotonic() + max(YIELD_EVERY, taken / YIELD_SHARE)


def run_to_end(experiment: Experiment, params: Params, seed: int) -> Result:
    """The complete result, computed in this thread."""
    *_, result = run(experiment, params, seed)
    return result


def _collect(
    experiment: Experiment, params: Params, parts: Mapping[int, Sequence[Tables]]
) -> Result:
    return experiment.collect(params, _joined([part for i in sorted(parts) for part in parts[i]]))


def _joined(parts: Sequence[Tables]) -> Tables:
    """One table for each name, rows in the order of the parts."""
    if len(parts) == 1:
        return parts[0]
    joined = {}
    for name, first in parts[0].items():
        # Most links of a chain may have no row; they would cost as much as those that have.
        filled = [tables[name] for tables in parts if len(tables[name])] or [first]
        joined[name] = pd.concat(filled, ignore_index=True)
    return joined


def _links(task: Any) -> int:
    """Parts that a task is done in."""
    return int(getattr(task, "links", 1))


Work = Callable[[Any], Tables | Link]
Missing = list[tuple[int, Any, cache.Entry | None]]
Done = Generator[tuple[int, cache.Entry | None, Link]]


def _finish(
    experiment: Experiment,
    tasks: list[Any],
    executor: Executor | None,
    store: Store | None,
    plugins: Sequence[Path],
) -> Generator[tuple[int, Tables, int]]:
    """Index, tables and number of links of what is done, part by part; what is stored first."""
    missing: Missing = []
    entries = store.entries(experiment, tasks) if store else [None] * len(tasks)
    for index, (task, entry) in enumerate(zip(tasks, entries, strict=True)):
        stored = store.load(entry) if store and entry else None
        if stored is None:
            missing.append((index, task, entry))
        else:
            yield index, stored, _links(task)
    work: Work = experiment.work
    if executor is not None and plugins:
        work, packed = workers.with_plug_ins(work, plugins)
        missing = [(index, packed(task), entry) for index, task, entry in missing]
    turns = _in_turn(work, missing) if executor is None else _at_once(work, missing, executor)
    parts: dict[int, list[Tables]] = {}
    with contextlib.closing(turns) as done:
        for index, entry, link in done:
            parts.setdefault(index, []).append(link.tables)
            if link.successor is None:
                whole = _joined(parts.pop(index))
                if store is not None and entry is not None:
                    store.save(entry, whole)
            yield index, link.tables, 1


def _link(outcome: Tables | Link) -> Link:
    """What is done in one go is the last link of its chain."""
    return outcome if isinstance(outcome, Link) else Link(outcome, None)


def _in_turn(work: Work, missing: Missing) -> Done:
    for index, task, entry in missing:
        while task is not None:
            link = _link(work(task))
            yield index, entry, link
            task = link.successor


def _at_once(work: Work, missing: Missing, executor: Executor) -> Done:
    waiting = iter(missing)
    running: dict[Future[Tables | Link], tuple[int, cache.Entry | None]] = {}
    try:
        while True:
            room = IN_FLIGHT_PER_WORKER * workers.width(executor) - len(running)
            for index, task, entry in itertools.islice(waiting, max(room, 0)):
                running[executor.submit(work, task)] = (index, entry)
            if not running:
                return
            ready, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ready:
                index, entry = running.pop(future)
                link = _link(future.result())
                if link.successor is not None:
                    running[executor.submit(work, link.successor)] = (index, entry)
                yield index, entry, link
    except BrokenExecutor:
        workers.forget(executor)
        raise
    finally:
        for future in running:
            future.cancel()
