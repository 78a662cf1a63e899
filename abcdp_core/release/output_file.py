"""Reserve a new file and room on the disk, before a budget is spent.

The file has another name until it is complete, so a partial file never takes its place, and only
one process at a time writes there. If a process is killed, the partial file stays behind, perhaps
with a complete record that was paid for; nothing overwrites it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from abcdp_core.base.atomic import sync

Keep = Callable[[bytes], None]
"""Writes the whole content at once; raises ``OSError`` if it cannot."""

ROOM = 2**22
"""Bytes reserved for a record; few need more."""


@contextlib.contextmanager
def reserved(out: Path) -> Iterator[Keep]:
    """Reserve a place for a new file; it is removed again unless content is kept in it.

    Raises:
        FileExistsError: the file exists, another release is writing it, or a killed one left it.
        OSError: the file cannot be written, or there is no room.
    """
    _check_free(out)
    part = out.with_name(f".{out.name}.part")
    try:
        handle = part.open("xb", buffering=0)
    except FileExistsError:
        raise FileExistsError(
            errno.EEXIST,
            f"another process is writing it, or a killed one left {part.name}: check whether that "
            "file holds a release",
        ) from None
    try:
        with handle:
            _fill(handle.fileno(), bytes(ROOM))

            def keep(content: bytes) -> None:
                _fill(handle.fileno(), content)
                _publish(part, out)

            yield keep
    finally:
        part.unlink(missing_ok=True)


def _fill(handle: int, content: bytes) -> None:
    """Replace the content of a file, in the room it has, and sync it to the disk."""
    os.lseek(handle, 0, os.SEEK_SET)
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]
    os.ftruncate(handle, len(content))
    os.fsync(handle)


def _publish(part: Path, out: Path) -> None:
    """Give a complete file its name, unless another file has it."""
    try:
        os.link(part, out)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no hard links.
        _check_free(out)
        part.rename(out)
    sync(out.parent)


def _check_free(out: Path) -> None:
    if not out.name or os.path.lexists(out):
        raise FileExistsError(errno.EEXIST, "already exists", str(out))
