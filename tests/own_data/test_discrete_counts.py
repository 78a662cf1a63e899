"""Noise of counts: exact probabilities over all neighbours, its scale on the safe side, its law.

The mechanism's law is that of independent draws by :func:`laplace`, which is tested against the
closed form in ``tests/privacy``, and here once more at scales that are fractions. Power of the
simulation: see there.
"""

from __future__ import annotations

import itertools
import math
import random
import secrets
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from abcdp_core.output.settings import event_from_json, event_in_json
from abcdp_core.own_data.discrete_counts import (
    SENSITIVITY,
    CountNoise,
    count_noise,
    release_counts,
)
from abcdp_core.own_data.discrete_summary import PARTS
from abcdp_core.own_data.noisy_counts import NoisyCountsRequest, measure
from abcdp_core.parameters import EPSILON_TOTAL
from abcdp_core.privacy import cost
from abcdp_core.privacy.discrete import laplace
from tests.statistics import assert_frequencies, miss_probability, rejects

Array = NDArray[np.float64]

DRAWS = 20_000


def law(scale: float, reach: int) -> Array:
    """Probabilities of −reach .. reach."""
    ratio = math.exp(-1.0 / scale)
    found: Array = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-reach, reach + 1.0))
    return found


def counts_of(cells: tuple[int, ...], kinds: int) -> tuple[int, ...]:
    return tuple(cells.count(each) for each in range(kinds))


def worst_loss(scale: float, kinds: int, n: int, window: int) -> float:
    """Largest log-ratio over all data sets, neighbours and releases near them."""
    reach = window + n

    def log_probabilities(counts: tuple[int, ...]) -> Array:
        """Of every release in the window, ``(2 window + 1,) * kinds``."""
        each = np.log(law(scale, reach))
        places = np.arange(-window, window + 1)
        rows = [each[places - count + reach] for count in counts]
        return np.asarray(sum(np.ix_(*rows)))

    worst = 0.0
    for cells in itertools.combinations_with_replacement(range(kinds), n):
        own = log_probabilities(counts_of(cells, kinds))
        for place, value in itertools.product(range(n), range(kinds)):
            other = counts_of((*cells[:place], value, *cells[place + 1 :]), kinds)
            worst = max(worst, float(np.abs(own - log_probabilities(other)).max()))
    return worst


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_no_neighbour_changes_any_probability_by_more_than_the_budget(epsilon: float) -> None:
    noise = count_noise(epsilon, 3)
    assert worst_loss(noise.scale, kinds=3, n=3, window=5) == pytest.approx(
        SENSITIVITY / noise.scale
    )
    assert worst_loss(noise.scale, 3, 3, 5) <= epsilon * (1.0 + 1e-12)
    # With half the noise it is not so: the enumeration finds it.
    assert worst_loss(noise.scale / 2.0, 3, 3, 5) > 1.5 * epsilon


@given(st.floats(EPSILON_TOTAL.low, EPSILON_TOTAL.high))
def test_the_cost_is_at_most_the_budget_and_the_scale_a_fraction_that_floats_hold(
    epsilon: float,
) -> None:
    noise = count_noise(epsilon, 5)
    assert cost(noise).epsilon <= epsilon
    assert Fraction(SENSITIVITY) / Fraction(noise.scale) <= Fraction(repr(epsilon))
    units = noise.scale * PARTS
    assert units == int(units) >= 1
    assert (units - 1) / PARTS < SENSITIVITY / epsilon * (1.0 + 1e-12), "no more than it has to be"


def test_the_cost_of_round_budgets_is_all_of_them() -> None:
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        assert cost(count_noise(epsilon, 5)).epsilon == epsilon
    assert count_noise(1.0, 5) == CountNoise(2, 2.0, 5)
    # The grid takes little away from others, up to the largest one.
    for epsilon in (0.001, 0.3, 3.0, 70.0, 1000.0):
        assert cost(count_noise(epsilon, 5)).epsilon > 0.999 * epsilon


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_there_is_no_release_without_noise(epsilon: float) -> None:
    with pytest.raises(ValueError, match="must be positive and finite"):
        count_noise(epsilon, 5)


