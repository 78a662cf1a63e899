"""Ctrl-C and the other signals that end a program, and the moments at which they have to wait.

What a handler raises can strike inside the standard library, between taking a lock and giving it
back; whoever needs the lock then waits for ever. So whatever starts work in threads and processes,
and whatever has to be done whole, is done inside :func:`held`; waiting is left to C code, such as
``queue.SimpleQueue.get``, which has no such moments.
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
"""Signal that ends a program -> what to say of it. Not every system has all of them."""

NUMBERS = {getattr(signal, name): words for name, words in WORDS.items() if hasattr(signal, name)}


class LostWorkersError(BrokenExecutor):
    """Work cannot go on because who did it is gone; a sentence says what to do about it."""


class Stopped(KeyboardInterrupt):
    """A signal that ends the program: whatever is done at Ctrl-C is done at this one.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def words_for(stop: KeyboardInterrupt) -> str:
    """What happened, in a word or two."""
    return NUMBERS[signal.Signals(getattr(stop, "number", signal.SIGINT))]


def exit_code(stop: KeyboardInterrupt) -> int:
    """That of a program which ended for it, as shells count."""
    return 128 + int(getattr(stop, "number", signal.SIGINT))


IMPATIENCE = 2.0
"""Seconds after a signal in which others are passed over: a terminal that is closed sends several,
and they must not end what the first began, such as to write what is done."""


@contextlib.contextmanager
def like_ctrl_c() -> Iterator[None]:
    """Let signals that end the program raise :class:`Stopped` in the block.

    Those that somebody ignores (``nohup``) or handles already are left alone.
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
    """Let no more signals end the program, which is about to end."""
    for each in NUMBERS:
        signal.signal(each, signal.SIG_IGN)


def leave(code: int) -> NoReturn:
    """End the program; if it failed, without waiting for threads inside somebody's simulator."""
    others = [each for each in threading.enumerate() if each is not threading.main_thread()]
    if code and not all(each.daemon for each in others):
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
