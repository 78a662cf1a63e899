"""A file of lines that are only ever added, each on the disk before it counts.

What a line is about nobody knows here; :mod:`abcdp_core.own_data.budget_ledger` does.

**A line counts once it is whole.** It is written without its end and synced, then its end is
written and synced, and then it is told of. So of what a crash leaves behind the last end, a line
that is whole counts, told of or not, and over a part of one, which lacks its last bracket, the next
line is written. There is no journal: one goes by a file's name, and undoes what was added by
another name since, or where it was put back.

**One at a time.** Whoever reads or adds has a lock of the file itself, by whatever name, which ends
with the process. What has the name in the end must be the file that had it in the beginning.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from abcdp_core.output.open_file import is_at, read, write
from abcdp_core.output.together import sync
from abcdp_core.parameters import ParameterError

HEADER = b'{"a": "ledger of privacy budgets", "version": 2}'
"""The first line."""

OTHER_VERSION = re.compile(re.escape(HEADER[: HEADER.index(b"2")]) + rb"[3-9]\d*}")
"""The first line in versions to come."""

LINE = re.compile(rb'\[\d+(?:, "(?:[^"\\\0-\x1f]|\\.)*")*\]')
"""How a line is made that has no end: a number, and texts."""

LINE_ENDS = re.compile(rb'(?<!\\)"\]')
"""How it ends, and nothing before its end is."""

BLANK = b"\0 \t\r"
"""What a disk or a program may have put where a line's end was."""

LARGEST, LONGEST = 1 << 24, 1 << 14
"""Bytes of a file and of a line that are read; thirty thousand releases have fewer."""

WAIT = 30.0
"""Seconds that one waits for others to be done with the file."""

BETWEEN_LOOKS = 0.01
"""Seconds between two looks whether they are."""

DATABASE = b"SQLite format 3\0"
"""How a file begins in which SQLite kept the entries."""

OLD = (
    "is an SQLite file, as ledgers of an earlier version were; that version's `budget show` reads "
    "them, and a budget of what is left can be made in another file"
)
"""Why such a file is not used."""


@dataclass
class Lines:
    """An open file that nobody else adds to.

    Attributes:
        handle: of the file.
        lines: what counts, without the header.
        end: bytes that they have with the header, each with its end.
        lacks_end: whether the last one has none.
        is_new: whether the file was made for them.
    """

    handle: int
    lines: list[bytes]
    end: int
    is_new: bool = False
    lacks_end: bool = False

    def add(self, line: bytes) -> None:
        """Add a line; when this returns it is on the disk.

        Raises:
            UncertainError: it may count, or may not.
            OSError: it does not count.
        """
        if self.lacks_end:
            write(self.handle, b"\n", self.end - 1)
            os.fsync(self.handle)
        if not self.end:
            self._add(HEADER)
        self._add(line)
        self.lines.append(line)

    def _add(self, line: bytes) -> None:
        after = self.end + len(line)
        if after >= LARGEST or len(line) > LONGEST:
            raise OSError(errno.EOVERFLOW, "it is as large as one may be")
        try:
            os.ftruncate(self.handle, self.end)
            write(self.handle, line, self.end)
            os.fsync(self.handle)
            write(self.handle, b"\n", after)
        except BaseException as error:
            try:
                os.ftruncate(self.handle, self.end)
            except OSError as failed:
                raise UncertainError(failed.errno, failed.strerror) from error
            raise
        try:
            os.fsync(self.handle)
        except OSError as error:
            raise UncertainError(error.errno, error.strerror) from error
        self.end = after + 1


class UncertainError(OSError):
    """The disk failed when a line was in the file: nobody knows whether it stays there."""


@contextlib.contextmanager
def opened(file: Path, *, writes: bool = False, make: bool = False) -> Iterator[Lines]:
    """The lines of a file.

    Args:
        file: which.
        writes: whether any is to be added.
        make: whether one is made if there is none; it is removed where nothing is added.

    Raises:
        ParameterError: there is none, it is another one's, others use it for too long, it was
            replaced meanwhile, or it cannot be read or written.
    """
    was_added = False
    try:
        with _locked(file, writes=writes, make=make) as found:
            count = len(found.lines)
            try:
                yield found
            finally:
                was_added = len(found.lines) > count
                if found.is_new and not found.lines and is_at(found.handle, file):
                    file.resolve().unlink()
            if not is_at(found.handle, file):
                raise refusal(file, "was replaced while it was in use; try again")
    except OSError as error:
        is_uncertain = was_added or isinstance(error, UncertainError)
        raise refusal(file, _words(error) + (UNCERTAIN if is_uncertain else "")) from error


UNCERTAIN = "; what was to be written may have been: `budget show` tells"


def refusal(file: Path, why: str) -> ParameterError:
    """What is said where a ledger cannot be used."""
    return ParameterError(f"ledger = {file}: {why}.")


FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
"""What the system says of a disk without room."""


def _words(error: OSError) -> str:
    if error.errno in FULL:
        return "cannot be written, as the disk is full"
    return f"cannot be used ({error.strerror})"


