"""Settings of libraries before they are loaded: number of threads, folder of compiled functions.

numba checks only the file of a function, not the files of the functions it calls, although it
caches their machine code too. So each version of the compiled sources has its own folder.
"""

from __future__ import annotations

import atexit
import importlib.util
import multiprocessing
import os
import shutil
import sys
import time
from collections.abc import MutableMapping
from pathlib import Path

from abcdp_core.base.places import cache_folder

FOLDER = "NUMBA_CACHE_DIR"
"""Environment variable that numba reads on import."""

NEEDED = 100 * 2**20
"""Bytes that must be free, because numba fails if it cannot write."""

LONG = 30 * 86_400.0
"""Seconds after which a folder of another version is removed."""


def choose(environment: MutableMapping[str, str], code: Path) -> None:
    """Choose the folder of compiled functions for this process and its workers.

    Args:
        environment: to be changed, unless it names a folder already.
        code: folder of the package.
    """
    if environment.get(FOLDER):
        return
    kept = cache_folder() / "numba" / fingerprint(code)
    try:
        if not kept.is_dir():
            kept.mkdir(parents=True, exist_ok=True)
            _remove_old(kept.parent)
        will_do = os.access(kept, os.W_OK) and shutil.disk_usage(kept).free > NEEDED
    except OSError:
        will_do = False
    environment[FOLDER] = str(kept.absolute()) if will_do else _own()
    if numba := sys.modules.get("numba"):
        numba.config.CACHE_DIR = environment[FOLDER]


def _remove_old(folder: Path) -> None:
    """Remove folders of other versions that are old."""
    for other in folder.iterdir():
        if time.time() - other.stat().st_mtime > LONG:
            shutil.rmtree(other, ignore_errors=True)


def _own() -> str:
    """Make a private folder that is removed when this process ends."""
    # Inside the function, because it is seldom needed and slows every start.
    import tempfile

    folder = tempfile.mkdtemp(prefix="abcdp-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def fingerprint(code: Path) -> str:
    """Return a digest of all sources that contain compiled functions."""
    texts = []
    for folder, _, names in sorted(os.walk(code)):
        for name in sorted(name for name in names if name.endswith(".py")):
            text = Path(folder, name).read_bytes()
            if b"numba" in text or b"@compiled" in text:
                texts.append(text)
    return importlib.util.source_hash(b"".join(texts)).hex()


def available_threads() -> int:
    """Return one thread per processor, or one in a worker process, which has siblings."""
    return 1 if multiprocessing.parent_process() is not None else os.cpu_count() or 1


ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
"""Environment variables that make libraries of linear algebra use one thread."""
