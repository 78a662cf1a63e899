"""Gaussian noise: losses by a second method, clipped distances, and soft weights."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pytest
from scipy import integrate

from abcdp_core.base import summaries
from abcdp_core.mechanisms.gaussian_rejection import calibrate
from abcdp_core.models import pool
from abcdp_core.models.simulators import uniform_mixture
from abcdp_core.privacy import cost
from abcdp_core.studies import gaussian_loss, gaussian_rejection, soft_abc
from abcdp_core.studies.engine import Settings
from tests import results

LOSS = gaussian_loss.Params(
    epsilon_abc=(0.02, 0.1, 0.18, 0.5), bound=(0.2, 2.0), sigma=(0.05, 0.2),
    epsilon_total=(1.0, 8.0), n=(300, 5000), sensitivity="published",
)  # fmt: skip

loss = functools.partial(results.changed, gaussian_loss, LOSS)


@pytest.mark.parametrize("column", ["published", "exact"])
def test_the_loss_of_a_decision_is_least_at_half_the_bound(column: str) -> None:
    main = loss().tables["main"].query("bound == 0.2")
    for _, found in main.set_index("epsilon_abc").groupby(["n", "sigma"])[column]:
        # The same at equal distances from half the bound.
        assert found[0.1] < found[0.02] == pytest.approx(found[0.18], rel=1e-9)
        assert found[0.18] < found[0.5]


def test_the_divergence_is_the_integral_that_defines_it() -> None:
    # With a small N, so that the integral is not all rounding.
    main = loss(n=(10,)).tables["main"].query("bound == 0.2")
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
    noise = loss().tables["noise"]
    at = "n == 5000 and bound == 2 and epsilon_abc == 0.1 and epsilon_total == 1"
    row = noise.query(at).iloc[0]
    assert row.published == pytest.approx(1.51697, rel=1e-5)
    assert row.exact == pytest.approx(0.949549, rel=1e-5)
    distance = math.sqrt(1000) * 2 / 5000
    assert row.soft_published == pytest.approx(distance / 0.22699, rel=1e-4)
    assert row.soft_exact == pytest.approx(distance / 0.31390, rel=1e-4)
    # In units of the distance it does not depend on the threshold.
    ends = noise.groupby(["n", "epsilon_total"]).soft_published.agg(["min", "max"])
    np.testing.assert_allclose(ends["min"], ends["max"], rtol=1e-12)
    np.testing.assert_allclose(noise.soft_scaled * noise.epsilon_abc, noise.soft_published, 1e-9)


# ------------------------------------------------------------------------------- clipped distances

REJECTION = gaussian_rejection.Params(
    bound_quantile=(0.05, 1.0), epsilon_abc=(0.05, 0.2), epsilon_total=(1.0, math.inf),
    n=300, pool_size=300, runs=3,
)  # fmt: skip

KEY = pool.key_for(uniform_mixture.SCENARIO, 300, 300, 1)
PUBLIC = pool.PublicSide(KEY, 300)
SENSITIVITY = uniform_mixture.distance().sensitivity(300)

rejection = functools.partial(results.changed, gaussian_rejection, REJECTION)


def test_the_bound_is_a_quantile_of_simulated_distances() -> None:
    small, large = (gaussian_rejection.bound(PUBLIC, quantile) for quantile in (0.05, 0.2))
    assert 0.05 < small < large < 0.5
    # Of distances between data sets drawn from the prior, of both sizes.
    metric, statistics = KEY.metric(), pool.open_pool(KEY).statistics
    data = [metric.statistic(pool.predictive_data(KEY, 300, index)) for index in range(20)]
    fewer = gaussian_rejection.bound(pool.PublicSide(KEY, 300, 100), 0.05)
    for points, found in ((300, small), (100, fewer)):
        distances = np.stack([metric.compare(statistics[points], each) for each in data])
        assert found == np.quantile(distances, 0.05)
    # Without clipping it is the largest distance.
    assert gaussian_rejection.bound(PUBLIC, 1.0) == pytest.approx(math.sqrt(2.0))
    assert gaussian_rejection.bound(PUBLIC, 1.0, "published") == pytest.approx(2.0)


def test_other_private_data_change_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def bounds(public: pool.PublicSide) -> list[float]:
        return [gaussian_rejection.bound(public, quantile) for quantile in (0.05, 0.2, 1.0)]

    before = bounds(PUBLIC)
    results.without_private_data(monkeypatch)
    changed = dataclasses.replace(uniform_mixture.SCENARIO, truth=np.full(5, 0.2))
    assert bounds(pool.PublicSide(dataclasses.replace(KEY, scenario=changed), 300)) == before


def test_the_guarantee_covers_every_setting_shown() -> None:
    """By the published account, a decision at a small bound reveals more than at a large one."""
    result = rejection(accountant="published", bound_quantile=(1.0, 0.05), epsilon_total=(100.0,))
    costs = [
        cost(calibrate(100.0, SENSITIVITY, row.bound, row.epsilon_abc, 300, "published")).epsilon
        for row in result.tables["noise"].itertuples()
    ]
    assert costs[0] < 0.5 * max(costs) < 50.0
    stated = float(result.privacy.split("ε_total = ")[1].split(" ")[0])
    assert max(costs) <= stated < 1.01 * max(costs)


# ------------------------------------------------------------------------------------ soft weights

SOFT = soft_abc.Params(
    epsilon_abc=(0.005, 0.05, 0.5), epsilon_total=(1.0, 100.0, math.inf),
    n=300, pool_size=300, runs=3,
)  # fmt: skip


def test_without_noise_it_is_k2_abc_by_hand_and_the_power_is_of_that_curve_only() -> None:
    comparison = pool.observed_comparison(
        pool.key_for(uniform_mixture.SCENARIO, 300, 300, 1, 1), 300
    )
    weights = np.exp(-(comparison.rho**2) / 0.05)
    off = weights @ comparison.theta / weights.sum() - uniform_mixture.SCENARIO.truth
    expected = np.abs(off).mean(), (off**2).mean(), summaries.effective_sample_size(weights)
    one, two = (results.changed(soft_abc, SOFT, power=power).tables["main"] for power in (1.0, 2.0))
    row = two.query("run == 1 and epsilon_abc == 0.05 and epsilon_total == inf").iloc[0]
    found = row[["mae", "mse", "effective_sample_size"]].tolist()
    assert found == pytest.approx(expected, rel=1e-9)
    noisy = np.isfinite(one.epsilon_total)
    assert one[noisy].equals(two[noisy])
    assert not np.allclose(one[~noisy].mae, two[~noisy].mae)


def test_a_looser_accountant_only_adds_noise() -> None:
    place = {"epsilon_abc": 0.05, "epsilon_total": 1.0}
    costs = [
        cost(soft_abc.event(Settings(**vars(SOFT) | place | {"accountant": each})), 1e-4).epsilon
        for each in ("exact", "rdp-classic")
    ]
    assert costs[1] < 0.75 < 0.999 < costs[0] <= 1.0
