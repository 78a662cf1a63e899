"""The one new file that a release is written to: there is room for it before the budget is spent.

Until it is whole it has another name, so no empty or half file ever has its place, and one release
at a time writes there. A process that was killed leaves that other name behind, perhaps with a
whole document that was paid for: nothing is written over it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from abcdp_core.output.atomic import sync

Keep = Callable[[str], None]
"""Writes the text, at once and whole; raises ``OSError`` if it cannot."""

ROOM = 2**22
"""Bytes that are set aside for a document; few have more."""


@contextlib.contextmanager
def reserved(out: Path) -> Iterator[Keep]:
    """A place for a new file, nothing of which is left unless a text is kept in it.

    Raises:
        FileExistsError: it is there already, or another release writes it, or left it.
        OSError: there can be none, or there is no room.
    """
    _check_free(out)
    part = out.with_name(f".{out.name}.part")
    try:
        handle = part.open("xb", buffering=0)
    except FileExistsError:
        raise FileExistsError(
            errno.EEXIST,
            f"is being written by another release, or one that was killed left {part.name}: look "
            "whether a document is in it",
        ) from None
    try:
        with handle:
            _fill(handle.fileno(), bytes(ROOM))

            def keep(text: str) -> None:
                _fill(handle.fileno(), text.encode())
                _publish(part, out)

            yield keep
    finally:
        part.unlink(missing_ok=True)


def write_new(out: Path, content: bytes) -> None:
    """Write a file that is not there yet, in one step; nothing is left of it if that fails.

    Raises:
        FileExistsError: it is there already.
        OSError: it cannot be written.
    """
    part = out.with_name(f".{out.name}.{secrets.token_hex(8)}.part")
    try:
        with part.open("xb", buffering=0) as handle:
            _fill(handle.fileno(), content)
        _publish(part, out)
    finally:
        part.unlink(missing_ok=True)


def _fill(handle: int, content: bytes) -> None:
    """Make this the content of a file, on the disk, in the room that it has there."""
    os.lseek(handle, 0, os.SEEK_SET)
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]
    os.ftruncate(handle, len(content))
    os.fsync(handle)


def _publish(part: Path, out: Path) -> None:
    """Give a whole file its name, never one that another file has."""
    try:
        os.link(part, out)
    except FileExistsError:
        raise
    except OSError:
        # Not every drive knows files of two names.
        _check_free(out)
        part.rename(out)
    sync(out.parent)


def _check_free(out: Path) -> None:
    if not out.name or os.path.lexists(out):
        raise FileExistsError(errno.EEXIST, "is there already", str(out))
