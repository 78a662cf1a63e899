"""The flip probability against integrals over two Laplace densities."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

from abcdp_core.theory import flip

SCALES = pytest.mark.parametrize("b", [0.001, 0.04, 1.0, 2.0, 500.0])
PLACES = (0.0, 0.1, 0.5, 1.0, 3.0, 20.0)


def laplace(x: float, scale: float) -> float:
    return math.exp(-abs(x) / scale) / (2.0 * scale)


def convolved(z: float, b: float) -> float:
    """Density of m − ν at z, m ~ Lap(b), ν ~ Lap(2b), by integration over m."""
    edges = sorted({-80.0 * b, min(0.0, z), max(0.0, z), abs(z) + 80.0 * b})
    parts = [
        integrate.quad(
            lambda m: laplace(m, b) * laplace(m - z, 2.0 * b), low, high, epsabs=0.0, epsrel=1e-12
        )[0]
        for low, high in itertools.pairwise(edges)
    ]
    return math.fsum(parts)


@SCALES
@pytest.mark.parametrize("place", [-3.0, -0.2, *PLACES])
def test_density_and_tail_are_integrals(b: float, place: float) -> None:
    assert flip.density(place * b, b) == pytest.approx(convolved(place * b, b), rel=1e-10)
    start = abs(place)
    integral, _ = integrate.quad(
        lambda z: float(flip.density(z * b, b)) * b, start, start + 80.0, epsabs=0.0, epsrel=1e-12
    )
    assert flip.tail(start * b, b) == pytest.approx(integral, rel=1e-10)


@SCALES
def test_the_distribution_function_is_symmetric_and_grows_from_0_to_1(b: float) -> None:
    z = b * np.linspace(-50.0, 50.0, 1001)
    cumulative = flip.cumulative(z, b)
    assert cumulative + flip.cumulative(-z, b) == pytest.approx(1.0, abs=1e-15)
    assert np.all(np.diff(cumulative) >= 0)
    assert cumulative[0] < 1e-10
    assert 1.0 - cumulative[600] == pytest.approx(flip.tail(z[600], b), rel=1e-12)


def test_without_noise_nothing_is_flipped() -> None:
    assert not flip.flip_probability(np.array([0.1, 0.2, 0.3]), 0.2, 0.0).any()
    assert flip.cumulative(np.array([-1.0, 0.0, 1.0]), 0.0).tolist() == [0.0, 1.0, 1.0]
