"""Work in the background: every result on a page comes from here.

**What flows.** A page asks for a *request* (an experiment, its parameters, a seed) and gets a
*job*: the one there is for an equal request, whoever made it, else a new one. A job's work is a
generator. Each step of it is done by a thread of a *lane*; what it yields is the lane in which it
goes on, where it waits in line again. Results of requests stay in memory for the next who asks, up
to a limit; finished tasks of long studies and pools stay on disk, so nothing is computed twice. A
release of somebody's own data is a job too, but its session's alone: nobody finds or keeps it.

**Lanes.** ``quick``: pictures that take moments, in the threads of the server. ``slow``: public
pools that have to be made, and pictures of studies that took longer than moments last time; their
work is done in worker processes, so that it never keeps the server from answering. ``long``:
studies of many tasks, also in worker processes, a stretch at a time as long as others wait.
``given``: problems that visitors give, whose simulations may take minutes and go on to their end:
among the pools two of them kept all private releases waiting. A job
starts in the quick lane, or in the long one, where no pool is made: one that lacks its pool goes on
in the slow lane, once for all who lack the same pool, and comes back. What is done in each lane
stands in :mod:`ui.steps`.

**Turns.** Each lane has a bounded :class:`~ui.line.Line`: the addresses that sessions come from
take turns, and the sessions of each, with one job of each at a time. A job that several sessions
want waits in the row of each, and is done at the first of its places. Who waits is told how many
come before and about how long that takes.

**States.** ``waiting`` → ``running`` → (``waiting`` → ``running`` →) ``done``, ``stopped`` (nobody
wants it any more; what is done is kept), ``asks`` (its first parts tell that it takes longer than
it may unless somebody says to start it) or ``failed`` (with a sentence; tried again for who asks a
minute later); ``refused`` if there is no room in line, to be asked for again.

**Who wants it.** A session that looks at a job wants it, until it lets go (Cancel, or a newer
request for the same view), is lost, or has not looked for
:data:`~ui.job.UNWATCHED` seconds. A job that nobody
wants leaves the line at once, and stops between two parts of its pool or of its study. What takes
moments is finished, and so is a pool that another job waits for.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import itertools
import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui import addresses, served
from ui.job import Job, Lane, Preparation, Request, Work
from ui.line import FullError, Line

AT_ONCE: dict[Lane, int] = {"quick": 4, "slow": 2, "long": 2, "given": 2}
"""Jobs that go on at a time; the others wait in line."""

OF_ONE = 1
"""Jobs of one session that go on at a time in a lane, as long as others wait there."""

ROOM = 256
"""Jobs that may wait in a lane."""

ROOM_OF_ONE = 4
"""Jobs of one session that may wait in a lane; the oldest makes room for the next."""

MANY = 8 * ROOM
"""Sessions whose addresses are known, before those are forgotten that nothing is done for."""

RECENT = 600.0
"""Seconds for which one job of a lane is kept free for an address that has asked for something."""

KEPT = 256
"""Finished jobs kept in memory, as long as their results take no more than that:"""

KEPT_BYTES = 256 * 2**20
"""A result may have a hundred thousand rows."""


class Service:
    """All jobs of this server.

    Args:
        work_limit: seconds of work for one job; no limit if ``None``.
        is_there: whether a session is connected.
    """

    def __init__(
        self,
        work_limit: float | None = None,
        is_there: Callable[[str], bool] = lambda who: True,  # noqa: ARG005
    ) -> None:
        self.work_limit, self.is_there = work_limit, is_there
        # Experiment -> seconds per part as last seen, for an estimate before the start.
        self.speeds: dict[str, float] = {}
        self.lines: dict[Lane, Line[Job]] = {lane: Line(ROOM, ROOM_OF_ONE) for lane in AT_ONCE}
        self._running: dict[Lane, list[tuple[str, Job]]] = {lane: [] for lane in AT_ONCE}
        self._seconds: dict[Lane, float] = {}
        # Session -> the address that it came from when it was last there.
        self._from: dict[str, str] = {}
        # Address -> when it last asked for something; of the last two.
        self._seen: dict[str, float] = {}
        self._jobs: OrderedDict[Request | Preparation, Job] = OrderedDict()
        self._changed = threading.Condition(threading.RLock())
        self.is_open = True
        for lane, count in AT_ONCE.items():
            for _ in range(count):
                # Daemons: a server that is told to stop does not wait for work that goes on.
                threading.Thread(target=self._serve, args=(lane,), daemon=True).start()
        atexit.register(self.close)

    def submit(
        self,
        request: Request | Preparation,
        who: str,
        work: Work,
        *,
        long: bool = False,
        unasked: float = math.inf,
    ) -> Job:
        """The job of a request: the one there is, else a new one.

        Args:
            request: what is asked for.
            who: the session that watches it.
            work: what is to be done.
            long: whether that takes more than moments, so that its tasks are spread over workers.
            unasked: seconds that it may take; a job that turns out to take longer asks.
        """
        with self._changed:
            job = self._jobs.get(request)
            asked = job is not None and job.state == "asks" and unasked > job.unasked
            # A preparation keeps neither result nor parts: who asks again lacks what it has made.
            keeps = isinstance(request, Request)
            over = ("stopped", "refused") if keeps else ("stopped", "refused", "done")
            ended = job is None or job.state in over or job.failed_long_ago
            if job is None or ended or asked:
                former = job if keeps else None
                job = Job(self, request, former, long=long, unasked=unasked)
                self._jobs[request] = job
                self._start(job, who, "long" if long else "quick", work)
            job.unasked = max(job.unasked, unasked)
            job.watch(who)
            if job.state == "waiting":
                # Whoever asked first may wait for long.
                self._join(job, who)
                self._changed.notify_all()
            self._jobs.move_to_end(request)
            self._forget()
            return job

    def submit_own(self, who: str, work: Work, lane: Lane = "slow") -> Job:
        """A job of one session alone, which has a pool made, or simulates for long."""
        with self._changed:
            job = Job(self, None, None)
            self._start(job, who, lane, work)
            return job

    def _start(self, job: Job, who: str, lane: Lane, work: Work) -> None:
        job.watch(who)
        job.begin(work(job))
        self._line_up(job, who, lane)

    def _line_up(self, job: Job, who: str, lane: Lane) -> None:
        self.drop_unwanted()
        job.lane, job.state = lane, "waiting"
        for each in dict.fromkeys((who, *job.watchers)):
            self._join(job, each)
        if not self.lines[lane].times(job):
            job.end("refused")
        self._changed.notify_all()

    def _note(self, address: str) -> None:
        """Remember when an address asked, of the last two."""
        self._seen.pop(address, None)
        self._seen[address] = time.monotonic()
        if len(self._seen) > 2:
            del self._seen[next(iter(self._seen))]

    def _join(self, job: Job, who: str) -> None:
        """Have a job wait for a session, if there is room."""
        address = self._address(who)
        self._note(address)
        with contextlib.suppress(FullError):
            for whose, former in self.lines[job.lane].join(who, job, address):
                former.end("stopped" if whose == who else "refused")

    def _address(self, who: str) -> str:
        """Where a session comes from, be it that its page was closed meanwhile."""
        self._from[who] = addresses.of_session(who) or self._from.get(who, "")
        if len(self._from) > MANY:
            waiting = {each for line in self.lines.values() for each, _ in line.places()}
            running = {each for lane in self._running.values() for each, _ in lane}
            here = {who} | waiting | running
            self._from = {each: self._from[each] for each in here if each in self._from}
        return self._from[who]

    def _forget(self) -> None:
        ended = [request for request, job in self._jobs.items() if not job.active]
        total = sum(self._jobs[request].size for request in ended)
        for before, request in enumerate(ended[:-1]):
            if len(ended) - before <= KEPT and total <= KEPT_BYTES:
                break
            total -= self._jobs.pop(request).size

    def drop_unwanted(self) -> None:
        """Let those leave the lines whom nobody wants any more."""
        with self._changed:
            for line in self.lines.values():
                for job in line:
                    if not job.wanted:
                        line.leave(job)
                        job.end("stopped")
                for who, job in line.places():
                    # For lack of room it may wait for others in this row alone.
                    if who not in job.watchers and line.times(job) > 1:
                        line.drop(who, job)

    def leave(self, who: str) -> None:
        """Let a session want nothing any more; what was begun for it alone ends."""
        with self._changed:
            for job in self._jobs.values():
                job.leave(who)

    def works_for_others(self, who: str) -> bool:
        """Whether a job waits or goes on that a session other than this one wants."""
        with self._changed:
            running = (job for lane in self._running.values() for _, job in lane)
            jobs = [*running, *itertools.chain(*self.lines.values())]
            return any(job.active and job.is_wanted_but_by(who) for job in jobs)

    def close(self) -> None:
        """Let go of all work; the threads end as soon as they can."""
        with self._changed:
            self.is_open = False
            for job in [*self._jobs.values(), *itertools.chain(*self.lines.values())]:
                job.abandon()
            self.drop_unwanted()
            self._changed.notify_all()

    def find(self, request: Request | Preparation) -> Job | None:
        """The job of a request, if there is one."""
        return self._jobs.get(request)

    # ---------------------------------------------------------------------- what is told of a line

    def others_wait(self, lane: Lane) -> bool:
        """Whether any job waits in a lane."""
        return len(self.lines[lane]) > 0

    def wait(self, job: Job) -> tuple[int, float | None] | None:
        """How many come before a job, and seconds until its turn; ``None`` if it does not wait."""
        with self._changed:
            ahead = self.lines[job.lane].ahead(job)
            if ahead is None:
                return None
            seconds = self._seconds.get(job.lane)
            turns = (ahead + 1) / AT_ONCE[job.lane]
            return ahead, None if seconds is None else turns * seconds

    def made(self, job: Job) -> float | None:
        """Part that is made of the pool a job lacks, by whichever job."""
        if job.fraction is not None or job.pool is None:
            return job.fraction
        makers = [other for other in self._making() if other.pool == job.pool]
        return makers[0].fraction if makers else None

    def awaited(self, job: Job) -> bool:
        """Whether a job in line is wanted that lacks the same pool."""
        if job.pool is None:
            return False
        with self._changed:
            return any(other.pool == job.pool and other.wanted for other in self.lines["slow"])

    def _making(self) -> list[Job]:
        return [job for _, job in list(self._running["slow"]) if job.pool is not None]

    # ----------------------------------------------------------------------------- what threads do

    def _serve(self, lane: Lane) -> None:
        while (turn := self._next(lane)) is not None:
            who, job = turn
            began = time.monotonic()
            goes_on_in = job.step()
            with self._changed:
                self._running[lane].remove((who, job))
                self._learn(lane, time.monotonic() - began)
                if goes_on_in is not None:
                    if self.is_open:
                        self._line_up(job, who, goes_on_in)
                    else:
                        job.end("stopped")
                self._changed.notify_all()
            # A thread that waits for its next job must not keep the last one alive.
            del turn, job

    def _next(self, lane: Lane) -> tuple[str, Job] | None:
        """The next job of a lane, waited for; ``None`` when the service is closed."""
        with self._changed:
            while self.is_open:
                self.drop_unwanted()
                turn = self.lines[lane].take(functools.partial(self._may, lane))
                if turn is not None:
                    turn[1].state = "running"
                    self._running[lane].append(turn)
                    return turn
                self._changed.wait()
        return None

    def _may(self, lane: Lane, who: str, job: Job) -> bool:
        """Whether a job may go on: beside neither its session's own nor the maker of its pool."""
        busy = Counter(name for name, _ in self._running[lane])
        if lane == "slow" and job.pool and any(job.pool == each.pool for each in self._making()):
            return False
        return busy[who] < OF_ONE and self._leaves_room(lane, self._address(who))

    def _leaves_room(self, lane: Lane, address: str) -> bool:
        """Whether one goes on being free for other addresses, if any came not long ago.

        A job of theirs would else wait for the end of another, which may take a minute.
        """
        now = time.monotonic()
        if all(now - last > RECENT for other, last in self._seen.items() if other != address):
            return True
        of_address = [who for who, _ in self._running[lane] if self._address(who) == address]
        return len(of_address) < max(AT_ONCE[lane] - 1, 1)

    def _learn(self, lane: Lane, seconds: float) -> None:
        """Seconds of a turn, the later ones counting more."""
        before = self._seconds.get(lane, seconds)
        self._seconds[lane] = 0.7 * before + 0.3 * seconds


def service() -> Service:
    """The one service of this server.

    In none of Streamlit's caches: those are emptied for all when any browser says so.
    """
    with _starting:
        return _service()


@functools.cache
def _service() -> Service:
    return Service(work_limit=served.settings().work_limit, is_there=is_there)


_starting = threading.Lock()
"""Two who come first at the same time get the same service."""


def is_there(who: str) -> bool:
    """Whether a session is connected; without a server everybody is."""
    return not runtime.exists() or runtime.get_instance().is_active_session(who)


def session_id() -> str:
    """The session that asks."""
    context = get_script_run_ctx()
    return context.session_id if context else "nobody"
