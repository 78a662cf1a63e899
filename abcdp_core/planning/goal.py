"""Goals: what is wanted of a release, and what outcomes say of it.

Outcomes are tables with the columns :data:`.choice.ROWS`, of one mechanism unless said otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from abcdp_core.planning.estimates import Estimate, average, quantile
from abcdp_core.planning.test_cases import Prior
from abcdp_core.planning.tuning import HONEST_OF_FEW, INTERVAL_SCORE, best

METRICS = {"rmse": "root mean squared error", "mae": "mean absolute error"}
"""Errors in words."""

CLEARLY = 0.95
"""Part of the prior mean's error below which another is clearly better."""

HONEST = 0.87
"""Coverage from which 90 % intervals are taken for such."""


@dataclass(frozen=True)
class Goal:
    """What is wanted.

    Attributes:
        metric: of errors, one of :data:`METRICS`.
        wanted: the error or the length of intervals that is good enough; ``None`` for as small an
            error as there is.
        probability: share of all releases that is to keep the error; ``None`` for on average.
        intervals: whether the length of 90 % intervals is wanted, and no error.
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
        """Whether it is about the error on average, and not about intervals or single releases."""
        return not self.intervals and self.probability is None

    @property
    def quantity(self) -> str:
        """What it is about, in words."""
        if self.intervals:
            return "mean length of 90 % intervals"
        words = METRICS[self.metric]
        if self.probability is None:
            return words
        return f"{words} that {100.0 * self.probability:g} % of releases keep"

    def error(self, rows: pd.DataFrame, known: Prior) -> Estimate:
        """The error on average over the prior; exact over the noise where that is known."""
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
        """What it is about; infinite where there are no intervals."""
        if self.intervals:
            widths = per_case(rows).width.to_numpy()
            return average(widths) if np.isfinite(widths).all() else Estimate(math.inf)
        if self.probability is None:
            return self.error(rows, known)
        each = np.sqrt(rows.mse) if self.metric == "rmse" else rows.mae
        return quantile(each.to_numpy().reshape(rows["index"].nunique(), -1), self.probability)

    def coverage(self, rows: pd.DataFrame) -> float:
        """Share of intervals that hold the truth; 1 where none are asked for or there are none."""
        held = float(rows.coverage.mean())
        return held if self.intervals and math.isfinite(held) else 1.0

    def of_prior(self, known: Prior) -> float:
        """What the prior mean errs, which takes no data."""
        if self.probability is not None:
            each = np.sqrt(known.each[:, 0]) if self.metric == "rmse" else known.each[:, 1]
            return float(np.quantile(each, self.probability))
        return math.sqrt(known.mse) if self.metric == "rmse" else known.mae

    def is_met(self, found: Estimate, coverage: float, known: Prior) -> bool:
        """Whether it is predicted to be.

        If no number is wanted, whether the error is clearly below that of the prior mean: by more
        than a little, and so is its interval, once there is one.
        """
        if self.wanted is None:
            prior = self.of_prior(known)
            return found.value < CLEARLY * prior and not found.high > prior
        return found.value <= self.wanted and coverage >= HONEST

    def ratio(self, there: pd.DataFrame, here: pd.DataFrame) -> Estimate:
        """How what it is about changes, by a few cases in which all settings were tried.

        Of single releases too it is the average that is compared: few tell how that changes, not
        how a quantile does. The cases are the same, so the interval is that of paired numbers.
        Infinite where there is nothing to compare.

        Args:
            there: outcomes at another budget or size.
            here: outcomes of the same cases at the own one.
        """
        column = "width" if self.intervals else {"rmse": "mse", "mae": "mae"}[self.metric]
        above, below = (per_case(halves(rows, self.score))[column] for rows in (there, here))
        if not (above.mean() > 0.0 and below.mean() > 0.0):
            # Intervals of a single draw: their lengths compare with nothing.
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
        """Whether intervals of a few cases hold the truth often enough; true of errors."""
        return self.coverage(halves(rows, self.score)) >= HONEST_OF_FEW


def per_case(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over the noise, a row for each case."""
    if rows["index"].is_unique:
        return rows.set_index("index")
    return rows.select_dtypes("number").groupby("index").mean()


def other_half(tried: pd.DataFrame, score: str, half: int) -> pd.DataFrame:
    """Outcomes of one half of the cases, even or odd, at the best setting of the other half.

    While there is one case only it has to serve for both.
    """
    ours = tried[tried["index"] % 2 == half]
    theirs = tried[tried["index"] % 2 != half]
    ours, theirs = (part if len(part) else tried for part in (ours, theirs))
    (place,) = best(theirs, score).values()
    return ours[ours.setting == place]


def halves(tried: pd.DataFrame, score: str) -> pd.DataFrame:
    """Outcomes of all cases, each half at the best setting of the other."""
    return pd.concat([other_half(tried, score, half) for half in (0, 1)])
