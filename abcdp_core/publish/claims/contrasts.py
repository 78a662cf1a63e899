"""Compare groups of a table's rows by their paired means.

Rows with the same value in the pairing column (usually the run's number) share data, pool and
noise. So the means are compared pair by pair, with Student's t interval. All comparisons of one
rule hold simultaneously at the given level (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from abcdp_core.base.arrays import Array
from abcdp_core.base.sentences import SYMBOLS, counted

Outcome = Literal["agrees", "agrees in direction", "does not", "undecided", "not testable"]
Columns = tuple[str, ...]

ROUNDING = 1e-12
"""Difference between values of a formula that counts as rounding."""


class NotTestableError(Exception):
    """A table cannot decide a claim; the text says why."""


@dataclass(frozen=True)
class Finding:
    """Result of a rule: the estimate with its interval, and the limit of the claim."""

    outcome: Outcome
    statement: str
    estimate: float
    low: float
    high: float
    limit: float


# ------------------------------------------------------------------- selecting and pairing rows


def matches(values: pd.Series[Any], wanted: Any) -> NDArray[np.bool_]:
    """Return which values ``(k,)`` equal the wanted one, or one of a list (up to rounding)."""
    if isinstance(wanted, list):
        return np.any([matches(values, item) for item in wanted], axis=0)
    if isinstance(wanted, str | bool | np.bool_):
        return np.asarray(values == wanted, dtype=bool)
    if not pd.api.types.is_numeric_dtype(values):
        return np.zeros(len(values), dtype=bool)
    return np.isclose(values.to_numpy(float), float(wanted), rtol=1e-9, atol=0.0)


def select(table: pd.DataFrame, selection: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of a selection.

    Raises:
        NotTestableError: no row matches.
    """
    mask = np.ones(len(table), dtype=bool)
    for name, wanted in selection.items():
        mask &= matches(table[name], wanted)
    if not mask.any():
        rows = f"rows with {describe(selection)}" if selection else "rows"
        raise NotTestableError(f"the table has no {rows}")
    return table[mask]


def describe(selection: Mapping[str, Any]) -> str:
    """Return a selection in words."""
    each = [f"{SYMBOLS.get(name, name)} = {_show(wanted)}" for name, wanted in selection.items()]
    return ", ".join(each)


def _show(value: Any) -> str:
    if isinstance(value, list):
        return " or ".join(_show(item) for item in value)
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    return value if isinstance(value, str) else f"{float(value):g}"


def combinations(rows: pd.DataFrame, within: Columns) -> Iterator[dict[str, Any]]:
    """Yield each combination of values that occurs in some columns, as a selection."""
    if not within:
        yield {}
        return
    for values in sorted(set(rows[list(within)].itertuples(index=False, name=None))):
        yield dict(zip(within, values, strict=True))


