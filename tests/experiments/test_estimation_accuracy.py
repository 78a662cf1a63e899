"""Accuracy of the methods: the same people for all of them, each as it is when run on its own."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from scipy import integrate

from abcdp_core import experiments, runner
from abcdp_core import figures as fig
from abcdp_core.experiments import adaptive_truncation
from abcdp_core.experiments import estimation_accuracy as study
from abcdp_core.parameters import ParameterError
from abcdp_core.results import Result
from abcdp_core.streams import generator

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


def untimed(main: pd.DataFrame) -> pd.DataFrame:
    """A table without the seconds, which are measured and never the same."""
    return main.drop(columns="seconds")


@pytest.fixture(scope="module")
def tiny() -> Result:
    return run(TINY)


# ---------------------------------------------------------------------------------- the table


def test_all_five_samplers_with_each_interval_they_can_follow(tiny: Result) -> None:
    main = tiny.tables["main"]
    found = set(main[["sampler", "interval"]].itertuples(index=False, name=None))
    assert found == {(s, i) for s in ONLINE for i in ("adaptive", "fixed")} | {
        ("mhaar", "fixed"),
        ("mh", "fixed"),
    }
    assert len(main) == 2 * len(found)
    assert np.isfinite(main.select_dtypes("number").to_numpy()).all()
    assert (main.seconds > 0).all()


def test_errors_are_distances_of_the_means_from_the_truth(tiny: Result) -> None:
    main = tiny.tables["main"]
    np.testing.assert_array_equal(main.error_mu, (main.mean_mu - TINY.mu).abs())
    np.testing.assert_array_equal(main.error_sigma, (main.mean_sigma - TINY.sigma).abs())


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


def test_each_batch_run_says_how_its_chain_moved(tiny: Result) -> None:
    chains = tiny.tables["chains"]
    assert sorted(chains.sampler) == ["mh", "mh", "mhaar", "mhaar"]
    assert ((chains.acceptance > 0) & (chains.acceptance < 1)).all()
    assert (chains[["autocorrelation_mu", "autocorrelation_sigma"]] > 0).all(axis=None)


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
        answers = study._responses(study.Task(params, run_number, SEED))
        values = generator(SEED, "people", run_number).standard_normal(20) * TINY.sigma + TINY.mu
        noise = generator(SEED, "noise", run_number, noise_draw).laplace(size=20)
        scale = 20 * TINY.sigma / 2.0
        np.testing.assert_allclose(answers[:, 3], scale)
        left, right = TINY.mu - 10 * TINY.sigma, TINY.mu + 10 * TINY.sigma
        np.testing.assert_allclose(answers[:, 0], np.clip(values, left, right) + scale * noise)


def test_the_first_runs_of_many_are_those_of_few() -> None:
    few, many = (
        run(dataclasses.replace(TINY, n=10, runs=runs, sampler=("smc", "mh"))) for runs in (3, 10)
    )
    for table, frame in many.tables.items():
        first, expected = frame[frame.run < 3].reset_index(drop=True), few.tables[table]
        if table == "main":
            first, expected = untimed(first), untimed(expected)
        assert_frame_equal(first, expected, check_exact=True)


def test_a_method_gives_the_same_in_other_company(tiny: Result) -> None:
    alone = run(dataclasses.replace(TINY, sampler=("mhaar",), epsilon_total=(5.0, 2.0)))
    main, expected = (
        untimed(frame[(frame.sampler == "mhaar") & (frame.epsilon_total == 2)])
        for frame in (alone.tables["main"], tiny.tables["main"])
    )
    assert_frame_equal(main.reset_index(drop=True), expected.reset_index(drop=True))


def test_another_noise_draw_changes_the_estimates() -> None:
    params = dataclasses.replace(TINY, n=5, sampler=("grid",), runs=1)
    first, second = (
        run(dataclasses.replace(params, noise_draw=draw)).tables["main"] for draw in (0, 1)
    )
    assert (first.mean_mu != second.mean_mu).all()


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


def test_a_known_sigma_is_right_for_every_sampler() -> None:
    main = run(dataclasses.replace(TINY, known_sigma=True)).tables["main"]
    np.testing.assert_allclose(main.mean_sigma, TINY.sigma)
    np.testing.assert_allclose(main.error_sigma, 0.0, atol=1e-9)


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


# ------------------------------------------------------------------------ settings and words


def test_the_preset_is_the_papers() -> None:
    params = study.PRESETS["y23-figure-3"]
    assert isinstance(params, study.Params)
    assert params.epsilon_total == (1.0, 2.0, 5.0, 10.0)
    assert set(params.methods()) >= {
        ("smc-latent", "adaptive"),
        ("smc-latent", "fixed"),
        ("mhaar", "fixed"),
    }
    assert (params.n, params.particles, params.runs) == (1000, 1000, 30)
    assert (params.mu, round(params.sigma**2, 12), params.fixed_width) == (50.0, 10.0, 10.0)
    assert (params.iterations, params.burn_in, params.candidates) == (100_000, 0.8, 20)
    assert (params.start, params.resampling, params.refresh) == ("paper", "multinomial", 0)
    assert (params.prior_mean, params.prior_variance) == (0.0, 1e4)
    assert (params.prior_shape, params.prior_rate) == (1.0, 1.0)
    assert (params.noise, params.score, params.symmetric) == ("laplace", "mu", True)


@pytest.mark.parametrize("samplers", [("mh",), ("mhaar",), ("mh", "mhaar")])
def test_a_batch_sampler_cannot_follow_an_adaptive_interval(samplers: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError) as error:
        study.Params(sampler=samplers, interval=("adaptive",))
    names = ", ".join(samplers)
    assert str(error.value) == f"sampler = {names}: a batch sampler needs interval = fixed."
    both = study.Params(sampler=(*samplers, "smc"), interval=("adaptive",))
    assert both.methods() == [("smc", "adaptive")]


def test_the_papers_sampler_is_refused_what_it_cannot_hold() -> None:
    study.Params(n=100_000, particles=10_000, sampler=("smc", "mh"))
    with pytest.raises(ParameterError, match=r"^n \* particles = 1,000,000,000: "):
        study.Params(n=100_000, particles=10_000, sampler=("smc", "smc-latent"))


def test_the_largest_budget_is_what_is_said_about_privacy() -> None:
    params = dataclasses.replace(TINY, n=2, runs=1, sampler=("smc",), epsilon_total=(10.0, 2.0))
    result = run(params)
    assert result.privacy.startswith("Protects each person's answer: pure")
    assert "ε_total = 10 " in result.privacy
    gaussian = run(dataclasses.replace(params, noise="gaussian"))
    assert "δ = 1e-05" in gaussian.privacy


def test_the_summary_is_a_sentence_with_the_mean_errors(tiny: Result) -> None:
    assert tiny.summary.startswith("Over 2 runs with N = 20, mean absolute error of μ")
    main = tiny.tables["main"]
    for (sampler, interval), part in main.groupby(["sampler", "interval"]):
        assert re.search(rf"{sampler} {interval} {part.error_mu.mean():.3g}\b", tiny.summary)
    assert tiny.summary.endswith(".")


def test_before_the_first_run_is_finished_there_is_a_sentence_and_empty_figures() -> None:
    link = study.work(study.tasks(TINY, SEED)[0])
    partial = study.collect(TINY, link.tables)
    assert partial.summary == "No run is finished yet; 2 are to be done, each with N = 20."
    assert set(study.figures(partial)) == {"means-mu", "means-sigma", "error-mu", "error-sigma"}


def test_a_chain_that_hardly_moves_does_not_count_as_having_learnt(tiny: Result) -> None:
    """A chain with few independent steps tells little, however narrow it is."""
    main, chains = tiny.tables["main"], tiny.tables["chains"]
    slow = chains.assign(autocorrelation_sigma=40.0)
    still = {"main": main.assign(sigma_width=0.3), "chains": slow}
    fast = {**still, "chains": chains.assign(autocorrelation_sigma=1.0)}
    for tables, gained in ((still, 0.0), (fast, 0.7)):
        found = study.narrower(dataclasses.replace(tiny, tables=tables), 2.0, "mh", "fixed")
        assert found == pytest.approx(gained)


def test_words_on_sigma_say_how_much_narrower_it_is(tiny: Result) -> None:
    assert "log σ" in study._means_sentence(tiny, "sigma")
    assert "log σ" not in study._means_sentence(tiny, "mu")
    known = dataclasses.replace(tiny, params=dataclasses.replace(TINY, known_sigma=True))
    assert study._errors_sentence(known, "sigma") == (
        "σ = 3.16 is known, so every estimate of it is right."
    )
    assert study._means_sentence(known, "sigma") == (
        "σ = 3.16 is known: every estimate lies on the line."
    )


def test_each_figure_has_a_sentence_of_its_own_from_what_it_shows(tiny: Result) -> None:
    none = study.collect(TINY, study.work(study.tasks(TINY, SEED)[0]).tables)
    for result in (tiny, none, with_errors([1.0], [])):
        sentences = [drawn.sentence for drawn in study.figures(result).values()]
        assert len(set(sentences) - {none.summary}) >= len(sentences) - 2
        means = study.figures(result)["means-mu"].sentence
        assert means != study.figures(result)["error-mu"].sentence
    part = tiny.tables["main"].query("sampler == 'mh'").mean_mu
    assert f"mh fixed {part.min():.4g} to {part.max():.4g}" in study._means_sentence(tiny, "mu")
    alone = study._means_sentence(with_errors([1.0], []), "mu")
    assert alone.endswith("(true 50). At ε_total = 2: smc adaptive 50.")


# --------------------------------------------------------------------------------------- figures


def with_errors(adaptive: list[float], fixed: list[float]) -> Result:
    """Runs of one sampler at one budget with these errors of μ; each posterior's spread is 1."""
    params = study.Params(n=20, epsilon_total=(2.0,))
    errors = {"adaptive": adaptive, "fixed": fixed}
    rows = [(way, k, error) for way, each in errors.items() for k, error in enumerate(each)]
    main = pd.DataFrame(rows, columns=["interval", "run", "error_mu"])
    main = main.assign(epsilon_total=2.0, sampler="smc", mean_mu=50.0, error_sigma=main.error_mu)
    main = main.assign(mean_sigma=3.0, sigma_width=1.0, seconds=1.0)
    course = main.assign(t=20, sd_mu=1.0, sd_sigma=1.0)
    chains = main.iloc[:0].assign(autocorrelation_sigma=0.0)
    tables = {"main": main, "course": course, "chains": chains}
    return Result(study.EXPERIMENT, params, tables, "", "")


