"""Theorem 2: the simulated error stays under the bound, and both fall with N."""

import dataclasses
import math

import numpy as np
import pytest

from abcdp_core import runner
from abcdp_core.experiments import error_bound
from abcdp_core.results import Result

SMALL = error_bound.Params(
    n=(100, 1000, 5000), pool_size=1000, runs=20, epsilon_total=20.0, epsilon_abc=0.2
)


@pytest.fixture(scope="module")
def result() -> Result:
    return runner.run_to_end(error_bound, SMALL, seed=1)


def test_the_mean_error_is_under_the_bound(result: Result) -> None:
    means = result.tables["main"].groupby("n")[["error", "bound"]].mean()
    assert (means.error <= means.bound).all()


def test_error_and_bound_fall_as_n_grows(result: Result) -> None:
    # MATH B3.
    means = result.tables["main"].groupby("n")[["error", "bound", "noise_scale"]].mean()
    for column in means:
        assert means[column].is_monotonic_decreasing


def test_no_error_exceeds_the_trivial_bound(result: Result) -> None:
    main = result.tables["main"]
    assert (main.error <= main.trivial).all()


def test_nothing_accepted_leaves_no_number_behind() -> None:
    params = error_bound.Params(n=(5000,), pool_size=100, runs=2, epsilon_abc=0.001)
    found = runner.run_to_end(error_bound, params, seed=1)
    main = found.tables["main"]
    assert np.isinf(main.bound).all()
    assert main.error.isna().all()
    assert (main.non_private == 0).all()
    assert math.isfinite(main.trivial.iloc[0])
    assert error_bound.figures(found)
    assert "no draw lies within ε_abc = 0.001, so there is no non-private mean" in found.summary
    assert "nan" not in found.summary
    assert "inf" not in found.summary
    within = found.tables["within"]
    assert (within.compared == 0).all()
    assert (within.allowed == 1.0).all()


def test_the_title_says_what_the_bound_says(result: Result) -> None:
    main = result.tables["main"]
    largest = main[main.n == main.n.max()]
    said = error_bound.finding(main)
    assert said.endswith("says nothing") == (largest.bound.iloc[0] >= largest.trivial.iloc[0])
    for bound, words in ((0.5, "allows 5 times the error found"), (0.01, "is above what Theorem")):
        changed = main.assign(error=0.1, bound=bound, trivial=1.0, non_private=1)
        assert words in error_bound.finding(changed)
    assert error_bound.finding(main.assign(error=0.0, bound=0.5, trivial=1.0)).endswith(
        "allows 0.5"
    )


def test_runs_that_accepted_nothing_are_counted_and_left_out() -> None:
    params = error_bound.Params(
        n=(1000,), pool_size=100, runs=40, epsilon_abc=0.12, epsilon_total=2.0
    )
    found = runner.run_to_end(error_bound, params, seed=1)
    main = found.tables["main"]
    empty = int((main.accepted == 0).sum())
    assert 0 < empty < 40
    assert main.error.isna().sum() == empty
    assert f"over 40 noises ({empty} left out, in which nothing was accepted)" in found.summary
    assert (found.tables["within"].compared == 40 - empty).all()
    (marks, *_) = error_bound.figures(found)[error_bound.EXPERIMENT].figure.data
    assert marks.marker.symbol[0].endswith("-open")


def test_one_noise_is_no_average() -> None:
    found = runner.run_to_end(error_bound, dataclasses.replace(SMALL, runs=1), seed=1)
    assert " over 1 noise and Theorem 2" in found.summary
    assert "average" not in found.summary


def test_the_share_of_large_errors_is_counted_and_bounded(result: Result) -> None:
    # MATH B2.
    tables = result.tables
    for row in tables["within"].itertuples():
        errors = tables["main"].query("n == @row.n").error.dropna()
        assert row.exceeds == (errors > row.distance).mean()
        assert row.exceeds_low <= row.exceeds <= row.exceeds_high
        assert row.exceeds_low <= row.allowed
    assert tables["within"].allowed.between(0.001, 0.999).any()


def test_the_exponential_goes_through_the_two_sizes_before(result: Result) -> None:
    sizes = result.tables["sizes"]
    assert sizes.n.tolist() == [100, 1000, 5000]
    assert sizes.exponential[:2].to_numpy() == pytest.approx(sizes.bound[:2].to_numpy())
    rate = np.log(sizes.bound[1] / sizes.bound[0]) / 900
    assert sizes.exponential[2] == pytest.approx(sizes.bound[1] * np.exp(4000 * rate))


def test_the_order_of_the_sizes_plays_no_part(result: Result) -> None:
    turned = dataclasses.replace(SMALL, n=(5000, 100, 1000))
    assert runner.run_to_end(error_bound, turned, seed=1).summary == result.summary
