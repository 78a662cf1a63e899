"""Texts and tables on a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from abcdp_core.cli.ending import say
from abcdp_core.sentences import amount

WIDTH = 100
"""Characters of a line of text."""


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows in columns, the first of them names."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def folded(text: str, indent: int = 0) -> str:
    """Return a text in lines, all but the first further in where it is indented."""
    return textwrap.fill(
        text,
        width=WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2 * bool(indent)),
        break_on_hyphens=False,
    )


def tell(*texts: str) -> None:
    """Print texts in lines."""
    say(*map(folded, texts))


def number(value: float) -> str:
    """Return a number in words; nothing where it is not known."""
    if math.isnan(value):
        return ""
    return "none" if math.isinf(value) else amount(value)


def between(low: float, high: float, endless: str = "none") -> str:
    """Return an interval; nothing where it is not known or is a single point."""
    last = endless if math.isinf(high) else number(high)
    return f"{number(low)} to {last}" if low < high else ""
