"""Base distributions: density, distribution function, score and draws belong together."""

import numpy as np
import pytest
from scipy import integrate

from abcdp_core.adaptive.families import FAMILIES, Family
from abcdp_core.streams import generator
from tests.statistics import assert_distribution, rejects

EVERY = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
PLACES = np.array([-30.0, -4.0, -1.0, -0.1, 0.2, 2.0, 6.0])


@EVERY
def test_the_distribution_function_is_the_integral_of_a_symmetric_density(family: Family) -> None:
    def density(x: float) -> float:
        return float(family.density(np.array(x)))

    for z in (-8.0, -1.0, 0.0):
        mass, _ = integrate.quad(density, -np.inf, z, epsabs=0.0, epsrel=1e-11, limit=200)
        assert family.cdf(np.array(z)) == pytest.approx(mass, rel=1e-9)
    np.testing.assert_allclose(family.density(PLACES), family.density(-PLACES), rtol=1e-14)
    np.testing.assert_allclose(family.cdf(PLACES) + family.survival(PLACES), 1.0, rtol=1e-14)
    assert (family.survival(np.array([20.0, 35.0])) > 0.0).all()


@EVERY
def test_the_score_is_the_slope_of_the_log_density(family: Family) -> None:
    step = 1e-5
    slope = np.log(family.density(PLACES + step)) - np.log(family.density(PLACES - step))
    np.testing.assert_allclose(family.score(PLACES), slope / (2 * step), rtol=1e-7)


@EVERY
def test_draws_follow_the_distribution(family: Family) -> None:
    sample = family.draw(generator(1, "test"), 20_000)
    assert_distribution(sample, family.cdf)
    assert rejects(assert_distribution, np.sqrt(2.0) * sample, family.cdf)
