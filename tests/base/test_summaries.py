"""Summaries of runs and of weighted draws: intervals, quantiles, means by setting."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from abcdp_core.base import summaries
from abcdp_core.base.streams import generator


def test_the_effective_sample_size_of_equal_weights_is_their_number() -> None:
    for weights, size in (([0.125] * 8, 8.0), ([1.0, 0.0, 0.0], 1.0), ([3.0, 1.0], 1.6), ([], 0.0)):
        assert summaries.effective_sample_size(np.array(weights)) == pytest.approx(size)


def test_binomial_intervals_are_those_of_clopper_and_pearson_and_cover_at_their_level() -> None:
    successes, trials = np.array([0, 3, 10, 0]), np.array([10, 10, 10, 0])
    low, high = summaries.binomial_interval(successes, trials)
    for k, n, lower, upper in zip(successes[:3], trials[:3], low[:3], high[:3], strict=True):
        expected = stats.binomtest(k, n).proportion_ci(0.95, method="exact")
        assert (lower, upper) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert (low[3], high[3]) == (0.0, 1.0)
    # Exactly: all counts out of 40, each with its probability.
    counts = np.arange(41)
    for level, probability in itertools.product((0.05, 1e-4), (0.01, 0.3, 0.5, 0.97)):
        low, high = summaries.binomial_interval(counts, 40, level)
        covered = (low <= probability) & (probability <= high)
        assert stats.binom.pmf(counts, 40, probability)[covered].sum() >= 1.0 - level


def test_the_bootstrap_is_close_to_normal_intervals_and_draws_whole_runs() -> None:
    values = np.random.default_rng(1).normal(5.0, 2.0, (100, 3))
    low, high = summaries.mean_interval(values, np.random.default_rng(2), resamples=5000)
    error = values.std(axis=0) / math.sqrt(100)
    assert low == pytest.approx(values.mean(axis=0) - 1.96 * error, abs=0.1 * error.min())
    assert high == pytest.approx(values.mean(axis=0) + 1.96 * error, abs=0.1 * error.min())
    # The second column mirrors the first in every resample.
    mirrored = np.stack([values[:, 0], -values[:, 0]], axis=1)
    low, high = summaries.mean_interval(mirrored, np.random.default_rng(2))
    assert low == pytest.approx(-high[::-1], abs=1e-12)


@pytest.mark.parametrize("size", [1, 7])
def test_weighted_quantiles_with_equal_weights_are_those_of_hazen(size: int) -> None:
    values = np.random.default_rng(size).normal(size=(size, 3))
    wanted = [0.0, 0.05, 0.5, 0.8, 1.0]
    found = summaries.weighted_quantile(values, np.full(size, 1.0 / size), wanted)
    assert found.shape == (5, 3)
    assert found == pytest.approx(np.quantile(values, wanted, axis=0, method="hazen"), abs=1e-12)


def test_a_weight_counts_like_repeated_values() -> None:
    # Inside a long block of equal values, quantiles of both definitions agree.
    values, times = np.array([[5.0], [1.0], [50.0], [3.0]]), np.array([300, 100, 0, 200])
    many = np.repeat(values, times, axis=0)
    wanted = [1 / 12, 1 / 3, 3 / 4, 1.0]
    found = summaries.weighted_quantile(values, times / 600, wanted)
    assert found[:, 0] == pytest.approx([1.0, 3.0, 5.0, 5.0], abs=1e-12)
    assert np.quantile(many, wanted).tolist() == [1.0, 3.0, 5.0, 5.0]


def runs_of(values: dict[tuple[str, float], list[float]]) -> pd.DataFrame:
    """Return a table of runs from (method, budget) -> values of runs 0, 1, ...; rows shuffled."""
    rows = [(*key, run, value) for key, each in values.items() for run, value in enumerate(each)]
    table = pd.DataFrame(rows, columns=["method", "budget", "run", "error"])
    return table.sample(frac=1.0, random_state=1)


def test_over_runs_gives_means_by_setting_and_resamples_all_settings_together() -> None:
    values = {("b", 1.0): [1.0, 2.0, 6.0], ("a", 2.0): [0.5, 0.0, 1.0], ("a", 1.0): [3.0, 3.0, 3.0]}
    found = summaries.over_runs(runs_of(values), "error", ("method", "budget"))
    assert list(zip(found.method, found.budget, strict=True)) == sorted(values)
    assert found["mean"].tolist() == [3.0, 0.5, 3.0]
    columns = np.array([values[key] for key in sorted(values)]).T
    low, high = summaries.mean_interval(columns, generator(0, "bootstrap"))
    assert pytest.approx(np.array([low, high]), abs=1e-15) == found[["low", "high"]].to_numpy().T
    assert (found.empty_share == 0.0).all()
    accepted = runs_of(values).assign(accepted=lambda t: np.where(t.method == "a", t.run, 5))
    found = summaries.over_runs(accepted, "error", ("method", "budget"))
    assert found.empty_share.tolist() == pytest.approx([1 / 3, 1 / 3, 0.0])


def test_a_run_without_a_value_does_not_count_at_that_setting() -> None:
    nan = math.nan
    values = {("a", 1.0): [1.0, nan, 3.0], ("a", 2.0): [1.0, 2.0], ("b", 1.0): [nan]}
    found = summaries.over_runs(runs_of(values), "error", ("method", "budget"))
    assert found["mean"].tolist()[:2] == [2.0, 1.5]
    assert math.isnan(found["mean"][2]), "a setting without any value has its row"
    low, high = summaries.mean_interval(np.array([[1.0], [3.0]]), generator(0, "bootstrap"))
    assert (found.low[0], found.high[0]) == (low[0], high[0])
    one = summaries.over_runs(runs_of({("b", 2.0): [7.0]}), "error", ("method", "budget"))
    assert one["mean"].tolist() == [7.0]
    assert one.low.isna().all(), "one run gives no interval"
