"""Several files written together: a reader finds one whole result, or learns that there is none.

All are written and synced in a folder beside their places, so a full disk changes nothing. Then
each is moved to its place. What describes the others (:data:`LAST`) is removed before the first
move and comes last, so whoever reads after a kill between two moves finds no description; that of a
study also holds a digest of each table. Nothing is rolled back: run the command again.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from abcdp_core.interruption import held

PART = ".files-being-written"

LAST = (".json", ".toml")
"""Endings of files that say what the others are."""


@contextlib.contextmanager
def together(directory: Path) -> Iterator[Path]:
    """Give a folder whose files take their places in ``directory`` if the block raises no error.

    Args:
        directory: made if it is not there. One process at a time writes to it like this.

    Raises:
        OSError: they cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with _alone(directory):
        folder = directory / PART
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir()
        try:
            yield folder
            files = sorted(folder.iterdir(), key=lambda file: (file.suffix in LAST, file.name))
            for file in files:
                sync(file)
            with held():
                _move(files, directory)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _move(files: list[Path], directory: Path) -> None:
    # The script that draws figures is large, always the same, and may be somebody else's.
    places = {file: directory / file.name for file in files}
    new = {file: place for file, place in places.items() if not _is_there(file, place)}
    for file, place in new.items():
        if file.suffix in LAST:
            place.unlink(missing_ok=True)
    for file, place in new.items():
        file.replace(place)
    sync(directory)


def _is_there(file: Path, place: Path) -> bool:
    return place.is_file() and filecmp.cmp(file, place, shallow=False)


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Wait until no other process writes there, where the system has locks for folders."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def replace(file: Path, text: str) -> None:
    """Write one file in one step.

    Raises:
        OSError: it cannot be written; an earlier one is as it was.
    """
    part = file.with_name(f".{file.name}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        sync(part)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk before anything that comes after.

    Raises:
        OSError: the disk did not take a file.
    """
    is_folder = path.is_dir()
    # Not every system can do this for folders.
    with contextlib.suppress(OSError) if is_folder else contextlib.nullcontext():
        handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
