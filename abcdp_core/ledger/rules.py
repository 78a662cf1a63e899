"""Rules: each looks at a table and says whether what a claim says is so.

Each rule compares an *estimate* with a *limit*. Where chance is involved, the estimate has an
interval: a claim *agrees* or *does not* if the whole interval lies on one side of the limit, and
*cannot be told* if the interval includes it. A claim that names a size *agrees in direction* if the
size is not met but its sign is certain. Means over runs are compared run by run by Student's t
interval, 95 % for all comparisons of a rule together (Bonferroni). Frequencies are compared with a
formula by exact binomial tests, at 1 % for all together.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, get_type_hints

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from abcdp_core import summaries
from abcdp_core.ledger.contrasts import (
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

Array = NDArray[np.float64]

# Types of a rule's settings; entries of the file are checked against them.
Column = Annotated[str, "the name of a column"]
Columns = tuple[Column, ...]
Scalar = float | bool | str
Selection = Mapping[str, Scalar | list[Scalar]]
Powers = Mapping[str, float]

LEVEL = 0.05
"""The intervals of all comparisons of one rule miss with at most this probability."""

JOINT_LEVEL = 0.01
"""Level of the joint test of frequencies against a formula."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A way to judge a table; its fields are the settings that an entry may give.

    Attributes:
        where: the rows that the claim is about; all if not given.
    """

    where: Selection = field(default_factory=dict)

    @property
    def chance(self) -> bool:
        """Whether its verdict rests on intervals or tests, so that it can be wrong by chance."""
        return False

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Judge a table.

        Args:
            table: the rows.
            level: probability that the intervals of all comparisons may miss.

        Raises:
            NotTestableError: it does not have what the rule needs.
        """
        raise NotImplementedError

    def columns(self) -> frozenset[str]:
        """Names of all columns that it reads."""
        named: set[str] = set()
        for name, hint in get_type_hints(type(self), include_extras=True).items():
            value = getattr(self, name)
            if hint in (Column, Column | None) and value is not None:
                named.add(value)
            elif hint in (Columns, Selection, Powers):
                named.update(value)
        return frozenset(named)


@dataclass(frozen=True, kw_only=True)
class Paired(Rule):
    """A rule that compares means of one column between groups of rows.

    Attributes:
        column: what is compared.
        within: the claim is made at each combination of these columns' values.
        pair: rows of two groups with the same value here belong together.
    """

    column: Column
    within: Columns = ()
    pair: Column = "run"

    @property
    def chance(self) -> bool:
        """Means over runs have intervals."""
        return True


@dataclass(frozen=True, kw_only=True)
class Less(Paired):
    """The mean of a column under one selection is below that under another.

    What the selections leave open is averaged within each pair.

    Attributes:
        a, b: the two selections. Where ``b`` names a column of ``within``, all combinations are
            compared with its choice.
        other: the column taken under ``b``; the same one if not given.
        margin: how much smaller at least, in the column's unit.
        factor: of the second one, at most 1; 0.5 asks for less than half.
    """

    a: Selection
    b: Selection
    other: Column | None = None
    margin: float = 0.0
    factor: float = 1.0

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Below at every combination."""
        contrasts = self.contrasts(table)
        scaled = [contrast.scaled(self.factor) for contrast in contrasts]
        finding = everywhere(scaled, self.margin, level)
        named = self.factor < 1.0 and finding.outcome != "agrees"
        if named and everywhere(contrasts, 0.0, level).outcome == "agrees":
            return dataclasses.replace(finding, outcome="agrees in direction")
        return finding

    def contrasts(self, table: pd.DataFrame) -> list[Contrast]:
        """One contrast for each combination."""
        rows = select(table, self.where)
        first, second = select(rows, self.a), select(rows, self.b)
        contrasts = []
        for setting in combinations(first, self.within):
            shared = {name: value for name, value in setting.items() if name not in self.b}
            a = Side(select(first, setting), self.column, {**self.a, **setting})
            b = Side(select(second, shared), self.other or self.column, {**self.b, **shared})
            contrasts.append(Contrast.of(a, b, self.pair))
        return contrasts


@dataclass(frozen=True, kw_only=True)
class LessSomewhere(Less):
    """As :class:`Less`, but at one combination of ``within`` at least."""

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Below at some combination."""
        return somewhere(self.contrasts(table), self.margin, level)


