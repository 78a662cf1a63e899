"""Whose page is drawn: a few at a time, and what was begun is finished.

Streamlit ends the script of a page where it next draws when a knob was moved meanwhile, and begins
again. With many visitors a page takes longer than the time between two moves, and would never be
finished. So the script waits for its turn, and moves that come meanwhile are held back until it is
through; the server's setting ``runner.fastReruns = false`` has them brought to the script that is
going on. Of several moves only the latest is drawn next.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterator

from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

from abcdp_core import workers


class Turns:
    """A few at a time: in the order in which they came, but those first who come back.

    Args:
        count: how many at a time.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

    def begin(self, *, again: bool = False) -> None:
        """Wait for a turn; who had one and went away for a while comes before the others."""
        place = object()
        with self._changed:
            (self._waiting.appendleft if again else self._waiting.append)(place)
            self._changed.wait_for(lambda: self._free > 0 and self._waiting[0] is place)
            self._waiting.popleft()
            self._free -= 1
            self._changed.notify_all()

    def end(self) -> None:
        """Let the next have a turn."""
        with self._changed:
            self._free += 1
            self._changed.notify_all()


_turns = Turns(workers.processor_count())
_mine = threading.local()


@contextlib.contextmanager
def turn() -> Iterator[None]:
    """A turn for the script in this thread, which is not ended by a move before it is through."""
    if getattr(_mine, "has", False):
        yield
        return
    with _moves_held_back():
        _turns.begin()
        _mine.has = True
        try:
            yield
        finally:
            _mine.has = False
            _turns.end()


@contextlib.contextmanager
def _moves_held_back() -> Iterator[None]:
    """Keep requests to run the script again, unless they are its own, until it is through."""
    context = get_script_run_ctx()
    requests = context.script_requests if context else None
    if requests is None:
        yield
        return
    ask, mine, lock = requests.request_rerun, threading.current_thread(), threading.Lock()
    held: list[RerunData] | None = []

    def hold(new_data: RerunData) -> bool:
        with lock:
            if held is None or threading.current_thread() is mine:
                return ask(new_data)
            held.append(new_data)
            return True

    # There is no setting for this; it touches the requests of this one script.
    requests.request_rerun = hold  # type: ignore[method-assign]
    try:
        yield
    finally:
        with lock:
            for move in held or ():
                ask(move)
            held = None
        del requests.request_rerun


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
        _turns.begin(again=True)
