"""Mechanisms compared: what they spend, the noise it takes, and what their intervals contain."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from abcdp_core import mechanisms
from abcdp_core.base import summaries
from abcdp_core.evaluation import cases
from abcdp_core.mechanisms import Budget, Release
from abcdp_core.models.simulators import uniform_mixture
from abcdp_core.privacy import NonPrivate, cost
from abcdp_core.privacy.gaussian_series import joint_mu
from abcdp_core.studies import accounting, compare_mechanisms, coverage
from tests import results
from tests.statistics import assert_distribution, assert_mean, rejects

SMALL = compare_mechanisms.Params(
    mechanism=tuple(mechanisms.for_scenario(uniform_mixture.SCENARIO)),
    epsilon_total=(1.0, 10.0),
    n=300,
    pool_size=1000,
    runs=2,
)


def task_of(name: str, **changes: object) -> compare_mechanisms.Task:
    asked = {"mechanism": name, "epsilon_total": 1.0} | changes
    return compare_mechanisms.tasks(dataclasses.replace(SMALL, **asked), 1)[0]


@pytest.mark.parametrize("name", SMALL.mechanism)
def test_every_release_costs_the_budget_that_all_are_given(name: str) -> None:
    for budget, sensitivity in ((0.1, "sharp"), (3.0, "published")):
        task = task_of(name, epsilon_total=budget, sensitivity=sensitivity)
        *_, common, _, _ = compare_mechanisms.asked(task)
        ((_, _, release),) = compare_mechanisms.releases(dataclasses.replace(task, count=1), common)
        event = release.event
        assert not isinstance(event, NonPrivate)
        promised = mechanisms.load(name).spends(Budget(budget, task.params.delta))
        spent = cost(event, promised.delta)
        assert spent.delta == promised.delta
        assert 0.99 * budget < spent.epsilon <= budget * (1 + 1e-12)


def test_thresholds_are_chosen_without_the_data_that_are_scored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def choices() -> list[object]:
        cases.tried.cache_clear()
        return [cases.best(*compare_mechanisms.asked(task_of(name))) for name in SMALL.mechanism]

    before = choices()
    results.without_private_data(monkeypatch)
    assert choices() == before


@pytest.mark.slow
def test_at_a_large_pool_what_pays_once_is_ahead() -> None:
    names = ("sparse-vector", "gaussian-rejection", "soft-weights", "embedding-estimate")
    params = compare_mechanisms.Params(epsilon_total=(1.0,), runs=3, mechanism=names)
    means = (
        results.changed(compare_mechanisms, params).tables["main"].groupby("mechanism").mse.mean()
    )
    assert means["embedding-estimate"] < 0.2 * means["sparse-vector"]
    assert means["sparse-vector"] < 0.5 * means["soft-weights"]
    assert means["soft-weights"] < means["gaussian-rejection"]


# -------------------------------------------------------------------------------------- accountants

PURE = ("sparse-vector", "gaussian-rejection", "private-embedding")
ACCOUNT = accounting.Params(epsilon_total=(2.0, 0.5), n=1000, pool_size=500, c=5)
BETTER = {"optimal": "advanced", "rdp": "rdp-classic", "exact": "rdp", "direct": "rdp"}

accounts = functools.partial(results.changed, accounting, ACCOUNT)


def test_larger_budgets_and_better_accountants_need_less_noise() -> None:
    main = accounts().tables["main"]
    rows = ["mechanism", "accountant"]
    scales = main.pivot_table(index=rows, columns="epsilon_total", values="noise_scale")
    # MATH S2: b = (c + 1) Δ / ε_total, Δ = √2/N.
    expected = 6 * np.sqrt(2.0) / 1000 / 2.0
    assert scales.loc[("sparse-vector", "linear"), 2.0] == pytest.approx(expected)
    assert (scales[2.0] < scales[0.5]).all()
    compared = 0
    for mechanism, found in scales[2.0].groupby("mechanism"):
        by = found.droplevel("mechanism")
        for better, worse in BETTER.items():
            if {better, worse} <= set(by.index):
                assert by[better] < by[worse] * (1.0 + 1e-9), (mechanism, better, worse)
                compared += 1
    assert compared >= len(BETTER)


@pytest.mark.parametrize("budget", [0.1, 3.0])
def test_the_parts_add_up_to_the_budget_and_those_of_soft_weights_as_squares(budget: float) -> None:
    for mechanism in map(mechanisms.load, PURE):
        parts = mechanism.parts(accounting.prepared(mechanism, ACCOUNT, budget))
        assert {part.measure for part in parts} == {"ε"}
        assert sum(part.count * part.cost for part in parts) == pytest.approx(budget)
    done = accounting.prepared(mechanisms.load("soft-weights"), ACCOUNT, budget)
    (part,) = done.mechanism.parts(done)
    assert math.sqrt(part.count) * part.cost == pytest.approx(joint_mu(done.event))


def test_no_curve_is_below_what_pure_epsilon_allows() -> None:
    curves = accounts().tables["tradeoff"].set_index(["mechanism", "false_alarm"]).miss
    lines = curves[accounting.ANY_PURE]
    for name in PURE:
        assert (curves[name] >= lines - 1e-9).all()
    # α = 0.05: 1 − e² · 0.05.
    assert lines.loc[0.05] == pytest.approx(1.0 - 0.05 * np.exp(2.0))


@pytest.mark.parametrize(("budget", "least"), [(0.001, 89), (1.0, 72), (10.0, 0)])
def test_every_attack_misses_as_often_as_the_guarantee_says(budget: float, least: int) -> None:
    assert accounting.least_missed(accounting.Params(epsilon_total=budget)) == least


# ----------------------------------------------------------------------------------------- coverage

COVERED = coverage.Params(
    mechanism=("embedding-noise-aware", "embedding-noise-ignored", "sparse-vector"),
    epsilon_total=(0.3, 3.0),
    epsilon_abc=0.2,
    c=20,
    n=100,
    pool_size=1000,
    runs=12,
)

run = functools.partial(results.changed, coverage, COVERED)


def covered(main: pd.DataFrame, mechanism: str, epsilon_total: float) -> np.ndarray:
    """Return the share of the parameters that are covered, for each data set."""
    part = main[(main.mechanism == mechanism) & (main.epsilon_total == epsilon_total)]
    inside = (part.low <= part.truth) & (part.truth <= part.high)
    return inside.groupby(part.dataset).mean().to_numpy()


def test_an_interval_has_a_twentieth_of_the_weight_on_either_side() -> None:
    theta = np.random.default_rng(2).random((1000, 2))
    kept, none = np.arange(0, 1000, 2), np.empty(0, dtype=np.int64)
    release = Release(kept, np.full(500, 1 / 500), 1000, NonPrivate())
    moved = dataclasses.replace(release, samples=theta[kept] + 5.0)
    # Without a draw, the interval is the prior's.
    empty = Release(none, np.empty(0), 1000, NonPrivate())
    for each, sample in ((release, theta[kept]), (moved, theta[kept] + 5.0), (empty, theta)):
        expected = np.quantile(sample, [0.05, 0.95], axis=0, method="hazen")
        assert np.array(each.sample(theta).interval()) == pytest.approx(expected)


@pytest.mark.parametrize("c", [1, 18, 19, 1000])
def test_the_most_that_an_interval_from_c_draws_can_contain(c: int) -> None:
    """Quantiles are linear in the ordered draws, and uniform ones have the means i/(c + 1)."""
    means = (np.arange(1, c + 1) / (c + 1))[:, None]
    low, high = summaries.weighted_quantile(means, np.full(c, 1 / c), [0.05, 0.95])
    most = (c - 1) / (c + 1)
    assert float((high - low)[0]) == pytest.approx(min(most, 0.9 * c / (c + 1)))
    assert (most >= 0.9 - 1e-12) == (c >= coverage.DRAWS_NEEDED)


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


def test_noise_aware_intervals_contain_the_truth_and_others_need_not() -> None:
    # 150 data sets at a false alarm of 1e-6 see a share that is 0.22 off. At this budget noise
    # is larger than what 100 points leave open, so intervals that ignore it contain far too little.
    main = run(runs=150, epsilon_total=(0.3,)).tables["main"]
    assert_mean(covered(main, "embedding-noise-aware", 0.3), 0.9, 0.0, 1.0)
    assert rejects(assert_mean, covered(main, "embedding-noise-ignored", 0.3), 0.9, 0.0, 1.0)
    assert rejects(assert_mean, covered(main, "embedding-noise-aware", 0.3), 0.6, 0.0, 1.0)
