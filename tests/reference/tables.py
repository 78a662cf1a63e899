"""Tables of a list of commands, kept so that a change of the code that moves a number is noticed.

``commands.txt`` has the commands, ``long.txt`` slower ones, ``exceptions.toml`` what may differ.
``kept/NAME.json`` has the tables of one command of ``commands.txt``, thinned: of each table
:data:`KEPT_ROWS` rows spread evenly from the first to the last, and of each column its sum and the
sum of its absolute values (numbers), or how often each name stands in it (text, switches), so that
a change in a row not kept is noticed too. They are compared at 1e-9, since another processor may
differ in the last bits (more where ``exceptions.toml`` says so); on one computer whole tables are
compared byte for byte.

Remade and compared by ``python -m tests.reference``.
"""

from __future__ import annotations

import csv
import json
import math
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from abcdp_core import experiments, runner

FOLDER = Path(__file__).parent
KEPT = FOLDER / "kept"

KEPT_ROWS = 20
"""Rows kept of a table, at most."""

DIGITS = 12
"""Significant digits kept of a number."""

RELATIVE = 1e-9
"""Tolerance, unless ``exceptions.toml`` has another."""

ABSOLUTE = 1e-3
"""Tolerance near zero, as a part of the relative one."""

SEED = 1

Tables = dict[str, pd.DataFrame]
Kept = dict[str, dict[str, Any]]
"""Table -> ``rows``, their number, and ``columns``, each with what is kept of it."""


@dataclass(frozen=True)
class Command:
    """What ``python -m abcdp_core run`` is asked for.

    Attributes:
        name: of the files.
        experiment: its name.
        preset: to start from, if any.
        settings: key -> text, on top of it.
    """

    name: str
    experiment: str
    preset: str | None
    settings: Mapping[str, str]


def commands(file: str = "commands.txt") -> list[Command]:
    """The commands of a file of this folder."""
    lines = (FOLDER / file).read_text(encoding="utf-8").splitlines()
    found = [_command(line) for line in lines if line.strip() and not line.startswith("#")]
    if len({command.name for command in found}) < len(found):
        raise ValueError(f"{file}: two commands have the same name.")
    return found


def _command(line: str) -> Command:
    name, _, rest = line.partition(":")
    experiment, *words = shlex.split(rest)
    preset = None
    if words[:1] == ["--preset"]:
        _, preset, *words = words
    return Command(name.strip(), experiment, preset, dict(word.split("=", 1) for word in words))


def computed(command: Command) -> Tables:
    """The tables of a command, without what is measured."""
    experiment = experiments.load(command.experiment)
    base = None if command.preset is None else experiments.preset(experiment, command.preset)
    params = experiment.Params.from_text(command.settings, base)
    tables = runner.run_to_end(experiment, params, SEED).tables
    return {
        name: table.drop(columns=EXCEPTIONS.measured, errors="ignore")
        for name, table in tables.items()
    }


# ---------------------------------------------------------------- exceptions


@dataclass(frozen=True)
class Exceptions:
    """What ``exceptions.toml`` says; its comments say what each means."""

    measured: list[str]
    renamed: Mapping[str, Mapping[str, str]]
    grown: Mapping[str, str]
    tolerance: Mapping[str, float]


EXCEPTIONS = Exceptions(**tomllib.loads((FOLDER / "exceptions.toml").read_text(encoding="utf-8")))


def under_old_names(table: pd.DataFrame, experiment: str, columns: list[str]) -> pd.DataFrame:
    """A table made now, with the names of columns that it had when ``columns`` were kept."""
    renamed = EXCEPTIONS.renamed.get(experiment, {})
    back = {now: old for old, now in renamed.items() if old in columns and old not in table}
    return table.rename(columns=back)


def without_new_rows(table: pd.DataFrame, column: str | None, known: set[str]) -> pd.DataFrame:
    """The rows whose ``column`` has one of the ``known`` values; all if it has no such column."""
    if column is None or column not in table:
        return table
    return table[table[column].astype(str).isin(known)].reset_index(drop=True)


# ------------------------------------------------------------------- thinned


def thinned(tables: Mapping[str, pd.DataFrame]) -> Kept:
    """What is kept of the tables of a command."""
    return {
        name: {
            "rows": len(table),
            "columns": {str(column): _thinned(values) for column, values in table.items()},
        }
        for name, table in tables.items()
    }


def _thinned(values: pd.Series[Any]) -> dict[str, Any]:
    some = values.iloc[_places(len(values))]
    if not _is_number(values):
        counts = values.astype(str).value_counts().sort_index()
        return {"some": list(some.astype(str)), "counts": {k: int(n) for k, n in counts.items()}}
    total, size = _sums(values)
    kept = [_short(value) for value in some.to_numpy()]
    return {"some": kept, "sum": _short(total), "size": _short(size)}


def _places(rows: int) -> np.ndarray[Any, Any]:
    return np.unique(np.linspace(0, rows - 1, min(rows, KEPT_ROWS)).round().astype(int))


def _is_number(values: pd.Series[Any]) -> bool:
    return getattr(values.dtype, "kind", "O") in "iuf"


def _sums(values: pd.Series[Any]) -> tuple[float, float]:
    """Sum of the finite values, and of their absolute values."""
    numbers = values.to_numpy(dtype=float)
    finite = numbers[np.isfinite(numbers)]
    return math.fsum(finite), math.fsum(np.abs(finite))


