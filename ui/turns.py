"""Whose page is drawn: one at a time, and what was begun is finished.

Streamlit ends the script of a page where it next draws when a knob was moved meanwhile, and begins
again. With many visitors a page takes longer than the time between two moves, and would never be
finished. So the script waits for its turn, and moves that come meanwhile are held back until it is
through; the server's setting ``runner.fastReruns = false`` has them brought to the script that is
going on. Of several moves only the latest is drawn next.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from streamlit import runtime
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import (
    ScriptRequests,
    ScriptRequestType,
    _is_full_app_rerun,
)

from ui import addresses, callers, jobs
from ui.line import Line

Tell = Callable[[int, float], None]
"""Is told how many come before, and about how many seconds that takes."""

MOMENTS = 1.0
"""Seconds after which who waits is told so for the first time."""

AGAIN = 3.0
"""Seconds between two times."""

SENDING = 5.0
"""Seconds that a page takes at most to be handed on to the browser."""

BETWEEN_LOOKS = 0.005
"""Seconds between two looks whether it was."""


class Turns:
    """One at a time: addresses in turns, but those first who come back.

    Pages that are drawn at the same time take Python's lock from each other at each of their
    hundreds of messages, and together get a third of what they get one after the other.
    """

    def __init__(self) -> None:
        self._free = 1
        self._back, self._new = Line[threading.Event](), Line[threading.Event]()
        self._lock = threading.Lock()
        self._seconds = 0.1

    def begin(self, who: str = "", tell: Tell | None = None, *, again: bool = False) -> None:
        """Wait for a turn.

        Args:
            who: the session that waits.
            tell: is told of a wait that takes more than moments.
            again: whether it had a turn and went away for a while; then it comes first.
        """
        called, pause = threading.Event(), MOMENTS
        address = addresses.of_session(who)
        with self._lock:
            (self._back if again else self._new).join(who, called, address)
            self._call()
        try:
            while not called.wait(pause):
                ahead = self._ahead(called)
                if tell is not None and ahead:
                    tell(ahead, ahead * self._seconds)
                pause = AGAIN
        except BaseException:
            self._go(called)
            raise

    def end(self, seconds: float | None = None) -> None:
        """Let the next have a turn.

        Args:
            seconds: that a whole turn took, for what is told to others.
        """
        with self._lock:
            if seconds is not None:
                self._seconds = 0.9 * self._seconds + 0.1 * seconds
            self._free += 1
            self._call()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._back) + len(self._new)

    @property
    def taken(self) -> bool:
        """Whether anybody has a turn."""
        return self._free < 1

    def _call(self) -> None:
        """Wake those whose turn it is and nobody else."""
        while self._free > 0 and (turn := self._back.take() or self._new.take()):
            self._free -= 1
            turn[1].set()

    def _ahead(self, called: threading.Event) -> int:
        with self._lock:
            ahead = self._back.ahead(called)
            if ahead is None and (ahead := self._new.ahead(called)) is not None:
                ahead += len(self._back)
            return ahead or 0

    def _go(self, called: threading.Event) -> None:
        """Leave the line; the turn of who was called just then is the next one's."""
        with self._lock:
            if not self._back.leave(called) and not self._new.leave(called):
                self._free += 1
                self._call()


_turns = Turns()
_mine = threading.local()


def are_waited_for() -> bool:
    """Whether any page waits for its turn."""
    return _turns.waiting > 0


def are_taken() -> bool:
    """Whether any page is being drawn."""
    return _turns.taken


@contextlib.contextmanager
def turn(tell: Tell) -> Iterator[None]:
    """A turn for the script in this thread, which is not ended by a move before it is through.

    Args:
        tell: is told of a wait that takes more than moments.
    """
    if getattr(_mine, "has", False):
        yield
        return
    with _moves_held_back():
        _turns.begin(jobs.session_id(), tell)
        _mine.has, began = True, time.monotonic()
        try:
            yield
        finally:
            _mine.has = False
            _turns.end(time.monotonic() - began)


