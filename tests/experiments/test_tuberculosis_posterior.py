"""The tuberculosis study, and the distances that come with the program."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pandas as pd
import pytest

from abcdp_core import pool, releases, runner
from abcdp_core.experiments import posterior
from abcdp_core.experiments import tuberculosis_posterior as study
from abcdp_core.results import Result
from abcdp_core.sentences import amount
from abcdp_core.simulators import tuberculosis
from abcdp_core.streams import generator

SMALL = study.Params(epsilon_total=1.0, runs=3, observed_set=(0, 4))

BURDENS = pytest.mark.parametrize("burden", tuberculosis.PRIORS)


@functools.cache
def result_of(params: study.Params = SMALL) -> Result:
    return runner.run_to_end(study, params, seed=1)


# ------------------------------------------------------------------ what comes with the program


def simulated(t: int, size: int, burden: str, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Draw number t of the pool and its outbreaks ``(size, 8)``, made again from the seed."""
    deviation = float(tuberculosis.PRIORS[burden].deviation[3])
    theta = tuberculosis.prior(generator(seed, "tuberculosis-prior", t), 1, deviation)
    rng = generator(seed, "tuberculosis-outbreaks", t)
    return theta[0], tuberculosis.simulate(rng, theta, size)[0]


def same_outbreaks(burden: str, draws: int, seed: int = 1) -> int:
    """Draws whose first outbreak is the shipped one, when it is simulated again."""
    first = tuberculosis._shipped(burden)[2][:draws]
    again = [simulated(t, 1, burden, seed)[1][0] for t in range(draws)]
    return int(np.isclose(again, first, rtol=1e-12, atol=0.0).all(axis=1).sum())


@BURDENS
def test_the_shipped_outbreaks_are_made_again_from_their_seed(burden: str) -> None:
    # A logarithm may differ by one unit between processors, and then so does an outbreak.
    assert same_outbreaks(burden, 1000) >= 999
    assert same_outbreaks(burden, 20, seed=2) == 0


@BURDENS
@pytest.mark.parametrize("t", [0, 517])
def test_shipped_draws_and_distances_are_made_again_from_their_seed(burden: str, t: int) -> None:
    theta, outbreaks = simulated(t, 1000, burden)
    distance = tuberculosis.distance()
    for n in (100, 1000):
        for number in (0, 9):
            precomputed_theta, rho = tuberculosis.precomputed(1000, n, number, burden)
            assert precomputed_theta[t] == pytest.approx(theta, rel=1e-12)
            statistic = distance.statistic(tuberculosis.precomputed_data(n, number))
            found = distance.compare(distance.statistic(outbreaks[None, :n]), statistic)
            assert rho[t] == pytest.approx(found[0], abs=1e-3)


@BURDENS
def test_the_shipped_pool_is_whole(burden: str) -> None:
    for n in (100, 1000):
        for number in range(10):
            theta, rho = tuberculosis.precomputed(1000, n, number, burden)
            assert theta.shape == (1000, 4)
            assert rho.shape == (1000,)
            assert 50 < rho.min() < rho.max() <= 200
    prior = tuberculosis.PRIORS[burden]
    off = np.abs(theta.mean(axis=0) - prior.mean) / (prior.deviation / np.sqrt(1000))
    assert off.max() < 5


def test_a_smaller_pool_is_the_beginning_of_the_larger() -> None:
    theta, rho = tuberculosis.precomputed(1000, 100, 3)
    fewer, distances = tuberculosis.precomputed(200, 100, 3)
    assert np.array_equal(fewer, theta[:200])
    assert np.array_equal(distances, rho[:200])


def test_san_francisco_is_one_outbreak_and_its_noise_hides_everything() -> None:
    params = posterior.Params(
        scenario="tuberculosis", n=1, pool_size=1000, epsilon_abc=150.0, epsilon_total=1.0
    )
    comparison = releases.comparison_of(params, 1)
    assert comparison.rho.max() <= 200.0
    assert comparison.sensitivity() == pytest.approx(200.0, rel=1e-9)
    assert releases.event_of(params).threshold_scale > 2000.0
    data = pool.observed_data(releases.pool_key(params, 1), 1)
    assert np.array_equal(data, tuberculosis.SAN_FRANCISCO)
    first = tuberculosis._shipped("variance 30")[2]
    by_hand = tuberculosis.distance().compare(first, tuberculosis.SAN_FRANCISCO[0])
    assert np.array_equal(comparison.rho, by_hand)


# ------------------------------------------------------------------------------------- the study


def test_errors_are_those_of_the_accepted_values() -> None:
    tables = result_of().tables
    main = tables["main"][tables["main"].release == "private"]
    keys = ["n", "resample", "observed_set", "run"]
    means = main.pivot_table(index=keys, columns="parameter", values="value")
    names = list(tuberculosis.AXES)
    off = np.abs(means[names].to_numpy() - tuberculosis.TRUTH)
    errors = tables["errors"].set_index(keys).loc[means.index]
    assert errors.mae.to_numpy() == pytest.approx(off.mean(axis=1), rel=1e-12)
    scaled = (off / tuberculosis.PRIOR_SD).mean(axis=1)
    assert errors.mae_scaled.to_numpy() == pytest.approx(scaled, rel=1e-12)
    prior = np.abs(tuberculosis.PRIOR_MEAN - tuberculosis.TRUTH).mean()
    assert errors.prior_mae.to_numpy() == pytest.approx(prior, rel=1e-12)
    assert (errors.accepted == main.groupby(keys).size().loc[errors.index] / 4).all()


