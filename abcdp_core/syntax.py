"""What source text says, without running it."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_one_at_a_time = threading.Lock()

ATTEMPTS = 5
"""What is disturbed is so once in some hundred times."""


def retry_parser_race(read: Callable[[], T]) -> T:
    """What is read by parsing Python, as the head of each array that NumPy loads is.

    In Python before 3.13 two threads that parse at once share a count of the depth they are at, and
    one of them may fail with a SystemError (CPython issue 106905). That one reads again.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return read()
        except SystemError:
            continue
    return read()


def parse(text: bytes, name: str = "<text>") -> ast.Module:
    """The syntax tree of a module.

    One thread at a time, so that they do not disturb one another; others may (:func:`undisturbed`).

    Args:
        text: its source.
        name: for the message of an error.

    Raises:
        SyntaxError: it is not Python.
    """
    with _one_at_a_time:
        return retry_parser_race(lambda: ast.parse(text, name))
