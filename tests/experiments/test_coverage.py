"""Coverage: data sets are addressed, intervals are what they say, and noise is not forgotten."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pandas as pd
import pytest

from abcdp_core import pool, runner, summaries
from abcdp_core.experiments import coverage
from abcdp_core.mechanisms import Release
from abcdp_core.parameters import ParameterError
from abcdp_core.privacy import NonPrivate
from abcdp_core.results import Result
from tests.statistics import assert_mean, rejects

SMALL = coverage.Params(
    epsilon_total=(0.3, 3.0), epsilon_abc=0.2, c=20, n=100, pool_size=1000, runs=12
)


@functools.cache
def run(**changes: object) -> Result:
    return runner.run_to_end(
        coverage,
        dataclasses.replace(SMALL, **changes),  # type: ignore[arg-type]
        seed=1,
    )


def covered(main: pd.DataFrame, mechanism: str, epsilon_total: float) -> np.ndarray:
    """Share of the parameters that are covered, for each data set."""
    part = main[(main.mechanism == mechanism) & (main.epsilon_total == epsilon_total)]
    inside = (part.low <= part.truth) & (part.truth <= part.high)
    return inside.groupby(part.dataset).mean().to_numpy()


def test_the_first_data_sets_of_many_are_the_data_sets_of_few() -> None:
    few, many = (run(runs=runs).tables["main"] for runs in (3, 12))
    assert few.equals(many[many.dataset < 3].reset_index(drop=True))


def test_tasks_hold_every_data_set_once() -> None:
    tasks = coverage.tasks(SMALL, 1)
    held = [index for task in tasks for index in range(task.first, task.first + task.count)]
    assert held == list(range(12))


def test_every_mechanism_sees_the_same_data_at_every_budget() -> None:
    main = run().tables["main"]
    assert len(main) == 12 * 5 * (3 * 2 + 1)
    ranges = main.groupby(["dataset", "parameter"]).truth.agg(["min", "max"])
    assert (ranges["min"] == ranges["max"]).all()
    assert main.groupby("parameter").truth.nunique().tolist() == [12] * 5
    sums = main.drop_duplicates(["dataset", "parameter"]).groupby("dataset").truth.sum()
    assert sums.to_numpy() == pytest.approx(np.ones(12))
    assert set(main[np.isinf(main.epsilon_total)].mechanism) == {"non-private"}
    assert (main.low <= main.high).all()


def test_another_budget_leaves_the_rest_as_it_was() -> None:
    both, one = (run(epsilon_total=budgets).tables["main"] for budgets in ((0.3, 3.0), (3.0,)))
    kept = both[both.epsilon_total != 0.3].reset_index(drop=True)
    assert kept.equals(one)


def test_another_noise_draw_leaves_the_data_as_they_were() -> None:
    first, second = (run(noise_draw=draw).tables["main"] for draw in (0, 1))
    assert first.truth.equals(second.truth)
    plain = first.mechanism == "non-private"
    assert first[plain].equals(second[plain])
    assert not first[~plain].low.equals(second[~plain].low)


def test_an_interval_has_a_twentieth_of_the_weight_on_either_side() -> None:
    theta = np.random.default_rng(2).random((1000, 2))
    indices = np.arange(0, 1000, 2)
    release = Release(indices, np.full(500, 1 / 500), 1000, NonPrivate())
    low, high = coverage.interval(release, theta)
    assert low == pytest.approx(np.quantile(theta[indices], 0.05, axis=0, method="hazen"))
    assert high == pytest.approx(np.quantile(theta[indices], 0.95, axis=0, method="hazen"))
    moved = dataclasses.replace(release, samples=theta[indices] + 5.0)
    assert np.allclose(coverage.interval(moved, theta), np.array([low, high]) + 5.0)


def test_without_an_acceptance_the_interval_is_the_prior_s() -> None:
    theta = np.random.default_rng(3).random((1000, 2))
    none = np.empty(0)
    release = Release(none.astype(np.int64), none, 1000, NonPrivate())
    low, high = coverage.interval(release, theta)
    assert low == pytest.approx(np.quantile(theta, 0.05, axis=0, method="hazen"))
    assert high == pytest.approx(np.quantile(theta, 0.95, axis=0, method="hazen"))


def test_the_summary_counts_what_the_intervals_hold() -> None:
    tables = run().tables
    for row in tables["summary"].itertuples():
        shares = covered(tables["main"], str(row.mechanism), float(str(row.epsilon_total)))
        assert row.coverage == pytest.approx(shares.mean())
        ends = [float(end) for end in summaries.binomial_interval(shares.sum(), 12)]
        assert [row.coverage_low, row.coverage_high] == pytest.approx(ends)
        assert 0.0 <= row.coverage_low <= row.coverage <= row.coverage_high <= 1.0


def test_noise_aware_intervals_hold_the_truth_and_others_need_not() -> None:
    # 150 data sets at a false alarm of 1e-6 see a share that is 0.22 off. At this budget noise
    # is larger than what 100 points leave open, so intervals that ignore it hold far too little.
    main = run(runs=150, epsilon_total=(0.3,)).tables["main"]
    assert_mean(covered(main, "noise-aware", 0.3), 0.9, 0.0, 1.0)
    assert rejects(assert_mean, covered(main, "noise-ignored", 0.3), 0.9, 0.0, 1.0)
    assert rejects(assert_mean, covered(main, "noise-aware", 0.3), 0.6, 0.0, 1.0)


def test_where_there_is_little_noise_both_are_the_same_and_much_narrower() -> None:
    summary = run(epsilon_total=(100.0, 1000.0)).tables["summary"].set_index("mechanism")
    widths = summary[summary.epsilon_total == 1000.0].mean_width
    assert widths["noise-aware"] == pytest.approx(widths["noise-ignored"], rel=0.02)
    assert widths["noise-aware"] < 0.7 * summary.mean_width["non-private"]


def test_the_public_pool_is_made_beforehand() -> None:
    done: list[float] = []
    params = dataclasses.replace(SMALL, pool_size=60)
    coverage.prepare(params, 3, done.append)
    assert done[-1] == 1.0
    assert pool.is_ready(pool.key_for("uniform-mixture", 100, 60, 3))


def test_figures_show_the_table() -> None:
    result = run()
    figures = coverage.figures(result)
    assert set(figures) == {"coverage", "width"}
    summary = result.tables["summary"]
    for name, column in (("coverage", "coverage"), ("width", "mean_width")):
        lines = {trace.name: trace for trace in figures[name].data if trace.mode == "lines"}
        aware = summary[summary.mechanism == "noise-aware"]
        assert lines["noise-aware"].y.tolist() == aware[column].tolist()
        assert len(set(lines["non-private"].y)) == 1
    assert math.isclose(float(lines_of(figures["coverage"], "as it should be")[0]), 0.9)


def lines_of(figure: object, name: str) -> list[float]:
    return next(list(trace.y) for trace in figure.data if trace.name == name)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"c": 500, "pool_size": 400}, "c = 500"),
        ({"epsilon_total": (math.inf,)}, "epsilon_total = inf"),
        ({"n": 20_000, "pool_size": 100_000}, "n . pool_size"),
        ({"runs": 0}, "runs = 0"),
    ],
)
def test_what_is_not_allowed_is_one_clear_line(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        run(**changes)
