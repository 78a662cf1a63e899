"""Run notebooks as plain Python: their cells one after the other in one namespace.

``python -m tests.notebooks`` (``make notebooks``) runs all and saves their output.

No Jupyter kernel is used: it takes seconds to start, would recompute results that other tests
have, hides its variables, and needs 37 packages. So cells may hold Python only, without magics, and
the value that a cell would display is returned.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILES = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))

OF_LESSONS = [file for file in FILES if file.stem.startswith("lessons-")]
"""Notebooks of the lessons; the other one is about a model of your own."""

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
"""The metadata saved in a notebook, with nothing about the machine."""


@dataclass(frozen=True)
class Cell:
    """A cell without its output.

    Attributes:
        name: file and place, for errors.
        id: its identifier in Jupyter.
        source: Markdown, or Python if ``is_code``.
        is_code: whether it runs.
    """

    name: str
    id: str
    source: str
    is_code: bool


@dataclass(frozen=True)
class Ran:
    """What a cell printed, and the value of its last expression."""

    printed: str
    shown: Any


def cells(file: Path) -> list[Cell]:
    """Return the cells of a notebook."""
    found = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return [
        Cell(
            f"<{file.name}, cell {place}>",
            each["id"],
            "".join(each["source"]),
            each["cell_type"] == "code",
        )
        for place, each in enumerate(found, 1)
    ]


def run(cell: Cell, namespace: dict[str, Any]) -> Ran:
    """Run a cell of code in a namespace."""
    tree = ast.parse(cell.source, cell.name)
    value = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, cell.name, "exec"), namespace)
        shown = None
        if isinstance(value, ast.Expr):
            shown = eval(compile(ast.Expression(value.value), cell.name, "eval"), namespace)
    return Ran(printed.getvalue(), shown)


def text(kept: Sequence[Cell], ran: Sequence[Ran]) -> str:
    """Return the file of a notebook: its cells, and the output of code cells."""
    done, number, written = iter(ran), 0, []
    for cell in kept:
        lines = cell.source.splitlines(keepends=True)
        whole: dict[str, Any] = {"cell_type": "code" if cell.is_code else "markdown"}
        if cell.is_code:
            number += 1
            printed = next(done).printed.splitlines(keepends=True)
            stream = {"name": "stdout", "output_type": "stream", "text": printed}
            whole |= {"execution_count": number, "outputs": [stream] if printed else []}
        written.append(whole | {"id": cell.id, "metadata": {}, "source": lines})
    whole = {"cells": written, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main(say: Callable[[str], object]) -> None:
    """Run every notebook and save its output."""
    for file in FILES:
        kept, namespace = cells(file), dict[str, Any]()
        ran = [run(cell, namespace) for cell in kept if cell.is_code]
        file.write_text(text(kept, ran), encoding="utf-8")
        say(f"{file.name}\n")


if __name__ == "__main__":
    main(sys.stdout.write)
