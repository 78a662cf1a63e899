"""Soft weights for San Francisco: the noise hides everything, and the tables say so."""

import functools

import numpy as np
import pytest

from abcdp_core.sentences import percent
from abcdp_core.simulators import tuberculosis
from abcdp_core.studies import tuberculosis_soft as study
from tests import results

SMALL = study.Params(runs=20)

result_of = functools.partial(results.changed, study, SMALL)


def test_without_noise_it_is_k2_abc_by_hand() -> None:
    theta, rho = tuberculosis.precomputed(1000, 1, 0)
    tables = result_of().tables
    plain = tables["non_private"].set_index("epsilon_abc")
    for epsilon_abc in (20.0, 80.0):
        weights = np.exp(-rho / epsilon_abc)
        off = np.abs(weights @ theta / weights.sum() - tuberculosis.TRUTH)
        spread = np.sqrt(np.cov(theta.T, aweights=weights, ddof=0).diagonal())
        scaled, spread = ((each / tuberculosis.PRIOR_SD).mean() for each in (off, spread))
        found = plain.loc[epsilon_abc, ["mae", "mae_scaled", "spread"]].tolist()
        assert found == pytest.approx([off.mean(), scaled, spread], rel=1e-9)
    sentence = study.figures(result_of())["posterior"].sentence
    assert f"with noise and {percent(plain.spread[20.0])} without" in sentence


def test_the_noise_is_thirty_times_the_largest_signal() -> None:
    for epsilon_abc in (20.0, 80.0):
        event = study.event_of(SMALL, epsilon_abc)
        assert event.scale / (200.0 / epsilon_abc) == pytest.approx(30.3, abs=0.1)


def test_private_weights_are_those_of_a_random_half_of_the_pool() -> None:
    errors = result_of().tables["errors"]
    assert (abs(errors.effective_sample_size - 500) < 80).all()
    assert abs(errors.mae.mean() - errors.pool_mae.iloc[0]) < 0.1
    theta, _ = tuberculosis.precomputed(1000, 1, 0)
    equal = np.abs(theta.mean(axis=0) - tuberculosis.TRUTH).mean()
    assert errors.pool_mae.to_numpy() == pytest.approx(equal)
    # Even ε_total = 1000 leaves noise of the size of the largest distance.
    errors = result_of(epsilon_total=1000.0).tables["errors"]
    assert (errors.mae < errors.pool_mae).mean() > 0.5


def test_errors_are_those_of_the_means_shown() -> None:
    tables = result_of().tables
    private = tables["main"][tables["main"].release == "private"]
    means = private.set_index(["epsilon_abc", "run", "parameter"]).value.unstack()
    off = np.abs(means[list(tuberculosis.AXES)].to_numpy() - tuberculosis.TRUTH).mean(axis=1)
    assert tables["errors"].mae.to_numpy() == pytest.approx(off, rel=1e-9)


def test_runs_with_their_own_draws_are_independent() -> None:
    tables = result_of(runs=3, pool_size=60, independent=True).tables
    at_20 = tables["errors"][tables["errors"].epsilon_abc == 20.0]
    columns = ["run", "mae", "non_private_mae", "pool_mae"]
    assert at_20[columns].nunique().tolist() == [3] * 4
    assert tables["non_private"].run.nunique() == 3
    # Histograms are averages, although there are several pools.
    totals = tables["shares"].groupby(["release", "epsilon_abc", "parameter"]).share
    assert totals.sum().to_numpy() == pytest.approx(1.0, abs=0.05)
    assert totals.count().eq(study.BINS).all()
