"""Fisher information of a truncated, private response: its definition and its limits."""

from __future__ import annotations

import itertools
import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate

from abcdp_core.online import information
from abcdp_core.online.families import FAMILIES, NORMAL, Family
from abcdp_core.online.information import NOISES, Noise
from abcdp_core.streams import generator

Array = NDArray[np.float64]

EVERY = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
EITHER = pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES.keys())
INTERVALS = pytest.mark.parametrize(
    ("a", "b", "epsilon_total"),
    [(-0.07, 0.07, 1.0), (-1.0, 2.0, 5.0), (0.5, 0.9, 0.3), (-6.0, 5.0, 2.0), (-1.0, 1.5, 20.0)],
)


def noise_density(noise: Noise, z: float, s: float) -> float:
    norm = 2.0 * s if noise.name == "laplace" else math.sqrt(2.0 * math.pi) * s
    return math.exp(float(noise.log_density(np.array(z / s)))) / norm


def density_of(
    noise: Noise, family: Family, y: float, interval: tuple[float, float], s: float, power: int
) -> tuple[float, float]:
    """Density of a response and, for power 0 or 1, its derivative by μ or σ, by quadrature."""
    a, b = interval

    def slope(z: float) -> float:
        gap = (y - z) / s
        rate = math.copysign(1.0, gap) if noise.name == "laplace" else gap
        return rate / s

    def integrand(z: float, by: bool) -> float:
        value = float(family.density(np.array(z))) * noise_density(noise, y - z, s)
        return value * z**power * slope(z) if by else value

    near = [y - 8.0 * s, y - 2.0 * s, y, y + 2.0 * s, y + 8.0 * s]
    edges = [a, *sorted({e for e in (0.0, *near) if a < e < b}), b]
    parts = np.zeros(2)
    for low, high in itertools.pairwise(edges):
        for index in (0, 1):
            parts[index] += integrate.quad(
                integrand, low, high, args=(bool(index),), epsabs=1e-14, epsrel=1e-11
            )[0]
    ends = float(family.cdf(np.array(a))) * noise_density(noise, y - a, s)
    ends += float(family.survival(np.array(b))) * noise_density(noise, y - b, s)
    return ends + float(parts[0]), float(parts[1])


def by_quadrature(
    noise: Noise, family: Family, a: float, b: float, unit_scale: float, power: int
) -> float:
    """F₁₁ or F₂₂ from the definition."""
    s = (b - a) * unit_scale

    def integrand(y: float) -> float:
        p, slope = density_of(noise, family, y, (a, b), s, power)
        return slope**2 / p

    reach = (30.0 if noise.name == "laplace" else 8.0) * s
    edges = sorted({a - reach, a, b, b + reach, *([0.0] if a < 0.0 < b else [])})
    return math.fsum(
        integrate.quad(integrand, low, high, epsabs=1e-15, epsrel=1e-10, limit=100)[0]
        for low, high in itertools.pairwise(edges)
    )


@EVERY
@INTERVALS
def test_laplace_noise_against_the_definition(
    family: Family, a: float, b: float, epsilon_total: float
) -> None:
    found = information.laplace(family, a, b, 1.0 / epsilon_total)
    expected = by_quadrature(information.LAPLACE, family, a, b, 1.0 / epsilon_total, 0)
    assert found[0, 0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("a", "b", "unit_scale"), [(-0.3, 0.3, 1.0), (-1.0, 2.0, 0.4)])
@pytest.mark.parametrize("power", [0, 1])
@EITHER
def test_both_noises_against_the_definition(
    noise: Noise, power: int, a: float, b: float, unit_scale: float
) -> None:
    found = noise.information(NORMAL, a, b, unit_scale)[power, power]
    expected = by_quadrature(noise, NORMAL, a, b, unit_scale, power)
    assert found == pytest.approx(expected, rel=1e-9)


