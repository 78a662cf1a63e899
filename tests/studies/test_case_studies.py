"""Case studies: what comes with the program, soft weights, and what is protected."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pandas as pd
import pytest

from abcdp_core import studies
from abcdp_core.base import parameters
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.streams import generator
from abcdp_core.evaluation import one_release
from abcdp_core.models import pool
from abcdp_core.models.simulators import covid, tuberculosis
from abcdp_core.run import runner
from abcdp_core.run.results import Result
from abcdp_core.studies import (
    covid_fit,
    posterior,
    tuberculosis_posterior,
    tuberculosis_soft,
    unit_of_privacy,
)
from tests import results

BURDENS = pytest.mark.parametrize("burden", tuberculosis.PRIORS)


def simulated(t: int, size: int, burden: str, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Draw number t of the pool and its outbreaks ``(size, 8)``, made again from the seed."""
    deviation = float(tuberculosis.PRIORS[burden].deviation[3])
    theta = tuberculosis.prior(generator(seed, "tuberculosis-prior", t), 1, deviation)
    rng = generator(seed, "tuberculosis-outbreaks", t)
    return theta[0], tuberculosis.simulate(rng, theta, size)[0]


@BURDENS
def test_the_shipped_outbreaks_are_made_again_from_their_seed(burden: str) -> None:
    first = tuberculosis._shipped(burden)[2][:100]
    for seed, least, most in ((1, 99, 100), (2, 0, 0)):
        again = [simulated(t, 1, burden, seed)[1][0] for t in range(100)]
        # A logarithm may differ by one unit between processors, and then so does an outbreak.
        same = np.isclose(again, first, rtol=1e-12, atol=0.0).all(axis=1).sum()
        assert least <= same <= most


@BURDENS
def test_shipped_draws_and_distances_are_made_again_from_their_seed(burden: str) -> None:
    t, distance = 517, tuberculosis.distance()
    theta, outbreaks = simulated(t, 1000, burden)
    for n in (100, 1000):
        for number in (0, 9):
            precomputed_theta, rho = tuberculosis.precomputed(1000, n, number, burden)
            assert precomputed_theta[t] == pytest.approx(theta, rel=1e-12)
            statistic = distance.statistic(tuberculosis.precomputed_data(n, number))
            found = distance.compare(distance.statistic(outbreaks[None, :n]), statistic)
            assert rho[t] == pytest.approx(found[0], abs=1e-3)


def test_san_francisco_is_one_outbreak_and_its_noise_hides_everything() -> None:
    params = posterior.Params(
        scenario="tuberculosis", n=1, pool_size=1000, epsilon_abc=150.0, epsilon_total=1.0
    )
    comparison = one_release.comparison_of(params, 1)
    assert comparison.rho.max() <= 200.0
    assert comparison.sensitivity() == pytest.approx(200.0, rel=1e-9)
    assert one_release.event_of(params).threshold_scale > 2000.0
    data = pool.observed_data(one_release.pool_key(params, 1), 1)
    assert np.array_equal(data, tuberculosis.SAN_FRANCISCO)
    first = tuberculosis._shipped("variance 30")[2]
    by_hand = tuberculosis.distance().compare(first, tuberculosis.SAN_FRANCISCO[0])
    assert np.array_equal(comparison.rho, by_hand)


def test_known_spreads_are_found() -> None:
    rng = np.random.default_rng(1)
    centers = 4.0 + 0.5 * rng.standard_normal(400)
    sets, runs = np.repeat(np.arange(400), 20), np.tile(np.arange(20), 400)
    mae = np.repeat(centers, 20) + 0.8 * rng.standard_normal(8000)
    table = {"n": 100, "resample": True, "observed_set": sets, "run": runs, "mae": mae}
    row = tuberculosis_posterior.spreads(pd.DataFrame(table)).iloc[0]
    assert row.noise == pytest.approx(0.8, rel=0.05)
    assert row.data == pytest.approx(0.5, rel=0.15)


def test_a_distance_clipped_as_a_whole_has_the_sensitivity_of_its_bound() -> None:
    mean, term = (
        tuberculosis_posterior.Params(sensitivity_of=each).event(100, False).sensitivity
        for each in ("mean", "term")
    )
    assert mean == pytest.approx(2.0, rel=1e-9)
    assert tuberculosis.distance().bound <= term == pytest.approx(200.0, rel=1e-9)


