"""Losses and noise of the older versions, each by a second method."""

import functools
import math

import numpy as np
import pytest
from scipy import integrate

from abcdp_core.studies import gaussian_loss as study
from tests import results

SMALL = study.Params(
    epsilon_abc=(0.02, 0.1, 0.18, 0.5), bound=(0.2, 2.0), sigma=(0.05, 0.2),
    epsilon_total=(1.0, 8.0), n=(300, 5000), sensitivity="published",
)  # fmt: skip

result_of = functools.partial(results.changed, study, SMALL)


@pytest.mark.parametrize("column", ["published", "exact"])
def test_the_loss_of_a_decision_is_least_at_half_the_bound(column: str) -> None:
    main = result_of().tables["main"].query("bound == 0.2")
    for _, loss in main.set_index("epsilon_abc").groupby(["n", "sigma"])[column]:
        # The same at equal distances from half the bound.
        assert loss[0.1] < loss[0.02] == pytest.approx(loss[0.18], rel=1e-9)
        assert loss[0.18] < loss[0.5]


def test_the_divergence_is_the_integral_that_defines_it() -> None:
    # With a small N, so that the integral is not all rounding.
    main = result_of(n=(10,)).tables["main"].query("bound == 0.2")
    mus = (main.sensitivity / (main.epsilon_abc * main.sigma)).tolist()
    known = [(mu, renyi) for mu, renyi in zip(mus, main.renyi, strict=True) if mu <= 10.0]
    assert len(known) > 2
    for mu, renyi in known:

        def ratio(x: float, mu: float = mu) -> float:
            """Density at N(μ, 1) squared over that at N(0, 1)."""
            return math.exp(-((x - mu) ** 2) + x**2 / 2.0) / math.sqrt(2.0 * math.pi)

        center = 2.0 * mu
        total, _ = integrate.quad(ratio, center - 12.0, center + 12.0, points=[center])
        assert renyi == pytest.approx(math.log(total), rel=1e-8)


def test_check_values_of_the_noise() -> None:
    # MATH R2, and W3 with μ = 0.22699 and 0.31390 at ε = 1.
    noise = result_of().tables["noise"]
    at = "n == 5000 and bound == 2 and epsilon_abc == 0.1 and epsilon_total == 1"
    row = noise.query(at).iloc[0]
    assert row.published == pytest.approx(1.51697, rel=1e-5)
    assert row.exact == pytest.approx(0.949549, rel=1e-5)
    distance = math.sqrt(1000) * 2 / 5000
    assert row.soft_published == pytest.approx(distance / 0.22699, rel=1e-4)
    assert row.soft_exact == pytest.approx(distance / 0.31390, rel=1e-4)


def test_soft_noise_in_units_of_the_distance_does_not_depend_on_the_threshold() -> None:
    noise = result_of().tables["noise"]
    ends = noise.groupby(["n", "epsilon_total"]).soft_published.agg(["min", "max"])
    np.testing.assert_allclose(ends["min"], ends["max"], rtol=1e-12)
    np.testing.assert_allclose(noise.soft_scaled * noise.epsilon_abc, noise.soft_published, 1e-9)
