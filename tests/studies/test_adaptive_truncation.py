"""One stream: the same people for every way of asking, the budget of an answer, the headline."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from abcdp_core import privacy
from abcdp_core.adaptive import intervals
from abcdp_core.streams import generator
from abcdp_core.studies import adaptive_truncation as study
from abcdp_core.studies import truncation_streams
from tests import results

SMALL = study.Params(n=25, particles=50, epsilon_total=2.0)
SEED = 3

run = functools.partial(results.changed, study, seed=SEED)


def people() -> np.ndarray:
    """Draw their values as the design says."""
    draws = generator(SEED, "people", 0).standard_normal(SMALL.n)
    return SMALL.mu + SMALL.sigma * draws


@pytest.mark.parametrize(
    ("sampler", "interval", "noise"),
    [
        ("smc", "adaptive", "laplace"),
        ("smc-latent", "fixed", "gaussian"),
        ("grid", "adaptive", "laplace"),
    ],
)
def test_all_ways_of_asking_meet_the_same_people_and_the_same_noise(
    sampler: str, interval: str, noise: str
) -> None:
    found = run(SMALL, sampler=sampler, interval=interval, noise=noise, noise_draw=1)
    main = found.tables["main"]
    stream = generator(SEED, "noise", 0, 1)
    draw = stream.laplace if noise == "laplace" else stream.standard_normal
    scale = 1.0 / SMALL.epsilon_total if noise == "laplace" else found.event.scale
    clipped = np.clip(people(), main.left, main.right)
    added = (main.response - clipped) / (scale * (main.right - main.left))
    np.testing.assert_allclose(added, draw(size=SMALL.n), atol=1e-6)
    if interval == "fixed":
        half = SMALL.fixed_width * SMALL.sigma
        np.testing.assert_allclose(main.left, SMALL.mu - half)
        np.testing.assert_allclose(main.right, SMALL.mu + half)


def test_the_same_people_answer_with_symbols() -> None:
    """At this budget, nearly every symbol is true."""
    main = run(SMALL, epsilon_total=1000.0, channel="sign", known_sigma=True).tables["main"]
    assert ((people() >= main.left) == (main.response == 1.0)).all()


def test_intervals_have_the_best_shape_and_the_paper_starts_far_off() -> None:
    paper = {"sampler": "smc-latent", "start": "paper", "resampling": "multinomial"}
    main = run(SMALL, known_sigma=True, **paper).tables["main"]
    best = intervals.best(1.0 / SMALL.epsilon_total)
    assert (main.left[0], main.right[0]) == (best.a, best.b)
    np.testing.assert_allclose((main.right - main.left)[1:], SMALL.sigma * (best.b - best.a))


def test_at_most_a_hundred_pictures_with_the_moments_of_the_table() -> None:
    tables = run(SMALL, n=101, particles=10).tables
    clouds = tables["particles"].groupby("t")
    assert len(clouds) == 100
    np.testing.assert_allclose(clouds.weight.sum(), 1.0)
    last, row = clouds.get_group(101), tables["main"].iloc[-1]
    assert (last.weight * last.mu).sum() == pytest.approx(row.mean_mu)
    assert (last.weight * last.sigma).sum() == pytest.approx(row.mean_sigma)


@pytest.mark.parametrize("epsilon_total", [0.001, 1000.0])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_an_answer_spends_the_budget(epsilon_total: float, noise: str) -> None:
    found = run(SMALL, n=2, particles=5, noise=noise, epsilon_total=epsilon_total, interval="fixed")
    cost = privacy.cost(found.event, SMALL.delta)
    # The Gaussian accountant searches to 13 digits and rounds up.
    above = epsilon_total if noise == "laplace" else epsilon_total * (1 + 1e-12)
    assert epsilon_total * (1 - 1e-6) < cost.epsilon <= above
    assert cost.delta == (0.0 if noise == "laplace" else SMALL.delta)


@pytest.mark.parametrize("channel", ["sign", "optimal"])
@pytest.mark.parametrize("epsilon_total", [0.001, 4.0, 1000.0])
def test_symbols_spend_at_most_the_budget_and_report_it(epsilon_total: float, channel: str) -> None:
    found = run(SMALL, epsilon_total=epsilon_total, channel=channel)
    assert np.isfinite(found.tables["main"][["left", "right", "mean_mu", "sd_mu"]]).all(axis=None)
    spent = privacy.cost(found.event).epsilon
    assert min(epsilon_total, 30.0) * (1.0 - 1e-8) <= spent <= epsilon_total
    assert f"ε_total = {spent:.4g}" in found.privacy


def test_ways_of_asking_differ_in_what_is_asked_only() -> None:
    ways = study.ways(study.Params())
    assert list(ways) == list(study.WAYS)
    assert ways[study.PLACED].fixed_width == pytest.approx(0.0706, abs=5e-5)
    same = {"interval": "fixed", "channel": "truncation", "fixed_width": 1.0}
    assert len({dataclasses.replace(each, **same) for each in ways.values()}) == 1
    for refused in ({"noise": "gaussian"}, {"sampler": "smc-latent"}):
        assert list(study.ways(study.Params(**refused))) == ["adaptive", "fixed", study.PLACED]


@pytest.mark.parametrize(
    ("adaptive", "fixed", "number"),
    [(0.1, 1.0, "10× sharper"), (1.0, 1.05, "No sharper"), (3.0, 1.0, "3× less sharp")],
)
def test_the_headline_says_which_way_is_sharper(adaptive: float, fixed: float, number: str) -> None:
    found = {}
    for way, params in study.ways(study.Params(n=2)).items():
        result = run(params, particles=5)
        sd = {"adaptive": adaptive, "fixed": fixed}.get(way, 100.0)
        main = result.tables["main"].assign(sd_mu=sd, mean_mu=params.mu)
        found[way] = dataclasses.replace(result, tables={**result.tables, "main": main})
    assert study.headline(found)[0] == number


# ----------------------------------------------------------------------- streams at several budgets

STREAMS = truncation_streams.Params(n=50, particles=300, epsilon_total=(2.0, 10.0))


def test_each_stream_is_that_of_the_single_study_and_its_particles_have_its_mean() -> None:
    tables = results.changed(truncation_streams, STREAMS, SEED).tables
    usual = study.Params(n=50, particles=300)
    for (budget, interval), rows in tables["main"].groupby(["epsilon_total", "interval"]):
        alone = run(usual, epsilon_total=budget, interval=interval).tables["main"]
        own = rows[alone.columns].reset_index(drop=True)
        assert_frame_equal(own, alone, check_exact=True)
    at_end = "t == 50 and interval == 'adaptive' and epsilon_total == 10"
    cloud, last = tables["particles"].query(at_end), tables["main"].query(at_end).iloc[0]
    assert len(cloud) == truncation_streams.KEPT
    assert cloud.mu.mean() == pytest.approx(last.mean_mu, abs=0.3 * last.sd_mu)


@pytest.mark.parametrize(("n", "times"), [(50, [20, 40, 50]), (40, [20, 40]), (1, [1])])
def test_snapshots_come_at_multiples_and_at_the_end(n: int, times: list[int]) -> None:
    assert dataclasses.replace(STREAMS, n=n).pictures() == times
    many = dataclasses.replace(STREAMS, n=10_050).pictures()
    assert len(many) <= truncation_streams.PICTURES
    assert many[-1] == 10_050
    assert {t % 20 for t in many[:-1]} == {0}
