"""Keep arrays on disk: made once and reused, also by processes that ask at the same time.

A file is an uncompressed ``.npz`` (no pickle), named by a hash of its key. It contains the text of
the key and a fingerprint of the code that made it; a file with another key or from other code is
ignored and overwritten. A file is written under another name and moved in one step, so a reader
sees all of it or nothing. A damaged file is removed and made again. The folder is the user's cache
folder or ``ABCDP_CACHE_DIR``. It holds at most about :data:`SIZE_LIMIT` in :data:`COUNT_LIMIT`
files; those used longest ago are removed first. If it cannot be written, the program runs without
it and logs one warning. Files for the first page are shipped (``tools/first_view.py``).

Only public or synthetic data may be kept here.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import logging
import os
import re
import secrets
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import filelock
import numpy as np
from numpy.typing import NDArray

from abcdp_core.base import syntax
from abcdp_core.base.places import ASSETS, cache_folder

Arrays = dict[str, NDArray[Any]]

SIZE_LIMIT = 2 * 1024**3
"""Largest size of the folder in bytes."""

COUNT_LIMIT = 50_000
"""Largest number of files in the folder."""

SELDOM = 100
"""Scanning a full folder takes a second, so it happens once in so many saves, and after saving a
file larger than this fraction of :data:`SIZE_LIMIT`."""

LABEL = "label.json"
"""Member of a file with its key and the fingerprint of its code."""

SHIPPED = ASSETS / "first"
"""Files that come with the program: arrays, and their labels in :data:`LABELS`."""

LABELS = "labels.json"
"""Name of a shipped file -> its label."""

UNREADABLE = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""Errors that a damaged file raises."""

PATIENCE = 3600.0
"""Seconds to wait for another process that makes the same arrays; it may have stopped."""

LEFT_BEHIND = 86_400.0
"""Seconds after which an unfinished file or a lock counts as left by a killed process."""

KEPT = re.compile(r".+-[0-9a-f]{32}\.npz")
UNFINISHED = re.compile(r"[0-9a-f]{16}\.abcdp-part|.+-[0-9a-f]{32}\.lock")
"""Names of our files, finished and unfinished; other programs may use the folder, too."""

log = logging.getLogger(__name__)


def folder() -> Path:
    """Return the folder of the files."""
    return cache_folder()


@dataclass(frozen=True)
class Entry:
    """A file that may be on disk.

    Attributes:
        path: its path.
        label: text of its key, and fingerprint of the code that makes it.
    """

    path: Path
    label: str


def entry(kind: str, key: Any, code: str, where: Path | None = None) -> Entry:
    """Return the entry of a key.

    Args:
        kind: beginning of the file's name.
        key: a dataclass or a mapping of plain values.
        code: fingerprint of the code that makes the arrays.
        where: the folder; that of the cache if ``None``.
    """
    plain = dict(key) if isinstance(key, Mapping) else asdict(key)
    text = json.dumps({"kind": kind, "key": plain}, sort_keys=True)
    name = f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:32]}.npz"
    label = json.dumps({"made for": text, "by code": code})
    return Entry((where or folder()) / name, label)


def holds(wanted: Entry) -> bool:
    """Return whether an entry is there, by its label alone; :func:`load` may find it damaged."""
    if _is_shipped(wanted):
        return True
    try:
        with zipfile.ZipFile(wanted.path) as archive:
            return archive.read(LABEL) == wanted.label.encode()
    except UNREADABLE:
        return False


def load(wanted: Entry) -> Arrays | None:
    """Return the arrays of an entry; ``None`` if they are missing, damaged or of other code."""
    if _is_shipped(wanted):
        with contextlib.suppress(*UNREADABLE), zipfile.ZipFile(SHIPPED / wanted.path.name) as file:
            return _arrays(file)
    try:
        with zipfile.ZipFile(wanted.path) as archive:
            if archive.read(LABEL) != wanted.label.encode():
                return None
            arrays = _arrays(archive)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except UNREADABLE as error:
        log.warning("removing a cache file that does not read back (%s)", type(error).__name__)
        _remove(wanted.path)
        return None
    # The folder may be read-only.
    with contextlib.suppress(OSError):
        os.utime(wanted.path)
    return arrays


