"""The mean without a shape: against enumeration, and by its seed."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from scipy.stats import norm

from abcdp_core.adaptive import poll, robust
from abcdp_core.adaptive.poll import Design, Poll
from abcdp_core.studies.poll import results_of
from tests.statistics import assert_frequencies, assert_mean, rejects

CELLS = np.array([[0.0, 0.3], [0.0, 0.3], [0.7, 1.0], [0.4, 0.7], [0.0, 0.4]])


def enumerated(wrong: float, absent: int) -> tuple[np.ndarray, float, float]:
    """Probability of each of 3 standard deviations; mean of a class and of a population in 4 bins.

    Over all bins that people can be in.
    """
    edges, middles, n = np.linspace(0.0, 1.0, 5), np.array([1, 3, 5, 7]) / 8, len(CELLS)
    inside = np.minimum(CELLS[:, 1:], edges[1:]) - np.maximum(CELLS[:, :1], edges[:-1])
    told = wrong + (1 - 3 * wrong) * np.maximum(inside, 0.0) * 4
    of_spread, found = np.zeros(3), np.zeros(2)
    for middle, at in itertools.product(middles, range(3)):
        base = np.diff(norm(middle, 0.01 * 50 ** ((at + 0.5) / 3)).cdf(edges)) + 1e-12
        base /= base.sum()
        for bins in itertools.product(range(4), repeat=n):
            count = np.bincount(bins, minlength=4)
            seated = [base[b] + i for b in range(4) for i in range(count[b])]
            weight = np.prod(seated) * np.prod(told[np.arange(n), bins])
            population = (base + count) @ middles / (1 + n)
            of_class = (count @ middles + absent * population) / (n + absent)
            of_spread[at] += weight
            found += weight * np.array([of_class, population])
    return of_spread / of_spread.sum(), *(found / of_spread.sum())


@pytest.mark.parametrize("absent", [0, 3])
def test_independent_chains_end_as_enumeration_says(
    absent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With more of the lies the spread would be larger, and it is seen."""
    small = {"BINS": 4, "SPREADS": 3, "CHAINS": 4000, "SETTLING": 60, "KEPT": 1}
    for name, value in small.items():
        monkeypatch.setattr(robust, name, value)
    of_spread, of_class, of_population = enumerated(0.1, absent)
    values = 0.01 * 50 ** ((np.arange(3) + 0.5) / 3)
    for wrong in (0.1, 0.2):
        found = robust.sampled((0.0, 1.0), CELLS, wrong, absent, seed=1)
        counts = (np.abs(found.spreads[:, None] - values) < 1e-9).sum(axis=0)
        assert rejects(assert_frequencies, counts, of_spread) == (wrong == 0.2)
        assert rejects(assert_mean, found.own, of_class, 0.0, 1.0) == (wrong == 0.2)
        assert rejects(assert_mean, found.population, of_population, 0.0, 1.0) == (wrong == 0.2)


def held(values: np.ndarray, epsilon: float) -> Poll:
    """A poll of people with these values."""
    rng, now = np.random.default_rng(4), Poll(Design(0.0, 1.0, epsilon, seed=3))
    for number, value in enumerate(values):
        question = now.ask(rng, number)
        now = now.take(question, poll.answered(question, float(value), epsilon, rng))
    return now


def test_which_model_heads_and_the_same_digits_from_the_same_seed() -> None:
    narrow, split = held(np.full(60, 0.3), 3.0), held(np.arange(60.0) % 2, 3.0)
    assert not narrow.robust.heads
    table = results_of(split)
    assert table.heads.tolist() == [False, False, True, True]
    assert table.of.tolist() == ["class", "population"] * 2
    assert (table.high - table.low)[2] > 1.2 * (table.high - table.low)[0]
    again = dataclasses.replace(split)
    assert again.robust is not split.robust
    assert results_of(again).equals(table)
    other = dataclasses.replace(split, design=Design(0.0, 1.0, 3.0))
    assert other.robust.interval() != split.robust.interval()


def test_before_anyone_answers_the_mean_is_anywhere() -> None:
    low, high = Poll(Design(-5.0, 5.0, 1.0)).robust.class_interval()
    assert low < -3.0
    assert high > 3.0
