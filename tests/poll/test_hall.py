"""Polls in memory: one ticket, one question, one word; codes, secrets, and an end."""

from __future__ import annotations

import dataclasses
import re
import time
from decimal import Decimal
from pathlib import Path
from typing import cast
from unittest.mock import ANY

import numpy as np
import pandas as pd
import pytest

from abcdp_core.__main__ import main
from abcdp_core.adaptive.categories import Choice, ChoicePoll
from abcdp_core.adaptive.poll import Design, Poll, answered
from abcdp_core.parameters import ParameterError
from abcdp_core.studies.poll import answers_of, posterior_of, shares_of, written
from ui.poll import hall, screen
from ui.poll.hall import Hall, Held, PollError

DESIGN = Design(0.0, 24.0, 2.0)
TICKETS = [f"{number:032x}" for number in range(600)]


@pytest.fixture
def rooms() -> Hall:
    return Hall()


@pytest.fixture
def held(rooms: Hall) -> Held:
    return rooms.open("How long?", "hours", DESIGN)


def test_a_ticket_has_one_question_and_gives_one_word(rooms: Hall, held: Held) -> None:
    question = rooms.ask(held, TICKETS[0])
    assert rooms.ask(held, TICKETS[0]) is question
    assert rooms.ask(held, TICKETS[1]).number == 1
    assert held.waiting == 2
    rooms.take(held, TICKETS[0], 2)
    for word in (0, 2):
        rooms.take(held, TICKETS[0], word)
    assert held.poll.answers == ((question, 2),)
    assert held.waiting == 1


def test_the_next_question_follows_from_the_words_and_late_ones_count(rooms: Hall) -> None:
    held, rng = rooms.open("How long?", "", DESIGN), np.random.default_rng(1)
    for ticket in TICKETS[:60]:
        question = rooms.ask(held, ticket)
        rooms.take(held, ticket, answered(question, 7.0, 2.0, rng))
    late, punctual = rooms.ask(held, TICKETS[60]), rooms.ask(held, TICKETS[61])
    rooms.take(held, TICKETS[61], 0)
    rooms.take(held, TICKETS[60], 1)
    assert held.poll.answers[-2] == (punctual, 0)
    assert held.poll.answers[-1] == (late, 1)
    assert held.poll.of_mean() == pytest.approx(Poll.replayed(DESIGN, held.poll.answers).of_mean())


def test_what_was_not_asked_is_not_taken_and_a_poll_is_full_or_closed(
    rooms: Hall, held: Held
) -> None:
    rooms.ask(held, TICKETS[0])
    for ticket, word in ((TICKETS[1], 0), (TICKETS[0], 3), (TICKETS[0], -1)):
        with pytest.raises(PollError, match="was not asked"):
            rooms.take(held, ticket, word)
    assert held.poll.answers == ()
    with pytest.raises(PollError, match="not a ticket"):
        rooms.ask(held, "../../etc")
    for ticket in TICKETS[: hall.PEOPLE]:
        rooms.ask(held, ticket)
    with pytest.raises(PollError, match="full"):
        rooms.ask(held, TICKETS[hall.PEOPLE])
    rooms.close(held)
    for refused in (lambda: rooms.take(held, TICKETS[0], 0), lambda: rooms.ask(held, "f" * 32)):
        with pytest.raises(PollError, match="closed"):
            refused()


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_the_chances_of_the_words_add_up_as_they_are_shown(epsilon: float) -> None:
    for many in (2, 3, 8):
        true, other = map(Decimal, screen.in_hundred(epsilon, many))
        assert true + (many - 1) * other == 100
        assert float(true / other) == pytest.approx(np.exp(epsilon), rel=0.02)


def test_only_its_lecturer_finds_a_poll_by_its_secret(rooms: Hall, held: Held) -> None:
    assert rooms.find(f" {held.code.lower()}") is held
    assert rooms.hosted(held.code, held.secret) is held
    assert rooms.hosted(held.code, held.code) is None
    following = rooms.again(held, 1.0)
    assert held.is_closed
    assert (following.text, following.poll.design) == (held.text, Design(0.0, 24.0, 1.0))
    assert following.code != held.code
    # Telephones go on to the last of them.
    assert rooms.last(held.code) is following
    last = rooms.again(following, 4.0)
    assert rooms.last(held.code) is last
    assert rooms.last("ZZZZZ") is None


