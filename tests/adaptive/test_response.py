"""Density and score of a response against adaptive quadrature, and interpolated along the mean."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy import integrate, special

from abcdp_core.adaptive import chebyshev
from abcdp_core.adaptive.best_channel import best
from abcdp_core.adaptive.channels import Channel, Truncation
from abcdp_core.adaptive.noise import NoiseFamily, unit_scale
from abcdp_core.adaptive.response import (
    Kind,
    log_density_gaussian,
    log_density_laplace,
    log_likelihood,
    score_laplace,
)
from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator

LOG_DENSITY: dict[str, Callable[..., float]] = {
    "laplace": log_density_laplace,
    "gaussian": log_density_gaussian,
}
EITHER = pytest.mark.parametrize("noise", LOG_DENSITY)
BUDGETS = pytest.mark.parametrize("epsilon_total", [0.1, 0.7, 3.0, 20.0])
WIDTHS = (1e-3, 0.05, 1.0, 20.0)
SIGMA, MU = 2.0, 0.7

CENTERS = (0.0, 0.3, -2.5, 6.0, -12.0)
"""Middle of the interval, in σ from μ."""

PLACES = (-5000.0, -30.0, -2.0, -1e-9, 0.0, 0.2, 0.5, 1.0 - 1e-9, 1.0, 1.5, 3000.0)
"""Of the response: its share of the interval if it is inside, else its distance in scales."""


def cases(
    width: float, epsilon_total: float, centers: tuple[float, ...]
) -> Iterator[tuple[float, ...]]:
    """Center, response, interval and scale at each of the places."""
    scale = SIGMA * width / epsilon_total
    for center, p in itertools.product(centers, PLACES):
        left = MU + SIGMA * (center - 0.5 * width)
        right = left + SIGMA * width
        # Not always exactly the end, but close to it.
        y = left + (p * scale if p < 0.0 else p * (right - left))
        yield center, right + (p - 1.0) * scale if p > 1.0 else y, left, right, scale


def quad(function: Callable[..., float], low: float, high: float, *arguments: object) -> float:
    """Adaptive quadrature; with the full output no warning where only rounding is left."""
    found = integrate.quad(
        function, low, high, args=arguments, epsabs=0.0, epsrel=3e-11, limit=8, full_output=1
    )
    return float(found[0])


def by_quadrature(
    noise: str, y: float, left: float, right: float, scale: float, mu: float, sigma: float
) -> tuple[float, float, float, float]:
    """Log density by its definition, its derivatives by μ and log σ, and the share of the inside.

    Everything is divided by the noise density at the end of the interval next to y, so that it does
    not underflow. Only the inside integral has derivatives: by parts, the ends cancel.
    """
    nearest = min(max(y, left), right)

    def kernel(x: float) -> float:
        if noise == "laplace":
            return math.exp((abs(y - nearest) - abs(y - x)) / scale)
        return math.exp(0.5 * (x - nearest) * (2.0 * y - nearest - x) / scale**2)

    def slope(x: float) -> float:
        """d log kernel / dx."""
        return math.copysign(1.0, y - x) / scale if noise == "laplace" else (y - x) / scale**2

    def integrand(x: float, power: int | None) -> float:
        z = (x - mu) / sigma
        value = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) / sigma * kernel(x)
        return value if power is None else value * slope(x) * (sigma * z) ** power

    share = 1.0 / (1.0 + (scale / sigma) ** 2)
    middle, spread = mu + (y - mu) * share, math.sqrt(share) * scale
    near = [nearest + d * scale for d in (-30.0, -8.0, -2.0, 0.0, 2.0, 8.0, 30.0)]
    near += [mu + d * sigma for d in (-8.0, -3.0, 0.0, 3.0, 8.0)]
    near += [middle + d * spread for d in (-8.0, -3.0, 0.0, 3.0, 8.0)]
    # Far outside the integrand falls off within a part of either scale.
    steep = abs((y - nearest) / scale**2) + abs((nearest - mu) / sigma**2) + 1e-300
    near += [nearest + d / steep for d in (-300.0, -40.0, -8.0, -2.0, 2.0, 8.0, 40.0, 300.0)]
    edges = [left, *sorted({e for e in near if left < e < right}), right]
    parts = [
        math.fsum(
            quad(integrand, low, high, power)
            for low, high in itertools.pairwise(edges)
            if max(integrand(x, None) for x in (low, 0.5 * (low + high), high)) > 1e-280
        )
        for power in (None, 0, 1)
    ]
    below, above = (special.ndtr((left - mu) / sigma), special.ndtr((mu - right) / sigma))
    total = below * kernel(left) + above * kernel(right) + parts[0]
    away = abs(y - nearest) / scale
    log_noise = -away - math.log(2.0 * scale)
    if noise == "gaussian":
        log_noise = -0.5 * away**2 - math.log(math.sqrt(2.0 * math.pi) * scale)
    return log_noise + math.log(total), parts[1] / total, parts[2] / total, parts[0] / total


@BUDGETS
@EITHER
def test_the_log_density_is_its_definition(noise: str, epsilon_total: float) -> None:
    for width in WIDTHS:
        for center, *place in cases(width, epsilon_total, CENTERS):
            found = LOG_DENSITY[noise](*place, MU, SIGMA)
            expected = by_quadrature(noise, *place, MU, SIGMA)[0]
            assert found == pytest.approx(expected, rel=1e-14, abs=1e-10), (center, place)


@BUDGETS
def test_the_score_is_the_derivative_of_the_definition(epsilon_total: float) -> None:
    for width in WIDTHS:
        for center, *place in cases(width, epsilon_total, CENTERS[:4]):
            found = score_laplace(*place, MU, SIGMA)
            _, by_mu, by_log_sigma, inside = by_quadrature("laplace", *place, MU, SIGMA)
            # Near y both sides cancel; the loss is relative to the inside.
            lost = 1e-9 * inside / place[-1]
            assert found[0] == pytest.approx(by_mu, rel=1e-8, abs=lost), (center, place)
            lost *= SIGMA * (1.0 + abs(center))
            assert found[1] == pytest.approx(by_log_sigma, rel=1e-8, abs=lost), (center, place)


@EITHER
@pytest.mark.parametrize("epsilon_total", [0.001, 1.0, 500.0, 1000.0])
def test_extremes_are_finite(noise: str, epsilon_total: float) -> None:
    widths, sigmas, means = (1e-8, 1.0, 1e6), (1e-6, 1.0, 1e6), (-1e6, 0.0, 50.0, 1e6)
    for width, sigma, mu in itertools.product(widths, sigmas, means):
        for left in (-0.5 * width, 49.0):
            right, scale = left + width, width / epsilon_total
            for y in (-1e9, left - scale, left, 0.5 * (left + right), right, right + scale, 1e9):
                place = (y, left, right, scale, mu, sigma)
                assert math.isfinite(LOG_DENSITY[noise](*place)), place
                if noise == "laplace" and epsilon_total < 700.0:
                    assert np.isfinite(score_laplace(*place)).all(), place


@EITHER
def test_the_log_likelihood_is_the_sum_over_responses(noise: NoiseFamily) -> None:
    theta = np.array([[1.5, 0.7]])
    responses = np.array([[0.2, -1.0, 1.0, 0.5], [9.0, 0.0, 2.0, 1.0], [-4.0, -0.1, 0.1, 3.0]])
    found = log_likelihood(theta, responses, noise)
    expected = math.fsum(LOG_DENSITY[noise](*row, 1.5, math.exp(0.7)) for row in responses.tolist())
    assert found.tolist() == pytest.approx([expected], rel=1e-13)
    assert (log_likelihood(theta, responses[:0], noise) == 0.0).all()


# ------------------------------------------------------------------- interpolated along the mean


def answers(kind: Kind, count: int) -> Array:
    """Answers of people with μ = 3 and σ = 2, asked ever closer to μ."""
    rng = generator(1, "along")
    if kind == "table":
        channel: Channel = best(5.0).channel
    else:
        channel = Truncation(-0.5, 0.5, kind, unit_scale(kind, 5.0, 1e-5))
    drawn = channel.draw(rng, count)
    asked = 3.0 + 2.0 * rng.standard_normal(count) / np.sqrt(np.arange(1, count + 1))
    values = 3.0 + 2.0 * rng.standard_normal(count)
    people = zip(values.tolist(), drawn.tolist(), asked.tolist(), strict=True)
    return np.array([channel.answer(*person, 2.0) for person in people])


def directly(mu: Array, rows: Array, kind: Kind, log_sigma: float) -> Array:
    return log_likelihood(np.column_stack([mu, np.full(len(mu), log_sigma)]), rows, kind)


@pytest.mark.parametrize("kind", ["laplace", "gaussian", "table"])
@pytest.mark.parametrize(
    ("count", "reach", "most"), [(100, 0.3, 33), (100, 2.0, 129), (10, 10.0, 129), (10, 1e6, 600)]
)
def test_it_is_exact_with_fewer_evaluations(
    kind: Kind, count: int, reach: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, log_sigma, counts = answers(kind, count), math.log(2.0), list[int]()
    mu = 3.0 + reach * generator(2, "means").uniform(-1.0, 1.0, 600)

    def counted(theta: Array, rows: Array, kind: Kind) -> Array:
        counts.append(len(theta))
        return log_likelihood(theta, rows, kind)

    monkeypatch.setattr(chebyshev, "log_likelihood", counted)
    found = chebyshev.log_likelihoods(mu, log_sigma, rows, kind)
    expected = directly(mu, rows, kind, log_sigma)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9)
    assert sum(counts) <= most, counts
    same = np.full(50, 2.5)
    found = chebyshev.log_likelihoods(same, log_sigma, rows, kind)
    np.testing.assert_array_equal(found, directly(same, rows, kind, log_sigma))


@pytest.mark.parametrize("unit", [1.0, 0.05])
def test_a_feature_between_distant_nodes_is_not_missed(unit: float) -> None:
    # One symbol of a set 2σ wide, means on both sides of it: all of the usual nodes miss it.
    rows = np.array([[2.0, 18.0 * unit, 22.0 * unit, math.expm1(5.0)]])
    mu = unit * np.concatenate([np.linspace(-200.0, 200.0, 600), [19.0, 20.0, 21.0]])
    log_sigma = math.log(2.0 * unit)
    found = chebyshev.log_likelihoods(mu, log_sigma, rows, "table")
    expected = directly(mu, rows, "table", log_sigma)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9)
    assert found.max() > 4.0
