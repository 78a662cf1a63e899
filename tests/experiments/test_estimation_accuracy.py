"""Accuracy of the methods: the same people for all of them, each as it is when run on its own."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from pandas.testing import assert_frame_equal
from scipy import integrate

from abcdp_core import experiments, runner
from abcdp_core import figures as fig
from abcdp_core.experiments import adaptive_truncation
from abcdp_core.experiments import estimation_accuracy as study
from abcdp_core.experiments.estimation_accuracy import computing, drawing
from abcdp_core.parameters import ParameterError
from abcdp_core.results import Result
from abcdp_core.streams import generator
from abcdp_core.tasks import Chain

EXPERIMENT = experiments.load(study.EXPERIMENT)
STREAM = experiments.load(adaptive_truncation.EXPERIMENT)
ONLINE = ("smc", "smc-latent", "grid")
EVERY = (*ONLINE, "mhaar", "mh")
TINY = study.Params(
    n=20, particles=20, epsilon_total=(2.0,), sampler=EVERY, runs=2, iterations=100, candidates=3
)
SEED = 5


def run(params: study.Params) -> Result:
    return runner.run_to_end(EXPERIMENT, params, SEED)


@pytest.fixture(scope="module")
def tiny() -> Result:
    return run(TINY)


# ---------------------------------------------------------------------------------- the table


def test_the_course_ends_where_the_run_does(tiny: Result) -> None:
    main, course = tiny.tables["main"], tiny.tables["course"]
    assert set(course.sampler) == set(ONLINE)
    assert list(course.t.unique()) == list(range(1, 21))
    key = ["sampler", "interval", "run"]
    ends = course[course.t == 20].merge(main, on=key, suffixes=("", "_main"))
    assert len(ends) == 12
    for column in ("error_mu", "error_sigma", "sigma_width"):
        np.testing.assert_array_equal(ends[column], ends[f"{column}_main"])
    assert (course[course.interval == "fixed"].centre_sd == 0).all()


def test_reach_counts_people_until_the_spread_stays_small() -> None:
    params = dataclasses.replace(TINY, n=60, epsilon_total=(10.0,), sampler=("smc",), runs=1)
    result = run(params)
    (adaptive, fixed) = result.tables["reach"].people
    stream = adaptive_truncation.Params(n=60, particles=20, epsilon_total=10.0)
    path = runner.run_to_end(STREAM, stream, SEED).tables["main"]
    close = path.sd_mu < params.sigma / 10**0.5
    assert close[path.t >= adaptive].all()
    assert not close[path.t == adaptive - 1].any()
    assert 1 <= adaptive < fixed <= 61


def test_spread_of_the_intervals_centres() -> None:
    params = dataclasses.replace(TINY, n=40, epsilon_total=(10.0,), sampler=("smc",), runs=1)
    course = run(params).tables["course"].query("interval == 'adaptive'")
    stream = adaptive_truncation.Params(n=40, particles=20, epsilon_total=10.0)
    path = runner.run_to_end(STREAM, stream, SEED).tables["main"]
    centres = ((path.left + path.right) / 2).to_numpy().reshape(20, 2)
    np.testing.assert_allclose(course.centre_sd, centres.std(axis=1), atol=1e-12)


@pytest.mark.parametrize("interval", ["adaptive", "fixed"])
@pytest.mark.parametrize("sampler", ONLINE)
def test_the_first_run_is_the_stream_of_the_same_seed(
    tiny: Result, sampler: str, interval: str
) -> None:
    """So both intervals meet the same people with the same noise, as is shown for the stream."""
    stream = adaptive_truncation.Params(
        n=20, particles=20, epsilon_total=2.0, sampler=sampler, interval=interval
    )
    last = runner.run_to_end(STREAM, stream, SEED).tables["main"].iloc[-1]
    main = tiny.tables["main"]
    row = main[(main.sampler == sampler) & (main.interval == interval) & (main.run == 0)].iloc[0]
    assert (row.mean_mu, row.mean_sigma) == (last.mean_mu, last.mean_sigma)


def test_batch_samplers_have_the_answers_of_the_fixed_interval() -> None:
    for run_number, noise_draw in ((0, 0), (1, 0), (1, 3)):
        params = dataclasses.replace(TINY, sampler=("mh",), noise_draw=noise_draw)
        answers = computing.responses(Chain(params, run_number, SEED, 1))
        values = generator(SEED, "people", run_number).standard_normal(20) * TINY.sigma + TINY.mu
        noise = generator(SEED, "noise", run_number, noise_draw).laplace(size=20)
        scale = 20 * TINY.sigma / 2.0
        np.testing.assert_allclose(answers[:, 3], scale)
        left, right = TINY.mu - 10 * TINY.sigma, TINY.mu + 10 * TINY.sigma
        np.testing.assert_allclose(answers[:, 0], np.clip(values, left, right) + scale * noise)


# ---------------------------------------------------------------------------------- the methods


@pytest.mark.parametrize("sampler", ["mh", "mhaar"])
def test_a_batch_sampler_agrees_with_the_grid(sampler: str) -> None:
    params = study.Params(
        n=100,
        epsilon_total=(10.0,),
        sampler=(sampler,),
        interval=("fixed",),
        fixed_width=2.0,
        runs=1,
        iterations=5000,
        candidates=10,
    )
    grid = adaptive_truncation.Params(
        n=100, epsilon_total=10.0, sampler="grid", interval="fixed", fixed_width=2.0
    )
    exact = runner.run_to_end(STREAM, grid, SEED).tables["main"].iloc[-1]
    tables = run(params).tables
    row, chain = tables["main"].iloc[0], tables["chains"].iloc[0]
    kept = params.iterations * (1 - params.burn_in)
    for name in ("mu", "sigma"):
        monte_carlo = exact[f"sd_{name}"] * np.sqrt(chain[f"autocorrelation_{name}"] / kept)
        assert abs(row[f"mean_{name}"] - exact[f"mean_{name}"]) < 5 * monte_carlo
        assert 5 * monte_carlo < exact[f"sd_{name}"]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    "changes",
    [
        {"n": 10, "epsilon_total": (0.001, 1000.0), "runs": 1},
        # The grid has no particles.
        {"particles": 1, "runs": 1, "sampler": ("smc", "smc-latent", "mhaar", "mh")},
        {"n": 1, "runs": 1},
    ],
    ids=["budgets", "one particle", "one person"],
)
def test_extremes_are_finite(noise: str, changes: dict[str, Any]) -> None:
    result = run(dataclasses.replace(TINY, noise=noise, **changes))
    main = result.tables["main"]
    assert np.isfinite(main.select_dtypes("number").to_numpy()).all()
    assert study.figures(result)


# ---------------------------------------------------------------------------- words and figures


def test_a_batch_sampler_cannot_follow_an_adaptive_interval() -> None:
    with pytest.raises(ParameterError, match=r"^sampler = mh: a batch sampler needs interval = "):
        study.Params(sampler=("mh",), interval=("adaptive",))
    both = study.Params(sampler=("mh", "smc"), interval=("adaptive",))
    assert both.methods() == [("smc", "adaptive")]


def test_sigma_has_figures_where_it_is_to_be_learnt(tiny: Result) -> None:
    assert set(study.figures(tiny)) == {"means-mu", "means-sigma", "error-mu", "error-sigma"}
    known = run(dataclasses.replace(TINY, known_sigma=True, sampler=("smc", "mh")))
    assert set(study.figures(known)) == {"means-mu", "error-mu"}
    np.testing.assert_allclose(known.tables["main"].error_sigma, 0.0, atol=1e-9)


def test_words_are_of_the_first_method_at_the_smallest_budget(tiny: Result) -> None:
    means = study.figures(tiny)["means-mu"].sentence
    first = tiny.tables["main"].query("sampler == 'smc' and interval == 'adaptive'").mean_mu
    assert f" over 2 runs with smc and adaptive intervals is {first.min():.4g} to" in means
    assert "log σ is not clearly narrower" in study.figures(tiny)["means-sigma"].sentence
    course = tiny.tables["course"].query("t == 20 and interval == 'fixed'")
    missed = (course.error_mu > 1.96 * course.sd_mu).sum()
    title = fig.one_line(study.figures(tiny)["means-mu"].figure)
    assert title.endswith(f"{missed} of {len(course)} with fixed intervals")
    link = study.work(study.tasks(TINY, SEED)[0])
    partial = study.collect(TINY, link.tables)
    assert partial.summary == "No estimate is finished yet."
    assert study.figures(partial)["means-mu"].sentence.startswith("No estimate of μ yet")


# ------------------------------------------------------------------------- other ways of asking

SYMBOLS = dataclasses.replace(
    TINY,
    runs=2,
    sampler=("smc", "grid", "mh", "smc-latent"),
    interval=("adaptive", "fixed"),
    channel=("truncation", "optimal", "sign"),
    epsilon_total=(5.0,),
)


def test_each_sampler_takes_the_ways_of_asking_that_it_can() -> None:
    assert SYMBOLS.methods() == [
        *itertools.product(("smc", "grid"), ("adaptive", "fixed", "optimal", "sign")),
        ("mh", "fixed"),
        ("smc-latent", "adaptive"),
        ("smc-latent", "fixed"),
    ]
    only = dataclasses.replace(SYMBOLS, channel=("sign",))
    assert only.methods() == [("smc", "sign"), ("grid", "sign")]


def test_symbols_stand_beside_the_same_numbers_of_truncation() -> None:
    both = run(SYMBOLS)
    alone = run(dataclasses.replace(SYMBOLS, channel=("truncation",)))
    assert list(both.tables["main"].channel.unique()) == ["truncation", "optimal", "sign"]
    for name, table in both.tables.items():
        rest = table[table.channel == "truncation"].reset_index(drop=True)
        expected = alone.tables[name]
        keys = [c for c in expected if c != "seconds"]
        assert_frame_equal(rest[keys], expected[keys], check_dtype=False)
        tabled = table[table.channel != "truncation"]
        assert (tabled.interval == tabled.channel).all()
    names = {trace.name for trace in study.figures(both)["error-mu"].figure.data}
    assert {"optimal, theory", "sign, theory", "trusted collector"} <= names


def test_theory_of_symbols_has_their_information() -> None:
    _, errors = drawing.efficient_errors(SYMBOLS, "mu", "sign")
    told = 2.0 / math.pi * math.tanh(2.5) ** 2
    expected = SYMBOLS.sigma * math.sqrt(2.0 / math.pi / (SYMBOLS.n * told))
    assert errors[0] == pytest.approx(expected, rel=1e-9)


def test_a_trusted_collectors_error_by_quadrature() -> None:
    (_,), (found,) = drawing.trusted_errors(SYMBOLS)
    s = SYMBOLS.sigma / math.sqrt(SYMBOLS.n)
    b = 2.0 * SYMBOLS.fixed_width * SYMBOLS.sigma / (SYMBOLS.n * 5.0)

    def given(x: float) -> float:
        law = math.exp(-0.5 * (x / s) ** 2) / (s * math.sqrt(2.0 * math.pi))
        return law * (abs(x) + b * math.exp(-abs(x) / b))

    expected = 2.0 * integrate.quad(given, 0.0, 12.0 * s)[0]
    assert found == pytest.approx(expected, rel=1e-8)


def test_privacy_of_symbols_alone_is_that_of_their_table() -> None:
    params = dataclasses.replace(
        SYMBOLS, channel=("sign",), sampler=("grid",), epsilon_total=(1000.0,), n=3, runs=1
    )
    assert "ε_total = 30 " in run(params).privacy
