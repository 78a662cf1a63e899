"""Resampling: numbers of children, exactly for systematic and binomial for multinomial."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.adaptive.resampling import RESAMPLING, ancestors, multinomial, systematic
from abcdp_core.streams import generator
from tests.statistics import assert_frequencies, rejects

Array = NDArray[np.float64]

WEIGHTS = np.array([0.05, 0.4, 0.0, 0.25, 0.3])

weight_lists = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40).filter(lambda w: sum(w) > 0.1)


def children(ancestors: NDArray[np.intp], size: int) -> NDArray[np.int64]:
    return np.bincount(ancestors, minlength=size)


@given(weight_lists, st.integers(0, 2**32))
def test_systematic_gives_floor_or_ceiling_of_n_w_children(raw: list[float], seed: int) -> None:
    weights = np.array(raw) / sum(raw)
    counts = children(systematic(generator(seed, "resampling"), weights), len(weights))
    expected = len(weights) * weights
    # Rounding of a whole N w may go either way.
    assert (counts >= np.floor(expected - 1e-9)).all()
    assert (counts <= np.ceil(expected + 1e-9)).all()
    assert counts.sum() == len(weights)
    assert (weights[multinomial(generator(seed, "resampling"), weights)] > 0.0).all()


@pytest.mark.parametrize("weights", [WEIGHTS, np.array([1e-9, 0.5, 0.5 - 1e-9])])
def test_systematic_is_unbiased_over_its_one_random_number(weights: Array) -> None:
    # The mean over the random number, integrated exactly between the points where a count changes.
    n = len(weights)
    jumps = np.unique(np.concatenate([[0.0, 1.0], np.mod(np.cumsum(weights) * n, 1.0)]))
    middles, lengths = 0.5 * (jumps[1:] + jumps[:-1]), np.diff(jumps)
    counts = [children(ancestors(weights, (np.arange(n) + u) / n), n) for u in middles]
    np.testing.assert_allclose(lengths @ np.array(counts), n * weights, atol=1e-12)


def test_multinomial_numbers_of_children_are_binomial() -> None:
    n, rng = len(WEIGHTS), generator(1, "resampling")
    found = [children(multinomial(rng, WEIGHTS), n)[1] for _ in range(10_000)]
    counts = np.bincount(found, minlength=n + 1)
    right, wrong = (stats.binom.pmf(np.arange(n + 1), n, p * WEIGHTS[1]) for p in (1.0, 1.1))
    assert_frequencies(counts, right)
    # Sees weights off by a tenth, and a systematic resampler in its place.
    assert rejects(assert_frequencies, counts, wrong)
    assert rejects(assert_frequencies, np.array([0, 0, 10_000, 0, 0, 0]), right)


def test_systematic_draws_its_number_from_the_whole_unit_interval() -> None:
    # Weights 0.3 and 0.7 of two: the first has one child for u < 0.6, else none.
    rng = generator(2, "resampling")
    ones = sum(children(systematic(rng, np.array([0.3, 0.7])), 2)[0] for _ in range(5000))
    assert_frequencies(np.array([ones, 5000 - ones]), np.array([0.6, 0.4]))
    assert rejects(assert_frequencies, np.array([ones, 5000 - ones]), np.array([0.3, 0.7]))


@pytest.mark.parametrize("name", RESAMPLING)
def test_one_particle_with_all_the_weight_and_weights_whose_sum_is_rounded(name: str) -> None:
    for heavy, size in ((0, 1), (0, 7), (3, 7), (6, 7)):
        weights = np.zeros(size)
        weights[heavy] = 1.0
        assert (RESAMPLING[name](generator(3, "resampling"), weights) == heavy).all()
    weights = np.full(1000, 1.0 / 3.0) / (1000.0 / 3.0) * (1.0 - 1e-12)
    found = RESAMPLING[name](generator(5, "resampling"), weights)
    assert 0 <= found[0] <= found[-1] < 1000
    assert (np.diff(found) >= 0).all()
