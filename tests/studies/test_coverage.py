"""Coverage: data sets are addressed, intervals are what they say, and noise is not forgotten."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from abcdp_core import summaries
from abcdp_core.mechanisms import Release
from abcdp_core.privacy import NonPrivate
from abcdp_core.simulators import uniform_mixture
from abcdp_core.studies import coverage
from tests import results
from tests.statistics import assert_distribution, assert_mean, rejects

SMALL = coverage.Params(
    mechanism=("embedding-noise-aware", "embedding-noise-ignored", "sparse-vector"),
    epsilon_total=(0.3, 3.0),
    epsilon_abc=0.2,
    c=20,
    n=100,
    pool_size=1000,
    runs=12,
)

run = functools.partial(results.changed, coverage, SMALL)


def covered(main: pd.DataFrame, mechanism: str, epsilon_total: float) -> np.ndarray:
    """Share of the parameters that are covered, for each data set."""
    part = main[(main.mechanism == mechanism) & (main.epsilon_total == epsilon_total)]
    inside = (part.low <= part.truth) & (part.truth <= part.high)
    return inside.groupby(part.dataset).mean().to_numpy()


def test_every_mechanism_sees_the_same_data_at_every_budget_and_number_of_data_sets() -> None:
    main = run().tables["main"]
    assert len(main) == 12 * 5 * (3 * 2 + 1)
    ranges = main.groupby(["dataset", "parameter"]).truth.agg(["min", "max"])
    assert (ranges["min"] == ranges["max"]).all()
    assert main.groupby("parameter").truth.nunique().tolist() == [12] * 5
    few = run(runs=3).tables["main"]
    assert few.equals(main[main.dataset < 3].reset_index(drop=True))
    one = run(epsilon_total=(3.0,)).tables["main"]
    assert one.equals(main[main.epsilon_total != 0.3].reset_index(drop=True))


@pytest.mark.parametrize("indices", [np.arange(0, 1000, 2), np.arange(0)], ids=["draws", "none"])
def test_an_interval_has_a_twentieth_of_the_weight_on_either_side(indices: np.ndarray) -> None:
    theta = np.random.default_rng(2).random((1000, 2))
    release = Release(indices, np.full(len(indices), 1 / 500), 1000, NonPrivate())
    ends = coverage.shared.interval(release, theta)
    # Without a draw, the interval is the prior's.
    sample = theta[indices] if len(indices) else theta
    assert np.array(ends) == pytest.approx(
        np.quantile(sample, [0.05, 0.95], axis=0, method="hazen")
    )
    moved = dataclasses.replace(release, samples=theta[indices] + 5.0 * bool(len(indices)))
    shift = 5.0 if len(indices) else 0.0
    assert np.allclose(coverage.shared.interval(moved, theta), np.array(ends) + shift)


def test_the_summary_counts_what_the_intervals_hold() -> None:
    # A threshold so low that the sparse vector accepts only where noise helps.
    tables = run(epsilon_abc=0.001, epsilon_total=(1.0, 1000.0), c=2).tables
    releases, summary = tables["releases"], tables["summary"]
    for row in summary.itertuples():
        shares = covered(tables["main"], str(row.mechanism), float(str(row.epsilon_total)))
        assert row.coverage == pytest.approx(shares.mean())
        ends = [float(end) for end in summaries.binomial_interval(shares.sum(), 12)]
        assert [row.coverage_low, row.coverage_high] == pytest.approx(ends)
        part = releases.query("mechanism == @row.mechanism and epsilon_total == @row.epsilon_total")
        assert row.empty_share == (part.accepted == 0).mean()
    assert summary[summary.mechanism == "sparse-vector"].empty_share.max() == 1.0
    assert (releases.draws[releases.accepted == 0] == 1000).all()


@pytest.mark.parametrize("c", [1, 2, 5, 10, 18, 19, 30, 100, 1000])
def test_so_many_draws_hold_so_much_at_most(c: int) -> None:
    """Quantiles are linear in the ordered draws, of which uniform ones have the means i/(c + 1)."""
    means = (np.arange(1, c + 1) / (c + 1))[:, None]
    low, high = summaries.weighted_quantile(means, np.full(c, 1 / c), [0.05, 0.95])
    expected = float((high - low)[0])
    assert expected == pytest.approx(min(c - 1.0, 0.9 * c) / (c + 1))
    assert expected <= (c - 1) / (c + 1) + 1e-12
    assert ((c - 1) / (c + 1) >= 0.9 - 1e-12) == (c >= coverage.DRAWS_NEEDED)


@pytest.mark.parametrize(
    ("changes", "expected", "absent"),
    [
        ({}, [], ["fewer", "pool of", "no draw", "exact posterior"]),
        ({"c": 10}, ["in 36 of 84 releases (sparse vector, without noise)"], ["pool of"]),
        ({"c": 19}, [], ["releases (without noise"]),
        ({"pool_size": 200}, ["A pool of 200 is too small"], []),
        ({"truths": "edge"}, ["hold a weight of at most 0.02", "not along an edge"], []),
    ],
)
def test_what_spoils_intervals_is_said(
    changes: dict[str, object], expected: list[str], absent: list[str]
) -> None:
    said = run(**changes).summary
    assert all(words in said for words in expected), said
    assert not any(words in said for words in absent), said


def test_along_an_edge_one_weight_in_turn_is_small() -> None:
    rng, edge = np.random.default_rng(4), coverage.EDGE
    truths = np.array([uniform_mixture.prior_near_edge(rng, i % 5, edge) for i in range(4000)])
    assert truths.sum(axis=1) == pytest.approx(np.ones(4000))
    assert truths.min() >= 0.0
    near = truths[np.arange(4000), np.arange(4000) % 5]
    assert near.max() <= edge
    # The prior given that: a weight of the flat Dirichlet distribution is Beta(1, 4).
    beta = stats.beta(1, 4)
    assert_distribution(near, lambda x: beta.cdf(x) / beta.cdf(edge))
    assert rejects(assert_distribution, near, stats.uniform(0.0, 2 * edge).cdf)
    others = truths[np.arange(4000), (np.arange(4000) + 1) % 5] / (1.0 - near)
    assert_distribution(others, stats.beta(1, 3).cdf)


def test_along_an_edge_that_weight_alone_is_counted() -> None:
    tables = run(truths="edge").tables
    part = tables["main"][tables["main"].truth <= coverage.EDGE].copy()
    part = part[part.parameter == "θ" + (part.dataset % 5 + 1).astype(str)]
    assert len(part) == len(tables["main"]) / 5
    part["held"] = (part.low <= part.truth) & (part.truth <= part.high)
    held = part.groupby(["mechanism", "epsilon_total"]).held.mean()
    for row in tables["summary"].itertuples():
        assert row.coverage == held[row.mechanism, row.epsilon_total]


def test_noise_aware_intervals_hold_the_truth_and_others_need_not() -> None:
    # 150 data sets at a false alarm of 1e-6 see a share that is 0.22 off. At this budget noise
    # is larger than what 100 points leave open, so intervals that ignore it hold far too little.
    result = run(runs=150, epsilon_total=(0.3,))
    main = result.tables["main"]
    assert_mean(covered(main, "embedding-noise-aware", 0.3), 0.9, 0.0, 1.0)
    assert rejects(assert_mean, covered(main, "embedding-noise-ignored", 0.3), 0.9, 0.0, 1.0)
    assert rejects(assert_mean, covered(main, "embedding-noise-aware", 0.3), 0.6, 0.0, 1.0)
    title = coverage.figures(result)["coverage"].figure.layout.title.text
    assert title.startswith("90 % intervals from embedding noise ignored hold the truth only ")


def test_where_there_is_little_noise_both_are_the_same_and_much_narrower() -> None:
    summary = run(epsilon_total=(100.0, 1000.0)).tables["summary"].set_index("mechanism")
    widths = summary[summary.epsilon_total == 1000.0].mean_width
    aware, ignored = widths["embedding-noise-aware"], widths["embedding-noise-ignored"]
    assert aware == pytest.approx(ignored, rel=0.02)
    assert aware < 0.7 * summary.mean_width["non-private"]
