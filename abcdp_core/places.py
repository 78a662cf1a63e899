"""Where the files are that come with the program, and those that it keeps.

A checkout has the app and its assets beside this package; an installed wheel has them in the folder
``abcdp_app`` beside it.
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

_BESIDE = Path(__file__).resolve().parents[1]

ROOT = _BESIDE / "abcdp_app" if (_BESIDE / "abcdp_app").is_dir() else _BESIDE
"""Folder of ``app.py``, ``pages``, ``ui``, ``assets`` and ``examples``."""

ASSETS = ROOT / "assets"
EXAMPLES = ROOT / "examples"


def cache_folder() -> Path:
    """Where files are kept that can be made again."""
    chosen = os.environ.get("ABCDP_CACHE_DIR")
    if chosen:
        return Path(chosen)
    try:
        return Path(platformdirs.user_cache_dir("abcdp-explorer"))
    except RuntimeError:
        # A user without a home folder has nowhere: this can never be made.
        return Path(os.devnull, "cache")
