"""Reading and checking the files of claims."""

from __future__ import annotations

import dataclasses
import functools
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from abcdp_core.ledger import (
    STANDINGS,
    Claim,
    Ledger,
    LedgerError,
    Retired,
    Run,
    Standing,
    Untested,
    check_columns,
)
from abcdp_core.ledger.rules import RULES, Column, Columns, Powers, Rule, Scalar, Selection
from abcdp_core.places import ASSETS

FOLDER = ASSETS / "claims"

TableColumns = Mapping[str, Mapping[str, tuple[str, ...]]]
Entry = Mapping[str, Any]


@functools.cache
def load() -> Ledger:
    """All claims that come with the program."""
    return read(sorted(FOLDER.glob("*.toml")))


def read(files: list[Path], columns: TableColumns | None = None) -> Ledger:
    """Read and check files of claims.

    Args:
        files: one for each paper, in order.
        columns: experiment -> table -> its columns; given, every column a rule reads is looked up.

    Raises:
        LedgerError: a file is not TOML, or an entry has an unknown or missing key, an unknown kind
            of rule, a value of the wrong type, an unknown run, item or column, an id used twice, or
            an item has neither a claim nor a reason why not.
    """
    found = _Entries()
    for file in files:
        found.add(file)
    runs = _by_name([_run(entry, name) for name, entry in found.named("run", "name")], "name")
    claims = [_claim(entry, name, runs) for name, entry in found.named("claim", "id")]
    _by_name(claims, "id")
    untested = [_plain(Untested, entry, name) for name, entry in found.named("untested", "item")]
    retired = [_plain(Retired, entry, name) for name, entry in found.named("retired", "id")]
    if columns is not None:
        for claim in claims:
            check_columns(claim, _documented(claim, columns))
    ledger = Ledger(tuple(found.items), runs, tuple(claims), tuple(untested), tuple(retired))
    _check_items(ledger)
    return ledger


@dataclass
class _Entries:
    """The entries of all files, unchecked."""

    items: list[str] = field(default_factory=list)
    lists: dict[str, list[Entry]] = field(
        default_factory=lambda: {kind: [] for kind in ("run", "claim", "untested", "retired")}
    )

    def add(self, file: Path) -> None:
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise LedgerError(f"{file.name}: {error}.") from error
        if unknown := sorted(set(document) - {"items", *self.lists}):
            raise LedgerError(f"{file.name}: unknown {', '.join(unknown)}.")
        self.items += document.get("items", [])
        for kind, entries in self.lists.items():
            entries += document.get(kind, [])

    def named(self, kind: str, key: str) -> list[tuple[str, Entry]]:
        """Entries of one kind with what they are called in an error."""
        entries = self.lists[kind]
        return [
            (f"{kind} {entry.get(key, f'number {number}')}", entry)
            for number, entry in enumerate(entries, start=1)
        ]


Named = TypeVar("Named", Run, Claim)


def _by_name(entries: list[Named], key: str) -> dict[str, Named]:
    """Entries by name.

    Raises:
        LedgerError: two have the same one, or it is not made of lower-case words.
    """
    found: dict[str, Named] = {}
    for entry in entries:
        name, kind = getattr(entry, key), type(entry).__name__.lower()
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
            raise LedgerError(f"{kind} {name}: {key} must be lower-case words joined by hyphens.")
        if name in found:
            raise LedgerError(f"{kind} {name}: there are two of this {key}.")
        found[name] = entry
    return found


def _check_items(ledger: Ledger) -> None:
    """Refuse an item that nothing answers, and an entry about none."""
    answered = {claim.item for claim in ledger.claims} | {one.item for one in ledger.untested}
    for item in answered:
        if not any(known.startswith(item) for known in ledger.items):
            raise LedgerError(f"item {item}: is not in the list of items.")
    for item in ledger.items:
        if item not in answered:
            raise LedgerError(f"item {item}: has neither a claim nor a reason why not.")


def _documented(claim: Claim, columns: TableColumns) -> tuple[str, ...]:
    experiment = claim.run.experiment
    if experiment not in columns:
        raise LedgerError(f"claim {claim.id}: there is no experiment {experiment}.")
    if claim.table not in columns[experiment]:
        raise LedgerError(f"claim {claim.id}: {experiment} has no table {claim.table}.")
    return columns[experiment][claim.table]