@pytest.mark.parametrize(
    ("adaptive", "fixed", "error", "missed"),
    [
        ([1.0, 1.1, 1.2], [4.0, 4.4, 4.8],
         "adaptive intervals make the error of μ 4.0 times smaller",
         "0 of 3 adaptive, 3 of 3 fixed"),
        ([4.0, 4.4, 4.8], [1.0, 1.1, 1.2],
         "fixed intervals make the error of μ 4.0 times smaller",
         "3 of 3 adaptive, 0 of 3 fixed"),
        ([1.0, 2.0], [1.0, 2.0], "no clear difference between the errors of μ",
         "1 of 2 adaptive, 1 of 2 fixed"),
        ([1.0], [9.0], "no clear difference between the errors of μ",
         "0 of 1 adaptive, 1 of 1 fixed"),
    ],
)  # fmt: skip
def test_titles_say_what_is_found(
    adaptive: list[float], fixed: list[float], error: str, missed: str
) -> None:
    found = with_errors(adaptive, fixed)
    assert study.finding(found, "mu") == f"At ε_total = 2 {error}"
    assert study.missing(found, "mu") == f"Mean ± 1.96 standard deviations misses μ: {missed}"
    titles = {name: fig.one_line(d.figure) for name, d in study.figures(found).items()}
    assert titles["error-mu"] == f"At ε_total = 2 {error}"
    assert titles["means-sigma"].startswith("Mean ± 1.96 standard deviations misses σ")