@EITHER
@EVERY
def test_finer_panels_change_nothing(
    noise: Noise, family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = np.array([-20.0, -5e-5, 3.0, -2.0, -1e-4, 0.4])
    b = np.array([20.0, 5e-5, 3.0001, 0.7, 0.3, 9.0])
    unit_scales = (0.02, 0.2, 1.0, 100.0)
    found = [noise.information(family, a, b, u) for u in unit_scales]
    monkeypatch.setattr(information, "PANEL", 1.0)
    monkeypatch.setattr(information, "NOISE_PANEL", 1.5)
    monkeypatch.setattr(information, "STEP", 0.09)
    finer = [noise.information(family, a, b, u) for u in unit_scales]
    for one, other in zip(found, finer, strict=True):
        diagonal, expected = (np.diagonal(F, axis1=1, axis2=2) for F in (one, other))
        # Panels of twice the length are wrong by 2e-12.
        np.testing.assert_allclose(diagonal, expected, rtol=1e-12)


@EITHER
@EVERY
def test_a_mirrored_interval_tells_the_same(noise: Noise, family: Family) -> None:
    a, b = np.array([-0.3, 0.2, -2.0]), np.array([1.0, 4.0, 0.1])
    found, mirrored = noise.information(family, a, b, 0.5), noise.information(family, -b, -a, 0.5)
    np.testing.assert_allclose(found, mirrored * np.array([[1, -1], [-1, 1]]), rtol=1e-11)


@EITHER
@EVERY
@pytest.mark.parametrize("unit_scale", [0.05, 1.0, 100.0])
def test_the_limit_of_width_zero(noise: Noise, family: Family, unit_scale: float) -> None:
    for point in (-1.2, 0.3):
        narrow = noise.information(family, point - 1e-7, point + 1e-7, unit_scale)
        np.testing.assert_allclose(narrow, noise.limit(family, point, unit_scale), rtol=3e-6)


def test_without_noise_the_limit_is_that_of_a_sign() -> None:
    density, below = float(NORMAL.density(np.array(0.4))), float(NORMAL.cdf(np.array(0.4)))
    sign = density**2 / (below * (1.0 - below))
    assert information.laplace_limit(NORMAL, 0.4, 1e-5)[0, 0] == pytest.approx(sign, rel=1e-12)


def test_without_noise_and_truncation_it_is_that_of_the_value() -> None:
    np.testing.assert_allclose(
        information.laplace(NORMAL, -7.0, 7.0, 1e-3), np.diag([1.0, 2.0]), atol=5e-3
    )


@EITHER
@EVERY
def test_extremes_are_finite_and_positive(noise: Noise, family: Family) -> None:
    a = np.array([-20.0, -5e-5, 0.0, 25.0, -40.0, -1.0])
    b = np.array([20.0, 5e-5, 1e-4, 40.0, 0.0, 39.0])
    for unit_scale in (0.05, 1000.0):
        found = noise.information(family, a, b, unit_scale)
        assert np.isfinite(found).all()
        assert (np.diagonal(found, axis1=1, axis2=2) >= 0.0).all()
    assert np.isfinite(information.laplace(family, a, b, 1e-3)).all()


def test_shapes_are_kept_and_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = np.full((3, 1), -1.0), np.array([0.5, 1.0, 2.0, 3.0])
    found = information.laplace(NORMAL, a, b, 0.3)
    assert found.shape == (3, 4, 2, 2)
    monkeypatch.setattr(information, "CHUNK", 1)
    np.testing.assert_allclose(
        information.laplace(NORMAL, a, b, 0.3), found, rtol=1e-11, atol=1e-15
    )


@pytest.mark.parametrize(
    ("a", "b", "u"),
    [
        *((1.0, 1.0, 1.0), (0.0, np.nan, 1.0), (0.0, 1.0, 0.0), (0.0, 1.0, math.inf)),
        *((0.0, 1.0, math.nan), ([0.0, 1.0], 1.0, 1.0)),
    ],
)
@EITHER
def test_what_has_no_information_is_refused(
    noise: Noise, a: float | list[float], b: float, u: float
) -> None:
    with pytest.raises(ValueError, match="a < b"):
        noise.information(NORMAL, a, b, u)


def test_panels_meet_at_the_kink_or_halfway() -> None:
    a, b = np.array([-1.0, 0.0, 1.0, -2.0, 0.5, -0.5]), np.array([2.0, 1.0, 3.0, 0.0, 1.5, 0.5])
    assert information._middle(a, b).tolist() == [0.0, 0.5, 2.0, -1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("a", "b", "unit_scale", "count"),
    [
        # Two units of the base density, or four of the noise, on the longer side.
        (-1.0, 1.0, 1.0, 1),
        (-20.0, 4.0, 1.0, 10),
        (-3.0, 15.5, 1.0, 8),
        (-3.0, 1.0, 0.05, 4),
        (4.0, 7.0, 0.01, 13),
        ([-1.0, -9.0], [1.0, 2.0], 1.0, 5),
    ],
)
def test_panels_are_as_short_as_the_most_demanding_interval_needs(
    a: float | list[float], b: float | list[float], unit_scale: float, count: int
) -> None:
    assert information._panel_count(a, b, unit_scale) == count


@EITHER
def test_no_more_numbers_are_held_than_asked_for(
    noise: Noise, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    # Four panels of 16 nodes; under Gaussian noise each with 153 responses, 1 + 2 · 9 apart.
    held = 4 * 16 * (153 if noise.name == "gaussian" else 1)
    inner = getattr(information, f"_{noise.name}")

    def watched(family: Family, a: Array, *rest: Array) -> Array:
        sizes.append(len(a))
        found: Array = inner(family, a, *rest)
        return found

    monkeypatch.setattr(information, f"_{noise.name}", watched)
    monkeypatch.setattr(information, "CHUNK", 5 * held)
    noise.information(NORMAL, np.full(25, -4.0), 4.0, 1.0)
    noise.information(NORMAL, np.full(26, -4.0), 4.0, 1.0)
    assert sizes == [5] * 5 + [5, 5, 4, 4, 4, 4]


@EITHER
def test_far_from_all_values_the_information_is_nothing(noise: Noise) -> None:
    found = noise.limit(NORMAL, np.array([0.5, 30.0]), 0.03)
    assert np.isfinite(found).all()
    assert noise.information(NORMAL, 39.0, 40.0, 0.05) == pytest.approx(np.zeros((2, 2)), abs=1e-99)


@pytest.mark.parametrize("t", [1e-4, 2.5e-5, 1e-9, 0.0])
def test_the_series_is_that_of_the_arc_tangent(t: float) -> None:
    exact = sum((-Fraction(t)) ** k / (2 * k + 3) for k in range(12))
    assert information._series(np.array(t)) == pytest.approx(float(exact), rel=2e-16, abs=0.0)


@pytest.mark.parametrize("unit_scale", [0.001, 0.3, 5.0, 30.0, 60.0, 95.0, 1000.0])
@pytest.mark.parametrize("point", [0.0, -1.5, 4.5])
def test_the_limit_under_laplace_noise_is_its_formula(point: float, unit_scale: float) -> None:
    below, above = float(NORMAL.cdf(np.array(point))), float(NORMAL.survival(np.array(point)))
    q = math.exp(-1.0 / unit_scale)
    both, lost, root = below * above, -math.expm1(-1.0 / unit_scale), math.sqrt(q)
    z = math.sqrt(both) * lost / root if root else math.inf
    if z < 0.1:
        # z − arctan z without cancelling.
        less = math.fsum((-1) ** k * z ** (2 * k + 3) / (2 * k + 3) for k in range(12))
        inside = root * less / (2.0 * both**1.5)
    else:
        inside = (math.sqrt(both) * lost - root * math.atan(z)) / (2.0 * both**1.5)
    tails = lost**2 * (1.0 + q) / (2.0 * (below + above * q) * (above + below * q))
    told = float(NORMAL.density(np.array(point))) ** 2 * (tails + inside)
    expected = told * np.array([[1.0, point], [point, point**2]])
    found = information.laplace_limit(NORMAL, point, unit_scale)
    np.testing.assert_allclose(found, expected, rtol=3e-11)


def test_little_is_learnt_about_the_scale_at_small_budgets() -> None:
    # At (0, 1) the information about σ is that about log σ.
    for epsilon_total, half, narrow, wide in [
        (1.0, 0.0706, 5e-5, 7e-5),
        (5.0, 0.7281, 0.18, 0.007),
    ]:
        best = information.laplace(NORMAL, -half, half, 1.0 / epsilon_total)[1, 1]
        fixed = information.laplace(NORMAL, -10.0, 10.0, 1.0 / epsilon_total)[1, 1]
        assert best == pytest.approx(narrow, rel=0.06)
        assert fixed == pytest.approx(wide, rel=0.06)


@EITHER
def test_monte_carlo_is_what_it_says_draw_by_draw(noise: Noise) -> None:
    (a, b), s, outer, inner = (-0.9, 1.1), 0.8, 3, 6
    found = information.monte_carlo(
        generator(2, "information"), noise, NORMAL, (a, b), 0.4, outer, inner
    )
    rng = generator(2, "information")
    y = np.clip(rng.standard_normal(outer), a, b)
    y += s * (rng.laplace(size=outer) if noise.name == "laplace" else rng.standard_normal(outer))
    z = rng.standard_normal((outer, 2, inner // 2))

    def squared_score(response: float, values: Array) -> Array:
        """From the values' weights, and their scores by μ and σ."""
        weights = [noise_density(noise, response - min(max(v, a), b), s) for v in values]
        by = [np.average(slopes, weights=weights) for slopes in (values, values**2 - 1.0)]
        return np.outer(by, by)

    squares = np.array([squared_score(y[i], z[i].ravel()) for i in range(outer)])
    halves = [squared_score(y[i], z[i, half]) for i in range(outer) for half in (0, 1)]
    np.testing.assert_allclose(found.information, squares.mean(axis=0))
    error = [[statistics.stdev(squares[:, j, k]) for k in (0, 1)] for j in (0, 1)]
    np.testing.assert_allclose(found.standard_error, np.array(error) / math.sqrt(outer))
    np.testing.assert_allclose(found.bias, np.mean(halves, axis=0) - found.information, atol=1e-12)


@EITHER
def test_monte_carlo_with_hardly_any_noise_is_finite(noise: Noise) -> None:
    found = information.monte_carlo(
        generator(3, "information"), noise, NORMAL, (-1.0, 1.0), 1e-3, 50, 4
    )
    assert np.isfinite([found.information, found.standard_error, found.bias]).all()


def test_the_error_grows_with_the_bias_whatever_its_sign() -> None:
    for bias in (-0.5, 0.5):
        estimate = information.Estimate(np.eye(2), np.full((2, 2), 2.0), np.full((2, 2), bias))
        assert (estimate.error == 2.5).all()


@EITHER
@EVERY
def test_monte_carlo_agrees_within_its_own_error(noise: Noise, family: Family) -> None:
    # Five standard errors and as much as the bias again: a false alarm below 1e-6 for a normal
    # mean. An estimate with the noise off by √2 is farther away.
    interval, unit_scale = (-0.9, 1.1), 0.4
    found = information.monte_carlo(
        generator(1, "information"), noise, family, interval, unit_scale, 4000, 200
    )
    expected = noise.information(family, *interval, unit_scale)
    allowed = 5.0 * found.standard_error + 2.0 * np.abs(found.bias)
    assert (np.abs(found.information - expected) <= allowed).all()
    assert found.error[0, 0] < 0.1 * expected[0, 0]
    wrong = noise.information(family, *interval, unit_scale / math.sqrt(2.0))
    assert abs(found.information[0, 0] - wrong[0, 0]) > allowed[0, 0]
