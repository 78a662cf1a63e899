"""Browser scripts in ``assets``: a module and those it imports, joined into one text."""

from __future__ import annotations

import re
from pathlib import Path

IMPORT = re.compile(r'^import \{[^}]*\} from "(\.\.?/[\w./]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)


def joined(script: Path) -> str:
    """Return a module with all that it imports before it, as one module.

    They share one scope, so no two may give the same name to something.

    Args:
        script: file of the module; imports never go in a circle.
    """
    parts: dict[Path, str] = {}

    def take(path: Path) -> None:
        if path in parts:
            return
        text = path.read_text(encoding="utf-8")
        for name in IMPORT.findall(text):
            take((path.parent / name).resolve())
        parts[path] = EXPORT.sub("", IMPORT.sub("", text))

    take(script.resolve())
    return "\n".join(parts.values())
