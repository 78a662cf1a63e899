"""What the papers claim, and the rules that judge each claim against our own tables.

``assets/claims`` has one file per paper. It lists the ``items`` that the paper states, and answers
each by *claims*, in our words, or by an *untested* entry that says why no table of ours can judge
it. A claim has a *standing* (the paper says it, implies it, or it is ours), the *run* whose table
tests it, and a *rule*: a ``kind`` from :mod:`~abcdp_core.claims.rules` and its settings. A
run is an experiment with its parameters, stated once for all claims that it serves. Rules are fixed
before the runs, so a verdict can go against the paper or against us; the scope of a claim tells
where one was not. A claim whose rows are missing is *not testable*, with the reason. What was
claimed once and is no more is *retired*, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import pandas as pd
from pydantic import StringConstraints

from abcdp_core.claims.contrasts import NotTestableError, Outcome, select
from abcdp_core.claims.rules import LEVEL, AnyRule
from abcdp_core.schemas import Schema, Several

Standing = Literal["paper", "implied", "ours"]
STANDINGS: tuple[Standing, ...] = get_args(Standing)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
"""Lower-case words joined by hyphens."""


class Run(Schema):
    """What is computed once for all claims that it serves.

    Attributes:
        name: short and stable.
        experiment: name of the experiment.
        preset: the experiment's preset; empty if the parameters say all.
        parameters: ``key=value`` texts as on the command line; they win over the preset.
        quick: further ones, for a reading that takes minutes; they win over both.
        differences: known differences from the paper's text and its published script.
    """

    name: Name
    experiment: str
    preset: str = ""
    parameters: Several[str] = ()
    quick: Several[str] = ()
    differences: Several[str] = ()

    def settings(self, *, quick: bool = False) -> dict[str, str]:
        """Return its parameters as key -> text."""
        texts = (*self.parameters, *(self.quick if quick else ()))
        pairs = (text.partition("=") for text in texts)
        return {key: value.strip() for key, _, value in pairs}


class Claim(Schema):
    """One claim and how we test it.

    Attributes:
        id: short and stable.
        item: what the paper states, as the inventory numbers it, e.g. ``P22-F3b``.
        standing: whether the paper says it, implies it, or it is ours.
        place: figure, lemma or theorem.
        claim: what is claimed, in our words.
        run: what tests it.
        table: name of the table that the rule reads.
        rule: how it is judged.
        paper: the paper's own number, where it gives one.
        paper_value: the same on the scale of the rule's estimate.
        differences: further known differences between the paper's text, its script and us.
        scope: where the claim is meant to hold, as far as we know.
        discussion: where we disagree: what the text says, what the script does, what is exact, and
            whether the paper's conclusion changes.
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
    """An item of a paper that no table of ours can judge."""

    item: str
    place: str
    claim: str
    reason: str


class Retired(Schema):
    """A claim that is not made any more, by its id, and why."""

    id: Name
    reason: str


@dataclass(frozen=True)
class Ledger:
    """All entries, in the order of the files.

    Attributes:
        items: what each paper states, in its order.
        runs: name -> what is computed.
        claims: what is judged.
        untested: what is not, and why.
        retired: what was judged once.
    """

    items: tuple[str, ...]
    runs: Mapping[str, Run]
    claims: tuple[Claim, ...]
    untested: tuple[Untested, ...]
    retired: tuple[Retired, ...]

    def for_preset(self, experiment: str, preset: str) -> tuple[Claim, ...]:
        """Return the claims that a run of a preset can judge, with any number of runs."""
        return tuple(
            claim
            for claim in self.claims
            if (claim.run.experiment, claim.run.preset) == (experiment, preset)
            and set(claim.run.settings()) <= {"runs"}
        )

    def by_chance(self) -> int:
        """Return how many verdicts rest on random numbers."""
        return sum(claim.rule.chance for claim in self.claims)


@dataclass(frozen=True)
class Verdict:
    """What our tables say about a claim.

    Attributes:
        claim: the claim.
        outcome: the judgement.
        statement: one sentence with the numbers, or the reason why there are none.
        values: ``estimate, low, high, limit`` for a figure; empty if not testable.
        without_empty: the judgement without runs that accepted nothing; ``None`` if no run did.
    """

    claim: Claim
    outcome: Outcome
    statement: str
    values: Mapping[str, float]
    without_empty: Outcome | None = None


def judge(claim: Claim, tables: Mapping[str, pd.DataFrame], together: int = 1) -> Verdict:
    """Judge a claim by the tables of its experiment.

    Args:
        claim: the claim.
        tables: of its run.
        together: number of claims whose verdicts are to be right together (Bonferroni).
    """
    table, level = tables[claim.table], LEVEL / together
    try:
        finding = claim.rule.judge(table, level)
    except NotTestableError as reason:
        return Verdict(claim, "not testable", f"Not testable: {reason}.", {})
    values = {name: getattr(finding, name) for name in ("estimate", "low", "high", "limit")}
    statement, without = finding.statement, None
    if empty := _accepted_nothing(claim, table):
        without = _without_empty(claim, table, level)
        rows = "row whose run" if empty == 1 else "rows whose runs"
        changed = "the same" if without == finding.outcome else without
        statement += f" Without the {empty} {rows} accepted nothing the verdict is: {changed}."
    return Verdict(claim, finding.outcome, statement, values, without)


def _accepted_nothing(claim: Claim, table: pd.DataFrame) -> int:
    """Return the number of rows of runs that accepted nothing, where the claim is made."""
    if "accepted" not in table.columns:
        return 0
    return int((select(table, claim.rule.where)["accepted"] == 0).sum())


def _without_empty(claim: Claim, table: pd.DataFrame, level: float) -> Outcome:
    try:
        # Where nothing is accepted or rejected, there is no number.
        return claim.rule.judge(table[table["accepted"] != 0], level).outcome
    except NotTestableError:
        return "not testable"
