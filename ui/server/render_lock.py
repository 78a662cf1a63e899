"""Draw one page at a time, in the order in which visitors ask.

Pages drawn at the same time take Python's lock from each other at each of their hundreds of
messages, and together take three times as long. Streamlit restarts a page when a knob moves while
it waits or is drawn; such a page comes first once, or a class that keeps moving would see nothing.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import streamlit as st

SENDING = 0.05
"""Seconds after a page is drawn until it may be drawn again where others wait: as its next run
begins, Streamlit drops what it has not sent yet, which may be the picture."""

_free = threading.Lock()
_waiting: deque[threading.Event] = deque()
_drawing = threading.local()
_busy = False


@dataclass
class _Place:
    """A session's place: whether it was restarted in its turn, and whether it then came first."""

    was_restarted: bool = False
    came_first: bool = False


@contextlib.contextmanager
def turn() -> Iterator[None]:
    """Wait for this session's turn to draw its page."""
    place: _Place = st.session_state.setdefault("_place_in_line", _Place())
    place.came_first = place.was_restarted and not place.came_first
    place.was_restarted = False
    _acquire(first=place.came_first)
    _drawing.here = True
    try:
        yield
    except BaseException:
        place.was_restarted = True
        raise
    finally:
        _drawing.here = False
        _release()
    if _waiting:
        time.sleep(SENDING)


@contextlib.contextmanager
def released() -> Iterator[None]:
    """Let others draw while this page, if it has a turn, waits for something."""
    if not getattr(_drawing, "here", False):
        yield
        return
    _drawing.here = False
    _release()
    try:
        yield
    finally:
        _acquire(first=True)
        _drawing.here = True


def _acquire(*, first: bool) -> None:
    global _busy
    called = threading.Event()
    with _free:
        if not _busy:
            _busy = True
            return
        (_waiting.appendleft if first else _waiting.append)(called)
    called.wait()


def _release() -> None:
    global _busy
    with _free:
        if _waiting:
            _waiting.popleft().set()
        else:
            _busy = False
