"""How many threads a computation may use."""

from __future__ import annotations

import multiprocessing
import os


def available() -> int:
    """One per processor; a single one in a worker process, which has its siblings beside it."""
    return 1 if multiprocessing.parent_process() is not None else os.cpu_count() or 1
