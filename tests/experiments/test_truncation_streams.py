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

EXPERIMENT = experiments.load(study.EXPERIMENT)
STREAM = experiments.load(adaptive_truncation.EXPERIMENT)
SMALL = study.Params(n=50, particles=300, epsilon_total=(2.0, 10.0))
SEED = 3


def run(params: study.Params) -> Result:
    return runner.run_to_end(EXPERIMENT, params, SEED)


@pytest.fixture(scope="module")
def small() -> Result:
    return run(SMALL)


def test_each_stream_is_that_of_the_single_study(small: Result) -> None:
    for (budget, interval), rows in small.tables["main"].groupby(["epsilon_total", "interval"]):
        params = adaptive_truncation.Params(
            n=50, particles=300, epsilon_total=budget, interval=interval
        )
        alone = runner.run_to_end(STREAM, params, SEED).tables["main"]
        mine = rows.drop(columns=["epsilon_total", "interval"]).reset_index(drop=True)
        assert_frame_equal(mine, alone, check_exact=True)


@pytest.mark.parametrize(
    ("n", "times"), [(50, [20, 40, 50]), (40, [20, 40]), (1, [1]), (10_050, None)]
)
def test_pictures_come_at_multiples_and_at_the_end(n: int, times: list[int] | None) -> None:
    found = dataclasses.replace(SMALL, n=n).pictures()
    assert found == (times or found)
    assert len(found) <= study.PICTURES
    assert found[-1] == n
    assert all(t % 20 == 0 for t in found[:-1])
    assert np.all(np.diff(found) > 0)


def test_particles_kept_have_equal_weight_and_the_cloud_s_mean(small: Result) -> None:
    particles, main = small.tables["particles"], small.tables["main"]
    last = main[(main.t == 50) & (main.interval == "adaptive") & (main.epsilon_total == 10)].iloc[0]
    cloud = particles.query("t == 50 and interval == 'adaptive' and epsilon_total == 10")
    assert len(cloud) == study.KEPT
    assert cloud.mu.mean() == pytest.approx(last.mean_mu, abs=0.3 * last.sd_mu)


def test_sigma_is_grey_where_it_is_not_learnt_and_mu_never_is(small: Result) -> None:
    shown: dict[str, list[go.Scatter]] = {}
    for trace in study.figures(small)["streams"].figure.data:
        shown.setdefault(trace.yaxis, []).append(trace)
    # Rows: μ adaptive, μ fixed, σ adaptive, σ fixed; columns: ε_total = 2, 10.
    assert set(shown) == {"y", *(f"y{number}" for number in range(2, 9))}
    grey = {axis for axis, traces in shown.items() if fig.UNLEARNT.name in {t.name for t in traces}}
    assert grey == {"y5", "y6", "y7", "y8"}
    main = small.tables["main"]
    last = main[(main.t == 50) & (main.interval == "adaptive") & (main.epsilon_total == 10)].iloc[0]
    learnt = SMALL.narrower("smc", last.sigma_width) >= 0.5
    coloured = [t for t in shown["y6"] if t.name == "adaptive intervals"]
    assert bool(learnt) == any(50 in trace.x for trace in coloured)


def test_few_budgets_are_drawn_of_many() -> None:
    budgets = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 100.0)
    params = dataclasses.replace(SMALL, n=2, particles=5, epsilon_total=budgets)
    figure = study.figures(run(params))["streams"].figure
    assert "5 of 7 budgets" in figure.layout.title.subtitle.text
    titles = [note.text for note in figure.layout.annotations if note.text]
    assert (titles[0], titles[-1], len(titles)) == ("ε_total = 1", "ε_total = 100", 5)


def test_words_compare_what_both_streams_have(small: Result) -> None:
    title, said = study.says(small)
    assert title.startswith("At ε_total = 2, the spread of μ with ")
    assert said.startswith("After 50 people at ε_total = 2, the posterior gives μ = ")
    partial = study.work(study.tasks(SMALL, SEED)[0]).tables["main"]
    assert "After 20 people at ε_total = 2," in study.collect(SMALL, {"main": partial}).summary
    for table in (partial, small.tables["main"].assign(sd_mu=0.0)):
        result = dataclasses.replace(small, tables={"main": table})
        assert study.says(result)[0] == "What is known of μ and σ, answer by answer"
