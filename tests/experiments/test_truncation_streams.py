"""Streams at several budgets: each is the stream of the player's study, drawn in its own panel."""

from __future__ import annotations

import dataclasses

import numpy as np
import plotly.graph_objects as go
import pytest
from pandas.testing import assert_frame_equal

from abcdp_core import experiments, runner
from abcdp_core import figures as fig
from abcdp_core.experiments import adaptive_truncation
from abcdp_core.experiments import truncation_streams as study
from abcdp_core.results import Result
from abcdp_core.sentences import amount

EXPERIMENT = experiments.load(study.EXPERIMENT)
STREAM = experiments.load(adaptive_truncation.EXPERIMENT)
SMALL = study.Params(n=50, particles=300, epsilon_total=(2.0, 10.0))
SEED = 3


def run(params: study.Params) -> Result:
    return runner.run_to_end(EXPERIMENT, params, SEED)


@pytest.fixture(scope="module")
def small() -> Result:
    return run(SMALL)


@pytest.fixture(scope="module")
def streams(small: Result) -> go.Figure:
    return study.figures(small)["streams"].figure


def test_each_stream_is_that_of_the_single_study(small: Result) -> None:
    for (budget, interval), rows in small.tables["main"].groupby(["epsilon_total", "interval"]):
        params = adaptive_truncation.Params(
            n=50, particles=300, epsilon_total=budget, interval=interval
        )
        alone = runner.run_to_end(STREAM, params, SEED).tables["main"]
        mine = rows.drop(columns=list(study.KEY)).reset_index(drop=True)
        assert_frame_equal(mine, alone, check_exact=True)


@pytest.mark.parametrize(
    ("n", "every", "times"),
    [
        (50, 20, [20, 40, 50]),
        (40, 20, [20, 40]),
        (1, 20, [1]),
        (20, 1000, [20]),
        (3, 1, [1, 2, 3]),
    ],
)
def test_pictures_come_every_so_many_people_and_at_the_end(
    n: int, every: int, times: list[int]
) -> None:
    params = dataclasses.replace(SMALL, n=n, every=every, epsilon_total=(2.0,), particles=20)
    particles = run(params).tables["particles"]
    assert list(particles.t.unique()) == times
    assert set(particles.groupby(["interval", "t"]).size()) == {20}


def test_long_streams_have_few_pictures_at_multiples() -> None:
    task = study.Task(dataclasses.replace(SMALL, n=10_050), SEED)
    times = [task.last(part) for part in range(task.links)]
    assert len(times) == study.PICTURES
    assert times[-1] == 10_050
    assert all(t % 20 == 0 for t in times[:-1])
    assert np.all(np.diff(times) > 0)


def test_particles_kept_have_equal_weight_and_the_cloud_s_mean(small: Result) -> None:
    particles, main = small.tables["particles"], small.tables["main"]
    last = main[(main.t == 50) & (main.interval == "adaptive") & (main.epsilon_total == 10)].iloc[0]
    cloud = particles.query("t == 50 and interval == 'adaptive' and epsilon_total == 10")
    assert len(cloud) == study.KEPT
    assert cloud.mu.mean() == pytest.approx(last.mean_mu, abs=0.3 * last.sd_mu)


def test_the_preset_is_the_papers() -> None:
    params = study.PRESETS["y23-figure-2"]
    assert isinstance(params, study.Params)
    assert params.epsilon_total == (1.0, 2.0, 5.0, 10.0)
    assert params.interval == ("adaptive", "fixed")
    assert (params.n, params.particles, params.every) == (1000, 1000, 20)
    assert (params.mu, round(params.sigma**2, 12), params.fixed_width) == (50.0, 10.0, 10.0)
    assert (params.sampler, params.start) == ("smc-latent", "paper")
    assert (params.resampling, params.refresh) == ("multinomial", 0)


def panels(figure: go.Figure) -> dict[tuple[str, str], list[go.Scatter]]:
    found: dict[tuple[str, str], list[go.Scatter]] = {}
    for trace in figure.data:
        found.setdefault((trace.xaxis, trace.yaxis), []).append(trace)
    return found


