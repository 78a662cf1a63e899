"""What the implementation does, against the exact probabilities of all outcomes (layer 2).

Power: 20 000 runs over five draws, at a false alarm of 1e-6 for the whole check. Each broken twin
below is missed with a probability under 1e-9, as bounded by ``miss_probability`` with the twin's
own outcome law, which is estimated from 400 000 further runs of it. Either noise a quarter too
small is missed with a probability under 1 %, by the exact law.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core.mechanisms.sparse_vector import SparseVector, calibrate, run
from tests.oracles.outcomes import law_of_sets
from tests.oracles.sparse_vector import log_probability
from tests.statistics import assert_frequencies, miss_probability, rejects

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

RHO = np.array([0.3, 0.05, 0.2, 0.1, 0.15])
EPSILON_ABC = 0.12
RUNS = 20_000

CASES = pytest.mark.parametrize(("c", "resample"), [(1, False), (1, True), (2, False), (2, True)])


def code(indices: NDArray[np.int64]) -> int:
    """An outcome as a whole number below 2^5: which draws were accepted."""
    return int(np.sum(2**indices))


def event_of(c: int, resample: bool) -> SparseVector:
    """A run whose noise is of the size of the distances: b = 0.1."""
    cost_of_a_scale = 2 * c if resample else c + 1
    return calibrate(1.0, 0.1 / cost_of_a_scale, c, resample=resample)


def exact_law(event: SparseVector) -> Array:
    """Probability ``(32,)`` of every set of accepted draws."""
    return law_of_sets(
        lambda pattern: log_probability(pattern, RHO, EPSILON_ABC, event), len(RHO), event.c
    )


@CASES
def test_releases_come_up_as_often_as_they_should(c: int, resample: bool) -> None:
    rng = np.random.default_rng(1)
    event = event_of(c, resample)
    counts = np.zeros(2 ** len(RHO), dtype=np.int64)
    for _ in range(RUNS):
        published, _ = run(RHO, EPSILON_ABC, event, rng)
        counts[code(published.indices)] += 1
    assert_frequencies(counts, exact_law(event))


# ------------------------------------------------------------------------ broken twins

Twin = Callable[[Array, Array], tuple[Array, Array]]


def sound(query: Array, threshold: Array) -> tuple[Array, Array]:
    return query, threshold


def half_the_threshold_noise(query: Array, threshold: Array) -> tuple[Array, Array]:
    return query, threshold / 2


def half_the_query_noise(query: Array, threshold: Array) -> tuple[Array, Array]:
    return query / 2, threshold


def query_noise_drawn_once(query: Array, threshold: Array) -> tuple[Array, Array]:
    return np.broadcast_to(query[:, :1], query.shape), threshold


def threshold_not_redrawn(query: Array, threshold: Array) -> tuple[Array, Array]:
    return query, np.broadcast_to(threshold[:, :1], threshold.shape)


def one_noise_for_both(query: Array, threshold: Array) -> tuple[Array, Array]:
    return query, query[:, : threshold.shape[1]]


def counts_of(twin: Twin, event: SparseVector, stop: int, runs: int, seed: int) -> Counts:
    """How often each outcome comes up when the noise goes through a twin, stopping at ``stop``."""
    rng = np.random.default_rng(seed)
    query, threshold = twin(rng.laplace(size=(runs, len(RHO))), rng.laplace(size=(runs, stop)))
    distance = RHO + event.query_scale * query
    outcome, count = np.zeros((2, runs), dtype=np.int64)
    for t in range(len(RHO)):
        in_force = np.minimum(count, stop - 1) if event.resample else np.zeros_like(count)
        noise = event.threshold_scale * threshold[np.arange(runs), in_force]
        accepted = (distance[:, t] <= EPSILON_ABC + noise) & (count < stop)
        outcome += accepted * 2**t
        count += accepted
    return np.bincount(outcome, minlength=2 ** len(RHO))


TWINS: dict[str, tuple[Twin, int, bool, int]] = {
    "half the threshold noise, kept": (half_the_threshold_noise, 1, False, 0),
    "half the threshold noise, redrawn": (half_the_threshold_noise, 2, True, 0),
    "half the query noise, kept": (half_the_query_noise, 1, False, 0),
    "half the query noise, redrawn": (half_the_query_noise, 2, True, 0),
    "query noise drawn once, kept": (query_noise_drawn_once, 1, False, 0),
    "query noise drawn once, redrawn": (query_noise_drawn_once, 2, True, 0),
    "threshold not redrawn": (threshold_not_redrawn, 2, True, 0),
    "one noise for both": (one_noise_for_both, 1, True, 0),
    "counter one too far": (sound, 1, False, 1),
    "counter one too far, redrawn": (sound, 2, True, 1),
    "counter one short": (sound, 2, False, -1),
}


@pytest.mark.parametrize(("twin", "c", "resample", "off"), TWINS.values(), ids=TWINS)
def test_the_same_check_rejects_broken_twins(twin: Twin, c: int, resample: bool, off: int) -> None:
    event = event_of(c, resample)
    law = exact_law(event)
    assert rejects(assert_frequencies, counts_of(twin, event, c + off, RUNS, seed=1), law)
    counts = counts_of(twin, event, c + off, 20 * RUNS, seed=2)
    assert miss_probability(law, counts / counts.sum(), RUNS) < 1e-9


@CASES
def test_the_twins_bench_passes_what_is_sound(c: int, resample: bool) -> None:
    event = event_of(c, resample)
    assert_frequencies(counts_of(sound, event, c, RUNS, seed=1), exact_law(event))


@CASES
@pytest.mark.parametrize(("threshold", "query"), [(0.75, 1.0), (1.0, 0.75)])
def test_noise_that_is_a_quarter_too_small_is_seen(
    c: int, resample: bool, threshold: float, query: float
) -> None:
    event = event_of(c, resample)
    b1, b2 = event.threshold_scale * threshold, event.query_scale * query
    broken = SparseVector(event.sensitivity, b1, b2, c, resample)
    assert miss_probability(exact_law(event), exact_law(broken), RUNS) < 0.01
