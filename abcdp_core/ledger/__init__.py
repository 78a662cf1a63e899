"""What the papers claim, and the rules that judge each claim against our own tables.

``assets/claims.toml`` has one entry per claim: where the paper makes it, what it says in our words,
the experiment and the parameters that test it, and a *rule*: a ``kind`` from :data:`RULES` and its
settings. Rules are fixed before the runs, so a verdict can go against the paper or against us. A
claim whose rows are missing is *not testable here*, with the reason.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pandas as pd

from abcdp_core.ledger.rules import (
    RULES,
    Column,
    Columns,
    NotTestableError,
    Outcome,
    Powers,
    Rule,
    Scalar,
    Selection,
)

CLAIMS_FILE = Path(__file__).parents[2] / "assets" / "claims.toml"


class LedgerError(ValueError):
    """An entry of the claims file is wrong; one line says which and why."""


@dataclass(frozen=True)
class Claim:
    """One claim of a paper and how we test it.

    Attributes:
        id: short and stable, lower-case words joined by hyphens.
        source: the paper's tag, e.g. ``[P21]``.
        place: figure, lemma or theorem.
        claim: what is claimed, in our words.
        experiment: name of the experiment that tests it.
        table: name of the table that the rule reads.
        rule: how it is judged.
        preset: the experiment's preset; empty if the parameters say all.
        parameters: ``key=value`` texts as on the command line; they win over the preset.
        paper_number: the paper's own number, where it gives one.
        differences: known differences between the paper's text, its published script and us.
        scope: where the claim is meant to hold, as far as we know.
    """

    id: str
    source: str
    place: str
    claim: str
    experiment: str
    table: str
    rule: Rule
    preset: str = ""
    parameters: tuple[str, ...] = ()
    paper_number: float | str | None = None
    differences: tuple[str, ...] = ()
    scope: str = ""

    def settings(self) -> dict[str, str]:
        """Its parameters as key -> text."""
        pairs = (text.partition("=") for text in self.parameters)
        return {key: value.strip() for key, _, value in pairs}


@dataclass(frozen=True)
class Verdict:
    """What our tables say about a claim.

    Attributes:
        claim: the claim.
        outcome: the judgement.
        statement: one sentence with the numbers, or the reason why there are none.
        values: ``estimate, low, high, limit`` for a figure; empty if not testable.
    """

    claim: Claim
    outcome: Outcome
    statement: str
    values: Mapping[str, float]


def judge(claim: Claim, tables: Mapping[str, pd.DataFrame]) -> Verdict:
    """Judge a claim by the tables of its experiment.

    Raises:
        LedgerError: the rule reads a column that its table does not have.
    """
    try:
        if claim.table not in tables:
            raise NotTestableError(f"there is no table {claim.table}")
        table = tables[claim.table]
        _check_columns(claim, table.columns)
        finding = claim.rule.judge(table)
    except NotTestableError as reason:
        return Verdict(claim, "not testable here", f"Not testable here: {reason}.", {})
    values = {name: getattr(finding, name) for name in ("estimate", "low", "high", "limit")}
    return Verdict(claim, finding.outcome, finding.statement, values)


def for_preset(experiment: str, preset: str) -> tuple[Claim, ...]:
    """The claims that a run of a preset, with nothing changed, can judge."""
    return tuple(
        claim
        for claim in load()
        if (claim.experiment, claim.preset, claim.parameters) == (experiment, preset, ())
    )


# -------------------------------------------------------------------------------------- loading

TableColumns = Mapping[str, Mapping[str, tuple[str, ...]]]

TEXTS = ("id", "source", "place", "claim", "experiment", "table")
OPTIONAL_TEXTS = ("preset", "scope")
LISTS = ("parameters", "differences")


def load(path: Path | None = None, columns: TableColumns | None = None) -> tuple[Claim, ...]:
    """Read and check all claims.

    Args:
        path: the file; the one in ``assets`` if not given.
        columns: experiment -> table -> its columns; given, every column a rule reads is looked up.

    Raises:
        LedgerError: the file is not TOML, or an entry has an unknown or missing key, an unknown
            kind of rule, a value of the wrong type, an unknown column, or an id used twice.
    """
    path = path or CLAIMS_FILE
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("claim", [])
    except tomllib.TOMLDecodeError as error:
        raise LedgerError(f"{path.name}: {error}.") from error
    claims: dict[str, Claim] = {}
    for number, entry in enumerate(entries, start=1):
        claim = _claim(entry, str(entry.get("id", f"number {number}")))
        if claim.id in claims:
            raise LedgerError(f"claim {claim.id}: there are two of this id.")
        if columns is not None:
            _check_columns(claim, _documented(claim, columns))
        claims[claim.id] = claim
    return tuple(claims.values())


def _documented(claim: Claim, columns: TableColumns) -> tuple[str, ...]:
    if claim.experiment not in columns:
        raise LedgerError(f"claim {claim.id}: there is no experiment {claim.experiment}.")
    if claim.table not in columns[claim.experiment]:
        raise LedgerError(f"claim {claim.id}: {claim.experiment} has no table {claim.table}.")
    return columns[claim.experiment][claim.table]


def _check_columns(claim: Claim, known: Iterable[str]) -> None:
    if missing := sorted(claim.rule.columns() - set(known)):
        raise LedgerError(
            f"claim {claim.id}: table {claim.table} of {claim.experiment} has no column "
            f"{', '.join(missing)}."
        )


def _claim(entry: Mapping[str, Any], name: str) -> Claim:
    """A checked claim from its entry in the file."""
    known = {*TEXTS, *OPTIONAL_TEXTS, *LISTS, "paper_number", "rule"}
    _check_keys(name, entry, known, {*TEXTS, "rule"})
    for key in (*TEXTS, *OPTIONAL_TEXTS):
        _check(name, key, entry.get(key, "-"), str)
    for key in LISTS:
        _check(name, key, entry.get(key, []), list)
    _check(name, "paper_number", entry.get("paper_number", 0), Scalar)
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise LedgerError(f"claim {name}: id must be lower-case words joined by hyphens.")
    if not entry.get("preset") and not entry.get("parameters"):
        raise LedgerError(f"claim {name}: needs a preset or parameters.")
    lists = {key: tuple(entry.get(key, ())) for key in LISTS}
    for text in lists["parameters"]:
        if not re.fullmatch(r"\w+=.*\S.*", text):
            raise LedgerError(f"claim {name}: parameters: {text!r} is not key=value.")
    return Claim(**{**entry, **lists, "rule": _rule(entry["rule"], name)})


def _rule(entry: Any, name: str) -> Rule:
    """A checked rule from its table in the file."""
    if not isinstance(entry, dict) or "kind" not in entry:
        raise LedgerError(f"claim {name}: rule must be a table with a kind.")
    settings = {key: value for key, value in entry.items() if key != "kind"}
    if entry["kind"] not in RULES:
        raise LedgerError(
            f"claim {name}: rule kind = {entry['kind']}: must be one of {', '.join(RULES)}."
        )
    rule = RULES[entry["kind"]]
    fields = dataclasses.fields(rule)
    missing = dataclasses.MISSING
    needed = {f.name for f in fields if f.default is missing and f.default_factory is missing}
    _check_keys(f"{name}: rule", settings, {f.name for f in fields}, needed)
    hints = get_type_hints(rule, include_extras=True)
    for key, value in settings.items():
        _check(f"{name}: rule", key, value, hints[key])
        convert = {Columns: tuple, float: float}.get(hints[key])
        settings[key] = convert(value) if convert else value
    return rule(**settings)


def _check_keys(name: str, entry: Mapping[str, Any], known: set[str], needed: set[str]) -> None:
    if missing := sorted(needed - set(entry)):
        raise LedgerError(f"claim {name}: missing {', '.join(missing)}.")
    if unknown := sorted(set(entry) - known):
        raise LedgerError(
            f"claim {name}: unknown {', '.join(unknown)}; known are {', '.join(sorted(known))}."
        )


def _check(name: str, key: str, value: Any, hint: Any) -> None:
    fits, words = _CHECKS[hint]
    if not fits(value):
        raise LedgerError(f"claim {name}: {key} = {value!r}: must be {words}.")


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
    str: (_is_text, "a text that is not empty"),
    list: (_is_texts, "a list of texts"),
}