def test_titles_without_anything_to_compare() -> None:
    alone = with_errors([1.0, 2.0], [])
    assert study.finding(alone, "mu") == "Error of μ"
    nothing = with_errors([], [])
    assert study.finding(nothing, "mu") == "Error of μ"
    assert study.missing(nothing, "sigma") == "Estimates of σ"


def test_a_way_of_asking_keeps_its_colour_and_names_stand_apart(tiny: Result) -> None:
    styles = study._styles(TINY)
    for (_, interval), style in styles.items():
        assert style.color == fig.CATEGORIES[("adaptive", "fixed").index(interval)]
    assert len({(style.color, style.dash) for style in styles.values()}) == len(styles)
    ends = [(fig.THEORY, value) for value in (1.0, 1.0, 1.01, 9.0, 10.0, math.nan, 0.0)]
    places = [at for _, at in study._apart(ends, -1.0, 1.0)]
    assert len(places) == 5
    assert (np.diff(places) >= 2 * study.LINE - 1e-9).all()
    assert places[-1] <= 1.0
    layout = study.figures(tiny)["error-mu"].figure.layout
    assert len(layout.annotations) >= len(styles)
    low, high = layout.xaxis.range
    assert all(low < note.x < high for note in layout.annotations)


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
    assert "smc optimal" in both.summary
    figures = study.figures(both)
    names = {trace.name for trace in figures["error-mu"].figure.data}
    assert {"theory, optimal", "theory, sign", "trusted collector"} <= names
    assert "trusted collector" not in {t.name for t in figures["error-sigma"].figure.data}
    before = study.figures(alone)["error-mu"].figure
    assert "trusted collector" not in {trace.name for trace in before.data}
    (_,), (trusted,) = study.trusted_errors(SYMBOLS)
    said = f"; one trusted collector, by theory, {trusted:.2g}."
    assert study._errors_sentence(both, "mu").endswith(said)
    for result, name in ((both, "sigma"), (alone, "mu")):
        assert "trusted collector" not in study._errors_sentence(result, name)


