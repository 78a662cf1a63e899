"""What a person can read is free of habits that make English read as translated.

All texts of the sources but docstrings, what is kept in ``tests/reference``, the lessons and the
documents are looked through; the patterns are those of habits that a pattern can find.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

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


def texts() -> Iterator[tuple[str, str]]:
    """Where a text is, and the text."""
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("assets/lessons/*.md")]
    kept = (ROOT / "tests" / "reference" / "kept" / "words").iterdir()
    for file in (*documents, *kept):
        if file.name != "CHANGELOG.md":
            yield file.name, re.sub(r"```.*?```", "", file.read_text(), flags=re.DOTALL)
    for folder in ("abcdp_core", "pages", "ui"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for text in literals(file.read_text()):
                yield str(file.relative_to(ROOT)), text


def literals(source: str) -> Iterator[str]:
    """Texts of several words in a program, parts of one text together, without docstrings."""
    tree = ast.parse(source)
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            skipped.add(node.value)
        if isinstance(node, ast.JoinedStr):
            skipped.update(node.values)
    for node in {*ast.walk(tree)} - skipped:
        if isinstance(node, ast.JoinedStr):
            parts = [each.value if isinstance(each, ast.Constant) else "1" for each in node.values]
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.value


def habits(text: str) -> list[str]:
    """Habits in a text, each with what is around it."""
    return [
        f"{name}: ...{text[max(0, found.start() - 40) : found.end() + 40]}..."
        for name, pattern in HABITS.items()
        for found in re.finditer(pattern, text, re.MULTILINE)
    ]


def test_no_text_reads_as_translated() -> None:
    found = [f"{place}: {habit}" for place, text in texts() for habit in habits(text)]
    assert [each for each in found if not any(part in each for part in EXCEPTIONS)] == []
    assert len(EXCEPTIONS) <= 10


def test_the_patterns_find_the_habits() -> None:
    for text in (
        "Whoever answers twice pays twice.",
        "A search is no proof.",
        "What to expect is told here.",
        "The text stands below.",
        "It ends twice as far from the truth.",
        "Each has a budget of its own.",
        "The law of the noise is public.",
        "Pages, be it light or dark.",
    ):
        assert len(habits(text)) == 1, text
    for text in ("There is no seed.", "It is no longer there.", "N stands for people.", "Who? Me."):
        assert habits(text) == [], text
