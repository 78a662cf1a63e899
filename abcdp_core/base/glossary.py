"""The words of this program: what each means, read from ``assets/glossary.toml``.

``python -m abcdp_core.base.glossary > docs/glossary.md`` prints them.
"""

from __future__ import annotations

import functools
import html
import re
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass

from abcdp_core.base.places import ASSETS


@dataclass(frozen=True)
class Term:
    """One word.

    Attributes:
        means: its definition.
        forms: other forms of the word.
        marked: whether pages mark it.
    """

    means: str
    forms: Sequence[str] = ()
    marked: bool = True


@functools.cache
def terms() -> dict[str, Term]:
    """Return word -> what it means."""
    text = (ASSETS / "glossary.toml").read_text(encoding="utf-8")
    return {word: Term(**each) for word, each in tomllib.loads(text).items()}


@functools.cache
def _forms() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return a pattern of all marked forms, longest first, and form -> word."""
    words = {
        form: word for word, term in terms().items() for form in (word, *term.forms) if term.marked
    }
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(longest_first)})\b"), words


def marked(text: str) -> str:
    """Return plain text as HTML in which each word is explained where it occurs first."""
    pattern, words = _forms()
    seen: set[str] = set()

    def explained(match: re.Match[str]) -> str:
        word = words[match[0]]
        if word in seen:
            return match[0]
        seen.add(word)
        means = html.escape(terms()[word].means)
        return f'<span class="term" tabindex="0" data-means="{means}">{match[0]}</span>'

    return pattern.sub(explained, html.escape(text, quote=False))


def as_markdown() -> str:
    """Return all words with their definitions, as a page of the documentation."""
    lines = [f"**{word}**  \n{term.means}\n" for word, term in terms().items()]
    return "\n".join(["# Glossary\n", *lines])


if __name__ == "__main__":
    sys.stdout.write(as_markdown())
