"""Arrays kept on disk: made once, reused always, safe when two processes ask at once.

A file is an uncompressed ``.npz`` (no pickle) whose comment is a checksum of all that comes before:
the format's own checksums leave out its directory, and what a changed header hides. It is written
beside its place and moved there in one step, so a reader sees all of it or nothing. A file that
does not read back is removed and made anew. The folder is the user's cache folder or
``ABCDP_CACHE_DIR``; it holds at most :data:`SIZE_LIMIT`, oldest use out first. Where it cannot be
written the program runs without it and says so once.

Only what is public or synthetic may be kept here.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import logging
import os
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import filelock
import numpy as np
import platformdirs
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

SIZE_LIMIT = 2 * 1024**3
"""Bytes the folder may hold."""

FORMAT = 3
"""Part of every key: raise it when the meaning of what is stored changes."""

CHECKSUM_SIZE = 4
"""Bytes of the checksum (CRC-32) at the end of a file."""

A_DAY = 24 * 3600.0
"""Seconds after which an unfinished file is taken for one whose writer was killed."""

log = logging.getLogger(__name__)


def folder() -> Path:
    """Where the files are."""
    chosen = os.environ.get("ABCDP_CACHE_DIR")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("abcdp-explorer"))


def path_of(kind: str, key: Any) -> Path:
    """The file for a key, a dataclass or a mapping of plain values."""
    plain = key if isinstance(key, Mapping) else asdict(key)
    text = json.dumps({"format": FORMAT, "kind": kind, **plain}, sort_keys=True)
    return folder() / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:32]}.npz"


def load(path: Path, names: Iterable[str] | None = None) -> Arrays | None:
    """Arrays of a file, all or the named ones; ``None`` if there is no sound file."""
    try:
        with path.open("rb") as file:
            _check(file)
            with np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in (names or stored.files)}
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        log.warning("removing a cache file that does not read back (%s)", type(error).__name__)
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    # A folder that can be read but not written still serves.
    with contextlib.suppress(OSError):
        os.utime(path)
    return arrays


def _seal(file: BinaryIO) -> None:
    """Put the checksum into the comment, which is the last thing in a zip file."""
    with zipfile.ZipFile(file, "a") as archive:
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
    left = file.seek(0, os.SEEK_END) - CHECKSUM_SIZE
    file.seek(0)
    checksum = 0
    while left > 0 and (block := file.read(min(left, 2**20))):
        checksum = zlib.crc32(block, checksum)
        left -= len(block)
    return checksum.to_bytes(CHECKSUM_SIZE)


def save(path: Path, arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Write arrays to a file in one step; whether that was possible."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    except OSError as error:
        _say_once(str(path.parent), type(error).__name__)
        return False
    try:
        with os.fdopen(handle, "w+b") as file:
            np.savez(file, allow_pickle=False, **arrays)
            _seal(file)
        Path(name).replace(path)
    except OSError as error:
        _say_once(str(path.parent), type(error).__name__)
        return False
    finally:
        Path(name).unlink(missing_ok=True)
    evict(path.parent)
    return True


def load_or_make(path: Path, make: Callable[[], Arrays]) -> Arrays:
    """Arrays of a file, made first if there is no sound one; one maker at a time."""
    arrays = load(path)
    if arrays is not None:
        return arrays
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path.with_suffix(".lock"))
        lock.acquire()
    except OSError as error:
        _say_once(str(path.parent), type(error).__name__)
        return make()
    try:
        arrays = load(path)
        if arrays is None:
            arrays = make()
            save(path, arrays)
        return arrays
    finally:
        lock.release()


def evict(directory: Path, limit: int = SIZE_LIMIT) -> None:
    """Remove the files used longest ago until the rest fits, and what killed writers left.

    Lock files are empty and stay: were one removed while a process holds it or waits for it, the
    next process would get a new one and work beside the first.
    """
    files = []
    for file in [*directory.glob("*.npz"), *directory.glob("*.part")]:
        with contextlib.suppress(OSError):
            status = file.stat()
            files.append((status.st_mtime, status.st_size, file))
    total = sum(size for _, size, _ in files)
    for used, size, file in sorted(files):
        left_behind = file.suffix == ".part" and used < time.time() - A_DAY
        if left_behind or (total > limit and file.suffix == ".npz"):
            with contextlib.suppress(OSError):
                file.unlink()
                total -= size


@functools.cache
def _say_once(directory: str, reason: str) -> None:
    log.warning("cannot write to the cache folder %s (%s): running without it", directory, reason)
