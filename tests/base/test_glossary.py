"""Words are explained once where they occur, and the documentation prints what pages show."""

from abcdp_core.base import glossary
from abcdp_core.base.places import ROOT


def test_a_word_is_explained_where_it_occurs_first_and_text_stays_text() -> None:
    html = glossary.marked("Noise keeps draws <b>, and draws cost budget.")
    assert html.count('class="term"') == 2
    assert "&lt;b&gt;" in html
    assert "Smaller is more private." in html
    assert glossary.marked("drawn, pooling") == "drawn, pooling"


def test_the_documentation_prints_the_glossary() -> None:
    printed = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    remake = "run python -m abcdp_core.base.glossary > docs/glossary.md"
    assert printed == glossary.as_markdown(), remake
