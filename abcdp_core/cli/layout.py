"""Lay out texts and tables for a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from abcdp_core.base.sentences import amount
from abcdp_core.cli.console import say

if TYPE_CHECKING:
    # Slow to import.
    from abcdp_core.release.document import ReleaseRecord

WIDTH = 100
"""Characters in a line of text."""


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as aligned lines; its first row is the header."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def folded(text: str, indent: int = 0) -> str:
    """Wrap a text; where it is indented, later lines are indented further."""
    return textwrap.fill(
        text,
        width=WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2 * bool(indent)),
        break_on_hyphens=False,
    )


def tell(*texts: str) -> None:
    """Print wrapped texts."""
    say(*map(folded, texts))


def estimates(record: ReleaseRecord) -> list[str]:
    """Return a release's estimates and their limits as lines, after a warning of a misfit."""
    made = record.table()
    rows = [[str(cell) for cell in row] for row in (made.columns, *made.to_numpy())]
    words = [folded(each) for each in (record.remarks, record.statement) if each]
    return [*map(folded, record.misfit), "", *table(rows), "", *words]


def number(value: float) -> str:
    """Return a number as text; empty if it is missing."""
    if math.isnan(value):
        return ""
    return "none" if math.isinf(value) else amount(value)


def between(low: float, high: float, endless: str = "none") -> str:
    """Return an interval as text; empty if it is missing or a single point."""
    last = endless if math.isinf(high) else number(high)
    return f"{number(low)} to {last}" if low < high else ""
