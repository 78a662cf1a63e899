"""All jobs of this server: equal requests shared, done in order by a few threads."""

from __future__ import annotations

import logging
import math
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Literal

from abcdp_core.base.parameters import ParameterError
from abcdp_core.models import pool
from abcdp_core.run.workers import LostWorkersError
from ui.jobs import work
from ui.jobs.job import Job, Preparation, RefusedError, Request, UnaskedError, UnwantedError
from ui.server import settings

log = logging.getLogger(__name__)

Lane = Literal["new", "quick", "heavy", "files"]

THREADS: dict[Lane, int] = {"new": 1, "quick": 2, "heavy": 8, "files": 1}
"""Jobs at a time. New ones are told apart, which no page waits for; heavy ones take turns at the
worker processes, part by part; a file with pictures starts a browser of its own."""

KEPT, KEPT_BYTES = 256, 256 * 2**20
"""Finished jobs that stay in memory, and the size of their tables."""

AGAIN = 60.0
"""Seconds after which a job that failed is tried again."""


class Queue:
    """Jobs that wait and run, and the finished ones for the next who asks."""

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self._waiting: dict[Lane, deque[Job]] = {lane: deque() for lane in THREADS}
        self._jobs: OrderedDict[Request | Preparation, Job] = OrderedDict()
        self._changed = threading.Condition(threading.RLock())
        for lane, count in THREADS.items():
            for _ in range(count):
                # Daemons: a server that is told to stop does not wait for them.
                threading.Thread(target=self._serve, args=(lane,), daemon=True).start()

    def submit(
        self,
        request: Request | Preparation,
        who: str,
        *,
        long: bool = False,
        unasked: float = math.inf,
    ) -> Job:
        """Return the job of a request: the one there is, else a new one.

        Args:
            who: the session that watches it.
            long: whether it is a study of many parts, which are kept.
            unasked: seconds that it may take before a person has to start it.
        """
        with self._changed:
            job = self._jobs.get(request)
            if job is None or self._is_over(job, unasked):
                what = work.of(request, long=long)
                former, job = job, Job(request, what, self.limit, unasked, is_long=long)
                job.result = former.result if former else None
                self._jobs[request] = job
                job.watch(who)
                self._put(job, "new")
            job.unasked = max(job.unasked, unasked)
            job.watch(who)
            self._jobs.move_to_end(request)
            self._forget()
            return job

    def submit_private(self, who: str, what: Callable[[Job], object], lane: Lane = "heavy") -> Job:
        """Return a job of one session alone, which nobody else finds and nothing keeps."""
        job = Job(None, what, self.limit)
        job.watch(who)
        self._put(job, lane)
        return job

    def find(self, request: Request | Preparation) -> Job | None:
        """Return the job of a request, if there is one."""
        return self._jobs.get(request)

    def ahead(self, job: Job) -> int | None:
        """Return how many jobs come before one; ``None`` if it does not wait."""
        with self._changed:
            for line in self._waiting.values():
                if job in line:
                    return sum(each.wanted for each in list(line)[: line.index(job)])
        return None

    def _is_over(self, job: Job, unasked: float) -> bool:
        """Whether a request needs a new job in place of the one there is."""
        # A preparation keeps nothing here: a new request means that its result is gone.
        was_preparation = isinstance(job.request, Preparation) and job.state == "done"
        failed_long_ago = job.state == "failed" and job.seconds_since_change > AGAIN
        was_started = job.state == "asks" and unasked > job.unasked
        return job.state == "stopped" or was_preparation or failed_long_ago or was_started

    def _put(self, job: Job, lane: Lane) -> None:
        with self._changed:
            self._waiting[lane].append(job)
            self._changed.notify_all()

    def _forget(self) -> None:
        """Drop the oldest finished jobs beyond what is kept."""
        sizes = {request: job.size for request, job in self._jobs.items() if not job.active}
        while len(sizes) > 1 and (len(sizes) > KEPT or sum(sizes.values()) > KEPT_BYTES):
            oldest = next(iter(sizes))
            del self._jobs[oldest], sizes[oldest]

    def _serve(self, lane: Lane) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting[lane])
                job = self._waiting[lane].popleft()
            if lane == "new":
                self._put(job, "heavy" if self._is_heavy(job) else "quick")
            else:
                self._do(job)
            # A thread that waits must not keep its last job alive.
            del job

    def _is_heavy(self, job: Job) -> bool:
        assert job.request is not None, "work for one session is put where it belongs"
        try:
            return work.is_heavy(job.request, long=job.is_long, limited=self.limit is not None)
        except Exception:  # noqa: BLE001 - its work ends with the same
            return False

    def _do(self, job: Job) -> None:
        """Do a job to its end."""
        if not job.wanted:
            job.set_state("stopped")
            return
        job.set_state("running")
        try:
            job.work(job)
        except UnwantedError:
            job.set_state("stopped")
        except UnaskedError:
            job.set_state("asks")
        except Exception as error:  # noqa: BLE001 - it becomes a sentence
            job.set_state("failed", _sentence(job, error))
        else:
            tables = job.result.tables.values() if job.result else ()
            job.size = sum(int(table.memory_usage().sum()) for table in tables)
            job.set_state("done")


def _sentence(job: Job, error: Exception) -> str:
    """Return what to say of an error; text and traceback of private work may hold data."""
    if isinstance(error, RefusedError):
        return str(error)
    if job.request is None:
        log.warning("work for one session failed: %s", type(error).__name__)
    elif isinstance(error, ParameterError | LostWorkersError):
        return str(error)
    elif threading.main_thread().is_alive():
        log.error("a job failed: %s", job.request, exc_info=error)
    return f"This could not be computed ({type(error).__name__})."


_starting = threading.Lock()
_queues: list[Queue] = []


def current() -> Queue:
    """Return the one queue of this server."""
    with _starting:
        if not _queues:
            pool.use(work.PartsExecutor)
            _queues.append(Queue(settings.current().work_limit))
        return _queues[0]
