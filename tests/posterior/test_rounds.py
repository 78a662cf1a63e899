"""Posteriors against exact ones by quadrature and sums, and broken twins."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.summaries import weighted_quantile
from abcdp_core.models.priors import Normal, Prior, Uniform
from abcdp_core.posterior import rounds
from abcdp_core.posterior.model import Model
from abcdp_core.posterior.noise import DiscreteLaplace, Laplace
from abcdp_core.posterior.rounds import Effort, InferenceProblem, WeightedDraws
from tests.oracles.exact_posteriors import FAMILIES, Family, Marginal, released

Array = Any

WANTED = 2500
"""Effective sample size: an end of a 90 % interval then has a Monte Carlo error of 0.06 posterior
standard deviations at most, a width one of 3 %."""

ENDS, WIDTH, ATOMS = 0.35, 0.15, 0.05
"""Allowed errors (MATH E8): of ends in posterior standard deviations, of widths as a share, and of
the distribution function of a whole number. Seeds are fixed."""


def asked(
    family: Family, epsilon_total: float, n: int
) -> tuple[InferenceProblem, tuple[Marginal, ...]]:
    """A release of a family from the middle of its prior, and its exact posterior."""
    z = released(family, epsilon_total, n, 0.5, np.random.default_rng(7))
    question = InferenceProblem(family.model(n), family.noise(epsilon_total, n), z, 1)
    return question, family.exact(z, epsilon_total, n)


def is_close(
    found: WeightedDraws, question: InferenceProblem, exact: tuple[Marginal, ...], whole: bool
) -> bool:
    """Whether a posterior is close enough to the exact one."""
    theta = question.model.prior.theta(found.x)
    ends = weighted_quantile(theta, found.weights, (0.05, 0.95))
    for place, each in enumerate(exact):
        if whole:
            steps = theta[:, place : place + 1] <= each.values + 1e-9
            if np.abs(found.weights @ steps - each.cumulative).max() > ATOMS:
                return False
            continue
        low, high = each.quantile(0.05), each.quantile(0.95)
        off = np.abs(ends[:, place] - (low, high)) / each.deviation
        if off.max() > ENDS or abs(np.ptp(ends[:, place]) / (high - low) - 1.0) > WIDTH:
            return False
    return True


SLOW = pytest.param("heavy-tails", marks=pytest.mark.slow)


@pytest.mark.parametrize("name", [SLOW, *(name for name in FAMILIES if name != "heavy-tails")])
def test_weights_and_rounds_find_the_exact_posterior_and_broken_ones_do_not(name: str) -> None:
    family = FAMILIES[name]
    question, exact = asked(family, 0.1, 200)
    found = rounds.infer(question, Effort(WANTED))
    assert found.way == "weights"
    assert found.effective[-1] >= WANTED
    assert is_close(found, question, exact, family.whole)
    # With half of the noise missing, and without the weights.
    noise: Any = question.noise
    half = dataclasses.replace(noise, scale=tuple(each / 2.0 for each in noise.scale))
    sure = rounds.infer(dataclasses.replace(question, noise=half), Effort(WANTED))
    assert not is_close(sure, question, exact, family.whole)
    equal = np.full(len(found.weights), 1.0 / len(found.weights))
    forgotten = dataclasses.replace(found, weights=equal)
    assert not is_close(forgotten, question, exact, family.whole)


@pytest.mark.parametrize("name", [SLOW, "dirichlet-shares"])
def test_a_regression_answers_where_noise_is_narrow(name: str) -> None:
    family = FAMILIES[name]
    question, exact = asked(family, 10.0, 2000)
    found = rounds.infer(question, Effort(simulations=25_000))
    assert found.way == "regression"
    assert is_close(found, question, exact, family.whole)
    # Unadjusted draws are not.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("abcdp_core.posterior.regression.less_slope", lambda x, *_: x)
        left = rounds.infer(question, Effort(rounds=found.sizes))
    assert not is_close(left, question, exact, family.whole)


def simulate(rng: np.random.Generator, theta: Array) -> Array:
    return theta + 0.1 * rng.standard_normal(theta.shape)


def model(prior: Prior) -> Model:
    return Model(("a", "b"), ("s", "t"), prior, simulate, chunk=500)


NORMAL = Prior((Normal(0.0, 1.0),) * 2)


def test_the_same_rounds_give_the_same_posterior_however_tasks_are_run() -> None:
    question = InferenceProblem(model(NORMAL), Laplace((0.05, 0.05)), np.array([2.5, -2.5]), 3)
    found = rounds.infer(question, Effort(simulations=16_000))
    assert len(found.sizes) > 1

    def backwards(name: str, work: Any, tasks: Any) -> Any:
        done = {task.chunk: work(task) for task in reversed(tasks)}
        return [done[task.chunk] for task in tasks]

    again = rounds.infer(question, Effort(rounds=found.sizes), backwards)
    np.testing.assert_array_equal(again.x, found.x)
    np.testing.assert_array_equal(again.weights, found.weights)
    other = rounds.infer(dataclasses.replace(question, seed=4), Effort(simulations=16_000))
    assert not np.array_equal(other.x[:10], found.x[:10])


def test_simulations_and_seconds_are_limits() -> None:
    question = InferenceProblem(model(NORMAL), Laplace((0.01, 0.01)), np.array([3.0, -3.0]), 1)
    for effort, sizes in (
        (Effort(wanted=100_000, simulations=12_000), (10_000, 2000)),
        (Effort(simulations=3000), (3000,)),
        (Effort(wanted=100_000, seconds=0.0), (200,)),
    ):
        assert rounds.infer(question, effort).sizes == sizes


def half_plane(theta: Array) -> Array:
    return np.where(theta[:, 0] > theta[:, 1], math.log(2.0), -np.inf)


def draw_half_plane(rng: np.random.Generator, size: int) -> Array:
    return -np.sort(-rng.standard_normal((size, 2)), axis=1)


def test_proposals_outside_the_support_count_and_are_not_simulated() -> None:
    prior = Prior(NORMAL.laws, draw_half_plane, half_plane)
    noise = Laplace((0.5, 0.5))
    found = rounds.infer(
        InferenceProblem(model(prior), noise, np.array([1.9, 1.9]), 1), Effort(5000)
    )
    assert (found.x[:, 0] > found.x[:, 1]).all()
    assert len(found.x) < sum(found.sizes)
    assert found.failed == 0
    # The same by draws from the prior alone.
    x = draw_half_plane(np.random.default_rng(0), 400_000)
    weights = np.exp(noise.log_density(np.array([1.9, 1.9]), simulate(np.random.default_rng(1), x)))
    exact = weighted_quantile(x, weights / weights.sum(), (0.05, 0.5, 0.95))
    ours = weighted_quantile(found.x, found.weights, (0.05, 0.5, 0.95))
    assert np.abs(ours - exact).max() < 0.06

    # Without a density only the prior proposes.
    question = InferenceProblem(
        model(Prior(NORMAL.laws, draw_half_plane)), Laplace((0.2, 0.2)), np.array([1.0, 0.5]), 1
    )
    found = rounds.infer(question, Effort(wanted=3000))
    assert found.way == "weights"
    assert found.effective[-1] >= 3000
    assert found.sizes[1] == found.sizes[0]


def fails(rng: np.random.Generator, theta: Array) -> Array:
    found = simulate(rng, theta)
    found[theta[:, 0] < 0.0, 1] = np.nan
    return found


def test_simulations_that_fail_have_no_weight() -> None:
    broken = dataclasses.replace(model(NORMAL), simulate=fails)
    question = InferenceProblem(broken, Laplace((0.5, 0.5)), np.array([0.1, 0.0]), 1)
    found = rounds.infer(question, Effort())
    assert found.failed > 1000
    assert (found.x[:, 0] >= 0.0).all()
    never = dataclasses.replace(broken, simulate=lambda _, theta: np.full(theta.shape, np.nan))
    with pytest.raises(ParameterError, match="failed at all"):
        rounds.infer(dataclasses.replace(question, model=never), Effort())


def whole(rng: np.random.Generator, theta: Array) -> Array:
    return rng.poisson(theta).astype(float)


def test_numbers_of_a_regression_are_the_released_ones_less_noise() -> None:
    """The noise is so narrow that nearly all of it is 0."""
    names = tuple("abcdef")
    prior = Prior((Uniform(10.0, 1000.0),) * 6)
    counts = Model(names, names, prior, whole)
    z = np.array([100.0, 200.0, 300.0, 400.0, 500.0, 600.0])
    noise = DiscreteLaplace((0.05,) * 6)
    found = rounds.infer(InferenceProblem(counts, noise, z, 1), Effort(simulations=20_000))
    assert found.way == "regression"
    assert (found.numbers == z).mean() > 0.99
