"""Errors in a user's file name the innermost line of that file, in one line and without a value."""

from __future__ import annotations

from collections.abc import Callable
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

def noted(value):
    error = ValueError("no\\n  solution.")
    error.add_note("at parameters 1, 2")
    raise error

def spoken(value):
    raise ValueError("spoken: is not a number.")
"""


@pytest.fixture
def mine(tmp_path: Path) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(compile(TEXT, str(tmp_path / "mine.py"), "exec"), scope)
    return scope


@pytest.mark.parametrize(
    ("call", "name", "words"),
    [
        (user_errors.call, "outer", "cannot be computed (line 4: JSONDecodeError: Expecting value"),
        (user_errors.call, "stop", "cannot be computed (line 13: Stopping: .25)."),
        (user_errors.call, "noted", "(line 18: ValueError: no solution; at parameters 1, 2)."),
        (user_errors.call, "spoken", "is not a number."),
        (user_errors.call_quietly, "stop", "(line 13: Stopping); nothing was released."),
    ],
)
def test_the_innermost_line_of_the_file_is_named(
    call: Callable[..., object], name: str, words: str, mine: dict[str, Any]
) -> None:
    with pytest.raises(OwnError) as caught:
        call("mine.py", name, mine[name], ".25")
    said = str(caught.value)
    assert said.startswith(f"mine.py: {name}")
    assert words in said
    assert said.isprintable()
    # Errors on private data have neither message nor cause.
    if call is user_errors.call_quietly:
        assert ".25" not in said
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__


def test_functions_and_syntax_errors_have_a_line_in_the_file_alone(mine: dict[str, Any]) -> None:
    assert user_errors.place_of(mine["outer"], "mine.py") == " (line 6)"
    assert user_errors.place_of(len, "mine.py") == ""
    with pytest.raises(SyntaxError) as caught:
        compile("x = 1\ny = (\n", "mine.py", "exec")
    said = user_errors.described(caught.value, "mine.py")
    assert said == "line 2: SyntaxError: '(' was never closed"


def test_ctrl_c_and_finished_errors_pass_through() -> None:
    def raise_(error: BaseException) -> None:
        raise error

    for each in (user_errors.call, user_errors.call_quietly):
        with pytest.raises(KeyboardInterrupt):
            each("mine.py", "pressed", raise_, KeyboardInterrupt())
    with pytest.raises(OwnError, match=r"^as it is$"):
        user_errors.call("mine.py", "outer", raise_, OwnError("as it is"))
