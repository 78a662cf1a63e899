"""Arrays kept on disk: made once, reused always, safe when two processes ask at once.

A file is an uncompressed ``.npz`` (no pickle) whose comment is a checksum of all that comes before:
the format's own checksums leave out its directory, and what a changed header hides. It is written
beside its place and moved there in one step, so a reader sees all of it or nothing. A file that
does not read back is removed and made anew. Its name is a hash of its key; inside are the text of
the key and a fingerprint of the code that made it, and a file with another key or from other code
is as if it were not there, and overwritten. The folder is the user's cache folder or
``ABCDP_CACHE_DIR``; it holds at most about :data:`SIZE_LIMIT` in :data:`COUNT_LIMIT` files, oldest
use out first. Where it cannot be written the program runs without it and says so once. What the
first page needs comes with the program (``tools/first_view.py``) and is found the same way.

Only what is public or synthetic may be kept here.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import logging
import os
import re
import secrets
import stat
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import filelock
import numpy as np
import platformdirs
from numpy.typing import NDArray

from abcdp_core import syntax
from abcdp_core.places import ASSETS

Arrays = dict[str, NDArray[Any]]

NOWHERE = Path(os.devnull, "cache of a user without a home folder")
"""A folder that can never be made."""

SIZE_LIMIT = 2 * 1024**3
"""Bytes the folder may hold."""

COUNT_LIMIT = 50_000
"""Files the folder may hold."""

SELDOM = 100
"""The folder is looked through once a part of so much of either has come in: with as many files as
it may hold that takes seconds."""

LABEL = "label.json"
"""What in a file says what it was made for, and by what code."""

SHIPPED = ASSETS / "first"
"""Files that come with the program: arrays, and in :data:`LABELS` what they were made for."""

LABELS = "labels.json"
"""Name of a shipped file -> its label and the SHA-256 of what is in it."""

CHECKSUM_SIZE = 4
"""Bytes of the checksum (CRC-32) at the end of a file."""

BLOCK = 2**20
"""Bytes of a file that are looked at together."""

UNREADABLE = (
    *(OSError, ValueError, KeyError, EOFError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error),
)
"""What a damaged file raises."""

BEAT = 1.0
"""Seconds between two signs of life of who makes something."""

STILL = 8.0
"""Seconds without one after which who waits makes it, too: the other was stopped, as by Ctrl-Z."""

UNUSED_LOCK = 600.0
"""Seconds after which a lock file is taken for one that nobody holds or waits for: who holds one
gives signs of life, and who waits for one without them gives up."""

LOCK = re.compile(r".+-[0-9a-f]{32}\.lock")
KEPT = re.compile(r".+-[0-9a-f]{32}\.npz")
"""Names of lock files and of files: other programs have some, too."""

LEFT_BEHIND = 600.0
"""Seconds after which an unfinished file is taken for one whose writer was killed. A writer that
was only asleep cannot put it in place any more, and does without."""

UNFINISHED = ".abcdp-part"
"""Ends the name of a file that is being written. Nobody else's does: browsers, too, keep what they
are still loading in files that end with ``.part``, and a store may be any folder."""

PART = re.compile(rf".+{re.escape(UNFINISHED)}")

log = logging.getLogger(__name__)


def folder() -> Path:
    """Where the files are."""
    chosen = os.environ.get("ABCDP_CACHE_DIR")
    if chosen:
        return Path(chosen)
    try:
        return Path(platformdirs.user_cache_dir("abcdp-explorer"))
    except RuntimeError:
        return NOWHERE


@dataclass(frozen=True)
class Entry:
    """What may be on disk.

    Attributes:
        path: its file.
        label: text of its key and fingerprint of the code that makes it.
    """

    path: Path
    label: str


def entry(kind: str, key: Any, code: str, where: Path | None = None) -> Entry:
    """What may be on disk for a key.

    Args:
        kind: begins the file's name.
        key: a dataclass or a mapping of plain values.
        code: fingerprint of the code that makes it.
        where: another folder than the cache's own.
    """
    plain = dict(key) if isinstance(key, Mapping) else asdict(key)
    text = json.dumps({"kind": kind, "key": plain}, sort_keys=True)
    name = f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:32]}.npz"
    label = json.dumps({"made for": text, "by code": code})
    return Entry((where or folder()) / name, label)


def holds(wanted: Entry) -> bool:
    """Whether it is there, by its label alone: :func:`load` may yet find it damaged."""
    if _is_shipped(wanted):
        return True
    try:
        with os.fdopen(_opened(wanted.path), "rb") as file, zipfile.ZipFile(file) as archive:
            return _is_labelled(archive, wanted)
    except UNREADABLE:
        return False


def _opened(path: Path) -> int:
    """Handle of what may be such a file: a pipe would be waited for, and a device has no end.

    Raises:
        OSError, ValueError: it is none.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_size > SIZE_LIMIT:
        os.close(handle)
        raise ValueError("not a file of this size")
    return handle


