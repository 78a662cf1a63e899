"""How a command ends: what it says at last, and its exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from unicodedata import category

from abcdp_core.parameters import cut

UNHEARD = {errno.EPIPE: 141}
"""Why standard output took no more -> exit code; 141 is that of a program which SIGPIPE ends."""


class UnheardError(Exception):
    """Standard output takes no more: nobody reads it, or it goes to a disk that is full.

    Attributes:
        code: the exit code.
    """

    def __init__(self, error: OSError, more: str = "") -> None:
        reason = error.strerror or type(error).__name__
        super().__init__(
            f"standard output cannot be written ({reason}){f'; {more}' if more else '.'}"
        )
        self.error = error
        self.code = UNHEARD.get(error.errno or 0, 1)


def harmless(text: str) -> str:
    """A text from which no name out of a file can move a terminal's cursor or turn its line."""
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
            print(harmless(line))
        # There is none in a program without a console.
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        raise UnheardError(error) from error


LONGEST_WORD = 200
"""Characters of a path or another word in an error."""

LONGEST_ERROR = 1000
"""Characters of an error."""


def in_one_line(text: str) -> str:
    """A sentence for a terminal: what cannot be printed as ?, long words and long texts cut."""
    words = [cut(word, LONGEST_WORD) for word in text.split()]
    line = "".join(sign if sign.isprintable() else "?" for sign in " ".join(words))
    return cut(line, LONGEST_ERROR)


def complain(words: str) -> None:
    """One line on standard error, if it takes one."""
    with contextlib.suppress(OSError):
        print(in_one_line(words), file=sys.stderr, flush=True)


def drop_unheard() -> None:
    """Let what was printed and not taken go: Python would try again at its end, and complain."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
