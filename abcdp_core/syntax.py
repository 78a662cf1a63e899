"""What source text says, without running it."""

from __future__ import annotations

import ast
import threading

_one_at_a_time = threading.Lock()


def parse(text: bytes, name: str = "<text>") -> ast.Module:
    """The syntax tree of a module.

    One thread at a time: in Python before 3.13 two that parse at once share a count of the depth
    they are at, and one of them may fail with a SystemError (CPython issue 106905).

    Args:
        text: its source.
        name: for the message of an error.

    Raises:
        SyntaxError: it is not Python.
    """
    with _one_at_a_time:
        return ast.parse(text, name)
