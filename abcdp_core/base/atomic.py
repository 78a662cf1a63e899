"""Write several files together: a reader finds one whole result, or none.

All files are written and flushed in a folder beside their places, so a full disk changes nothing.
Then each is moved to its place. The file that describes the others (:data:`LAST`) is removed first
and moved last, so after a kill between two moves there is no description. The description of a
result also has a digest of each table. Nothing is rolled back: run the command again.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from abcdp_core.base.interruption import defer_signals

PART = ".files-being-written"

LAST = (".json", ".toml")
"""Endings of files that describe the others."""


@contextlib.contextmanager
def together(directory: Path) -> Iterator[Path]:
    """Give a folder whose files move to ``directory`` when the block ends without an error.

    Raises:
        OSError: the files cannot be written.
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
            with defer_signals():
                _move(files, directory)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _move(files: list[Path], directory: Path) -> None:
    # The script that draws figures is large and always the same.
    places = {file: directory / file.name for file in files}
    new = {
        file: place
        for file, place in places.items()
        if not (place.is_file() and filecmp.cmp(file, place, shallow=False))
    }
    for file, place in new.items():
        if file.suffix in LAST:
            place.unlink(missing_ok=True)
    for file, place in new.items():
        file.replace(place)
    sync(directory)


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Wait until no other process writes there, if the system can lock folders."""
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
    """Write one file atomically.

    Raises:
        OSError: it cannot be written; an earlier file is unchanged.
    """
    with part_of(file) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


@contextlib.contextmanager
def part_of(file: Path) -> Iterator[Path]:
    """Give a file that takes the place of another when the block ends without an error.

    Raises:
        OSError: it cannot be written; an earlier file is unchanged.
    """
    part = file.with_name(f".{file.name}.part")
    try:
        yield part
        sync(part)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk.

    Raises:
        OSError: the file could not be flushed.
    """
    is_folder = path.is_dir()
    # Not every system can flush folders.
    with contextlib.suppress(OSError) if is_folder else contextlib.nullcontext():
        handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
