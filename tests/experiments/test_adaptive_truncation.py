"""One stream: the same people whatever is asked, what each answer costs, and what is said."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from pandas.testing import assert_frame_equal

from abcdp_core import figures as fig
from abcdp_core import privacy, runner
from abcdp_core.experiments import adaptive_truncation as study
from abcdp_core.online import intervals
from abcdp_core.parameters import ParameterError
from abcdp_core.results import Result
from abcdp_core.streams import generator

SMALL = study.Params(n=25, particles=50, epsilon_total=2.0)
SAMPLERS = ("smc", "smc-latent", "grid")
SEED = 3


def run(params: study.Params = SMALL, **changes: Any) -> Result:
    return runner.run_to_end(study, dataclasses.replace(params, **changes), SEED)


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


@pytest.mark.parametrize("interval", ["adaptive", "fixed"])
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("noise_draw", [0, 1])
def test_all_ways_of_asking_meet_the_same_people_and_the_same_noise(
    sampler: str, interval: str, noise_draw: int
) -> None:
    found = run(sampler=sampler, interval=interval, noise_draw=noise_draw)
    drawn = generator(SEED, "noise", 0, noise_draw).laplace(size=SMALL.n)
    np.testing.assert_allclose(noise_of(found, SMALL), drawn, atol=1e-6)
    if interval == "fixed":
        half = SMALL.fixed_width * SMALL.sigma
        np.testing.assert_allclose(found.tables["main"].left, SMALL.mu - half)
        np.testing.assert_allclose(found.tables["main"].right, SMALL.mu + half)


def test_intervals_have_the_best_shape_and_the_paper_starts_far_off() -> None:
    paper = {"sampler": "smc-latent", "start": "paper", "resampling": "multinomial"}
    main = run(known_sigma=True, **paper).tables["main"]
    best = intervals.best(1.0 / SMALL.epsilon_total)
    assert (main.left[0], main.right[0]) == (best.a, best.b)
    np.testing.assert_allclose((main.right - main.left)[1:], SMALL.sigma * (best.b - best.a))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_number_of_links_changes_nothing(sampler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parted = run(sampler=sampler)
    monkeypatch.setattr(study, "LINKS", 1)
    whole = run(sampler=sampler)
    assert (parted.total, whole.total) == (SMALL.n, 1)
    assert_frame_equal(parted.tables["main"], whole.tables["main"], check_exact=True)


@pytest.mark.parametrize(
    ("sampler", "n", "frames"), [("smc", 7, 7), ("smc-latent", 101, 100), ("grid", 7, 7)]
)
def test_at_most_a_hundred_pictures_with_the_moments_of_the_table(
    sampler: str, n: int, frames: int
) -> None:
    tables = run(sampler=sampler, n=n, particles=10).tables
    clouds = tables["particles"].groupby("t")
    assert len(clouds) == frames
    assert clouds.size().max() <= 10
    np.testing.assert_allclose(clouds.weight.sum(), 1.0)
    if sampler != "grid":
        last, row = clouds.get_group(n), tables["main"].iloc[-1]
        assert (last.weight * last.mu).sum() == pytest.approx(row.mean_mu)
        assert (last.weight * last.sigma).sum() == pytest.approx(row.mean_sigma)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("epsilon_total", [0.001, 1000.0])
@pytest.mark.parametrize("particles", [1, 20])
def test_extremes_are_finite(sampler: str, epsilon_total: float, particles: int) -> None:
    found = run(n=15, particles=particles, epsilon_total=epsilon_total, sampler=sampler)
    assert all(np.isfinite(frame.to_numpy(float)).all() for frame in found.tables.values())
    assert study.figures(found)


# ----------------------------------------------------------------------------- what is promised


def test_symbols_in_a_fixed_interval_are_refused() -> None:
    with pytest.raises(ParameterError, match="channel = optimal: needs interval = adaptive"):
        dataclasses.replace(SMALL, channel="optimal", interval="fixed")


@pytest.mark.parametrize("epsilon_total", [0.001, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_an_answer_costs_what_was_asked_for(epsilon_total: float, noise: str) -> None:
    found = run(n=2, particles=5, noise=noise, epsilon_total=epsilon_total, interval="fixed")
    assert found.event is not None
    cost = privacy.cost(found.event, SMALL.delta)
    # The Gaussian accountant searches to 13 digits and rounds up.
    above = epsilon_total if noise == "laplace" else epsilon_total * (1 + 1e-12)
    assert epsilon_total * (1 - 1e-6) < cost.epsilon <= above
    assert cost.delta == (0.0 if noise == "laplace" else SMALL.delta)


def test_gaussian_noise_has_its_scale_and_says_its_delta() -> None:
    found = run(noise="gaussian", delta=1e-6, interval="fixed")
    assert "δ = 1e-06" in found.privacy
    assert isinstance(found.event, privacy.Gaussian)
    main = found.tables["main"]
    clipped = np.clip(people(SMALL), main.left, main.right)
    drawn = generator(SEED, "noise", 0, 0).standard_normal(SMALL.n)
    scale = (main.right - main.left) * found.event.scale
    np.testing.assert_allclose((main.response - clipped) / scale, drawn, atol=1e-9)


@pytest.mark.parametrize("channel", ["sign", "optimal"])
@pytest.mark.parametrize("epsilon_total", [0.001, 4.0, 1000.0])
@pytest.mark.parametrize("sampler", ["smc", "grid"])
def test_symbols_at_every_budget(sampler: str, epsilon_total: float, channel: str) -> None:
    found = run(sampler=sampler, epsilon_total=epsilon_total, channel=channel)
    main = found.tables["main"]
    assert (main.left <= main.right).all()
    assert np.isfinite(main[["left", "right", "mean_mu", "sd_mu"]]).all(axis=None)
    spent = privacy.cost(found.event).epsilon
    assert min(epsilon_total, 30.0) * (1.0 - 1e-8) <= spent <= epsilon_total
    assert f"ε_total = {spent:.4g}" in found.privacy
    drawn = [each.figure.layout.title.subtitle.text for each in study.figures(found).values()]
    assert not any("interval" in text for text in [found.summary, *drawn])


def test_the_same_people_answer_by_symbols() -> None:
    """By a table that tells nearly everything, all that differs is where they are asked."""
    main = run(epsilon_total=1000.0, channel="sign", known_sigma=True).tables["main"]
    assert ((people(SMALL) >= main.left) == (main.response == 1.0)).all()


# --------------------------------------------------------------------------------- what is said


def grey_and_not(figure: go.Figure) -> tuple[set[float], set[float]]:
    """People at whom the line of σ is grey, and those at whom it is not."""
    lines = [t for t in figure.data if t.yaxis == "y2" and t.name != "truth" and not t.fill]
    shown = {line.name: set(line.x[np.isfinite(line.y)].tolist()) for line in lines}
    grey = shown.pop(fig.UNLEARNT.name, set())
    return grey, set().union(*shown.values())


def test_sigma_is_grey_until_it_is_clearly_learnt() -> None:
    found = run(n=150, particles=200, epsilon_total=10.0)
    main = found.tables["main"]
    learnt = main.sigma_width <= 0.5
    assert 0 < learnt.sum() < len(main)
    figure = study.figures(found)["stream"].figure
    assert grey_and_not(figure) == (set(main[~learnt].t), set(main[learnt].t))
    legend = [t.name for t in figure.data if t.showlegend is not False]
    assert len(legend) == len(set(legend))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n": 1}, "After 1 of 1 person, adaptive interval, μ = "),
        ({"particles": 1}, "not clearly narrower than its prior"),
        ({"known_sigma": True}, "; σ = 3.16 is known."),
    ],
)
def test_what_is_said_about_sigma_at_the_edges(changes: dict[str, Any], words: str) -> None:
    found = run(**changes)
    assert words in found.summary
    grey, coloured = grey_and_not(study.figures(found)["stream"].figure)
    assert not (coloured if "known_sigma" not in changes else grey)


def last_rows(*, adaptive: float, fixed: float, mean: float = 50.0) -> dict[str, Result]:
    """Runs that end with these standard deviations of μ."""
    found = {}
    for way, params in study.ways(study.Params(n=2)).items():
        sd = {"adaptive": adaptive, "fixed": fixed}.get(way, 100.0)
        result = run(params, particles=5)
        main = result.tables["main"].assign(sd_mu=sd, mean_mu=mean)
        found[way] = dataclasses.replace(result, tables={**result.tables, "main": main})
    return found


def test_ways_of_asking_differ_in_what_is_asked_only() -> None:
    ways = study.ways(study.Params())
    assert list(ways) == list(study.WAYS)
    assert ways[study.PLACED].fixed_width == pytest.approx(0.0706, abs=5e-5)
    same = {"interval": "fixed", "channel": "truncation", "fixed_width": 1.0}
    assert len({dataclasses.replace(each, **same) for each in ways.values()}) == 1
    symbols = study.ways(dataclasses.replace(SMALL, channel="optimal"))
    assert symbols["fixed"].channel == symbols[study.PLACED].channel == "truncation"
    for refused in ({"noise": "gaussian"}, {"sampler": "smc-latent"}):
        params = study.Params(**refused)  # type: ignore[arg-type]
        assert list(study.ways(params)) == ["adaptive", "fixed", study.PLACED]
        assert study.no_symbols(params)


@pytest.mark.parametrize(
    ("epsilon_total", "score", "words"),
    [
        (1.0, "mu", "tells 25 % more than"),
        (5.0, "mu", "tells 40 % more than"),
        (1000.0, "mu", "tells about as much as"),
        (1.0, "sigma", ""),
    ],
)
def test_what_a_symbol_tells_is_computed(epsilon_total: float, score: str, words: str) -> None:
    params = study.Params(n=1, particles=5, epsilon_total=epsilon_total, score=score)
    rest = study.headline({way: run(each) for way, each in study.ways(params).items()})[2]
    assert words in rest
    assert bool(words) == ("a symbol near the mean" in rest)


@pytest.mark.parametrize(
    ("adaptive", "fixed", "number", "words"),
    [
        (0.1, 1.0, "10× sharper", "[18, 82] to ±2, **answers by symbols** to ±196."),
        (1.0, 1.05, "No sharper", "tell about as much"),
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
    found = last_rows(adaptive=0.5, fixed=0.8, mean=52.0)
    rest = study.headline(found)[2]
    assert rest.endswith("from the true mean: *adaptive* and *fixed*.")
    number, words, _ = study.headline({"fixed": found["fixed"]})
    assert (number, words) == ("2 people", "asked so far, in one way only: nothing to compare yet.")
