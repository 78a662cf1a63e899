"""Outbreaks and their prior against a slow second method and closed forms."""

from __future__ import annotations

import functools
import random

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.base.arrays import Array
from abcdp_core.models.simulators import outbreak, tuberculosis
from tests.oracles import outbreak as slow_outbreak
from tests.statistics import (
    FALSE_ALARM,
    assert_distribution,
    assert_mean_of_repeats,
    assert_same_distribution,
    rejects,
)

TRUTH = tuberculosis.TRUTH
POINTS = np.array(
    [TRUTH, [3.0, 20.0, 0.3, 210.0], [7.0, 15.0, 0.05, 195.0], [1.5, 5.0, 0.1, 180.0]]
)
FEW = {
    # Few hosts, so the slow method takes milliseconds.
    "as at the truth": np.array([5.88, 6.74, 0.09, 30.0]),
    # Balance takes decades.
    "long infections": np.array([3.0, 0.3, 0.3, 12.0]),
}


def draw(theta: Array, size: int, seed: int = 1) -> Array:
    """Summaries ``(size, 8)`` of outbreaks."""
    return tuberculosis.simulate(np.random.default_rng(seed), theta[None], size)[0]


@functools.cache
def fast(point: str) -> Array:
    return draw(FEW[point], 10_000)


def slow(point: str, size: int, **changed: float) -> Array:
    chance = random.Random(1)
    return np.array([slow_outbreak.outbreak(chance, FEW[point], **changed) for _ in range(size)])


def assert_same_outbreaks(ours: Array, theirs: Array) -> None:
    """Check that each of the eight summaries has the same distribution.

    The check is conservative for discrete distributions. With 400 slow outbreaks it fails at a
    difference of 0.18, or half a standard deviation of the mean.
    """
    for first, second in zip(ours.T, theirs.T, strict=True):
        assert_same_distribution(first, second, FALSE_ALARM / 8)


@pytest.mark.parametrize(
    "point", ["as at the truth", pytest.param("long infections", marks=pytest.mark.slow)]
)
def test_outbreaks_have_the_distribution_of_the_slow_method(point: str) -> None:
    assert all(len(np.unique(values)) > 3 for values in fast(point).T)
    assert_same_outbreaks(fast(point), slow(point, 400))


@pytest.mark.parametrize(
    "changed",
    [
        {"observation": 0.7},
        pytest.param({"compliance": 0.9}, marks=pytest.mark.slow),
        pytest.param({"window": 1.8}, marks=pytest.mark.slow),
    ],
)
def test_a_slow_method_with_another_constant_is_rejected(changed: dict[str, float]) -> None:
    other = slow("as at the truth", 200, **changed)
    assert rejects(assert_same_outbreaks, fast("as at the truth"), other)


def test_observations_agree_with_the_balance_of_the_original_model() -> None:
    """Allow a thousandth that may be missing after 15 years."""
    theirs = [slow_outbreak.balance(theta) for theta in POINTS]
    np.testing.assert_allclose(tuberculosis.balance(POINTS), theirs, rtol=1e-10)
    rng = np.random.default_rng(2)
    repeats = np.array(
        [tuberculosis.simulate(rng, POINTS, 40)[..., 0].mean(axis=1) for _ in range(24)]
    )
    expected = 2.0 * tuberculosis.balance(POINTS)[:, 2]
    assert_mean_of_repeats(repeats, expected, expected / 1000.0)
    # A broken twin: three in four observed instead of four in five.
    assert rejects(assert_mean_of_repeats, repeats, expected * 0.75 / 0.8, expected / 1000.0)


def test_a_longer_series_begins_with_a_shorter_one() -> None:
    assert np.array_equal(draw(TRUTH, 30), draw(TRUTH, 100)[:30])
    sets = [tuberculosis.observed(np.random.default_rng(4), size)[0] for size in (30, 100)]
    assert np.array_equal(sets[0], sets[1][:30])


def summarise(seen: list[slow_outbreak.Observation]) -> Array:
    """Summaries by the compiled function, from strains and months."""
    sizes = np.zeros(1 + max((strain for strain, _ in seen), default=0), dtype=np.int64)
    months = np.zeros_like(sizes)
    for strain, month in seen:
        sizes[strain] += 1
        months[strain] |= 1 << month
    return outbreak.summarise(sizes, months)


