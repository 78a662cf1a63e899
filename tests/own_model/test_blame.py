"""Where in a person's file it went wrong: the innermost line of that file, and no other's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from abcdp_core.own_model import blame
from abcdp_core.own_model.blame import OwnError
from abcdp_core.parameters import ParameterError

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

def told():
    from abcdp_core.own_model.blame import OwnError
    raise OwnError("as it is")
"""


def functions(folder: Path) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(compile(TEXT, str(folder / "mine.py"), "exec"), scope)
    return scope


def test_the_innermost_line_of_the_file_is_named_though_a_library_raised(tmp_path: Path) -> None:
    mine = functions(tmp_path)
    assert blame.call("mine.py", "outer", mine["outer"], "[1]") == [1]
    with pytest.raises(OwnError) as caught:
        blame.call("mine.py", "outer", mine["outer"], "[1")
    assert str(caught.value).startswith(
        "mine.py: outer cannot be computed (line 4: JSONDecodeError: Expecting"
    )
    assert isinstance(caught.value, ParameterError)
    cause = caught.value.__cause__
    assert cause is not None
    assert blame.line_of(cause, "mine.py") == 4
    assert blame.line_of(cause, "other.py") is None
    assert blame.described(cause, "other.py").startswith("JSONDecodeError: ")


def test_who_ends_the_program_is_blamed_and_what_is_said_already_stays(tmp_path: Path) -> None:
    mine = functions(tmp_path)
    with pytest.raises(OwnError, match=r"leave cannot be computed \(line 10: SystemExit: 3\)"):
        blame.call("mine.py", "leave", mine["leave"])
    with pytest.raises(OwnError, match=r"^as it is$"):
        blame.call("mine.py", "told", mine["told"])


def test_what_is_no_exception_of_the_usual_kind_is_one_line_too(tmp_path: Path) -> None:
    stop = functions(tmp_path)["stop"]
    with pytest.raises(OwnError, match=r"stop cannot be computed \(line 16: Stopping: 0\.123\)"):
        blame.call("mine.py", "stop", stop, 0.123)
    with pytest.raises(OwnError, match=r"stop cannot be computed \(line 16: Stopping\); nothing"):
        blame.call_quietly("mine.py", "stop", stop, 0.123)

    def pressed() -> None:
        raise KeyboardInterrupt

    for each in (blame.call, blame.call_quietly):
        with pytest.raises(KeyboardInterrupt):
            each("mine.py", "pressed", pressed)


def test_the_line_of_what_is_no_python_is_that_of_its_own_file(tmp_path: Path) -> None:
    for name in ("mine.py", "other.py"):
        with pytest.raises(SyntaxError) as caught:
            compile("x = 1\ny = (\n", str(tmp_path / name), "exec")
        said = blame.described(caught.value, "mine.py")
        expected = "line 2: " if name == "mine.py" else ""
        assert said == f"{expected}SyntaxError: '(' was never closed"


def test_notes_of_an_error_are_told_and_no_full_stop_stands_inside_a_sentence() -> None:
    error = ValueError("no solution.")
    error.add_note("at parameters 1, 2")
    assert blame.described(error, "mine.py") == "ValueError: no solution; at parameters 1, 2"

    def wrong() -> None:
        raise ValueError("outer: is no number.")

    with pytest.raises(OwnError, match=r"^mine\.py: outer: is no number\.$"):
        blame.call("mine.py", "outer", wrong)


def test_a_function_stands_at_a_line_of_its_own_file_alone(tmp_path: Path) -> None:
    mine = functions(tmp_path)
    assert blame.place_of(mine["outer"], "mine.py") == " (line 6)"
    assert blame.place_of(mine["outer"], "other.py") == ""
    assert blame.place_of(len, "mine.py") == ""


def test_an_error_without_words_is_its_kind() -> None:
    assert blame.described(ValueError(), "mine.py") == "ValueError"
    assert blame.described(ValueError("a\n  b"), "mine.py") == "ValueError: a b"
