"""One stream: the same people whatever is asked, what each answer costs, and what is kept."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from pandas.testing import assert_frame_equal

from abcdp_core import experiments, privacy, runner
from abcdp_core import figures as fig
from abcdp_core.experiments import adaptive_truncation as study
from abcdp_core.online import intervals
from abcdp_core.online.parameters import estimate
from abcdp_core.parameters import ParameterError
from abcdp_core.results import Result
from abcdp_core.streams import generator

EXPERIMENT = experiments.load(study.EXPERIMENT)
SMALL = study.Params(n=25, particles=50, epsilon_total=2.0)
SAMPLERS = ("smc", "smc-latent", "grid")
INTERVALS = ("adaptive", "fixed")
SEED = 3


def run(params: study.Params) -> Result:
    return runner.run_to_end(EXPERIMENT, params, SEED)


def people(params: study.Params) -> np.ndarray:
    """Their values, drawn here as the design says."""
    draws = generator(SEED, "people", 0).standard_normal(params.n)
    return params.mu + params.sigma * draws


def noise_of(result: Result, params: study.Params) -> np.ndarray:
    """The answers' noise in units of its scale."""
    main = result.tables["main"]
    scale = (main.right - main.left) / params.epsilon_total
    clipped = np.clip(people(params), main.left, main.right)
    return ((main.response - clipped) / scale).to_numpy()


# ---------------------------------------------------------------------------------- the stream


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_all_ways_of_asking_meet_the_same_people_and_the_same_noise(
    sampler: str, interval: str
) -> None:
    params = dataclasses.replace(SMALL, sampler=sampler, interval=interval)
    drawn = generator(SEED, "noise", 0, 0).laplace(size=params.n)
    np.testing.assert_allclose(noise_of(run(params), params), drawn, atol=1e-6)


def test_the_fixed_interval_is_the_truth_plus_and_minus_its_width() -> None:
    main = run(dataclasses.replace(SMALL, interval="fixed")).tables["main"]
    half = SMALL.fixed_width * SMALL.sigma
    np.testing.assert_allclose(main.left, SMALL.mu - half)
    np.testing.assert_allclose(main.right, SMALL.mu + half)


def test_another_budget_scales_the_same_noise() -> None:
    fixed = dataclasses.replace(SMALL, interval="fixed")
    twice = dataclasses.replace(fixed, epsilon_total=2 * fixed.epsilon_total)
    clipped = np.clip(people(fixed), fixed.mu - 10 * fixed.sigma, fixed.mu + 10 * fixed.sigma)
    first, second = (run(params).tables["main"].response - clipped for params in (fixed, twice))
    np.testing.assert_allclose(first, 2 * second, atol=1e-9)


def test_another_noise_draw_changes_the_answers_and_not_the_people() -> None:
    fixed = dataclasses.replace(SMALL, interval="fixed")
    other = dataclasses.replace(fixed, noise_draw=1)
    first, second = run(fixed), run(other)
    assert_frame_equal(
        first.tables["main"][["t", "left", "right"]], second.tables["main"][["t", "left", "right"]]
    )
    assert not np.isclose(first.tables["main"].response, second.tables["main"].response).any()
    drawn = generator(SEED, "noise", 0, 1).laplace(size=other.n)
    np.testing.assert_allclose(noise_of(second, other), drawn, atol=1e-6)


