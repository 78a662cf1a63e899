"""The formats of files, and their names."""

from __future__ import annotations

from abcdp_core.parameters import ParameterError

FORMATS = ("csv", "json", "html", "svg", "png", "pdf")
STATIC = ("svg", "png", "pdf")
"""Formats that a browser has to draw."""


class ExportError(RuntimeError):
    """A figure cannot be drawn to a file; one sentence says what to do about it."""


def chosen_formats(text: str) -> tuple[str, ...]:
    """The formats of a list like ``csv,svg``, in the order of :data:`FORMATS`.

    Raises:
        ParameterError: one of them is none, or there is none.
    """
    asked = [item.strip() for item in text.split(",") if item.strip()]
    for item in asked or ["nothing"]:
        if item not in FORMATS:
            raise ParameterError(
                f"formats = {item}: must be one or several of {', '.join(FORMATS)}."
            )
    return tuple(item for item in FORMATS if item in asked)


def table_file(stem: str, table: str) -> str:
    """Name of the file that holds a table."""
    return f"{stem}.csv" if table == "main" else f"{stem}.{table}.csv"
