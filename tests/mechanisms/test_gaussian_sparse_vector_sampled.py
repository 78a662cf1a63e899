"""What the Gaussian sparse vector does, against exact probabilities of all outcomes (layer 2).

Power: 20 000 runs over five draws, at a false alarm of 1e-6 for the whole check. Each broken twin
below is missed with a probability under 1e-9, as bounded by ``miss_probability`` with the twin's
own outcome law, which is estimated from 400 000 further runs of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core.mechanisms.gaussian_sparse_vector import GaussianSparseVector, calibrate, run
from tests.oracles.gaussian_sparse_vector import log_probability
from tests.oracles.outcomes import law_of_sets
from tests.statistics import assert_frequencies, miss_probability, rejects

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

RHO = np.array([0.3, 0.05, 0.2, 0.1, 0.15])
EPSILON_ABC = 0.12
RUNS = 20_000
DELTA = 1e-2

CASES = pytest.mark.parametrize(("c", "resample"), [(1, False), (2, False), (2, True)])


def event_of(c: int, resample: bool) -> GaussianSparseVector:
    """A run whose threshold noise has a standard deviation of 0.1."""
    unit = calibrate(1.0, DELTA, 1.0, c, len(RHO), resample=resample).threshold_scale
    return calibrate(1.0, DELTA, 0.1 / unit, c, len(RHO), resample=resample)


def exact_law(event: GaussianSparseVector) -> Array:
    """Probability ``(32,)`` of every set of accepted draws."""
    return law_of_sets(
        lambda pattern: log_probability(pattern, RHO, EPSILON_ABC, event), len(RHO), event.c
    )


@CASES
def test_releases_come_up_as_often_as_they_should(c: int, resample: bool) -> None:
    rng, event = np.random.default_rng(1), event_of(c, resample)
    counts = np.zeros(2 ** len(RHO), dtype=np.int64)
    for _ in range(RUNS):
        counts[int(np.sum(2 ** run(RHO, EPSILON_ABC, event, rng)[0].indices))] += 1
    assert_frequencies(counts, exact_law(event))


# ------------------------------------------------------------------------ broken twins

Twin = Callable[[Array, Array, GaussianSparseVector], tuple[Array, Array]]
"""Standard noise of queries ``(runs, T)`` and thresholds ``(runs, c)`` -> noise that is added."""


def sound(query: Array, threshold: Array, event: GaussianSparseVector) -> tuple[Array, Array]:
    return event.query_scale * query, event.threshold_scale * threshold


def half_the_noise(
    query: Array, threshold: Array, event: GaussianSparseVector
) -> tuple[Array, Array]:
    return 0.5 * event.query_scale * query, 0.5 * event.threshold_scale * threshold


def drawn_once(query: Array, threshold: Array, event: GaussianSparseVector) -> tuple[Array, Array]:
    return sound(np.broadcast_to(query[:, :1], query.shape), threshold, event)


def taken_for_a_variance(
    query: Array, threshold: Array, event: GaussianSparseVector
) -> tuple[Array, Array]:
    return math.sqrt(event.query_scale) * query, math.sqrt(event.threshold_scale) * threshold


def not_redrawn(query: Array, threshold: Array, event: GaussianSparseVector) -> tuple[Array, Array]:
    return sound(query, np.broadcast_to(threshold[:, :1], threshold.shape), event)


def counts_of(twin: Twin, event: GaussianSparseVector, runs: int, seed: int) -> Counts:
    """How often each outcome comes up when the noise goes through a twin."""
    rng = np.random.default_rng(seed)
    query, threshold = twin(
        rng.standard_normal((runs, len(RHO))), rng.standard_normal((runs, event.c)), event
    )
    outcome, count = np.zeros((2, runs), dtype=np.int64)
    for t in range(len(RHO)):
        in_force = np.minimum(count, event.c - 1) if event.resample else np.zeros_like(count)
        noise = threshold[np.arange(runs), in_force]
        accepted = (RHO[t] + query[:, t] <= EPSILON_ABC + noise) & (count < event.c)
        outcome += accepted * 2**t
        count += accepted
    return np.bincount(outcome, minlength=2 ** len(RHO))


@pytest.mark.parametrize(
    ("twin", "c", "resample"),
    [
        (half_the_noise, 1, False),
        (half_the_noise, 2, True),
        (drawn_once, 1, False),
        (drawn_once, 2, True),
        (taken_for_a_variance, 1, False),
        (taken_for_a_variance, 2, True),
        (not_redrawn, 2, True),
    ],
)
def test_the_same_check_rejects_broken_twins(twin: Twin, c: int, resample: bool) -> None:
    event = event_of(c, resample)
    law = exact_law(event)
    assert rejects(assert_frequencies, counts_of(twin, event, RUNS, seed=1), law)
    many = counts_of(twin, event, 20 * RUNS, seed=2)
    assert miss_probability(law, many / many.sum(), RUNS) < 1e-9


@CASES
def test_the_twins_bench_passes_what_is_sound(c: int, resample: bool) -> None:
    event = event_of(c, resample)
    assert_frequencies(counts_of(sound, event, RUNS, seed=1), exact_law(event))
