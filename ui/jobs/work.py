"""What jobs do, in this thread or in worker processes.

Work that holds Python's lock keeps the server from answering, whichever thread it is in. So pools
that take more than a second, studies of many parts, and pictures that took longer than moments are
computed by worker processes.
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from abcdp_core import studies
from abcdp_core.base import cache
from abcdp_core.models import pool
from abcdp_core.run import runner, store, workers
from ui.jobs.job import Job, Preparation, Request

if TYPE_CHECKING:
    from abcdp_core.posterior.rounds import Draws, TaskMap

T = TypeVar("T")
R = TypeVar("R")

MOMENTS, SLOW_AFTER = 0.5, 2
"""Seconds of processor time that a quick picture takes at most, and pictures in a row that take
longer until they count as slow: the first may have been the one that loaded the study."""

_slow: Counter[tuple[str, str]] = Counter()
"""Experiment and scenario -> pictures in a row that took longer."""


def of(request: Request | Preparation, *, long: bool) -> Callable[[Job], object]:
    """Return what is to be done for a request; a long study has many parts, which are kept."""
    if isinstance(request, Preparation):
        make = request.make
        return lambda job: make(job.progress)
    return functools.partial(_study, request, long=long)


def is_heavy(request: Request | Preparation, *, long: bool, limited: bool) -> bool:
    """Return whether a request takes more than moments of this process."""
    if isinstance(request, Preparation):
        return True
    if store.is_shipped(request.experiment, request.params, request.seed):
        return False
    if long or missing_pools(request):
        return True
    may_be_long = getattr(studies.load(request.experiment), "MAY_BE_LONG", False)
    # A task in this process cannot be stopped at the limit.
    return (limited and may_be_long) or _slow[_kind(request)] >= SLOW_AFTER


def missing_pools(request: Request) -> list[pool.PoolKey]:
    """Return the public pools that have to be made first."""
    missing = getattr(studies.load(request.experiment), "missing_pools", None)
    return missing(request.params, request.seed) if missing else []


def _kind(request: Request) -> tuple[str, str]:
    return request.experiment, str(getattr(request.params, "scenario", ""))


def _study(request: Request, job: Job, *, long: bool) -> None:
    asked = studies.load(request.experiment), request.params, request.seed
    if store.is_shipped(request.experiment, request.params, request.seed):
        job.grow(store.shipped(*asked))
        return
    pool.make(missing_pools(request), job.progress)
    if is_heavy(request, long=long, limited=job.limit is not None):
        kept = store.Store(cache.folder() / "tasks") if long else None
        with _parts() as executor:
            results = runner.run(*asked, executor, kept, check=job.check)
            with contextlib.closing(results):
                for result in results:
                    job.grow(result)
        return
    began = time.thread_time()
    job.grow(runner.run_to_end(*asked, job.check))
    took_longer = time.thread_time() - began > MOMENTS
    _slow[_kind(request)] = _slow[_kind(request)] + 1 if took_longer else 0


def in_parts(work: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
    """Yield what comes of tasks, in order, done as the parts of a pool are."""
    with _parts() as executor:
        yield from executor.map(work, tasks)


def simulations(job: Job, most: int) -> TaskMap:
    """Return a function that simulates for a posterior and shows the job's progress."""
    done = 0

    def each(
        name: str,  # noqa: ARG001 - part of the interface
        task: Callable[[Any], Draws],
        tasks: Sequence[Any],
    ) -> Iterable[Draws]:
        nonlocal done
        for draws in in_parts(task, tasks):
            done += len(draws)
            job.progress(min(done / most, 1.0))
            yield draws

    job.progress(0.0)
    return each


def seconds_to_simulate(job: Job) -> float:
    """Return the seconds for simulations, for chains and for the check of the fit, a third each."""
    return math.inf if job.limit is None else job.limit / 3.0


@contextlib.contextmanager
def _parts() -> Iterator[Executor]:
    executor = PartsExecutor()
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


_loading: Future[Any] | None = None
_starting = threading.Lock()


def processes() -> Executor | None:
    """Return the worker processes; ``None`` until one has loaded a study, which takes seconds."""
    global _loading
    with _starting:
        if _loading is None:
            _loading = workers.processes().submit(studies.load, "posterior")
    return workers.processes() if _loading.done() else None


def stop_processes() -> None:
    """Let go of the worker processes, whatever they are doing."""
    if _loading is not None:
        workers.processes().shutdown()


class PartsExecutor(ThreadPoolExecutor):
    """Do the parts of a study or a pool: in these threads for a second, then in worker processes.

    What is small starts no process. No more parts than there are threads are with the processes at
    a time, so other jobs get their turns between them.
    """

    ALONE = 1.0

    def __init__(self) -> None:
        super().__init__(workers.processor_count())
        self._began = time.monotonic()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a part done."""
        return super().submit(self._do, fn, *args, **kwargs)

    def _do(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        alone = time.monotonic() - self._began < self.ALONE
        executor = None if alone else processes()
        if executor is not None:
            # Workers that were lost are replaced at the next part.
            with contextlib.suppress(BrokenExecutor):
                return executor.submit(fn, *args, **kwargs).result()
        return fn(*args, **kwargs)
