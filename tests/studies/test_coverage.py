"""Coverage: the same data at every setting, intervals as defined, and noise that is not ignored."""

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
    """Return the share of the parameters that are covered, for each data set."""
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


def test_an_interval_has_a_twentieth_of_the_weight_on_either_side() -> None:
    theta = np.random.default_rng(2).random((1000, 2))
    kept, none = np.arange(0, 1000, 2), np.empty(0, dtype=np.int64)
    release = Release(kept, np.full(500, 1 / 500), 1000, NonPrivate())
    moved = dataclasses.replace(release, samples=theta[kept] + 5.0)
    # Without a draw, the interval is the prior's.
    empty = Release(none, np.empty(0), 1000, NonPrivate())
    for each, sample in ((release, theta[kept]), (moved, theta[kept] + 5.0), (empty, theta)):
        expected = np.quantile(sample, [0.05, 0.95], axis=0, method="hazen")
        assert np.array(coverage.shared.interval(each, theta)) == pytest.approx(expected)


@pytest.mark.parametrize("c", [1, 18, 19, 1000])
def test_the_most_that_an_interval_from_c_draws_can_contain(c: int) -> None:
    """Quantiles are linear in the ordered draws, and uniform ones have the means i/(c + 1)."""
    means = (np.arange(1, c + 1) / (c + 1))[:, None]
    low, high = summaries.weighted_quantile(means, np.full(c, 1 / c), [0.05, 0.95])
    most = (c - 1) / (c + 1)
    assert float((high - low)[0]) == pytest.approx(min(most, 0.9 * c / (c + 1)))
    assert (most >= 0.9 - 1e-12) == (c >= coverage.DRAWS_NEEDED)


def test_along_an_edge_one_weight_in_turn_is_small_and_that_alone_is_counted() -> None:
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

    tables = run(truths="edge").tables
    part = tables["main"][tables["main"].truth <= edge]
    part = part[part.parameter == "θ" + (part.dataset % 5 + 1).astype(str)]
    assert len(part) == len(tables["main"]) / 5
    inside = (part.low <= part.truth) & (part.truth <= part.high)
    held = inside.groupby([part.mechanism, part.epsilon_total]).mean()
    for row in tables["summary"].itertuples():
        assert row.coverage == held[row.mechanism, row.epsilon_total]


def test_noise_aware_intervals_contain_the_truth_and_others_need_not() -> None:
    # 150 data sets at a false alarm of 1e-6 see a share that is 0.22 off. At this budget noise
    # is larger than what 100 points leave open, so intervals that ignore it contain far too little.
    main = run(runs=150, epsilon_total=(0.3,)).tables["main"]
    assert_mean(covered(main, "embedding-noise-aware", 0.3), 0.9, 0.0, 1.0)
    assert rejects(assert_mean, covered(main, "embedding-noise-ignored", 0.3), 0.9, 0.0, 1.0)
    assert rejects(assert_mean, covered(main, "embedding-noise-aware", 0.3), 0.6, 0.0, 1.0)
