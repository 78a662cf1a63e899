"""One page is drawn at a time, in order; one that was restarted keeps its place once."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import defaultdict
from collections.abc import Callable

import pytest

from ui.server import render_lock

SOON = 20.0


class RestartError(Exception):
    """A knob was moved while the page was drawn."""


class Sessions(threading.local):
    """What a script sees of Streamlit: each thread has a session of its own."""

    def __init__(self) -> None:
        self.session_state: dict[str, object] = {}


class Visitors:
    """Sessions that note when they draw, and go on when they are told to."""

    def __init__(self) -> None:
        self.noted = queue.SimpleQueue[str]()
        self._go = defaultdict[str, threading.Semaphore](lambda: threading.Semaphore(0))

    def open(self, name: str, *runs: str) -> None:
        threading.Thread(target=self._draw, args=(name, runs or ("",)), daemon=True).start()

    def goes_on(self, name: str, *noted: str) -> None:
        """Let a session go on, and see what is noted next."""
        self._go[name].release()
        self.note(*noted)

    def note(self, *expected: str) -> None:
        assert {self.noted.get(timeout=SOON) for _ in expected} == {*expected}

    def _draw(self, name: str, runs: tuple[str, ...]) -> None:
        for run in runs:
            with contextlib.suppress(RestartError), render_lock.turn():
                self._stay(name, "draws")
                if run == "restarted":
                    raise RestartError
                if run == "away":
                    with render_lock.released():
                        self._stay(name, "is away")
                    self._stay(name, "is back")
            if run == "restarted":
                self._stay(name, "is restarted")

    def _stay(self, name: str, what: str) -> None:
        self.noted.put(f"{name} {what}")
        assert self._go[name].acquire(timeout=SOON)


@pytest.fixture
def visitors(monkeypatch: pytest.MonkeyPatch) -> Visitors:
    monkeypatch.setattr(render_lock, "st", Sessions())
    return Visitors()


def until_waiting(count: int) -> None:
    until(lambda: len(render_lock._waiting) == count)


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_pages_are_drawn_in_order_and_a_restarted_one_comes_first_once(visitors: Visitors) -> None:
    visitors.open("moves", "restarted", "restarted", "")
    visitors.note("moves draws")
    for count, name in enumerate("bcd", 1):
        visitors.open(name)
        until_waiting(count)
    # A page that ends by an error lets the next one in.
    visitors.goes_on("moves", "moves is restarted", "b draws")
    visitors.goes_on("moves")
    until_waiting(3)
    visitors.goes_on("b", "moves draws")
    visitors.goes_on("moves", "moves is restarted", "c draws")
    visitors.goes_on("moves")
    until_waiting(2)
    visitors.goes_on("c", "d draws")
    visitors.goes_on("d", "moves draws")
    visitors.goes_on("moves")
    until(lambda: not render_lock._drawn)


def test_a_page_that_waits_for_its_numbers_lets_others_draw_and_keeps_its_place(
    visitors: Visitors,
) -> None:
    visitors.open("a", "away")
    visitors.note("a draws")
    with render_lock.released():
        # A thread without a turn gives away nobody else's.
        visitors.open("b")
        until_waiting(1)
    visitors.goes_on("a", "a is away", "b draws")
    visitors.open("c")
    until_waiting(1)
    visitors.goes_on("a")
    until_waiting(2)
    visitors.goes_on("b", "a is back")
    visitors.goes_on("a", "c draws")
    visitors.goes_on("c")
    until(lambda: not render_lock._drawn)
