"""Errors in a user's file name the innermost line of that file."""

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


def test_the_innermost_line_of_the_file_is_named(mine: dict[str, Any]) -> None:
    assert user_errors.call("mine.py", "outer", mine["outer"], "[1]") == [1]
    with pytest.raises(OwnError) as caught:
        user_errors.call("mine.py", "outer", mine["outer"], "[1")
    begins = "mine.py: outer cannot be computed (line 4: JSONDecodeError: Expecting"
    assert str(caught.value).startswith(begins)
    assert isinstance(caught.value.__cause__, ValueError)
    assert user_errors.described(caught.value.__cause__, "other.py").startswith("JSONDecodeError: ")
    with pytest.raises(OwnError, match=r"stop cannot be computed \(line 13: Stopping: 0\.123\)"):
        user_errors.call("mine.py", "stop", mine["stop"], 0.123)
    assert user_errors.place_of(mine["outer"], "mine.py") == " (line 6)"
    assert user_errors.place_of(len, "mine.py") == ""


def test_errors_on_private_data_have_neither_message_nor_cause(mine: dict[str, Any]) -> None:
    with pytest.raises(OwnError) as caught:
        user_errors.call_quietly("mine.py", "stop", mine["stop"], 0.123)
    line = "mine.py: stop cannot be computed (line 13: Stopping); nothing was released."
    assert str(caught.value) == line
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_ctrl_c_and_finished_errors_pass_through() -> None:
    def raise_(error: BaseException) -> None:
        raise error

    for each in (user_errors.call, user_errors.call_quietly):
        with pytest.raises(KeyboardInterrupt):
            each("mine.py", "pressed", raise_, KeyboardInterrupt())
    for error, said in (
        (OwnError("as it is"), r"^as it is$"),
        (ValueError("outer: is not a number."), r"^mine\.py: outer: is not a number\.$"),
    ):
        with pytest.raises(OwnError, match=said):
            user_errors.call("mine.py", "outer", raise_, error)


def test_an_error_is_described_in_one_line_with_its_notes() -> None:
    error = ValueError("no\n  solution.")
    error.add_note("at parameters 1, 2")
    assert user_errors.described(error, "mine.py") == "ValueError: no solution; at parameters 1, 2"
    with pytest.raises(SyntaxError) as caught:
        compile("x = 1\ny = (\n", "mine.py", "exec")
    said = "line 2: SyntaxError: '(' was never closed"
    assert user_errors.described(caught.value, "mine.py") == said
