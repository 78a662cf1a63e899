"""Polls in memory and on disk: one ticket, one question, one word; rounds, codes, and an end."""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path
from typing import cast
from unittest.mock import ANY

import numpy as np
import pandas as pd
import pytest

from abcdp_core.__main__ import main
from abcdp_core.adaptive.categories import Choice, ChoicePoll
from abcdp_core.adaptive.poll import Design, Poll, Question, answered
from abcdp_core.adaptive.questionnaire import Item, Questionnaire, needed
from abcdp_core.base.parameters import ParameterError
from abcdp_core.publish.output import poll_file, poll_page
from abcdp_core.studies.poll import rehearsed, tables_of
from ui.poll import hall
from ui.poll.hall import Hall, LivePoll, PollError, Round

DESIGN, DAYS = Design(0.0, 24.0, 2.0), Choice(("Monday", "Friday, late"), 1.0)
SLEEP, DAY = Item.new("How long?", "hours", DESIGN), Item.new("Which day?", "", DAYS)
TICKETS = [f"{number:032x}" for number in range(600)]


def questions(*items: Item, one_each: bool = False) -> Questionnaire:
    return Questionnaire(items, needed(items, one_each=one_each), one_each)


def asked(rooms: Hall, live: LivePoll, ticket: str, at: int = 0) -> Question:
    """Ask a ticket, and return its question."""
    rooms.ask(live, at, ticket)
    now = live.rounds[at]
    return cast(Question, now.questions[now.numbers[ticket]])


def answer(rooms: Hall, live: LivePoll, *words: int, at: int = 0, first: int = 0) -> Round:
    """Ask tickets and take their words; return the round."""
    for ticket, word in zip(TICKETS[first:], words, strict=False):
        rooms.ask(live, at, ticket)
        rooms.take(live, at, ticket, word)
    return live.rounds[at]


@pytest.fixture
def rooms() -> Hall:
    return Hall()


@pytest.fixture
def live(rooms: Hall) -> LivePoll:
    return rooms.open(questions(SLEEP))


def test_a_ticket_has_one_question_and_gives_one_word(rooms: Hall, live: LivePoll) -> None:
    question = asked(rooms, live, TICKETS[0])
    assert asked(rooms, live, TICKETS[0]) is question
    assert asked(rooms, live, TICKETS[1]).number == 1
    assert live.rounds[0].waiting == 2
    rooms.take(live, 0, TICKETS[0], 2)
    for word in (0, 2):
        rooms.take(live, 0, TICKETS[0], word)
    assert live.rounds[0].item.poll.answers == ((question, 2),)
    assert live.rounds[0].waiting == 1


def test_the_next_question_follows_from_the_words_and_late_ones_count(
    rooms: Hall, live: LivePoll
) -> None:
    rng = np.random.default_rng(1)
    for ticket in TICKETS[:60]:
        question = asked(rooms, live, ticket)
        rooms.take(live, 0, ticket, answered(question, 7.0, 2.0, rng))
    late, punctual = asked(rooms, live, TICKETS[60]), asked(rooms, live, TICKETS[61])
    rooms.take(live, 0, TICKETS[61], 0)
    rooms.take(live, 0, TICKETS[60], 1)
    poll = cast(Poll, live.rounds[0].item.poll)
    assert poll.answers[-2:] == ((punctual, 0), (late, 1))
    assert poll.of_mean() == pytest.approx(Poll.replayed(DESIGN, poll.answers).of_mean())


def test_what_was_not_asked_is_not_taken_and_a_poll_is_full_or_closed(
    rooms: Hall, live: LivePoll
) -> None:
    rooms.ask(live, 0, TICKETS[0])
    for ticket, word in ((TICKETS[1], 0), (TICKETS[0], 3), (TICKETS[0], -1)):
        with pytest.raises(PollError, match="was not asked"):
            rooms.take(live, 0, ticket, word)
    for at in (-1, 1):
        with pytest.raises(PollError, match="no such question"):
            rooms.ask(live, at, TICKETS[1])
        with pytest.raises(PollError, match="no such question"):
            rooms.take(live, at, TICKETS[0], 0)
    assert live.rounds[0].item.poll.answers == ()
    with pytest.raises(PollError, match="not a ticket"):
        rooms.ask(live, 0, "../../etc")
    for ticket in TICKETS[: hall.PEOPLE]:
        rooms.ask(live, 0, ticket)
    with pytest.raises(PollError, match="full"):
        rooms.ask(live, 0, TICKETS[hall.PEOPLE])
    rooms.close(live)
    for refused in (
        lambda: rooms.take(live, 0, TICKETS[0], 0),
        lambda: rooms.ask(live, 0, "f" * 32),
    ):
        with pytest.raises(PollError, match="closed"):
            refused()


