"""One stream: the same people for every way of asking, the budget of an answer, the headline."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

from abcdp_core import privacy
from abcdp_core.adaptive import intervals
from abcdp_core.streams import generator
from abcdp_core.studies import adaptive_truncation as study
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
