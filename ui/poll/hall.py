"""Hold live polls in this server's memory: by code, each with the secret of its lecturer.

A telephone has one ticket for a poll, which is bound to one question and one word; asking or
answering again with it changes nothing. Nothing here has ever been a person's value.
"""

from __future__ import annotations

import dataclasses
import hmac
import re
import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from abcdp_core.adaptive.categories import Choice, ChoicePoll
from abcdp_core.adaptive.poll import Design, Poll, Question

LIFE = 2 * 60 * 60.0
"""Seconds after which a poll is dropped."""

POLLS, PEOPLE = 50, 500
"""Most polls at a time, and most people of one."""

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Letters of a code: none that can be taken for another."""

TICKET = re.compile(r"[0-9a-f]{32}")


class PollError(ValueError):
    """A poll cannot be held, asked or answered; one sentence says why."""


@dataclass
class Held:
    """One poll. Its state is replaced as a whole, so that a reader needs no lock.

    Attributes:
        code, secret: name for telephones, and what lets its lecturer see and close it.
        text, unit: the question, and the unit of its values.
        poll: the answers so far, and what follows from them.
        asked, words: ticket -> its question, and the place of its word.
        is_closed: whether it takes no more answers.
        following: code of the poll that came after it, which its telephones go on to.
        began: when it was opened, in seconds of the monotonic clock.
    """

    code: str
    secret: str
    text: str
    unit: str
    poll: Poll | ChoicePoll
    asked: dict[str, Question | Choice] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)
    is_closed: bool = False
    following: str = ""
    began: float = field(default_factory=time.monotonic)

    @property
    def waiting(self) -> int:
        """Telephones that have a question and have not answered."""
        return len(self.asked) - len(self.words)


class Hall:
    """All polls of this server."""

    def __init__(self) -> None:
        self._polls: dict[str, Held] = {}
        self._lock = threading.Lock()
        self._rng = np.random.default_rng(secrets.randbits(128))

    def open(self, text: str, unit: str, design: Design | Choice) -> Held:
        """Begin a poll and return it.

        Raises:
            PollError: there are too many.
        """
        with self._lock:
            self._sweep()
            if len(self._polls) >= POLLS:
                raise PollError(f"This server holds {POLLS} polls; try again later.")
            while (code := "".join(secrets.choice(LETTERS) for _ in range(5))) in self._polls:
                pass
            poll = ChoicePoll(design) if isinstance(design, Choice) else Poll(design)
            held = Held(code, secrets.token_urlsafe(12), text, unit, poll)
            self._polls[code] = held
            return held

    def find(self, code: str) -> Held | None:
        """Return the poll of a code, in capital letters or not; ``None`` if there is none."""
        with self._lock:
            self._sweep()
            return self._polls.get(code.strip().upper())

    def hosted(self, code: str, secret: str) -> Held | None:
        """Return the poll of a code to its lecturer; ``None`` to anyone else."""
        held = self.find(code)
        return held if held and hmac.compare_digest(held.secret, secret) else None

    def last(self, code: str) -> Held | None:
        """Return the last of the polls that came after one; ``None`` if that is gone."""
        held = self.find(code)
        while held and held.following:
            held = self.find(held.following)
        return held

    def ask(self, held: Held, ticket: str) -> Question | Choice:
        """Return the question of a ticket: the one it has, else the next.

        Raises:
            PollError: the poll is closed or full, or this is no ticket.
        """
        if not TICKET.fullmatch(ticket):
            raise PollError("This telephone sent something that is not a ticket.")
        with self._lock:
            if ticket not in held.asked:
                if held.is_closed:
                    raise PollError("This poll is closed.")
                if len(held.asked) >= PEOPLE:
                    raise PollError(f"This poll is full: it has {PEOPLE} people.")
                held.asked[ticket] = held.poll.ask(self._rng, len(held.asked))
            return held.asked[ticket]

    def take(self, held: Held, ticket: str, word: int) -> None:
        """Take the word of a ticket, unless it has given one.

        Raises:
            PollError: the poll is closed, or the ticket has no question, or there is no such word.
        """
        with self._lock:
            if ticket in held.words:
                return
            if held.is_closed:
                raise PollError("This poll is closed.")
            if ticket not in held.asked or word not in range(held.poll.design.many):
                raise PollError("This telephone answered a question that it was not asked.")
            question: Any = held.asked[ticket]
            held.poll = held.poll.take(question, word)
            held.words[ticket] = word

    def close(self, held: Held) -> None:
        """Take no more answers."""
        with self._lock:
            held.is_closed = True

    def again(self, held: Held, epsilon: float) -> Held:
        """Close a poll and begin another one with the same question; telephones go on to it.

        Raises:
            PollError: there are too many.
        """
        design = dataclasses.replace(held.poll.design, epsilon=epsilon)
        following = self.open(held.text, held.unit, design)
        self.close(held)
        held.following = following.code
        return following

    def _sweep(self) -> None:
        now = time.monotonic()
        for code in [each.code for each in self._polls.values() if now - each.began > LIFE]:
            del self._polls[code]


HALL = Hall()
"""The one of this server: modules are imported once, whatever a session does."""