@dataclass(frozen=True, kw_only=True)
class Alike(Less):
    """The means under two selections differ by at most ``margin``, either way."""

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Alike at every combination."""
        return alike(self.contrasts(table), self.margin, level)


@dataclass(frozen=True, kw_only=True)
class LowestAt(Paired):
    """Over the values of one column, the mean of another is lowest at a named one.

    Attributes:
        along: the column whose values compete.
        value: the one that is claimed to win.
        margin: by how much at least, in the column's unit.
    """

    along: Column
    value: Scalar
    margin: float = 0.0

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Below every rival at every combination."""
        rows = select(table, self.where)
        return everywhere(self.against_rivals(rows), self.margin, level)

    def against_rivals(self, rows: pd.DataFrame) -> list[Contrast]:
        """Contrasts of the named value with each other one, at each combination."""
        rivals = sorted(rows.loc[~matches(rows[self.along], self.value), self.along].unique())
        return _steps(self, rows, self.along, [(self.value, rival) for rival in rivals])


@dataclass(frozen=True, kw_only=True)
class LowestAtMost(LowestAt):
    """As :class:`LowestAt`, but at more than half of the combinations of ``within``."""

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Below every rival at most combinations."""
        rows = select(table, self.where)
        settings = list(combinations(rows, self.within))
        each = [
            everywhere(self.against_rivals(select(rows, one)), self.margin, level / len(settings))
            for one in settings
        ]
        agree = sum(finding.outcome == "agrees" for finding in each)
        differ = sum(finding.outcome == "does not" for finding in each)
        outcome: Outcome = "cannot be told"
        if 2 * agree > len(each):
            outcome = "agrees"
        elif 2 * differ >= len(each):
            outcome = "does not"
        statement = (
            f"Of {len(each)} settings the lowest {self.column} is at {self.along} = {self.value:g} "
            f"in {agree}, elsewhere in {differ} and cannot be told in "
            f"{len(each) - agree - differ}; claimed is more than half."
        )
        low, high = agree / len(each), 1.0 - differ / len(each)
        return Finding(outcome, statement, low, low, high, 0.5)


@dataclass(frozen=True, kw_only=True)
class Decreases(Paired):
    """The mean of a column falls from each value of another to the next larger one.

    Attributes:
        along: the other column.
        margin: the least fall of each step, in the column's unit.
    """

    along: Column
    margin: float = 0.0

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """A fall in every step at every combination."""
        return everywhere(_upwards(self, table, self.along), self.margin, level)


@dataclass(frozen=True, kw_only=True)
class Increases(Decreases):
    """The mean of a column rises from each value of another to the next larger one."""

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """A rise in every step at every combination."""
        steps = _upwards(self, table, self.along)
        return everywhere([step.turned() for step in steps], self.margin, level)


@dataclass(frozen=True, kw_only=True)
class DecreasesEverywhere(Paired):
    """A column never rises in any pair, and falls in the mean, as another grows.

    For values of a formula, where chance plays no part. Undecided if a step changes nothing.

    Attributes:
        along: the other column.
    """

    along: Column

    @property
    def chance(self) -> bool:
        """A formula has none."""
        return False

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """No rise in any pair of any step."""
        return pair_by_pair(_upwards(self, table, self.along))


@dataclass(frozen=True, kw_only=True)
class IncreasesEverywhere(DecreasesEverywhere):
    """A column never falls in any pair, and rises in the mean, as another grows."""

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """No fall in any pair of any step."""
        steps = _upwards(self, table, self.along)
        return pair_by_pair([step.turned() for step in steps])


def _upwards(rule: Paired, table: pd.DataFrame, along: str) -> list[Contrast]:
    """Contrasts of each value of a column with the one before it."""
    rows = select(table, rule.where)
    values = sorted(rows[along].unique())
    return _steps(
        rule, rows, along, [(after, before) for before, after in itertools.pairwise(values)]
    )


def _steps(
    rule: Paired, rows: pd.DataFrame, along: str, values: Iterable[tuple[Any, Any]]
) -> list[Contrast]:
    """Contrasts of pairs of values of a column, at each combination of the rule's ``within``."""
    contrasts = []
    for setting, pair in itertools.product(list(combinations(rows, rule.within)), values):
        sides = [
            Side(select(rows, here), rule.column, here)
            for here in ({along: value, **setting} for value in pair)
        ]
        contrasts.append(Contrast.of(sides[0], sides[1], rule.pair))
    return contrasts