def test_only_its_lecturer_finds_a_poll_by_its_secret(rooms: Hall, live: LivePoll) -> None:
    assert rooms.find(f" {live.code.lower()}") is live
    assert rooms.hosted(live.code, live.secret) is live
    assert rooms.hosted(live.code, live.code) is None
    assert rooms.hosted("ZZZZZ", live.secret) is None


def test_questions_come_one_after_the_other_and_once_more(rooms: Hall) -> None:
    live = rooms.open(questions(SLEEP, DAY))
    answer(rooms, live, 0, 1)
    for at in (1, 2):
        with pytest.raises(PollError, match=r"closed|no such"):
            rooms.ask(live, at, TICKETS[0])
    rooms.go_on(live, SLEEP.again(0.5))
    rooms.go_on(live)
    assert [each.item.text for each in live.rounds] == ["How long?", "How long?", "Which day?"]
    assert live.rounds[1].item.poll.design == Design(0.0, 24.0, 0.5)
    assert answer(rooms, live, 1, at=2).item.poll.answers == ((DAYS, 1),)
    with pytest.raises(PollError, match="closed"):
        rooms.take(live, 0, TICKETS[5], 0)
    rooms.close(live)
    rooms.go_on(live, DAY)
    assert live.is_open(3)
    kept = live.questionnaire()
    assert [len(item.poll.answers) for item in kept.items] == [2, 0, 1, 0]
    assert kept.budget == needed((SLEEP, DAY), one_each=False) == 3.0


def test_of_several_that_are_drawn_from_all_are_open_and_the_class_is_everybody(
    rooms: Hall,
) -> None:
    live = rooms.open(questions(SLEEP, DAY, one_each=True))
    answer(rooms, live, *[1] * 5, at=0)
    answer(rooms, live, *[0] * 7, at=1, first=5)
    kept = live.questionnaire()
    assert kept.budget == 2.0
    assert [item.poll.absent for item in kept.known()] == [7, 5]
    assert cast(ChoicePoll, kept.known()[1].poll).told.size == 12


def test_a_seat_code_is_used_once_a_question_and_not_kept(tmp_path: Path) -> None:
    rooms = Hall(lambda: tmp_path)
    live = rooms.open(questions(DAY, DAY), seats=3)
    assert len({*live.seats}) == 3
    for seat in ("", "ZZZZ0"):
        with pytest.raises(PollError, match="seat code"):
            rooms.ask(live, 0, TICKETS[0], seat)
    rooms.ask(live, 0, TICKETS[0], f" {live.seats[0].lower()} ")
    rooms.take(live, 0, TICKETS[0], 1)
    with pytest.raises(PollError, match="used already"):
        rooms.ask(live, 0, TICKETS[1], live.seats[0])
    rooms.go_on(live)
    rooms.ask(live, 1, TICKETS[2], live.seats[0])
    lines = (tmp_path / f"{live.code}.jsonl").read_text().splitlines()
    assert live.seats[0] in lines[0]
    assert not any(live.seats[0] in line for line in lines[1:])
    assert live.seats[2] in poll_page.seats(live.seats)


