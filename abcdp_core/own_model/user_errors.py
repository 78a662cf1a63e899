"""Where in a person's own file something went wrong, in one line."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core.parameters import ParameterError

TWICE = 2
"""Draws that are simulated twice where nobody has asked for a check."""


class OwnError(ParameterError):
    """A person's own file, or a pool made elsewhere, cannot be used; one line says why."""


def check_again(file: str, what: str, first: NDArray[Any], second: NDArray[Any]) -> None:
    """Refuse a model that is not reproducible, whose numbers nobody could compute again.

    Args:
        file: that states it.
        what: made both, with its verb: "simulate is".
        first, second: of the same generator.

    Raises:
        OwnError: they differ.
    """
    if not np.array_equal(first, second, equal_nan=True):
        raise OwnError(
            f"{file}: {what} not reproducible: the same generator makes something else the second "
            "time; take all chance from rng."
        )


def line_of(error: BaseException, file: str) -> int | None:
    """The innermost line of a file that an error passed; ``None`` if it passed none.

    Args:
        error: that was raised.
        file: name of the file, without folders, as workers have a copy of it elsewhere.
    """
    if isinstance(error, SyntaxError) and Path(error.filename or "").name == file:
        return error.lineno
    passed = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in passed if Path(frame.filename).name == file]
    return lines[-1] if lines else None


def described(error: BaseException, file: str) -> str:
    """The line, the kind of an error and what it says, as far as they are known."""
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    # A note says more, as at which parameters it was.
    words = "; ".join(each.rstrip(".") for each in (words, *getattr(error, "__notes__", ())))
    said = " ".join(words.split())
    return f"{kind_of(error, file)}{f': {said}' if said else ''}"


def kind_of(error: BaseException, file: str) -> str:
    """The line and the kind of an error; nothing of its words, which may hold private values."""
    line = line_of(error, file)
    return f"{f'line {line}: ' if line else ''}{type(error).__name__}"


def place_of(function: Callable[..., Any], file: str) -> str:
    """At which line of a person's file a function stands, in brackets; nothing of another file.

    Args:
        function: what is to be blamed, though it raised nothing.
        file: name of the person's file.
    """
    code = getattr(function, "__code__", None)
    if code is None or Path(code.co_filename).name != file:
        return ""
    return f" (line {code.co_firstlineno})"


def call(file: str, what: str, function: Callable[..., Any], *given: Any) -> Any:
    """What a person's function answers.

    Args:
        file: name of the person's file.
        what: the function in words.
        function: the function.
        given: its arguments.

    Raises:
        OwnError: it raised something; file, line and what it said.
    """
    try:
        return function(*given)
    except (OwnError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if str(error).startswith(f"{what}: "):
            # Said of it already, by what looked at its answer.
            raise OwnError(f"{file}: {error}") from error
        raise OwnError(f"{file}: {what} cannot be computed ({described(error, file)}).") from error


def call_quietly(file: str, what: str, function: Callable[..., Any], *given: Any) -> Any:
    """What a person's function answers to private data; of an error its words are told to nobody.

    Args:
        file, what, function, given: as of :func:`call`.

    Raises:
        OwnError: it raised something; file, line and kind of the error, and no value.
    """
    try:
        return function(*given)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - it becomes a sentence
        kind = kind_of(error, file)
        # Its causes may hold values of the data too.
        raise OwnError(
            f"{file}: {what} cannot be computed ({kind}); nothing was released."
        ) from None
