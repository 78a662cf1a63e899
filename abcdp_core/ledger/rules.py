"""Rules: each looks at a table and says whether what a claim says is so.

Each rule compares an *estimate* with a *limit*. Where chance is involved, the estimate has an
interval: a claim *holds* or *fails* if the whole interval lies on one side of the limit, and is
*undecided* if the interval includes it. Means over runs are compared run by run (rows that share a
run share data, pool and noise) by Student's t interval, 95 % for all comparisons of a rule together
(Bonferroni). Frequencies are compared with a formula by exact binomial tests, at 1 % for all
together.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_type_hints

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from abcdp_core import summaries

Array = NDArray[np.float64]
Outcome = Literal["holds", "fails", "undecided", "not testable here"]

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

ROUNDING = 1e-12
"""Differences up to this size between values of a formula are rounding."""


class NotTestableError(Exception):
    """The tables at hand cannot decide a claim; the text says why."""


@dataclass(frozen=True)
class Finding:
    """What a rule found in a table.

    Attributes:
        outcome: the judgement.
        statement: one sentence with the numbers.
        estimate: what was measured.
        low, high: its interval; both equal to the estimate where chance plays no part.
        limit: what the claim compares the estimate with.
    """

    outcome: Outcome
    statement: str
    estimate: float
    low: float
    high: float
    limit: float


# ------------------------------------------------------------------- selecting and pairing rows


def _matches(values: pd.Series[Any], wanted: Any) -> NDArray[np.bool_]:
    """Which of the values ``(k,)`` are the wanted one, or one of a list; numbers up to rounding."""
    if isinstance(wanted, list):
        return np.any([_matches(values, item) for item in wanted], axis=0)
    if isinstance(wanted, str | bool | np.bool_):
        return np.asarray(values == wanted, dtype=bool)
    if not pd.api.types.is_numeric_dtype(values):
        return np.zeros(len(values), dtype=bool)
    return np.isclose(values.to_numpy(float), float(wanted), rtol=1e-9, atol=0.0)


def _select(table: pd.DataFrame, selection: Mapping[str, Any]) -> pd.DataFrame:
    """The rows of a selection.

    Raises:
        NotTestableError: there are none.
    """
    mask = np.ones(len(table), dtype=bool)
    for name, wanted in selection.items():
        mask &= _matches(table[name], wanted)
    if not mask.any():
        rows = f"rows with {_describe(selection)}" if selection else "rows"
        raise NotTestableError(f"the table has no {rows}")
    return table[mask]


def _describe(selection: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_show(wanted)}" for name, wanted in selection.items())


def _show(value: Any) -> str:
    if isinstance(value, list):
        return " or ".join(_show(item) for item in value)
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    return value if isinstance(value, str) else f"{float(value):g}"


def _combinations(rows: pd.DataFrame, within: Columns) -> Iterator[dict[str, Any]]:
    """Each combination of the columns' values that occurs, as a selection; one if no column."""
    if not within:
        yield {}
        return
    for values in sorted(set(rows[list(within)].itertuples(index=False, name=None))):
        yield dict(zip(within, values, strict=True))


@dataclass(frozen=True)
class _Side:
    """One side of a comparison: rows, the column whose mean counts, and a name for both."""

    rows: pd.DataFrame = field(repr=False)
    column: str
    selection: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.column} ({_describe(self.selection)})" if self.selection else self.column

    def per_pair(self, pair: str) -> pd.Series[float]:
        """Mean for each value of ``pair``.

        Rows without a finite value are left out, and so is a pair that then has fewer rows than
        others: its mean would be over other settings.
        """
        finite = self.rows[np.isfinite(self.rows[self.column].to_numpy(float))]
        groups = finite.groupby(pair)[self.column]
        sizes = groups.size()
        return groups.mean()[sizes == sizes.max()]


@dataclass(frozen=True)
class _Contrast:
    """Paired numbers ``(k,)``, the first of which are claimed to be the smaller ones."""

    first_name: str
    second_name: str
    first: Array = field(repr=False)
    second: Array = field(repr=False)

    @classmethod
    def of(cls, first: _Side, second: _Side, pair: str) -> _Contrast:
        """Pair two sides; what only one of them has is left out."""
        means = [first.per_pair(pair), second.per_pair(pair)]
        both = pd.concat(means, axis=1, join="inner").to_numpy(float)
        return cls(first.name, second.name, both[:, 0], both[:, 1])

    @property
    def differences(self) -> Array:
        return self.first - self.second


# ----------------------------------------------------------------------------- judging contrasts


