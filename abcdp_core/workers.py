"""Who does the work: processes on this machine or a Dask cluster's workers, with their plug-ins.

An executor is any of ``concurrent.futures``; ``None`` stands for the calling thread. A pool of
processes that lost one (killed, or out of memory) starts new ones at the next task; what it was
doing is the runner's to give out again. Workers end with the process that started them, however
that ends.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from pathlib import Path
from types import ModuleType
from typing import Any

from abcdp_core import interruption, libraries, registry
from abcdp_core.interruption import LostWorkersError as LostWorkersError
from abcdp_core.interruption import held
from abcdp_core.parameters import ParameterError
from abcdp_core.studies import Chunk

# ------------------------------------------------------------------ processes


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
        return _shared.setdefault(count, Processes(count))


_shared: dict[int, Executor] = {}
_sharing = threading.Lock()
# Pools that are left to be taken apart with the interpreter complain about it.
atexit.register(_shared.clear)

NICENESS = 10
"""By how much workers give way to other processes."""

IDLE_SECONDS = 300
"""Worker processes with nothing to do end after this time; new ones start when there is work."""

PARENT_SECONDS = 0.5
"""How often a worker looks whether its parent is there."""

FROM_OUTSIDE = [number for number in interruption.NUMBERS if number != signal.SIGTERM]
"""Signals that a terminal sends to workers too, to which only their parent is to react. By TERM
workers are ended."""


class Processes(Executor):
    """Worker processes on this machine; where one was lost all are replaced at the next task."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._changing = threading.Lock()
        self._pool: Any = None
        self._ended = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Give out a call.

        Raises:
            LostWorkersError: the system starts no process, as without file handles left.
        """
        with held(), _spared(), self._changing:
            if self._ended:
                raise BrokenExecutor("these workers were let go.")
            try:
                return self._given_out(fn, *args, **kwargs)
            except (OSError, RuntimeError) as error:
                # The latter is said where a thread cannot be started.
                raise LostWorkersError(
                    f"worker processes cannot be started ({error}): fewer workers may do, one "
                    "worker needs none."
                ) from error

    def _given_out(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        with contextlib.suppress(BrokenExecutor):
            if self._pool is not None:
                return self._pool.submit(fn, *args, **kwargs)
        self._pool = _new_pool(self.count)
        return self._pool.submit(fn, *args, **kwargs)

    def width(self) -> int:
        """Tasks that all can do at a time."""
        return self.count

    def shutdown(self, *_: Any, **__: Any) -> None:
        """Let go of the workers, whatever they are doing; there is nothing to choose."""
        with held(), self._changing:
            self._ended = True
            # Of a thread that could not be started it says that it cannot be joined.
            with contextlib.suppress(RuntimeError):
                if self._pool is not None:
                    self._pool.shutdown(kill_workers=True)


def _new_pool(count: int) -> Any:
    from loky import ProcessPoolExecutor

    return ProcessPoolExecutor(
        max_workers=count,
        timeout=IDLE_SECONDS,
        initializer=_begin_worker,
        initargs=(registry.from_environment(),),
        env=libraries.ONE_THREAD,
    )


@contextlib.contextmanager
def _spared() -> Iterator[None]:
    """Let processes that are started meanwhile be struck by no signal from outside, ever."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FROM_OUTSIDE)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_worker(named: Mapping[str, bytes]) -> None:
    """What a worker process does first.

    Args:
        named: files that the environment names, with their texts in the process that started it.
    """
    registry.take(named)
    for each in FROM_OUTSIDE:
        signal.signal(each, signal.SIG_IGN)
    if hasattr(os, "nice"):
        # Whoever gave out the work stays quick to answer while all processors are busy.
        os.nice(NICENESS)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process soon after the one that started it, which may have been killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    while os.getppid() == parent.pid:
        time.sleep(PARENT_SECONDS)
    os._exit(1)


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
        # Inside the function, as below: most work is done here.
        from abcdp_core.cluster import scheduler

        with scheduler(address) as cluster:
            yield cluster
    elif workers == 1:
        yield None
    else:
        pool = Processes(workers)
        try:
            yield pool
        finally:
            pool.shutdown()


# --------------------------------------------------------------- lost workers


def is_loss(error: BaseException | None) -> bool:
    """Whether a task failed because who did it is gone, and not by itself."""
    distributed = sys.modules.get("distributed")
    killed = (distributed.KilledWorker,) if distributed else ()
    return isinstance(error, (BrokenExecutor, CancelledError, *killed))


def can_replace(executor: Executor) -> bool:
    """Whether an executor that lost workers takes the work again."""
    return isinstance(executor, Processes)


def described(executor: Executor, error: BaseException) -> BaseException:
    """What to raise for an error that a task ended with."""
    from abcdp_core.cluster import NO_SCHEDULER, Cluster

    on_cluster = isinstance(executor, Cluster)
    if is_loss(error):
        return LostWorkersError(
            NO_SCHEDULER
            if on_cluster
            else "a worker process was lost again at the same task: it was killed, as by a system "
            "short of memory, or crashed. Fewer workers or smaller sizes need less memory."
        )
    if on_cluster and isinstance(error, ModuleNotFoundError):
        return ParameterError(
            f"scheduler: one of its workers does not have all of this program ({error}); all have "
            "to have it."
        )
    return error


def width(executor: Executor) -> int:
    """Tasks an executor can do at a time, at least 1."""
    if (own := getattr(executor, "width", None)) is not None:
        return max(own(), 1)
    return getattr(executor, "_max_workers", None) or processor_count()


# ------------------------------------------------------------------- plug-ins

Work = Callable[[Any], Any]
Sources = tuple[tuple[str, bytes], ...]


def with_plug_ins(work: Work, files: Sequence[Path]) -> tuple[Work, Callable[[Any], bytes]]:
    """Work for workers that first have to add this process's plug-ins.

    Args:
        work: what is to be done with a task.
        files: the plug-ins.

    Returns:
        The same work, and what makes of a task that which has to be given to it.
    """
    # As they were when this process added them: since then they may have changed, or gone.
    sources = tuple((file.name, registry.text_of(file)) for file in files)
    return functools.partial(_plug_in_and_work, sources), functools.partial(_packed, work)


def _packed(work: Work, task: Any) -> bytes:
    return pickle.dumps((work, task))


def _plug_in_and_work(sources: Sources, packed: bytes) -> Any:
    """In a worker: have the plug-ins, then unpickle what may need them, and do it.

    A worker of a cluster lives on from run to run, in which a file may have another text, and may
    have several threads; so one of them works at a time.
    """
    with _one_at_a_time:
        _plug_in(sources)
        work, task = pickle.loads(packed)
        outcome = work(task)
    if isinstance(outcome, Chunk) and outcome.successor is not None:
        return Chunk(outcome.tables, _packed(work, outcome.successor))
    return outcome


_one_at_a_time = threading.Lock()

_here: dict[str, ModuleType] = {}
"""File name -> plug-in that was added to this process because work needs it."""


def _plug_in(sources: Sources) -> None:
    for name in set(_here) - {name for name, _ in sources}:
        registry.remove(_here.pop(name))
    for name, text in sources:
        if registry.has(name, text):
            continue
        if name in _here:
            registry.remove(_here.pop(name))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / name
            file.write_bytes(text)
            _here[name] = registry.add_file(file)
