"""Where in a person's file it went wrong: the innermost line of that file, and no other's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from abcdp_core.own_model import user_errors
from abcdp_core.own_model.user_errors import OwnError

TEXT = """import json

def inner(value):
    return json.loads(value)

def outer(value):
    return inner(value)

def leave():
    raise SystemExit(3)

class Stopping(BaseException):
    pass

def stop(value):
    raise Stopping(value)
"""


@pytest.fixture
def mine(tmp_path: Path) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(compile(TEXT, str(tmp_path / "mine.py"), "exec"), scope)
    return scope


def test_the_innermost_line_of_the_file_is_named_whatever_was_raised(mine: dict[str, Any]) -> None:
    assert user_errors.call("mine.py", "outer", mine["outer"], "[1]") == [1]
    with pytest.raises(OwnError) as caught:
        user_errors.call("mine.py", "outer", mine["outer"], "[1")
    begins = "mine.py: outer cannot be computed (line 4: JSONDecodeError: Expecting"
    assert str(caught.value).startswith(begins)
    assert isinstance(caught.value.__cause__, ValueError)
    assert user_errors.described(caught.value.__cause__, "other.py").startswith("JSONDecodeError: ")
    with pytest.raises(OwnError, match=r"leave cannot be computed \(line 10: SystemExit: 3\)"):
        user_errors.call("mine.py", "leave", mine["leave"])
    with pytest.raises(OwnError, match=r"stop cannot be computed \(line 16: Stopping: 0\.123\)"):
        user_errors.call("mine.py", "stop", mine["stop"], 0.123)


def test_of_private_data_neither_words_nor_causes_are_told(mine: dict[str, Any]) -> None:
    with pytest.raises(OwnError) as caught:
        user_errors.call_quietly("mine.py", "stop", mine["stop"], 0.123)
    line = "mine.py: stop cannot be computed (line 16: Stopping); nothing was released."
    assert str(caught.value) == line
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_ctrl_c_is_nobodys_mistake_and_what_is_said_already_stays() -> None:
    def raise_(error: BaseException) -> None:
        raise error

    for each in (user_errors.call, user_errors.call_quietly):
        with pytest.raises(KeyboardInterrupt):
            each("mine.py", "pressed", raise_, KeyboardInterrupt())
    with pytest.raises(OwnError, match=r"^as it is$"):
        user_errors.call("mine.py", "told", raise_, OwnError("as it is"))
    with pytest.raises(OwnError, match=r"^mine\.py: outer: is no number\.$"):
        user_errors.call("mine.py", "outer", raise_, ValueError("outer: is no number."))


def test_an_error_is_described_in_one_line_with_its_notes() -> None:
    error = ValueError("no\n  solution.")
    error.add_note("at parameters 1, 2")
    assert user_errors.described(error, "mine.py") == "ValueError: no solution; at parameters 1, 2"
    with pytest.raises(SyntaxError) as caught:
        compile("x = 1\ny = (\n", "mine.py", "exec")
    said = "line 2: SyntaxError: '(' was never closed"
    assert user_errors.described(caught.value, "mine.py") == said


def test_a_function_stands_at_a_line_of_its_own_file_alone(mine: dict[str, Any]) -> None:
    assert user_errors.place_of(mine["outer"], "mine.py") == " (line 6)"
    assert (
        user_errors.place_of(mine["outer"], "other.py")
        == user_errors.place_of(len, "mine.py")
        == ""
    )
