"""One page is drawn at a time, in order; one that was restarted comes first once."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import defaultdict
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from ui.server import render_lock

SOON = 20.0


class RestartError(Exception):
    """A knob was moved while the page was drawn."""


class Sessions(threading.local):
    """What a script sees of Streamlit: each thread has a session of its own."""

    def __init__(self) -> None:
        self.session_state: dict[str, object] = {}


class Class:
    """Sessions that say what they do, and do no more before they are told to go on."""

    def __init__(self) -> None:
        self._said = queue.SimpleQueue[str]()
        self._go = defaultdict[str, threading.Semaphore](lambda: threading.Semaphore(0))
        self.threads: list[threading.Thread] = []

    def say(self, what: str) -> None:
        self._said.put(f"{threading.current_thread().name} {what}")

    def open(self, name: str, *runs: str) -> set[str]:
        """Have a new session draw its page; return what is said then."""
        self.threads.append(threading.Thread(target=self._draw, args=runs or ("",), name=name))
        self.threads[-1].start()
        return {self._said.get(timeout=SOON)}

    def go_on(self, name: str, count: int = 1) -> set[str]:
        """Let a session go on; return what is said then."""
        self._go[name].release()
        return {self._said.get(timeout=SOON) for _ in range(count)}

    def _draw(self, *runs: str) -> None:
        for run in runs:
            with contextlib.suppress(RestartError), render_lock.turn():
                self._stay("draws")
                if run == "away":
                    with render_lock.released():
                        self._stay("is away")
                    self._stay("is back")
                if run == "restarted":
                    raise RestartError

    def _stay(self, what: str) -> None:
        self.say(what)
        assert self._go[threading.current_thread().name].acquire(timeout=SOON)


@pytest.fixture
def visitors(monkeypatch: pytest.MonkeyPatch) -> Iterator[Class]:
    found = Class()

    class Event(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            found.say("waits")
            return super().wait(SOON)

    monkeypatch.setattr(render_lock, "threading", SimpleNamespace(Event=Event))
    monkeypatch.setattr(render_lock, "st", Sessions())
    yield found
    for thread in found.threads:
        found._go[thread.name].release()
        thread.join(SOON)
        assert not thread.is_alive()


def test_pages_are_drawn_one_at_a_time_and_in_order(visitors: Class) -> None:
    assert visitors.open("a") == {"a draws"}
    for name in "bcd":
        assert visitors.open(name) == {f"{name} waits"}
    for name, following in ("ab", "bc", "cd"):
        assert visitors.go_on(name) == {f"{following} draws"}


def test_who_was_restarted_comes_first_once_and_then_last(visitors: Class) -> None:
    assert visitors.open("moves", "restarted", "restarted", "") == {"moves draws"}
    for name in "bcd":
        visitors.open(name)
    # A page that ends by an error lets the next one in.
    assert visitors.go_on("moves", 2) == {"b draws", "moves waits"}
    assert visitors.go_on("b") == {"moves draws"}
    assert visitors.go_on("moves", 2) == {"c draws", "moves waits"}
    assert visitors.go_on("c") == {"d draws"}
    assert visitors.go_on("d") == {"moves draws"}


def test_a_page_that_waits_for_its_numbers_lets_others_draw_and_then_comes_first(
    visitors: Class,
) -> None:
    visitors.open("a", "away")
    assert visitors.go_on("a") == {"a is away"}
    assert visitors.open("b") == {"b draws"}
    assert visitors.open("c") == {"c waits"}
    assert visitors.go_on("a") == {"a waits"}
    assert visitors.go_on("b") == {"a is back"}
    assert visitors.go_on("a") == {"c draws"}


def test_who_has_no_turn_gives_away_nobody_elses(visitors: Class) -> None:
    visitors.open("a")
    with render_lock.released():
        assert visitors.open("b") == {"b waits"}
    assert visitors.go_on("a") == {"b draws"}
