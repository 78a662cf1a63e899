"""What runs release, against exact probabilities of all outcomes, and broken twins.

Power: 20 000 runs at a false alarm of 1e-6 for each check. Every broken twin, a run with another
event than the one it claims, is missed with a probability under 1e-9, by its own exact law.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, special

from abcdp_core.mechanisms import (
    gaussian_rejection,
    gaussian_sparse_vector,
    soft_weights,
    sparse_vector,
)
from abcdp_core.mechanisms.gaussian_rejection import GaussianRejection
from abcdp_core.mechanisms.sparse_vector import Segments
from abcdp_core.privacy import GaussianSeries
from abcdp_core.privacy.local import gaussian_delta
from tests.oracles import gaussian_sparse_vector as gaussian_oracle
from tests.oracles import sparse_vector as laplace_oracle
from tests.oracles.outcomes import law_of_sets
from tests.statistics import assert_frequencies, miss_probability, rejects

Array = NDArray[np.float64]

RUNS = 20_000
EPSILON_ABC = 0.12
RHO = np.array([0.3, 0.05, 0.2, 0.1, 0.15])
BEYOND = np.array([0.05, 0.3, 0.9, 0.0, 0.2])
"""Two of these distances are beyond the bound of Gaussian rejection."""

SCALED = np.array([0.2, 1.5, 0.6, 3.0])
"""Distances in units of the threshold 0.1."""


@dataclass(frozen=True)
class Case:
    """A mechanism over few draws.

    Attributes:
        event: what a run claims to do.
        law: event -> probability of every set of draws, at the sum of 2^t over its members t.
        released: event, source of chance -> the members of one run's set.
        twins: events of runs that are broken.
    """

    event: Any
    law: Callable[[Any], Array]
    released: Callable[[Any, np.random.Generator], NDArray[np.int64]]
    twins: list[Any]


def sparse(event: Any) -> Case:
    """A sparse vector with Laplace or Gaussian noise and broken twins of it."""
    is_laplace = isinstance(event, sparse_vector.SparseVector)
    oracle = laplace_oracle if is_laplace else gaussian_oracle
    module = sparse_vector if is_laplace else gaussian_sparse_vector
    halves = [replace(event, **{f"{name}_scale": 0.5 * getattr(event, f"{name}_scale")})
              for name in ("threshold", "query")]  # fmt: skip
    twins = [*halves, replace(event, c=event.c + 1)]
    if event.c > 1:
        twins.append(replace(event, c=event.c - 1))
    if event.c > 1 and not isinstance(event, Segments):
        twins.append(replace(event, resample=not event.resample))

    def law(event: Any) -> Array:
        def log_probability(pattern: NDArray[np.bool_]) -> float:
            return oracle.log_probability(pattern, RHO, EPSILON_ABC, event)

        return law_of_sets(log_probability, len(RHO), event.c)

    return Case(event, law, lambda e, rng: module.run(RHO, EPSILON_ABC, e, rng)[0].indices, twins)


def gaussian_sparse(c: int, resample: bool) -> Case:
    """Threshold noise of a standard deviation of 0.1."""
    unit = gaussian_sparse_vector.calibrate(1.0, 1e-2, 1.0, c, 5, resample=resample)
    scale = 0.1 / unit.threshold_scale
    return sparse(gaussian_sparse_vector.calibrate(1.0, 1e-2, scale, c, 5, resample=resample))


# ------------------------------------------------------------------------ Gaussian rejection


def every_outcome(length: int) -> NDArray[np.bool_]:
    """All ways ``(2^length, length)`` to be in or out; row k holds the digits of k."""
    return np.array([[k >> t & 1 for t in range(length)] for k in range(2**length)], dtype=bool)


def rejection_law(event: GaussianRejection) -> Array:
    accepted = special.ndtr((EPSILON_ABC - np.minimum(BEYOND, event.bound)) / event.scale)
    return np.where(every_outcome(len(BEYOND)), accepted, 1.0 - accepted).prod(axis=1)


def rejection() -> Case:
    event = gaussian_rejection.calibrate(2.0, 0.05, 0.25, EPSILON_ABC, len(BEYOND))
    return Case(
        event,
        rejection_law,
        lambda e, rng: gaussian_rejection.run(BEYOND, EPSILON_ABC, e, rng)[0].indices,
        [
            replace(event, scale=0.5 * event.scale),
            replace(event, scale=math.sqrt(event.scale)),
            replace(event, bound=2.0),
        ],
    )


# ------------------------------------------------------------- soft weights: which weigh most


def soft_law(event: GaussianSeries) -> Array:
    """Two and more draws tie for the largest weight if and only if just these went below 0.

    One alone is the only one below 0, or none is and it is the smallest.
    """
    scale = event.scale
    below = special.ndtr(-SCALED / scale)
    law: Array = np.where(every_outcome(len(SCALED)), below, 1.0 - below).prod(axis=1)
    law[0] = 0.0
    for t in range(len(SCALED)):

        def smallest(x: float, t: int = t) -> float:
            density = math.exp(-0.5 * ((x - SCALED[t]) / scale) ** 2)
            others = special.ndtr((np.delete(SCALED, t) - x) / scale)
            return density / (scale * math.sqrt(2.0 * math.pi)) * float(others.prod())

        law[1 << t] += integrate.quad(smallest, 0.0, 3.0 + 12.0 * scale, limit=200)[0]
    return law


def heaviest(event: GaussianSeries, rng: np.random.Generator) -> NDArray[np.int64]:
    weights = soft_weights.run(SCALED, event, rng)[0].weights
    return np.flatnonzero(weights == weights.max())


def soft() -> Case:
    # The noise is of the size of the distances, and not near 1: there a variance looks the same.
    event = soft_weights.calibrate(1.0, 1e-4, 0.1 * 0.314 * 1.5, 0.1, len(SCALED))
    twins = [replace(event, scale=scale) for scale in (0.5 * event.scale, math.sqrt(event.scale))]
    return Case(event, soft_law, heaviest, twins)


CASES: dict[str, Callable[[], Case]] = {
    "sparse vector": lambda: sparse(sparse_vector.calibrate(1.0, 0.05, 1, resample=False)),
    "sparse vector, two": lambda: sparse(sparse_vector.calibrate(1.0, 0.1 / 3, 2, resample=False)),
    "sparse vector, redrawn": lambda: sparse(sparse_vector.calibrate(1.0, 0.025, 2, resample=True)),
    "sparse vector, segments": lambda: sparse(Segments(0.02, 0.15, 0.2, 2, resample=True)),
    "Gaussian sparse vector": lambda: gaussian_sparse(1, False),
    "Gaussian sparse vector, redrawn": lambda: gaussian_sparse(2, True),
    "Gaussian rejection": rejection,
    "soft weights": soft,
}
EACH = pytest.mark.parametrize("make", CASES.values(), ids=CASES)


@EACH
def test_releases_come_up_as_often_as_they_should(make: Callable[[], Case]) -> None:
    case, rng = make(), np.random.default_rng(1)
    law = case.law(case.event)
    counts = np.zeros(len(law), dtype=np.int64)
    for _ in range(RUNS):
        counts[int(np.sum(2 ** case.released(case.event, rng)))] += 1
    assert_frequencies(counts, law)


@EACH
def test_the_same_check_rejects_broken_twins(make: Callable[[], Case]) -> None:
    case, rng = make(), np.random.default_rng(2)
    law = case.law(case.event)
    for twin in case.twins:
        broken = case.law(twin)
        assert rejects(assert_frequencies, rng.multinomial(RUNS, broken / broken.sum()), law), twin
        assert miss_probability(law, broken, RUNS) < 1e-9, twin


def test_a_long_run_of_soft_weights_spends_delta_on_the_most_telling_event() -> None:
    # MATH W3: L ~ N(μ²/2, μ²), and P(L > ε) − e^ε Q(L > ε) is δ.
    event = soft_weights.calibrate(1.0, 0.05, 0.1 * 0.4, 0.1, 50)
    mu = math.sqrt(50) * 0.4 / event.scale
    above, other = special.ndtr(mu / 2.0 - 1.0 / mu), special.ndtr(-mu / 2.0 - 1.0 / mu)
    spent = float(above - math.e * other)
    assert 0.95 * 0.05 <= spent <= 0.05
    assert gaussian_delta(mu, 1.0) == pytest.approx(spent, rel=1e-9)
    assert gaussian_delta(2.0 * mu, 1.0) > 0.2
