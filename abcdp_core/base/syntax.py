"""Parse source text without running it."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_one_at_a_time = threading.Lock()

ATTEMPTS = 5
"""Times to try; a race happens about once in a hundred."""


def retry_parser_race(read: Callable[[], T]) -> T:
    """Call a function that parses Python, as NumPy does for the head of an array, and retry races.

    In Python before 3.13, two threads that parse at once share a depth counter, and one of them may
    fail with a SystemError (CPython issue 106905).
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return read()
        except SystemError:
            continue
    return read()


def parse(text: bytes, name: str = "<text>") -> ast.Module:
    """Return the syntax tree of a module; our own threads parse one at a time.

    Args:
        text: its source.
        name: name for error messages.

    Raises:
        SyntaxError: the text is not Python.
    """
    with _one_at_a_time:
        return retry_parser_race(lambda: ast.parse(text, name))
