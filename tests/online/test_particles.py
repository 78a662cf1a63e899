"""Responses so far, and weighted particles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from abcdp_core.online import particles
from abcdp_core.online.particles import History, Response, moments, normalised, pick
from abcdp_core.streams import generator
from tests.statistics import assert_frequencies, rejects

Array = NDArray[np.float64]


@dataclass
class Weighted:
    """A cloud made by hand."""

    theta: Array
    weights: Array


def response(number: float) -> Response:
    return Response(number, number - 1.0, number + 1.0, 0.5)


def grown(history: History, numbers: list[float]) -> History:
    for number in numbers:
        history = history.plus(response(number))
    return history


def rows_of(numbers: list[float]) -> Array:
    return np.array([response(number) for number in numbers]).reshape(-1, 4)


# -------------------------------------------------------------------------------------- history


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(-1e6, 1e6)), max_size=80))
def test_histories_never_change_whichever_of_them_grows(
    growth: list[tuple[int, float]],
) -> None:
    # A tree: each step grows one of the histories there are, the longest or an old one.
    tree: list[tuple[History, list[float]]] = [(History.empty(), [])]
    for which, number in growth:
        parent, numbers = tree[-1 - which % len(tree)]
        tree.append((parent.plus(response(number)), [*numbers, number]))
    for history, numbers in tree:
        assert history.count == len(numbers)
        np.testing.assert_array_equal(history.rows, rows_of(numbers))


def test_a_branch_from_an_old_history_leaves_the_newer_as_it_is() -> None:
    old = grown(History.empty(), [1.0, 2.0])
    newer = grown(old, [3.0, 4.0])
    branch = grown(old, [30.0])
    np.testing.assert_array_equal(newer.rows, rows_of([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_array_equal(branch.rows, rows_of([1.0, 2.0, 30.0]))
    np.testing.assert_array_equal(old.rows, rows_of([1.0, 2.0]))


def test_two_empty_histories_have_nothing_in_common() -> None:
    one, other = grown(History.empty(), [1.0]), grown(History.empty(), [2.0])
    assert one.rows[0, 0] == 1.0
    assert other.rows[0, 0] == 2.0


def test_growth_takes_constant_time_on_average() -> None:
    history, memories = History.empty(), set()
    for t in range(10_000):
        history = history.plus(response(float(t)))
        memories.add(id(history._filled))
    assert len(memories) <= math.log2(10_000 / 16) + 2
    assert len(history._rows) <= 2 * 10_000


def test_rows_are_value_interval_and_scale() -> None:
    history = History.empty().plus(Response(1.0, 2.0, 3.0, 4.0))
    assert history.rows.tolist() == [[1.0, 2.0, 3.0, 4.0]]
    assert History.empty().rows.shape == (0, 4)


# ------------------------------------------------------------------------------ weighted particles


THETA = np.array([[1.0, 0.0], [4.0, math.log(2.0)], [-2.0, math.log(5.0)], [7.0, -1.0]])
WEIGHTS = np.array([0.1, 0.5, 0.4, 0.0])


def test_moments_are_those_of_mu_and_sigma() -> None:
    found = moments(Weighted(THETA, WEIGHTS))
    # μ: 0.1 + 2 − 0.8; σ: 0.1 + 1 + 2.
    assert found.mean_mu == pytest.approx(1.3)
    assert found.sd_mu == pytest.approx(math.sqrt(0.1 + 8.0 + 1.6 - 1.3**2))
    assert found.mean_sigma == pytest.approx(3.1)
    assert found.sd_sigma == pytest.approx(math.sqrt(0.1 + 2.0 + 10.0 - 3.1**2))
    first, second = 0.5 * math.log(2.0), 0.4 * math.log(5.0)
    square = 0.5 * math.log(2.0) ** 2 + 0.4 * math.log(5.0) ** 2
    assert found.sd_log_sigma == pytest.approx(math.sqrt(square - (first + second) ** 2))


def test_moments_leave_the_particles_as_they_are() -> None:
    theta = THETA.copy()
    moments(Weighted(theta, WEIGHTS))
    assert (theta == THETA).all()


def test_one_particle_has_no_spread() -> None:
    found = moments(Weighted(THETA[1:2], np.ones(1)))
    assert found == pytest.approx((4.0, 0.0, 2.0, 0.0, 0.0))


def test_particles_are_picked_in_proportion_to_their_weights() -> None:
    rng, cloud = generator(1, "pick"), Weighted(THETA, WEIGHTS)
    picked = [pick(rng, cloud) for _ in range(5000)]
    counts = np.array([sum(mu == row[0] for mu, _ in picked) for row in THETA])
    assert_frequencies(counts, WEIGHTS)
    # Sees a probability off by 0.05.
    assert rejects(assert_frequencies, counts, np.array([0.1, 0.45, 0.45, 0.0]))
    by_mu = {float(mu): math.exp(log_sigma) for mu, log_sigma in THETA}
    assert all(sigma == pytest.approx(by_mu[mu]) for mu, sigma in picked)


def test_the_only_particle_with_weight_is_picked() -> None:
    for only in range(4):
        weights = np.eye(4)[only]
        assert pick(generator(2, "pick"), Weighted(THETA, weights))[0] == THETA[only, 0]


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20), st.floats(-1e3, 1e3))
def test_weights_sum_to_one_however_large_or_small_their_logarithms(
    logs: list[float], shift: float
) -> None:
    found = normalised(np.array(logs))
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert (found >= 0.0).all()
    if max(map(abs, logs)) < 1e3:
        np.testing.assert_allclose(normalised(np.array(logs) + shift), found, atol=1e-9)


def test_weights_are_in_proportion_to_the_exponentials() -> None:
    found = normalised(np.log([1.0, 2.0, 5.0]) - 900.0)
    np.testing.assert_allclose(found, [0.125, 0.25, 0.625], rtol=1e-12)
    assert normalised(np.array([0.0, -math.inf])).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("logs", [[-math.inf, -math.inf], [math.nan, 0.0], [math.inf, 0.0]])
def test_where_no_particle_is_possible_that_is_said(logs: list[float]) -> None:
    with pytest.raises(FloatingPointError, match="no particle can have given"):
        normalised(np.array(logs))


def test_little_work_needs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multiprocessing.parent_process", lambda: None)
    monkeypatch.setattr("os.cpu_count", lambda: 6)
    assert particles.threads(particles.WORTH_A_THREAD - 1) == 1
    assert particles.threads(particles.WORTH_A_THREAD) == 6
    monkeypatch.setattr("multiprocessing.parent_process", object)
    assert particles.threads(10**9) == 1
