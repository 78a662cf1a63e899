"""Summaries of weighted samples and of repeated runs.

Distribution functions come from scipy.special, because importing scipy.stats takes seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator

if TYPE_CHECKING:
    import pandas as pd

METRICS = {"mae": "mean absolute error", "mse": "mean squared error"}
"""Column of a table of errors -> its name."""


def weighted_mean(values: Array, weights: Array) -> Array:
    """Return the mean ``(d,)`` of values ``(k, d)`` with weights ``(k,)`` that sum to 1."""
    return weights @ values


def weighted_variance(values: Array, weights: Array) -> Array:
    """Return the variance ``(d,)`` of values ``(k, d)`` with weights ``(k,)`` that sum to 1."""
    return weighted_mean((values - weighted_mean(values, weights)) ** 2, weights)


def weighted_quantile(values: Array, weights: Array, probabilities: ArrayLike) -> Array:
    """Return quantiles ``(q, d)`` of values ``(k, d)`` with weights ``(k,)`` that sum to 1.

    Each value is at the middle of its weight, with straight lines between them; values without
    weight are ignored. For equal weights this is Hazen's definition.
    """
    kept = weights > 0
    values, weights = values[kept], weights[kept]
    wanted = np.asarray(probabilities, float)
    quantiles = np.empty((len(wanted), values.shape[1]))
    for column, order in enumerate(np.argsort(values, axis=0, kind="stable").T):
        middles = np.cumsum(weights[order]) - 0.5 * weights[order]
        quantiles[:, column] = np.interp(wanted, middles, values[order, column])
    return quantiles


@dataclass(frozen=True)
class WeightedSample:
    """A sample, as of a posterior.

    Attributes:
        values: ``(k, d)``.
        weights: ``(k,)``, which sum to 1.
    """

    values: Array = field(repr=False)
    weights: Array = field(repr=False)

    @classmethod
    def even(cls, values: Array) -> WeightedSample:
        """Return values ``(k, d)`` of equal weight."""
        return cls(values, np.full(len(values), 1.0 / len(values)))

    @property
    def mean(self) -> Array:
        """Mean ``(d,)``."""
        return weighted_mean(self.values, self.weights)

    def quantile(self, probabilities: ArrayLike) -> Array:
        """Return quantiles ``(q, d)``."""
        return weighted_quantile(self.values, self.weights, probabilities)

    def interval(self, level: float = 0.9) -> tuple[Array, Array]:
        """Return the ends ``(d,)`` of equal-tailed intervals."""
        low, high = self.quantile([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        return low, high


def effective_sample_size(weights: Array) -> float:
    """Return (Σw)² / Σw² of weights ``(k,)``; 0 if there are none."""
    if len(weights) == 0:
        return 0.0
    return float(weights.sum() ** 2 / np.sum(weights**2))


def autocorrelation_time(chain: Array) -> float:
    """Return the integrated autocorrelation time of a chain ``(k,)``: steps per independent one.

    1 + 2 Σ ρ_j up to the first window that is five times the time found in it (Sokal); k for a
    constant chain.
    """
    apart = chain - chain.mean()
    if not apart.any():
        return float(len(chain))
    size = 2 ** (2 * len(chain) - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(apart, size)) ** 2
    covariance = np.fft.irfft(spectrum, size)[: len(chain)]
    times = 2.0 * np.cumsum(covariance / covariance[0]) - 1.0
    enough = np.arange(len(chain)) >= 5.0 * times
    chosen = times[np.argmax(enough)] if enough.any() else times[-1]
    return float(np.clip(chosen, 1.0, len(chain)))


def errors(estimate: Array, truth: Array | None) -> tuple[float, float]:
    """Return mean squared and mean absolute error over the d parameters; NaN without a truth."""
    if truth is None:
        return math.nan, math.nan
    difference = estimate - truth
    return float(np.mean(difference**2)), float(np.mean(np.abs(difference)))


def errors_by_metric(estimate: Array, truth: Array | None) -> dict[str, float]:
    """Return both errors by their names in :data:`METRICS`."""
    mse, mae = errors(estimate, truth)
    return {"mae": mae, "mse": mse}


def empty_note(accepted: ArrayLike) -> str:
    """Return a sentence about runs that kept no draw, after a space; empty if all kept some.

    Args:
        accepted: number of kept draws of each run.
    """
    counts = np.asarray(accepted)
    empty = int((counts == 0).sum())
    if not empty:
        return ""
    runs, estimates = ("run", "its estimate is") if empty == 1 else ("runs", "their estimates are")
    return f" {empty:,} {runs} of {counts.size:,} kept no draw; {estimates} the prior mean."


def binomial_interval(
    successes: ArrayLike, trials: ArrayLike, level: float = 0.05
) -> tuple[Array, Array]:
    """Return Clopper-Pearson intervals of probabilities, elementwise; [0, 1] without trials.

    Args:
        successes, trials: counts, broadcast against each other.
        level: largest probability that an interval misses the truth.
    """
    # Inside the function, so that the program starts without SciPy.
    from scipy import special

    k, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    with np.errstate(invalid="ignore"):
        low = np.where(k > 0, special.betaincinv(k, n - k + 1, level / 2.0), 0.0)
        high = np.where(k < n, special.betainccinv(k + 1, n - k, level / 2.0), 1.0)
    return low, high


def binomial_p_values(counts: Array, trials: Array | int, probabilities: Array) -> Array:
    """Return exact two-sided p-values ``(k,)`` of binomial counts, twice the smaller tail.

    The smallest times k, at most 1, is the p-value of the joint test (Bonferroni), whether the
    counts are independent or not.
    """
    from scipy import special

    k, n = np.broadcast_arrays(np.asarray(counts, float), np.asarray(trials, float))
    p = np.clip(probabilities, 0.0, 1.0)
    with np.errstate(invalid="ignore"):
        at_most = np.where(k < n, special.betaincc(k + 1, n - k, p), 1.0)
        at_least = np.where(k > 0, special.betainc(k, n - k + 1, p), 1.0)
    return np.minimum(1.0, 2.0 * np.minimum(at_most, at_least))


def mean_interval(
    values: Array, rng: np.random.Generator, resamples: int = 1000
) -> tuple[Array, Array]:
    """Return the 95 % bootstrap interval of the mean over runs: ``(runs, ...)`` to two ``(...)``.

    Runs are drawn with replacement, all columns of a run together. With fewer than two runs both
    ends are NaN.
    """
    runs = len(values)
    if runs < 2:
        return np.full(values.shape[1:], np.nan), np.full(values.shape[1:], np.nan)
    low, high = np.quantile(resampled_means(values, rng, resamples), [0.025, 0.975], axis=0)
    return low, high


def resampled_means(values: Array, rng: np.random.Generator, resamples: int = 1000) -> Array:
    """Return means ``(resamples, ...)`` of values ``(runs, ...)`` over resampled runs."""
    runs = len(values)
    counts = rng.multinomial(runs, np.full(runs, 1.0 / runs), size=resamples) / runs
    return np.tensordot(counts, values, axes=1)


def first_of(table: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return the rows with the first value of some columns."""
    for name in names:
        table = table[table[name] == table[name].iloc[0]]
    return table


