"""Report verdicts: a table, how it was made, and sentences about both.

``reproduce.csv`` has a row for each claim, and for each item that no table can test;
``reproduce.json`` says when and how they were made. :func:`read` reads both.
"""

from __future__ import annotations

import datetime
import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from abcdp_core.base.places import ASSETS
from abcdp_core.base.sentences import counted
from abcdp_core.publish.claims import OUTCOMES, STANDINGS, Claim, Ledger, Untested
from abcdp_core.publish.claims.contrasts import Outcome
from abcdp_core.publish.claims.reproduction import CHECKS, Computed, Judged, Plan
from abcdp_core.publish.claims.rules import LEVEL, Rule
from abcdp_core.publish.output.settings import command_of
from abcdp_core.run import workers
from abcdp_core.run.results import versions

FOLDER = ASSETS / "reproduction"
"""The report that comes with the program."""

NUMBERS = ("ours", "low", "high", "limit", "paper_value")
COLUMNS = (
    *("item", "source", "place", "standing", "claim", "paper", "ours", "low", "high"),
    *("verdict", "reason", "id", "limit", "paper_value", "family_wise", "without_empty"),
    *("by_chance", "measure", "rule", "run", "experiment", "preset"),
)
"""Columns: ``by_chance`` is true or false, :data:`NUMBERS` are numbers, all others texts.
``measure`` names the estimate ``ours``; ``reason`` is the verdict's statement. An item without a
claim has no ``id``."""

MARKS: dict[Outcome, str] = {
    "agrees": "✓",
    "agrees in direction": "◐",
    "does not": "✗",
    "undecided": "?",
    "not testable": "–",
}
"""Verdict -> a mark that is readable without color."""

VERBS: dict[Outcome, tuple[str, str]] = {
    "agrees": ("agrees", "agree"),
    "agrees in direction": ("agrees in direction", "agree in direction"),
    "does not": ("does not agree", "do not agree"),
    "undecided": ("is undecided", "are undecided"),
    "not testable": ("is not testable", "are not testable"),
}
"""Verdict -> verb for one claim, and for several."""

DECIDED: tuple[Outcome, ...] = ("agrees", "agrees in direction", "does not")

MEASURES = {
    "lowest_at_most": "share of settings",
    "decreases_everywhere": "share of pairs that go the other way",
    "increases_everywhere": "share of pairs that go the other way",
    "at_most": "share of the bound",
    "near": "distance from the claimed value",
    "power_law": "deviation as a share of the value",
    "agrees": "frequency minus formula",
    "differs": "frequency minus formula",
}
"""Kind of rule -> name of its estimate; for the other kinds it is a difference of means."""


@dataclass(frozen=True)
class Report:
    """A reproduction: its verdicts and how they were made."""

    table: pd.DataFrame
    details: Mapping[str, Any]

    @property
    def claims(self) -> pd.DataFrame:
        """Rows of claims."""
        return self.table[self.table["id"] != ""]

    @property
    def without_claim(self) -> pd.DataFrame:
        """Rows of items that no table can test."""
        return self.table[self.table["id"] == ""]


def in_words(outcome: Outcome) -> str:
    """Return a verdict in words, with its mark."""
    return f"{MARKS[outcome]} {VERBS[outcome][0].removeprefix('is ')}"


# ----------------------------------------------------------------------------------------- making


def make(plan: Plan, judged: Sequence[Judged], done: Sequence[Computed]) -> Report:
    """Return the report of a plan that was run."""
    rows = [*map(_claim_row, judged)]
    for entry in plan.untested:
        reason = f"Not testable: {entry.reason}."
        verdicts = dict.fromkeys(("verdict", "family_wise"), "not testable")
        rows.append(stated(entry) | verdicts | {"reason": reason})
    place = {item: number for number, item in enumerate(plan.ledger.items)}
    rows.sort(key=lambda row: min(n for item, n in place.items() if item.startswith(row["item"])))
    empty = dict.fromkeys(COLUMNS, "") | dict.fromkeys(NUMBERS, math.nan) | {"by_chance": False}
    table = pd.DataFrame([empty | row for row in rows], columns=list(COLUMNS))
    return Report(table, _details(plan, table, done))


