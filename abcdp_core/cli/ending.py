"""What a command says, and how it ends."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from unicodedata import category

from abcdp_core.parameters import cut

UNHEARD = {errno.EPIPE: 141}
"""Why standard output took no more -> exit code; 141 is that of a program that SIGPIPE ends."""

LONGEST_WORD, LONGEST_ERROR = 200, 1000
"""Characters of a word, as a path, in an error, and of an error."""


class UnheardError(Exception):
    """Standard output takes no more: nobody reads it, or it goes to a disk that is full.

    Attributes:
        code: the exit code.
    """

    def __init__(self, error: OSError) -> None:
        reason = error.strerror or type(error).__name__
        super().__init__(f"standard output cannot be written ({reason}).")
        self.code = UNHEARD.get(error.errno or 0, 1)


def noted(error: BaseException, words: str) -> str:
    """Return words on an error, followed by what became of the work (:meth:`add_note`)."""
    notes = getattr(error, "__notes__", [])
    return "; ".join([words.removesuffix("."), *notes]) if notes else words


def harmless(text: str) -> str:
    """Return a text in which no name from a file can move a terminal's cursor or turn its line."""
    return "".join(
        "?" if category(sign) in ("Cc", "Cf", "Cs") and sign not in "\n\t" else sign
        for sign in text
    )


def say(*lines: str) -> None:
    """Print lines, at once.

    Raises:
        UnheardError: they cannot be printed.
    """
    try:
        for line in lines:
            print(harmless(line), flush=True)
    except OSError as error:
        raise UnheardError(error) from error


def complain(words: str) -> None:
    """Print one line on standard error: harmless, and with long words and long texts cut."""
    line = " ".join(cut(word, LONGEST_WORD) for word in words.split())
    with contextlib.suppress(OSError):
        print(cut(harmless(line), LONGEST_ERROR), file=sys.stderr, flush=True)


def drop_unheard() -> None:
    """Let what was printed and not taken go: Python would try again at its end, and complain."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
