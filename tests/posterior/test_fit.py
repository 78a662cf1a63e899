"""Misfits are detected, and good fits are not rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from abcdp_core.models.priors import Normal, Prior, Uniform
from abcdp_core.posterior import outcome
from abcdp_core.posterior.fit import Fit, compared, evenly
from abcdp_core.posterior.model import Model
from abcdp_core.posterior.noise import DiscreteLaplace, Laplace, Noise
from abcdp_core.posterior.rounds import Effort, InferenceProblem
from tests.oracles.misfits import CORRELATED, MEAN, SERIES, Case

Array = Any


def fit_of(model: Model, noise: Noise, z: Array) -> Fit:
    effort = Effort(wanted=500, simulations=12_000)
    found = outcome.of_model(InferenceProblem(model, noise, z, 1), effort)
    assert found.summary.fit is not None
    return found.summary.fit


@pytest.mark.parametrize("case", [SERIES, MEAN, CORRELATED], ids=lambda each: each.name)
def test_data_of_the_model_fit_and_others_do_not(case: Case) -> None:
    rng = np.random.default_rng(2)
    own, other = (fit_of(case.model, case.noise, z) for z in (case.own(rng), case.other(rng)))
    assert own.p_value > 0.01
    assert not own.is_misfit
    assert other.is_misfit
    assert other.is_jagged == (case is SERIES)
    assert case is not MEAN or other.numbers[0].direction == "high"
    for fit, words in ((own, "are consistent with"), (other, "hardly ever makes")):
        assert words in fit.statement


def test_numbers_that_are_plausible_alone_may_not_be_together() -> None:
    rng = np.random.default_rng(4)
    level = rng.standard_normal((20_000, 1))
    numbers = level + 0.05 * rng.standard_normal((20_000, 2))
    noise, names = Laplace((0.05, 0.05)), ("first", "second")
    together, apart = (
        compared(np.array(z), numbers, noise, 1, names, ()) for z in ((0.8, 0.8), (0.8, -0.8))
    )
    assert not together.is_misfit
    assert apart.is_misfit
    assert apart.numbers == ()
    # Replicates are simulated at draws in proportion to their weights.
    drawn = evenly(np.array([0.1, 0.2, 0.7]), 1000)
    assert np.bincount(drawn).tolist() == [100, 200, 700]


def one(rng: np.random.Generator, theta: Array) -> Array:
    return theta + 0.1 * rng.standard_normal(theta.shape)


def test_an_edge_is_a_remark_and_no_misfit_and_natural_ends_are_none() -> None:
    for laws, expected in (((Uniform(0.0, 2.0),), ["upper"]), ((Uniform(0.0, 1.0),), [])):
        model = Model(("rate",), ("mean",), Prior(laws), one)
        z = np.array([laws[0].high])
        fit = fit_of(model, Laplace((0.01,)), z)
        assert not fit.is_misfit
        assert [each.end for each in fit.edges] == expected
        assert len(fit.remarks) == len(expected)


def steady(rng: np.random.Generator, theta: Array) -> Array:
    return rng.poisson(np.exp(np.repeat(theta, 20, axis=1))).astype(float)


def test_more_tests_take_a_smaller_p_value_each() -> None:
    names = tuple(f"n{place}" for place in range(20))
    model = Model(("log rate",), names, Prior((Normal(3.0, 1.0),)), steady)
    z = np.full(20, 20.0)
    z[0] = 38.0
    fit = fit_of(model, DiscreteLaplace((1.0,) * 20), z)
    # About one in 500 by itself, and one of 21 tests.
    assert 0.005 < fit.p_value < 0.2
