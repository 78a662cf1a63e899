"""Arrays kept on disk: made once, reused always, safe when two processes ask at once.

A file is an uncompressed ``.npz`` (no pickle), whose name is a hash of its key. Inside are the text
of the key and a fingerprint of the code that made it; a file with another key or from other code is
as if it were not there, and overwritten. It is written beside its place and moved there in one
step, so a reader sees all of it or nothing. A file that does not read back is removed and made
anew. The folder is the user's cache folder or ``ABCDP_CACHE_DIR``; it holds at most about
:data:`SIZE_LIMIT` in :data:`COUNT_LIMIT` files, oldest use out first. Where it cannot be written
the program runs without it and says so once. What the first page needs comes with the program
(``tools/first_view.py``) and is found the same way.

Only what is public or synthetic may be kept here.
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

from abcdp_core import syntax
from abcdp_core.places import ASSETS, cache_folder

Arrays = dict[str, NDArray[Any]]

SIZE_LIMIT = 2 * 1024**3
"""Bytes the folder may hold."""

COUNT_LIMIT = 50_000
"""Files the folder may hold."""

SELDOM = 100
"""The folder is looked through at the first of so many files, and at each that is as large a part
of what it may hold: with as many files as it may hold that takes a second."""

LABEL = "label.json"
"""What in a file says what it was made for, and by what code."""

SHIPPED = ASSETS / "first"
"""Files that come with the program: arrays, and in :data:`LABELS` what they were made for."""

LABELS = "labels.json"
"""Name of a shipped file -> its label."""

UNREADABLE = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""What a damaged file raises."""

PATIENCE = 3600.0
"""Seconds to wait for another process that makes the same; it may have been stopped."""

LEFT_BEHIND = 86_400.0
"""Seconds after which an unfinished file or a lock is taken for one that a killed process left."""

KEPT = re.compile(r".+-[0-9a-f]{32}\.npz")
UNFINISHED = re.compile(r"[0-9a-f]{16}\.abcdp-part|.+-[0-9a-f]{32}\.lock")
"""Names of our files, and of those that processes at work have: other programs have some, too."""

log = logging.getLogger(__name__)


def folder() -> Path:
    """Where the files are."""
    return cache_folder()


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
        with zipfile.ZipFile(wanted.path) as archive:
            return archive.read(LABEL) == wanted.label.encode()
    except UNREADABLE:
        return False


def load(wanted: Entry) -> Arrays | None:
    """Arrays of a file; ``None`` if there is none that is sound, for this key and of this code."""
    if _is_shipped(wanted):
        with contextlib.suppress(*UNREADABLE), zipfile.ZipFile(SHIPPED / wanted.path.name) as found:
            return _arrays(found)
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
    # A folder that can be read but not written still serves.
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
        # Only who reads to the end learns whether the checksum fits.
        if file.read(1):
            raise ValueError("there is more than its header says.")
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
    """Arrays of a file, made first if there is none; one maker at a time."""
    arrays = load(wanted)
    if arrays is not None:
        return arrays
    lock = filelock.FileLock(wanted.path.with_suffix(".lock"))
    try:
        wanted.path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=PATIENCE)
    except (OSError, NotImplementedError) as error:
        # The latter is said of drives without locks; a timeout is an error of the former kind.
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
    """Remove what killed processes left, and the files used longest ago until the rest fits."""
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
    """Date, bytes and path of the files that have such names, oldest first."""
    files = []
    with contextlib.suppress(OSError), os.scandir(directory) as found:
        for file in found:
            if names.fullmatch(file.name):
                with contextlib.suppress(OSError):
                    status = file.stat()
                    files.append((status.st_mtime, status.st_size, Path(file.path)))
    return sorted(files)


@functools.cache
def _say_once(directory: Path, reason: str | None) -> None:
    why = reason or "no locks, or another process is at work for long"
    log.warning("cannot write to %s (%s): what is not kept is made again each time", directory, why)
