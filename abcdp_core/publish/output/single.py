"""Write one figure as one file that needs no other."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from abcdp_core.figures import CaptionedFigure
from abcdp_core.publish.output.files import as_json
from abcdp_core.publish.output.images import caption, draw, images_of, title_of
from abcdp_core.publish.output.page import page
from abcdp_core.publish.output.settings import settings_of
from abcdp_core.run.results import Result

MIME = {
    "html": "text/html",
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "json": "application/json",
}
"""Format -> MIME type; CSV is for tables."""


def file_of(
    result: Result, name: str, drawn: CaptionedFigure, tables: Sequence[str], suffix: str
) -> bytes:
    """Return a figure as a file in a format of :data:`MIME`; JSON includes the given tables.

    Raises:
        ExportError: a static figure could not be drawn.
    """
    if suffix == "html":
        return page(result, f"{result.experiment}.{name}", drawn).encode()
    if suffix == "json":
        content = {
            "title": title_of(result, drawn.figure),
            "caption": caption(result, drawn),
            **settings_of(result),
            "tables": {name: _columns(result.tables[name]) for name in tables},
        }
        return as_json(content).encode()
    with tempfile.TemporaryDirectory() as folder:
        images = images_of(result, {name: drawn}, Path(folder), [suffix], result.experiment)
        draw(images)
        return images[0].path.read_bytes()


def _columns(table: pd.DataFrame) -> dict[str, list[Any]]:
    """Return column -> values; missing numbers are ``null`` and infinity is a text."""
    return {str(name): [_value(item) for item in column] for name, column in table.items()}


def _value(item: Any) -> Any:
    plain = item.item() if hasattr(item, "item") else item
    if isinstance(plain, float) and not math.isfinite(plain):
        return None if math.isnan(plain) else str(plain)
    return plain