def _claim_row(judged: Judged) -> dict[str, Any]:
    verdict, claim = judged.verdict, judged.verdict.claim
    numbers = {name: verdict.values.get(name, math.nan) for name in ("low", "high", "limit")}
    return {
        **stated(claim),
        **numbers,
        "ours": verdict.values.get("estimate", math.nan),
        "paper_value": math.nan if claim.paper_value is None else claim.paper_value,
        "verdict": verdict.outcome,
        "reason": verdict.statement,
        "family_wise": judged.family_wise,
        "without_empty": verdict.without_empty or "",
    }


def stated(entry: Claim | Untested) -> dict[str, Any]:
    """Return the columns that repeat an entry of the ledger."""
    shared = {
        "item": entry.item,
        "source": entry.item.partition("-")[0],
        "place": entry.place,
        "claim": entry.claim,
    }
    if isinstance(entry, Untested):
        return shared | {"standing": "paper"}
    return shared | {
        "standing": entry.standing,
        "paper": entry.paper,
        "id": entry.id,
        "by_chance": entry.rule.chance,
        "measure": MEASURES.get(entry.rule.kind, "difference of means"),
        "rule": rule_text(entry.rule),
        "run": entry.run.name,
        "experiment": entry.run.experiment,
        "preset": entry.run.preset,
    }


def rule_text(rule: Rule) -> str:
    """Return a rule as its entry states it, without default settings."""
    given = rule.model_dump(exclude={"kind"}, exclude_defaults=True)
    settings = [f"{name} = {_plain(given[name])}" for name in sorted(given) if given[name] != {}]
    return ", ".join([f"kind = {rule.kind}", *settings])


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name} = {_plain(item)}' for name, item in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_plain, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _details(plan: Plan, table: pd.DataFrame, done: Sequence[Computed]) -> dict[str, Any]:
    asked = " ".join(["reproduce", *map(shlex.quote, plan.chosen)])
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "seed": plan.seed,
        "profile": plan.profile,
        "chosen": list(plan.chosen),
        "command": f"abcdp {asked} --profile {plan.profile} --seed {plan.seed} "
        "--out results/reproduction",
        "versions": versions(),
        "processors": workers.processor_count(),
        "seconds": round(sum(computed.seconds for computed in done), 1),
        "totals": totals(table),
        "chance": _chance(table, plan.ledger),
        "runs": {computed.run.name: _run(computed, plan.seed) for computed in done},
    }


def _run(computed: Computed, seed: int) -> dict[str, Any]:
    return {
        "experiment": computed.run.experiment,
        "preset": computed.run.preset,
        "parameters": computed.params.to_text(),
        "command": _command(computed, seed),
        "summary": computed.result.summary if computed.result else "",
        "not_computed": computed.reason,
        "seconds": round(computed.seconds, 1),
        "tasks": computed.tasks,
        "tasks_kept_from_before": computed.kept,
    }


def _command(computed: Computed, seed: int) -> str:
    """Return the command that repeats a run; for a check, the one that tests its paper."""
    if computed.run.experiment in CHECKS:
        paper = computed.run.name.partition("-")[0].upper()
        return f"abcdp reproduce {paper} --profile full --seed {seed} --out results"
    return command_of(computed.run.experiment, computed.params, seed)


def totals(table: pd.DataFrame) -> dict[str, dict[str, dict[str, int]]]:
    """Return paper -> standing -> verdict -> number of claims, and of items without a claim."""
    by_paper: dict[str, dict[str, dict[str, int]]] = {}
    for source in table["source"].unique():
        rows = table[table["source"] == source]
        claims = rows[rows["id"] != ""]
        by_paper[str(source)] = {
            **{each: counts(claims[claims["standing"] == each]) for each in STANDINGS},
            "without a claim": {"not testable": int((rows["id"] == "").sum())},
        }
    return by_paper


def counts(rows: pd.DataFrame) -> dict[str, int]:
    """Return verdict -> number of rows, for verdicts that occur."""
    by_outcome = {outcome: int((rows["verdict"] == outcome).sum()) for outcome in OUTCOMES}
    return {outcome: count for outcome, count in by_outcome.items() if count}


def _chance(table: pd.DataFrame, entries: Ledger) -> dict[str, Any]:
    """Return how many random verdicts may be false, and which change family-wise."""
    random = table[table["by_chance"]]
    decided = random[random["verdict"].isin(DECIDED)]
    changed = random[random["verdict"] != random["family_wise"]]
    return {
        "verdicts": len(random),
        "decided": len(decided),
        "level": LEVEL,
        "expected_false_at_most": round(LEVEL * len(random), 3),
        "together": entries.by_chance(),
        "changed_family_wise": dict(zip(changed["id"], changed["family_wise"], strict=True)),
    }