def over_runs(
    table: pd.DataFrame, column: str, by: Sequence[str], run: str = "run"
) -> pd.DataFrame:
    """Return means and 95 % bootstrap intervals over runs for every combination of some columns.

    A run without a value at a setting does not count there. Runs are drawn with replacement, all
    settings of a run together; every call draws the same runs.

    Args:
        table: one row per run and setting.
        column: column to average.
        by: columns that make a setting.
        run: column with the number of the run.

    Returns:
        Columns ``by``, ``mean``, ``low``, ``high``, sorted by setting, and ``empty_share``: the
        share of runs that kept no draw, 0 if the study keeps none. ``mean`` is NaN if no run
        counts, ``low`` and ``high`` also if only one does.
    """
    # A pivot table would omit a setting without any value.
    runs = table.pivot(index=run, columns=list(by), values=column).sort_index(axis=1)  # noqa: PD010
    values = runs.to_numpy(dtype=float)
    statistics = runs.columns.to_frame(index=False).assign(
        mean=np.nan, low=np.nan, high=np.nan, empty_share=0.0
    )
    patterns, of_setting = np.unique(~np.isnan(values), axis=1, return_inverse=True)
    for number, counts in enumerate(patterns.T):
        chosen = of_setting == number
        if counts.any():
            part = values if counts.all() and chosen.all() else values[np.ix_(counts, chosen)]
            low, high = mean_interval(part, generator(0, "bootstrap"))
            columns = {"mean": part.mean(axis=0), "low": low, "high": high}
            statistics.loc[chosen, list(columns)] = np.column_stack(list(columns.values()))
    if "accepted" in table:
        empty = (table.accepted == 0).groupby([table[name] for name in by]).mean()
        statistics["empty_share"] = empty.to_numpy()
    return statistics


def root_over_runs(table: pd.DataFrame, column: str, by: str) -> pd.DataFrame:
    """Return the root of the mean over runs and of its interval: ``by, error, low, high``."""
    errors = over_runs(table, column, [by]).rename(columns={"mean": "error"})
    ends = ["error", "low", "high"]
    errors[ends] = np.sqrt(errors[ends].clip(lower=0.0))
    return errors