WORDS = {
    "mse": "the mean squared error",
    "mae": "the mean absolute error",
    "error_mu": "the absolute error of μ",
    "error_sigma": "the absolute error of σ",
    "sd_mu": "the posterior standard deviation of μ",
    "flip_probability": "the flip probability",
}
"""Column -> its name in a sentence; all other columns have their own."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison: rows, and the column whose mean is compared."""

    rows: pd.DataFrame = field(repr=False)
    column: str
    selection: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Column and selection in words."""
        name = WORDS.get(self.column, self.column)
        return f"{name} ({describe(self.selection)})" if self.selection else name

    def per_pair(self, pair: str) -> pd.Series[float]:
        """Return the mean for each value of ``pair``.

        Rows without a finite value are left out. A pair that then has fewer rows than the others
        is left out too, because its mean would be over other settings.
        """
        finite = self.rows[np.isfinite(self.rows[self.column].to_numpy(float))]
        groups = finite.groupby(pair)[self.column]
        sizes = groups.size()
        return groups.mean()[sizes == sizes.max()]


@dataclass(frozen=True)
class Contrast:
    """Pairs of numbers ``(k,)``, the first of which is claimed to be smaller."""

    first_name: str
    second_name: str
    first: Array = field(repr=False)
    second: Array = field(repr=False)

    @classmethod
    def of(cls, first: Side, second: Side, pair: str) -> Contrast:
        """Pair two sides; pairs that only one side has are left out."""
        means = [first.per_pair(pair), second.per_pair(pair)]
        both = pd.concat(means, axis=1, join="inner").to_numpy(float)
        return cls(first.name, second.name, both[:, 0], both[:, 1])

    @property
    def differences(self) -> Array:
        """First minus second, ``(k,)``."""
        return self.first - self.second

    def scaled(self, factor: float) -> Contrast:
        """Return the contrast with a multiple of the second numbers."""
        if factor == 1.0:
            return self
        name = f"{factor:g} × {self.second_name}"
        return Contrast(self.first_name, name, self.first, factor * self.second)

    def turned(self) -> Contrast:
        """Return the contrast with its sides exchanged."""
        return Contrast(self.second_name, self.first_name, self.second, self.first)


# ----------------------------------------------------------------------------- judging contrasts


@dataclass(frozen=True)
class Measured:
    """A mean difference with its interval."""

    contrast: Contrast
    difference: float
    low: float
    high: float


def measure(contrasts: list[Contrast], level: float) -> list[Measured]:
    """Return mean differences with t intervals that are simultaneous at 1 − ``level``.

    Raises:
        NotTestableError: there is no contrast, or one has fewer than two pairs.
    """
    if not contrasts:
        raise NotTestableError("there is nothing to compare with")
    fewest = min(contrasts, key=lambda contrast: len(contrast.first))
    if len(fewest.first) < 2:
        raise NotTestableError(
            f"an interval needs at least two pairs, but {fewest.first_name} and "
            f"{fewest.second_name} have {len(fewest.first)}"
        )
    return [_interval(contrast, level / len(contrasts)) for contrast in contrasts]


def _interval(contrast: Contrast, level: float) -> Measured:
    k = len(contrast.differences)
    mean = float(contrast.differences.mean())
    quantile = float(special.stdtrit(k - 1, 1.0 - level / 2.0))
    half = quantile * float(contrast.differences.std(ddof=1)) / math.sqrt(k)
    return Measured(contrast, mean, mean - half, mean + half)


def everywhere(contrasts: list[Contrast], margin: float, level: float) -> Finding:
    """Judge whether all differences are below −margin, or at least below 0 (in direction)."""
    measured = measure(contrasts, level)
    worst = max(measured, key=lambda each: each.high)
    outcome: Outcome = "agrees" if worst.high < -margin else "undecided"
    highest = max(measured, key=lambda each: each.low)
    if highest.low > -margin:
        outcome, worst = "does not", highest
    if outcome != "agrees" and margin > 0.0 and all(each.high < 0.0 for each in measured):
        outcome = "agrees in direction"
    return _on_means(outcome, worst, -margin, measured, level, "least favorable")


def somewhere(contrasts: list[Contrast], margin: float, level: float) -> Finding:
    """Judge whether some difference is below −margin."""
    measured = measure(contrasts, level)
    best = min(measured, key=lambda each: each.high)
    outcome: Outcome = "agrees" if best.high < -margin else "undecided"
    if all(each.low > -margin for each in measured):
        outcome = "does not"
    return _on_means(outcome, best, -margin, measured, level, "most favorable")


def alike(contrasts: list[Contrast], margin: float, level: float) -> Finding:
    """Judge whether all differences are within ±margin."""
    measured = measure(contrasts, level)
    worst = max(measured, key=lambda each: max(each.high, -each.low))
    outcome: Outcome = "undecided"
    if max(worst.high, -worst.low) < margin:
        outcome = "agrees"
    apart = [each for each in measured if each.low > margin or each.high < -margin]
    if apart:
        outcome, worst = "does not", apart[0]
    return _on_means(outcome, worst, margin, measured, level, "least similar", "within ±")


def _on_means(
    outcome: Outcome,
    shown: Measured,
    limit: float,
    measured: list[Measured],
    level: float,
    extreme: str,
    claimed: str = "below ",
) -> Finding:
    """Return the finding, in the words of the comparison that decides."""
    contrast, limit = shown.contrast, limit + 0.0
    opening, together = "The mean", ""
    if len(measured) > 1:
        opening = f"In the {extreme} of {len(measured)} comparisons, the mean"
        if claimed == "below ":
            holding = sum(each.high < limit for each in measured)
            hold = f"{holding} of {len(measured)} comparisons hold"
            opening = f"{hold}. In the {extreme} comparison, the mean"
        together = ", simultaneous for all comparisons"
    statement = (
        f"{opening} of {contrast.first_name} is {contrast.first.mean():.4g} and the mean of "
        f"{contrast.second_name} is {contrast.second.mean():.4g}: a difference of "
        f"{shown.difference:.3g} ({100 * (1 - level):.4g} % interval {shown.low:.3g} to "
        f"{shown.high:.3g}{together}; {len(contrast.first)} pairs). The claim: "
        f"{claimed}{limit:g}."
    )
    return Finding(outcome, statement, shown.difference, shown.low, shown.high, limit)


def pair_by_pair(contrasts: list[Contrast]) -> Finding:
    """Judge whether no first number exceeds its second and every mean is smaller."""
    if not contrasts or min(len(contrast.first) for contrast in contrasts) == 0:
        raise NotTestableError("there are no pairs to compare")
    wrong = [int(np.sum(contrast.differences > ROUNDING)) for contrast in contrasts]
    flat = sum(bool(contrast.differences.mean() >= 0.0) for contrast in contrasts)
    total = sum(len(contrast.first) for contrast in contrasts)
    outcome: Outcome = "does not" if any(wrong) else "undecided" if flat else "agrees"
    shown = contrasts[int(np.argmax(wrong))]
    note = f"; {counted(flat, 'step leaves', 'steps leave')} the mean unchanged" if flat else ""
    if any(wrong):
        note = f", most of them between {shown.second_name} and {shown.first_name}"
    steps = counted(len(contrasts), "step")
    statement = f"{sum(wrong):,} of {total:,} pairs in {steps} go the other way{note}."
    share = sum(wrong) / total
    return Finding(outcome, statement, share, share, share, 0.0)