# ------------------------------------------------------------------------------------ soft weights

SOFT = tuberculosis_soft.Params(runs=20)

soft = functools.partial(results.changed, tuberculosis_soft, SOFT)


def test_the_noise_is_thirty_times_the_largest_signal_and_leaves_half_of_the_pool() -> None:
    for epsilon_abc in (20.0, 80.0):
        event = tuberculosis_soft.event_of(SOFT, epsilon_abc)
        assert event.scale / (200.0 / epsilon_abc) == pytest.approx(30.3, abs=0.1)
    errors = soft().tables["errors"]
    assert (abs(errors.effective_sample_size - 500) < 80).all()
    assert abs(errors.mae.mean() - errors.pool_mae.iloc[0]) < 0.1
    theta, _ = tuberculosis.precomputed(1000, 1, 0)
    equal = np.abs(theta.mean(axis=0) - tuberculosis.SCENARIO.truth).mean()
    assert errors.pool_mae.to_numpy() == pytest.approx(equal)
    # Even ε_total = 1000 leaves noise of the size of the largest distance.
    errors = soft(epsilon_total=1000.0).tables["errors"]
    assert (errors.mae < errors.pool_mae).mean() > 0.5


# ------------------------------------------------------------------------------- unit of protection


def protected(scenario: str = "tuberculosis-patients", **changes: object) -> Result:
    settings = {"pool_size": 2000, "runs": 3, "epsilon_total": 1.0}
    params = unit_of_privacy.Params.for_scenario(scenario, **settings)
    return results.changed(unit_of_privacy, params, **changes)


def test_protecting_the_outbreak_leaves_the_prior_and_protecting_a_patient_does_not() -> None:
    def shares(result: Result) -> dict[str, float]:
        widths = result.tables["widths"]
        return {row.unit or row.release: row.width_share for row in widths.itertuples()}

    found = shares(protected(pool_size=20_000))
    assert found["prior"] == 1.0
    assert found["non-private"] < found["one patient"] < 0.75
    assert 0.95 < found["one outbreak"] < 1.05
    found = shares(protected(epsilon_total=1000.0))
    assert found["one patient"] == pytest.approx(found["non-private"], rel=0.05)
    first = protected("covid-people").privacy.partition(". ")[0]
    assert first.startswith("Protects one person: ")
    assert "; or protects one day: " in first


# --------------------------------------------------------------------------------------- COVID-19


def test_only_the_scripts_bandwidth_reads_the_series_and_the_result_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = covid_fit.Params(pool_size=200, runs=1)

    def bandwidths() -> list[object]:
        pool.forget()
        choices = [covid.SCENARIO.bandwidth, "median", 300.0, "script"]
        settings = [dataclasses.replace(small, bandwidth=each) for each in choices]
        return [covid_fit.pool_key(params, 1).bandwidth for params in settings]

    assert "Not private" in results.changed(covid_fit, small, bandwidth="script").privacy
    *before, script = bandwidths()
    monkeypatch.setattr(covid, "CASES", 7.0 * covid.CASES)
    assert bandwidths() == [*before, 7 * script]


@pytest.mark.parametrize("name", ["covid-fit", "tuberculosis-posterior"])
def test_too_many_rows_are_refused_and_the_bound_counts_them(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = studies.load(name)
    with pytest.raises(ParameterError, match=r"^runs = 1000: must be at most"):
        experiment.Params.from_text({"c": "1000", "pool_size": "1000", "runs": "1000"})
    bounds: list[int] = []
    monkeypatch.setattr(parameters, "check_rows", lambda runs, rows: bounds.append(runs * rows))
    params = experiment.Params.from_text({"runs": "2", "c": "3", "pool_size": "200"})
    main = runner.run_to_end(experiment, params, 1).tables["main"]
    # Besides the rows of runs there are the data, or the draws kept without noise.
    kind = next(name for name in ("kind", "release") if name in main)
    assert (~main[kind].isin(["observed", "non-private"])).sum() <= bounds[0]
