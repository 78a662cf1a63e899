"""Keep polls on disk, so that a server that starts again goes on where it was.

A file for each poll, a line for each thing that happened: how it was opened, which numbered
question was asked, which word was the answer to it. There are no tickets in it and no used seat
codes, so nothing tells which telephone sent a word.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import platformdirs

Line = dict[str, Any]


def folder() -> Path:
    """Return the folder of polls: ``ABCDP_POLLS``, or the program's own."""
    chosen = os.environ.get("ABCDP_POLLS")
    return Path(chosen or platformdirs.user_data_path("abcdp-explorer") / "polls")


def write(file: Path, line: Line) -> None:
    """Add a line to a poll; it is on disk when this returns.

    Raises:
        OSError: it cannot be written.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    # The first line has the secret of the poll's lecturer.
    with open(file, "a", encoding="utf-8", opener=_private) as out:
        out.write(f"{json.dumps(line)}\n")
        out.flush()
        os.fsync(out.fileno())


def read(file: Path) -> list[Line]:
    """Return the lines of a poll; of one that is not there, none.

    A last line that was not written to its end is removed: nobody was told that it is there.
    """
    try:
        whole, ending, unfinished = file.read_bytes().rpartition(b"\n")
        if unfinished:
            os.truncate(file, len(whole) + len(ending))
    except OSError:
        return []
    return [json.loads(line) for line in whole.splitlines()]


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
