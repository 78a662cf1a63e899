"""Verdicts as a table, what is known about their making, and sentences about both.

``reproduce.csv`` has a row for each claim, and for each item that no table can judge;
``reproduce.json`` says when and how they were made. :func:`read` gives both back.
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

from abcdp_core import workers
from abcdp_core.claims import OUTCOMES, STANDINGS, Claim, Ledger, Untested
from abcdp_core.claims.contrasts import Outcome
from abcdp_core.claims.reproduction import CHECKS, Computed, Judged, Plan
from abcdp_core.claims.rules import LEVEL, Rule
from abcdp_core.output.settings import command_of
from abcdp_core.places import ASSETS
from abcdp_core.results import versions
from abcdp_core.sentences import counted

FOLDER = ASSETS / "reproduction"
"""The result that comes with the program."""

NUMBERS = ("ours", "low", "high", "limit", "paper_value")
COLUMNS = (
    *("item", "source", "place", "standing", "claim", "paper", "ours", "low", "high"),
    *("verdict", "reason", "id", "limit", "paper_value", "family_wise", "without_empty"),
    *("by_chance", "measure", "rule", "run", "experiment", "preset"),
)
"""Columns; ``by_chance`` is true or false, and what is not in :data:`NUMBERS` is a text. ``ours,
low, high, limit`` are of the rule's estimate, which is what ``measure`` says; ``reason`` is the
verdict's statement. An item without a claim has no ``id``."""

MARKS: dict[Outcome, str] = {
    "agrees": "✓",
    "agrees in direction": "◐",
    "does not": "✗",
    "cannot be told": "?",
    "not testable": "–",
}
"""Verdict -> a mark that does without colour."""

VERBS: dict[Outcome, tuple[str, str]] = {
    "agrees": ("agrees", "agree"),
    "agrees in direction": ("agrees in direction", "agree in direction"),
    "does not": ("does not agree", "do not agree"),
    "cannot be told": ("cannot be told", "cannot be told"),
    "not testable": ("is not testable", "are not testable"),
}
"""Verdict -> what one claim and what several do."""

DECIDED: tuple[Outcome, ...] = ("agrees", "agrees in direction", "does not")

MEASURES = {
    "lowest_at_most": "share of settings",
    "decreases_everywhere": "share of pairs that go the other way",
    "increases_everywhere": "share of pairs that go the other way",
    "at_most": "share of the bound",
    "near": "distance from the value claimed",
    "power_law": "deviation as a share of the value",
    "agrees": "frequency minus formula",
    "differs": "frequency minus formula",
}
"""Kind of rule -> what its estimate is; for the others a difference of means."""


@dataclass(frozen=True)
class Report:
    """A reproduction, complete enough to be told without it.

    Attributes:
        table: a row for each claim and each item without one, in the order of the papers.
        details: date, seed, profile, versions, runs, totals, and what chance can have done.
    """

    table: pd.DataFrame
    details: Mapping[str, Any]

    @property
    def claims(self) -> pd.DataFrame:
        """The rows that are claims."""
        return self.table[self.table["id"] != ""]

    @property
    def without_claim(self) -> pd.DataFrame:
        """The rows of items that no table can judge."""
        return self.table[self.table["id"] == ""]


def in_words(outcome: Outcome) -> str:
    """Return a verdict with its mark."""
    return f"{MARKS[outcome]} {VERBS[outcome][0].removeprefix('is ')}"


# ----------------------------------------------------------------------------------------- making


def make(plan: Plan, judged: Sequence[Judged], done: Sequence[Computed]) -> Report:
    """Return the report of a plan that was carried out."""
    rows = [*map(_claim_row, judged), *map(_untested_row, plan.untested)]
    place = {item: number for number, item in enumerate(plan.ledger.items)}
    rows.sort(key=lambda row: min(n for item, n in place.items() if item.startswith(row["item"])))
    empty = dict.fromkeys(COLUMNS, "") | dict.fromkeys(NUMBERS, math.nan) | {"by_chance": False}
    table = pd.DataFrame([empty | row for row in rows], columns=list(COLUMNS))
    return Report(table, _details(plan, table, done))


def _claim_row(judged: Judged) -> dict[str, Any]:
    verdict, claim = judged.verdict, judged.verdict.claim
    names = {"ours": "estimate", "low": "low", "high": "high", "limit": "limit"}
    numbers = {column: verdict.values.get(name, math.nan) for column, name in names.items()}
    value = math.nan if claim.paper_value is None else claim.paper_value
    return {
        **stated(claim),
        **numbers,
        "paper_value": value,
        "verdict": verdict.outcome,
        "reason": verdict.statement,
        "family_wise": judged.family_wise,
        "without_empty": verdict.without_empty or "",
    }


def stated(entry: Claim | Untested) -> dict[str, Any]:
    """Return the columns that repeat an entry, by which a table is compared with the ledger."""
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


def _untested_row(entry: Untested) -> dict[str, Any]:
    outcome: Outcome = "not testable"
    return {
        **stated(entry),
        "verdict": outcome,
        "reason": f"Not testable: {entry.reason}.",
        "family_wise": outcome,
    }