def test_theory_of_symbols_has_their_information() -> None:
    _, errors = study.efficient_errors(SYMBOLS, "mu", "sign")
    told = 2.0 / math.pi * math.tanh(2.5) ** 2
    expected = SYMBOLS.sigma * math.sqrt(2.0 / math.pi / (SYMBOLS.n * told))
    assert errors[0] == pytest.approx(expected, rel=1e-9)


def test_a_trusted_collectors_error_by_quadrature() -> None:
    (_,), (found,) = study.trusted_errors(SYMBOLS)
    s = SYMBOLS.sigma / math.sqrt(SYMBOLS.n)
    b = 2.0 * SYMBOLS.fixed_width * SYMBOLS.sigma / (SYMBOLS.n * 5.0)

    def given(x: float) -> float:
        law = math.exp(-0.5 * (x / s) ** 2) / (s * math.sqrt(2.0 * math.pi))
        return law * (abs(x) + b * math.exp(-abs(x) / b))

    expected = 2.0 * integrate.quad(given, 0.0, 12.0 * s)[0]
    assert found == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"interval": ("fixed",)}, "channel = optimal, sign: needs interval = adaptive"),
        ({"sampler": ("smc-latent", "mh")}, "channel = optimal, sign: needs sampler = smc or grid"),
        ({"noise": "gaussian"}, "channel = optimal, sign: needs noise = laplace"),
    ],
)
def test_ways_of_asking_without_sense_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        dataclasses.replace(SYMBOLS, **changes)


def test_privacy_of_symbols_alone_is_that_of_their_table() -> None:
    params = dataclasses.replace(
        SYMBOLS, channel=("sign",), sampler=("grid",), epsilon_total=(1000.0,), n=3, runs=1
    )
    assert "ε_total = 30 " in run(params).privacy
