"""Turns in a line, by address and session: bounded, and with places that come true."""

from __future__ import annotations

import pytest

from ui.line import REMEMBERED, FullError, Line


def line_of(*waiting: str, room: int = 100, each: int = 10) -> Line[str]:
    """A line whose items are called after their sessions, as in ``a1``."""
    line: Line[str] = Line(room, each)
    for item in waiting:
        assert line.join(item[0], item) == []
    return line


def served(line: Line[str]) -> list[str]:
    order = []
    while (turn := line.take(lambda *_: True)) is not None:
        order.append(turn[1])
    return order


@pytest.mark.parametrize(
    ("waiting", "order"),
    [
        ("a1 a2 a3 b1 c1", "a1 b1 c1 a2 a3"),
        ("a1 a2 b1 b2 b3 c1", "a1 b1 c1 a2 b2 b3"),
        ("a1 b1 c1", "a1 b1 c1"),
        ("", ""),
    ],
)
def test_sessions_take_turns_and_everyone_is_told_the_place_that_comes_true(
    waiting: str, order: str
) -> None:
    line = line_of(*waiting.split())
    places = {item: line.ahead(item) for item in line}
    assert served(line) == order.split()
    assert places == {item: place for place, item in enumerate(order.split())}


def test_who_was_served_comes_after_who_waits() -> None:
    line = line_of("a1", "b1", "c1")
    assert line.take(lambda *_: True) == ("a", "a1")
    line.join("a", "a2")
    assert served(line) == ["b1", "c1", "a2"]


def test_who_may_not_be_served_now_keeps_the_turn() -> None:
    line = line_of("a1", "a2", "b1")
    assert line.take(lambda who, _: who != "a") == ("b", "b1")
    assert line.take(lambda _, item: item != "a1") == ("a", "a2")
    assert line.take(lambda *_: False) is None
    assert served(line) == ["a1"]


def test_a_new_move_takes_the_place_of_the_oldest_of_its_session() -> None:
    line = line_of("a1", "a2", "b1", each=2)
    assert line.join("a", "a3") == [("a", "a1")]
    assert served(line) == ["a2", "b1", "a3"]


def test_a_full_line_takes_nobody_but_in_place_of_another_of_the_same() -> None:
    line = line_of("a1", "a2", "b1", room=3, each=2)
    with pytest.raises(FullError):
        line.join("c", "c1")
    with pytest.raises(FullError):
        line.join("b", "b2")
    assert line.join("a", "a3") == [("a", "a1")]
    assert len(line) == 3


def test_addresses_take_turns_and_the_sessions_of_each() -> None:
    line: Line[str] = Line()
    for item in ("a1", "a2", "b1", "b2", "c1"):
        line.join(item[0], item, "many")
    for item in ("x1", "x2", "y1"):
        line.join(item[0], item, "few")
    order = ["a1", "x1", "b1", "y1", "c1", "x2", "a2", "b2"]
    assert [line.ahead(item) for item in order] == list(range(8))
    assert served(line) == order


def test_what_waits_for_several_is_served_at_the_first_of_its_places() -> None:
    line = line_of("a1", "a2", "a3", "b1")
    assert line.join("c", "a3") == line.join("c", "a3") == []
    assert (len(line), line.times("a3"), list(line)) == (5, 2, ["a1", "a2", "a3", "b1"])
    assert [line.ahead(item) for item in ("a1", "b1", "a3", "a2")] == [0, 1, 2, 3]
    line.drop("a", "a3")
    assert line.ahead("a3") == 2
    assert served(line) == ["a1", "b1", "a3", "a2"]
    assert not len(line)


def test_who_has_to_leave_a_row_may_go_on_waiting_in_another() -> None:
    line = line_of("a1", "a2", "b1", each=2)
    line.join("b", "a1")
    assert line.join("a", "a3") == []
    assert line.join("b", "b2") == [("b", "b1")]
    assert line.leave("a1")
    assert served(line) == ["a2", "b2", "a3"]


def test_who_comes_for_the_first_time_waits_for_nobodys_second() -> None:
    """Though an address that was just served stands in line already."""
    line: Line[str] = Line()
    for item in ("a1", "a2", "b1"):
        line.join(item, item, item[0])
    assert line.take() == ("a1", "a1")
    assert line.take() == ("b1", "b1")
    line.join("b2", "b2", "b")
    line.join("c1", "c1", "c")
    order = ["c1", "a2", "b2"]
    assert [line.ahead(item) for item in order] == [0, 1, 2]
    assert served(line) == order


def test_of_addresses_that_were_served_few_are_remembered() -> None:
    line: Line[int] = Line()
    for number in range(2 * REMEMBERED):
        line.join("", number, f"{number}")
        assert line.take() == ("", number)
    assert len(line._served) == REMEMBERED


def test_in_a_full_line_the_address_that_has_most_makes_room() -> None:
    line: Line[str] = Line(room=4)
    for item in ("a1", "b1", "b2", "c1"):
        line.join(item[0], item, "many")
    assert line.join("x", "x1", "few") == [("b", "b2")]
    assert line.join("y", "y1", "few") == [("c", "c1")]
    with pytest.raises(FullError):
        line.join("z", "z1", "few")
    assert line.join("v", "v1", "third") == [("b", "b1")]
    assert list(line) == ["a1", "x1", "y1", "v1"]


def test_who_leaves_waits_no_more() -> None:
    line = line_of("a1", "b1", "b2")
    assert line.leave("a1")
    assert not line.leave("a1")
    assert line.ahead("a1") is None
    assert [line.ahead("b1"), line.ahead("b2")] == [0, 1]
    assert len(line) == 2
