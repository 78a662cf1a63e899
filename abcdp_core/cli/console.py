"""Print messages, and end a command."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from unicodedata import category

from abcdp_core.base.parameters import cut

UNHEARD = {errno.EPIPE: 141}
"""Error of standard output -> exit code; 141 is what shells report after SIGPIPE."""

LONGEST_WORD, LONGEST_ERROR = 200, 1000
"""Characters of a word (such as a path) in an error message, and of a message."""


class UnheardError(Exception):
    """Standard output cannot be written: nobody reads it, or the disk is full.

    Attributes:
        code: the exit code.
    """

    def __init__(self, error: OSError) -> None:
        reason = error.strerror or type(error).__name__
        super().__init__(f"cannot write to standard output ({reason}).")
        self.code = UNHEARD.get(error.errno or 0, 1)


def noted(error: BaseException, words: str) -> str:
    """Return a message followed by the notes of its error, which say what became of the work."""
    notes = getattr(error, "__notes__", [])
    return "; ".join([words.removesuffix("."), *notes]) if notes else words


def harmless(text: str) -> str:
    """Replace control characters: a name from a file must not move a terminal's cursor."""
    return "".join(
        "?" if category(sign) in ("Cc", "Cf", "Cs") and sign not in "\n\t" else sign
        for sign in text
    )


def say(*lines: str) -> None:
    """Print lines without delay.

    Raises:
        UnheardError: standard output cannot be written.
    """
    try:
        for line in lines:
            print(harmless(line), flush=True)
    except OSError as error:
        raise UnheardError(error) from error


def complain(words: str) -> None:
    """Print one line on standard error, without control characters and cut to a safe length."""
    line = " ".join(cut(word, LONGEST_WORD) for word in words.split())
    with contextlib.suppress(OSError):
        print(cut(harmless(line), LONGEST_ERROR), file=sys.stderr, flush=True)


def drop_unheard() -> None:
    """Discard unwritten output: Python would try again when it exits, and fail."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
