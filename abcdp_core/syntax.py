"""What source text says, without running it."""

from __future__ import annotations

import ast
import threading
import tomllib
from typing import Any

_one_at_a_time = threading.Lock()


MOST_DOTS = 3000
"""Of a line of TOML, if no other has any. What a key takes to be read goes by the square of its
parts: one of 40 kB took gigabytes."""


def toml(text: str) -> dict[str, Any]:
    """What a TOML file says, which may be from anywhere.

    Raises:
        ValueError: it is none, or might have keys of too many parts.
        RecursionError: it is nested too deeply.
    """
    if sum(line.count(".") ** 2 for line in text.split("\n")) > MOST_DOTS**2:
        raise ValueError("its lines have too many dots; break them")
    return tomllib.loads(text)


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