@dataclass(frozen=True)
class _Measured:
    """A contrast's mean difference with its interval."""

    contrast: _Contrast
    difference: float
    low: float
    high: float


def _measure(contrasts: list[_Contrast]) -> list[_Measured]:
    """Mean differences with t intervals that hold for all of them at once.

    Raises:
        NotTestableError: there is no contrast, or one has fewer than two pairs.
    """
    if not contrasts:
        raise NotTestableError("there is nothing to compare with")
    fewest = min(contrasts, key=lambda contrast: len(contrast.first))
    if len(fewest.first) < 2:
        raise NotTestableError(
            f"an interval needs two pairs, and {fewest.first_name} with {fewest.second_name} "
            f"has {len(fewest.first)}"
        )
    return [_interval(contrast, len(contrasts)) for contrast in contrasts]


def _interval(contrast: _Contrast, comparisons: int) -> _Measured:
    k = len(contrast.differences)
    mean = float(contrast.differences.mean())
    quantile = float(special.stdtrit(k - 1, 1.0 - LEVEL / (2 * comparisons)))
    half = quantile * float(contrast.differences.std(ddof=1)) / math.sqrt(k)
    return _Measured(contrast, mean, mean - half, mean + half)


def _everywhere(contrasts: list[_Contrast], margin: float) -> Finding:
    """Holds if every difference lies below −margin, fails if one lies above."""
    measured = _measure(contrasts)
    worst = max(measured, key=lambda each: each.high)
    outcome: Outcome = "holds" if worst.high < -margin else "undecided"
    highest = max(measured, key=lambda each: each.low)
    if highest.low > -margin:
        outcome, worst = "fails", highest
    return _on_means(outcome, worst, margin, measured, "least favourable")


def _somewhere(contrasts: list[_Contrast], margin: float) -> Finding:
    """Holds if one difference lies below −margin, fails if every one lies above."""
    measured = _measure(contrasts)
    best = min(measured, key=lambda each: each.high)
    outcome: Outcome = "holds" if best.high < -margin else "undecided"
    if all(each.low > -margin for each in measured):
        outcome = "fails"
    return _on_means(outcome, best, margin, measured, "most favourable")


def _on_means(
    outcome: Outcome, shown: _Measured, margin: float, measured: list[_Measured], extreme: str
) -> Finding:
    """The finding, told by the comparison that decides."""
    contrast, limit = shown.contrast, 0.0 - margin
    opening, together = "The mean", ""
    if len(measured) > 1:
        holding = sum(each.high < limit for each in measured)
        opening = f"Of {len(measured)} comparisons {holding} hold; in the {extreme} the mean"
        together = ", for all comparisons together"
    statement = (
        f"{opening} of {contrast.first_name} is {contrast.first.mean():.4g} and that of "
        f"{contrast.second_name} is {contrast.second.mean():.4g}: difference "
        f"{shown.difference:.3g} (95 % interval {shown.low:.3g} to {shown.high:.3g}{together}, "
        f"{len(contrast.first)} pairs), claimed to be below {limit:g}."
    )
    return Finding(outcome, statement, shown.difference, shown.low, shown.high, limit)


def _pair_by_pair(contrasts: list[_Contrast]) -> Finding:
    """Holds if no first number exceeds its second and every mean is smaller."""
    if not contrasts or min(len(contrast.first) for contrast in contrasts) == 0:
        raise NotTestableError("there are no pairs to compare")
    wrong = [int(np.sum(contrast.differences > ROUNDING)) for contrast in contrasts]
    flat = sum(bool(contrast.differences.mean() >= 0.0) for contrast in contrasts)
    total = sum(len(contrast.first) for contrast in contrasts)
    outcome: Outcome = "fails" if any(wrong) else "undecided" if flat else "holds"
    shown = contrasts[int(np.argmax(wrong))]
    note = f"; {flat} steps change nothing in the mean" if flat else ""
    if any(wrong):
        note = f", most of them between {shown.second_name} and {shown.first_name}"
    statement = (
        f"{sum(wrong):,} of {total:,} pairs in {len(contrasts)} steps go the other way{note}."
    )
    share = sum(wrong) / total
    return Finding(outcome, statement, share, share, share, 0.0)


# ---------------------------------------------------------------------------------------- rules


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A way to judge a table; its fields are the settings that an entry may give.

    Attributes:
        where: the rows that the claim is about; all if not given.
    """

    where: Selection = field(default_factory=dict)

    def judge(self, table: pd.DataFrame) -> Finding:
        """Judge a table.

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