def test_polls_are_few_and_dropped_after_a_time(
    rooms: Hall, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(hall.POLLS - 1):
        rooms.open("?", "", DESIGN)
    with pytest.raises(PollError, match="try again later"):
        rooms.open("?", "", DESIGN)
    later = time.monotonic() + hall.LIFE + 1.0
    monkeypatch.setattr(hall.time, "monotonic", lambda: later)
    assert rooms.find(held.code) is None
    assert rooms.open("?", "", DESIGN)


def test_the_command_computes_the_tables_of_the_screen_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng, poll = np.random.default_rng(2), Poll(DESIGN)
    for number in range(12):
        question = poll.ask(rng, number)
        poll = poll.take(question, answered(question, 7.0, 2.0, rng))
    file = tmp_path / "poll.toml"
    # They arrive in another order than they were asked.
    poll = Poll.replayed(DESIGN, (*poll.answers[3:], *poll.answers[:3]))
    file.write_text(written(poll, 'How "long"?\n€', "hours", "0.3.0"), encoding="utf-8")
    assert main(["poll", str(file), "--out", str(tmp_path)]) == 0
    assert "After 12 answers, the mean of the class is " in capsys.readouterr().out
    for name, table in (("poll", answers_of(poll)), ("poll.posterior", posterior_of(poll))):
        assert (tmp_path / f"{name}.csv").read_text() == table.to_csv(index=False)
    whole = file.read_text()
    file.write_text(whole.replace("answers = [[", "answers = [[0, 1.0, 2.0, 7], ["))
    assert main(["poll", str(file), "--out", str(tmp_path)]) == 2
    assert "answers[0] = 7: must be 0, 1 or 2." in capsys.readouterr().err
    # Files of 0.3.0 say no numbers of questions.
    file.write_text(re.sub(r"\[\d+, (?=[\d.]+, [\d.]+, \d\])", "[", whole))
    assert main(["poll", str(file), "--out", str(tmp_path)]) == 0
    assert pd.read_csv(tmp_path / "poll.csv").question.tolist() == [*range(12)]


def test_a_poll_with_categories_is_held_and_computed_again(
    rooms: Hall, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held = rooms.open("Which day?", "", Choice(("Monday", "Friday, late"), 2.0))
    for ticket, word in zip(TICKETS[:6], (0, 1, 0, 0, 1, 0), strict=True):
        rooms.ask(held, ticket)
        rooms.take(held, ticket, word)
    rooms.ask(held, TICKETS[6])
    with pytest.raises(PollError, match="was not asked"):
        rooms.take(held, TICKETS[6], 2)
    poll = cast(ChoicePoll, held.poll)
    assert poll.told.counts == (4, 2)
    file = tmp_path / "poll.toml"
    file.write_text(written(poll, held.text, "", "0.4.0"), encoding="utf-8")
    assert main(["poll", str(file), "--out", str(tmp_path)]) == 0
    assert "After 6 answers, “Monday”: " in capsys.readouterr().out
    assert (tmp_path / "poll.csv").read_text() == shares_of(poll).to_csv(index=False)
    file.write_text(file.read_text().replace("[0, 1, 0,", "[[1.0, 2.0, 1], 0,"))
    assert main(["poll", str(file), "--out", str(tmp_path)]) == 2
    assert "answers[0]: is of another kind of question." in capsys.readouterr().err


@pytest.mark.parametrize("design", [DESIGN, Choice(("yes", "no"), 2.0)], ids=str)
def test_a_server_that_starts_again_loses_nothing_that_it_acknowledged(
    design: Design | Choice, tmp_path: Path
) -> None:
    before = Hall(lambda: tmp_path)
    held = before.open("How long?", "hours", design)
    for ticket, word in zip(TICKETS[:4], (0, 1, 1, 0), strict=True):
        before.ask(held, ticket)
        before.take(held, ticket, word)
    late, others = before.ask(held, TICKETS[4]), before.ask(held, TICKETS[5])
    closed = before.open("Closed?", "", design)
    following = before.again(closed, 1.0)
    file = tmp_path / f"{held.code}.jsonl"
    assert not any(ticket in file.read_text() for ticket in TICKETS)
    assert file.stat().st_mode & 0o077 == 0
    # The server is killed in mid-word.
    file.write_text(file.read_text() + '{"word": 1, "num')

    after = Hall(lambda: tmp_path)
    again = after.hosted(held.code, held.secret)
    assert again is not None
    assert again.poll == held.poll
    assert again.questions == [*held.questions[:4], late, others]
    assert after.last(closed.code) == dataclasses.replace(following, began=ANY)
    # A word that had not been acknowledged comes once more, with its question's number.
    for _ in range(2):
        after.take(again, TICKETS[4], 1, 4)
        assert again.poll.answers[-1] == (late, 1)
        assert len(again.poll.answers) == 5
        assert again.took(TICKETS[4])
    # One that had been is not counted twice, and another telephone has another question.
    after.take(again, TICKETS[0], 1, 0)
    assert len(again.poll.answers) == 5
    for number in (4, 9, -1):
        with pytest.raises(PollError, match="was not asked"):
            after.take(again, "f" * 32, 0, number)
    assert after.ask(again, "f" * 32) == again.questions[6]
    assert Hall(lambda: tmp_path).find(held.code).poll == again.poll  # type: ignore[union-attr]


def test_what_cannot_be_kept_is_not_acknowledged(tmp_path: Path) -> None:
    rooms = Hall(lambda: tmp_path)
    held = rooms.open("How long?", "", DESIGN)
    rooms.ask(held, TICKETS[0])
    (tmp_path / f"{held.code}.jsonl").unlink()
    (tmp_path / f"{held.code}.jsonl").mkdir()
    with pytest.raises(PollError, match="cannot keep answers"):
        rooms.take(held, TICKETS[0], 1)
    assert not held.took(TICKETS[0])
    assert held.poll.answers == ()


@pytest.mark.parametrize(
    "words", [("yes",), ("yes", "yes"), ("",) * 2, tuple("abcdefghi"), ("x" * 31, "y")]
)
def test_words_that_cannot_be_asked_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError, match="words"):
        Choice(words, 2.0)
