"""Density and score of a response: closed form against adaptive quadrature, and at extremes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, special

from abcdp_core.online import information
from abcdp_core.online.families import NORMAL
from abcdp_core.online.noise import NoiseFamily
from abcdp_core.online.response import (
    _log_likelihoods,
    _mills,
    log_density_gaussian,
    log_density_laplace,
    log_likelihood,
    score_laplace,
)

Array = NDArray[np.float64]

LOG_DENSITY: dict[str, Callable[..., float]] = {
    "laplace": log_density_laplace,
    "gaussian": log_density_gaussian,
}
EITHER = pytest.mark.parametrize("noise", LOG_DENSITY)
BUDGETS = pytest.mark.parametrize("epsilon_total", [0.1, 0.7, 3.0, 20.0])
WIDTHS = pytest.mark.parametrize("width", [1e-3, 0.05, 1.0, 20.0])

CENTRES = (0.0, 0.3, -2.5, 6.0, -12.0)
"""Middle of the interval, in σ from μ."""

PLACES = (-5000.0, -30.0, -2.0, -1e-9, 0.0, 0.2, 0.5, 1.0 - 1e-9, 1.0, 1.5, 3000.0)
"""Of the response: share of the interval, where it is in it, else distance to it in scales."""


def responses_in(left: float, right: float, scale: float) -> list[float]:
    """A response at each of the places."""
    return [
        left + p * scale if p < 0.0 else right + (p - 1.0) * scale if p > 1.0
        # Not always exactly the end, but close to it.
        else left + p * (right - left)
        for p in PLACES
    ]  # fmt: skip


def phi(z: float) -> float:
    return math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


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

    Everything is divided by the density of the noise at the end of the interval next to y, so that
    it does not underflow far outside. Only the inside integral has derivatives: by parts, the ends
    cancel.
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
        value = phi(z) / sigma * kernel(x)
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
@WIDTHS
@EITHER
def test_the_log_density_is_its_definition(noise: str, width: float, epsilon_total: float) -> None:
    sigma, scale = 2.0, 2.0 * width / epsilon_total
    for centre in CENTRES:
        mu = 0.7
        left = mu + sigma * (centre - 0.5 * width)
        right = left + sigma * width
        for y in responses_in(left, right, scale):
            found = LOG_DENSITY[noise](y, left, right, scale, mu, sigma)
            expected = by_quadrature(noise, y, left, right, scale, mu, sigma)[0]
            assert found == pytest.approx(expected, rel=1e-14, abs=1e-10), (centre, y)


@BUDGETS
@WIDTHS
def test_the_score_is_the_derivative_of_the_definition(width: float, epsilon_total: float) -> None:
    sigma, scale = 2.0, 2.0 * width / epsilon_total
    for centre in CENTRES[:4]:
        mu = 0.7
        left = mu + sigma * (centre - 0.5 * width)
        right = left + sigma * width
        for y in responses_in(left, right, scale):
            found = score_laplace(y, left, right, scale, mu, sigma)
            _, by_mu, by_log_sigma, inside = by_quadrature(
                "laplace", y, left, right, scale, mu, sigma
            )
            # Near y both sides cancel; what is lost is relative to what is inside.
            lost = 1e-9 * inside / scale
            assert found[0] == pytest.approx(by_mu, rel=1e-8, abs=lost), (centre, y)
            lost *= sigma * (1.0 + abs(centre))
            assert found[1] == pytest.approx(by_log_sigma, rel=1e-8, abs=lost), (centre, y)


def slopes(noise: str, y: float, interval: tuple[float, float, float]) -> Array:
    """Derivatives ``(2,)`` of the log density by μ and log σ at (0, 0), by central differences."""
    step, weights = 2e-3, {-2: 1.0, -1: -8.0, 1: 8.0, 2: -1.0}
    density = LOG_DENSITY[noise]
    by_mu = sum(w * density(y, *interval, i * step, 1.0) for i, w in weights.items())
    by_log_sigma = sum(
        w * density(y, *interval, 0.0, math.exp(i * step)) for i, w in weights.items()
    )
    return np.array([by_mu, by_log_sigma]) / (12.0 * step)


@pytest.mark.parametrize("y", [-40.0, -1.0, -0.3, 0.4, 1.99, 2.0, 9.0])
@pytest.mark.parametrize("scale", [0.2, 1.0, 30.0])
def test_the_score_is_the_slope_of_the_log_density(y: float, scale: float) -> None:
    interval = (-1.0, 2.0, scale)
    found = score_laplace(y, *interval, 0.0, 1.0)
    np.testing.assert_allclose(found, slopes("laplace", y, interval), rtol=1e-7, atol=1e-9)


@BUDGETS
@WIDTHS
def test_the_score_is_constant_outside_the_interval(width: float, epsilon_total: float) -> None:
    left, right, scale = 50.3, 50.3 + width, width / epsilon_total
    for end, direction in ((left, -1.0), (right, 1.0)):
        at_end = score_laplace(end, left, right, scale, 50.0, 1.0)
        for away in (1e-6, 1.0, 40.0, 1e6):
            y = end + direction * away * scale
            assert score_laplace(y, left, right, scale, 50.0, 1.0) == at_end


@EITHER
@pytest.mark.parametrize("epsilon_total", [0.1, 2.0, 20.0])
@pytest.mark.parametrize(("left", "width"), [(-0.5, 1e-3), (-0.4, 1.0), (-6.0, 20.0), (3.0, 2.0)])
def test_the_density_integrates_to_1(
    noise: str, left: float, width: float, epsilon_total: float
) -> None:
    scale, right = width / epsilon_total, left + width

    def density(y: float) -> float:
        return math.exp(LOG_DENSITY[noise](y, left, right, scale, 0.0, 1.0))

    # Beyond 40 scales there is e^-40 of either tail.
    steps = np.array([0.0, 1.0, 3.0, 10.0, 40.0]) * scale
    inside = np.clip([0.0, -2.0, 2.0, *(left + steps), *(right - steps)], left, right)
    edges = np.unique(np.concatenate([left - steps, inside, right + steps]))
    total = math.fsum(
        integrate.quad(density, low, high, epsabs=1e-13, epsrel=1e-11)[0]
        for low, high in itertools.pairwise(edges)
    )
    assert total == pytest.approx(1.0, abs=1e-10)


def test_the_mills_ratio() -> None:
    # Dense, with the ends of the panels 4 i / (32 − i) and what is next to them.
    ends = np.array([4.0 * (32.0 - i) / i for i in range(1, 33)])
    points = np.concatenate([np.linspace(0.0, 40.0, 4001), np.geomspace(1e-12, 1e12, 4001), ends])
    points = np.concatenate([points, np.nextafter(ends, 1e9), np.nextafter(points, 0.0)])
    found = np.array([_mills(t) for t in points.tolist()])
    expected = math.sqrt(math.pi / 2.0) * special.erfcx(points / math.sqrt(2.0))
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_it_is_compiled_once_and_runs_beside_other_threads() -> None:
    assert _log_likelihoods.targetoptions["nogil"]
    assert type(_log_likelihoods._cache).__name__ == "FunctionCache"


CASES = [
    (y, left, right, scale, mu, sigma)
    for left, right in ((-0.3, 0.5), (1.0, 1.001), (-12.0, 9.0))
    for y in (-7.0, left, 0.31, right, 25.0)
    for scale in (0.05, 1.3, 40.0)
    for mu, sigma in ((0.0, 1.0), (4.0, 0.2), (-2.0, 9.0))
]


@EITHER
def test_shifting_and_stretching_everything_changes_the_unit_only(noise: str) -> None:
    for case in CASES:
        y, left, right, scale, mu, sigma = case
        expected = LOG_DENSITY[noise](*case) - math.log(3.0)
        moved = [3.0 * x + 11.0 for x in (y, left, right)]
        found = LOG_DENSITY[noise](*moved, 3.0 * scale, 3.0 * mu + 11.0, 3.0 * sigma)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)


@EITHER
def test_a_mirror_image_is_as_likely(noise: str) -> None:
    for case in CASES:
        y, left, right, scale, mu, sigma = case
        found = LOG_DENSITY[noise](-y, -right, -left, scale, -mu, sigma)
        assert found == pytest.approx(LOG_DENSITY[noise](*case), rel=1e-12, abs=1e-12)


def test_a_mirror_image_turns_the_score_by_mu_around() -> None:
    for y, left, right, scale, mu, sigma in CASES:
        by_mu, by_log_sigma = score_laplace(y, left, right, scale, mu, sigma)
        mirrored = score_laplace(-y, -right, -left, scale, -mu, sigma)
        assert mirrored == pytest.approx((-by_mu, by_log_sigma), rel=1e-8, abs=1e-11)


@EITHER
@pytest.mark.parametrize("epsilon_total", [0.001, 1.0, 500.0, 1000.0])
@pytest.mark.parametrize("sigma", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("width", [1e-8, 1.0, 1e6])
def test_extremes_are_finite(noise: str, epsilon_total: float, sigma: float, width: float) -> None:
    for mu, left in itertools.product((-1e6, 0.0, 50.0, 1e6), (-0.5 * width, 49.0)):
        right, scale = left + width, width / epsilon_total
        for y in (-1e9, left - scale, left, 0.5 * (left + right), right, right + scale, 1e9):
            found = LOG_DENSITY[noise](y, left, right, scale, mu, sigma)
            assert math.isfinite(found), (mu, left, y)
            if noise == "laplace" and epsilon_total < 700.0:
                assert np.isfinite(score_laplace(y, left, right, scale, mu, sigma)).all()


@pytest.mark.parametrize("epsilon_total", [1.0, 500.0, 1000.0])
def test_a_value_surely_at_the_far_end_costs_the_whole_width(epsilon_total: float) -> None:
    # All values are above the interval, the response is at its lower end.
    scale = 1.0 / epsilon_total
    found = log_density_laplace(0.0, 0.0, 1.0, scale, 50.0, 0.01)
    assert found == pytest.approx(-epsilon_total - math.log(2.0 * scale), rel=1e-12)


@EITHER
def test_the_log_likelihood_is_the_sum_over_responses(noise: NoiseFamily) -> None:
    theta = np.array([[0.0, 0.0], [1.5, 0.7], [-3.0, -1.2]])
    responses = np.array([[0.2, -1.0, 1.0, 0.5], [9.0, 0.0, 2.0, 1.0], [-4.0, -0.1, 0.1, 3.0]])
    found = log_likelihood(theta, responses, noise)
    expected = [
        math.fsum(LOG_DENSITY[noise](*row, mu, math.exp(log_sigma)) for row in responses.tolist())
        for mu, log_sigma in theta.tolist()
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert (log_likelihood(theta, responses[:0], noise) == 0.0).all()


@pytest.mark.parametrize(("a", "b"), [(-0.07, 0.07), (-1.0, 2.0), (0.4, 0.9)])
@pytest.mark.parametrize("epsilon_total", [0.5, 5.0])
@EITHER
def test_the_information_is_the_mean_square_of_the_score(
    noise: str, epsilon_total: float, a: float, b: float
) -> None:
    scale = (b - a) / epsilon_total

    def score(y: float) -> Array:
        if noise == "laplace":
            return np.array(score_laplace(y, a, b, scale, 0.0, 1.0))
        return slopes(noise, y, (a, b, scale))

    def integrand(y: float, row: int, column: int) -> float:
        slope = score(y)
        density = math.exp(LOG_DENSITY[noise](y, a, b, scale, 0.0, 1.0))
        return float(slope[row] * slope[column]) * density

    reach = (30.0 if noise == "laplace" else 8.0) * scale
    edges = sorted({a - reach, a, b, b + reach, *([0.0] if a < 0.0 < b else [])})
    found = np.array(
        [
            [
                math.fsum(
                    integrate.quad(integrand, *ends, args=(row, column), epsabs=1e-9)[0]
                    for ends in itertools.pairwise(edges)
                )
                for column in (0, 1)
            ]
            for row in (0, 1)
        ]
    )
    expected = information.NOISES[noise].information(NORMAL, a, b, 1.0 / epsilon_total)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=3e-8)