def test_polls_are_few_and_dropped_after_a_time(
    rooms: Hall, live: LivePoll, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(hall.POLLS - 1):
        rooms.open(questions(DAY))
    with pytest.raises(PollError, match="try again later"):
        rooms.open(questions(DAY))
    later = time.monotonic() + hall.LIFE + 1.0
    monkeypatch.setattr(hall.time, "monotonic", lambda: later)
    assert rooms.find(live.code) is None
    assert rooms.open(questions(DAY))


def polled(people: int = 12) -> Poll:
    """Return a poll whose answers arrive in another order than they were asked."""
    rng, poll = np.random.default_rng(2), Poll(DESIGN)
    for number in range(people):
        question = poll.ask(rng, number)
        poll = poll.take(question, answered(question, 7.0, 2.0, rng))
    return Poll.replayed(DESIGN, (*poll.answers[3:], *poll.answers[:3]))


def test_the_command_computes_tables_and_page_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    days = ChoicePoll(DAYS, tuple((DAYS, word) for word in (0, 1, 0, 0, 1, 0)))
    items = Item('How "long"?\n€ 😴', "hours", polled()), Item("Which <day>?", "", days)
    whole, file = questions(*items), tmp_path / "poll.toml"
    file.write_text(poll_file.written(whole), encoding="utf-8")
    assert poll_file.read(file) == whole
    out = tmp_path / "out"
    assert main(["poll", str(file), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "After 12 answers, the mean of the class is " in said
    assert "After 6 answers, “Monday”: " in said
    for name, table in tables_of(whole.known()).items():
        assert (out / name).read_text() == table.to_csv(index=False)
    assert {"poll.csv", "poll.posterior.csv", "poll-2.csv"} <= {each.name for each in out.iterdir()}
    page = (out / "poll.html").read_text(encoding="utf-8")
    assert page == poll_page.page(whole)
    assert "Which &lt;day&gt;?" in page
    assert "Nobody spent more than ε = 3 on all of it." in page
    text = file.read_text(encoding="utf-8")
    for wrong, why in (
        (
            ("answers = [[", "answers = [[0, 1.0, 2.0, 7], ["),
            "poll 1: answers[0] = 7: must be 0, 1 or 2.",
        ),
        (
            ("[0, 1, 0,", "[[1.0, 2.0, 1], 0,"),
            "poll 2: answers[0]: is of another kind of question.",
        ),
        (("low = 0.0", "low = 99.0"), "bounds"),
    ):
        file.write_text(text.replace(*wrong), encoding="utf-8")
        assert main(["poll", str(file), "--out", str(out)]) == 2
        assert why in capsys.readouterr().err


def test_a_file_of_0_3_0_has_one_question_and_no_numbers(tmp_path: Path) -> None:
    edges = ", ".join(f"[{a.lower}, {a.upper}, {word}]" for a, word in polled().answers)
    head = 'version = "0.3.0"\nquestion = "?"\nunit = ""\nlow = 0.0\nhigh = 24.0\nepsilon = 2.0\n'
    file = tmp_path / "poll.toml"
    file.write_text(f"{head}answers = [{edges}]\n")
    assert main(["poll", str(file), "--out", str(tmp_path)]) == 0
    assert pd.read_csv(tmp_path / "poll.csv").question.tolist() == [*range(12)]


def test_of_few_answers_there_is_no_picture_and_of_others_one_mark_each() -> None:
    few, many = (Item("?", "hours", polled(people)) for people in (4, 9))
    assert "the picture begins with 5" in poll_page.page(questions(few))
    assert '"poll-picture' not in poll_page.page(questions(few))
    shown = poll_page.picture(many, fresh=2)
    assert (shown.count("<i></i>"), shown.count('class="new"')) == (7, 2)
    days = Item("?", "", ChoicePoll(DAYS, ((DAYS, 0),) * 6))
    low, high = 100 * cast(ChoicePoll, days.poll).told.class_interval()[0]
    assert f"{low:.0f} to {high:.0f} %" in poll_page.picture(days)
    assert f"left:{low:.2f}%;width:{high - low:.2f}%" in poll_page.picture(days)


@pytest.mark.parametrize("design", [DESIGN, Choice(("a", "b", "c", "d", "e"), 2.0)], ids=str)
def test_a_rehearsal_shows_a_class_whose_truth_is_known(design: Design | Choice) -> None:
    poll, truth = rehearsed(design, 200)
    item = Item("?", "", poll)
    assert len(poll.answers) == 200
    for known, true in zip(poll_page.estimates(item), truth, strict=True):
        # Twice as wide as what contains it 95 times in 100; the seed is fixed.
        assert abs(known.middle - true) < np.ptp(known.own) + 0.02
    assert poll_page.picture(item, truth).count('class="truth"') == len(truth)


def test_the_coin_sends_what_its_number_falls_on() -> None:
    words, honest = ("yes", "<no>"), np.tanh(1.0)
    for drawn, part, sent in (
        (0.1, "the truth", "yes"),
        (honest + 0.01, "any word", "yes"),
        (0.99, "any word", "&lt;no&gt;"),
    ):
        told = poll_page.coin(words, 0, drawn, 2.0)
        assert f"part for <b>{part}</b>, so it sends: <b>{sent}</b>" in told


@pytest.mark.parametrize("item", [SLEEP, DAY], ids=["number", "categories"])
def test_a_server_that_starts_again_loses_nothing_that_it_acknowledged(
    item: Item, tmp_path: Path
) -> None:
    before = Hall(lambda: tmp_path)
    live = before.open(questions(item, DAY))
    answer(before, live, 0, 1, 1, 0)
    late, others = (asked(before, live, TICKETS[place]) for place in (4, 5))
    gone_on = before.open(questions(item))
    answer(before, gone_on, 1)
    before.go_on(gone_on, item.again(0.5))
    before.close(gone_on)
    file = tmp_path / f"{live.code}.jsonl"
    assert not any(ticket in file.read_text() for ticket in TICKETS)
    assert file.stat().st_mode & 0o077 == 0
    # The server is killed in mid-word.
    file.write_text(file.read_text() + '{"round": 0, "word": 1, "num')

    after = Hall(lambda: tmp_path)
    again = after.hosted(live.code, live.secret)
    assert again is not None
    now = again.rounds[0]
    assert now.item == live.rounds[0].item
    assert now.questions == [*live.rounds[0].questions[:4], late, others]
    assert again.rounds[1] == live.rounds[1]
    restored = after.find(gone_on.code)
    assert restored == dataclasses.replace(gone_on, used_at=ANY, rounds=ANY)
    assert restored is not None
    assert [each.item for each in restored.rounds] == [each.item for each in gone_on.rounds]
    # A word that had not been acknowledged comes once more, with its question's number.
    for _ in range(2):
        after.take(again, 0, TICKETS[4], 1, 4)
        assert now.item.poll.answers[-1] == (late, 1)
        assert len(now.item.poll.answers) == 5
        assert now.took(TICKETS[4])
    # One that had been is not counted twice, and another telephone has another question.
    after.take(again, 0, TICKETS[0], 1, 0)
    assert len(now.item.poll.answers) == 5
    for number in (4, 9, -1):
        with pytest.raises(PollError, match="was not asked"):
            after.take(again, 0, "f" * 32, 0, number)
    assert asked(after, again, "f" * 32) == now.questions[6]
    found = Hall(lambda: tmp_path).find(live.code)
    assert found is not None
    assert found.rounds[0].item == now.item


def test_a_former_poll_is_opened_from_its_file_by_its_lecturer(tmp_path: Path) -> None:
    before = Hall(lambda: tmp_path)
    live = before.open(questions(DAY))
    answer(before, live, 0, 1)
    os.utime(tmp_path / f"{live.code}.jsonl", (day_before := time.time() - 86_400.0,) * 2)
    after = Hall(lambda: tmp_path)
    [(at, opened)] = [*after.former(), *after.former()][1:]
    assert at == pytest.approx(day_before)
    assert opened["items"][0]["question"] == "Which day?"
    assert after.find(live.code) is None
    assert after.hosted(live.code, "wrong") is None
    found = after.hosted(live.code, live.secret)
    assert found is not None
    assert found.is_closed
    assert found.rounds[0].item == live.rounds[0].item


def test_what_cannot_be_kept_is_not_acknowledged(tmp_path: Path) -> None:
    rooms = Hall(lambda: tmp_path)
    live = rooms.open(questions(SLEEP))
    rooms.ask(live, 0, TICKETS[0])
    (tmp_path / f"{live.code}.jsonl").unlink()
    (tmp_path / f"{live.code}.jsonl").mkdir()
    with pytest.raises(PollError, match="cannot keep answers"):
        rooms.take(live, 0, TICKETS[0], 1)
    assert not live.rounds[0].took(TICKETS[0])
    assert live.rounds[0].item.poll.answers == ()


@pytest.mark.parametrize(
    "words", [("yes",), ("yes", "yes"), ("",) * 2, tuple("abcdefghi"), ("x" * 31, "y")]
)
def test_words_that_cannot_be_asked_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError, match="words"):
        Choice(words, 2.0)
