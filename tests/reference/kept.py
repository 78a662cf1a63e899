"""What is kept of each command, so that a change that moves a number or a word is noticed.

``kept/tables/NAME.json``: of each table at most :data:`ROWS` rows, spread evenly, and of each
column its sum and the sum of its absolute values (numbers) or how often each name appears in it
(text, switches), so that a change in a row that is not kept is noticed too.
``kept/words/NAME.json``: summary, privacy statement and captions, in full.
``kept/figures/NAME.json``: of each figure everything but the shared template, a line for each
property; texts in full where there are few, else by their digest; numbers thinned like columns.

Numbers are compared at 1e-9, since another processor may differ in the last bits (more where
``exceptions.toml`` says so). On one computer everything is compared byte for byte, by
``python -m tests.reference``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tests.reference.commands import FOLDER, Command, Made

KEPT = FOLDER / "kept"

PARTS = ("tables", "words", "figures")

ROWS = 20
"""Rows kept of a table, at most."""

VALUES = 5
"""Values kept of a figure's list of numbers or texts, at most."""

DIGITS = 12
"""Significant digits kept of a number."""

RELATIVE = 1e-9
"""Tolerance, unless ``exceptions.toml`` has another."""

ABSOLUTE = 1e-3
"""Tolerance near zero, as a part of the relative one."""

TOLERANCE: Mapping[str, float] = tomllib.loads(
    (FOLDER / "exceptions.toml").read_text(encoding="utf-8")
)["tolerance"]

Kept = dict[str, dict[str, Any]]
"""Part -> path -> what is kept there."""


def thinned(made: Made) -> Kept:
    """What is kept of the results of a command."""
    return {
        "tables": dict(_of_tables(made.tables)),
        "words": dict(made.words),
        "figures": dict(_of_figures(made.figures)),
    }


def _of_tables(tables: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, Any]]:
    for name, table in tables.items():
        yield name, {"rows": len(table)}
        for column, values in table.items():
            is_number = getattr(values.dtype, "kind", "O") in "iuf"
            listed = list(values) if is_number else list(values.astype(str))
            yield f"{name}.{column}", _numbers(listed, ROWS) if is_number else _names(listed)


def _of_figures(figures: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for name, text in figures.items():
        figure = json.loads(text)
        figure["layout"].pop("template", None)
        yield from _leaves(figure, name)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every property of a figure with its path."""
    if isinstance(value, dict) and "bdata" in value:
        value = _decoded(value)
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, f"{path}.{key}")
    elif not isinstance(value, list):
        yield path, _short(value) if _is_number(value) else value
    elif value and all(_is_number(each) or each is None for each in value):
        yield path, _numbers([math.nan if each is None else each for each in value], VALUES)
    elif any(isinstance(each, dict) for each in value):
        for place, part in enumerate(value):
            yield from _leaves(part, f"{path}.{place}")
    else:
        yield path, _texts(value)


def _decoded(value: Mapping[str, str]) -> list[Any]:
    """Numbers of an array in Plotly's JSON, row after row."""
    return np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"]).tolist()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _names(values: Sequence[str]) -> dict[str, Any]:
    counts = pd.Series(values, dtype=str).value_counts().sort_index()
    return {
        "some": [values[place] for place in _places(len(values), ROWS)],
        "counts": {str(name): int(count) for name, count in counts.items()},
    }


def _texts(values: Sequence[Any]) -> Any:
    if len(values) <= ROWS:
        return list(values)
    digest = hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]
    some = [values[place] for place in _places(len(values), VALUES)]
    return {"some": some, "digest": digest}


def _numbers(values: Sequence[float], most: int) -> dict[str, Any]:
    finite = [value for value in map(float, values) if math.isfinite(value)]
    return {
        "of": len(values),
        "some": [_short(values[place]) for place in _places(len(values), most)],
        "sum": _short(math.fsum(finite)),
        "size": _short(math.fsum(map(abs, finite))),
    }


def _places(size: int, most: int) -> list[int]:
    spread = np.linspace(0, size - 1, min(size, most)).round().astype(int)
    return sorted(set(spread.tolist()))


def _short(value: float) -> float | int:
    number = float(f"{value:.{DIGITS}g}")
    return int(number) if number.is_integer() and abs(number) < 1e12 else number


# ------------------------------------------------------------------ files


def save(command: Command, kept: Kept) -> None:
    """Write what is kept of a command, a line for each path."""
    for part in PARTS:
        lines = [
            f"{json.dumps(path)}: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}"
            for path, value in kept[part].items()
        ]
        file = KEPT / part / f"{command.name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", newline="\n")


def load(command: Command) -> Kept:
    """What is kept of a command."""
    return {
        part: json.loads((KEPT / part / f"{command.name}.json").read_text(encoding="utf-8"))
        for part in PARTS
    }


# --------------------------------------------------------------- compared


def differences(experiment: str, then: Kept, now: Kept) -> Iterator[str]:
    """What differs between what is kept and what is made now, a line each."""
    relative = TOLERANCE.get(experiment, RELATIVE)
    for part in PARTS:
        for path in dict.fromkeys((*then[part], *now[part])):
            if path not in now[part]:
                yield f"{part}: {path} is gone"
            elif path not in then[part]:
                yield f"{part}: {path} is new"
            elif fault := _fault(then[part][path], now[part][path], relative):
                yield f"{part}: {path}: {fault}"


def _fault(then: Any, now: Any, relative: float) -> str | None:
    """What differs between two values, if anything does."""
    if isinstance(then, dict) and isinstance(now, dict) and "sum" in then and "sum" in now:
        return _fault_of_numbers(then, now, relative)
    same = now == then
    if _is_number(then) and _is_number(now):
        same = math.isclose(now, then, rel_tol=relative, abs_tol=ABSOLUTE * relative)
    return None if same else f"{now!r}, not {then!r}"


def _fault_of_numbers(
    then: Mapping[str, Any], now: Mapping[str, Any], relative: float
) -> str | None:
    if now["of"] != then["of"]:
        return f"{now['of']} values, not {then['of']}"
    old, new = np.array(then["some"], dtype=float), np.array(now["some"], dtype=float)
    same = np.isclose(new, old, rtol=relative, atol=ABSOLUTE * relative, equal_nan=True)
    if not same.all():
        first = int(np.argmin(same))
        return f"{new[first]!r}, not {old[first]!r}; {np.sum(~same)} of those kept differ"
    slack = relative * (then["size"] + ABSOLUTE * then["of"])
    if any(abs(now[total] - then[total]) > slack for total in ("sum", "size")):
        return f"sum {now['sum']!r}, not {then['sum']!r}"
    return None
