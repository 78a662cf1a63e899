"""State goals for a release, and check them against outcomes.

Outcomes are tables of one mechanism with the columns :data:`.tuning.ROWS`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from abcdp_core.evaluation.planning.cases import Prior
from abcdp_core.evaluation.planning.estimates import Estimate, average, quantile
from abcdp_core.evaluation.planning.tuning import HONEST_OF_FEW, INTERVAL_SCORE, best

METRICS = {"rmse": "root mean squared error", "mae": "mean absolute error"}
"""Errors in words; tables have them."""

CLEARLY = 0.95
"""Ratio to the prior mean's error below which an error is clearly better."""

HONEST = 0.87
"""Least coverage of 90 % intervals that counts as honest."""


@dataclass(frozen=True)
class Goal:
    """A goal for a release.

    Attributes:
        metric: of errors, one of :data:`METRICS`.
        wanted: the error or interval length that is good enough; ``None`` for the least error.
        probability: share of releases that must keep the error; ``None`` for the average.
        intervals: whether the goal is the length of 90 % intervals instead of an error.
    """

    metric: str
    wanted: float | None = None
    probability: float | None = None
    intervals: bool = False

    @property
    def score(self) -> str:
        """Column of outcomes by which settings are chosen."""
        return INTERVAL_SCORE if self.intervals else {"rmse": "mse", "mae": "mae"}[self.metric]

    @property
    def is_about_averages(self) -> bool:
        """Whether the goal is an average error."""
        return not self.intervals and self.probability is None

    @property
    def quantity(self) -> str:
        """The quantity in words; tables have it."""
        if self.intervals:
            return "mean length of 90 % intervals"
        words = METRICS[self.metric]
        if self.probability is None:
            return words
        return f"{words} that {100.0 * self.probability:g} % of releases keep"

    def error(self, rows: pd.DataFrame, known: Prior) -> Estimate:
        """Return the error averaged over the prior, and over the noise exactly if possible."""
        each = per_case(rows)
        if self.metric == "mae":
            return average(each.mae.to_numpy(), [each.prior_mae.to_numpy()], [known.mae])
        mse = each.expected_mse.where(each.expected_mse.notna(), each.mse).to_numpy()
        controls, expected = [each.prior_mse.to_numpy()], [known.mse]
        if each.ideal_mse.notna().all():
            controls.insert(0, each.ideal_mse.to_numpy())
            expected.insert(0, float(each.ideal_expected.iloc[0]))
        return average(mse, controls, expected).root

    def value(self, rows: pd.DataFrame, known: Prior) -> Estimate:
        """Return the goal's quantity; infinite if intervals are missing."""
        if self.intervals:
            widths = per_case(rows).width.to_numpy()
            return average(widths) if np.isfinite(widths).all() else Estimate(math.inf)
        if self.probability is None:
            return self.error(rows, known)
        each = np.sqrt(rows.mse) if self.metric == "rmse" else rows.mae
        return quantile(each.to_numpy().reshape(rows["index"].nunique(), -1), self.probability)

    def coverage(self, rows: pd.DataFrame) -> float:
        """Return the share of intervals that hold the truth; 1 without intervals."""
        coverage = float(rows.coverage.mean())
        return coverage if self.intervals and math.isfinite(coverage) else 1.0

    def of_prior(self, known: Prior) -> float:
        """Return the error of the prior mean, which needs no data."""
        if self.probability is not None:
            each = np.sqrt(known.each[:, 0]) if self.metric == "rmse" else known.each[:, 1]
            return float(np.quantile(each, self.probability))
        return math.sqrt(known.mse) if self.metric == "rmse" else known.mae

    def is_met(self, estimate: Estimate, coverage: float, known: Prior) -> bool:
        """Return whether the goal is predicted to be met.

        Without a wanted number, the error and its interval must be below the prior mean's error.
        """
        if self.wanted is None:
            prior = self.of_prior(known)
            return estimate.value < CLEARLY * prior and not estimate.high > prior
        return estimate.value <= self.wanted and coverage >= HONEST

    def ratio(self, there: pd.DataFrame, here: pd.DataFrame) -> Estimate:
        """Return the ratio of the average error or length, with the interval of paired numbers.

        Averages are compared even for a goal on a quantile, as a few cases do not show how a
        quantile changes. Infinite if there is nothing to compare.

        Args:
            there: outcomes of all settings at another budget or size.
            here: outcomes of the same cases at the goal's own budget and size.
        """
        column = "width" if self.intervals else {"rmse": "mse", "mae": "mae"}[self.metric]
        above, below = (per_case(halves(rows, self.score))[column] for rows in (there, here))
        if not (above.mean() > 0.0 and below.mean() > 0.0):
            # Intervals of a single draw have length 0.
            return Estimate(math.inf, math.inf, math.inf)
        root = 0.5 if column == "mse" else 1.0
        value = float(above.mean() / below.mean()) ** root
        if len(above) < 2:
            return Estimate(value)
        apart = (above / above.mean() - below / below.mean()).to_numpy()
        error = root * math.sqrt(float(apart @ apart) / (len(apart) - 1) / len(apart))
        factor = math.exp(float(special.stdtrit(len(apart) - 1, 0.975)) * error)
        return Estimate(value, value / factor, value * factor)

    def is_honest(self, rows: pd.DataFrame) -> bool:
        """Return whether intervals of a few cases hold the truth often enough."""
        return self.coverage(halves(rows, self.score)) >= HONEST_OF_FEW


def per_case(rows: pd.DataFrame) -> pd.DataFrame:
    """Return means over the noise, one row per case."""
    if rows["index"].is_unique:
        return rows.set_index("index")
    return rows.select_dtypes("number").groupby("index").mean()


def other_half(tried: pd.DataFrame, score: str, half: int) -> pd.DataFrame:
    """Return outcomes of one half of the cases, even or odd, at the best setting of the other.

    A single case serves as both halves.
    """
    ours = tried[tried["index"] % 2 == half]
    theirs = tried[tried["index"] % 2 != half]
    ours, theirs = (part if len(part) else tried for part in (ours, theirs))
    (place,) = best(theirs, score).values()
    return ours[ours.setting == place]


def halves(tried: pd.DataFrame, score: str) -> pd.DataFrame:
    """Return outcomes of all cases, each half at the best setting of the other."""
    return pd.concat([other_half(tried, score, half) for half in (0, 1)])