def test_intervals_have_the_best_shape_and_the_paper_starts_far_off() -> None:
    params = dataclasses.replace(
        SMALL, sampler="smc-latent", start="paper", known_sigma=True, resampling="multinomial"
    )
    main = run(params).tables["main"]
    best = intervals.best(1.0 / params.epsilon_total)
    assert (main.left[0], main.right[0]) == (best.a, best.b)
    np.testing.assert_allclose((main.right - main.left)[1:], params.sigma * (best.b - best.a))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_number_of_links_changes_nothing(sampler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    params = dataclasses.replace(SMALL, sampler=sampler)
    parted = run(params)
    monkeypatch.setattr(study, "LINKS", 1)
    whole = run(params)
    assert (parted.total, whole.total) == (params.n, 1)
    assert_frame_equal(parted.tables["main"], whole.tables["main"], check_exact=True)


def test_people_are_asked_one_by_one_and_mu_is_found() -> None:
    params = dataclasses.replace(SMALL, n=100, particles=100, epsilon_total=10.0)
    main = run(params).tables["main"]
    assert list(main.t) == list(range(1, 101))
    last = main.iloc[-1]
    assert abs(last.mean_mu - params.mu) < 5 * last.sd_mu
    assert last.sd_mu < params.sigma / 2
    assert last.left < params.mu < last.right


# ---------------------------------------------------------------------------------- particles


@pytest.mark.parametrize(
    ("sampler", "n", "frames"),
    [("smc", 7, 7), ("smc", 100, 100), ("smc", 101, 100), ("smc-latent", 101, 100), ("grid", 7, 7)],
)
def test_at_most_a_hundred_pictures_each_of_weight_one(sampler: str, n: int, frames: int) -> None:
    params = dataclasses.replace(SMALL, sampler=sampler, n=n, particles=10)
    particles = run(params).tables["particles"]
    weights = particles.groupby("t").weight.sum()
    assert len(weights) == frames
    assert weights.index[-1] == n
    np.testing.assert_allclose(weights, 1.0)
    assert (particles.weight >= 0).all()
    assert sampler == "grid" or set(particles.groupby("t").size()) == {10}


def test_a_picture_of_the_grid_holds_as_many_points_as_there_would_be_particles() -> None:
    particles = run(dataclasses.replace(SMALL, sampler="grid", n=3)).tables["particles"]
    assert particles.groupby("t").size().max() <= SMALL.particles


def test_the_particles_have_the_moments_of_the_table() -> None:
    tables = run(SMALL).tables
    last = tables["particles"][tables["particles"].t == SMALL.n]
    row = tables["main"].iloc[-1]
    assert (last.weight * last.mu).sum() == pytest.approx(row.mean_mu)
    assert (last.weight * last.sigma).sum() == pytest.approx(row.mean_sigma)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_known_sigma_is_known(sampler: str) -> None:
    params = dataclasses.replace(SMALL, n=20, sampler=sampler, known_sigma=True)
    main = run(params).tables["main"]
    np.testing.assert_allclose(main.mean_sigma, params.sigma)
    np.testing.assert_allclose(main.sd_sigma, 0.0, atol=1e-9)
    assert (main.sd_mu > 0).all()


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("epsilon_total", [0.001, 1000.0])
@pytest.mark.parametrize("particles", [1, 20])
def test_extremes_are_finite(
    sampler: str, interval: str, epsilon_total: float, particles: int
) -> None:
    params = study.Params(
        n=15, particles=particles, epsilon_total=epsilon_total, sampler=sampler, interval=interval
    )
    result = run(params)
    assert all(np.isfinite(frame.to_numpy(float)).all() for frame in result.tables.values())
    assert study.figures(result)


def test_a_single_person() -> None:
    result = run(dataclasses.replace(SMALL, n=1))
    assert len(result.tables["main"]) == 1
    assert study.figures(result)


# ------------------------------------------------------------------------ settings and words


def grey_and_not(figure: go.Figure) -> tuple[set[float], set[float]]:
    """People at whom the line of σ is grey, and those at whom it is not."""
    lines = [t for t in figure.data if t.yaxis == "y2" and t.name != "truth" and not t.fill]
    grey = fig.UNLEARNT.name
    return (
        {float(t) for line in lines if line.name == grey for t in line.x},
        {float(t) for line in lines if line.name != grey for t in line.x},
    )


def test_sigma_is_grey_until_it_is_clearly_learnt() -> None:
    result = run(dataclasses.replace(SMALL, n=150, particles=200, epsilon_total=10.0))
    main = result.tables["main"]
    learnt = main[main.sigma_width <= 0.5]
    assert 0 < len(learnt) < len(main)
    grey, coloured = grey_and_not(study.figures(result)["stream"].figure)
    assert set(main[main.sigma_width > 0.5].t) <= grey
    assert set(learnt.t) <= coloured
    legend = [
        t.name for t in study.figures(result)["stream"].figure.data if t.showlegend is not False
    ]
    assert len(legend) == len(set(legend))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon_total": 0.001}, "not clearly narrower than its prior"),
        ({"n": 1}, "not clearly narrower than its prior"),
        ({"particles": 1}, "not clearly narrower than its prior"),
        ({"known_sigma": True}, "; σ = 3.16 is known;"),
        ({"noise": "gaussian"}, "not clearly narrower than its prior"),
    ],
)
def test_what_is_said_about_sigma_at_the_edges(changes: dict[str, Any], words: str) -> None:
    result = run(dataclasses.replace(SMALL, **changes))
    assert words in result.summary
    grey, coloured = grey_and_not(study.figures(result)["stream"].figure)
    assert not (coloured if "known_sigma" not in changes else grey)
    assert "1 of 1 person," in result.summary or result.params.n > 1  # type: ignore[attr-defined]