def rule_text(rule: Rule) -> str:
    """Return a rule as its entry writes it, without what is left at its default."""
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
    """What is known of a run."""
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
    """The line that computes a run again; of a check, the one that judges its paper."""
    if computed.run.experiment in CHECKS:
        paper = computed.run.name.partition("-")[0].upper()
        return f"abcdp reproduce {paper} --profile full --seed {seed} --out results"
    return command_of(computed.run.experiment, computed.params, seed)


def totals(table: pd.DataFrame) -> dict[str, dict[str, dict[str, int]]]:
    """Return paper -> standing -> verdict -> number of claims; items without a claim apart."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for source in table["source"].unique():
        rows = table[table["source"] == source]
        claims = rows[rows["id"] != ""]
        found[str(source)] = {
            **{each: counts(claims[claims["standing"] == each]) for each in STANDINGS},
            "without a claim": {"not testable": int((rows["id"] == "").sum())},
        }
    return found


def counts(rows: pd.DataFrame) -> dict[str, int]:
    """Return verdict -> number of rows, for those that occur."""
    found = {outcome: int((rows["verdict"] == outcome).sum()) for outcome in OUTCOMES}
    return {outcome: count for outcome, count in found.items() if count}


def _chance(table: pd.DataFrame, entries: Ledger) -> dict[str, Any]:
    """How many verdicts chance can have made wrong, and which one would give up for certainty."""
    random = table[table["by_chance"]]
    decided = random[random["verdict"].isin(DECIDED)]
    changed = random[random["verdict"] != random["family_wise"]]
    return {
        "verdicts": len(random),
        "decided": len(decided),
        "level": LEVEL,
        "expected_false_at_most": round(LEVEL * len(decided), 3),
        "together": entries.by_chance(),
        "changed_family_wise": dict(zip(changed["id"], changed["family_wise"], strict=True)),
    }


# ------------------------------------------------------------------------------------ sentences

WHOSE = {
    "paper": ("claim of the papers", "claims of the papers"),
    "implied": ("claim that they imply", "claims that they imply"),
    "ours": ("refinement of our own", "refinements of our own"),
}
"""Standing -> what one claim and what several of it are called."""


def total_words(table: pd.DataFrame) -> str:
    """Say how many claims agree, those of the papers first and apart."""
    sentences = []
    for standing in STANDINGS:
        rows = table[(table["id"] != "") & (table["standing"] == standing)]
        one, several = WHOSE[standing]
        if len(rows) == 1:
            sentences.append(f"The one {one} {VERBS[rows['verdict'].iloc[0]][0]}.")
        elif len(rows):
            about = counted(rows["item"].nunique(), "statement", "statements")
            sentences.append(f"Of {len(rows)} {several}, about {about}, {count_words(rows)}.")
    if rest := int((table["id"] == "").sum()):
        what = counted(rest, "more statement", "more statements")
        reasons = "The reason is given." if rest == 1 else "Each has its reason."
        sentences.append(f"No table of ours can judge {what}. {reasons}")
    return " ".join(sentences)


def count_words(rows: pd.DataFrame) -> str:
    """Say how many rows have each verdict."""
    each = [f"{count} {VERBS[name][count > 1]}" for name, count in counts(rows).items()]  # type: ignore[index]
    return " and ".join([", ".join(each[:-1]), each[-1]]) if len(each) > 1 else each[0]


def chance_words(report: Report) -> str:
    """Say how many verdicts to expect to be false, and what the family-wise reading changes."""
    chance = report.details["chance"]
    level = f"{100 * chance['level']:g} %"
    if not chance["verdicts"]:
        return "None of these verdicts rests on random numbers, so none is false by chance."
    changed = chance["changed_family_wise"]
    became = sorted(set(changed.values()))
    decided, expected = chance["decided"], chance["expected_false_at_most"]
    rest = f"{counted(chance['verdicts'], 'verdict rests', 'verdicts rest')} on random numbers"
    if not decided:
        return f"{rest}; none of them decided anything, so none is false."
    words = (
        f"{rest}; decided among these: {decided}. Each decided verdict is false with a probability "
        f"of at most {level}, and of exactly {level} only if the claim lies on its border: of "
        f"{decided}, at most {expected:.2g} are expected to be false. *Cannot be told* is never "
        f"false. Family-wise, that is with intervals so wide that all {chance['together']} "
        "verdicts of the whole ledger that rest on random numbers are right together with a "
        "probability of at least 95 %, "
    )
    if not changed:
        return words + "no verdict changes."
    change = counted(len(changed), "verdict changes", "verdicts change")
    return words + f"{change}, to {' or '.join(f'*{each}*' for each in became)}."


def measured(row: pd.Series[Any]) -> str:
    """Return what we measured with its interval; empty where there is nothing."""
    if np.isnan(row["ours"]):
        return ""
    interval = f" ({rounded(row['low'])} to {rounded(row['high'])})"
    return rounded(row["ours"]) + (interval if row["low"] != row["high"] else "")


def rounded(number: float) -> str:
    """Return a number with three digits."""
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    return f"{number:.3g}".replace("-", "−")


# ------------------------------------------------------------------------------------------ files


def write(report: Report, folder: Path) -> list[Path]:
    """Write table and details, and return their files."""
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
