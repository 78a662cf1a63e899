"""Who does the work: processes on this machine or a Dask scheduler's workers, with their plug-ins.

An executor is any of ``concurrent.futures``; ``None`` stands for the calling thread. A pool of
processes that lost one (killed, or out of memory) starts new ones at the next task; what it was
doing is the runner's to give out again. Workers end with the process that started them, however
that ends.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import hashlib
import importlib.util
import logging
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
)
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from abcdp_core import fingerprint, interruption, registry, threads
from abcdp_core.experiments import Link
from abcdp_core.interruption import held
from abcdp_core.parameters import ParameterError

log = logging.getLogger(__name__)


class LostWorkersError(BrokenExecutor):
    """Work cannot go on because who did it is gone; a sentence says what to do about it."""


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
            try:
                _shared[count] = Processes(count)
            except NO_PROCESSES as error:
                _say_without(error)
                _shared[count] = ThreadPoolExecutor(count)
        return _shared[count]


_shared: dict[int, Executor] = {}
_sharing = threading.Lock()
# Pools that are left to be taken apart with the interpreter complain about it.
atexit.register(_shared.clear)

NICENESS = 10
"""By how much workers give way to other processes."""

IDLE_SECONDS = 300
"""Worker processes with nothing to do end after this time; new ones start when there is work."""


NO_THREAD = "can't start new thread"
"""What Python says where a system lets its user start no more; there is no error of its own."""

NO_PROCESSES = (OSError, ImportError)
"""What is raised where the system has no shared semaphores, which worker processes need."""


def _say_without(error: Exception) -> None:
    log.warning("no worker processes can be started here (%s): working without", error)


class Processes(Executor):
    """Worker processes on this machine; where one was lost all are replaced at the next task.

    Raises:
        OSError, ImportError: there can be none here.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._changing = threading.Lock()
        self._ended = False
        # With the first pool begins a process that counts what all share, and stays.
        with held(), _spared():
            self._pool = _new_pool(count)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Give out a call.

        Raises:
            LostWorkersError: the system starts no process, as without file handles left.
        """
        with held(), _spared(), self._changing:
            try:
                return self._given_out(fn, *args, **kwargs)
            except (OSError, RuntimeError) as error:
                if isinstance(error, RuntimeError) and NO_THREAD not in str(error):
                    raise
                why = getattr(error, "strerror", None) or error
                raise LostWorkersError(
                    f"worker processes cannot be started ({why}): fewer workers may do, one worker "
                    "needs none."
                ) from error

    def _given_out(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any]
        try:
            future = self._pool.submit(fn, *args, **kwargs)
        except BrokenExecutor:
            if self._ended:
                raise
            self._pool = _new_pool(self.count)
            future = self._pool.submit(fn, *args, **kwargs)
        return future

    def shutdown(self, *_: Any, **__: Any) -> None:
        """Let go of the workers, whatever they are doing; there is nothing to choose."""
        with held(), self._changing:
            self._ended = True
            # Of a thread that could not be started it says that it cannot be joined.
            with contextlib.suppress(RuntimeError):
                self._pool.shutdown(kill_workers=True)


def _new_pool(count: int) -> Any:
    from loky import ProcessPoolExecutor

    return ProcessPoolExecutor(
        max_workers=count,
        timeout=IDLE_SECONDS,
        initializer=_begin_worker,
        initargs=(registry.from_environment(),),
        env=threads.ONE_EACH,
    )


FROM_OUTSIDE = [number for number in interruption.NUMBERS if number != signal.SIGTERM]
"""Signals that a terminal or a batch system sends to workers too; who gave out the work alone
reacts to them. By TERM workers are ended."""


@contextlib.contextmanager
def _spared() -> Iterator[None]:
    """Let processes that are started meanwhile not be struck by these before they ignore them."""
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
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FROM_OUTSIDE)
    if hasattr(os, "nice"):
        # Whoever gave out the work stays quick to answer while all processors are busy.
        os.nice(NICENESS)
    # Where a thread is too much the worker ends when it was idle for long.
    with contextlib.suppress(RuntimeError):
        threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process soon after the one that started it, which may have been killed.

    Linux would send a signal, but already when the thread ends that started this process.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None
    if os.name == "posix":
        while os.getppid() == parent.pid:
            time.sleep(PARENT_SECONDS)
    else:
        parent.join()
    os._exit(1)


PARENT_SECONDS = 0.5
"""How often a worker looks whether its parent is there."""


class _Cluster(Executor):
    """The workers of a Dask scheduler; shutting down closes the connection, not the cluster."""

    def __init__(self, address: str) -> None:
        from distributed import Client

        # It tells of a lost scheduler in tracebacks; what matters of it is said in an error.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        self.client = Client(address, set_as_default=False, timeout=CONNECT_SECONDS)
        self.inner = self.client.get_executor(pure=False)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        # As one text: arrays that Dask takes out come back at odd places in memory, where sums have
        # other last digits.
        call = _Call(fingerprint.whole(), _named(), pickle.dumps((fn, args, kwargs)))
        with held():
            try:
                # What a worker without the program cannot load is loaded by the task: were it part
                # of the message, the worker would end and the task wait for ever.
                future: Future[Any] = self.inner.submit(pickle.loads, pickle.dumps(call))
            except Exception as error:
                if self.client.status == "running":
                    raise
                raise lost(self, 1) from error
            return _told(future)

    def width(self) -> int:
        """Tasks that all workers there are now can do at a time.

        Raises:
            LostWorkersError: no scheduler answers.
        """
        try:
            return sum(self.client.nthreads().values())
        except Exception as error:
            raise lost(self, 1) from error

    def shutdown(self, *_: Any, **__: Any) -> None:
        self.client.close()


@dataclass(frozen=True)
class _Call:
    """What :func:`_with_code` is given; it comes out of a pickle as what that comes to."""

    code: str
    named: dict[str, str]
    packed: bytes

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _with_code, (self.code, self.named, self.packed)


def _told(inner: Future[Any]) -> Future[Any]:
    """The same, but a worker that lacks the program, or what it needs, is said to be one."""
    outer: Future[Any] = Future()

    def over(_: Future[Any]) -> None:
        if inner.cancelled():
            outer.cancel()
        if not outer.set_running_or_notify_cancel():
            return
        error = inner.exception()
        if isinstance(error, ModuleNotFoundError):
            error = ParameterError(
                f"scheduler: one of its workers does not have all of this program ({error}); all "
                "have to have it."
            )
        if error is not None:
            outer.set_exception(error)
        else:
            outer.set_result(inner.result())

    outer.add_done_callback(lambda each: inner.cancel() if each.cancelled() else None)
    inner.add_done_callback(over)
    return outer


def _named() -> dict[str, str]:
    """Files that the environment names, with digests of their texts."""
    texts = registry.from_environment()
    return {Path(path).name: hashlib.sha256(text).hexdigest() for path, text in texts.items()}


def _with_code(code: str, named: Mapping[str, str], packed: bytes) -> Any:
    """In a worker of a cluster: do it if that is done by the code of who gave it out.

    Args:
        code: fingerprint of the program there.
        named: files that the environment names there, with digests of their texts.
        packed: what is to be done: a function, its arguments, and those that have names.

    Raises:
        ParameterError: another version would do it, whose results nobody could tell apart.
    """
    if fingerprint.whole() != code:
        raise ParameterError(
            "scheduler: one of its workers runs another version of this program, or of numpy; all "
            "have to run the same."
        )
    here = _named()
    for name, digest in named.items():
        if here.get(name) != digest:
            raise ParameterError(
                f"scheduler: {name}, which {registry.PLUGINS} names, is not named at one of its "
                "workers, or has another text there; all have to have the same."
            )
    fn, args, kwargs = pickle.loads(packed)
    return fn(*args, **kwargs)


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
    if importlib.util.find_spec("distributed") is None:
        raise ParameterError(
            f"scheduler = {address}: needs Dask, as in `pip install 'abcdp-explorer[cluster]'`."
        )
    full = address if "://" in address else f"tcp://{address}"
    wanted = "must be the address of a Dask scheduler like tcp://host:8786"
    try:
        # In a thread of its own: a notebook's has an event loop already.
        with ThreadPoolExecutor() as thread:
            thread.submit(asyncio.run, _ask_identity(full)).result()
        return _Cluster(full)
    except (ValueError, TypeError, ImportError):
        # Among them what Dask says of protocols that need more than an address.
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
        try:
            pool = Processes(workers)
        except NO_PROCESSES as error:
            _say_without(error)
            yield None
            return
        try:
            yield pool
        finally:
            pool.shutdown()


def is_loss(error: BaseException | None) -> bool:
    """Whether a task failed because who did it is gone, and not by itself."""
    distributed = sys.modules.get("distributed")
    killed = (distributed.KilledWorker,) if distributed else ()
    return isinstance(error, (BrokenExecutor, CancelledError, *killed))


def can_replace(executor: Executor) -> bool:
    """Whether an executor that lost workers takes the work again."""
    return isinstance(executor, Processes)


def lost(executor: Executor, times: int) -> LostWorkersError:
    """What to say when work is given up.

    Args:
        executor: whose workers are gone.
        times: how often a task was given out in vain.
    """
    if isinstance(executor, _Cluster):
        return LostWorkersError(
            "the Dask cluster lost its scheduler, or every worker that began a certain task."
        )
    return LostWorkersError(
        f"a worker process was lost {times} times at the same task: it was killed, as by a system "
        "short of memory, or crashed. Fewer workers or smaller sizes need less memory."
    )


def width(executor: Executor) -> int:
    """Tasks an executor can do at a time, at least 1."""
    if isinstance(executor, _Cluster):
        return max(executor.width(), 1)
    if isinstance(executor, Processes):
        return executor.count
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
    """In a worker: have the plug-ins, then unpickle what may need them, and do it."""
    with _plugged_in(sources):
        work, task = pickle.loads(packed)
        outcome = work(task)
        if isinstance(outcome, Link) and outcome.successor is not None:
            return Link(outcome.tables, _packed(work, outcome.successor))
        return outcome


_here: dict[str, ModuleType] = {}
"""File name -> plug-in that was added to this process because work needs it."""

_using: list[Sources] = []
"""What each task that goes on here needs: all of them the same."""

_used = threading.Condition()


@contextlib.contextmanager
def _plugged_in(sources: Sources) -> Iterator[None]:
    """Have these plug-ins, and of those of other tasks none, as long as work goes on.

    A worker of a cluster lives on from run to run, in which a file may have another text, and
    another file the same scenario; two runs may also go on at once in threads of it. So tasks that
    need others wait.
    """
    with _used:
        _used.wait_for(lambda: not _using or _using[0] == sources)
        if not _using:
            _plug_in(sources)
        _using.append(sources)
    try:
        yield
    finally:
        with _used:
            _using.pop()
            _used.notify_all()


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
