"""Where the files are that come with the program.

A checkout has the app and its assets beside this package; an installed wheel has them in the folder
``abcdp_app`` beside it.
"""

from __future__ import annotations

from pathlib import Path

_BESIDE = Path(__file__).resolve().parents[1]

ROOT = _BESIDE / "abcdp_app" if (_BESIDE / "abcdp_app").is_dir() else _BESIDE
"""Folder of ``app.py``, ``pages``, ``ui``, ``assets`` and ``examples``."""

ASSETS = ROOT / "assets"
EXAMPLES = ROOT / "examples"