def test_an_event_is_the_same_after_json() -> None:
    event = count_noise(0.3, 5)
    assert event_from_json(event_in_json(event)) == event


def test_the_deviation_is_that_of_the_noise() -> None:
    for scale in (0.5, 2.0, 20.0):
        probabilities, places = law(scale, 2000), np.arange(-2000, 2001.0)
        deviation = math.sqrt(float(probabilities @ places**2))
        assert CountNoise(2, scale, 5).deviation == pytest.approx(deviation)


# ------------------------------------------------------------------------------- the draw


@pytest.mark.parametrize("scale", [PARTS // 2, 3 * PARTS // 2, 2 * PARTS, 2 * PARTS + 1])
def test_noise_at_a_scale_that_is_a_fraction_has_its_law(scale: int) -> None:
    randbelow, reach = random.Random(1).randrange, 6
    draws = np.array([laplace(scale, randbelow, PARTS) for _ in range(DRAWS)])

    def found(draws: NDArray[np.int64]) -> NDArray[np.int64]:
        within = np.where(np.abs(draws) > reach, 2 * reach + 1, draws + reach)
        return np.bincount(within, minlength=2 * reach + 2)

    def expected(factor: float) -> Array:
        inside = law(factor * scale / PARTS, reach)
        return np.append(inside, 1.0 - inside.sum())

    assert_frequencies(found(draws), expected(1.0))
    assert rejects(assert_frequencies, found(np.sign(draws) * (np.abs(draws) // 2)), expected(1.0))
    assert miss_probability(expected(1.0), expected(0.5), DRAWS) < 1e-9


def test_parts_are_whole_numbers_from_one_up() -> None:
    for parts in (0, -1, 2.0):
        with pytest.raises(ValueError, match=r"parts = .*: must be a whole number, at least 1"):
            laplace(1, parts=parts)  # type: ignore[arg-type]


def test_each_count_gets_noise_of_its_own() -> None:
    noise = count_noise(0.1, 5)
    randbelow, again = random.Random(3).randrange, random.Random(3).randrange
    released = release_counts((10, 0, 3, 7, 2000), noise, randbelow)
    scale = int(noise.scale * PARTS)
    alone = [count + laplace(scale, again, PARTS) for count in (10, 0, 3, 7, 2000)]
    assert released == alone
    with pytest.raises(ValueError, match="4 numbers: must be 5"):
        release_counts((1, 2, 3, 4), noise)


def test_the_noise_is_the_operating_system_s() -> None:
    assert release_counts.__defaults__ == (secrets.randbelow,)
    noise = count_noise(0.001, 5)
    assert len({tuple(release_counts((5,) * 5, noise)) for _ in range(5)}) == 5


# ----------------------------------------------------------------------------- the counting

ODD = (*(0.1 * k for k in range(-3, 14)), 0.3 - 1e-17, 1e300, -1e300, math.nextafter(0.6, 0.0))


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=10, max_size=14),
    st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(ODD),
    st.integers(0, 9),
    st.sampled_from([(0.0, 1.0), (-0.3, 0.1), (0.1, 0.3), (-1e300, 1e300), (1e-289, 2e-289)]),
)
def test_another_value_in_place_of_one_moves_two_counts_by_one_or_none(
    values: list[float], other: float, place: int, domain: tuple[float, float]
) -> None:
    request = NoisyCountsRequest("uniform-mixture", 1.0, *domain)
    before = measure(request, np.array(values), None)
    values[place] = other
    after = measure(request, np.array(values), None)
    moves = sorted(b - a for a, b in zip(before, after, strict=True) if a != b)
    assert moves in ([], [-1, 1])
    assert sum(before) == sum(after) == len(values)
