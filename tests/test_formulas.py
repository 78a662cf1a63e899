"""Every formula cited by its tag is in the list of formulas, and every listed one is cited."""

import re
from pathlib import Path

TOP = Path(__file__).parents[1]
SOURCES = [*TOP.glob("abcdp_core/**/*.py"), *TOP.glob("ui/*.py"), *TOP.glob("pages/*.py")]


def tags_in(text: str) -> set[str]:
    """Return the tags that a text cites, as in ``MATH A1, A12`` or ``MATH S1-S3``."""
    groups = re.findall(r"MATH ((?:[A-Z]\d+(?:-[A-Z]?\d+)?(?:, )?)+)", text)
    tags = set()
    for group in groups:
        for item in group.rstrip(", ").split(", "):
            first, _, last = item.partition("-")
            numbers = range(int(first[1:]), int((last or first).lstrip(first[0])) + 1)
            tags |= {f"{first[0]}{number}" for number in numbers}
    return tags


def listed_tags() -> dict[str, str]:
    lines = (TOP / "assets" / "formulas.md").read_text().splitlines()
    rows = [line for line in lines if re.match(r"\| [A-Z]\d+ \|", line)]
    return {row.split("|")[1].strip(): row for row in rows}


def test_a_range_of_tags_is_read_as_all_of_them() -> None:
    assert tags_in("(MATH S1-S3, A12) and (MATH W3), A2") == {"S1", "S2", "S3", "A12", "W3"}
    assert tags_in("MATH A9-11") == {"A9", "A10", "A11"}


def test_every_cited_tag_is_listed() -> None:
    assert set().union(*(tags_in(path.read_text()) for path in SOURCES)) <= set(listed_tags())


def test_every_listed_tag_names_a_module_that_cites_it() -> None:
    for tag, row in listed_tags().items():
        modules = re.findall(r"`([a-z_/]+\.py)`", row)
        assert modules, row
        cited = (tags_in((TOP / "abcdp_core" / module).read_text()) for module in modules)
        assert any(tag in tags for tags in cited), row
