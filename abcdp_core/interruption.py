"""Ctrl-C and the other signals that end a program, and the moments at which they have to wait.

Python runs a signal's handler between any two steps of the main thread. What the handler raises can
strike inside the standard library, between taking a lock and giving it back; the lock then stays
taken and whoever needs it waits for ever. So whatever starts work in threads and processes, and
whatever has to be done whole, is done inside :func:`held`; waiting is left to C code, such as
``queue.SimpleQueue.get``, which has no such moments.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn

Handler = Callable[[int, FrameType | None], object]

WORDS = {
    "SIGINT": "Interrupted",
    "SIGTERM": "Terminated",
    "SIGHUP": "Hung up",
    "SIGQUIT": "Quit",
    "SIGUSR1": "Stopped by signal USR1",
    "SIGUSR2": "Stopped by signal USR2",
    "SIGALRM": "Out of time",
    "SIGXCPU": "Out of processor time",
}
"""Signal that ends a program -> what to say of it. Not every system has all of them. Batch systems
send the last ones shortly before a job's time is over."""

NUMBERS = {getattr(signal, name): words for name, words in WORDS.items() if hasattr(signal, name)}


class Stopped(KeyboardInterrupt):
    """A signal that ends the program: whatever is done at Ctrl-C is done at this one.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def number_of(stop: KeyboardInterrupt) -> int:
    """The signal that an exception stands for."""
    return stop.number if isinstance(stop, Stopped) else int(signal.SIGINT)


def words_for(stop: KeyboardInterrupt) -> str:
    """What happened, in a word or two."""
    return NUMBERS[signal.Signals(number_of(stop))]


def exit_code(stop: KeyboardInterrupt) -> int:
    """That of a program which ended for it, as shells count."""
    return 128 + number_of(stop)


@contextlib.contextmanager
def like_ctrl_c() -> Iterator[None]:
    r"""Let signals that end the program raise :class:`Stopped` in the block.

    Those that somebody ignores (``nohup``) or handles already are left alone. Only the first one
    raises: a terminal that is closed sends several, and an impatient person presses Ctrl-C twice;
    they must not end what the first began. A second QUIT (Ctrl-\) alone ends the program at once.
    What is raised where Python drops it, as in a function that a library calls from C or while an
    object ends, is raised again a moment later.
    """
    before: dict[signal.Signals, Any] = {}
    complain, timers = sys.unraisablehook, list[threading.Timer]()

    def stop(number: int, _: FrameType | None) -> None:
        for each in before:
            signal.signal(each, signal.SIG_DFL if each.name == "SIGQUIT" else _pass_over)
        raise Stopped(number)

    def dropped(what: sys.UnraisableHookArgs) -> None:
        if isinstance(what.exc_value, OSError) and what.object is None:
            # Python's word that it passes over a QUIT which came at the same moment as another one.
            return
        if not isinstance(what.exc_value, Stopped):
            complain(what)
            return
        for each in before:
            signal.signal(each, stop)
        # Here it would be dropped once more.
        timers.append(threading.Timer(MOMENT, _strike, [what.exc_value.number]))
        timers[-1].daemon = True
        timers[-1].start()

    try:
        if threading.current_thread() is threading.main_thread():
            for each in NUMBERS:
                usual = signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL
                if signal.getsignal(each) == usual:
                    before[each] = usual
                    signal.signal(each, stop)
            sys.unraisablehook = dropped
        yield
    finally:
        for timer in timers:
            timer.cancel()
        for each, usual in before.items():
            signal.signal(each, usual)
        # Not before: of a signal that has come already Python complains when the next one is set.
        if sys.unraisablehook is dropped:
            sys.unraisablehook = complain


MOMENT = 0.01
"""Seconds after which a signal that was dropped strikes again."""


def _strike(number: int) -> None:
    """A signal for the main thread, where it wakes what waits."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


def _pass_over(number: int, frame: FrameType | None) -> None:
    """Instead of ``SIG_IGN``: of a signal that is there already Python would print a complaint."""


def pass_over() -> None:
    """Let no more signals end the program, which is about to end."""
    for each in NUMBERS:
        if signal.getsignal(each) != signal.SIG_IGN:
            signal.signal(each, _pass_over)
    # By now those that were there already have passed; only this holds when Python itself ends.
    for each in NUMBERS:
        signal.signal(each, signal.SIG_IGN)


def leave(code: int) -> NoReturn:
    """End the program; if it failed, without waiting for threads inside somebody's simulator."""
    waiting = [each for each in threading.enumerate() if not each.daemon]
    if code and waiting != [threading.main_thread()]:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Let signals that end the program wait until the block is over; then the first one counts.

    Only for what takes moments. In threads other than the main one there is nothing to hold.
    """
    arrived: list[tuple[int, FrameType | None]] = []
    handlers: dict[signal.Signals, Handler] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for each in NUMBERS:
                handler = signal.getsignal(each)
                if callable(handler):
                    handlers[each] = handler
                    signal.signal(each, lambda number, frame: arrived.append((number, frame)))
        yield
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)
        if arrived:
            number, frame = arrived[0]
            handlers[signal.Signals(number)](number, frame)
