"""Habits that make English read as translated, where a pattern can find them."""

from __future__ import annotations

import re

HABITS = {
    "a bare who, what or that as a subject": r"(?:^|[.!?:]\s+)"
    r"(?:Whoever|Who|What there is|That of|Those of)\b(?![^.?]*\?)",
    "is no, are no before a noun": r"(?<![Tt]here )\b(?:is|are) no "
    r"(?!longer\b|more\b|less\b|better\b|worse\b|one\b)[a-z]",
    "somebody is told": r"\b(?:is|are) told\b",
    "things that stand": r"\bstands?\b(?! for\b)",
    "as far from, as quick as": r"\bas far from\b|\bas quick as\b",
    "of its own": r"\bof (?:its|their) own\b",
    "law for distribution": r"\blaws?\b",
    "be it": r"\bbe it\b",
}

EXCEPTIONS = {
    "Whoever is counted several times is protected": "is in released records, which are compared",
    "Whoever is in the report several times is prote": "is in released records",
    "Whoever has several values in the series": "is in released records",
    "Whoever has several records is protected less": "is in released records",
    "the digest is of its own text": "is in released records",
    "other value, whatever the data: this is no finding": "is in released records",
}
"""Part of a text -> why it has a habit all the same."""


def habits(text: str) -> list[str]:
    """Return the habits in a text, each with what is around it."""
    return [
        f"{name}: ...{text[max(0, found.start() - 40) : found.end() + 40]}..."
        for name, pattern in HABITS.items()
        for found in re.finditer(pattern, text, re.MULTILINE)
    ]
