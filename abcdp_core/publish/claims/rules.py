"""Rules that judge a claim: each compares an *estimate* from a table with a *limit*.

Where an estimate is random it has an interval. A claim *agrees* or *does not* if the whole interval
is on one side of the limit; otherwise it is *undecided*. It *agrees in direction* if it misses the
claimed size but its sign is certain. Means are compared run by run (Student's t, simultaneously
95 % for all comparisons of a rule), and frequencies with a formula by exact binomial tests (1 % for
all together).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from abcdp_core.base import summaries
from abcdp_core.base.arrays import Array
from abcdp_core.base.schemas import Schema, Several
from abcdp_core.publish.claims.contrasts import (
    Contrast,
    Finding,
    NotTestableError,
    Outcome,
    Side,
    alike,
    combinations,
    everywhere,
    matches,
    pair_by_pair,
    select,
    somewhere,
)

Scalar = int | float | bool | str
Selection = Mapping[str, Scalar | list[Scalar]]

LEVEL = 0.05
"""Probability that any interval of a rule misses, at most."""

JOINT_LEVEL = 0.01
"""Level of the joint test of frequencies against a formula."""


class Rule(Schema):
    """A rule that judges a table; its fields are the settings of an entry.

    Attributes:
        kind: the kind of rule.
        where: the rows that the claim is about (all).
    """

    is_random: ClassVar[bool] = False

    kind: str
    where: Selection = Field(default={})

    @property
    def chance(self) -> bool:
        """Whether the verdict can be wrong by chance, because it rests on intervals or tests."""
        return self.is_random

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Judge a table; with probability ``level``, some interval of the rule may miss.

        Raises:
            NotTestableError: the table lacks what the rule needs.
        """
        raise NotImplementedError


class Paired(Rule):
    """A rule that compares means of one column between groups of rows.

    Attributes:
        column: the column to compare.
        within: columns; the claim is about each combination of their values.
        pair: column by whose value the rows of two groups are paired.
    """

    is_random = True

    column: str
    within: Several[str] = ()
    pair: str = "run"

    def steps(
        self, rows: pd.DataFrame, along: str, values: Iterable[tuple[Any, Any]]
    ) -> list[Contrast]:
        """Return contrasts of pairs of values of a column at each combination of ``within``."""
        contrasts = []
        for setting, pair in itertools.product(list(combinations(rows, self.within)), values):
            first, second = (
                Side(select(rows, side), self.column, side)
                for side in ({along: value, **setting} for value in pair)
            )
            contrasts.append(Contrast.of(first, second, self.pair))
        return contrasts


class Less(Paired):
    """The mean of a column under one selection is below that under another.

    The claim is about every combination of ``within`` (``less``) or one of them
    (``less_somewhere``), or says that the means differ by at most ``margin`` (``alike``). Rows that
    the selections do not distinguish are averaged within each pair.

    Attributes:
        a, b: the two selections; a column of ``within`` in ``b`` has that value for all.
        other: the column under ``b`` (``column``).
        margin: the least difference, in the column's unit.
        factor: multiple of the second mean, at most 1, for ``less``: 0.5 means less than half.
    """

    kind: Literal["less", "less_somewhere", "alike"] = "less"
    a: Selection
    b: Selection
    other: str | None = None
    margin: float = 0.0
    factor: float = 1.0

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Compare the means at every combination."""
        contrasts = self.contrasts(table)
        if self.kind == "less_somewhere":
            return somewhere(contrasts, self.margin, level)
        if self.kind == "alike":
            return alike(contrasts, self.margin, level)
        scaled = [contrast.scaled(self.factor) for contrast in contrasts]
        finding = everywhere(scaled, self.margin, level)
        names_size = self.factor < 1.0 and finding.outcome != "agrees"
        if names_size and everywhere(contrasts, 0.0, level).outcome == "agrees":
            return dataclasses.replace(finding, outcome="agrees in direction")
        return finding

    def contrasts(self, table: pd.DataFrame) -> list[Contrast]:
        """Return one contrast for each combination."""
        rows = select(table, self.where)
        first, second = select(rows, self.a), select(rows, self.b)
        contrasts = []
        for setting in combinations(first, self.within):
            shared = {name: value for name, value in setting.items() if name not in self.b}
            a = Side(select(first, setting), self.column, {**self.a, **setting})
            b = Side(select(second, shared), self.other or self.column, {**self.b, **shared})
            contrasts.append(Contrast.of(a, b, self.pair))
        return contrasts


class LowestAt(Paired):
    """The mean of a column is lowest at a given value of another column.

    The claim is about every combination of ``within``, or more than half of them
    (``lowest_at_most``).

    Attributes:
        along: the other column.
        value: the value that is claimed to be best.
        margin: the least difference, in the column's unit.
    """

    kind: Literal["lowest_at", "lowest_at_most"] = "lowest_at"
    along: str
    value: Scalar
    margin: float = 0.0

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Compare the claimed value with every other."""
        rows = select(table, self.where)
        if self.kind == "lowest_at":
            return everywhere(self._against_rivals(rows), self.margin, level)
        settings = list(combinations(rows, self.within))
        each = [
            everywhere(self._against_rivals(select(rows, one)), self.margin, level / len(settings))
            for one in settings
        ]
        agree = sum(finding.outcome == "agrees" for finding in each)
        differ = sum(finding.outcome == "does not" for finding in each)
        outcome: Outcome = "undecided"
        if 2 * agree > len(each):
            outcome = "agrees"
        elif 2 * differ >= len(each):
            outcome = "does not"
        statement = (
            f"The lowest {self.column} is at {self.along} = {self.value:g} in {agree} of "
            f"{len(each)} settings, elsewhere in {differ} and undecided in "
            f"{len(each) - agree - differ}. The claim: in more than half."
        )
        low, high = agree / len(each), 1.0 - differ / len(each)
        return Finding(outcome, statement, low, low, high, 0.5)

    def _against_rivals(self, rows: pd.DataFrame) -> list[Contrast]:
        rivals = sorted(rows.loc[~matches(rows[self.along], self.value), self.along].unique())
        return self.steps(rows, self.along, [(self.value, rival) for rival in rivals])