@dataclass(frozen=True, kw_only=True)
class Less(Paired):
    """The mean of a column under one selection is below that under another.

    What the selections leave open is averaged within each pair.

    Attributes:
        a, b: the two selections. Where ``b`` names a column of ``within``, all combinations are
            compared with its choice.
        other: the column taken under ``b``; the same one if not given.
        margin: how much smaller at least, in the column's unit.
    """

    a: Selection
    b: Selection
    other: Column | None = None
    margin: float = 0.0

    def judge(self, table: pd.DataFrame) -> Finding:
        """Below at every combination."""
        return _everywhere(self.contrasts(table), self.margin)

    def contrasts(self, table: pd.DataFrame) -> list[_Contrast]:
        """One contrast for each combination."""
        rows = _select(table, self.where)
        first, second = _select(rows, self.a), _select(rows, self.b)
        contrasts = []
        for setting in _combinations(first, self.within):
            shared = {name: value for name, value in setting.items() if name not in self.b}
            a = _Side(_select(first, setting), self.column, {**self.a, **setting})
            b = _Side(_select(second, shared), self.other or self.column, {**self.b, **shared})
            contrasts.append(_Contrast.of(a, b, self.pair))
        return contrasts


@dataclass(frozen=True, kw_only=True)
class LessSomewhere(Less):
    """As :class:`Less`, but at one combination of ``within`` at least."""

    def judge(self, table: pd.DataFrame) -> Finding:
        """Below at some combination."""
        return _somewhere(self.contrasts(table), self.margin)


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

    def judge(self, table: pd.DataFrame) -> Finding:
        """Below every rival at every combination."""
        rows = _select(table, self.where)
        rivals = sorted(rows.loc[~_matches(rows[self.along], self.value), self.along].unique())
        steps = _steps(self, rows, self.along, [(self.value, rival) for rival in rivals])
        return _everywhere(steps, self.margin)


@dataclass(frozen=True, kw_only=True)
class Decreases(Paired):
    """The mean of a column falls from each value of another to the next larger one.

    Attributes:
        along: the other column.
        margin: the least fall of each step, in the column's unit.
    """

    along: Column
    margin: float = 0.0

    def judge(self, table: pd.DataFrame) -> Finding:
        """A fall in every step at every combination."""
        return _everywhere(_upwards(self, table, self.along), self.margin)


@dataclass(frozen=True, kw_only=True)
class DecreasesEverywhere(Paired):
    """A column never rises in any pair, and falls in the mean, as another grows.

    For values of a formula, where chance plays no part. Undecided if a step changes nothing.

    Attributes:
        along: the other column.
    """

    along: Column

    def judge(self, table: pd.DataFrame) -> Finding:
        """No rise in any pair of any step."""
        return _pair_by_pair(_upwards(self, table, self.along))


@dataclass(frozen=True, kw_only=True)
class IncreasesEverywhere(DecreasesEverywhere):
    """A column never falls in any pair, and rises in the mean, as another grows."""

    def judge(self, table: pd.DataFrame) -> Finding:
        """No fall in any pair of any step."""
        steps = _upwards(self, table, self.along)
        return _pair_by_pair(
            [_Contrast(s.second_name, s.first_name, s.second, s.first) for s in steps]
        )


def _upwards(rule: Paired, table: pd.DataFrame, along: str) -> list[_Contrast]:
    """Contrasts of each value of a column with the one before it."""
    rows = _select(table, rule.where)
    values = sorted(rows[along].unique())
    return _steps(
        rule, rows, along, [(after, before) for before, after in itertools.pairwise(values)]
    )


