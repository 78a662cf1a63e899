"""Workers: processes on this machine or of a Dask cluster, with their plug-ins.

An executor is any of ``concurrent.futures``; ``None`` stands for the calling thread. A process pool
that lost a worker (killed, or out of memory) starts new ones at the next task; the runner submits
its unfinished tasks again. Workers end with the process that started them, however that ends.
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

from abcdp_core.base import interruption, libraries, registry
from abcdp_core.base.interruption import LostWorkersError as LostWorkersError
from abcdp_core.base.interruption import defer_signals
from abcdp_core.base.parameters import ParameterError
from abcdp_core.run.tasks import Chunk

# ------------------------------------------------------------------ processes


def processor_count() -> int:
    """Return the number of processors this process may use."""
    from loky import cpu_count

    return int(cpu_count())


def processes(workers: int | None = None) -> Executor:
    """Return worker processes on this machine; equal requests share them.

    Args:
        workers: their number, at least 1; one per processor if ``None``.
    """
    count = workers or processor_count()
    with _sharing:
        return _shared.setdefault(count, Processes(count))


_shared: dict[int, Executor] = {}
_sharing = threading.Lock()
# Pools that the interpreter has to destroy complain.
atexit.register(_shared.clear)

NICENESS = 10
"""Niceness of workers, so that they give way to other processes."""

IDLE_SECONDS = 300
"""Seconds after which idle workers end; new ones start when there is work."""

PARENT_SECONDS = 0.5
"""Seconds between two checks of a worker whether its parent is there."""

FROM_OUTSIDE = [number for number in interruption.NUMBERS if number != signal.SIGTERM]
"""Signals that a terminal also sends to workers, although only their parent should react. TERM is
how workers are ended."""


class Processes(Executor):
    """Worker processes on this machine; after one is lost, all are replaced at the next task."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._changing = threading.Lock()
        self._pool: Any = None
        self._ended = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call.

        Raises:
            LostWorkersError: the system cannot start processes, for example without file handles.
        """
        with defer_signals(), _spared(), self._changing:
            if self._ended:
                raise BrokenExecutor("these workers were shut down.")
            try:
                with contextlib.suppress(BrokenExecutor):
                    if self._pool is not None:
                        return self._pool.submit(fn, *args, **kwargs)
                self._pool = _new_pool(self.count)
                return self._pool.submit(fn, *args, **kwargs)
            except (OSError, RuntimeError) as error:
                # A thread that cannot be started raises the latter.
                raise LostWorkersError(
                    f"worker processes cannot be started ({error}): use fewer workers; one worker "
                    "needs no process."
                ) from error

    def width(self) -> int:
        """Return the number of tasks that run at a time."""
        return self.count

    def shutdown(self, *_: Any, **__: Any) -> None:
        """Kill the workers, whatever they are doing; all arguments are ignored."""
        with defer_signals(), self._changing:
            self._ended = True
            # A thread that could not be started cannot be joined.
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
    """Start processes in the block with signals from outside blocked."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FROM_OUTSIDE)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_worker(named: Mapping[str, bytes]) -> None:
    """Prepare a worker process.

    Args:
        named: files named in the environment -> their texts in the parent process.
    """
    registry.take(named)
    for each in FROM_OUTSIDE:
        signal.signal(each, signal.SIG_IGN)
    if hasattr(os, "nice"):
        # The parent stays responsive while all processors are busy.
        os.nice(NICENESS)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process soon after its parent, which may have been killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    while os.getppid() == parent.pid:
        time.sleep(PARENT_SECONDS)
    os._exit(1)


@contextlib.contextmanager
def executor_for(workers: int, address: str | None = None) -> Iterator[Executor | None]:
    """Yield workers for one run and shut them down at its end.

    Args:
        workers: processes on this machine; for 1, ``None``: the calling thread does the work.
        address: address of a Dask scheduler to use instead.

    Raises:
        ParameterError: ``address`` is not an address, or nothing answers there.
    """
    if address is not None:
        # Inside the function, because most runs need no cluster.
        from abcdp_core.run.cluster import scheduler

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
    """Return whether a task failed because its worker is gone."""
    distributed = sys.modules.get("distributed")
    killed = (distributed.KilledWorker,) if distributed else ()
    return isinstance(error, (BrokenExecutor, CancelledError, *killed))


def can_replace(executor: Executor) -> bool:
    """Return whether an executor that lost workers accepts the work again."""
    return isinstance(executor, Processes)


def described(executor: Executor, error: BaseException) -> BaseException:
    """Return the error to raise for the error of a task."""
    from abcdp_core.run.cluster import NO_SCHEDULER, Cluster

    on_cluster = isinstance(executor, Cluster)
    if is_loss(error):
        return LostWorkersError(
            NO_SCHEDULER
            if on_cluster
            else "a worker process was lost again at the same task: it crashed or was killed, "
            "perhaps for lack of memory. Fewer workers or smaller sizes need less memory."
        )
    if on_cluster and isinstance(error, ModuleNotFoundError):
        return ParameterError(
            f"scheduler: one of its workers does not have all of this program ({error}); install "
            "it on all of them."
        )
    return error


def width(executor: Executor) -> int:
    """Return the number of tasks an executor runs at a time, at least 1."""
    if (own := getattr(executor, "width", None)) is not None:
        return max(own(), 1)
    return getattr(executor, "_max_workers", None) or processor_count()


# ------------------------------------------------------------------- plug-ins

Work = Callable[[Any], Any]
Sources = tuple[tuple[str, bytes], ...]


def with_plug_ins(work: Work, files: Sequence[Path]) -> tuple[Work, Callable[[Any], bytes]]:
    """Wrap work for workers that first have to add this process's plug-ins.

    Args:
        work: function of a task.
        files: the plug-ins.

    Returns:
        The wrapped work, and a function that packs a task into its argument.
    """
    # With their texts when this process added them; the files may have changed since.
    sources = tuple((file.name, registry.text_of(file)) for file in files)
    return functools.partial(_plug_in_and_work, sources), functools.partial(_packed, work)


def _packed(work: Work, task: Any) -> bytes:
    return pickle.dumps((work, task))


def _plug_in_and_work(sources: Sources, packed: bytes) -> Any:
    """In a worker, add the plug-ins, then unpickle the task, which may need them, and run it.

    A cluster's worker serves several runs, in which a file may have other texts, and may have
    several threads, so tasks run one at a time.
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
"""File name -> plug-in that was added to this worker for its tasks."""


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