class Along(Paired):
    """A rule about how a column changes as another column increases.

    Attributes:
        along: the other column.
    """

    along: str

    def upwards(self, table: pd.DataFrame) -> list[Contrast]:
        """Return contrasts of each value with the one before, exchanged for an increase."""
        rows = select(table, self.where)
        pairs = itertools.pairwise(sorted(rows[self.along].unique()))
        steps = self.steps(rows, self.along, [(after, before) for before, after in pairs])
        return [step.turned() for step in steps] if "increases" in self.kind else steps


class Decreases(Along):
    """The mean of a column falls (rises) at every step of every combination.

    Attributes:
        margin: the least change at each step, in the column's unit.
    """

    kind: Literal["decreases", "increases"] = "decreases"
    margin: float = 0.0

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Compare the means at every step."""
        return everywhere(self.upwards(table), self.margin, level)


class DecreasesEverywhere(Along):
    """A column never rises (falls) in any pair, and falls (rises) on average.

    For values of a formula, which are not random. Undecided if a step changes nothing.
    """

    is_random = False

    kind: Literal["decreases_everywhere", "increases_everywhere"] = "decreases_everywhere"

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Compare every pair at every step."""
        return pair_by_pair(self.upwards(table))


class AtMost(Rule):
    """In every row the absolute value of a column is at most a multiple of another column.

    Attributes:
        column: the bounded column.
        other: the bound.
        factor: multiple of the bound.
        low, high: columns with the interval of ``column`` if it is an estimate; a row then decides
            only if its whole interval is on one side of the bound.
        tolerance: relative excess that counts as rounding.
    """

    kind: Literal["at_most"] = "at_most"
    column: str
    other: str
    factor: float = 1.0
    low: str | None = None
    high: str | None = None
    tolerance: float = 1e-9

    @property
    def chance(self) -> bool:
        """Whether the values are estimates, with intervals at the level of their table."""
        return self.low is not None

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Compare every row that has a value."""
        rows = select(table, self.where)
        rows = rows[rows[self.column].notna()]
        if rows.empty:
            raise NotTestableError(f"no row has a value of {self.column}")
        size, nearest, furthest = self._shares(rows)
        failing, passing = nearest > 1.0 + self.tolerance, furthest <= 1.0 + self.tolerance
        outcome: Outcome = (
            "does not" if failing.any() else "agrees" if passing.all() else "undecided"
        )
        worst = int(np.argmax(nearest if failing.any() else furthest))
        numbers = (float(size[worst]), float(nearest[worst]), float(furthest[worst]))
        interval = f" (interval {numbers[1]:.3g} to {numbers[2]:.3g})" if self.low else ""
        bound = self.other if self.factor == 1.0 else f"{self.factor:.6g} × {self.other}"
        statement = (
            f"The absolute value of {self.column} is at most {bound} in {int(passing.sum()):,} of "
            f"{len(rows):,} rows and above it in {int(failing.sum()):,}. In the least favorable "
            f"row it is {numbers[0]:.4g} times the bound{interval}."
        )
        return Finding(outcome, statement, *numbers, 1.0)

    def _shares(self, rows: pd.DataFrame) -> tuple[Array, Array, Array]:
        """Return shares of the bound ``(k,)``: estimate, least and most in the interval.

        An interval without an end is unbounded there.
        """
        value = rows[self.column].to_numpy(float)
        low = rows[self.low or self.column].fillna(-np.inf).to_numpy(float)
        high = rows[self.high or self.column].fillna(np.inf).to_numpy(float)
        nearest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
        furthest = np.maximum(np.abs(low), np.abs(high))
        limit = self.factor * rows[self.other].to_numpy(float)
        size, nearest, furthest = (
            np.divide(part, limit, out=np.where(part > 0, np.inf, 0.0), where=limit > 0)
            for part in (np.abs(value), nearest, furthest)
        )
        return size, nearest, furthest


class Near(Rule):
    """In every row some columns are within a distance of a value.

    For single runs, which have no interval. A missing value counts as far away.

    Attributes:
        each: the columns.
        value: the value.
        distance: the largest distance, in the columns' unit.
    """

    kind: Literal["near"] = "near"
    each: Several[str]
    value: float
    distance: float

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Measure the distance in every row."""
        rows = select(table, self.where)[list(self.each)].to_numpy(float)
        away = np.where(np.isnan(rows), np.inf, np.abs(rows - self.value))
        near, farthest = int((away <= self.distance).sum()), float(away.max())
        statement = (
            f"{near:,} of {away.size:,} values of {' and '.join(self.each)} are within "
            f"{self.distance:.4g} of {self.value:g}; the farthest is {farthest:.4g} away."
        )
        outcome: Outcome = "agrees" if near == away.size else "does not"
        return Finding(outcome, statement, farthest, farthest, farthest, self.distance)


