"""What words tell about a class and a population, against enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.special import gammaln

from abcdp_core.adaptive.categories import BINS, DRAWS, Words, standard_deviation
from abcdp_core.adaptive.poll import CHANCES, chances
from tests.statistics import assert_frequencies, rejects


def classes(
    counts: tuple[int, ...], epsilon: float, absent: int = 0
) -> Iterator[tuple[np.ndarray, float]]:
    """People of each category in every class that there can be, and how likely it is."""
    words, n = len(counts), sum(counts) + absent
    wrong, right = (chance / CHANCES for chance in chances(epsilon, words))
    said = np.repeat(np.arange(words), counts)
    for true in itertools.product(range(words), repeat=n):
        of_each = np.bincount(true, minlength=words)
        log = gammaln(1.0 / words + of_each).sum()
        log += np.log(np.where(np.array(true[: len(said)]) == said, right, wrong)).sum()
        yield of_each, math.exp(log)


def enumerated(counts: tuple[int, ...], epsilon: float, absent: int = 0) -> np.ndarray:
    """Probability of each number of people of a category, over all that the people can be."""
    found = np.zeros((len(counts), sum(counts) + absent + 1))
    for of_each, weight in classes(counts, epsilon, absent):
        found[np.arange(len(counts)), of_each] += weight
    return found / found.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [((3, 2), 1.0), ((0, 4), 0.5), ((3, 1, 2), 2.0), ((4, 0, 0, 1), 3.0), ((1, 0, 2, 0, 1), 1.0)],
)
def test_the_class_is_known_exactly(counts: tuple[int, ...], epsilon: float) -> None:
    words = Words(counts, epsilon)
    exact = enumerated(counts, epsilon)
    np.testing.assert_allclose(words.of_class, exact, atol=1e-12)
    # The mean of a share of the population follows from that of the class (MATH A16).
    n, a = sum(counts), 1.0 / len(counts)
    middles = (np.arange(BINS) + 0.5) / BINS
    expected = (a + exact @ np.arange(n + 1)) / (1.0 + n)
    np.testing.assert_allclose(words.of_population @ middles, expected, atol=2e-3)
    # With half the lies the class would be known better than it is.
    assert not np.allclose(Words(counts, 2 * epsilon).of_class, exact, atol=1e-3)


@pytest.mark.parametrize(("counts", "absent"), [((3, 1), 3), ((2, 0, 1), 4), ((0, 0), 3)])
def test_a_class_of_whom_some_answered_another_question(
    counts: tuple[int, ...], absent: int
) -> None:
    words = Words(counts, 2.0, absent)
    exact = enumerated(counts, 2.0, absent)
    np.testing.assert_allclose(words.of_class, exact, atol=1e-12)
    share = exact @ np.arange(words.size + 1) / words.size
    np.testing.assert_allclose(words.class_share(), share, atol=1e-12)
    assert words.class_interval()[0, 1] > share[0]
    # The population is known by the words alone, and the class less well than by words of all.
    np.testing.assert_array_equal(words.of_population, Words(counts, 2.0).of_population)


@pytest.mark.parametrize(("counts", "absent"), [((3, 2), 0), ((2, 1), 4), ((0, 3), 2)])
def test_one_of_two_leads_as_often_as_enumeration_says(
    counts: tuple[int, ...], absent: int
) -> None:
    """With half the lies one would lead more often, and it is seen."""
    leads = sum(
        np.eye(2)[of_each.argmax()] * weight for of_each, weight in classes(counts, 1.0, absent)
    )
    for epsilon in (1.0, 2.0):
        drawn = np.rint(Words(counts, epsilon, absent).leading * DRAWS).astype(int)
        assert rejects(assert_frequencies, drawn, leads / leads.sum()) == (epsilon == 2.0)


@pytest.mark.parametrize(("counts", "absent"), [((3, 1, 2), 0), ((1, 0, 2, 1), 2), ((0, 0, 0), 2)])
def test_categories_of_equal_size_share_the_lead(counts: tuple[int, ...], absent: int) -> None:
    leads = np.zeros(len(counts))
    for of_each, weight in classes(counts, 2.0, absent):
        first = of_each == of_each.max()
        leads += weight * first / first.sum()
    words = Words(counts, 2.0, absent)
    # By Hoeffding's inequality a difference is larger once in 10⁶ times.
    np.testing.assert_allclose(words.leading, leads / leads.sum(), atol=0.027)
    assert words.leading.tolist() == Words(counts, 2.0, absent).leading.tolist()


def test_a_value_to_check_and_large_classes() -> None:
    assert Words((19, 11), 1.0).class_share()[0] * 30 == pytest.approx(24.088, abs=5e-4)
    for counts in ((500, 0), (100, 100, 100, 100), (300,) + (28,) * 7):
        words = Words(counts, 2.0)
        assert np.isfinite(words.of_class).all()
        assert words.class_share().sum() == pytest.approx(1.0)
        low, high = words.class_interval().T
        assert (low <= words.class_share()).all()
        assert (words.class_share() <= high).all()
    assert Words((0, 0, 0), 1.0).class_interval().tolist() == [[0.0, 1.0]] * 3


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("words", range(2, 9))
def test_no_word_is_more_than_e_epsilon_times_as_likely(words: int, epsilon: float) -> None:
    wrong, right = chances(epsilon, words)
    assert right + (words - 1) * wrong == CHANCES
    assert 0 < wrong < right <= wrong * math.exp(epsilon)
    assert right / wrong == pytest.approx(math.exp(epsilon), rel=1e-6)


def test_the_closed_formula_is_that_of_two_words() -> None:
    """1 / (2 sinh(ε/2) √n), whatever the share."""
    for share in (0.0, 0.3, 1.0):
        exact = 1.0 / (2.0 * math.sinh(1.0) * math.sqrt(30.0))
        assert standard_deviation(2.0, 2, 30, share) == pytest.approx(exact)
