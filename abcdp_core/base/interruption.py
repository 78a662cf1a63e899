"""Ctrl-C and the other signals that end a program, and sections of code that defer them.

An error raised by a signal handler can interrupt the standard library while it holds a lock, which
then is never released. So code that starts threads or processes, or that must not be done by
halves, runs inside :func:`defer_signals`. Waiting uses C code without such gaps, such as
``queue.SimpleQueue.get``.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from types import FrameType
from typing import Any, NoReturn

WORDS = {
    "SIGINT": "Interrupted",
    "SIGTERM": "Terminated",
    "SIGHUP": "Hung up",
    "SIGQUIT": "Quit",
}
"""Signal that ends a program -> its description. Not every system has all of them."""

NUMBERS = {getattr(signal, name): words for name, words in WORDS.items() if hasattr(signal, name)}


class LostWorkersError(BrokenExecutor):
    """Work cannot go on because its workers are gone; one sentence says what to do."""


class Stopped(KeyboardInterrupt):
    """A signal that ends the program, handled like Ctrl-C.

    Attributes:
        number: number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def words_for(stop: KeyboardInterrupt) -> str:
    """Describe the signal in a word or two."""
    return NUMBERS[signal.Signals(getattr(stop, "number", signal.SIGINT))]


def exit_code(stop: KeyboardInterrupt) -> int:
    """Return the exit code of a program that the signal ended, as shells count."""
    return 128 + int(getattr(stop, "number", signal.SIGINT))


IMPATIENCE = 2.0
"""Seconds after a signal in which others are ignored. A terminal that closes sends several, and the
later ones must not interrupt the saving of results that the first one started."""


@contextlib.contextmanager
def like_ctrl_c() -> Iterator[None]:
    """Make signals that end the program raise :class:`Stopped` in the block.

    Signals that are ignored (``nohup``) or handled already are left alone.
    """
    before: dict[signal.Signals, Any] = {}
    last = -math.inf

    def stop(number: int, _: FrameType | None) -> None:
        nonlocal last
        before_this, last = last, time.monotonic()
        if last - before_this > IMPATIENCE:
            raise Stopped(number)

    try:
        if threading.current_thread() is threading.main_thread():
            for each in NUMBERS:
                usual = signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL
                if signal.getsignal(each) == usual:
                    before[each] = usual
                    signal.signal(each, stop)
        yield
    finally:
        for each, usual in before.items():
            signal.signal(each, usual)


def pass_over() -> None:
    """Ignore further signals, because the program is about to end."""
    for each in NUMBERS:
        signal.signal(each, signal.SIG_IGN)


def leave(code: int) -> NoReturn:
    """End the program; after a failure, without waiting for threads in a simulator."""
    others = [each for each in threading.enumerate() if each is not threading.main_thread()]
    if code and not all(each.daemon for each in others):
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


@contextlib.contextmanager
def defer_signals() -> Iterator[None]:
    """Defer signals that end the program until after the block; then the first one counts.

    For short blocks only. Signals arrive in the main thread, so in others nothing is deferred.
    """
    arrived: list[tuple[int, FrameType | None]] = []
    handlers: dict[int, Any] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for each in NUMBERS:
                if callable(handler := signal.getsignal(each)):
                    handlers[each] = handler
                    signal.signal(each, lambda number, frame: arrived.append((number, frame)))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if arrived:
            handlers[arrived[0][0]](*arrived[0])