class PowerLaw(Rule):
    """In every row a column equals a factor times powers of other columns, up to rounding.

    Attributes:
        column: the column.
        factor: the factor.
        powers: other column -> its power.
        tolerance: relative deviation that counts as rounding.
    """

    kind: Literal["power_law"] = "power_law"
    column: str
    factor: float
    powers: Mapping[str, int | float]
    tolerance: float = 1e-9

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Compare every row."""
        rows = select(table, self.where)
        expected = np.full(len(rows), self.factor)
        for name, power in self.powers.items():
            expected *= rows[name].to_numpy(float) ** power
        worst = float(np.abs(rows[self.column].to_numpy(float) / expected - 1.0).max())
        powers = (f"{name}^{power:g}" for name, power in self.powers.items())
        statement = (
            f"In all {len(rows):,} rows, {self.column} differs from "
            f"{' · '.join([f'{self.factor:g}', *powers])} by at most {worst:.2g} of its value; "
            f"up to {self.tolerance:g} counts as rounding."
        )
        outcome: Outcome = "agrees" if worst <= self.tolerance else "does not"
        return Finding(outcome, statement, worst, worst, worst, self.tolerance)


class Agrees(Rule):
    """Simulated frequencies follow a formula: the joint test at 1 % does not reject it.

    Undecided if some frequency has so few trials that its interval is wider than ±``margin``.
    ``differs`` claims the opposite.

    Attributes:
        column: frequencies.
        formula: their probabilities.
        trials: their numbers of trials.
        margin: the deviation that must not go unnoticed.
        same_trials: whether every row has as many trials as the row with the most.
    """

    is_random = True

    kind: Literal["agrees", "differs"] = "agrees"
    column: str
    formula: str
    trials: str
    margin: float
    same_trials: bool = False

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Test all frequencies jointly."""
        rows = select(table, self.where)
        trials = rows[self.trials].to_numpy(float)
        trials = np.full(len(rows), trials.max()) if self.same_trials else trials
        known = (trials > 0) & rows[self.column].notna().to_numpy()
        if not known.any():
            raise NotTestableError(f"no row of {self.column} has any trials")
        frequency, expected = (
            rows[name].to_numpy(float)[known] for name in (self.column, self.formula)
        )
        joint_level = JOINT_LEVEL * level / LEVEL
        trials = trials[known]
        counts = np.rint(frequency * trials)
        p_values = summaries.binomial_p_values(counts, trials, expected)
        worst = int(np.argmin(p_values))
        smallest = float(p_values[worst])
        largest = min(1.0, len(counts) * smallest)
        low, high = summaries.binomial_interval(counts, trials, joint_level / len(counts))
        reach = float(((high - low) / 2.0).max())
        rejects = largest < joint_level
        differences = np.array([counts[worst] / trials[worst], low[worst], high[worst]])
        statement = (
            f"The least likely of {len(counts):,} frequencies {self.column} is "
            f"{differences[0]:.4g} in {trials[worst]:,.0f} trials, where {self.formula} = "
            f"{expected[worst]:.4g}. The joint test at {100 * joint_level:.3g} % "
            f"{'rejects' if rejects else 'does not reject'} agreement (Bonferroni-adjusted p = "
            f"{largest:.2g}). Its intervals are at most ±{reach:.2g} wide; the claim "
            f"needs ±{self.margin:g}."
        )
        outcome: Outcome = (
            "does not" if rejects else "agrees" if reach <= self.margin else "undecided"
        )
        opposite: dict[Outcome, Outcome] = {"agrees": "does not", "does not": "agrees"}
        if self.kind == "differs":
            outcome = opposite.get(outcome, outcome)
        estimate, lower, upper = (differences - expected[worst]).tolist()
        return Finding(outcome, statement, estimate, lower, upper, 0.0)


AnyRule = Annotated[
    Less | LowestAt | Decreases | DecreasesEverywhere | AtMost | Near | PowerLaw | Agrees,
    Field(discriminator="kind"),
]
"""A rule in a file of claims, distinguished by its ``kind``."""
