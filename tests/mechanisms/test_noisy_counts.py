"""Counts released once with noise, and their exact posterior (MATH E7, M9).

Power of the sampled layer: the ranks of 2000 truths see a share off by 0.04; where the noise is
ignored the outermost ranks are off by 0.1 and more.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import special, stats

from abcdp_core import mechanisms
from abcdp_core.base.arrays import Array
from abcdp_core.mechanisms import Budget, PosteriorInfo, Prepared, Release, noisy_counts
from abcdp_core.mechanisms.noisy_counts import counts_given, posterior
from abcdp_core.mechanisms.private_summary import SummaryNoise, noisy
from abcdp_core.models import pool, simulators
from abcdp_core.models.simulators import uniform_mixture
from tests.statistics import assert_distribution, assert_frequencies, assert_mean, rejects

MECHANISM = mechanisms.load("noisy-counts")
FLAT = np.ones(5)
COUNTS = np.array([2.0, 0.0, 3.0, 1.0, 0.0])


def prepared(n: int, budget: float, draws: int = 1) -> Prepared:
    key = pool.key_for(uniform_mixture.SCENARIO, 10, 10, seed=1)
    public = pool.PublicSide(dataclasses.replace(key, largest_n=n), n)
    return MECHANISM.prepare(public, noisy_counts.Options(draws), Budget(budget))


def release(done: Prepared, rng: int = 1) -> Release:
    data = SimpleNamespace(summaries={"counts": COUNTS})
    return noisy_counts.released(done, data, np.random.default_rng(rng))


def event_of(scale: float) -> SummaryNoise:
    return SummaryNoise("one person", "replace", 2.0, scale, (1,) * 5)


# ------------------------------------------------------------------------------------- privacy


@functools.cache
def compositions(n: int, cells: int) -> Array:
    """All counts ``(m, cells)`` of n records."""
    every = itertools.product(range(n + 1), repeat=cells)
    return np.array([counts for counts in every if sum(counts) == n], dtype=float)


def worst_ratio(scale: float) -> float:
    """Largest log-ratio of a release's probabilities over all neighbors of three records.

    Constants of the discrete Laplace distribution cancel.
    """
    counts = compositions(3, 5)
    neighbors = np.abs(counts[:, None] - counts[None]).sum(axis=-1) == 2.0
    released = np.array(list(itertools.product((-2.0, 0.0, 1.0, 5.0), repeat=5)))
    laws = -np.abs(released - counts[:, None]).sum(axis=-1) / scale
    return max(
        float(np.abs(laws[here] - laws[other]).max()) for here, other in np.argwhere(neighbors)
    )


@pytest.mark.parametrize("budget", [0.01, 0.7, 3.0])
def test_no_release_is_more_than_e_to_the_epsilon_times_as_likely(budget: float) -> None:
    event = prepared(3, budget).event
    assert isinstance(event, SummaryNoise)
    assert worst_ratio(event.scale) == pytest.approx(budget, rel=1e-9)
    # Half the noise; noise for a record that would only be added.
    for broken in (event.scale / 2.0, 1.0 / budget):
        assert worst_ratio(broken) > 1.9 * budget


def test_the_counts_are_released_with_the_noise_of_the_event() -> None:
    # Cost and distribution of the noise are tested where it is drawn.
    done, rng = prepared(6, 1.0), np.random.default_rng(3)
    found = release(done, 3)
    again = posterior(noisy(COUNTS, done.event, rng), done.event, 6, FLAT, 1, rng)
    assert np.array_equal(found.sample(FLAT).values, again.sample(FLAT).values)


# ----------------------------------------------------------------------------------- posterior


def by_enumeration(released: Array, scale: float, n: int, alpha: Array) -> Array:
    """Posterior probabilities of all :func:`compositions`, as the model is defined."""
    counts = compositions(n, len(alpha))
    likelihood = -np.abs(released - counts).sum(axis=1) / scale
    prior = stats.dirichlet_multinomial.logpmf(counts.astype(int), alpha, n)
    return special.softmax(likelihood + prior)


def marginals(probabilities: Array, n: int, cells: int) -> Array:
    counts = compositions(n, cells)
    return np.array(
        [[probabilities[of == value].sum() for value in range(n + 1)] for of in counts.T]
    )


@given(
    st.lists(st.integers(-40, 40), min_size=5, max_size=5),
    st.floats(-2.5, 3.5),
    st.none() | st.lists(st.floats(0.2, 8.0), min_size=5, max_size=5),
)
def test_the_distribution_of_the_counts_is_that_of_all_compositions(
    released: list[int], exponent: float, concentration: list[float] | None
) -> None:
    values, alpha = np.array(released, dtype=float), np.array(concentration or FLAT)
    scale = 10.0**exponent
    law = counts_given(values, scale, 6, alpha)
    expected = by_enumeration(values, scale, 6, alpha)
    assert law.marginals == pytest.approx(marginals(expected, 6, 5), abs=1e-10)
    assert law.mean() == pytest.approx(expected @ compositions(6, 5), abs=1e-10)
    found = posterior(values, event_of(scale), 6, alpha, 1, np.random.default_rng(1))
    mean = expected @ (compositions(6, 5) + alpha) / (6.0 + alpha.sum())
    assert found.mean(np.empty((0, 5)), np.empty(0)) == pytest.approx(mean, abs=1e-10)


@pytest.mark.parametrize("cells", [1, 2, 3])
def test_any_number_of_cells_is_served(cells: int) -> None:
    released, alpha = np.array([5.0, -1.0, 3.0])[:cells], np.array([1.0, 0.5, 2.0])[:cells]
    law = counts_given(released, 1.5, 7, alpha)
    expected = by_enumeration(released, 1.5, 7, alpha)
    assert law.marginals == pytest.approx(marginals(expected, 7, cells), abs=1e-12)
    assert law.draw(np.full((3, cells - 1), 0.5)).sum(axis=1).tolist() == [7.0] * 3
    assert counts_given(released, 1.5, 0, alpha).mean().tolist() == [0.0] * cells


def test_with_thousands_of_records_it_is_the_direct_convolution() -> None:
    n, scale = 2000, 20.0
    released = np.array([480.0, -37.0, 702.0, 101.0, 720.0])
    law = counts_given(released, scale, n, FLAT)
    each = np.exp(-np.abs(np.clip(released, 0, n)[:, None] - np.arange(n + 1)) / scale)
    for cell in (0, 1, 4):
        others = functools.reduce(
            lambda one, two: np.convolve(one, two)[: n + 1], np.delete(each, cell, axis=0)
        )
        expected = each[cell] * others[::-1]
        assert law.marginals[cell] == pytest.approx(expected / expected.sum(), abs=1e-12)


@pytest.mark.parametrize(
    "released", [[1e9] * 5, [-1e9] * 5, [5000, 5000, 0, 0, 0], [1e9, -1e9, 3, 4, 5]]
)
def test_no_release_is_too_odd(released: list[float]) -> None:
    for scale in (1e-3, 2.0, 1e6):
        law = counts_given(np.array(released, dtype=float), scale, 5000, FLAT)
        assert law.mean().sum() == pytest.approx(5000.0, abs=1e-8)
        drawn = law.draw(np.random.default_rng(1).random((20, 4)))
        assert min(law.mean().min(), drawn.min()) >= 0.0
        assert (drawn.sum(axis=1) == 5000.0).all()


# -------------------------------------------------------------------------------------- samples

RELEASED = np.array([4.0, -2.0, 3.0, 1.0, 9.0])
"""Neither within 0..6 nor of sum 6."""

DRAWS = 40_000


def places(counts: Array) -> NDArray[np.int64]:
    """How often each of the :func:`compositions` of six points came up among ``(m, 5)``."""
    digits = 7 ** np.arange(5)
    order = {int(code): at for at, code in enumerate(compositions(6, 5) @ digits)}
    found = [order[int(code)] for code in counts @ digits]
    return np.bincount(found, minlength=len(order))


def test_counts_are_drawn_from_their_joint_distribution() -> None:
    uniform = np.random.default_rng(5).random((DRAWS, 4))
    drawn = counts_given(RELEASED, 2.0, 6, FLAT).draw(uniform)
    assert_frequencies(places(drawn), by_enumeration(RELEASED, 2.0, 6, FLAT))
    half = by_enumeration(RELEASED, 1.0, 6, FLAT)
    assert rejects(assert_frequencies, places(drawn), half)


def test_samples_are_of_the_posterior_and_their_mean_is_the_exact_one() -> None:
    found = posterior(RELEASED, event_of(2.0), 6, FLAT, DRAWS, np.random.default_rng(6))
    weights, counts = by_enumeration(RELEASED, 2.0, 6, FLAT), compositions(6, 5)

    def law(cell: int, x: Array) -> Array:
        return stats.beta.cdf(x[:, None], 1 + counts[:, cell], 10 - counts[:, cell]) @ weights

    samples = found.sample(np.empty((0, 5))).values
    assert samples.shape == (DRAWS, 5)
    assert samples.sum(axis=1) == pytest.approx(np.ones(DRAWS), abs=1e-12)
    for cell in (0, 1, 4):
        assert_distribution(samples[:2000, cell], lambda x, cell=cell: law(cell, x))
    # The released counts taken for the data.
    ignored = stats.beta(1 + 6, 10 - 6).rvs(2000, random_state=1)
    assert rejects(assert_distribution, ignored, lambda x: law(4, x))
    mean = found.mean(np.empty((0, 5)), np.empty(0))
    for cell in range(5):
        assert_mean(samples[:, cell], mean[cell], 0.0, 1.0, 1e-6 / 5)
    assert found.weights.sum() == pytest.approx(1.0)
    assert (len(found.indices), found.estimate, found.stopped_at) == (0, None, 0)
    assert found.made == PosteriorInfo("exact", 0.0, 0.0)


def test_with_a_large_budget_it_is_the_posterior_of_the_data() -> None:
    for budget in (1000.0, math.inf):
        found = release(prepared(6, budget, 5000))
        assert found.exact_mean == pytest.approx((1.0 + COUNTS) / 11.0, abs=1e-10)
        assert_distribution(found.sample(FLAT).values[:, 2], stats.beta(4.0, 7.0).cdf)


def test_it_serves_what_states_such_a_model() -> None:
    served = [name for name in simulators.names() if not MECHANISM.refuses(simulators.load(name))]
    assert served == [uniform_mixture.SCENARIO.name]
    assert MECHANISM.protects(uniform_mixture.SCENARIO) == (
        uniform_mixture.SCENARIO.protected,
        "replace",
    )
    assert "are not counts" in MECHANISM.refuses(simulators.load("covid-people"))
    joining = dataclasses.replace(
        uniform_mixture.SCENARIO.statistics["counts"], neighbours="add-remove"
    )
    other = dataclasses.replace(uniform_mixture.SCENARIO, statistics={"counts": joining})
    assert "number of records is private" in MECHANISM.refuses(other)
    assert noisy_counts.rival(uniform_mixture.SCENARIO) == noisy_counts.RIVAL
    assert noisy_counts.rival(simulators.load("tuberculosis")) == noisy_counts.NO_RIVAL
