"""What source text says, without running it."""

from __future__ import annotations

import ast
import re
import threading
import tomllib
from typing import Any

_one_at_a_time = threading.Lock()


# Bounded, so that whatever text there is takes moments; of longer parts no file has too many.
_PART = r"""(?:[\w-]{1,200}|"(?:[^"\\\n]|\\.){0,200}"|'[^'\n]{0,200}')"""
_DOT = r"[ \t]{0,20}\.[ \t]{0,20}"
_LONG_KEY = re.compile(rf"(?<![\w.-]){_PART}(?:{_DOT}{_PART}){{100}}")
"""A key of so many parts, for which its reader needs gigabytes if there are enough of them."""


def toml(text: str) -> dict[str, Any]:
    """What a TOML file says, which may be from anywhere.

    Raises:
        ValueError: it is none, or has a key of more than a hundred parts.
        RecursionError: it is nested too deeply.
    """
    if _LONG_KEY.search(text):
        raise ValueError("a key has more than a hundred parts")
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