@contextlib.contextmanager
def _moves_held_back() -> Iterator[None]:
    """Keep requests to run the script again, unless they are its own, until it is through."""
    context = get_script_run_ctx()
    requests = context.script_requests if context else None
    if requests is None:
        yield
        return
    ask, mine, lock = requests.request_rerun, threading.current_thread(), threading.Lock()
    held: ScriptRequests | None = ScriptRequests()

    stop, stopped_by = requests.request_stop, set[threading.Thread]()

    def hold(new_data: RerunData) -> bool:
        with lock:
            # Who stopped the page and moves on gets another script, which this one cannot be.
            is_stopped = bool(stopped_by - {mine})
            if held is None or is_stopped or threading.current_thread() is mine:
                return ask(new_data)
            return held.request_rerun(new_data)

    def note_stop() -> None:
        with lock:
            stopped_by.add(threading.current_thread())
            stop()

    def let_through(now: bool) -> None:
        nonlocal held
        with lock:
            if held and held._state == ScriptRequestType.RERUN:
                if stopped_by == {mine}:
                    # A page that ends early takes no more requests, not even those from before.
                    requests._state = ScriptRequestType.CONTINUE
                ask(held._rerun_data)
            held = None if now else ScriptRequests()

    # There is no setting for this; it touches the requests of this one script.
    requests.request_rerun = hold  # type: ignore[method-assign]
    requests.request_stop = note_stop  # type: ignore[method-assign]
    _mine.let_through = let_through
    try:
        yield
        _wait_until_sent()
    finally:
        let_through(True)
        del _mine.let_through, requests.request_rerun, requests.request_stop


def _wait_until_sent() -> None:
    """Wait until what the page has drawn is on its way to the browser.

    When the next run of a script begins, Streamlit drops what it has not handed on of the one
    before. With many visitors that was the picture of half of all runs.
    """
    context = get_script_run_ctx()
    if context is None or not runtime.exists():
        return
    # There is no public way to a session's queue; what stands for the runtime in tests has none.
    sessions = getattr(runtime.get_instance(), "_session_mgr", None)
    found = sessions.get_active_session_info(context.session_id) if sessions else None
    if found is None:
        return
    session = found.session
    end, queued = time.monotonic() + SENDING, threading.Event()
    # Messages come into the queue by the server's loop, in order, and so does this.
    session._event_loop.call_soon_threadsafe(queued.set)
    queued.wait(SENDING)
    while not session._browser_queue.is_empty() and time.monotonic() < end:
        time.sleep(BETWEEN_LOOKS)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let a move, also one from before, end the page where it next draws.

    For a page that waits, so that who does not want to wait can go on.
    """
    let_through: Callable[[bool], None] | None = getattr(_mine, "let_through", None)
    if let_through is None:
        yield
        return
    let_through(True)
    try:
        yield
    finally:
        let_through(False)


LARGEST_HELD, MOST_HELD = 2 * callers.LARGEST_MESSAGE, 1000
"""Bytes, and widgets, of requests that wait to be joined: a page's largest message, twice, and far
more than a page has. Whenever another one comes all that wait are gone through."""


def _keep_what_a_visitor_asked_for() -> None:
    """Let no timer of a page take back that another page was asked for.

    Parts of a page that show progress are drawn again twice a second, at the request of the
    browser. Streamlit joins such a request with one that waits, and takes the page from the later
    one; so who went to another page while something was being drawn stayed where they were.

    Clicks on different things are all kept until they were seen. More of them than a person makes
    would fill the memory, so then only the latest request is kept.
    """
    join = ScriptRequests._request_rerun_locked

    def request(self: ScriptRequests, new_data: RerunData) -> bool:
        waits = self._state == ScriptRequestType.RERUN and _is_full_app_rerun(self._rerun_data)
        if new_data.is_auto_rerun and waits:
            return True
        if self._state == ScriptRequestType.RERUN and _are_too_much(self._rerun_data, new_data):
            self._state = ScriptRequestType.CONTINUE
        return join(self, new_data)

    ScriptRequests._request_rerun_locked = request  # type: ignore[method-assign]


def _are_too_much(*requests: RerunData) -> bool:
    states = [each.widget_states for each in requests if each.widget_states]
    widgets = sum(len(each.widgets) for each in states)
    return widgets > MOST_HELD or sum(each.ByteSize() for each in states) > LARGEST_HELD


_keep_what_a_visitor_asked_for()


@contextlib.contextmanager
def away() -> Iterator[None]:
    """Let others draw while this page waits for something, if it has a turn."""
    if not getattr(_mine, "has", False):
        yield
        return
    _turns.end()
    try:
        yield
    finally:
        _turns.begin(jobs.session_id(), again=True)
