"""Soft weights for San Francisco: the noise hides everything, and the tables say so."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pytest

from abcdp_core import runner
from abcdp_core.experiments import tuberculosis_soft as study
from abcdp_core.privacy import GaussianSeries
from abcdp_core.results import Result
from abcdp_core.sentences import percent
from abcdp_core.simulators import tuberculosis

SMALL = study.Params(runs=20)


@functools.cache
def result_of(params: study.Params = SMALL) -> Result:
    return runner.run_to_end(study, params, seed=1)


def test_without_noise_it_is_k2_abc_by_hand() -> None:
    theta, rho = tuberculosis.precomputed(1000, 1, 0)
    plain = result_of().tables["non_private"].set_index("epsilon_abc")
    for epsilon_abc in (20.0, 80.0):
        weights = np.exp(-rho / epsilon_abc)
        off = np.abs(weights @ theta / weights.sum() - tuberculosis.TRUTH)
        assert plain.mae[epsilon_abc] == pytest.approx(off.mean(), rel=1e-9)
        scaled = (off / tuberculosis.PRIOR_SD).mean()
        assert plain.mae_scaled[epsilon_abc] == pytest.approx(scaled, rel=1e-9)


def test_the_noise_is_thirty_times_the_largest_signal() -> None:
    for epsilon_abc in (20.0, 80.0):
        event = study.event_of(SMALL, epsilon_abc)
        assert isinstance(event, GaussianSeries)
        assert event.scale / (200.0 / epsilon_abc) == pytest.approx(30.3, abs=0.1)


def test_private_weights_are_those_of_a_random_half_of_the_pool() -> None:
    errors = result_of().tables["errors"]
    assert (abs(errors.effective_sample_size - 500) < 80).all()
    assert abs(errors.mae.mean() - errors.pool_mae.iloc[0]) < 0.1
    assert errors.prior_mae.iloc[0] == pytest.approx(
        np.abs(tuberculosis.PRIOR_MEAN - tuberculosis.TRUTH).mean()
    )
    theta, _ = tuberculosis.precomputed(1000, 1, 0)
    equal = np.abs(theta.mean(axis=0) - tuberculosis.TRUTH).mean()
    assert errors.pool_mae.to_numpy() == pytest.approx(equal)


def test_errors_are_those_of_the_means_shown() -> None:
    tables = result_of().tables
    private = tables["main"][tables["main"].release == "private"]
    means = private.set_index(["epsilon_abc", "run", "parameter"]).value.unstack()
    off = np.abs(means[list(tuberculosis.AXES)].to_numpy() - tuberculosis.TRUTH).mean(axis=1)
    assert tables["errors"].mae.to_numpy() == pytest.approx(off, rel=1e-9)


def test_a_huge_budget_is_hardly_enough() -> None:
    # Even ε_total = 1000 leaves noise of the size of the largest distance.
    tables = result_of(dataclasses.replace(SMALL, epsilon_total=1000.0)).tables
    assert (tables["errors"].mae < tables["errors"].pool_mae).mean() > 0.5


def test_the_papers_numbers_stand_where_they_belong() -> None:
    tables = result_of().tables
    assert tables["errors"].drop_duplicates("epsilon_abc").paper_mae.tolist() == [4.12, 4.05]
    plain = tables["non_private"].set_index("epsilon_abc").paper_mae
    assert plain[20.0] == 3.10
    assert math.isnan(plain[80.0])
    drawn = {trace.name: trace for trace in study.figures(result_of())["error"].figure.data}
    assert drawn["reported by [P22]"].y.tolist() == [4.12, 4.05]
    assert drawn["the same, no noise"].x.tolist() == ["ε_abc = 20"]
    other = result_of(dataclasses.replace(SMALL, epsilon_total=1.0)).tables
    assert other["errors"].paper_mae.isna().all()


def test_the_spread_is_that_of_the_weights_in_prior_deviations() -> None:
    theta, rho = tuberculosis.precomputed(1000, 1, 0)
    tables = result_of().tables
    weights = np.exp(-rho / 20.0) / np.exp(-rho / 20.0).sum()
    deviations = np.sqrt(np.cov(theta.T, aweights=weights, ddof=0).diagonal())
    expected = (deviations / tuberculosis.PRIOR_SD).mean()
    assert tables["non_private"].spread.iloc[0] == pytest.approx(expected, rel=1e-9)
    assert (tables["errors"].non_private_spread.iloc[0]) == pytest.approx(expected, rel=1e-9)
    sentence = study.figures(result_of())["posterior"].sentence
    assert f"with noise and {percent(expected)} without" in sentence


OWN = study.Params(runs=3, pool_size=60, independent=True)


def test_runs_with_draws_of_their_own_are_independent() -> None:
    tables = result_of(OWN).tables
    assert len(study.tasks(OWN, 1)) == 3
    at_20 = tables["errors"][tables["errors"].epsilon_abc == 20.0]
    assert at_20.run.tolist() == [0, 1, 2]
    for column in ("mae", "non_private_mae", "pool_mae"):
        assert at_20[column].nunique() == 3
    assert tables["non_private"].run.nunique() == 3
    # The histograms are of one whole each, although there are several pools.
    totals = tables["shares"].groupby(["release", "epsilon_abc", "parameter"]).share
    assert totals.sum().to_numpy() == pytest.approx(1.0, abs=0.05)
    assert totals.count().eq(study.BINS).all()


def test_noise_leaves_nothing_and_the_title_says_so() -> None:
    title = study.figures(result_of())["error"].figure.layout.title.text
    assert title == "At ε_abc = 20, noise leaves the estimate hardly better than the prior"


def test_rows_of_parameters_are_those_of_the_weights() -> None:
    theta, rho = tuberculosis.precomputed(1000, 1, 0)
    figure = study.figures(result_of())["posterior"].figure
    assert list(figure.layout.yaxis.ticktext) == [
        "ε_abc = 20", "ε_abc = 80", "ε_abc = 20, no noise", "prior",
    ]  # fmt: skip
    plain, prior = (
        next(trace for trace in figure.data if trace.name == name)
        for name in ("non-private", "prior")
    )
    # To the width of a bar, of which 24 are from 1 to 13.
    assert plain.x[0] == pytest.approx(np.average(theta[:, 0], weights=np.exp(-rho / 20)), abs=0.2)
    low, high = np.quantile(theta[:, 0], [0.05, 0.95])
    assert prior.x[0] - prior.error_x.arrayminus[0] == pytest.approx(low, abs=0.5)
    assert prior.x[0] + prior.error_x.array[0] == pytest.approx(high, abs=0.5)


def test_the_statement_says_who_is_protected() -> None:
    words = result_of().privacy
    assert "Protects one of the N outbreaks" in words
    assert "ε_total = 4" in words
    assert "There is one outbreak, a whole city's two years" in words