@contextlib.contextmanager
def _locked(file: Path, *, writes: bool, make: bool) -> Iterator[Lines]:
    end = time.monotonic() + WAIT
    while True:
        with _handle(file, writes=writes, make=make) as (handle, is_new):
            if _lock(handle, writes=writes) and is_at(handle, file):
                if file.resolve() in _mounted() or not os.fstat(handle).st_nlink:
                    raise refusal(file, ALONE)
                found = _lines(handle, file, _content(handle, file), make=make)
                found.is_new = is_new
                yield found
                return
        if time.monotonic() > end:
            raise refusal(file, f"is in use by others for more than {WAIT:.0f} s")
        time.sleep(BETWEEN_LOOKS)


MOUNTS = Path("/proc/self/mountinfo")
"""Where the system says what is mounted; others than Linux mount no files."""

ALONE = (
    "is mounted by itself, so that nobody here sees it replaced; mount the folder that it lies in"
)
"""Why such a file is not used: programs that replace it outside leave an older one here."""


def _mounted() -> set[Path]:
    """Places where something is mounted."""
    try:
        said = MOUNTS.read_bytes().split(b"\n")
    except OSError:
        return set()
    octal = re.compile(rb"\\([0-7]{3})")
    places = (line.split(b" ")[4] for line in said if line)
    return {
        Path(os.fsdecode(octal.sub(lambda found: bytes([int(found[1], 8)]), place)))
        for place in places
    }


@contextlib.contextmanager
def _handle(file: Path, *, writes: bool, make: bool) -> Iterator[tuple[int, bool]]:
    """A file, opened, and whether it was made.

    Raises:
        ParameterError: there is none, or it cannot be opened.
    """
    # A pipe that nobody writes to would be waited for.
    flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    is_new = False
    try:
        if make:
            file.parent.mkdir(parents=True, exist_ok=True)
            is_new = not os.path.lexists(file)
            handle = os.open(file, flags | os.O_RDWR | os.O_CREAT, 0o666)
            for folder in file.resolve().parents:
                sync(folder)
        else:
            handle = os.open(file, flags | (os.O_RDWR if writes else os.O_RDONLY))
        if writes:
            # Who saves a file by another name first may have left this one to a disk's own time.
            for folder in {file.parent, file.resolve().parent}:
                sync(folder)
    except (FileNotFoundError, NotADirectoryError):
        if make:
            raise refusal(file, "cannot be made") from None
        raise refusal(file, "there is none; `budget create` makes one") from None
    except OSError as error:
        done = "made" if make and not file.exists() else "opened"
        raise refusal(file, f"cannot be {done} ({error.strerror})") from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise refusal(file, "cannot be opened: it is no file")
        yield handle, is_new
    finally:
        os.close(handle)


def _lock(handle: int, *, writes: bool) -> bool:
    """Lock a file until it is closed; says whether nobody else has it.

    Raises:
        OSError: it has no locks.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            # A byte that the file never has: there nobody else could read a locked one.
            os.lseek(handle, 2 * LARGEST, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, (fcntl.LOCK_EX if writes else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        words = "is on a file system that cannot lock files"
        raise OSError(error.errno, words) from error
    return True


def _content(handle: int, file: Path) -> bytes:
    size = os.fstat(handle).st_size
    if size > LARGEST:
        raise refusal(file, f"has {size:,} bytes; a ledger has at most {LARGEST:,}")
    return read(handle, LARGEST)


def _lines(handle: int, file: Path, content: bytes, *, make: bool) -> Lines:
    """What counts of a file's content.

    Raises:
        ParameterError: it is another one's, or has not even a header.
    """
    if content.startswith(DATABASE):
        raise refusal(file, OLD)
    end = content.rfind(b"\n") + 1
    if not end:
        # Of what is no beginning of a ledger nothing is written over.
        if not HEADER.startswith(content.rstrip(b"\0")) or len(content) > LONGEST:
            raise refusal(file, "is no ledger")
        if not make:
            raise refusal(file, "there is none; `budget create` makes one")
        return Lines(handle, [], 0)
    header, *lines = content[: end - 1].split(b"\n")
    if header != HEADER:
        newer = OTHER_VERSION.fullmatch(header) is not None
        why = "was made by a newer version of this program" if newer else "is no ledger"
        raise refusal(file, why)
    if last := _without_end(content[end:], file):
        lines.append(last)
        end += len(last) + 1
    if max(map(len, lines), default=0) > LONGEST:
        raise refusal(file, "was changed: it has a line that is longer than any of a ledger")
    return Lines(handle, lines, end, lacks_end=bool(last))


def _without_end(tail: bytes, file: Path) -> bytes:
    """The line that stands behind the last end; empty if that is a part of one, or nothing.

    A program that wants text may have taken its end away, and put something in its place. A disk
    that failed may have nothing but zeros in some blocks of a part.

    Raises:
        ParameterError: it is neither, so that nobody knows what it was.
    """
    found = LINE.match(tail, 0, LONGEST + 1)
    line = found[0] if found else b""
    rest = tail[len(line) :].rstrip(BLANK)
    if not rest:
        return line
    if line or LINE.search(rest) or (b"\0" not in rest and LINE_ENDS.search(rest)):
        raise refusal(file, "was changed: what stands behind its last line is no line")
    return b""


def line_of(*fields: object) -> bytes:
    """A line that holds what it is given."""
    return json.dumps(fields, ensure_ascii=False).encode()