# ------------------------------------------------------------------------------------ sentences

WHOSE = {
    "paper": ("claim stated in the papers", "claims stated in the papers"),
    "implied": ("claim implied by the papers", "claims implied by the papers"),
    "ours": ("claim of ours", "claims of ours"),
}
"""Standing -> name of one claim, and of several."""


def total_words(table: pd.DataFrame) -> str:
    """Count the verdicts in words, by standing."""
    sentences = []
    for standing in STANDINGS:
        rows = table[(table["id"] != "") & (table["standing"] == standing)]
        one, several = WHOSE[standing]
        if len(rows) == 1:
            sentences.append(f"The only {one} {VERBS[rows['verdict'].iloc[0]][0]}.")
        elif len(rows):
            about = counted(rows["item"].nunique(), "statement")
            sentences.append(f"{len(rows)} {several}, drawn from {about}: {count_words(rows)}.")
    if rest := int((table["id"] == "").sum()):
        what = counted(rest, "more statement")
        sentences.append(f"We cannot test {what}; the reason is given for each.")
    return " ".join(sentences)


def count_words(rows: pd.DataFrame) -> str:
    """Count the verdicts of some rows in words."""
    each = [f"{count} {VERBS[name][count > 1]}" for name, count in counts(rows).items()]  # type: ignore[index]
    return " and ".join([", ".join(each[:-1]), each[-1]]) if len(each) > 1 else each[0]


def chance_words(report: Report) -> str:
    """Say how many verdicts may be false, and which change family-wise."""
    chance = report.details["chance"]
    level = f"{100 * chance['level']:g} %"
    if not chance["verdicts"]:
        return "None of these verdicts rests on random numbers, so none can be false by chance."
    changed = chance["changed_family_wise"]
    became = sorted({in_words(outcome)[2:] for outcome in changed.values()})
    decided, expected = chance["decided"], chance["expected_false_at_most"]
    rest = f"{counted(chance['verdicts'], 'verdict rests', 'verdicts rest')} on random numbers"
    if not decided:
        return f"{rest}; all are undecided, so none can be false."
    are = "is" if decided == 1 else "are"
    words = (
        f"{rest}. Each has a probability of at most {level} to be decided wrongly, so we expect at "
        f"most {expected:.2g} wrong verdicts among them. {decided} {are} decided; an *undecided* "
        f"verdict cannot be wrong. *Family-wise* verdicts use wider intervals, so that all "
        f"{chance['together']} verdicts that rest on random numbers are right together with "
        "probability at least 95 %: "
    )
    if not changed:
        return words + "no verdict changes."
    change = counted(len(changed), "verdict changes", "verdicts change")
    return words + f"{change}, to {' or '.join(f'*{each}*' for each in became)}."


def measured(row: pd.Series[Any]) -> str:
    """Return our estimate with its interval; empty if there is none."""
    if np.isnan(row["ours"]):
        return ""
    interval = f" ({rounded(row['low'])} to {rounded(row['high'])})"
    return rounded(row["ours"]) + (interval if row["low"] != row["high"] else "")


def rounded(number: float) -> str:
    """Return a number to three digits."""
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    return f"{number:.3g}".replace("-", "−")


# ------------------------------------------------------------------------------------------ files


def write(report: Report, folder: Path) -> list[Path]:
    """Write table and details; return their files."""
    table, details = folder / "reproduce.csv", folder / "reproduce.json"
    report.table.to_csv(table, index=False, lineterminator="\n", na_rep="nan", encoding="utf-8")
    text = json.dumps(report.details, indent=1, ensure_ascii=False, allow_nan=False)
    details.write_text(text + "\n", encoding="utf-8", newline="\n")
    return [table, details]


def read(folder: Path = FOLDER) -> Report:
    """Read what :func:`write` wrote.

    Raises:
        FileNotFoundError: it is not there.
    """
    table = pd.read_csv(
        folder / "reproduce.csv",
        dtype={name: str for name in COLUMNS if name not in (*NUMBERS, "by_chance")},
        keep_default_na=False,
        # Python's own parser gives back the very number that was written.
        converters=dict.fromkeys(NUMBERS, float),
    )
    details = json.loads((folder / "reproduce.json").read_text(encoding="utf-8"))
    return Report(table[[*COLUMNS]], details)
