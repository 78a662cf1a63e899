"""Base distributions, the Fisher information of a truncated, private response, best intervals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

from abcdp_core.adaptive import information, intervals
from abcdp_core.adaptive.families import FAMILIES, NORMAL, Family
from abcdp_core.adaptive.information import LAPLACE, NOISES, Noise
from abcdp_core.adaptive.intervals import best
from abcdp_core.base.streams import generator
from tests.statistics import assert_distribution, rejects

EVERY = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
EITHER = pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES.keys())
PLACES = np.array([-30.0, -4.0, -1.0, -0.1, 0.2, 2.0, 6.0])


@EVERY
def test_density_distribution_function_score_and_draws_belong_together(family: Family) -> None:
    for z in (-8.0, -1.0, 0.0):
        mass, _ = integrate.quad(
            lambda x: float(family.density(np.array(x))), -np.inf, z, epsabs=0.0, epsrel=1e-11,
            limit=200,
        )  # fmt: skip
        assert family.cdf(np.array(z)) == pytest.approx(mass, rel=1e-9)
    np.testing.assert_allclose(family.density(PLACES), family.density(-PLACES), rtol=1e-14)
    np.testing.assert_allclose(family.cdf(PLACES) + family.survival(PLACES), 1.0, rtol=1e-14)
    assert (family.survival(np.array([20.0, 35.0])) > 0.0).all()
    step = 1e-5
    slope = np.log(family.density(PLACES + step)) - np.log(family.density(PLACES - step))
    np.testing.assert_allclose(family.score(PLACES), slope / (2 * step), rtol=1e-7)
    sample = family.draw(generator(1, "test"), 20_000)
    assert_distribution(sample, family.cdf)
    assert rejects(assert_distribution, np.sqrt(2.0) * sample, family.cdf)


# ------------------------------------------------------------------------------- the information


def noise_density(noise: Noise, z: float, s: float) -> float:
    norm = 2.0 * s if noise.name == "laplace" else math.sqrt(2.0 * math.pi) * s
    return math.exp(float(noise.log_density(np.array(z / s)))) / norm


def density_of(
    noise: Noise, family: Family, y: float, interval: tuple[float, float], s: float, power: int
) -> tuple[float, float]:
    """Density of a response and, for power 0 or 1, its derivative by μ or σ, by quadrature."""
    a, b = interval

    def integrand(z: float, by: bool) -> float:
        value = float(family.density(np.array(z))) * noise_density(noise, y - z, s)
        gap = (y - z) / s
        rate = math.copysign(1.0, gap) if noise.name == "laplace" else gap
        return value * z**power * rate / s if by else value

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


CASES = [
    (LAPLACE, "normal", 0, -0.07, 0.07, 1.0), (LAPLACE, "normal", 0, -6.0, 5.0, 2.0),
    (LAPLACE, "laplace", 0, -1.0, 2.0, 5.0), (LAPLACE, "logistic", 0, 0.5, 0.9, 0.3),
    (LAPLACE, "student-t", 0, -1.0, 1.5, 20.0),
    *((noise, "normal", power, *interval) for noise in NOISES.values() for power in (0, 1)
      for interval in ((-0.3, 0.3, 1.0), (-1.0, 2.0, 2.5))),
]  # fmt: skip


@pytest.mark.parametrize(("noise", "family", "power", "a", "b", "epsilon_total"), CASES)
def test_it_is_its_definition(
    noise: Noise, family: str, power: int, a: float, b: float, epsilon_total: float
) -> None:
    found = noise.information(FAMILIES[family], a, b, 1.0 / epsilon_total)[power, power]
    expected = by_quadrature(noise, FAMILIES[family], a, b, 1.0 / epsilon_total, power)
    assert found == pytest.approx(expected, rel=1e-9)


@EITHER
@EVERY
def test_mirror_images_the_limit_of_width_zero_and_extremes(noise: Noise, family: Family) -> None:
    a, b = np.array([-0.3, 0.2, -2.0]), np.array([1.0, 4.0, 0.1])
    for unit_scale in (0.05, 1.0, 100.0):
        found, mirrored = (
            noise.information(family, *ends, unit_scale) for ends in ((a, b), (-b, -a))
        )
        np.testing.assert_allclose(found, mirrored * np.array([[1, -1], [-1, 1]]), rtol=1e-11)
        for point in (-1.2, 0.3):
            narrow = noise.information(family, point - 1e-7, point + 1e-7, unit_scale)
            np.testing.assert_allclose(narrow, noise.limit(family, point, unit_scale), rtol=3e-6)
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
    again = information.laplace(NORMAL, a, b, 0.3)
    np.testing.assert_allclose(again, found, rtol=1e-11, atol=1e-15)


@EITHER
def test_empty_intervals_and_noise_without_a_scale_are_refused(noise: Noise) -> None:
    empty = [(1.0, 1.0, 1.0), (0.0, math.nan, 1.0), ([0.0, 1.0], 1.0, 1.0)]
    for ends in (*((0.0, 1.0, u) for u in (0.0, math.inf, math.nan)), *empty):
        with pytest.raises(ValueError, match="a < b"):
            noise.information(NORMAL, *ends)


@EITHER
@EVERY
def test_monte_carlo_agrees_within_its_own_error(noise: Noise, family: Family) -> None:
    # Five standard errors and as much as the bias again: a false alarm below 1e-6 for a normal
    # mean. An estimate with the noise off by √2 is farther away.
    interval, unit_scale = (-0.9, 1.1), 0.4
    rng = generator(1, "information")
    found = information.monte_carlo(rng, noise, family, interval, unit_scale, 4000, 200)
    expected = noise.information(family, *interval, unit_scale)
    allowed = 5.0 * found.standard_error + 2.0 * np.abs(found.bias)
    assert (np.abs(found.information - expected) <= allowed).all()
    assert found.error[0, 0] < 0.1 * expected[0, 0]
    wrong = noise.information(family, *interval, unit_scale / math.sqrt(2.0))
    assert abs(found.information[0, 0] - wrong[0, 0]) > allowed[0, 0]


# ---------------------------------------------------------------------------- the best interval


@pytest.mark.parametrize(
    ("epsilon_total", "half", "score"),
    [
        *((1.0, 0.0706, 0.108872), (2.0, 0.2234, 0.285997)),
        *((5.0, 0.7281, 0.612222), (10.0, 1.2244, 0.804410)),
    ],
)
def test_known_best_intervals(epsilon_total: float, half: float, score: float) -> None:
    for symmetric in (True, False):
        # Symmetric is the global optimum for μ.
        found = best(1.0 / epsilon_total, symmetric=symmetric)
        assert found.b == pytest.approx(half, abs=5e-5)
        assert found.a == -found.b
        assert found.score == pytest.approx(score, abs=5e-7)
        assert found.information[0, 0] == found.score
    assert best(1.0, "gaussian").b == pytest.approx(0.1241, abs=1e-4)


@pytest.mark.parametrize("score", intervals.SCORES)
@pytest.mark.parametrize(
    ("family", "epsilon_total"),
    [("normal", 3.0), ("laplace", 20.0), ("logistic", 0.5), ("student-t", 3.0)],
)
def test_no_interval_beats_the_best(score: str, family: str, epsilon_total: float) -> None:
    found = best(1.0 / epsilon_total, family=family, score=score, symmetric=False, weight=0.3)
    ends = np.linspace(-5.0, 5.0, 41)
    first, last = np.triu_indices(len(ends), 1)
    F = information.laplace(FAMILIES[family], ends[first], ends[last], 1.0 / epsilon_total)
    assert intervals.SCORES[score](F, 0.3).max() <= found.score * (1.0 + 1e-10)
    assert found.a + found.b >= 0.0, "of mirrored twins, the one on the right"


@pytest.mark.parametrize(
    ("noise", "family", "unit_scale"),
    [("laplace", "normal", 1000.0), ("gaussian", "normal", 1000.0), ("laplace", "laplace", 0.2)],
)
def test_where_a_sign_is_best_the_interval_is_the_narrowest(
    noise: str, family: str, unit_scale: float
) -> None:
    found = best(unit_scale, noise, family, symmetric=False)
    assert found.b == pytest.approx(intervals.NARROWEST, rel=1e-6)
    limit = NOISES[noise].limit(FAMILIES[family], 0.0, unit_scale)[0, 0]
    assert found.score == pytest.approx(limit, rel=1e-4)
