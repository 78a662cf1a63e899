"""Report errors in a user's own file in one line, with the line of the file."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base.parameters import ParameterError

TWICE = 2
"""Draws simulated twice to check reproducibility before any other use."""


class OwnError(ParameterError):
    """A model file or a pool made elsewhere cannot be used; one line says why."""


def check_again(file: str, what: str, first: NDArray[Any], second: NDArray[Any]) -> None:
    """Refuse a model whose results are not reproducible.

    Args:
        file: file of the model.
        what: subject and verb of the error, such as "simulate is".
        first, second: results of two equal generators.

    Raises:
        OwnError: the results differ.
    """
    if not np.array_equal(first, second, equal_nan=True):
        raise OwnError(
            f"{file}: {what} not reproducible: the same generator gives different results; draw "
            "all random numbers from rng."
        )


def line_of(error: BaseException, file: str) -> int | None:
    """Return the innermost line of a file in the traceback of an error, or ``None``.

    Args:
        error: the error.
        file: name of the file without folders, as workers have a copy elsewhere.
    """
    if isinstance(error, SyntaxError) and Path(error.filename or "").name == file:
        return error.lineno
    passed = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in passed if Path(frame.filename).name == file]
    return lines[-1] if lines else None


def described(error: BaseException, file: str) -> str:
    """Describe an error by its line, kind and message, as far as known."""
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    # A note may name the parameters.
    words = "; ".join(each.rstrip(".") for each in (words, *getattr(error, "__notes__", ())))
    line = " ".join(words.split())
    return f"{kind_of(error, file)}{f': {line}' if line else ''}"


def kind_of(error: BaseException, file: str) -> str:
    """Describe an error by its line and kind only; its message may hold private values."""
    line = line_of(error, file)
    return f"{f'line {line}: ' if line else ''}{type(error).__name__}"


def place_of(function: Callable[..., Any], file: str) -> str:
    """Return the line of a function in brackets; empty for a function of another file.

    Args:
        function: the function.
        file: name of the user's file.
    """
    code = getattr(function, "__code__", None)
    if code is None or Path(code.co_filename).name != file:
        return ""
    return f" (line {code.co_firstlineno})"


def call(file: str, what: str, function: Callable[..., Any], *given: Any) -> Any:
    """Call a function of the user's file.

    Args:
        file: name of the user's file.
        what: the function in words.
        function: the function.
        given: its arguments.

    Raises:
        OwnError: the function raised; with file, line and message.
    """
    try:
        return function(*given)
    except (OwnError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if str(error).startswith(f"{what}: "):
            # The message already names the function.
            raise OwnError(f"{file}: {error}") from error
        raise OwnError(f"{file}: {what} cannot be computed ({described(error, file)}).") from error


def call_quietly(file: str, what: str, function: Callable[..., Any], *given: Any) -> Any:
    """Call a function of the user's file on private data; errors contain no value.

    Args:
        file, what, function, given: as for :func:`call`.

    Raises:
        OwnError: the function raised; with file, line and kind of the error.
    """
    try:
        return function(*given)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - it becomes a sentence
        kind = kind_of(error, file)
        # Causes may hold private values too.
        raise OwnError(
            f"{file}: {what} cannot be computed ({kind}); nothing was released."
        ) from None
