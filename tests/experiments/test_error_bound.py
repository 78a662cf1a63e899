"""Theorem 2: the simulated error stays under the bound, and both fall with N."""

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
    assert math.isfinite(main.trivial.iloc[0])
    assert error_bound.figures(found)