def _arrays(archive: zipfile.ZipFile) -> Arrays:
    names = [name for name in archive.namelist() if name != LABEL]
    return {
        name.removesuffix(".npy"): syntax.retry_parser_race(
            functools.partial(_array, archive, name)
        )
        for name in names
    }


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with archive.open(name) as file:
        array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        # The checksum is verified at the end of the file.
        if file.read(1):
            raise ValueError("the file is longer than its header says.")
    return array


@functools.cache
def _labels(folder: Path) -> dict[str, dict[str, str]]:
    try:
        read: dict[str, dict[str, str]] = json.loads((folder / LABELS).read_text())
    except (OSError, ValueError):
        return {}
    return read


def _is_shipped(wanted: Entry) -> bool:
    return _labels(SHIPPED).get(wanted.path.name, {}).get("label") == wanted.label


def save(made: Entry, arrays: Mapping[str, NDArray[Any]], *, make_room: bool = True) -> bool:
    """Write arrays to a file in one step, and return whether it could be written.

    Args:
        made: their entry.
        arrays: name -> array.
        make_room: whether other files may be removed if the folder is full.
    """
    directory = made.path.parent
    part = directory / f"{secrets.token_hex(8)}.abcdp-part"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with part.open("xb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        with zipfile.ZipFile(part, "a") as archive:
            archive.writestr(zipfile.ZipInfo(LABEL), made.label)
        part.replace(made.path)
    except OSError as error:
        _say_once(directory, error.strerror)
        return False
    finally:
        _remove(part)
    is_large = sum(each.nbytes for each in arrays.values()) > SIZE_LIMIT // SELDOM
    if make_room and (next(_saves(directory)) % SELDOM == 0 or is_large):
        evict(directory)
    return True


@functools.cache
def _saves(_: Path) -> Iterator[int]:
    return itertools.count()


def load_or_make(wanted: Entry, make: Callable[[], Arrays]) -> Arrays:
    """Return the arrays of an entry, made first if they are missing; one maker at a time."""
    arrays = load(wanted)
    if arrays is not None:
        return arrays
    lock = filelock.FileLock(wanted.path.with_suffix(".lock"))
    try:
        wanted.path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=PATIENCE)
    except (OSError, NotImplementedError) as error:
        # A drive without locks raises the latter; a timeout is an OSError.
        _say_once(wanted.path.parent, getattr(error, "strerror", None))
        return make()
    try:
        arrays = load(wanted)
        if arrays is None:
            arrays = make()
            save(wanted, arrays)
        return arrays
    finally:
        lock.release()


def evict(directory: Path, limit: int = SIZE_LIMIT, count: int = COUNT_LIMIT) -> None:
    """Remove leftovers of killed processes, and the files used longest ago until the rest fits."""
    for changed, _, path in _files(directory, UNFINISHED):
        if time.time() - changed > LEFT_BEHIND:
            _remove(path)
    files = _files(directory, KEPT)
    total = sum(size for _, size, _ in files)
    for number, (_, size, path) in enumerate(files):
        if total > limit or len(files) - number > count:
            _remove(path)
            total -= size


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _files(directory: Path, names: re.Pattern[str]) -> list[tuple[float, int, Path]]:
    """List date, bytes and path of the files with such names, oldest first."""
    files = []
    with contextlib.suppress(OSError), os.scandir(directory) as listed:
        for file in listed:
            if names.fullmatch(file.name):
                with contextlib.suppress(OSError):
                    status = file.stat()
                    files.append((status.st_mtime, status.st_size, Path(file.path)))
    return sorted(files)


@functools.cache
def _say_once(directory: Path, reason: str | None) -> None:
    why = reason or "no locks, or another process has held one for long"
    log.warning("cannot write to %s (%s): results are computed again each time", directory, why)
