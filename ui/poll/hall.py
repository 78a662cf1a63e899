"""Hold live polls on this server: by code, each with the secret of its lecturer.

A telephone has one ticket for a poll, which is bound to one numbered question and one word; asking
or answering again with it changes nothing. Nothing here has ever been a person's value.
"""

from __future__ import annotations

import dataclasses
import hmac
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from abcdp_core.adaptive.categories import Choice, ChoicePoll
from abcdp_core.adaptive.poll import Design, Poll, Question
from ui.poll import journal

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
        questions: those that were asked, by number.
        numbers: ticket -> number of its question, since this server started.
        words: number of a question -> place of the word that answered it.
        is_closed: whether it takes no more answers.
        following: code of the poll that came after it, which its telephones go on to.
        began: when it was opened, in seconds of the monotonic clock.
    """

    code: str
    secret: str
    text: str
    unit: str
    poll: Poll | ChoicePoll
    questions: list[Question | Choice] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    words: dict[int, int] = field(default_factory=dict)
    is_closed: bool = False
    following: str = ""
    began: float = field(default_factory=time.monotonic)

    @property
    def waiting(self) -> int:
        """Telephones that have a question and have not answered."""
        return len(self.questions) - len(self.words)

    def took(self, ticket: str) -> bool:
        """Whether the word of a ticket is here."""
        return self.numbers.get(ticket) in self.words


def _opened(code: str, secret: str, text: str, unit: str, design: Design | Choice) -> Held:
    poll = ChoicePoll(design) if isinstance(design, Choice) else Poll(design)
    return Held(code, secret, text, unit, poll)


class Hall:
    """All polls of this server, kept in a folder if there is one."""

    def __init__(self, folder: Callable[[], Path] | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._rng = np.random.default_rng(secrets.randbits(128))
        kept = journal.read(folder(), LIFE) if folder else ()
        self._polls = {held.code: held for held in map(_restored, kept)}

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
            held = _opened(code, secrets.token_urlsafe(12), text, unit, design)
            said = {"code": code, "secret": held.secret, "text": text, "unit": unit}
            self._keep(held, **said, **dataclasses.asdict(design))
            self._polls[code] = held
            return held

    def _keep(self, held: Held, **line: Any) -> None:
        if self._folder is None:
            return
        try:
            journal.write(self._folder() / f"{held.code}.jsonl", line)
        except OSError as error:
            raise PollError(f"This server cannot keep answers ({error.strerror}).") from error

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
            if ticket not in held.numbers:
                if held.is_closed:
                    raise PollError("This poll is closed.")
                if (number := len(held.questions)) >= PEOPLE:
                    raise PollError(f"This poll is full: it has {PEOPLE} people.")
                question = held.poll.ask(self._rng, number)
                edges = dataclasses.asdict(question) if isinstance(question, Question) else {}
                self._keep(held, asked=number, **edges)
                held.questions.append(question)
                held.numbers[ticket] = number
            return held.questions[held.numbers[ticket]]

    def take(self, held: Held, ticket: str, word: int, number: int = -1) -> None:
        """Take the word of a ticket, unless it has given one.

        Args:
            held: the poll.
            ticket: of a telephone.
            word: place of the one that it drew.
            number: of the question that it was asked, if this server started again since.

        Raises:
            PollError: the poll is closed, or the ticket has no question, or there is no such word.
        """
        with self._lock:
            mine = held.numbers.get(ticket, number)
            is_mine = ticket in held.numbers or mine not in held.numbers.values()
            if is_mine and mine in held.words:
                held.numbers[ticket] = mine
                return
            if held.is_closed:
                raise PollError("This poll is closed.")
            is_asked = is_mine and 0 <= mine < len(held.questions)
            if not is_asked or word not in range(held.poll.design.many):
                raise PollError("This telephone answered a question that it was not asked.")
            question: Any = held.questions[mine]
            following = held.poll.take(question, word)
            self._keep(held, word=word, number=mine)
            held.poll, held.words[mine], held.numbers[ticket] = following, word, mine

    def close(self, held: Held) -> None:
        """Take no more answers."""
        with self._lock:
            held.is_closed = True
            self._keep(held, closed=True)

    def again(self, held: Held, epsilon: float) -> Held:
        """Close a poll and begin another one with the same question; telephones go on to it.

        Raises:
            PollError: there are too many.
        """
        design = dataclasses.replace(held.poll.design, epsilon=epsilon)
        following = self.open(held.text, held.unit, design)
        self.close(held)
        self._keep(held, following=following.code)
        held.following = following.code
        return following

    def _sweep(self) -> None:
        now = time.monotonic()
        for code in [each.code for each in self._polls.values() if now - each.began > LIFE]:
            del self._polls[code]


def _restored(lines: list[journal.Line]) -> Held:
    """Return a poll as its journal has it."""
    opened, *others = lines
    epsilon = float(opened["epsilon"])
    design: Any = (
        Choice(tuple(opened["words"]), epsilon)
        if "words" in opened
        else Design(opened["low"], opened["high"], epsilon)
    )
    held = _opened(opened["code"], opened["secret"], opened["text"], opened["unit"], design)
    for line in others:
        if "asked" in line:
            edges = {name: line[name] for name in ("number", "lower", "upper") if name in line}
            held.questions.append(Question(**edges) if edges else design)
        elif "word" in line:
            question: Any = held.questions[line["number"]]
            held.poll = held.poll.take(question, line["word"])
            held.words[line["number"]] = line["word"]
        held.is_closed |= "closed" in line
        held.following = line.get("following", held.following)
    return held


HALL = Hall(journal.folder)
"""The one of this server: modules are imported once, whatever a session does."""