def _array(stored: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    return syntax.undisturbed(lambda: stored[name])


def _is_labelled(archive: zipfile.ZipFile, wanted: Entry) -> bool:
    return archive.read(LABEL) == wanted.label.encode()


def load(wanted: Entry) -> Arrays | None:
    """Arrays of a file; ``None`` if there is none that is sound, for this key and of this code."""
    if _is_shipped(wanted) and (shipped := _load_shipped(wanted)) is not None:
        return shipped
    try:
        with os.fdopen(_opened(wanted.path), "rb") as file:
            _check(file)
            with np.load(file, allow_pickle=False) as stored:
                if not _is_labelled(stored.zip, wanted):
                    return None
                arrays = {name: _array(stored, name) for name in stored.files if name != LABEL}
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except UNREADABLE as error:
        log.warning("removing a cache file that does not read back (%s)", type(error).__name__)
        with contextlib.suppress(OSError):
            wanted.path.unlink()
        return None
    # A folder that can be read but not written still serves.
    with contextlib.suppress(OSError):
        os.utime(wanted.path)
    return arrays


@functools.cache
def _labels(folder: Path) -> dict[str, dict[str, str]]:
    try:
        read: dict[str, dict[str, str]] = json.loads((folder / LABELS).read_text())
    except (OSError, ValueError):
        return {}
    return read


def _is_shipped(wanted: Entry) -> bool:
    return _labels(SHIPPED).get(wanted.path.name, {}).get("label") == wanted.label


def _load_shipped(wanted: Entry) -> Arrays | None:
    try:
        content = (SHIPPED / wanted.path.name).read_bytes()
        if hashlib.sha256(content).hexdigest() != _labels(SHIPPED)[wanted.path.name]["digest"]:
            return None
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {name: _array(stored, name) for name in stored.files}
    except UNREADABLE:
        return None


def _seal(file: BinaryIO, label: str) -> None:
    """Add the label, and the checksum as the comment, which is the last thing in a zip file."""
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(zipfile.ZipInfo(LABEL), label)
        archive.comment = bytes(CHECKSUM_SIZE)
    checksum = _checksum(file)
    file.seek(-CHECKSUM_SIZE, os.SEEK_END)
    file.write(checksum)


def _check(file: BinaryIO) -> None:
    """Raise an error unless the checksum fits; leaves the file at its beginning."""
    checksum = _checksum(file)
    if file.read() != checksum:
        raise ValueError("the checksum does not fit.")
    file.seek(0)


def _checksum(file: BinaryIO) -> bytes:
    """Checksum of a file up to its last :data:`CHECKSUM_SIZE` bytes, where the file is left."""
    size = file.seek(0, os.SEEK_END) - CHECKSUM_SIZE
    file.seek(0)
    checksum = 0
    for start in range(0, size, BLOCK):
        checksum = zlib.crc32(file.read(min(BLOCK, size - start)), checksum)
    return checksum.to_bytes(CHECKSUM_SIZE)


def save(made: Entry, arrays: Mapping[str, NDArray[Any]], *, make_room: bool = True) -> bool:
    """Write arrays to a file in one step.

    Args:
        made: what they are.
        arrays: by name.
        make_room: whether others may go for it if the folder is full; in a folder where all is to
            be kept none may.

    Returns:
        Whether it could be written.
    """
    directory = made.path.parent
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # With the rights that others are to have: a folder may be a group's.
        name = directory / f"{secrets.token_hex(8)}{UNFINISHED}"
        opened = name.open("x+b")
    except OSError as error:
        _say_once(str(directory), _reason(error), to_keep=not make_room)
        return False
    try:
        with opened as file:
            np.savez(file, allow_pickle=False, **arrays)
            _seal(file, made.label)
        name.replace(made.path)
    except OSError as error:
        _say_once(str(directory), _reason(error), to_keep=not make_room)
        return False
    finally:
        with contextlib.suppress(OSError):
            name.unlink()
    if make_room and _is_time_to_look(directory, sum(each.nbytes for each in arrays.values())):
        evict(directory)
    return True


_since: dict[Path, tuple[int, int]] = {}
"""Folder -> files, and bytes, that this process added since it last looked through it."""

_counting = threading.Lock()


def _is_time_to_look(directory: Path, size: int) -> bool:
    """Whether a folder has to be looked through after one more file of so many bytes."""
    with _counting:
        files, total = _since.get(directory, (COUNT_LIMIT, 0))
        files, total = files + 1, total + size
        is_due = files > COUNT_LIMIT // SELDOM or total > SIZE_LIMIT // SELDOM
        _since[directory] = (0, 0) if is_due else (files, total)
    return is_due


def load_or_make(wanted: Entry, make: Callable[[], Arrays]) -> Arrays:
    """Arrays of a file, made first if there is none; one maker at a time."""
    arrays = load(wanted)
    if arrays is not None:
        return arrays
    try:
        wanted.path.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(wanted.path.with_suffix(".lock"))
        is_held = _acquire(lock)
    except (OSError, NotImplementedError) as error:
        # The latter is said of drives without locks.
        _say_once(str(wanted.path.parent), _reason(error), to_keep=False)
        return make()
    try:
        with _signs_of_life(lock) if is_held else contextlib.nullcontext():
            arrays = load(wanted)
            if arrays is None:
                arrays = make()
                save(wanted, arrays)
            return arrays
    finally:
        lock.release()


def _acquire(lock: filelock.BaseFileLock) -> bool:
    """Take a lock, waiting for who has it as long as that one is at work; whether it was taken."""
    seen, since = None, time.monotonic()
    while True:
        with contextlib.suppress(filelock.Timeout):
            lock.acquire(timeout=min(BEAT, STILL))
            return True
        now, found = time.monotonic(), _changed(lock)
        if found != seen:
            seen, since = found, now
        elif now - since > STILL:
            log.warning(
                "another process was to make the same and stands still: not waiting for it (%s)",
                lock.lock_file,
            )
            return False


def _changed(lock: filelock.BaseFileLock) -> int:
    with contextlib.suppress(OSError):
        return Path(lock.lock_file).stat().st_mtime_ns
    return 0


@contextlib.contextmanager
def _signs_of_life(lock: filelock.BaseFileLock) -> Iterator[None]:
    """Change the date of a lock now and again, by which it is known to be in use."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT):
            touch()

    def touch() -> None:
        with contextlib.suppress(OSError):
            os.utime(lock.lock_file)

    touch()

    # Where no thread is left, who waits may do the same work, and no harm.
    with contextlib.suppress(RuntimeError):
        threading.Thread(target=beat, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def evict(directory: Path, limit: int = SIZE_LIMIT, count: int = COUNT_LIMIT) -> None:
    """Remove the files used longest ago until the rest fits, and what killed writers left.

    Lock files stay for some minutes: were one removed while a process holds it or waits for it, the
    next process would get a new one and do the work of the first again.
    """
    unfinished, locks, files = _files(directory, PART, LOCK, KEPT)
    _remove(unfinished, LEFT_BEHIND)
    _remove(locks, UNUSED_LOCK)
    total = sum(size for _, size, _ in files)
    for number, (_, size, path) in enumerate(files):
        if total > limit or len(files) - number > count:
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size


def sweep(directory: Path) -> None:
    """Remove what killed writers left."""
    (unfinished,) = _files(directory, PART)
    _remove(unfinished, LEFT_BEHIND)


def _remove(files: Iterable[tuple[float, int, Path]], seconds: float) -> None:
    """Remove those that were not changed for so long."""
    for changed, _, path in files:
        # Either way: the clock may have been set back since.
        if abs(time.time() - changed) > seconds:
            with contextlib.suppress(OSError):
                path.unlink()


def _files(directory: Path, *kinds: re.Pattern[str]) -> list[list[tuple[float, int, Path]]]:
    """For each kind, date, bytes and path of the files that are named so, oldest first."""
    files: list[list[tuple[float, int, Path]]] = [[] for _ in kinds]
    with contextlib.suppress(OSError), os.scandir(directory) as found:
        for file in found:
            for kind, names in enumerate(kinds):
                if names.fullmatch(file.name):
                    with contextlib.suppress(OSError):
                        status = file.stat()
                        files[kind].append((status.st_mtime, status.st_size, Path(file.path)))
    return [sorted(each) for each in files]


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or type(error).__name__


@functools.cache
def _say_once(directory: str, reason: str, *, to_keep: bool) -> None:
    """Say what is done without; a folder to keep things in was asked for by a person."""
    what, then = ("the cache folder", "running without it")
    if to_keep:
        what, then = "the store", "tasks that could not be kept are done again by a later run"
    log.warning("cannot write to %s %s (%s): %s", what, directory, reason, then)
