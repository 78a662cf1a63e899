"""Every formula that is cited by its tag is in the list of formulas, and the other way round."""

import re
from pathlib import Path

TOP = Path(__file__).parents[1]
SOURCES = [*TOP.glob("abcdp_core/**/*.py"), *TOP.glob("ui/*.py"), *TOP.glob("pages/*.py")]


def cited_tags() -> set[str]:
    text = "\n".join(path.read_text() for path in SOURCES)
    groups = re.findall(r"MATH ((?:[A-Z]\d+(?:-[A-Z]?\d+)?(?:, )?)+)", text)
    tags = set()
    for group in groups:
        for item in group.rstrip(", ").split(", "):
            first, _, last = item.partition("-")
            numbers = range(int(first[1:]), int((last or first).lstrip("SMFB")) + 1)
            tags |= {f"{first[0]}{number}" for number in numbers}
    return tags


def listed_tags() -> dict[str, str]:
    lines = (TOP / "assets" / "formulas.md").read_text().splitlines()
    rows = [line for line in lines if re.match(r"\| [A-Z]\d+ \|", line)]
    return {row.split("|")[1].strip(): row for row in rows}


def test_every_cited_tag_is_listed() -> None:
    assert cited_tags() <= set(listed_tags())


def test_every_listed_tag_names_a_module_that_cites_it() -> None:
    for tag, row in listed_tags().items():
        modules = re.findall(r"`([a-z_/]+\.py)`", row)
        assert modules, row
        assert any(
            re.search(rf"MATH [A-Z0-9, -]*\b{tag}\b", (TOP / "abcdp_core" / module).read_text())
            or re.search(r"MATH S1-S[35]", (TOP / "abcdp_core" / module).read_text())
            for module in modules
        ), row
