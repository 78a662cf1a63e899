"""One figure as one file that needs no other."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from abcdp_core.figures import CaptionedFigure
from abcdp_core.output.files import as_json
from abcdp_core.output.images import caption, draw, images_of, title_of
from abcdp_core.output.page import page
from abcdp_core.output.settings import settings_of
from abcdp_core.results import Result

MIME = {
    "html": "text/html",
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "json": "application/json",
}
"""Format -> its kind; tables are for CSV."""


def file_of(
    result: Result, name: str, drawn: CaptionedFigure, tables: Sequence[str], suffix: str
) -> bytes:
    """A figure as a file.

    Args:
        result: what it is from.
        name: of the figure.
        drawn: the figure and its sentence.
        tables: names of those it was drawn from, for JSON.
        suffix: one of :data:`MIME`.

    Raises:
        ExportError: a static figure could not be drawn.
    """
    if suffix == "html":
        return page(result, f"{result.experiment}.{name}", drawn).encode()
    if suffix == "json":
        return as_json(_content(result, drawn, tables)).encode()
    with tempfile.TemporaryDirectory() as folder:
        images = images_of(result, {name: drawn}, Path(folder), [suffix], result.experiment)
        draw(images)
        return images[0].path.read_bytes()


def _content(result: Result, drawn: CaptionedFigure, tables: Sequence[str]) -> dict[str, Any]:
    return {
        "title": title_of(result, drawn.figure),
        "caption": caption(result, drawn),
        **settings_of(result),
        "tables": {name: _columns(result.tables[name]) for name in tables},
    }


def _columns(table: pd.DataFrame) -> dict[str, list[Any]]:
    """Column -> its values, what is no number being ``null`` and infinity a word."""
    return {str(name): [_value(item) for item in column] for name, column in table.items()}


def _value(item: Any) -> Any:
    plain = item.item() if hasattr(item, "item") else item
    if isinstance(plain, float) and not math.isfinite(plain):
        return None if math.isnan(plain) else str(plain)
    return plain
