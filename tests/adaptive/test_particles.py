"""Responses so far, and weighted particles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from abcdp_core.adaptive.particles import (
    History,
    Particles,
    Response,
    moments,
    normalised,
    pick,
)
from abcdp_core.streams import generator
from tests.statistics import assert_frequencies, rejects

Array = NDArray[np.float64]


def response(number: float) -> Response:
    return Response(number, number - 1.0, number + 1.0, 0.5)


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(-1e6, 1e6)), max_size=80))
def test_histories_never_change_whichever_of_them_grows(growth: list[tuple[int, float]]) -> None:
    # A tree: each step grows one of the existing histories, the longest or an old one.
    tree: list[tuple[History, list[float]]] = [(History.empty(), [])]
    for which, number in growth:
        parent, numbers = tree[-1 - which % len(tree)]
        tree.append((parent.plus(response(number)), [*numbers, number]))
    for history, numbers in tree:
        assert history.count == len(numbers)
        assert history.rows.tolist() == [list(response(number)) for number in numbers]


THETA = np.array([[1.0, 0.0], [4.0, math.log(2.0)], [-2.0, math.log(5.0)], [7.0, -1.0]])
WEIGHTS = np.array([0.1, 0.5, 0.4, 0.0])
with np.errstate(divide="ignore"):
    CLOUD = Particles(THETA, np.log(WEIGHTS), History.empty())


def test_moments_are_those_of_mu_and_sigma() -> None:
    first, second = 0.5 * math.log(2.0), 0.4 * math.log(5.0)
    square = 0.5 * math.log(2.0) ** 2 + 0.4 * math.log(5.0) ** 2
    # μ: 0.1 + 2 − 0.8; σ: 0.1 + 1 + 2.
    of_mu = 1.3, math.sqrt(0.1 + 8.0 + 1.6 - 1.3**2)
    of_sigma = 3.1, math.sqrt(0.1 + 2.0 + 10.0 - 3.1**2)
    expected = (*of_mu, *of_sigma, math.sqrt(square - (first + second) ** 2))
    assert moments(CLOUD) == pytest.approx(expected)


def test_particles_are_picked_in_proportion_to_their_weights() -> None:
    rng = generator(1, "pick")
    picked = [pick(rng, CLOUD) for _ in range(5000)]
    counts = np.array([sum(mu == row[0] for mu, _ in picked) for row in THETA])
    assert_frequencies(counts, WEIGHTS)
    # Sees a probability off by 0.05.
    assert rejects(assert_frequencies, counts, np.array([0.1, 0.45, 0.45, 0.0]))
    by_mu = {float(mu): math.exp(log_sigma) for mu, log_sigma in THETA}
    assert all(sigma == pytest.approx(by_mu[mu]) for mu, sigma in picked)


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20), st.floats(-1e3, 1e3))
def test_weights_sum_to_one_however_large_or_small_their_logarithms(
    logs: list[float], shift: float
) -> None:
    found = normalised(np.array(logs))
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert (found >= 0.0).all()
    if max(map(abs, logs)) < 1e3:
        np.testing.assert_allclose(normalised(np.array(logs) + shift), found, atol=1e-9)
    with pytest.raises(FloatingPointError, match="no particle can have given"):
        normalised(np.array([*logs, math.nan]))