def test_without_noise_to_speak_of_every_run_is_the_non_private_one() -> None:
    tables = result_of(dataclasses.replace(SMALL, epsilon_total=1000.0, n=(1000,))).tables
    main = tables["main"]
    for number, part in main.groupby("observed_set"):
        plain = part[part.release == "non-private"]["sample"].unique().tolist()
        assert len(plain) == SMALL.c, number
        shared = [
            len(set(plain) & set(run["sample"])) for _, run in part.groupby(["resample", "run"])
        ]
        assert np.mean(shared) >= 0.8 * SMALL.c


def test_the_order_of_the_pool_can_be_the_same_for_all() -> None:
    same = result_of(dataclasses.replace(SMALL, order="same"))
    assert (
        same.tables["errors"]
        .query("observed_set == 0")
        .equals(result_of().tables["errors"].query("observed_set == 0"))
    )
    assert not same.tables["errors"].equals(result_of().tables["errors"])


def test_the_first_data_set_is_the_one_of_the_posterior_page() -> None:
    params = posterior.Params(
        scenario="tuberculosis", n=1000, pool_size=1000, epsilon_abc=150.0, epsilon_total=1.0
    )
    shown = runner.run_to_end(posterior, params, seed=1).tables["main"]
    here = result_of().tables["main"].query("n == 1000 and observed_set == 0")
    plain = here[here.release == "non-private"]["sample"].unique().tolist()
    assert shown[shown.release == "non-private"]["sample"].unique().tolist() == plain


def test_known_spreads_are_found() -> None:
    rng = np.random.default_rng(1)
    centres = 4.0 + 0.5 * rng.standard_normal(400)
    table = pd.DataFrame(
        {
            "n": 100,
            "resample": True,
            "observed_set": np.repeat(np.arange(400), 20),
            "run": np.tile(np.arange(20), 400),
            "mae": np.repeat(centres, 20) + 0.8 * rng.standard_normal(8000),
        }
    )
    row = study.spreads(table).iloc[0]
    assert row.noise == pytest.approx(0.8, rel=0.05)
    assert row.data == pytest.approx(0.5, rel=0.15)


@BURDENS
def test_both_priors_have_their_own_baseline(burden: str) -> None:
    result = result_of(dataclasses.replace(SMALL, burden=burden))
    prior = np.abs(tuberculosis.PRIORS[burden].mean - tuberculosis.TRUTH).mean()
    assert result.tables["errors"].prior_mae.iloc[0] == pytest.approx(prior)
    assert f"the prior mean's is {amount(prior)}." in result.summary
    spread = result.tables["prior"].query("parameter == 'β'").value.std()
    assert spread == pytest.approx(tuberculosis.PRIORS[burden].deviation[3], rel=0.1)
    low, high = tuberculosis.axes(burden)["β"]
    assert low < result.tables["prior"].query("parameter == 'β'").value.quantile(0.001)
    assert high > result.tables["prior"].query("parameter == 'β'").value.quantile(0.999)


def test_a_distance_clipped_as_a_whole_has_the_sensitivity_of_its_bound() -> None:
    mean, term = (
        dataclasses.replace(SMALL, sensitivity_of=each).event(100, False).sensitivity
        for each in ("mean", "term")
    )
    assert mean == pytest.approx(2.0, rel=1e-9)
    assert term == pytest.approx(200.0, rel=1e-9)
    assert term >= tuberculosis.distance().bound


def test_the_figure_has_the_papers_numbers_only_where_there_are_any() -> None:
    (paper,) = [t for t in study.figures(result_of())["error"].figure.data if "[P21]" in t.name]
    assert sorted(paper.y) == [2.10, 2.20, 4.51, 4.71]
    other = result_of(dataclasses.replace(SMALL, epsilon_total=0.2))
    assert not [t for t in study.figures(other)["error"].figure.data if "[P21]" in t.name]


def test_what_is_said_is_so_where_there_is_little() -> None:
    nothing = dataclasses.replace(SMALL, epsilon_abc=1.0, epsilon_total=1000.0, c=1)
    errors = result_of(nothing).tables["errors"]
    assert (errors.accepted == 0).all()
    assert (errors.mae == errors.prior_mae).all()
    assert "24 runs of 24 accepted nothing; their estimates are the prior mean." in (
        result_of(nothing).summary
    )
    said = study.figures(result_of(nothing))["posterior"].figure.layout.title.text
    kept = "At N = 100 with the threshold redrawn"
    assert said == f"{kept}, the estimate is no better than the prior, even without noise"
    for changes in ({"runs": 1}, {"observed_set": (3,)}, {"runs": 1, "observed_set": (3,)}):
        small = dataclasses.replace(SMALL, **changes)  # type: ignore[arg-type]
        sentence = study.figures(result_of(small))["error"].sentence
        assert "nan" not in sentence
        assert ("by noise" in sentence) == (small.runs > 1)
        assert ("by data" in sentence) == (small.runs > 1 and len(small.observed_set) > 1)
