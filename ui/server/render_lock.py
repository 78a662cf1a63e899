"""Draw one page at a time, in the order in which visitors ask.

Pages drawn at once take Python's lock from each other at each of their hundreds of messages, and
together take three times as long. A page that waits for its numbers keeps its place. So does, once,
a page that Streamlit restarts as a knob moves: a class that keeps moving would see nothing.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Iterator

import streamlit as st

SENDING = 0.05
"""Seconds after a page is drawn until it may be drawn again where others wait: as its next run
begins, Streamlit drops what it has not sent yet, which may be the picture."""

_numbers = itertools.count()
_changed = threading.Condition()
_waiting, _drawn = set[int](), set[int]()
_thread = threading.local()


@contextlib.contextmanager
def turn() -> Iterator[None]:
    """Wait for this session's turn to draw its page."""
    kept: list[int] = st.session_state.setdefault("_place_in_line", [])
    is_new = not kept
    number = next(_numbers) if is_new else kept.pop()
    _begin(number)
    try:
        yield
    except BaseException:
        if is_new:
            kept.append(number)
        raise
    finally:
        _end(number)
    if _waiting:
        time.sleep(SENDING)


@contextlib.contextmanager
def released() -> Iterator[None]:
    """Let others draw while this page, if it has a turn, waits for something."""
    if (number := getattr(_thread, "number", None)) is None:
        yield
        return
    _end(number)
    try:
        yield
    finally:
        _begin(number)


def _begin(number: int) -> None:
    with _changed:
        _waiting.add(number)
        _changed.wait_for(lambda: not _drawn and number == min(_waiting))
        _waiting.remove(number)
        _drawn.add(number)
    _thread.number = number


def _end(number: int) -> None:
    _thread.number = None
    with _changed:
        _drawn.remove(number)
        _changed.notify_all()
