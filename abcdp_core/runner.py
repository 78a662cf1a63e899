"""Runs an experiment's tasks on any executor and yields growing results.

The only module that knows executors. The command line, the pages and the tests call the same
:func:`run`. Closing the iterator cancels; a store folder lets a later run resume. Results do not
depend on the executor, on the number of workers or on the order in which tasks finish.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import hashlib
import itertools
import json
import os
import pickle
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from abcdp_core import __version__, cache, registry
from abcdp_core.experiments import Experiment, Link
from abcdp_core.parameters import ParameterError, Params
from abcdp_core.results import Result, Tables

YIELD_EVERY = 0.25
"""Seconds between two partial results, at least."""

YIELD_SHARE = 0.1
"""Largest share of the time that goes into partial results; a large one comes less often."""

IN_FLIGHT_PER_WORKER = 2
"""Tasks handed out ahead of time: enough to keep workers busy, few enough to cancel fast."""


@dataclass(frozen=True)
class Store:
    """A folder of finished tasks, each in a file named after what it was asked.

    Attributes:
        folder: made when it is first needed.
        keep_all: whether it may grow without limit and holds whatever else is in it; otherwise it
            is part of a cache, which makes room.
    """

    folder: Path
    keep_all: bool = False

    def path(self, experiment: str, task: Any) -> Path:
        """The file of one task."""
        asked = json.dumps(
            {
                "version": __version__,
                "experiment": experiment,
                "kind": type(task).__name__,
                "task": dataclasses.asdict(task),
            },
            sort_keys=True,
        )
        return self.folder / f"task-{hashlib.sha256(asked.encode()).hexdigest()[:32]}.npz"

    def load(self, path: Path) -> Tables | None:
        """Tables of a finished task, ``None`` if it is not there or damaged."""
        arrays = cache.load(path)
        if arrays is None:
            return None
        tables: dict[str, dict[str, Any]] = {}
        for name, values in arrays.items():
            table, column = name.split("/", 1)
            tables.setdefault(table, {})[column] = values
        return {table: pd.DataFrame(columns) for table, columns in tables.items()}

    def save(self, path: Path, tables: Tables) -> None:
        """Keep the tables of a finished task."""
        arrays = {
            f"{name}/{column}": _plain(table[column])
            for name, table in tables.items()
            for column in table.columns
        }
        if not self.keep_all:
            cache.save(path, arrays)
            return
        # A cache makes room in the folder it writes to: that is one for this file alone.
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".part-", dir=self.folder) as beside:
            part = Path(beside) / path.name
            if cache.save(part, arrays):
                part.replace(path)


def _plain(column: pd.Series[Any]) -> np.ndarray[Any, Any]:
    """A column as an array that can be stored without pickle."""
    values = column.to_numpy()
    numeric = isinstance(values, np.ndarray) and values.dtype.kind in "biuf"
    return values if numeric else np.asarray(column.astype(str), dtype=str)


def processor_count() -> int:
    """Processors this process may use, which can be fewer than the machine has."""
    from loky import cpu_count

    return int(cpu_count())


def processes(workers: int | None = None) -> Executor:
    """A pool of worker processes on this machine; shared by all who ask for the same number.

    Args:
        workers: how many, at least 1; one per processor if ``None``.
    """
    count = workers or processor_count()
    with _sharing:
        if count not in _shared:
            _shared[count] = _new_pool(count)
        return _shared[count]


_shared: dict[int, Executor] = {}
_sharing = threading.Lock()

NICENESS = 10
"""By how much workers give way to other processes."""

IDLE_SECONDS = 300
"""Worker processes with nothing to do end after this time; new ones start when there is work."""


def _new_pool(count: int) -> Executor:
    from loky import ProcessPoolExecutor

    pool: Executor = ProcessPoolExecutor(
        max_workers=count, timeout=IDLE_SECONDS, initializer=_begin_worker
    )
    return pool


def _begin_worker() -> None:
    """What a worker process does first."""
    # A terminal sends Ctrl-C to workers too; only the process that gave out the work reacts.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        # Whoever gave out the work stays quick to answer while all processors are busy.
        os.nice(NICENESS)


def _forget(broken: Executor) -> None:
    """Let the next caller of :func:`processes` have a new pool."""
    with _sharing:
        for count in [count for count, pool in _shared.items() if pool is broken]:
            del _shared[count]


class _Cluster(Executor):
    """The workers of a Dask scheduler; shutting down closes the connection, not the cluster."""

    def __init__(self, address: str) -> None:
        from distributed import Client

        self.client = Client(address, set_as_default=False, timeout=CONNECT_SECONDS)
        self.inner = self.client.get_executor(pure=False)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = self.inner.submit(fn, *args, **kwargs)
        return future

    def width(self) -> int:
        """Tasks that all workers there are now can do at a time."""
        return sum(self.client.nthreads().values())

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.client.close()


CONNECT_SECONDS = 10
"""How long to knock at a scheduler."""


def scheduler(address: str) -> Executor:
    """The workers of a Dask scheduler, as an executor to be shut down after use.

    Workers may join and leave while it runs; as long as there is none, tasks wait.

    Args:
        address: such as ``tcp://host:8786``; without a protocol it is ``tcp``.

    Raises:
        ParameterError: ``address`` is none, or nothing answers there.
    """
    full = address if "://" in address else f"tcp://{address}"
    wanted = "must be the address of a Dask scheduler like tcp://host:8786"
    try:
        # In a thread of its own: a notebook's has an event loop already.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, _ask_identity(full)).result()
        return _Cluster(full)
    except ValueError:
        raise ParameterError(f"scheduler = {address}: {wanted}.") from None
    except OSError:
        raise ParameterError(
            f"scheduler = {address}: {wanted}; none answers there within {CONNECT_SECONDS} s."
        ) from None


async def _ask_identity(address: str) -> None:
    """Fails, unlike a Dask client, within its time and without a trace in the log."""
    from distributed import rpc

    async with rpc(address, timeout=CONNECT_SECONDS) as remote:
        await asyncio.wait_for(remote.identity(), CONNECT_SECONDS)


@contextlib.contextmanager
def executor_for(workers: int, address: str | None = None) -> Iterator[Executor | None]:
    """Workers for one run, let go at its end whatever they are doing.

    Args:
        workers: processes on this machine; for 1 there is no executor but the calling thread.
        address: of a Dask scheduler, to be used instead.

    Raises:
        ParameterError: ``address`` is none, or nothing answers there.
    """
    if address is not None:
        with scheduler(address) as cluster:
            yield cluster
    elif workers == 1:
        yield None
    else:
        pool: Any = _new_pool(workers)
        try:
            yield pool
        finally:
            pool.shutdown(wait=True, kill_workers=True)


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
Missing = list[tuple[int, Any, Path | None]]
Done = Generator[tuple[int, Path | None, Link]]


def _finish(
    experiment: Experiment,
    tasks: list[Any],
    executor: Executor | None,
    store: Store | None,
    plugins: Sequence[Path],
) -> Generator[tuple[int, Tables, int]]:
    """Index, tables and number of links of what is done, part by part; what is stored first."""
    missing: Missing = []
    for index, task in enumerate(tasks):
        path = store.path(experiment.EXPERIMENT, task) if store else None
        stored = store.load(path) if store and path else None
        if stored is None:
            missing.append((index, task, path))
        else:
            yield index, stored, _links(task)
    work: Work = experiment.work
    if executor is not None and plugins:
        work, missing = _taken_along(work, missing, plugins)
    turns = _in_turn(work, missing) if executor is None else _at_once(work, missing, executor)
    parts: dict[int, list[Tables]] = {}
    with contextlib.closing(turns) as done:
        for index, path, link in done:
            parts.setdefault(index, []).append(link.tables)
            if link.successor is None:
                whole = _joined(parts.pop(index))
                if store is not None and path is not None:
                    store.save(path, whole)
            yield index, link.tables, 1


def _link(outcome: Tables | Link) -> Link:
    """What is done in one go is the last link of its chain."""
    return outcome if isinstance(outcome, Link) else Link(outcome, None)


def _in_turn(work: Work, missing: Missing) -> Done:
    for index, task, path in missing:
        while task is not None:
            link = _link(work(task))
            yield index, path, link
            task = link.successor


def _at_once(work: Work, missing: Missing, executor: Executor) -> Done:
    waiting = iter(missing)
    running: dict[Future[Tables | Link], tuple[int, Path | None]] = {}
    try:
        while True:
            room = IN_FLIGHT_PER_WORKER * _width(executor) - len(running)
            for index, task, path in itertools.islice(waiting, max(room, 0)):
                running[executor.submit(work, task)] = (index, path)
            if not running:
                return
            ready, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ready:
                index, path = running.pop(future)
                link = _link(future.result())
                if link.successor is not None:
                    running[executor.submit(work, link.successor)] = (index, path)
                yield index, path, link
    except BrokenExecutor:
        _forget(executor)
        raise
    finally:
        for future in running:
            future.cancel()


def _width(executor: Executor) -> int:
    """Tasks an executor can do at a time, at least 1."""
    if isinstance(executor, _Cluster):
        return max(executor.width(), 1)
    return getattr(executor, "_max_workers", None) or os.cpu_count() or 1


Sources = tuple[tuple[str, str], ...]
_plugged_in: set[Sources] = set()
_plugging_in = threading.Lock()


def _taken_along(work: Work, missing: Missing, files: Sequence[Path]) -> tuple[Work, Missing]:
    """The same work for workers that first have to add this process's plug-ins."""
    sources = tuple((file.name, file.read_text(encoding="utf-8")) for file in files)
    _plugged_in.add(sources)
    packed = [(index, pickle.dumps((work, task)), path) for index, task, path in missing]
    return functools.partial(_plug_in_and_work, sources), packed


def _plug_in_and_work(sources: Sources, packed: bytes) -> Tables | Link:
    """In a worker: add the plug-ins, once, then unpickle what may need them, and do it."""
    with _plugging_in, tempfile.TemporaryDirectory() as folder:
        if sources not in _plugged_in:
            for name, text in sources:
                file = Path(folder) / name
                file.write_text(text, encoding="utf-8")
                registry.add_file(file)
            _plugged_in.add(sources)
    work, task = pickle.loads(packed)
    outcome: Tables | Link = work(task)
    if isinstance(outcome, Link) and outcome.successor is not None:
        return Link(outcome.tables, pickle.dumps((work, outcome.successor)))
    return outcome
