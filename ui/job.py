"""One job: what was asked for, how far it is, and who still wants it."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from abcdp_core import pool, workers
from abcdp_core.parameters import ParameterError, Params
from abcdp_core.results import Result
from abcdp_core.workers import LostWorkersError
from ui import memory

log = logging.getLogger(__name__)

State = Literal["waiting", "running", "done", "stopped", "asks", "failed", "refused"]
Lane = Literal["quick", "slow", "long", "given"]
Steps = Generator[Lane]
"""Work: each step ends where it has to go on in a lane, the last one where it ends."""

STRETCH = 4.0
"""Seconds after which a long study lets others go on."""

LOST = 20.0
"""Seconds after its last look from which on a session whose connection is lost wants nothing."""

UNWATCHED = 75.0
"""The same for a session that is there: browsers let hidden tabs look once a minute."""

ENOUGH_FOR_A_SPEED = 3
"""Parts that have to be done before their speed says something."""

UNASKED = 10.0
"""Seconds that a study may take without a person having said to start it."""

BRIEF = 3.0
"""Seconds that are not worth a question: what is done in them goes on."""

AGAIN = 60.0
"""Seconds after which what has failed is tried again for who asks: it may have failed only because
much else went on, and everybody gets the same job."""

PROBE = 1.5
"""Seconds after which its first parts tell how long it takes."""

PLAIN = 3.0
"""Times what it may take unasked: less than that is asked about only when half of it is over, as
first parts may have waited for what is loaded and compiled once."""


@dataclass(frozen=True)
class Request:
    """What is asked for: equal requests, equal results."""

    experiment: str
    params: Params
    seed: int


@dataclass(frozen=True)
class Preparation:
    """Something public that takes long and is kept, made once for all who wait for it.

    Attributes:
        key: tells it from others.
        make: makes and keeps it, given what is to be told how far it is.
    """

    key: Hashable
    make: Callable[[Callable[[float], None]], object] = field(compare=False, repr=False)


class UnwantedError(Exception):
    """A job that nobody wants any more."""


class UnpaidError(Exception):
    """A release that cannot be paid for; its text is for who asked for it."""


class LimitError(Exception):
    """A job has had all the work that this server gives to one."""


class UnaskedError(Exception):
    """A job takes longer than it may unless a person says so."""


class Lanes(Protocol):
    """What a job has to know of the service that it belongs to."""

    work_limit: float | None
    is_open: bool
    is_there: Callable[[str], bool]
    speeds: dict[str, float]

    def drop_unwanted(self) -> None:
        """Let those leave the lines whom nobody wants any more."""

    def wait(self, job: Job) -> tuple[int, float | None] | None:
        """How many come before a job, and seconds until its turn."""

    def made(self, job: Job) -> float | None:
        """Part that is made of the pool a job lacks."""

    def awaited(self, job: Job) -> bool:
        """Whether a job in line is wanted that lacks the same pool."""

    def others_wait(self, lane: Lane) -> bool:
        """Whether any job waits in a lane."""


class Job:
    """Something being worked on. Threads write it, pages read it.

    Attributes:
        request: what was asked for; ``None`` for a release of somebody's own data.
        long: whether its tasks are spread over workers.
        state: where it stands.
        lane: where it waits or goes on.
        result: the latest, growing one.
        outcome: what a release came to.
        fraction: part of the public pool that is made, while it is being made.
        pool: the one it lacks.
        error: what went wrong, in a sentence.
        spent: seconds that it went on, waiting not counted.
        size: bytes of its result, from its end on.
        unasked: seconds that it may take without being asked for once more.
        rest: estimate of the seconds that were left when it began to ask.
    """

    def __init__(
        self,
        service: Lanes,
        request: Request | Preparation | None,
        former: Job | None,
        *,
        long: bool = False,
        unasked: float = math.inf,
    ) -> None:
        self.request, self.long = request, long
        self.state: State = "waiting"
        self.lane: Lane = "quick"
        self.result: Result | None = former.result if former else None
        self.outcome: Any = None
        self.fraction: float | None = None
        self.pool: pool.PoolKey | None = None
        self.error = ""
        # What was over the limit would be so again at once.
        self.spent: float = former.spent if former and former.state != "failed" else 0.0
        self.size = 0
        self.unasked, self.rest = unasked, 0.0
        self.ended = threading.Event()
        self._service = service
        self._watchers: dict[str, float] = {}
        self._steps: Steps | None = None
        self._began, self._ended = 0.0, math.inf
        self._first: tuple[float, int] | None = None

    def watch(self, who: str) -> None:
        """Somebody looks at it; once it has ended that makes no difference."""
        if self.active:
            self._watchers[who] = time.monotonic()

    def leave(self, who: str) -> None:
        """Somebody no longer wants it; it ends if that was the last one."""
        self._watchers.pop(who, None)
        self._service.drop_unwanted()

    def abandon(self) -> None:
        """Nobody wants it any more."""
        self._watchers.clear()

    @property
    def watchers(self) -> list[str]:
        """Who has looked at it and not let go."""
        return list(self._watchers)

    @property
    def wanted(self) -> bool:
        """Whether anybody who is there looked at it not long ago."""
        return self.is_wanted_but_by("")

    def is_wanted_but_by(self, one: str) -> bool:
        """The same of anybody but one session."""
        now = time.monotonic()
        return any(
            now - last < (UNWATCHED if self._service.is_there(who) else LOST)
            for who, last in list(self._watchers.items())
            if who != one
        )

    @property
    def active(self) -> bool:
        """Whether it is waiting or going on."""
        return self.state in ("waiting", "running")

    @property
    def failed_long_ago(self) -> bool:
        """Whether it is time to try again."""
        return self.state == "failed" and time.monotonic() - self._ended > AGAIN

    def seconds_left(self) -> float | None:
        """Estimate from the speed so far, or of the last such study; ``None`` without either."""
        if not isinstance(self.request, Request) or self.result is None:
            return None
        speed = self._service.speeds.get(self.request.experiment)
        if speed is None:
            return None
        return speed * (self.result.total - self.result.done)

    def wait(self) -> tuple[int, float | None] | None:
        """How many come before it, and seconds until its turn; ``None`` if it does not wait."""
        return self._service.wait(self)

    def made(self) -> float | None:
        """Part that is made of the pool it lacks, by whichever job."""
        return self._service.made(self)

    def grow(self, result: Result) -> None:
        """A larger result."""
        worked, computed = self.worked, result.done - result.kept
        if self._first is None and computed:
            self._first = (worked, computed)
        since, already = self._first or (worked, computed)
        if isinstance(self.request, Request) and computed - already >= ENOUGH_FOR_A_SPEED:
            speed = (worked - since) / (computed - already)
            self._service.speeds[self.request.experiment] = speed
        if self.result is None or result.done >= self.result.done:
            self.result = result

    def progress(self, fraction: float) -> None:
        """Part of the public pool that is made.

        Raises:
            UnwantedError: nobody wants it, nor its pool.
            LimitError: it had its share.
        """
        self.fraction = fraction
        if not self.wanted and not self._service.awaited(self):
            raise UnwantedError
        self.check_limit()

    def check_limit(self) -> None:
        """Refuse more work than the server gives to one job.

        Raises:
            LimitError: it had that.
        """
        limit = self._service.work_limit
        if limit is not None and self.worked > limit:
            # Only a study that grows has its parts kept, and a page that goes on below them.
            rest = (
                "What is done is kept; the command under Download does the whole on a machine of "
                "your own."
                if self.long and self.result is not None
                else "This one took longer. When fewer are here it may not; on a machine of your "
                "own there is no such limit."
            )
            raise LimitError(f"This server works for at most {limit:g} s on one request. {rest}")

    @property
    def is_limited(self) -> bool:
        """Whether the server gives it no more than a certain amount of work."""
        return self._service.work_limit is not None

    @property
    def worked(self) -> float:
        """Seconds that it went on until now, waiting not counted."""
        return self.spent + time.monotonic() - self._began

    def check_asked(self, worked: float) -> None:
        """Stop where the rest takes longer than it may unasked; what is done is kept.

        Args:
            worked: seconds that went into what was computed of the result.

        Raises:
            UnaskedError: it does.
        """
        found = self.result
        if found is None or self._first is None or worked < PROBE:
            return
        computed, left = found.done - found.kept, found.total - found.done
        since, already = self._first
        if computed - already >= ENOUGH_FOR_A_SPEED:
            # Without the first part, which has waited most.
            rest = (self.worked - since) / (computed - already) * left
            if worked < self.unasked / 2.0 and worked + rest < PLAIN * self.unasked:
                return
        elif worked > self.unasked:
            # The other processors have begun parts of their own; half done is a fair guess.
            rest = worked / (computed + (workers.processor_count() - 1) / 2) * left
        else:
            return
        if worked + rest > self.unasked and rest > BRIEF:
            self.rest = rest
            raise UnaskedError

    @property
    def stretch_is_over(self) -> bool:
        """Whether it has gone on for long enough while others wait."""
        gone_on = time.monotonic() - self._began
        return gone_on > STRETCH and self._service.others_wait(self.lane)

    # ------------------------------------------------------ for the service, which holds its lock

    def begin(self, steps: Steps) -> None:
        """Have something to do."""
        self._steps = steps

    def step(self) -> Lane | None:
        """Go on until the end or to where it has to wait; ``None`` at the end.

        Whatever goes wrong becomes a sentence.
        """
        self._began = time.monotonic()
        try:
            return next(self._steps) if self._steps else None
        except StopIteration:
            self.end("done")
        except UnwantedError:
            self.end("stopped")
        except UnaskedError:
            self.end("asks")
        except LimitError as error:
            self.end("failed", str(error))
        except Exception as error:  # noqa: BLE001 - it becomes a sentence
            self._fail(error)
        finally:
            self.spent += time.monotonic() - self._began
        return None

    def _fail(self, error: Exception) -> None:
        if not self._service.is_open:
            # Worker processes end with the server, whatever they are doing.
            self.end("stopped")
            return
        words = f"This could not be computed ({type(error).__name__})."
        if isinstance(error, UnpaidError):
            words = str(error)
        elif self.request is None:
            # Text and traceback may hold private data.
            log.warning("work for one session alone failed: %s", type(error).__name__)
        elif isinstance(error, ParameterError | LostWorkersError):
            words = str(error)
        else:
            log.error("a job failed: %s", self.request, exc_info=error)
        self.end("failed", words)

    def end(self, state: State, error: str = "") -> None:
        """It stands where it stands; whatever it held in order to go on is let go."""
        if self._steps is not None:
            self._steps.close()
        self._steps = None
        self.state, self.error, self.fraction = state, error, None
        self.size = 0 if self.result is None else memory.of(self.result)
        self._ended = time.monotonic()
        self._watchers.clear()
        self.ended.set()


Work = Callable[[Job], Steps]
