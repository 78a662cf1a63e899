"""People asked one by one: the same for every way of asking, their budget, and known errors."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import integrate

from abcdp_core import privacy
from abcdp_core.adaptive import intervals
from abcdp_core.base.streams import generator
from abcdp_core.run.tasks import Chain
from abcdp_core.studies import (
    adaptive_truncation,
    estimation_accuracy,
    online_gradient,
    vector_truncation,
)
from abcdp_core.studies.engine.estimates import least_error
from abcdp_core.studies.estimation_accuracy import computing, drawing
from tests import results

SMALL = adaptive_truncation.Params(n=25, particles=50, epsilon_total=2.0)
SEED = 3

run = functools.partial(results.changed, adaptive_truncation, SMALL, SEED)


def people(run: int = 0) -> np.ndarray:
    """Draw their values as the design says."""
    return SMALL.mu + SMALL.sigma * generator(SEED, "people", run).standard_normal(SMALL.n)


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
    found = run(sampler=sampler, interval=interval, noise=noise, noise_draw=1)
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
    main = run(epsilon_total=1000.0, channel="sign", known_sigma=True).tables["main"]
    assert ((people() >= main.left) == (main.response == 1.0)).all()


@pytest.mark.parametrize(("run_number", "noise_draw"), [(0, 0), (1, 3)])
def test_batch_samplers_have_the_answers_of_the_fixed_interval(
    run_number: int, noise_draw: int
) -> None:
    params = estimation_accuracy.Params(
        n=SMALL.n, epsilon_total=(2.0,), sampler=("mh",), noise_draw=noise_draw
    )
    answers = computing.responses(Chain(params, run_number, SEED, 1))
    noise = generator(SEED, "noise", run_number, noise_draw).laplace(size=SMALL.n)
    half = SMALL.fixed_width * SMALL.sigma
    scale = 2.0 * half / SMALL.epsilon_total
    np.testing.assert_allclose(answers[:, 3], scale)
    clipped = np.clip(people(run_number), SMALL.mu - half, SMALL.mu + half)
    np.testing.assert_allclose(answers[:, 0], clipped + scale * noise)


def test_intervals_have_the_best_shape_and_the_paper_starts_far_off() -> None:
    paper = {"sampler": "smc-latent", "start": "paper", "resampling": "multinomial"}
    main = run(known_sigma=True, **paper).tables["main"]
    best = intervals.best(1.0 / SMALL.epsilon_total)
    assert (main.left[0], main.right[0]) == (best.a, best.b)
    np.testing.assert_allclose((main.right - main.left)[1:], SMALL.sigma * (best.b - best.a))


@pytest.mark.parametrize("epsilon_total", [0.001, 1000.0])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_an_answer_spends_the_budget(epsilon_total: float, noise: str) -> None:
    found = run(n=2, particles=5, noise=noise, epsilon_total=epsilon_total, interval="fixed")
    cost = privacy.cost(found.event, SMALL.delta)
    # The Gaussian accountant searches to 13 digits and rounds up.
    above = epsilon_total if noise == "laplace" else epsilon_total * (1 + 1e-12)
    assert epsilon_total * (1 - 1e-6) < cost.epsilon <= above
    assert cost.delta == (0.0 if noise == "laplace" else SMALL.delta)


@pytest.mark.parametrize("channel", ["sign", "optimal"])
@pytest.mark.parametrize("epsilon_total", [0.001, 4.0, 1000.0])
def test_symbols_spend_at_most_the_budget_and_report_it(epsilon_total: float, channel: str) -> None:
    found = run(epsilon_total=epsilon_total, channel=channel)
    assert np.isfinite(found.tables["main"][["left", "right", "mean_mu", "sd_mu"]]).all(axis=None)
    spent = privacy.cost(found.event).epsilon
    assert min(epsilon_total, 30.0) * (1.0 - 1e-8) <= spent <= epsilon_total
    assert f"ε_total = {spent:.4g}" in found.privacy


# ---------------------------------------------------------------------------- accuracy of methods


@pytest.mark.parametrize("sampler", ["mh", "mhaar"])
def test_a_batch_sampler_agrees_with_the_grid(sampler: str) -> None:
    same = {"n": 100, "fixed_width": 2.0, "epsilon_total": 10.0, "interval": "fixed"}
    several = {"runs": 1, "iterations": 5000, "candidates": 10, "sampler": sampler}
    texts = {key: str(each) for key, each in (same | several).items()}
    params = estimation_accuracy.Params.from_text(texts)
    tables = results.changed(estimation_accuracy, params, SEED).tables
    alone = adaptive_truncation.Params(**same, sampler="grid")
    exact = results.changed(adaptive_truncation, alone, SEED).tables["main"].iloc[-1]
    row, chain = tables["main"].iloc[0], tables["chains"].iloc[0]
    kept = 5000 * (1 - params.burn_in)
    for name in ("mu", "sigma"):
        monte_carlo = exact[f"sd_{name}"] * np.sqrt(chain[f"autocorrelation_{name}"] / kept)
        assert abs(row[f"mean_{name}"] - exact[f"mean_{name}"]) < 5 * monte_carlo
        assert 5 * monte_carlo < exact[f"sd_{name}"]


SYMBOLS = estimation_accuracy.Params(n=20, channel=("truncation", "sign"), epsilon_total=(5.0,))


def test_theory_of_symbols_has_their_information() -> None:
    _, errors = drawing.efficient_errors(SYMBOLS, "mu", "sign")
    information = 2.0 / math.pi * math.tanh(2.5) ** 2
    expected = SYMBOLS.sigma * math.sqrt(2.0 / math.pi / (SYMBOLS.n * information))
    assert errors[0] == pytest.approx(expected, rel=1e-9)
    # The same bound beside the gradient.
    params = online_gradient.Params(channel="sign", epsilon_total=5.0)
    bound = online_gradient.bound(params, "mu", np.array([SYMBOLS.n]))
    assert bound[0] == pytest.approx(expected)


def test_a_trusted_collectors_error_by_quadrature_and_the_least_one_of_a_normal() -> None:
    draws = np.random.default_rng(1).normal(0.0, 3.0, 200_000)
    assert least_error(9.0) == pytest.approx(np.abs(draws).mean(), rel=0.01)
    (_,), (found,) = drawing.trusted_errors(SYMBOLS)
    s = SYMBOLS.sigma / math.sqrt(SYMBOLS.n)
    b = 2.0 * SYMBOLS.fixed_width * SYMBOLS.sigma / (SYMBOLS.n * 5.0)

    def weighted(x: float) -> float:
        density = math.exp(-0.5 * (x / s) ** 2) / (s * math.sqrt(2.0 * math.pi))
        return density * (abs(x) + b * math.exp(-abs(x) / b))

    expected = 2.0 * integrate.quad(weighted, 0.0, 12.0 * s)[0]
    assert found == pytest.approx(expected, rel=1e-8)


# --------------------------------------------------------------------- several values of a person

VECTOR = vector_truncation.Params(n=12, dimension=(1, 3), particles=20, runs=2, correlation=0.5)


def test_the_best_number_of_values_is_asked_for() -> None:
    params = dataclasses.replace(VECTOR, dimension=(1, 2, 5), epsilon_total=5.0)
    assert params.ways()[vector_truncation.BEST] == {1: 1, 2: 2, 5: 2}
    assert [params.asked(d) for d in (1, 2, 5)] == [[1], [1, 2], [1, 2, 5]]
    # With a small budget, asking for one value is best.
    small = dataclasses.replace(params, epsilon_total=1.0)
    assert [small.asked(d) for d in (1, 2, 5)] == [[1], [1, 2], [1, 5]]
    assert vector_truncation.BEST not in small.ways()


def test_nobody_asked_leaves_the_prior() -> None:
    params = dataclasses.replace(VECTOR, n=1, dimension=(10,))
    tasks = [vector_truncation.Task(params, 0, 1, 1, 1, coordinate) for coordinate in range(10)]
    main = pd.concat([vector_truncation.work(task).tables["main"] for task in tasks])
    assert (main.answers.sum(), (main[main.answers == 0].mean_mu == 0.0).all()) == (1, True)


@pytest.mark.parametrize("correlation", [0.6, 0.0])
def test_values_of_a_person_are_correlated_as_asked_for(correlation: float) -> None:
    params = dataclasses.replace(VECTOR, n=5000, dimension=(3,), correlation=correlation)
    values = vector_truncation.people(vector_truncation.Task(params, 0, 1, 1, 1, 0))
    expected = (1.0 - correlation) * np.eye(3) + correlation
    np.testing.assert_allclose(np.corrcoef(values.T), expected, atol=0.06)
    assert values.std() == pytest.approx(1.0, abs=0.04)


def test_the_bound_and_the_guarantee_of_several_values() -> None:
    least = vector_truncation.bound(VECTOR, np.array([0.5]))
    assert least[0] == pytest.approx(VECTOR.sigma * math.sqrt(2.0 / math.pi / 6.0))
    large = dataclasses.replace(VECTOR, epsilon_total=1000.0, channel="sign", dimension=(1, 5), n=2)
    rows = results.changed(vector_truncation, VECTOR).tables
    assert "ε_total = 150 " in vector_truncation.collect(large, rows).privacy
