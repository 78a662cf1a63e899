"""What jobs do, step by step, and who does it: the threads of a lane or worker processes.

Work that holds Python's lock keeps the server from answering whatever thread it is in. So pools
that take more than a second are made by worker processes, and so are pictures that take longer
than moments.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any, TypeVar

from abcdp_core import cache, experiments, pool, runner, workers
from ui.job import Job, Lane, Preparation, Request, Steps, UnwantedError

T = TypeVar("T")
R = TypeVar("R")

MOMENTS = 0.5
"""Seconds of processor time that a quick picture takes at most."""

SLOW_AFTER = 2
"""Pictures in a row that took longer; the first one may have been the one that loaded the study."""

_longer: Counter[str] = Counter()
"""Experiment -> pictures in a row that took longer."""


def study(job: Job) -> Steps:
    """The study that a job's request asks for."""
    request = job.request
    if not isinstance(request, Request):
        raise TypeError("request: a study has one.")
    experiment = experiments.load(request.experiment)
    prepare: Callable[..., None] | None = getattr(experiment, "prepare", None)
    if prepare is not None:
        yield from _with_pools(job, lambda: prepare(request.params, request.seed, job.progress))
    # A task in this process cannot be stopped at the limit.
    may_be_long = job.is_limited and getattr(experiment, "MAY_BE_LONG", False)
    is_slow = may_be_long or _is_slow(request)
    lane: Lane = "long" if job.long else "slow" if is_slow else "quick"
    if job.lane != lane:
        yield lane
    if lane == "quick":
        yield from _with_pools(job, lambda: _picture(job, request))
    else:
        yield from _growing(job, request)


def preparation(job: Job) -> Steps:
    """What a job's request prepares."""
    if not isinstance(job.request, Preparation):
        raise TypeError("request: must be a preparation.")
    yield "slow"
    with pool.made_by(_Parts):
        job.request.make(job.progress)


def own(work: Callable[[Callable[[float], None]], Any]) -> Callable[[Job], Steps]:
    """What is done for one session alone, given what is to be told how far its pool is."""

    def steps(job: Job) -> Steps:
        with pool.made_by(_Parts):
            job.outcome = work(job.progress)
        yield from ()

    return steps


def in_parts(work: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
    """What comes of tasks, in order; they are done as parts of a pool are."""
    parts = _Parts()
    try:
        yield from parts.map(work, tasks)
    finally:
        parts.shutdown(wait=False, cancel_futures=True)


def _with_pools(job: Job, act: Callable[[], object]) -> Steps:
    """Do it; where a pool is missing, do it in the lane where pools are made."""
    try:
        with pool.made_by(None):
            act()
    except pool.MissingError as missing:
        job.pool = missing.key
    else:
        return
    yield "slow"
    try:
        with pool.made_by(_Parts):
            act()
    finally:
        job.pool = job.fraction = None


def _is_slow(request: Request) -> bool:
    return _longer[request.experiment] >= SLOW_AFTER


def _picture(job: Job, request: Request) -> None:
    """All of a study, in this thread."""
    began = time.thread_time()
    experiment = experiments.load(request.experiment)
    job.grow(runner.run_to_end(experiment, request.params, request.seed, job.check_limit))
    took_longer = time.thread_time() - began > MOMENTS
    _longer[request.experiment] = _longer[request.experiment] + 1 if took_longer else 0


def _growing(job: Job, request: Request) -> Steps:
    """A study by worker processes, a stretch at a time; tasks of a long one are kept."""
    results = runner.run(
        experiments.load(request.experiment),
        request.params,
        request.seed,
        _processes() or _threads,
        runner.Store(cache.folder() / "tasks") if job.long else None,
        # A picture under way is finished: who moves on and on would never see one.
        check=functools.partial(_check, job) if job.long else job.check_limit,
    )
    began = job.worked
    with contextlib.closing(results):
        for result in results:
            job.grow(result)
            if result.is_partial:
                _check(job)
                job.check_asked(job.worked - began)
                if job.stretch_is_over:
                    yield job.lane


def _check(job: Job) -> None:
    if not job.wanted:
        raise UnwantedError
    job.check_limit()


# ------------------------------------------------------------------------------- worker processes


def _processes() -> Executor | None:
    """Worker processes; ``None`` until one has loaded a study, which takes seconds."""
    global _started
    with _starting:
        if _started is None:
            _started = workers.processes().submit(experiments.load, "posterior")
    return workers.processes() if _started.done() else None


def let_go() -> None:
    """Let go of the worker processes at the server's end, whatever they are doing."""
    if _started is not None:
        workers.processes().shutdown()


_started: Future[experiments.Experiment] | None = None
_starting = threading.Lock()
_threads = ThreadPoolExecutor(workers.processor_count())


class _Parts(ThreadPoolExecutor):
    """Has parts of a pool made: here for the first second, then by worker processes.

    A small pool starts no process. However many parts a pool has, no more are given to the
    processes at a time than there are threads here, so others get their turns between them.
    """

    ALONE = 1.0

    def __init__(self) -> None:
        super().__init__(workers.processor_count())
        self._began = time.monotonic()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(self._do, fn, *args, **kwargs)

    def _do(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        alone = time.monotonic() - self._began < self.ALONE
        processes = None if alone else _processes()
        if processes is None:
            return fn(*args, **kwargs)
        try:
            return processes.submit(fn, *args, **kwargs).result()
        except BrokenExecutor:
            # The next task has new ones.
            return fn(*args, **kwargs)
