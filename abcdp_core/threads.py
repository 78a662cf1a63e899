"""How many threads a computation may use."""

from __future__ import annotations

import multiprocessing
import os


def available() -> int:
    """One per processor; a single one in a worker process, which has its siblings beside it."""
    return 1 if multiprocessing.parent_process() is not None else os.cpu_count() or 1


ONE_EACH = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
"""Variables by which libraries of linear algebra are told, before they are loaded, to use one."""
