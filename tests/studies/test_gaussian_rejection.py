"""Clipped distances: the bound is public, and its noise and guarantee follow from it."""

import functools
import math

import numpy as np
import pytest

from abcdp_core import pool
from abcdp_core.mechanisms.gaussian_rejection import calibrate
from abcdp_core.privacy import cost
from abcdp_core.simulators import uniform_mixture
from abcdp_core.studies import gaussian_rejection as study
from tests import results

SMALL = study.Params(
    bound_quantile=(0.05, 1.0), epsilon_abc=(0.05, 0.2), epsilon_total=(1.0, math.inf),
    n=300, pool_size=300, runs=3,
)  # fmt: skip

KEY = pool.key_for(uniform_mixture.SCENARIO, 300, 300, 1)
PUBLIC = pool.PublicSide(KEY, 300)
SENSITIVITY = uniform_mixture.distance().sensitivity(300)

run = functools.partial(results.changed, study, SMALL)


def test_the_bound_is_a_quantile_of_simulated_distances() -> None:
    small, large = (study.bound(PUBLIC, quantile) for quantile in (0.05, 0.2))
    assert 0.05 < small < large < 0.5
    # Of distances between data sets drawn from the prior, of both sizes.
    metric, statistics = KEY.metric(), pool.open_pool(KEY).statistics
    data = [metric.statistic(pool.predictive_data(KEY, 300, index)) for index in range(20)]
    for points, found in ((300, small), (100, study.bound(pool.PublicSide(KEY, 300, 100), 0.05))):
        distances = np.stack([metric.compare(statistics[points], each) for each in data])
        assert found == np.quantile(distances, 0.05)
    # Without clipping it is the largest distance.
    assert study.bound(PUBLIC, 1.0) == pytest.approx(math.sqrt(2.0))
    assert study.bound(PUBLIC, 1.0, "published") == pytest.approx(2.0)


def test_other_private_data_change_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [study.bound(PUBLIC, quantile) for quantile in (0.05, 0.2, 1.0)]
    pool.forget()
    study.bound.cache_clear()
    results.without_private_data(monkeypatch)
    monkeypatch.setattr(uniform_mixture, "TRUTH", np.full(5, 0.2))
    assert [study.bound(PUBLIC, quantile) for quantile in (0.05, 0.2, 1.0)] == before


@pytest.mark.parametrize("pseudo_n", ["same", 100])
def test_noise_follows_the_data_and_not_the_size_of_the_simulated_sets(
    pseudo_n: int | str,
) -> None:
    found = run(runs=1, pseudo_n=pseudo_n)
    noise = found.tables["noise"]
    assert len(noise) == 2 * 2 * 2
    row = noise.query("bound_quantile == 0.05 and epsilon_abc == 0.05 and epsilon_total == 1")
    row = row.iloc[0]
    for accountant in ("published", "exact"):
        event = calibrate(1.0, SENSITIVITY, float(row.bound), 0.05, 300, accountant)
        assert row[accountant] == event.scale
    assert ((noise.exact > 0) == np.isfinite(noise.epsilon_total)).all()
    assert (noise.exact <= noise.published).all()
    # Data sets with fewer points are farther apart by chance, and so is the quantile.
    same = run(runs=1)
    assert (row.bound > same.tables["noise"].bound.min()) == (pseudo_n == 100)
    assert same.privacy == found.privacy
    assert run(runs=1, pseudo_n=300).tables["main"].equals(same.tables["main"])


def test_without_noise_the_bound_changes_nothing() -> None:
    main = run().tables["main"]
    plain = main[np.isinf(main.epsilon_total)]
    clipped, kept = (plain[plain.bound_quantile == each].mae.to_numpy() for each in (0.05, 1.0))
    assert np.array_equal(clipped, kept)
    comparison = pool.observed_comparison(KEY, 300)
    accepted = plain.query("run == 0 and epsilon_abc == 0.2").accepted
    assert (accepted == (comparison.rho <= 0.2).sum()).all()


def test_the_guarantee_covers_every_setting_shown() -> None:
    """By the published account, a decision at a small bound reveals more than at a large one."""
    result = run(accountant="published", bound_quantile=(1.0, 0.05), epsilon_total=(100.0,))
    costs = [
        cost(calibrate(100.0, SENSITIVITY, row.bound, row.epsilon_abc, 300, "published")).epsilon
        for row in result.tables["noise"].itertuples()
    ]
    assert costs[0] < 0.5 * max(costs) < 50.0
    stated = float(result.privacy.split("ε_total = ")[1].split(" ")[0])
    assert max(costs) <= stated < 1.01 * max(costs)