def _short(value: Any) -> float | int:
    number = float(f"{value:.{DIGITS}g}")
    return int(number) if number.is_integer() and abs(number) < 1e12 else number


def save(command: Command, kept: Kept) -> None:
    """Write what is kept of a command, a line for each column."""
    (KEPT / f"{command.name}.json").write_text(_as_text(kept), encoding="utf-8", newline="\n")


def load(command: Command) -> Kept:
    """What is kept of a command."""
    kept: Kept = json.loads((KEPT / f"{command.name}.json").read_text(encoding="utf-8"))
    return kept


def _as_text(kept: Kept) -> str:
    tables = []
    for name, table in kept.items():
        columns = ",\n".join(
            f"{json.dumps(column)}: {_in_a_line(values)}"
            for column, values in table["columns"].items()
        )
        tables.append(
            f'{json.dumps(name)}: {{"rows": {table["rows"]}, "columns": {{\n{columns}}}}}'
        )
    return "{" + ",\n".join(tables) + "}\n"


def _in_a_line(values: Mapping[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


# ------------------------------------------------------------------ compared


def differences(command: Command, kept: Kept, tables: Tables) -> Iterator[str]:
    """What differs between what is kept and the tables made now, a line each."""
    relative = EXCEPTIONS.tolerance.get(command.experiment, RELATIVE)
    for name, then in kept.items():
        if name not in tables:
            yield f"{name}: no such table"
            continue
        columns = then["columns"]
        table = under_old_names(tables[name], command.experiment, list(columns))
        by = EXCEPTIONS.grown.get(command.experiment)
        if by in columns:
            table = without_new_rows(table, by, set(columns[by]["counts"]))
        if len(table) != then["rows"]:
            yield f"{name}: {len(table)} rows, not {then['rows']}"
            continue
        for column, values in columns.items():
            if column not in table:
                yield f"{name}.{column}: no such column"
            elif fault := _fault(values, _thinned(table[column]), len(table), relative):
                yield f"{name}.{column}: {fault}"


def _fault(
    then: Mapping[str, Any], now: Mapping[str, Any], rows: int, relative: float
) -> str | None:
    """What differs in a column, if anything."""
    if then.keys() != now.keys():
        return "another kind of value"
    if "counts" in then:
        for part in ("some", "counts"):
            if then[part] != now[part]:
                return f"{now[part]}, not {then[part]}"
        return None
    old, new = np.array(then["some"], dtype=float), np.array(now["some"], dtype=float)
    same = np.isclose(new, old, rtol=relative, atol=ABSOLUTE * relative, equal_nan=True)
    if not same.all():
        first = int(np.argmin(same))
        row = int(_places(rows)[first])
        return f"{new[first]!r} in row {row}, not {old[first]!r}; {np.sum(~same)} differ"
    slack = relative * (then["size"] + ABSOLUTE * rows)
    if abs(now["sum"] - then["sum"]) > slack or abs(now["size"] - then["size"]) > slack:
        return f"sum {now['sum']!r}, not {then['sum']!r}"
    return None


# -------------------------------------------------------------- byte by byte


def as_csv(table: pd.DataFrame) -> str:
    """A table as the command line writes it: each number reads back as the same number."""
    return table.to_csv(index=False, lineterminator="\n", na_rep="nan")


def write(command: Command, tables: Tables, directory: Path) -> None:
    """Whole tables to ``directory/NAME/TABLE.csv``."""
    folder = directory / command.name
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        (folder / f"{name}.csv").write_text(as_csv(table), encoding="utf-8", newline="\n")


@dataclass(frozen=True)
class Comparison:
    """What differs from whole tables written before, and what is new beside them."""

    differences: list[str]
    news: list[str]


def against(command: Command, tables: Tables, directory: Path) -> Comparison:
    """Compare tables byte for byte with those that :func:`write` wrote."""
    files = sorted((directory / command.name).glob("*.csv"))
    if not files:
        return Comparison(["nothing was written before"], [])
    wrong, new = [], [f"table {name}" for name in tables if name not in {f.stem for f in files}]
    for file in files:
        name = file.stem
        if name not in tables:
            wrong.append(f"{name}: no such table")
            continue
        text = file.read_text(encoding="utf-8")
        lines = text.splitlines()
        columns = lines[0].split(",")
        table = under_old_names(tables[name], command.experiment, columns)
        if missing := [column for column in columns if column not in table]:
            wrong.append(f"{name}: no column {', '.join(missing)}")
            continue
        new += [f"column {name}.{column}" for column in table if column not in columns]
        rows = len(table)
        by = EXCEPTIONS.grown.get(command.experiment)
        if by in columns:
            place = columns.index(by)
            known = {row[place] for row in csv.reader(lines[1:])}
            table = without_new_rows(table, by, known)
        if len(table) < rows:
            new.append(f"{rows - len(table)} rows of {name}")
        if as_csv(table[columns]) != text:
            wrong.append(f"{name}: {_first_difference(as_csv(table[columns]).splitlines(), lines)}")
    return Comparison(wrong, new)


def _first_difference(now: list[str], then: list[str]) -> str:
    if len(now) != len(then):
        return f"{len(now) - 1} rows, not {len(then) - 1}"
    rows = [row for row, (a, b) in enumerate(zip(now, then, strict=True)) if a != b]
    row = rows[0]
    return f"{len(rows)} rows differ; row {row} is {now[row]}, not {then[row]} ({then[0]})"
