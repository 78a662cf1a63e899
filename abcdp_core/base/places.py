"""Folders of the files that come with the program, and of the cache.

The app and its assets are beside this package in a checkout, and in the folder ``abcdp_app`` beside
it in an installed wheel.
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

_BESIDE = Path(__file__).resolve().parents[2]

ROOT = _BESIDE / "abcdp_app" if (_BESIDE / "abcdp_app").is_dir() else _BESIDE
"""Folder of ``app.py``, ``pages``, ``ui``, ``assets`` and ``examples``."""

ASSETS = ROOT / "assets"
EXAMPLES = ROOT / "examples"


def cache_folder() -> Path:
    """Return the folder of files that can be made again."""
    chosen = os.environ.get("ABCDP_CACHE_DIR")
    return Path(chosen or platformdirs.user_cache_dir("abcdp-explorer"))
