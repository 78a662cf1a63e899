"""What is asked of an open file, and done with it, by those who may lose its name to others."""

from __future__ import annotations

import os
from pathlib import Path


def write(handle: int, content: bytes, place: int) -> None:
    """Write all of a content, however little a disk takes at a time.

    Args:
        handle: of the file.
        content: what is written.
        place: bytes of the file before it.

    Raises:
        OSError: some of it, or none, was written.
    """
    os.lseek(handle, place, os.SEEK_SET)
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]


def read(handle: int, most: int) -> bytes:
    """The beginning of a file, all of it if that is no more than so many bytes.

    Args:
        handle: of the file.
        most: bytes.

    Raises:
        OSError: it cannot be read.
    """
    os.lseek(handle, 0, os.SEEK_SET)
    with open(handle, "rb", closefd=False) as reader:
        return reader.read(most)


def is_at(handle: int, file: Path) -> bool:
    """Whether an open file still has this name.

    Raises:
        OSError: nobody can tell.
    """
    try:
        return os.path.samestat(os.fstat(handle), file.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False
