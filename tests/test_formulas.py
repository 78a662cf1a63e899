"""Every formula cited by its tag is in the list of formulas, and every listed one is cited."""

import re
from pathlib import Path

TOP = Path(__file__).parents[1]
FOLDERS = ("abcdp_core", "ui", "pages", "assets")
LIST = TOP / "assets" / "formulas.md"


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
    lines = LIST.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if re.match(r"\| [A-Z]\d+ \|", line)]
    return {row.split("|")[1].strip(): row for row in rows}


def unlisted(sources: dict[str, str]) -> dict[str, set[str]]:
    """Return source -> tags that it cites and that are not listed."""
    found = {name: tags_in(text) - set(listed_tags()) for name, text in sources.items()}
    return {name: tags for name, tags in found.items() if tags}


def test_every_cited_tag_is_listed() -> None:
    files = [file for folder in FOLDERS for file in (TOP / folder).rglob("*")]
    files = [file for file in files if file.suffix in {".py", ".md", ".toml"} and file != LIST]
    sources = {file.relative_to(TOP).as_posix(): file.read_text("utf-8") for file in files}
    assert {name.partition("/")[0] for name in sources} == set(FOLDERS)
    assert len([name for name in sources if tags_in(sources[name])]) > 100
    assert unlisted(sources) == {}, f"give each cited formula a row in {LIST}"


def test_ranges_are_read_and_a_tag_that_is_not_listed_would_be_seen() -> None:
    assert tags_in("(MATH S1-S3, A12) and (MATH W3), A2") == {"S1", "S2", "S3", "A12", "W3"}
    assert tags_in("MATH A9-11") == {"A9", "A10", "A11"}
    assert unlisted({"a.py": "(MATH A1, Q99)", "b.py": "(MATH A1)"}) == {"a.py": {"Q99"}}


def test_every_listed_tag_names_a_module_that_cites_it() -> None:
    for tag, row in listed_tags().items():
        modules = re.findall(r"`([a-z_/]+\.py)`", row)
        assert modules, f"name the module that computes {row}"
        cited = (tags_in((TOP / "abcdp_core" / module).read_text("utf-8")) for module in modules)
        assert any(tag in tags for tags in cited), f"cite MATH {tag} in one of {modules}"
