"""A prior given as a function: its constant, its agreement with the sampler, and what follows."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from abcdp_core.base.arrays import Array
from abcdp_core.base.summaries import weighted_quantile
from abcdp_core.models.normalizing import LARGEST_ERROR, PriorError, bridge, log_constant
from abcdp_core.models.priors import Prior, Uniform
from abcdp_core.posterior import rounds
from abcdp_core.posterior.model import Model
from abcdp_core.posterior.noise import Laplace
from abcdp_core.posterior.rounds import Effort, InferenceProblem

SCALE, SPREAD = 0.2, 0.3
"""Laplace scale of the noise, and standard deviation of a number around its parameter."""


def normals(dimensions: int, bound: float) -> Prior:
    """Independent standard normals as functions, in bounds that are far away."""
    return Prior(
        (Uniform(-bound, bound),) * dimensions,
        lambda rng, size: np.clip(rng.standard_normal((size, dimensions)), -bound, bound),
        lambda theta: -0.5 * (theta**2).sum(axis=1),
    )


def with_constant(prior: Prior) -> Prior:
    return Prior(prior.laws, prior.draw_theta, prior.log_relative, log_constant(prior))


def simulate(rng: np.random.Generator, theta: Array) -> Array:
    return theta + SPREAD * rng.standard_normal(theta.shape)


def exact_width(z: float) -> float:
    """Width of the 90 % interval of one parameter by quadrature."""
    theta, step = np.linspace(-6.0, 6.0, 4001), np.linspace(-6.0, 6.0, 401)
    spread = stats.norm.pdf(step) * (step[1] - step[0])
    seen = np.exp(-np.abs(z - theta[:, None] - SPREAD * step) / SCALE) @ spread
    reached = np.cumsum(stats.norm.pdf(theta) * seen)
    low, high = np.interp([0.05, 0.95], reached / reached[-1], theta)
    return float(high - low)


@pytest.mark.parametrize("bound", [5.0, 40.0, 100.0, 1000.0])
def test_intervals_are_as_wide_as_exact_ones_however_little_of_the_box_is_filled(
    bound: float,
) -> None:
    z = np.array([0.3, -1.1, 0.8, 1.9])
    names = ("a", "b", "c", "d")
    model = Model(names, names, with_constant(normals(4, bound)), simulate)
    found = rounds.infer(InferenceProblem(model, Laplace((SCALE,) * 4), z, 1), Effort(2500))
    assert found.effective[-1] >= 2500
    low, high = weighted_quantile(model.prior.theta(found.x), found.weights, (0.05, 0.95))
    exact = np.array([exact_width(each) for each in z])
    np.testing.assert_allclose((high - low) / exact, 1.0, atol=0.1)


Draw, LogDensity = Callable[[np.random.Generator, int], Array], Callable[[Array], Array]


def lognormal(s: float) -> Draw:
    return lambda rng, size: np.exp(s * rng.standard_normal((size, 1)))


def without_jacobian(s: float) -> LogDensity:
    return lambda theta: -0.5 * (np.log(theta[:, 0]) / s) ** 2


def square(rng: np.random.Generator, size: int) -> Array:
    return rng.random((size, 4))


def inside(theta: Array) -> Array:
    return np.where(((theta >= 0.0) & (theta <= 1.0)).all(axis=1), 0.0, -math.inf)


@pytest.mark.parametrize(
    ("law", "draw", "log_density", "exact"),
    [
        # The constant of a density that is known, relative to uniform ones.
        (Uniform(-50.0, 50.0), square, inside, -4.0 * math.log(100.0)),
        (Uniform(0.0, 1e6), lognormal(1.0), lambda t: stats.lognorm.logpdf(t[:, 0], 1.0), -13.8155),
        (
            Uniform(0.0, 50.0, whole=True),
            lambda rng, size: np.minimum(rng.poisson(7.0, (size, 1)), 50),
            lambda t: stats.poisson.logpmf(t[:, 0], 7.0),
            -math.log(51.0),
        ),
    ],
)
def test_the_constant_is_that_of_known_densities(
    law: Uniform, draw: Draw, log_density: LogDensity, exact: float
) -> None:
    dimensions = draw(np.random.default_rng(1), 1).shape[1]
    found = log_constant(Prior((law,) * dimensions, draw, log_density))
    assert abs(found - exact) < 2.0 * LARGEST_ERROR


@pytest.mark.parametrize(
    ("law", "draw", "log_density", "reason"),
    [
        *((Uniform(0.0, 50.0), lognormal(s), without_jacobian(s), "Jacobian") for s in (0.2, 1.0)),
        (Uniform(-2.0, 2.0), square, lambda t: inside(t - 0.5), "minus infinity"),
        (Uniform(-2.0, 2.0), square, lambda t: t[:, 0], "differ"),
        (Uniform(-1e9, 1e9), square, inside, "narrow the bounds"),
    ],
)
def test_a_density_that_cannot_be_used_is_refused(
    law: Uniform, draw: Draw, log_density: LogDensity, reason: str
) -> None:
    dimensions = draw(np.random.default_rng(1), 1).shape[1]
    with pytest.raises(PriorError, match=reason):
        log_constant(Prior((law,) * dimensions, draw, log_density))


def test_bridge_sampling_says_how_far_off_it_can_be() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal(4000), 1.2 * rng.standard_normal(4000)

    def ratio(at: Array) -> Array:
        return stats.norm.logpdf(at) + 5.0 - stats.norm.logpdf(at, scale=1.2)

    value, error = bridge(ratio(x), ratio(y))
    assert abs(value - 5.0) < 5.0 * error
    assert 0.0 < error < 0.01
    _, alone = bridge(ratio(x)[:100], ratio(y)[:100])
    assert alone > 4.0 * error
