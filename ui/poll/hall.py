"""Hold live polls on this server: by code, each with the secret of its lecturer.

A poll is a row of rounds, each of which asks the class one question. A telephone has one ticket for
a round, which is bound to one numbered question and one word; asking or answering again with it
changes nothing. Nothing here has ever been a person's value.

All that happens to a poll is a line of its journal first, and then done by :func:`_apply`; to start
again is to apply the lines.
"""

from __future__ import annotations

import dataclasses
import hmac
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from abcdp_core.adaptive.categories import Choice
from abcdp_core.adaptive.poll import Question
from abcdp_core.adaptive.questionnaire import Item, Questionnaire
from abcdp_core.publish.output import poll_file
from ui.poll import journal

LIFE = 2 * 60 * 60.0
"""Seconds without any answer after which a poll is dropped; its journal stays."""

POLLS, PEOPLE = 50, 500
"""Most polls at a time, and most people of one."""

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Letters of a code: none that can be taken for another."""

CODE, TICKET = re.compile(f"[{LETTERS}]{{5}}"), re.compile(r"[0-9a-f]{32}")


CLOSED = "This question is closed."


class PollError(ValueError):
    """A poll cannot be held, asked or answered; one sentence says why."""


@dataclass
class Round:
    """One question to the class. Its item is replaced as a whole: a reader needs no lock.

    Attributes:
        item: the question and the answers so far.
        questions: those that were asked, by number.
        numbers: ticket -> number of its question, since this server started.
        words: number of a question -> place of the word that answered it.
        used: seat codes that were used, since this server started.
    """

    item: Item
    questions: list[Question | Choice] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    words: dict[int, int] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    @property
    def waiting(self) -> int:
        """Telephones that have a question and have not answered."""
        return len(self.questions) - len(self.words)

    def took(self, ticket: str) -> bool:
        """Whether the word of a ticket is here."""
        return self.numbers.get(ticket) in self.words


@dataclass
class LivePoll:
    """A poll that a class answers.

    Attributes:
        code, secret: name for telephones, and what lets its lecturer see and close it.
        budget: ε that a person may spend on all of it, as telephones state it at the start.
        one_each: whether each telephone draws one of the questions.
        seats: codes of which each may answer once; empty if nobody needs one.
        rounds: the questions; those after the present one are prepared.
        at: which of them is the present one.
        is_closed: whether no answers are taken now.
        used_at: when something happened to it, in seconds of the monotonic clock.
    """

    code: str
    secret: str
    budget: float
    one_each: bool
    seats: tuple[str, ...]
    rounds: list[Round]
    at: int = 0
    is_closed: bool = False
    used_at: float = field(default_factory=time.monotonic)

    @property
    def on_telephones(self) -> range:
        """Places of the rounds that telephones show, or draw one of."""
        return range(len(self.rounds)) if self.one_each else range(self.at, self.at + 1)

    def is_open(self, at: int) -> bool:
        """Whether a round takes answers now."""
        return not self.is_closed and at in self.on_telephones

    def questionnaire(self) -> Questionnaire:
        """Return the questions that the class was asked, with all answers so far."""
        asked = self.rounds if self.one_each else self.rounds[: self.at + 1]
        return Questionnaire(tuple(each.item for each in asked), self.budget, self.one_each)


class Hall:
    """All polls of this server, kept in a folder if there is one."""

    def __init__(self, folder: Callable[[], Path] | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._rng = np.random.default_rng(secrets.randbits(128))
        recent = (file for file, at in self._files() if time.time() - at < LIFE)
        kept = [_restored(lines) for file in recent if (lines := journal.read(file))]
        self._polls = {live.code: live for live in kept}

    def open(self, asked: Questionnaire, seats: int = 0) -> LivePoll:
        """Begin a poll with the first of some questions, whatever was answered before.

        Args:
            asked: the questions.
            seats: how many seat codes there are; 0 if everybody may answer.

        Raises:
            PollError: there are too many polls.
        """
        with self._lock:
            self._sweep()
            if len(self._polls) >= POLLS:
                raise PollError(f"This server holds {POLLS} polls; try again later.")
            while (code := _drawn()) in self._polls:
                pass
            given: set[str] = set()
            while len(given) < seats:
                given.add(_drawn())
            items = [each.again(each.poll.design.epsilon) for each in asked.items]
            line = {"code": code, "secret": secrets.token_urlsafe(12), "budget": asked.budget}
            line |= {"one_each": asked.one_each, "seats": sorted(given)}
            line |= {"items": [poll_file.record(each) for each in items]}
            self._polls[code] = live = _opened(line)
            self._keep(live, line)
            return live

    def _keep(self, live: LivePoll, line: journal.Line) -> None:
        if self._folder is None:
            return
        try:
            journal.write(self._folder() / f"{live.code}.jsonl", line)
        except OSError as error:
            raise PollError(f"This server cannot keep answers ({error.strerror}).") from error

    def _do(self, live: LivePoll, **line: Any) -> None:
        self._keep(live, line)
        _apply(live, line)

    def find(self, code: str) -> LivePoll | None:
        """Return the poll of a code, in capital letters or not; ``None`` if there is none."""
        with self._lock:
            self._sweep()
            return self._polls.get(code.strip().upper())

    def hosted(self, code: str, secret: str) -> LivePoll | None:
        """Return the poll of a code to its lecturer, a former one too; ``None`` to anyone else."""
        live = self.find(code)
        if live is None and self._folder and CODE.fullmatch(code):
            lines = journal.read(self._folder() / f"{code}.jsonl")
            if lines and hmac.compare_digest(lines[0]["secret"], secret):
                self._polls[code] = live = _restored(lines)
                live.is_closed = True
        return live if live and hmac.compare_digest(live.secret, secret) else None

    def _files(self) -> list[tuple[Path, float]]:
        """Return the journals with the time of their last line, the latest first."""
        files = self._folder().glob("*.jsonl") if self._folder else ()
        return sorted(((file, file.stat().st_mtime) for file in files), key=lambda each: -each[1])

    def former(self) -> Iterator[tuple[float, journal.Line]]:
        """Yield how each poll on disk was opened, and the time of its last line."""
        for file, at in self._files():
            if lines := journal.read(file):
                yield at, lines[0]

    def ask(self, live: LivePoll, at: int, ticket: str, seat: str = "") -> None:
        """Ask a ticket the question of a round: the one it has, else the next.

        Raises:
            PollError: the round is closed or full, this is no ticket, or its seat code is not free.
        """
        if not TICKET.fullmatch(ticket):
            raise PollError("This telephone sent something that is not a ticket.")
        with self._lock:
            if ticket in (now := _round(live, at)).numbers:
                return
            if not live.is_open(at):
                raise PollError(CLOSED)
            if (number := len(now.questions)) >= PEOPLE:
                raise PollError(f"This poll is full: it has {PEOPLE} people.")
            seat = seat.strip().upper()
            if live.seats and (seat not in live.seats or seat in now.used):
                raise PollError("This seat code is not one of this poll, or it was used already.")
            question = now.item.poll.ask(self._rng, number, now.waiting)
            edges = dataclasses.asdict(question) if isinstance(question, Question) else {}
            self._do(live, round=at, asked=number, **edges)
            now.numbers[ticket] = number
            now.used.add(seat)

    def take(self, live: LivePoll, at: int, ticket: str, word: int, number: int = -1) -> None:
        """Take the word of a ticket, unless it has given one.

        Args:
            live: the poll.
            at: place of the round.
            ticket: of a telephone.
            word: place of the one that it drew.
            number: of the question that it was asked, if this server started again since.

        Raises:
            PollError: the round is closed, or the ticket has no question in it, or there is no such
                word.
        """
        with self._lock:
            now = _round(live, at)
            mine = now.numbers.get(ticket, number)
            is_mine = ticket in now.numbers or mine not in now.numbers.values()
            if is_mine and mine in now.words:
                now.numbers[ticket] = mine
                return
            if not live.is_open(at):
                raise PollError(CLOSED)
            is_asked = is_mine and 0 <= mine < len(now.questions)
            if not is_asked or word not in range(now.item.poll.design.many):
                raise PollError("This telephone answered a question that it was not asked.")
            self._do(live, round=at, word=word, number=mine)
            now.numbers[ticket] = mine

    def close(self, live: LivePoll) -> None:
        """Take no more answers now."""
        with self._lock:
            self._do(live, closed=True)

    def go_on(self, live: LivePoll, item: Item | None = None) -> None:
        """Go on to the next question, or to one that was not prepared; telephones follow.

        Raises:
            PollError: the journal cannot be written.
        """
        with self._lock:
            self._do(live, next=poll_file.record(item) if item else None)

    def _sweep(self) -> None:
        now = time.monotonic()
        for code in [each.code for each in self._polls.values() if now - each.used_at > LIFE]:
            del self._polls[code]


def _drawn() -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(5))


def _round(live: LivePoll, at: int) -> Round:
    if at not in range(len(live.rounds)):
        raise PollError("There is no such question.")
    return live.rounds[at]


def _opened(line: journal.Line) -> LivePoll:
    rounds = [Round(poll_file.item(each, "journal")) for each in line["items"]]
    given = {name: line[name] for name in ("code", "secret", "budget", "one_each")}
    return LivePoll(**given, seats=tuple(line["seats"]), rounds=rounds)


def _apply(live: LivePoll, line: journal.Line) -> None:
    """Do what a line of the journal says."""
    live.used_at = time.monotonic()
    if "closed" in line:
        live.is_closed = True
    elif "next" in line:
        live.at, live.is_closed = live.at + 1, False
        if line["next"]:
            live.rounds.insert(live.at, Round(poll_file.item(line["next"], "journal")))
    else:
        now = live.rounds[line["round"]]
        design = now.item.poll.design
        if "asked" in line:
            edges = [line[name] for name in ("number", "lower", "upper") if name in line]
            now.questions.append(design if isinstance(design, Choice) else Question(*edges))
        else:
            question: Any = now.questions[line["number"]]
            poll = now.item.poll.take(question, line["word"])
            now.item = dataclasses.replace(now.item, poll=poll)
            now.words[line["number"]] = line["word"]


def _restored(lines: list[journal.Line]) -> LivePoll:
    """Return a poll as its journal has it."""
    live = _opened(lines[0])
    for line in lines[1:]:
        _apply(live, line)
    return live


HALL = Hall(journal.folder)
"""The one of this server: modules are imported once, whatever a session does."""
