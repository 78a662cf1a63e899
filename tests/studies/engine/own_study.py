"""The study of ``docs/own_study.md`` as it is written there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "own_study.md").read_text(encoding="utf-8")
NAME = "draws-kept"


def write(folder: Path) -> None:
    """Write the example into a folder, under the name that the page gives it."""
    (code,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    (folder / "draws_kept.py").write_text(code, encoding="utf-8")