@dataclass(frozen=True, kw_only=True)
class AtMost(Rule):
    """In every row the size of a column is at most a multiple of another column.

    Attributes:
        column: what is bounded; its sign does not matter.
        other: the bound.
        factor: of the bound.
        low, high: columns with the interval of ``column`` where it is an estimate: a row then
            decides only if its whole interval lies on one side of the bound.
        tolerance: relative excess that counts as rounding.
    """

    column: Column
    other: Column
    factor: float = 1.0
    low: Column | None = None
    high: Column | None = None
    tolerance: float = 1e-9

    @property
    def chance(self) -> bool:
        """Estimates have intervals, each at the level of its table."""
        return self.low is not None

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Bounded in every row that has a value."""
        rows = select(table, self.where)
        rows = rows[rows[self.column].notna()]
        if rows.empty:
            raise NotTestableError(f"no row has a value of {self.column}")
        size, nearest, furthest = self._shares(rows)
        failing, passing = nearest > 1.0 + self.tolerance, furthest <= 1.0 + self.tolerance
        outcome: Outcome = (
            "does not" if failing.any() else "agrees" if passing.all() else "cannot be told"
        )
        worst = int(np.argmax(nearest if failing.any() else furthest))
        numbers = (float(size[worst]), float(nearest[worst]), float(furthest[worst]))
        interval = f" (interval {numbers[1]:.3g} to {numbers[2]:.3g})" if self.low else ""
        bound = self.other if self.factor == 1.0 else f"{self.factor:.6g} × {self.other}"
        statement = (
            f"The size of {self.column} is at most {bound} in {int(passing.sum()):,} of "
            f"{len(rows):,} rows and above it in {int(failing.sum()):,}; in the least favourable "
            f"row it is {numbers[0]:.4g} times the bound{interval}."
        )
        return Finding(outcome, statement, *numbers, 1.0)

    def _shares(self, rows: pd.DataFrame) -> tuple[Array, Array, Array]:
        """Shares of the bound ``(k,)``: as estimated, and at the ends of the interval of the size.

        An interval with a missing end is unbounded there.
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


@dataclass(frozen=True, kw_only=True)
class Near(Rule):
    """In every row some columns lie within a distance of a value.

    For what a single run shows, where there is no interval. A missing value is far away.

    Attributes:
        each: the columns.
        value: what they are to be near.
        distance: how far away is still near, in the columns' unit.
    """

    each: Columns
    value: float
    distance: float

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Near in every row."""
        rows = select(table, self.where)[list(self.each)].to_numpy(float)
        away = np.where(np.isnan(rows), np.inf, np.abs(rows - self.value))
        near, farthest = int((away <= self.distance).sum()), float(away.max())
        statement = (
            f"Of {away.size:,} values of {' and '.join(self.each)} {near:,} lie within "
            f"{self.distance:.4g} of {self.value:g}; the farthest is {farthest:.4g} away."
        )
        outcome: Outcome = "agrees" if near == away.size else "does not"
        return Finding(outcome, statement, farthest, farthest, farthest, self.distance)


@dataclass(frozen=True, kw_only=True)
class PowerLaw(Rule):
    """In every row a column is a factor times powers of other columns, up to rounding.

    Attributes:
        column: the column.
        factor: the factor.
        powers: other column -> its power.
        tolerance: relative deviation that counts as rounding.
    """

    column: Column
    factor: float
    powers: Powers
    tolerance: float = 1e-9

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Equal in every row."""
        rows = select(table, self.where)
        expected = np.full(len(rows), float(self.factor))
        for name, power in self.powers.items():
            expected *= rows[name].to_numpy(float) ** power
        worst = float(np.abs(rows[self.column].to_numpy(float) / expected - 1.0).max())
        powers = (f"{name}^{power:g}" for name, power in self.powers.items())
        statement = (
            f"Over {len(rows):,} rows {self.column} differs from "
            f"{' · '.join([f'{self.factor:g}', *powers])} by at most {worst:.2g} of its value; "
            f"up to {self.tolerance:g} is rounding."
        )
        outcome: Outcome = "agrees" if worst <= self.tolerance else "does not"
        return Finding(outcome, statement, worst, worst, worst, self.tolerance)