def test_a_panel_for_each_budget_way_and_parameter(streams: go.Figure) -> None:
    shown = panels(streams)
    assert len(shown) == 2 * 2 * 2
    for (_, axis), traces in shown.items():
        names = [trace.name for trace in traces]
        is_mu = axis in ("y", "y2", "y3", "y4")
        assert names.count("ends of the intervals") == (2 if is_mu else 0)
        assert {"posterior mean", "truth"} <= set(names)
        (truth,) = (trace for trace in traces if trace.name == "truth")
        assert set(truth.y) == {SMALL.mu if is_mu else SMALL.sigma}
    named = [trace.name for trace in streams.data if trace.showlegend]
    for name, color in zip(("adaptive", "fixed"), fig.CATEGORIES, strict=False):
        assert {t.marker.color for t in streams.data if t.name == name} == {color}
    assert len(named) == len(set(named)) == 5


def test_sigma_is_grey_where_it_is_not_learnt_and_mu_never_is(
    small: Result, streams: go.Figure
) -> None:
    main = small.tables["main"]
    grey = {axis for (_, axis), traces in panels(streams).items() for trace in traces
            if trace.name == fig.UNLEARNT.name}  # fmt: skip
    # Rows: μ adaptive, μ fixed, σ adaptive, σ fixed; columns: ε_total = 2, 10.
    assert grey == {"y5", "y6", "y7", "y8"}
    last = main[(main.t == 50) & (main.interval == "adaptive") & (main.epsilon_total == 10)].iloc[0]
    learnt = SMALL.narrower("smc", last.sigma_width) >= 0.5
    coloured = [t for t in panels(streams)["x6", "y6"] if t.name == "adaptive"]
    assert bool(learnt) == any(50 in trace.x for trace in coloured)


def test_few_budgets_are_drawn_of_many() -> None:
    budgets = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 100.0)
    params = dataclasses.replace(SMALL, n=2, particles=5, epsilon_total=budgets)
    figure = study.figures(run(params))["streams"].figure
    assert "5 of 7 budgets" in figure.layout.title.subtitle.text
    titles = [note.text for note in figure.layout.annotations if note.text]
    assert titles[0] == "ε_total = 1"
    assert titles[-1] == "ε_total = 100"
    assert len(titles) == 5


def test_the_summary_says_both_ends_and_how_far_a_stream_is(small: Result) -> None:
    for words in ("at ε_total = 2 adaptive μ = ", "at ε_total = 10 fixed μ = ", "log σ "):
        assert words in small.summary
    first = study.work(study.tasks(SMALL, SEED)[0])
    partial = study.collect(SMALL, first.tables)
    assert "at ε_total = 2 adaptive after 20 people μ = " in partial.summary
    assert "ε_total = 10 " not in partial.summary
    assert study.figures(partial)
    known = run(dataclasses.replace(SMALL, n=1, known_sigma=True, epsilon_total=(1.0,)))
    assert "Streams of 1 person" in known.summary
    assert "σ known" in known.summary


def test_the_title_says_how_much_sharper_and_waits_for_both(small: Result) -> None:
    main = small.tables["main"]
    ends = main[main.t == 50].set_index(["epsilon_total", "interval"]).sd_mu
    first, last = (ends[budget, "fixed"] / ends[budget, "adaptive"] for budget in (2.0, 10.0))
    told = study.finding(SMALL, main)
    assert told == (
        f"Adaptive against fixed intervals, sharpness about μ: {amount(first, 2)} times at "
        f"ε_total = 2 and {amount(last, 2)} times at ε_total = 10"
    )
    alone = main[main.interval == "adaptive"]
    for table in (alone, main.assign(sd_mu=0.0)):
        assert study.finding(SMALL, table) == "What is known of μ and σ, answer by answer"
    one = dataclasses.replace(SMALL, epsilon_total=(2.0,))
    assert study.finding(one, main).endswith("times at ε_total = 2")
