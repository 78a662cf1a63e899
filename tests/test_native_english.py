"""What a person can read is free of habits that make English read as translated.

All texts of the sources but docstrings, what is kept in ``tests/reference``, the lessons and the
documents are looked through.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.english import EXCEPTIONS, habits
from tests.sources import ROOT, files_of


def texts() -> Iterator[tuple[str, str]]:
    """Yield where texts are, and the texts, each ended by a full stop."""
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("assets/lessons/*.md")]
    kept = (ROOT / "tests" / "reference" / "kept" / "words").iterdir()
    for file in (*documents, *kept):
        if file.name != "CHANGELOG.md":
            yield file.name, re.sub(r"```.*?```", "", file.read_text(), flags=re.DOTALL)
    for folder in ("abcdp_core", "pages", "ui"):
        for file in files_of(folder):
            yield str(file.relative_to(ROOT)), " .\n".join(literals(file.read_text()))


def literals(source: str) -> Iterator[str]:
    """Yield texts of several words in a program, parts of one together, without docstrings."""
    nodes, skipped = list(ast.walk(ast.parse(source))), set[ast.AST]()
    for node in nodes:
        if isinstance(node, ast.Expr):
            skipped.add(node.value)
        if isinstance(node, ast.JoinedStr):
            skipped.update(node.values)
    for node in nodes:
        if node in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [each.value if isinstance(each, ast.Constant) else "1" for each in node.values]
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.value


def test_no_text_reads_as_translated() -> None:
    found = [f"{place}: {habit}" for place, text in texts() for habit in habits(text)]
    excused = [each for each in found if any(part in each for part in EXCEPTIONS)]
    assert [each for each in found if each not in excused] == []
    assert len(EXCEPTIONS) <= 10
    assert excused, "exceptions are no longer needed, or no text was looked at"


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
    said = list(literals('"""It is told."""\nx = f"{n} is told" + "once more"'))
    assert [habits(each) == [] for each in said] == [False, True]
