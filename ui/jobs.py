"""Work in the background: every result on a page comes from here.

A request is an experiment, its parameters and a seed. Equal requests, whoever makes them, share one
job. A quick study takes moments once the public pool is there; the tasks of a long one
go to workers, and its result grows while people watch. A job that nobody
watches for a minute stops. What is finished stays in memory for the next who asks, up to a limit;
finished tasks of long studies stay on disk, so nothing is computed twice.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import ClassVar, Literal

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from abcdp_core import cache, experiments, runner, workers
from abcdp_core.parameters import ParameterError, Params
from abcdp_core.results import Result

log = logging.getLogger(__name__)

State = Literal["waiting", "running", "done", "stopped", "failed"]

AT_ONCE = {"short": 4, "long": 2}
"""Jobs that go on at a time; the others wait in line."""

UNWATCHED = 60.0
"""Seconds after which a job that nobody looks at stops."""

ENOUGH_FOR_A_SPEED = 3
"""Parts that have to be done before their speed says something."""

KEPT = 48
"""Finished jobs kept in memory."""


@dataclass(frozen=True)
class Request:
    """What is asked for: equal requests, equal results."""

    experiment: str
    params: Params
    seed: int


class Job:
    """One request being worked on. Threads write it, pages read it.

    Attributes:
        request: what was asked for.
        state: where it stands.
        result: the latest, growing one.
        fraction: part of the public pool that is made, while it is being made.
        error: what went wrong, in a sentence.
        speeds: experiment -> seconds per part as last seen, for an estimate before the start.
    """

    speeds: ClassVar[dict[str, float]] = {}

    def __init__(self, request: Request, result: Result | None = None) -> None:
        self.request = request
        self.state: State = "waiting"
        self.result = result
        self.fraction: float | None = None
        self.error = ""
        self.ended = threading.Event()
        self._watchers: dict[str, float] = {}
        self._first: tuple[float, int] | None = None

    def watch(self, who: str) -> None:
        """Somebody looks at it."""
        self._watchers[who] = time.monotonic()

    def leave(self, who: str) -> None:
        """Somebody no longer wants it; it stops if that was the last one."""
        self._watchers.pop(who, None)

    def abandon(self) -> None:
        """Nobody wants it any more."""
        self._watchers.clear()

    @property
    def wanted(self) -> bool:
        """Whether anybody looked within the last minute."""
        seen = list(self._watchers.values())
        return any(time.monotonic() - last < UNWATCHED for last in seen)

    @property
    def active(self) -> bool:
        """Whether it is waiting or going on."""
        return self.state in ("waiting", "running")

    def seconds_left(self) -> float | None:
        """Estimate from the speed so far, or of the last such study; ``None`` without either."""
        speed = self.speeds.get(self.request.experiment)
        if speed is None or self.result is None:
            return None
        return speed * (self.result.total - self.result.done)

    def grow(self, result: Result) -> None:
        """A larger result."""
        now = time.monotonic()
        if self._first is None:
            self._first = (now, result.done)
        since, already = self._first
        if result.done - already >= ENOUGH_FOR_A_SPEED:
            self.speeds[self.request.experiment] = (now - since) / (result.done - already)
        if self.result is None or result.done >= self.result.done:
            self.result = result

    def end(self, state: State, error: str = "") -> None:
        """It stands where it stands."""
        self.state, self.error, self.fraction = state, error, None
        self.ended.set()

    def progress(self, fraction: float) -> None:
        """Part of the public pool that is made.

        Raises:
            Unwanted: nobody looks any more.
        """
        self.fraction = fraction
        if not self.wanted:
            raise Unwanted


class Unwanted(Exception):  # noqa: N818 - not an error
    """A job that nobody looks at any more."""


class _Line:
    """Work waiting for one of a few threads, which end with the server whatever they do."""

    def __init__(self, threads: int) -> None:
        self._waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
        for _ in range(threads):
            threading.Thread(target=self._serve, daemon=True).start()

    def put(self, work: Callable[[], None]) -> None:
        """Have it done when its turn comes."""
        self._waiting.put(work)

    def _serve(self) -> None:
        while True:
            self._waiting.get()()


class Service:
    """All jobs of this server."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[Request, Job] = OrderedDict()
        self._lock = threading.Lock()
        self._lines = {name: _Line(count) for name, count in AT_ONCE.items()}
        # A server that is told to stop must not wait for work that goes on.
        atexit.register(self.close)

    def submit(self, request: Request, who: str, *, long: bool = False) -> Job:
        """The job of a request: the one there is, else a new one.

        Args:
            request: what is asked for.
            who: the session that watches it.
            long: whether it takes more than moments, so that its tasks are spread over workers.
        """
        with self._lock:
            job = self._jobs.get(request)
            if job is None or (job.state == "stopped" or (job.active and not job.wanted)):
                job = self._start(request, job.result if job else None, who, long)
            job.watch(who)
            self._jobs.move_to_end(request)
            self._forget()
            return job

    def _start(self, request: Request, result: Result | None, who: str, long: bool) -> Job:
        job = self._jobs[request] = Job(request, result)
        job.watch(who)
        self._lines["long" if long else "short"].put(functools.partial(_work, job, long))
        return job

    def _forget(self) -> None:
        ended = [request for request, job in self._jobs.items() if not job.active]
        for request in ended[: max(0, len(ended) - KEPT)]:
            del self._jobs[request]

    def close(self) -> None:
        """Let go of all work."""
        for job in list(self._jobs.values()):
            job.abandon()

    def find(self, request: Request) -> Job | None:
        """The job of a request, if there is one."""
        return self._jobs.get(request)


def _work(job: Job, long: bool) -> None:
    """Do a job in this thread; whatever goes wrong becomes a sentence."""
    if not job.wanted:
        job.end("stopped")
        return
    job.state = "running"
    try:
        _prepare(job)
        job.end("done" if _run(job, long) else "stopped")
    except Unwanted:
        job.end("stopped")
    except ParameterError as error:
        job.end("failed", str(error))
    except Exception as error:
        log.exception("a job failed: %s", job.request)
        job.end("failed", f"This could not be computed ({type(error).__name__}).")


def _prepare(job: Job) -> None:
    """Make the public pool first, where the study can tell how far that is."""
    request = job.request
    prepare: Callable[..., None] | None = getattr(
        experiments.load(request.experiment), "prepare", None
    )
    if prepare is not None:
        prepare(request.params, request.seed, job.progress)
        job.fraction = None


def _run(job: Job, long: bool) -> bool:
    """Whether all tasks were done."""
    request = job.request
    results = runner.run(
        experiments.load(request.experiment),
        request.params,
        request.seed,
        _workers() if long else None,
        runner.Store(cache.folder() / "tasks") if long else None,
    )
    with contextlib.closing(results):
        for result in results:
            job.grow(result)
            if result.is_partial and not job.wanted:
                return False
    return True


def _workers() -> Executor:
    """Worker processes; threads while they are starting, which takes seconds."""
    global _started
    with _starting:
        if _started is None:
            _started = workers.processes().submit(experiments.names)
    return workers.processes() if _started.done() else _threads


_started: Future[list[str]] | None = None
_starting = threading.Lock()
_threads = ThreadPoolExecutor(workers.processor_count())


@st.cache_resource(show_spinner=False)
def service() -> Service:
    """The one service of this server."""
    return Service()


def session_id() -> str:
    """The session that asks."""
    context = get_script_run_ctx()
    return context.session_id if context else "nobody"
