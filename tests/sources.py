"""Sources of the project and what they import, for guards that scan them."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parents[1]


def files_of(place: str) -> list[Path]:
    """Return a file, or all modules in a folder."""
    path = ROOT / place
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    assert files, f"{place} has no modules: a guard that scans it looks at nothing"
    return files


def imports_of(file: Path) -> list[str]:
    """Return the dotted name of everything that a file imports, wherever in it."""
    return _imports_in(file.read_text(encoding="utf-8"))


@functools.cache
def _imports_in(text: str) -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import:\n{text[:200]}"
            found += (f"{node.module}.{alias.name}" for alias in node.names)
    return found