@dataclass(frozen=True, kw_only=True)
class Agrees(Rule):
    """Simulated frequencies come from their formula: the joint test at 1 % does not reject.

    Agreement is seen only as finely as there are trials: undecided if the interval of some
    frequency reaches further than ``margin`` to either side.

    Attributes:
        column: frequencies.
        formula: the probability of each.
        trials: the number of trials of each.
        margin: the deviation that must not go unnoticed.
        same_trials: every row has as many trials as the row with most.
    """

    column: Column
    formula: Column
    trials: Column
    margin: float
    same_trials: bool = False

    @property
    def chance(self) -> bool:
        """It is a test."""
        return True

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """No frequency too far from its formula, tested together."""
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
        return self._test(np.rint(frequency * trials[known]), trials[known], expected, joint_level)

    def _test(self, counts: Array, trials: Array, expected: Array, joint_level: float) -> Finding:
        """The joint test of counts ``(k,)`` against probabilities ``(k,)``."""
        p_values = summaries.binomial_p_values(counts, trials, expected)
        worst = int(np.argmin(p_values))
        smallest = float(p_values[worst])
        largest = min(1.0, len(counts) * smallest)
        low, high = summaries.binomial_interval(counts, trials, joint_level / len(counts))
        reach = float(((high - low) / 2.0).max())
        rejects = largest < joint_level
        differences = np.array([counts[worst] / trials[worst], low[worst], high[worst]])
        statement = (
            f"Of {len(counts):,} frequencies {self.column} the least likely is "
            f"{differences[0]:.4g} against {self.formula} = {expected[worst]:.4g} in "
            f"{trials[worst]:,.0f} trials; the joint test at {100 * joint_level:.3g} % "
            f"{'rejects' if rejects else 'does not reject'} agreement (p from {smallest:.2g} to "
            f"{largest:.2g}, Bonferroni), with intervals of at most ±{reach:.2g} where "
            f"±{self.margin:g} was wanted."
        )
        outcome: Outcome = (
            "does not" if rejects else "agrees" if reach <= self.margin else "cannot be told"
        )
        estimate, lower, upper = (differences - expected[worst]).tolist()
        return Finding(outcome, statement, estimate, lower, upper, 0.0)


@dataclass(frozen=True, kw_only=True)
class Differs(Agrees):
    """Frequencies are known *not* to come from a formula: holds where :class:`Agrees` fails."""

    def judge(self, table: pd.DataFrame, level: float = LEVEL) -> Finding:
        """Some frequency too far from the formula."""
        finding = super().judge(table, level)
        opposite: dict[Outcome, Outcome] = {"agrees": "does not", "does not": "agrees"}
        outcome = opposite.get(finding.outcome, finding.outcome)
        return dataclasses.replace(finding, outcome=outcome)


RULES: dict[str, type[Rule]] = {
    "less": Less,
    "less_somewhere": LessSomewhere,
    "alike": Alike,
    "lowest_at": LowestAt,
    "lowest_at_most": LowestAtMost,
    "decreases": Decreases,
    "increases": Increases,
    "decreases_everywhere": DecreasesEverywhere,
    "increases_everywhere": IncreasesEverywhere,
    "at_most": AtMost,
    "near": Near,
    "power_law": PowerLaw,
    "agrees": Agrees,
    "differs": Differs,
}
"""Kind of rule -> its class; an entry's other keys are the class's fields."""