# ------------------------------------------------------------------------------ one entry


def _run(entry: Entry, name: str) -> Run:
    run = _plain(Run, entry, name)
    if not (run.preset or run.parameters):
        raise LedgerError(f"{name}: needs a preset or parameters.")
    for text in (*run.parameters, *run.quick):
        if not re.fullmatch(r"\w+=.*\S.*", text):
            raise LedgerError(f"{name}: {text!r} is not key=value.")
    return run


def _claim(entry: Entry, name: str, runs: Mapping[str, Run]) -> Claim:
    _check_entry(Claim, entry, name)
    if entry["run"] not in runs:
        raise LedgerError(f"{name}: there is no run {entry['run']}.")
    return Claim(
        **{
            **_converted(Claim, entry),
            "run": runs[entry["run"]],
            "rule": _rule(entry["rule"], name),
        }
    )


def _rule(entry: Any, name: str) -> Rule:
    """A checked rule from its table in the file."""
    if "kind" not in entry:
        raise LedgerError(f"{name}: rule must be a table with a kind.")
    settings = {key: value for key, value in entry.items() if key != "kind"}
    if entry["kind"] not in RULES:
        raise LedgerError(
            f"{name}: rule kind = {entry['kind']}: must be one of {', '.join(RULES)}."
        )
    return _plain(RULES[entry["kind"]], settings, f"{name}: rule")


Plain = TypeVar("Plain")


def _plain(kind: type[Plain], entry: Entry, name: str) -> Plain:
    """A frozen dataclass from an entry that has its fields, and no others.

    Raises:
        LedgerError: it has not.
    """
    _check_entry(kind, entry, name)
    return kind(**_converted(kind, entry))


def _check_entry(kind: type[Any], entry: Entry, name: str) -> None:
    fields, missing = dataclasses.fields(kind), dataclasses.MISSING
    known = {field.name for field in fields}
    needed = {f.name for f in fields if f.default is missing and f.default_factory is missing}
    if absent := sorted(needed - set(entry)):
        raise LedgerError(f"{name}: missing {', '.join(absent)}.")
    if unknown := sorted(set(entry) - known):
        raise LedgerError(
            f"{name}: unknown {', '.join(unknown)}; known are {', '.join(sorted(known))}."
        )
    hints = get_type_hints(kind, include_extras=True)
    for key, value in entry.items():
        fits, words = _CHECKS[hints[key]]
        if not fits(value):
            raise LedgerError(f"{name}: {key} = {value!r}: must be {words}.")


def _converted(kind: type[Any], entry: Entry) -> dict[str, Any]:
    """An entry's values in the types of the fields: lists as tuples, whole numbers as numbers."""
    hints = get_type_hints(kind, include_extras=True)
    convert: dict[Any, Callable[[Any], Any]] = {
        Columns: tuple,
        tuple[str, ...]: tuple,
        float: float,
        float | None: float,
    }
    return {key: convert.get(hints[key], lambda same: same)(value) for key, value in entry.items()}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, float | int | str)


def _is_selection(value: Any) -> bool:
    return isinstance(value, dict) and all(
        bool(item) and all(map(_is_scalar, item)) if isinstance(item, list) else _is_scalar(item)
        for item in value.values()
    )


def _is_powers(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_number, value.values()))


_CHECKS: dict[Any, tuple[Callable[[Any], bool], str]] = {
    Column: (_is_text, "the name of a column"),
    Column | None: (_is_text, "the name of a column"),
    Columns: (_is_texts, "a list of columns"),
    Selection: (_is_selection, "a table: column to value or list of values"),
    Powers: (_is_powers, "a table: column to number"),
    Scalar: (_is_scalar, "a number, a text, true or false"),
    bool: (lambda value: isinstance(value, bool), "true or false"),
    float: (_is_number, "a number"),
    float | None: (_is_number, "a number"),
    str: (_is_text, "a text that is not empty"),
    tuple[str, ...]: (_is_texts, "a list of texts"),
    Standing: (lambda value: value in STANDINGS, f"one of {', '.join(STANDINGS)}"),
    Run: (_is_text, "the name of a run"),
    Rule: (lambda value: isinstance(value, dict), "a table with a kind"),
}