def test_panels_of_particles_say_where_sigma_is_not_learnt() -> None:
    result = run(dataclasses.replace(SMALL, epsilon_total=0.01))
    titles = [note.text for note in study.figures(result)["particles"].figure.layout.annotations]
    assert titles[0] == "1 person, σ not clearly learnt"
    assert all(title.endswith(fig.UNLEARNT.name) for title in titles)


def test_the_papers_sampler_is_refused_what_it_cannot_hold() -> None:
    study.Params(n=20_000, particles=1000, sampler="smc-latent")
    study.Params(n=100_000, particles=10_000, sampler="smc")
    with pytest.raises(
        ParameterError, match=r"^n \* particles = 20,001,000: .*smc-latent"
    ) as error:
        study.Params(n=20_001, particles=1000, sampler="smc-latent")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("epsilon_total", [0.001, 0.1, 1.0, 3.0, 10.0, 1000.0])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_an_answer_costs_what_was_asked_for(epsilon_total: float, noise: str) -> None:
    params = dataclasses.replace(
        SMALL, n=2, particles=5, noise=noise, epsilon_total=epsilon_total, interval="fixed"
    )
    result = run(params)
    assert result.event is not None
    cost = privacy.cost(result.event, params.delta)
    # The Gaussian accountant searches to 13 digits and rounds up.
    above = epsilon_total if noise == "laplace" else epsilon_total * (1 + 1e-12)
    assert epsilon_total * (1 - 1e-6) < cost.epsilon <= above
    assert cost.delta == (0.0 if noise == "laplace" else params.delta)


def test_gaussian_noise_has_its_scale_and_says_its_delta() -> None:
    params = dataclasses.replace(SMALL, noise="gaussian", delta=1e-6, interval="fixed")
    result = run(params)
    assert "δ = 1e-06" in result.privacy
    assert isinstance(result.event, privacy.Gaussian)
    main = result.tables["main"]
    clipped = np.clip(people(params), main.left, main.right)
    drawn = generator(SEED, "noise", 0, 0).standard_normal(params.n)
    scale = (main.right - main.left) * result.event.scale
    np.testing.assert_allclose((main.response - clipped) / scale, drawn, atol=1e-9)
    assert "pure" in run(SMALL).privacy


def test_the_summary_is_a_sentence_with_the_last_row() -> None:
    result = run(SMALL)
    last = result.tables["main"].iloc[-1]
    assert result.summary.startswith("After 25 of 25 people, adaptive interval, ε_total = 2 each:")
    assert f"μ = {estimate(last.mean_mu, last.sd_mu)} (true 50)" in result.summary
    assert f"true {math.sqrt(10):.3g}" in result.summary
    assert result.summary.endswith("]. ± is a posterior standard deviation.")


# -------------------------------------------------------------------------------- ways of asking


def last_rows(*, adaptive: float, fixed: float, mean: float = 50.0) -> dict[str, Result]:
    """Three runs that end with these standard deviations of μ."""
    found = {}
    for way, params in study.ways(study.Params(n=2)).items():
        sd = {"adaptive": adaptive, "fixed": fixed}.get(way, 100.0)
        result = run(dataclasses.replace(params, particles=5))
        main = result.tables["main"].assign(sd_mu=sd, mean_mu=mean)
        found[way] = dataclasses.replace(result, tables={**result.tables, "main": main})
    return found


def test_ways_of_asking_differ_in_what_is_asked_only() -> None:
    ways = study.ways(study.Params())
    assert list(ways) == list(study.WAYS)
    assert [params.interval for params in ways.values()] == [*INTERVALS, "adaptive", "fixed"]
    assert [params.channel == "optimal" for params in ways.values()] == [False, False, True, False]
    assert ways[study.PLACED].fixed_width == pytest.approx(0.0706, abs=5e-5)
    assert {
        dataclasses.replace(each, interval="fixed", channel="truncation", fixed_width=1.0)
        for each in ways.values()
    } == {study.Params(interval="fixed", fixed_width=1.0)}
    # Whatever is asked for, nothing is refused.
    for epsilon_total in (0.001, 1000.0):
        assert study.ways(study.Params(epsilon_total=epsilon_total))


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"noise": "gaussian"}, "no noise and no δ"), ({"sampler": "smc-latent"}, "smc-latent")],
)
def test_who_cannot_answer_by_symbols_does_not_and_why_is_said(
    changes: dict[str, Any], words: str
) -> None:
    params = study.Params(**changes)
    assert list(study.ways(params)) == ["adaptive", "fixed", study.PLACED]
    assert words in study.no_symbols(params)
    assert not study.no_symbols(study.Params())


