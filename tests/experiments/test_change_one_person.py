"""One person: distances move by at most the sensitivity, and the outcomes are counted right."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import contingency

from abcdp_core import pool, runner
from abcdp_core.experiments import change_one_person, posterior
from abcdp_core.results import Result

SMALL = change_one_person.Params(n=100, pool_size=500, epsilon_total=5.0, c=5, noises=200)


@pytest.fixture(scope="module")
def result() -> Result:
    return runner.run_to_end(change_one_person, SMALL, seed=1)


def test_no_distance_moves_by_more_than_the_sensitivity_and_one_comes_near(result: Result) -> None:
    movement = result.tables["movement"]
    assert (movement.movement.abs() <= movement.sensitivity).all()
    assert movement.movement.abs().max() > 0.8 * movement.sensitivity.iloc[0]


def test_exactly_one_point_differs() -> None:
    key = posterior.pool_key(SMALL, 1)
    data = pool.observed_data(key, SMALL.n)
    public = pool.open_pool(key)
    comparison = pool.compare(public, data, synthetic=True)
    statistics = public.statistics[SMALL.n]
    changed = change_one_person.worst_neighbour(comparison, statistics, data, SMALL)
    assert np.sum(np.any(changed != data, axis=1)) == 1
    assert ((changed >= 0) & (changed <= 5)).all()


def test_every_noise_is_in_one_class(result: Result) -> None:
    main = result.tables["main"]
    assert (main.groupby("release_side")["count"].sum() == SMALL.noises).all()
    original = main[main.release_side == "original"]
    assert (original.low <= original.high).all()
    assert (original.low.to_numpy()[1:] == original.high.to_numpy()[:-1] + 1).all()


def test_ratios_have_intervals_around_them(result: Result) -> None:
    ratio = result.tables["ratio"]
    finite = ratio[np.isfinite(ratio.log_ratio)]
    assert (finite.log_ratio_low <= finite.log_ratio).all()
    assert (finite.log_ratio <= finite.log_ratio_high).all()


def test_ratios_are_those_of_a_library(result: Result) -> None:
    counts = result.tables["main"].pivot_table(
        index="outcome", columns="release_side", values="count"
    )
    for row in result.tables["ratio"].itertuples():
        original, neighbour = counts.loc[row.outcome, ["original", "neighbour"]].astype(int)
        risk = contingency.relative_risk(original, SMALL.noises, neighbour, SMALL.noises)
        interval = risk.confidence_interval(0.95)
        expected = np.log([risk.relative_risk, interval.low, interval.high])
        found = [row.log_ratio, row.log_ratio_low, row.log_ratio_high]
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_decisions_are_those_of_the_posterior_study(result: Result) -> None:
    shared = {f.name: getattr(SMALL, f.name) for f in dataclasses.fields(posterior.Params)}
    one = runner.run_to_end(posterior, posterior.Params(**shared), seed=1).tables["main"]
    decisions = result.tables["decisions"]
    accepted = one[one.release == "private"]["sample"].unique()
    assert sorted(accepted) == decisions.t[decisions.original].tolist()


def test_one_outcome_only_is_no_error() -> None:
    params = dataclasses.replace(SMALL, c=1, epsilon_abc=1.4, epsilon_total=1000.0, noises=100)
    found = runner.run_to_end(change_one_person, params, seed=1)
    assert found.tables["main"]["count"].sum() == 200
    assert set(change_one_person.figures(found)) == {"outcomes", "ratio", "movement"}
