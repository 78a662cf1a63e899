"""File formats, and names of files."""

from __future__ import annotations

from abcdp_core.base.parameters import ParameterError

FORMATS = ("csv", "json", "html", "svg", "png", "pdf")
STATIC = ("svg", "png", "pdf")
"""Formats that need a browser."""


class ExportError(RuntimeError):
    """A figure cannot be drawn; the message says what to do about it."""


def chosen_formats(text: str) -> tuple[str, ...]:
    """Return the formats in a list like ``csv,svg``, in the order of :data:`FORMATS`.

    Raises:
        ParameterError: the list is empty, or has something that is not a format.
    """
    asked = [item.strip() for item in text.split(",") if item.strip()]
    for item in asked or ["nothing"]:
        if item not in FORMATS:
            raise ParameterError(f"formats = {item}: must be some of {', '.join(FORMATS)}.")
    return tuple(item for item in FORMATS if item in asked)


def table_file(stem: str, table: str) -> str:
    """Return the name of a table's file."""
    return f"{stem}.csv" if table == "main" else f"{stem}.{table}.csv"
