"""Sampled releases of sparse vectors against exact probabilities of all outcomes.

The noise of the other mechanisms is compared number by number in ``test_runs``. Power: 20 000 runs
at a false alarm of 1e-6 for each check. Every broken twin, a run with an event that it does not
claim, is missed with a probability under 1e-9, by its own exact distribution.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core.mechanisms import gaussian_sparse_vector, sparse_vector
from abcdp_core.mechanisms.gaussian_sparse_vector import GaussianSparseVector
from abcdp_core.mechanisms.sparse_vector import Segments, SparseVector
from tests.oracles import gaussian_sparse_vector as gaussian_oracle
from tests.oracles import sparse_vector as laplace_oracle
from tests.oracles.outcomes import Pattern, law_of_sets
from tests.statistics import assert_frequencies, miss_probability, rejects

Array = NDArray[np.float64]

RUNS = 20_000
EPSILON_ABC = 0.12
RHO = np.array([0.3, 0.05, 0.2, 0.1, 0.15])

EVENTS: dict[str, Any] = {
    "Laplace": SparseVector(0.05, 0.1, 0.2, 1, False),
    "Laplace, two": SparseVector(1 / 30, 0.1, 0.2, 2, False),
    "Laplace, redrawn": SparseVector(0.025, 0.1, 0.2, 2, True),
    "Laplace, segments": Segments(0.02, 0.15, 0.2, 2, resample=True),
    "Gaussian": GaussianSparseVector(0.02, 0.1, 0.2, 1, False, 5),
    "Gaussian, redrawn": GaussianSparseVector(0.02, 0.1, 0.2, 2, True, 5),
}
EACH = pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)


def twins_of(event: Any) -> list[Any]:
    """Half the noise on thresholds or distances, another c, and the other kind of threshold."""
    found = [
        replace(event, threshold_scale=0.5 * event.threshold_scale),
        replace(event, query_scale=0.5 * event.query_scale),
        replace(event, c=event.c + 1),
    ]
    if event.c > 1:
        found.append(replace(event, c=event.c - 1))
    if event.c > 1 and not isinstance(event, Segments):
        found.append(replace(event, resample=not event.resample))
    return found


def law(event: Any) -> Array:
    oracle = laplace_oracle if isinstance(event, SparseVector) else gaussian_oracle

    def log_probability(pattern: Pattern) -> float:
        return oracle.log_probability(pattern, RHO, EPSILON_ABC, event)

    return law_of_sets(log_probability, len(RHO), event.c)


@EACH
def test_releases_come_up_as_often_as_they_should(event: Any) -> None:
    module = sparse_vector if isinstance(event, SparseVector) else gaussian_sparse_vector
    rng, expected = np.random.default_rng(1), law(event)
    counts = np.zeros(len(expected), dtype=np.int64)
    for _ in range(RUNS):
        indices = module.run(RHO, EPSILON_ABC, event, rng)[0].indices
        counts[int(np.sum(2**indices))] += 1
    assert_frequencies(counts, expected)


@EACH
def test_the_same_check_rejects_broken_twins(event: Any) -> None:
    rng, expected = np.random.default_rng(2), law(event)
    for twin in twins_of(event):
        broken = law(twin)
        drawn = rng.multinomial(RUNS, broken / broken.sum())
        assert rejects(assert_frequencies, drawn, expected), twin
        assert miss_probability(expected, broken, RUNS) < 1e-9, twin
