"""Where numba keeps compiled functions: beside the code, else in the cache folder; by what code.

Where numba can write to neither the code nor a home folder, it makes one called ``~`` in whatever
folder the program was started in, or, if that cannot be written either, fails. Compiled functions
are code, so nobody else may have a say in the folder.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

FOLDER = "NUMBA_CACHE_DIR"
"""Variable by which numba is told, before it is imported."""

LOCATORS = "NUMBA_CACHE_LOCATOR_CLASSES"
"""Variable by which it is told who finds them again."""

FINDERS = (
    *("abcdp_core.recompiled.InNamedFolder", "abcdp_core.recompiled.BesideCode"),
    *("UserWideCacheLocator", "IPythonCacheLocator", "ZipCacheLocator"),
)
"""Ours in place of the first two of numba's own."""


def choose(environment: MutableMapping[str, str], code: Path) -> None:
    """Tell numba, and the workers of this process, a folder unless theirs will do, and who looks.

    Args:
        environment: changed if it has to be.
        code: folder with the code.
    """
    environment.setdefault(LOCATORS, ",".join(FINDERS))
    if environment.get(FOLDER) or os.access(code, os.W_OK):
        return
    # Inside the function: seldom needed, and everything else waits for this.
    from abcdp_core import cache

    kept = cache.folder() / "numba"
    try:
        kept.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=kept):
            environment[FOLDER] = str(kept.absolute())
    except OSError:
        _choose_own(environment)


def _choose_own(environment: MutableMapping[str, str]) -> None:
    """A new folder of this process alone, as long as it goes on."""
    try:
        own = tempfile.mkdtemp(prefix="abcdp-")
    except OSError:
        return
    environment[FOLDER] = own
    atexit.register(shutil.rmtree, own, ignore_errors=True)
