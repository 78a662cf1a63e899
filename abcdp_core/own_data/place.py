"""The one new file that a release is written to: there is room for it before the budget is spent.

Until it is whole it has another name, so that no empty or half file ever stands in its place. Where
that other name was left by a process that was killed, the next release to the same place removes
it, unless a whole document is in it: that was paid for, and takes its place. A file by that name
that no release has left there stays as it is, and is in the way.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from abcdp_core.output.open_file import is_at, read, write
from abcdp_core.output.together import sync
from abcdp_core.own_data.document import LARGEST_FILE

Keep = Callable[[str], None]
"""Writes the text, at once and whole; raises ``OSError`` if it cannot."""


@contextlib.contextmanager
def reserved(out: Path, size: int, keys: Collection[str]) -> Iterator[Keep]:
    """A place for a new file, nothing of which is left unless a text is kept in it.

    Args:
        out: the file.
        size: bytes that it will have at most.
        keys: that its document has at least: by them one that was left behind is known.

    Raises:
        FileExistsError: it is there already, or about to be.
        OSError: there can be none, or not of this size.
    """
    if not out.name:
        raise FileExistsError(errno.EEXIST, "is there already", str(out))
    part = out.with_name(f".{out.name}.part")
    handle = _taken(part, keys)
    try:
        left_behind = read(handle, LARGEST_FILE).rstrip(b"\0")
        if _is_whole(left_behind, keys):
            _fill(handle, left_behind)
            _publish(part, out)
        if os.path.lexists(out):
            raise FileExistsError(errno.EEXIST, "is there already", str(out))
        _fill(handle, bytes(size))

        def keep(text: str) -> None:
            _fill(handle, text.encode())
            if is_at(handle, part):
                _publish(part, out)
            else:
                # A program that keeps folders in step, or puts files away for a while, has put
                # another one there.
                write_new(out, text.encode())

        yield keep
    finally:
        # While it is locked: as soon as it is not, another release may have a file of this name.
        with contextlib.suppress(OSError):
            if is_at(handle, part):
                part.unlink()
        os.close(handle)
        if os.name == "nt":
            # Where an open file cannot be removed.
            with contextlib.suppress(OSError):
                part.unlink()


def write_new(out: Path, content: bytes) -> None:
    """Write a file that is not there yet, in one step; nothing is left of it if that fails.

    Raises:
        FileExistsError: it is there already.
        OSError: it cannot be written.
    """
    part = out.with_name(f".{out.name}.{secrets.token_hex(8)}.part")
    handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        try:
            _fill(handle, content)
        finally:
            os.close(handle)
        _publish(part, out)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def replace(out: Path, text: str) -> None:
    """Write a file anew, in one step; the old one stays where that fails.

    Raises:
        OSError: it cannot be written.
    """
    part = out.with_name(f".{out.name}.{secrets.token_hex(8)}.part")
    try:
        write_new(part, text.encode())
        part.replace(out)
        sync(out.parent)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def _taken(part: Path, keys: Collection[str]) -> int:
    """A file that no other process has as well; the lock ends with the process that has it."""
    while True:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        handle = os.open(part, flags, 0o666)
        try:
            _lock(handle)
            # Another process may have finished, and removed it, between these two steps.
            if is_at(handle, part):
                _check_ours(handle, part, keys)
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _check_ours(handle: int, part: Path, keys: Collection[str]) -> None:
    """Refuse what no release leaves behind: another thing than a file, another text.

    That is either a whole document, which may have its own name already, or one that ends with room
    which is not filled yet.

    Raises:
        FileExistsError: it is such a one; it stays as it is.
    """
    found = os.fstat(handle)
    if stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST_FILE:
        content = read(handle, LARGEST_FILE)
        unfinished = not content or content.endswith(b"\0")
        if _is_whole(content.rstrip(b"\0"), keys) or (unfinished and found.st_nlink == 1):
            return
    reason = f"cannot be begun, as {part.name} beside it was made by somebody else"
    raise FileExistsError(errno.EEXIST, reason)


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise FileExistsError(errno.EEXIST, "is being written by another release") from None
    except OSError:
        # Some network drives have no locks.
        return


def _is_whole(content: bytes, keys: Collection[str]) -> bool:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.keys() >= set(keys)


def _fill(handle: int, content: bytes) -> None:
    """Make this the content of a file, on the disk, in the room that it has there."""
    write(handle, content, 0)
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
        if os.path.lexists(out):
            raise FileExistsError(errno.EEXIST, "is there already", str(out)) from None
        part.rename(out)
    sync(out.parent)
