"""Who does the work: processes on this machine or a Dask scheduler's workers, with their plug-ins.

An executor is any of ``concurrent.futures``; ``None`` stands for the calling thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import pickle
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from abcdp_core import registry
from abcdp_core.experiments import Link
from abcdp_core.parameters import ParameterError


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


def forget(broken: Executor) -> None:
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


def width(executor: Executor) -> int:
    """Tasks an executor can do at a time, at least 1."""
    if isinstance(executor, _Cluster):
        return max(executor.width(), 1)
    return getattr(executor, "_max_workers", None) or os.cpu_count() or 1


# ------------------------------------------------------------------- plug-ins

Work = Callable[[Any], Any]
Sources = tuple[tuple[str, str], ...]
_present: set[Sources] = set()
_adding = threading.Lock()


def with_plug_ins(work: Work, files: Sequence[Path]) -> tuple[Work, Callable[[Any], bytes]]:
    """Work for workers that first have to add this process's plug-ins.

    Args:
        work: what is to be done with a task.
        files: the plug-ins.

    Returns:
        The same work, and what makes of a task that which has to be given to it.
    """
    sources = tuple((file.name, file.read_text(encoding="utf-8")) for file in files)
    _present.add(sources)
    return functools.partial(_plug_in_and_work, sources), functools.partial(_packed, work)


def _packed(work: Work, task: Any) -> bytes:
    return pickle.dumps((work, task))


def _plug_in_and_work(sources: Sources, packed: bytes) -> Any:
    """In a worker: add the plug-ins, once, then unpickle what may need them, and do it."""
    with _adding, tempfile.TemporaryDirectory() as folder:
        if sources not in _present:
            for name, text in sources:
                file = Path(folder) / name
                file.write_text(text, encoding="utf-8")
                registry.add_file(file)
            _present.add(sources)
    work, task = pickle.loads(packed)
    outcome = work(task)
    if isinstance(outcome, Link) and outcome.successor is not None:
        return Link(outcome.tables, _packed(work, outcome.successor))
    return outcome
