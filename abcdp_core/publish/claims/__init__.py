"""The papers' claims, and the rules that test each claim against our own tables.

``assets/claims`` has one file per paper. It lists the ``items`` that the paper states, and answers
each by *claims*, in our words, or by an *untested* entry that says why no table of ours can test
it. A claim has a *standing* (the paper states it, implies it, or it is ours), the *run* whose table
tests it, and a *rule*: a ``kind`` from :mod:`.rules` and its settings. Rules are
fixed before the runs, so a verdict can go against the paper or against us; a claim's scope names
exceptions. A claim whose rows are missing is *not testable*. A claim that was withdrawn is
*retired*, with the reason. :func:`judge` applies a claim's rule to a table, and
:mod:`.reproduction` computes the runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import pandas as pd
from pydantic import StringConstraints

from abcdp_core.base.schemas import Schema, Several
from abcdp_core.publish.claims.contrasts import NotTestableError, Outcome, select
from abcdp_core.publish.claims.rules import LEVEL, AnyRule

Standing = Literal["paper", "implied", "ours"]
STANDINGS: tuple[Standing, ...] = get_args(Standing)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
"""Lower-case words joined by hyphens."""


class Run(Schema):
    """An experiment with its parameters, computed once for all claims that use it.

    Attributes:
        name: short and stable.
        experiment: name of the experiment.
        preset: preset of the experiment, if any.
        parameters: ``key=value`` texts as on the command line; they override the preset.
        quick: more of them for the quick profile; they override both.
        differences: known differences from the paper's text and its published script.
    """

    name: Name
    experiment: str
    preset: str = ""
    parameters: Several[str] = ()
    quick: Several[str] = ()
    differences: Several[str] = ()

    def settings(self, *, quick: bool = False) -> dict[str, str]:
        """Return the parameters as key -> text."""
        texts = (*self.parameters, *(self.quick if quick else ()))
        pairs = (text.partition("=") for text in texts)
        return {key: value.strip() for key, _, value in pairs}


class Claim(Schema):
    """A claim and how we test it.

    Attributes:
        id: short and stable.
        item: number of the paper's statement, e.g. ``P22-F3b``.
        standing: whether the paper states the claim, implies it, or it is ours.
        place: figure, lemma or theorem.
        claim: the claim, in our words.
        run: the run that tests it.
        table: the table that the rule reads.
        rule: the rule that judges it.
        paper: the paper's own number, if it gives one.
        paper_value: that number on the scale of the rule's estimate.
        differences: more known differences between the paper's text, its script and our test.
        scope: where the claim is meant to hold, as far as we know.
        discussion: if we disagree, the text, the script, the exact result, and whether the paper's
            conclusion changes.
    """

    id: Name
    item: str
    standing: Standing
    place: str
    claim: str
    run: Run
    table: str
    rule: AnyRule
    paper: str = ""
    paper_value: float | None = None
    differences: Several[str] = ()
    scope: str = ""
    discussion: str = ""

    @property
    def source(self) -> str:
        """The paper's tag, e.g. ``[P21]``."""
        return f"[{self.item.partition('-')[0]}]"

    def notes(self) -> tuple[str, ...]:
        """Return all known differences, then the scope."""
        return (*self.run.differences, *self.differences, *([self.scope] if self.scope else []))


class Untested(Schema):
    """A statement of a paper that no table of ours can test."""

    item: str
    place: str
    claim: str
    reason: str


class Retired(Schema):
    """A withdrawn claim, by its id, and the reason."""

    id: Name
    reason: str


@dataclass(frozen=True)
class Ledger:
    """All entries, in the order of the files; ``items`` are the papers' statements."""

    items: tuple[str, ...]
    runs: Mapping[str, Run]
    claims: tuple[Claim, ...]
    untested: tuple[Untested, ...]
    retired: tuple[Retired, ...]

    def for_preset(self, experiment: str, preset: str) -> tuple[Claim, ...]:
        """Return the claims that a run of a preset can test, with any number of repeats."""
        return tuple(
            claim
            for claim in self.claims
            if (claim.run.experiment, claim.run.preset) == (experiment, preset)
            and set(claim.run.settings()) <= {"runs"}
        )

    def by_chance(self) -> int:
        """Return the number of claims whose verdicts are random."""
        return sum(claim.rule.chance for claim in self.claims)


@dataclass(frozen=True)
class Verdict:
    """Verdict on a claim; ``values`` has ``estimate, low, high, limit``, if testable."""

    claim: Claim
    outcome: Outcome
    statement: str
    values: Mapping[str, float]
    without_empty: Outcome | None = None


def judge(claim: Claim, tables: Mapping[str, pd.DataFrame], together: int = 1) -> Verdict:
    """Judge a claim by the tables of its run, ``together`` with other claims (Bonferroni)."""
    table, level = tables[claim.table], LEVEL / together
    try:
        finding = claim.rule.judge(table, level)
    except NotTestableError as reason:
        return Verdict(claim, "not testable", f"Not testable: {reason}.", {})
    values = {name: getattr(finding, name) for name in ("estimate", "low", "high", "limit")}
    statement, without = finding.statement, None
    kept = table.get("accepted", pd.Series(1, table.index))
    if empty := int((select(table.assign(accepted=kept), claim.rule.where)["accepted"] == 0).sum()):
        try:
            # Rows without a number of kept draws stay.
            without = claim.rule.judge(table[kept != 0], level).outcome
        except NotTestableError:
            without = "not testable"
        rows = "row whose run" if empty == 1 else f"{empty} rows whose runs"
        changed = "the same" if without == finding.outcome else f'"{without}"'
        statement += f" Without the {rows} kept no draw, the verdict is {changed}."
    return Verdict(claim, finding.outcome, statement, values, without)
