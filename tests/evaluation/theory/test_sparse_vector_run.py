"""Exact moments of a run: against every pattern of decisions, and against the mechanism itself."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core.base.arrays import Array
from abcdp_core.evaluation.theory import false_acceptance_rate
from abcdp_core.evaluation.theory import sparse_vector_run as theory
from abcdp_core.evaluation.theory.false_acceptance_rate import Share
from abcdp_core.evaluation.theory.sparse_vector_run import Run
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.mechanisms.sparse_vector import SparseVector, calibrate
from abcdp_core.models import pool
from abcdp_core.models.simulators.uniform_mixture import SCENARIO as MIXTURE
from tests.oracles.outcomes import patterns
from tests.oracles.sparse_vector import log_probability
from tests.statistics import assert_frequencies, assert_mean, rejects

BOTH = pytest.mark.parametrize("resample", [False, True])

FEW = np.array([0.35, 0.1, 0.22, 0.6, 0.05, 0.31])
VALUES = np.array([[0.1, 1.0], [0.5, -1.0], [0.9, 0.0], [0.2, 2.0], [0.7, 0.3], [0.4, 0.6]])
TARGET, EMPTY = np.array([0.3, 0.2]), np.array([0.5, 0.5])


def run_of(c: int, *, resample: bool, noise: float = 0.1) -> Run:
    return Run(0.2, noise, 1.7 * noise, c, resample)


@pytest.mark.parametrize("c", [1, 2, 3])
@BOTH
def test_every_pattern_of_decisions_added_up(c: int, resample: bool) -> None:
    run = run_of(c, resample=resample)
    event = SparseVector(0.01, run.threshold_scale, run.query_scale, c, resample)
    stop, accepted = np.zeros(len(FEW) + 1), np.zeros(c + 1)
    mean, mse, false = np.zeros(2), 0.0, 0.0
    for pattern in patterns(len(FEW), c):
        probability = math.exp(log_probability(pattern, FEW, run.epsilon_abc, event))
        k = int(pattern.sum())
        stop[len(pattern) - 1 if k == c else -1] += probability
        accepted[k] += probability
        estimate = VALUES[: len(pattern)][pattern].mean(axis=0) if k else EMPTY
        mean += probability * estimate
        mse += probability * float(np.mean((estimate - TARGET) ** 2))
        false += probability * float(
            (FEW[: len(pattern)][pattern] > run.epsilon_abc).mean() if k else 0
        )
    assert stop.sum() == pytest.approx(1.0, abs=1e-9)

    found = theory.released_average(FEW, run, VALUES, TARGET, EMPTY, nodes=1024)
    assert theory.stopping_time(FEW, run, nodes=1024) == pytest.approx(stop, abs=1e-7)
    assert found.accepted == pytest.approx(accepted, abs=1e-7)
    assert found.mean == pytest.approx(mean, abs=1e-7)
    assert found.mse == pytest.approx(mse, abs=1e-7)
    share = theory.false_share(FEW, run, nodes=1024).share
    assert share == pytest.approx(false / (1.0 - accepted[0]), abs=1e-7)


RUNS = 4000
RHO = np.random.default_rng(3).uniform(0.0, 1.0, 300)
THETA = np.random.default_rng(4).uniform(0.0, 1.0, (300, 1))
CLASSES = (0, 8, 15, 25, 40, 70, 299, 301)
"""Edges of classes of the index of the draw that ends a run; the last is an ended pool."""


@functools.cache
def simulated(resample: bool, share: float = 1.0) -> tuple[NDArray[np.int64], Array, Array]:
    """Counts in the classes, averages of θ, false shares of runs with a share of their noise."""
    run = run_of(6, resample=resample, noise=0.15)
    rng = np.random.default_rng(5)
    stops, averages, false = [], [], []
    for _ in range(RUNS):
        query, threshold = sparse_vector.draw_noise(rng, len(RHO), run.c)
        indices, stop = sparse_vector.scan(
            RHO + share * run.query_scale * query,
            run.epsilon_abc + share * run.threshold_scale * threshold,
            run.c,
            resample,
        )
        stops.append(stop - 1 if len(indices) == run.c else len(RHO))
        if len(indices):
            averages.append(THETA[indices].mean())
            false.append((RHO[indices] > run.epsilon_abc).mean())
    return np.histogram(stops, CLASSES)[0].astype(np.int64), np.array(averages), np.array(false)


def classes(resample: bool) -> Array:
    stop = theory.stopping_time(RHO, run_of(6, resample=resample, noise=0.15))
    return np.add.reduceat(stop, CLASSES[:-1])


@BOTH
def test_runs_of_the_mechanism_stop_as_often_and_release_the_same(resample: bool) -> None:
    assert_frequencies(simulated(resample)[0], classes(resample))
    assert rejects(assert_frequencies, simulated(resample, 0.5)[0], classes(resample))
    run = run_of(6, resample=resample, noise=0.15)
    zero = np.zeros(1)
    found = theory.released_average(RHO, run, THETA, zero, zero)
    some = 1.0 - found.accepted[0]
    _, averages, false = simulated(resample)
    assert_mean(averages, float(found.mean[0]) / some, 0.0, 1.0)
    assert_mean(averages**2, found.mse / some, 0.0, 1.0)
    share = theory.false_share(RHO, run).share
    assert_mean(false, share, 0.0, 1.0)
    assert rejects(assert_mean, simulated(resample, 0.5)[2], share, 0.0, 1.0)


def test_without_noise_it_is_rejection_abc() -> None:
    run = Run(0.2, 0.0, 0.0, 10, False)
    first = np.flatnonzero(RHO <= 0.2)[:10]
    stop = theory.stopping_time(RHO, run)
    assert np.flatnonzero(stop).tolist() == [first[-1]]
    found = theory.released_average(RHO, run, THETA, np.zeros(1), np.zeros(1))
    assert found.mean == pytest.approx(THETA[first].mean(axis=0))
    assert found.mse == pytest.approx(THETA[first].mean() ** 2)
    assert theory.false_share(RHO, run).share == 0.0
    # At the threshold is within it.
    assert theory.stopping_time(np.array([0.2]), dataclasses.replace(run, c=1))[0] == 1.0


@pytest.mark.parametrize("c", [1, 30, 500])
@BOTH
def test_more_nodes_change_nothing_that_is_shown(c: int, resample: bool) -> None:
    rho = np.random.default_rng(6).beta(4.0, 8.0, 800)
    run = Run(0.1, 0.0003 * c, 0.0006 * c, c, resample)
    fine = theory.false_share(rho, run, 4 * theory.COARSE).share
    assert theory.false_share(rho, run).share == pytest.approx(fine, rel=1e-4)
    fine = theory.stopping_time(rho, run, 2 * theory.usual_nodes(run, len(rho)))
    usual = theory.stopping_time(rho, run)
    assert np.cumsum(usual) == pytest.approx(np.cumsum(fine), abs=1e-4)


# ----------------------------------------------------------------------- false draws over data sets


@pytest.mark.slow
def test_shares_of_the_toy_data_are_those_of_the_prototype() -> None:
    # MATH F3's check values within their Monte Carlo error.
    key = pool.key_for(MIXTURE, 5000, 10_000, 1)
    comparison = pool.observed_comparison(key, 5000)
    close = int((comparison.rho <= 0.1).sum())
    for c, share in {10: 0.14, 50: 0.61, 100: 0.86, 275: 0.97}.items():
        event = calibrate(1.0, comparison.sensitivity(), c, resample=False)
        run = Run.of(event, 0.1)
        found = false_acceptance_rate.share_of([comparison.rho] * 2, run)
        assert found.share == pytest.approx(share, abs=0.06)
        assert found.unfillable == pytest.approx(max(0.0, 1.0 - close / c))
        assert found.low == pytest.approx(found.high, abs=1e-12)


def test_the_average_is_over_the_kept_draws_of_all_data_sets() -> None:
    run = Run.of(calibrate(1.0, 0.002, 3, resample=False), 0.1)
    rng = np.random.default_rng(1)
    rho = [rng.uniform(0.0, 1.0, 100), rng.uniform(0.3, 1.0, 100), np.full(100, 0.5)]
    each = [theory.false_share(one, run, 512) for one in rho]
    some = [float(one.accepted[1:].sum()) for one in each]
    share = sum(one.share * part for one, part in zip(each, some, strict=True)) / sum(some)
    found = false_acceptance_rate.share_of(rho, run)
    assert found.share == pytest.approx(share, abs=1e-3)
    assert found.some == pytest.approx(np.mean(some), abs=1e-3)
    assert found.low < found.share <= found.high


@pytest.mark.parametrize("most", [7, 137, 1000])
@pytest.mark.parametrize("to", [1.5, 40.0, 1e5, 1e9])
def test_the_search_finds_the_largest_c(to: float, most: int) -> None:
    def rising(c: int) -> Share:
        """Rises in log c from 0 at 1 to 1 at ``to``."""
        share = min(1.0, math.log(c) / math.log(to))
        return Share(share, share, share, 0.0, 1.0, 1.0)

    shares, largest = false_acceptance_rate.search(rising, 0.5, most, {3, most})
    assert largest == max(c for c in range(1, most + 1) if rising(c).share <= 0.5)
    assert list(shares) == sorted(shares)
    assert {1, 2, 3, 5, most} <= set(shares)
    assert len(shares) < 25


def test_a_share_that_falls_again_does_not_raise_the_guideline() -> None:
    def share_at(c: int) -> Share:
        share = 0.9 if 20 <= c < 100 else 0.1
        return Share(share, share, share, 0.0, 1.0, 1.0)

    assert false_acceptance_rate.search(share_at, 0.2, 1000, set())[1] == 19
