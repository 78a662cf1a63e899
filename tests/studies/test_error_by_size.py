"""The error to expect by the number of values: exact over noise."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from abcdp_core import pool
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.results import Result
from abcdp_core.simulators import covid, uniform_mixture
from abcdp_core.streams import generator
from abcdp_core.studies import error_by_size
from tests import results
from tests.statistics import assert_mean_of_repeats, rejects

SMALL = error_by_size.Params(n=300, pool_size=300, epsilon_abc=0.3, c=5, epsilon_total=5.0, runs=3)
CURVE = error_by_size.Params(
    scenario="covid", n=18, pool_size=400, epsilon_abc=0.3, c=3, epsilon_total=20.0, runs=3
)

result_of = functools.partial(results.changed, error_by_size)


def assert_releases_have_the_error(
    found: Result, rho: np.ndarray, sensitivity: float, estimates: np.ndarray, truth: np.ndarray
) -> None:
    """Simulate releases of run 1 at the largest size, and measure them in another way.

    ``estimates`` has a row for each draw of the pool, and a last one for the prior mean.
    """
    params = found.params
    row = found.tables["main"].query(f"n == {params.n} and run == 1").iloc[0]
    event = sparse_vector.calibrate(params.epsilon_total, sensitivity, params.c, resample=False)
    errors = np.empty((2000, 1))
    for noise in range(2000):
        rng = generator(1, "noise", noise)
        made, _ = sparse_vector.run(rho, params.epsilon_abc, event, rng)
        kept = made.indices if len(made.indices) else [-1]
        errors[noise] = ((estimates[kept].mean(axis=0) - truth) ** 2).mean()
    assert_mean_of_repeats(errors, np.array([row.mse]), np.zeros(1))
    assert rejects(assert_mean_of_repeats, errors, np.array([row.non_private_mse]), np.zeros(1))
    assert row.prior_mse == pytest.approx(((estimates[-1] - truth) ** 2).mean())


def test_simulated_releases_of_shares_have_this_error() -> None:
    public = pool.PublicSide(pool.key_for("uniform-mixture", 300, 300, 1), 300)
    made = public.simulated(1)
    estimates = np.vstack([made.theta, uniform_mixture.PRIOR_MEAN])
    truth = public.simulated_theta(1)
    assert_releases_have_the_error(result_of(SMALL), made.rho, made.sensitivity(), estimates, truth)


def test_simulated_releases_of_a_curve_have_this_error_in_parts_of_the_range() -> None:
    theta = covid.prior(generator(1, "curves"), 400)
    truth = error_by_size.within(generator(1, "curve", 1))
    days, metric = covid.days(18), covid.distance()
    every, series = covid.curves(theta, days), covid.curves(truth[None], days)[0]
    assert covid.DOMAIN[0] <= series.min() < series.max() <= covid.DOMAIN[1]
    statistics = metric.statistic(covid.with_days(every))
    rho = metric.compare(statistics, metric.statistic(covid.with_days(series)))
    estimates, width = np.vstack([every, np.zeros(18)]), 5000.0
    assert_releases_have_the_error(
        result_of(CURVE), rho, metric.sensitivity(18), estimates / width, series / width
    )


def test_a_size_is_marked_on_the_curve_and_not_beyond_it() -> None:
    found = result_of(SMALL)
    for n, is_known in ((12, True), (300, True), (301, False)):
        names = [trace.name for trace in error_by_size.marked(found, n).figure.data]
        assert (f"your {n} values" in names) == (error_by_size.at(found, n) is not None) == is_known