@pytest.mark.parametrize(
    ("epsilon_total", "score", "words"),
    [
        (1.0, "mu", "a symbol tells 25 % more about μ than"),
        (5.0, "mu", "a symbol tells 40 % more about μ than"),
        (0.001, "mu", "a symbol tells 0.033 % more about μ than"),
        # So fine an interval tells more than so many symbols.
        (1000.0, "mu", "a symbol tells 0.053 % less about μ than"),
        (1.0, "sigma", ""),
    ],
)
def test_what_a_symbol_tells_is_computed(epsilon_total: float, score: str, words: str) -> None:
    params = study.Params(n=1, particles=5, epsilon_total=epsilon_total, score=score)
    rest = study.headline({way: run(each) for way, each in study.ways(params).items()})[2]
    assert words in rest
    assert bool(words) == ("a symbol tells" in rest)


@pytest.mark.parametrize(
    ("adaptive", "fixed", "number", "words"),
    [
        (0.1, 1.0, "10× sharper", "18 to 82, to ±2, **answers by symbols** to ±196."),
        (1.0, 2.5, "2.5× sharper", "tell most"),
        (1.0, 1.05, "No sharper", "tell about as much"),
        (1.0, 1.0, "No sharper", "tell about as much"),
        (3.0, 1.0, "3× less sharp", "has cost more"),
        (0.0, 1.0, "No spread", "single particle"),
    ],
)
def test_the_headline_says_which_way_is_sharper(
    adaptive: float, fixed: float, number: str, words: str
) -> None:
    said = study.headline(last_rows(adaptive=adaptive, fixed=fixed))
    assert said[0] == number
    assert words in said[1]
    assert "after 2 people" in said[1]
    assert "from the true mean" not in said[2]


def test_the_headline_says_who_misses_the_truth_and_waits_for_both() -> None:
    found = last_rows(adaptive=0.5, fixed=5.0, mean=52.0)
    rest = study.headline(found)[2]
    assert rest.endswith("More than 1.96 standard deviations from the true mean 50: *adaptive*.")
    both = study.headline(last_rows(adaptive=0.5, fixed=0.8, mean=52.0))[2]
    assert both.endswith("from the true mean 50: *adaptive* and *fixed*.")
    everybody = study.headline(last_rows(adaptive=0.5, fixed=0.8, mean=500.0))[2]
    assert everybody.endswith("50: *adaptive*, *fixed*, *symbols* and *placed right*.")
    number, words, _ = study.headline({"fixed": found["fixed"]})
    assert (number, words) == ("2 people", "asked so far, in one way only: nothing to compare yet.")


# ------------------------------------------------------------------------- other ways of asking


@pytest.mark.parametrize("channel", ["sign", "optimal"])
@pytest.mark.parametrize("epsilon_total", [0.001, 4.0, 1000.0])
@pytest.mark.parametrize("sampler", ["smc", "grid"])
def test_symbols_at_every_budget(sampler: str, epsilon_total: float, channel: str) -> None:
    params = dataclasses.replace(
        SMALL, sampler=sampler, epsilon_total=epsilon_total, channel=channel
    )
    result = run(params)
    main = result.tables["main"]
    assert (main.left <= main.right).all()
    assert np.isfinite(main[["left", "right", "mean_mu", "sd_mu"]]).all(axis=None)
    spent = privacy.cost(result.event).epsilon
    assert min(epsilon_total, 30.0) * (1.0 - 1e-8) <= spent <= epsilon_total
    assert f"ε_total = {spent:.4g}" in result.privacy
    is_sign = channel == "sign" or epsilon_total < 2.0
    assert ("on which side of" in result.summary) == is_sign
    assert "interval," not in result.summary
    for drawn in study.figures(result).values():
        assert "interval," not in drawn.figure.layout.title.text


def test_the_same_people_answer_by_symbols() -> None:
    """By a table that tells nearly everything, all that differs is where they are asked."""
    params = dataclasses.replace(SMALL, epsilon_total=1000.0, channel="sign", known_sigma=True)
    main = run(params).tables["main"]
    assert ((people(params) >= main.left) == (main.response == 1.0)).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"interval": "fixed"}, "channel = optimal: needs interval = adaptive"),
        ({"sampler": "smc-latent"}, "channel = optimal: needs sampler = smc or grid"),
        ({"noise": "gaussian"}, "channel = optimal: needs noise = laplace"),
    ],
)
def test_ways_of_asking_without_sense_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        dataclasses.replace(SMALL, channel="optimal", **changes)


def test_a_fixed_interval_beside_symbols_is_one_of_truncation() -> None:
    params = study.ways(dataclasses.replace(SMALL, channel="optimal"))
    assert params["adaptive"].channel == "optimal"
    assert params["fixed"].channel == params[study.PLACED].channel == "truncation"
