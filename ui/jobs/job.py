"""One job: what was asked for, how far it is, and who still wants it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Literal

from abcdp_core.base.parameters import Params
from abcdp_core.run import workers
from abcdp_core.run.results import Result

State = Literal["waiting", "running", "done", "stopped", "asks", "failed"]

UNWATCHED = 75.0
"""Seconds after a page last looked until it wants nothing: hidden tabs look once a minute."""

UNASKED, BRIEF = 10.0, 3.0
"""Seconds that a study may take before a person has to start it, and that are never asked about."""

PROBE, ENOUGH_PARTS = 1.5, 3
"""Seconds, and parts after the first one, that show how long a study takes."""

LOADING_FACTOR = 3.0
"""Up to this multiple of its time, a study is asked about only when half of that time is over: its
first parts may have waited for code to be loaded and compiled."""


@dataclass(frozen=True)
class Request:
    """A study with its parameters and seed: equal requests, equal results."""

    experiment: str
    params: Params
    seed: int


@dataclass(frozen=True)
class Preparation:
    """Something public that takes long and is kept, made once for everyone who waits for it.

    Attributes:
        key: distinguishes it from others.
        make: makes and keeps it; it is given a function to call with the fraction done.
    """

    key: Hashable
    make: Callable[[Callable[[float], None]], object] = field(compare=False, repr=False)


class UnwantedError(Exception):
    """No page wants the job any more."""


class UnaskedError(Exception):
    """The job would take longer than it may before a person starts it."""


class RefusedError(Exception):
    """The job cannot be done; its message is for the person who asked."""


class Job:
    """One piece of work. Threads write it, pages read it.

    Attributes:
        request: what was asked for; ``None`` for work for one session alone.
        is_long: whether it is a study of many parts.
        limit, unasked: seconds that it may work, and that it may take before it asks.
        result, outcome: the latest result of a study; what work for one session came to.
        fraction: the part of the public pool that is made, while it is made.
        error: what went wrong, in a sentence.
        rest: estimate of the seconds left when it began to ask.
        size: bytes of its result, once it is done.
    """

    def __init__(
        self,
        request: Request | Preparation | None,
        work: Callable[[Job], object],
        limit: float | None = None,
        unasked: float = math.inf,
        *,
        is_long: bool = False,
    ) -> None:
        self.is_long = is_long
        self.request, self.work, self.limit, self.unasked = request, work, limit, unasked
        self.state: State = "waiting"
        self.result: Result | None = None
        self.outcome: Any = None
        self.fraction: float | None = None
        self.error, self.rest, self.size, self.is_cancelled = "", 0.0, 0, False
        self.ended = threading.Event()
        self._watchers: dict[str, float] = {}
        self._spent, self._since = 0.0, 0.0
        self._first: tuple[float, int] | None = None

    def watch(self, who: str) -> None:
        """Note that a session looks at it."""
        if self.active:
            self._watchers[who] = time.monotonic()

    def leave(self, who: str) -> None:
        """Note that a session no longer wants it; the last one to leave stops it."""
        self._watchers.pop(who, None)

    def cancel(self) -> None:
        """Stop it, whoever looks at it."""
        self.is_cancelled = True

    @property
    def wanted(self) -> bool:
        """Whether any session looked at it not long ago, and it was not cancelled."""
        now = time.monotonic()
        looked = any(now - last < UNWATCHED for last in list(self._watchers.values()))
        return looked and not self.is_cancelled

    @property
    def active(self) -> bool:
        """Whether it is waiting or running."""
        return self.state in ("waiting", "running")

    @property
    def worked(self) -> float:
        """Seconds that it has run, waiting not counted."""
        return self._spent + (self.seconds_since_change if self.state == "running" else 0.0)

    @property
    def seconds_since_change(self) -> float:
        """Seconds since it last changed its state."""
        return time.monotonic() - self._since

    def seconds_left(self) -> float | None:
        """Estimate the time for the parts that are left; ``None`` if too few are done to tell."""
        if self.result is None or self._first is None:
            return None
        computed, left = self.result.done - self.result.kept, self.result.total - self.result.done
        since, already = self._first
        if computed - already >= ENOUGH_PARTS:
            return (self.worked - since) / (computed - already) * left
        if self.worked > self.unasked:
            # Other processors have begun parts too; half done is a fair guess.
            return self.worked / (computed + (workers.processor_count() - 1) / 2) * left
        return None

    def set_state(self, state: State, error: str = "") -> None:
        """Change its state, with a sentence if something went wrong."""
        self._spent, self._since = self.worked, time.monotonic()
        self.state, self.error = state, error
        if not self.active:
            self.fraction = None
            self._watchers.clear()
            self.ended.set()

    def progress(self, fraction: float) -> None:
        """Note how much of a pool is made, and raise as :meth:`check` does."""
        self.fraction = fraction
        self.check()

    def check(self) -> None:
        """Raise if the work should stop.

        Raises:
            UnwantedError: nobody wants it.
            RefusedError: it has had all the work that this server gives to one job.
        """
        if not self.wanted:
            raise UnwantedError
        if self.limit is not None and self.worked > self.limit:
            rest = "Your own computer has no limit."
            if self.result is not None:
                rest = "What is done is kept; the command under Download computes the rest."
            raise RefusedError(f"This server works at most {self.limit:g} s on one request. {rest}")

    def grow(self, result: Result) -> None:
        """Take a larger result.

        Raises:
            UnaskedError: the rest takes longer than it may before a person starts it.
        """
        computed = result.done - result.kept
        if self._first is None and computed:
            self._first = self.worked, computed
        self.result, self.fraction = result, None
        rest, worked = self.seconds_left(), self.worked
        if rest is None or worked < PROBE or not result.is_partial:
            return
        may_be_loading = (
            worked < self.unasked / 2.0 and worked + rest < LOADING_FACTOR * self.unasked
        )
        if worked + rest > self.unasked and rest > BRIEF and not may_be_loading:
            self.rest = rest
            raise UnaskedError
