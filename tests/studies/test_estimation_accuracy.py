"""Accuracy of the methods: the same people for all of them, each as when run by itself."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy import integrate

from abcdp_core.streams import generator
from abcdp_core.studies import adaptive_truncation, online_gradient
from abcdp_core.studies import estimation_accuracy as study
from abcdp_core.studies.estimation_accuracy import computing, drawing
from abcdp_core.tasks import Chain
from tests import results

TINY = study.Params(n=20, particles=20, epsilon_total=(2.0,), runs=2)
SEED = 5


@pytest.mark.parametrize(("run_number", "noise_draw"), [(0, 0), (1, 3)])
def test_batch_samplers_have_the_answers_of_the_fixed_interval(
    run_number: int, noise_draw: int
) -> None:
    params = dataclasses.replace(TINY, sampler=("mh",), noise_draw=noise_draw)
    answers = computing.responses(Chain(params, run_number, SEED, 1))
    values = generator(SEED, "people", run_number).standard_normal(20) * TINY.sigma + TINY.mu
    noise = generator(SEED, "noise", run_number, noise_draw).laplace(size=20)
    scale = 20 * TINY.sigma / 2.0
    np.testing.assert_allclose(answers[:, 3], scale)
    left, right = TINY.mu - 10 * TINY.sigma, TINY.mu + 10 * TINY.sigma
    np.testing.assert_allclose(answers[:, 0], np.clip(values, left, right) + scale * noise)


@pytest.mark.parametrize("sampler", ["mh", "mhaar"])
def test_a_batch_sampler_agrees_with_the_grid(sampler: str) -> None:
    same = {"n": 100, "fixed_width": 2.0, "epsilon_total": 10.0, "interval": "fixed"}
    several = {"runs": 1, "iterations": 5000, "candidates": 10, "sampler": sampler}
    params = study.Params.from_text({key: str(each) for key, each in (same | several).items()})
    tables = results.changed(study, params, SEED).tables
    alone = adaptive_truncation.Params(**same, sampler="grid")
    exact = results.changed(adaptive_truncation, alone, SEED).tables["main"].iloc[-1]
    row, chain = tables["main"].iloc[0], tables["chains"].iloc[0]
    kept = 5000 * (1 - TINY.burn_in)
    for name in ("mu", "sigma"):
        monte_carlo = exact[f"sd_{name}"] * np.sqrt(chain[f"autocorrelation_{name}"] / kept)
        assert abs(row[f"mean_{name}"] - exact[f"mean_{name}"]) < 5 * monte_carlo
        assert 5 * monte_carlo < exact[f"sd_{name}"]


SYMBOLS = dataclasses.replace(
    TINY,
    sampler=("smc", "grid", "mh", "smc-latent"),
    channel=("truncation", "optimal", "sign"),
    epsilon_total=(5.0,),
    runs=1,
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


def test_theory_of_symbols_has_their_information() -> None:
    _, errors = drawing.efficient_errors(SYMBOLS, "mu", "sign")
    information = 2.0 / math.pi * math.tanh(2.5) ** 2
    expected = SYMBOLS.sigma * math.sqrt(2.0 / math.pi / (SYMBOLS.n * information))
    assert errors[0] == pytest.approx(expected, rel=1e-9)
    # The same bound beside the gradient.
    params = online_gradient.Params(channel="sign", epsilon_total=5.0)
    bound = online_gradient.bound(params, "mu", np.array([SYMBOLS.n]))
    assert bound[0] == pytest.approx(expected)


def test_a_trusted_collectors_error_by_quadrature() -> None:
    (_,), (found,) = drawing.trusted_errors(SYMBOLS)
    s = SYMBOLS.sigma / math.sqrt(SYMBOLS.n)
    b = 2.0 * SYMBOLS.fixed_width * SYMBOLS.sigma / (SYMBOLS.n * 5.0)

    def weighted(x: float) -> float:
        density = math.exp(-0.5 * (x / s) ** 2) / (s * math.sqrt(2.0 * math.pi))
        return density * (abs(x) + b * math.exp(-abs(x) / b))

    expected = 2.0 * integrate.quad(weighted, 0.0, 12.0 * s)[0]
    assert found == pytest.approx(expected, rel=1e-8)
