"""What libraries are told before they are loaded: how many threads to use, where to keep things.

numba keeps compiled functions in a folder of the cache for each text of their sources: by itself it
looks at the file of a function, and not at those of the functions it calls, whose machine code it
keeps as well. So code that differs anywhere has another folder.
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

from abcdp_core.places import cache_folder

FOLDER = "NUMBA_CACHE_DIR"
"""Variable by which numba is told, if it is not imported yet."""

NEEDED = 100 * 2**20
"""Bytes that must be free: numba fails where it cannot write."""

LONG = 30 * 86_400.0
"""Seconds."""


def choose(environment: MutableMapping[str, str], code: Path) -> None:
    """Tell numba, and the workers of this process, a folder, unless somebody named one.

    Args:
        environment: changed.
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
    """Remove what other versions compiled long ago."""
    for other in folder.iterdir():
        if time.time() - other.stat().st_mtime > LONG:
            shutil.rmtree(other, ignore_errors=True)


def _own() -> str:
    """A new folder of this process alone, as long as it goes on."""
    # Inside the function: seldom needed, and everything else waits for this.
    import tempfile

    folder = tempfile.mkdtemp(prefix="abcdp-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def fingerprint(code: Path) -> str:
    """Return a digest of all source texts in which something is compiled."""
    texts = []
    for folder, _, names in sorted(os.walk(code)):
        for name in sorted(name for name in names if name.endswith(".py")):
            text = Path(folder, name).read_bytes()
            if b"numba" in text or b"@compiled" in text:
                texts.append(text)
    return importlib.util.source_hash(b"".join(texts)).hex()


def available_threads() -> int:
    """One per processor; a single one in a worker process, which has its siblings beside it."""
    return 1 if multiprocessing.parent_process() is not None else os.cpu_count() or 1


ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
"""Variables by which libraries of linear algebra are told, before they are loaded, to use one."""