def test_summaries_agree_with_the_slow_ones_and_those_of_san_francisco() -> None:
    clusters = tuberculosis.SAN_FRANCISCO_CLUSTERS
    sizes = np.repeat([*clusters], [*clusters.values()]).tolist()
    seen = [(strain, 0) for strain, size in enumerate(sizes) for _ in range(size) if strain]
    # Months of the cases in the largest cluster.
    early = [0, 0, 1, 2, 3, 3, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 7, 8, 8]
    seen += [(0, month) for month in (*early, 10, 11, 12, 14, 16, 16, 18, 20, 21, 23)]
    for by in (summarise, slow_outbreak.summaries):
        assert by(seen) == pytest.approx(tuberculosis.SAN_FRANCISCO[0], rel=1e-15)
    rng = np.random.default_rng(6)
    for _ in range(100):
        sizes = rng.choice([0, 1, 2, 3, 5, 79, 80, 81, 120], rng.integers(1, 9))
        seen = [(k, int(rng.integers(24))) for k, size in enumerate(sizes) for _ in range(size)]
        assert summarise(seen) == pytest.approx(slow_outbreak.summaries(seen), rel=1e-15)


@functools.cache
def drawn() -> tuple[Array, NDArray[np.int64]]:
    return tuberculosis.draw_prior(np.random.default_rng(7), 100_000)


def slow_prior(size: int, *, most: float = 350.0) -> Array:
    """Draw one by one by the formulas of the original model."""
    chance = random.Random(8)
    theta = []
    for _ in range(size):
        burden, yearly, a1 = chance.gauss(200.0, 30.0**0.5), 0.0, 0.0
        while not (0.0 < yearly < most and a1 < 40.0):
            R1, t1 = chance.uniform(1.01, 20.0), chance.uniform(0.01, 30.0)
            R2 = chance.uniform(0.01, 1.0) * (1.0 - 0.05 * R1) / 0.95
            point = [R1, t1, R2, burden]
            yearly, a1 = slow_outbreak.balance(np.array(point))[2], t1 * R1 / (R1 - 1)
        theta.append(point)
    return np.array(theta)


def test_draws_of_the_prior_keep_to_its_constraints_and_the_spread_asked_for() -> None:
    theta, refused = drawn()
    yearly, a1 = tuberculosis.balance(theta)[:, 2], tuberculosis.rates(theta)[:, 1]
    assert 0.0 < yearly.min() < yearly.max() < 350.0
    assert a1.max() < 40.0
    # The factor of R2 ensures a balance.
    assert refused / len(theta) == pytest.approx([0.0, 5.94, 0.154], rel=0.03)
    assert_distribution(theta[:, 3], stats.norm(200.0, 30.0**0.5).cdf)
    deviation = tuberculosis.ORIGINAL_BURDEN_DEVIATION
    wide = tuberculosis.prior(np.random.default_rng(9), 5000, deviation)[:, 3]
    assert_distribution(wide, stats.norm(200.0, 30.0).cdf)
    assert rejects(assert_distribution, wide, stats.norm(200.0, 30.0**0.5).cdf)


def test_marginals_of_the_prior_agree_with_the_slow_method() -> None:
    theta, other = drawn()[0], slow_prior(3000)
    for ours, theirs in zip(theta.T, other.T, strict=True):
        assert_same_distribution(ours, theirs, FALSE_ALARM / 4)
    wrong = slow_prior(1000, most=450.0)
    assert rejects(assert_same_distribution, theta[:, 0], wrong[:, 0])


def test_mean_and_deviation_of_the_prior_are_what_is_stated() -> None:
    parts = drawn()[0][:96_000].reshape(24, 4000, 4)
    moments = np.concatenate([parts.mean(axis=1), parts.std(axis=1)], axis=1)
    stated = np.concatenate([tuberculosis.SCENARIO.prior_mean, tuberculosis.PRIOR_SD])
    assert_mean_of_repeats(moments, stated, 1e-3 * tuberculosis.PRIOR_SD.repeat(2))
    assert np.abs(tuberculosis.SCENARIO.prior_mean - TRUTH).mean() == pytest.approx(4.0, abs=0.01)


def test_observed_outbreaks_have_clusters_of_both_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    # With few hosts, some outbreaks have none and are replaced.
    monkeypatch.setattr(tuberculosis, "TRUTH", np.array([5.88, 6.74, 0.09, 5.0]))
    data, again = tuberculosis.observed(np.random.default_rng(10), 200)
    every = tuberculosis.simulate(np.random.default_rng(10), tuberculosis.TRUTH[None], 200 + again)
    kept = every[0][(every[0, :, 4] > 0) & (every[0, :, 5] > 0)]
    assert again > 0
    assert np.array_equal(data, kept)