def _steps(
    rule: Paired, rows: pd.DataFrame, along: str, values: Iterable[tuple[Any, Any]]
) -> list[_Contrast]:
    """Contrasts of pairs of values of a column, at each combination of the rule's ``within``."""
    contrasts = []
    for setting, pair in itertools.product(list(_combinations(rows, rule.within)), values):
        sides = [
            _Side(_select(rows, here), rule.column, here)
            for here in ({along: value, **setting} for value in pair)
        ]
        contrasts.append(_Contrast.of(sides[0], sides[1], rule.pair))
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

    def judge(self, table: pd.DataFrame) -> Finding:
        """Bounded in every row that has a value."""
        rows = _select(table, self.where)
        rows = rows[rows[self.column].notna()]
        if rows.empty:
            raise NotTestableError(f"no row has a value of {self.column}")
        size, nearest, furthest = self._shares(rows)
        failing, passing = nearest > 1.0 + self.tolerance, furthest <= 1.0 + self.tolerance
        outcome: Outcome = "fails" if failing.any() else "holds" if passing.all() else "undecided"
        worst = int(np.argmax(nearest if failing.any() else furthest))
        numbers = (float(size[worst]), float(nearest[worst]), float(furthest[worst]))
        interval = f" (interval {numbers[1]:.3g} to {numbers[2]:.3g})" if self.low else ""
        bound = self.other if self.factor == 1.0 else f"{self.factor:.6g} × {self.other}"
        statement = (
            f"The size of {self.column} is at most {bound} in {int(passing.sum()):,} of "
            f"{len(rows):,} rows and above it in {int(failing.sum()):,}; in the least favourable "
            f"row it is {numbers[0]:.4g} of the bound{interval}."
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

    def judge(self, table: pd.DataFrame) -> Finding:
        """Near in every row."""
        rows = _select(table, self.where)[list(self.each)].to_numpy(float)
        away = np.where(np.isnan(rows), np.inf, np.abs(rows - self.value))
        near, farthest = int((away <= self.distance).sum()), float(away.max())
        statement = (
            f"Of {away.size:,} values of {' and '.join(self.each)} {near:,} lie within "
            f"{self.distance:.4g} of {self.value:g}; the farthest is {farthest:.4g} away."
        )
        outcome: Outcome = "holds" if near == away.size else "fails"
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

    def judge(self, table: pd.DataFrame) -> Finding:
        """Equal in every row."""
        rows = _select(table, self.where)
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
        outcome: Outcome = "holds" if worst <= self.tolerance else "fails"
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

    def judge(self, table: pd.DataFrame) -> Finding:
        """No frequency too far from its formula, tested together."""
        rows = _select(table, self.where)
        trials = rows[self.trials].to_numpy(float)
        trials = np.full(len(rows), trials.max()) if self.same_trials else trials
        known = (trials > 0) & rows[self.column].notna().to_numpy()
        if not known.any():
            raise NotTestableError(f"no row of {self.column} has any trials")
        frequency, expected = (
            rows[name].to_numpy(float)[known] for name in (self.column, self.formula)
        )
        return self._test(np.rint(frequency * trials[known]), trials[known], expected)

    def _test(self, counts: Array, trials: Array, expected: Array) -> Finding:
        """The joint test of counts ``(k,)`` against probabilities ``(k,)``."""
        p_values = summaries.binomial_p_values(counts, trials, expected)
        worst = int(np.argmin(p_values))
        p_value = float(min(1.0, len(counts) * p_values[worst]))
        low, high = summaries.binomial_interval(counts, trials, JOINT_LEVEL / len(counts))
        reach = float(((high - low) / 2.0).max())
        rejects = p_value < JOINT_LEVEL
        differences = np.array([counts[worst] / trials[worst], low[worst], high[worst]])
        statement = (
            f"Of {len(counts):,} frequencies {self.column} the least likely is "
            f"{differences[0]:.4g} against {self.formula} = {expected[worst]:.4g} in "
            f"{trials[worst]:,.0f} trials; the joint test at 1 % "
            f"{'rejects' if rejects else 'does not reject'} agreement (p = {p_value:.2g}), with "
            f"intervals of at most ±{reach:.2g} where ±{self.margin:g} was wanted."
        )
        outcome: Outcome = "fails" if rejects else "holds" if reach <= self.margin else "undecided"
        estimate, lower, upper = (differences - expected[worst]).tolist()
        return Finding(outcome, statement, estimate, lower, upper, 0.0)


@dataclass(frozen=True, kw_only=True)
class Differs(Agrees):
    """Frequencies are known *not* to come from a formula: holds where :class:`Agrees` fails."""

    def judge(self, table: pd.DataFrame) -> Finding:
        """Some frequency too far from the formula."""
        finding = super().judge(table)
        opposite: dict[Outcome, Outcome] = {"holds": "fails", "fails": "holds"}
        outcome = opposite.get(finding.outcome, finding.outcome)
        return dataclasses.replace(finding, outcome=outcome)


@dataclass(frozen=True, kw_only=True)
class Untestable(Rule):
    """Nothing to judge.

    Attributes:
        reason: why.
    """

    reason: str

    def judge(self, table: pd.DataFrame) -> Finding:
        """Never judges."""
        raise NotTestableError(self.reason)


RULES: dict[str, type[Rule]] = {
    "less": Less,
    "less_somewhere": LessSomewhere,
    "lowest_at": LowestAt,
    "decreases": Decreases,
    "decreases_everywhere": DecreasesEverywhere,
    "increases_everywhere": IncreasesEverywhere,
    "at_most": AtMost,
    "near": Near,
    "power_law": PowerLaw,
    "agrees": Agrees,
    "differs": Differs,
    "untestable": Untestable,
}
"""Kind of rule -> its class; an entry's other keys are the class's fields."""
