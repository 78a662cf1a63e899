"""Theorem 2: the simulated error stays under the bound, and both fall with N."""

import functools

import numpy as np
import pytest

from abcdp_core.studies import error_bound
from tests import results

SMALL = error_bound.Params(
    n=(100, 1000, 5000), pool_size=1000, runs=20, epsilon_total=20.0, epsilon_abc=0.2
)

result_of = functools.partial(results.changed, error_bound, SMALL)


def test_errors_are_under_both_bounds_and_fall_as_n_grows() -> None:
    # MATH B1, B3.
    main = result_of().tables["main"]
    means = main.groupby("n")[["error", "bound", "noise_scale"]].mean()
    assert (means.error <= means.bound).all()
    assert (main.error <= main.trivial).all()
    for column in means:
        assert means[column].is_monotonic_decreasing


def test_the_share_of_large_errors_is_counted_and_bounded() -> None:
    # MATH B2.
    tables = result_of().tables
    for row in tables["within"].itertuples():
        errors = tables["main"].query("n == @row.n").error.dropna()
        assert row.exceeds == (errors > row.distance).mean()
        assert row.exceeds_low <= row.exceeds <= row.exceeds_high
        assert row.exceeds_low <= row.allowed
    assert tables["within"].allowed.between(0.001, 0.999).any()


def test_the_exponential_goes_through_the_two_sizes_before() -> None:
    sizes = result_of().tables["sizes"]
    assert sizes.n.tolist() == [100, 1000, 5000]
    assert sizes.exponential[:2].to_numpy() == pytest.approx(sizes.bound[:2].to_numpy())
    rate = np.log(sizes.bound[1] / sizes.bound[0]) / 900
    assert sizes.exponential[2] == pytest.approx(sizes.bound[1] * np.exp(4000 * rate))


def test_where_nothing_is_close_the_theorem_does_not_apply() -> None:
    found = result_of(n=(5000,), pool_size=100, runs=2, epsilon_abc=0.001)
    assert np.isinf(found.tables["main"].bound).all()
    assert (found.tables["within"].allowed == 1.0).all()
