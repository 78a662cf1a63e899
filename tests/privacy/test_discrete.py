"""Discrete Laplace noise against its distribution.

Power: 40 000 draws at a false alarm of 1e-6. A scale that is half of what it should be, or smaller
by √2, or draws of one parity only, are missed with a probability under 1e-9.
"""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.base.arrays import Array
from abcdp_core.privacy.discrete import RandBelow, bernoulli_exp, laplace
from tests.statistics import assert_distribution, assert_frequencies, miss_probability, rejects

DRAWS = 40_000


def seeded(seed: int) -> RandBelow:
    return random.Random(seed).randrange


def law(scale: float, reach: int) -> Array:
    """Probabilities of −reach .. reach, then of everything farther out."""
    noise = stats.dlaplace(1.0 / scale)
    return np.append(noise.pmf(np.arange(-reach, reach + 1)), 2.0 * noise.sf(reach))


def counts_of(draws: NDArray[np.int64], reach: int) -> NDArray[np.int64]:
    return np.bincount(np.where(np.abs(draws) > reach, 2 * reach + 1, draws + reach))


def draws_of(scale: int, seed: int) -> NDArray[np.int64]:
    randbelow = seeded(seed)
    return np.array([laplace(scale, randbelow) for _ in range(DRAWS)])


@pytest.mark.parametrize("scale", [1, 2, 5])
def test_every_whole_number_comes_up_as_often_as_it_should(scale: int) -> None:
    draws, reach = draws_of(scale, seed=1), 4 * scale
    probabilities = law(scale, reach)
    assert_frequencies(counts_of(draws, reach), probabilities)
    halved, even_only = np.sign(draws) * (np.abs(draws) // 2), draws - draws % 2
    for twin in (halved, even_only):
        assert rejects(assert_frequencies, counts_of(twin, reach), probabilities)
    for factor in (0.5, math.sqrt(0.5), math.sqrt(2.0), 2.0):
        assert miss_probability(probabilities, law(factor * scale, reach), DRAWS) < 1e-9


def test_a_large_scale_is_the_continuous_distribution_but_for_rounding() -> None:
    cdf, sample = stats.laplace.cdf, draws_of(10**13, seed=2) / 10**13
    assert_distribution(sample, cdf)
    assert rejects(assert_distribution, sample / 2.0, cdf)
    assert rejects(assert_distribution, sample / math.sqrt(2.0), cdf)


# ------------------------------------------------------------------ the exact coin


def every_way(
    coin: Callable[[RandBelow], bool], depth: int
) -> Iterator[tuple[bool | None, Fraction]]:
    """Results of a coin for all sequences of ``depth`` uniform numbers, with probabilities.

    ``None`` if it would ask for more of them. Equal prefixes are walked once.
    """
    stack: list[tuple[int, ...]] = [()]
    while stack:
        given = stack.pop()
        asked: list[int] = []

        def scripted(m: int, given: tuple[int, ...] = given, asked: list[int] = asked) -> int:
            asked.append(m)
            if len(asked) > len(given):
                raise IndexError
            return given[len(asked) - 1]

        try:
            shown = coin(scripted)
        except IndexError:
            if len(given) == depth:
                yield None, Fraction(1, math.prod(asked[:-1]))
            else:
                stack += [(*given, number) for number in range(asked[-1])]
        else:
            yield shown, Fraction(1, math.prod(asked))


@pytest.mark.parametrize("gamma", [(0, 3), (1, 3), (1, 2), (2, 3), (1, 1), (3, 3)])
def test_the_coin_is_exact(gamma: tuple[int, int]) -> None:
    # Everything possible in six steps, in rational arithmetic; the rest has at most 1/6!.
    shown = {True: Fraction(0), False: Fraction(0), None: Fraction(0)}
    for face, probability in every_way(lambda below: bernoulli_exp(*gamma, below), 6):
        shown[face] += probability
    assert sum(shown.values()) == 1
    assert shown[None] <= Fraction(1, math.factorial(6))
    expected = math.exp(-gamma[0] / gamma[1])
    assert float(shown[True]) <= expected <= float(shown[True] + shown[None]) + 1e-15


def test_by_default_the_operating_system_is_the_source() -> None:
    assert laplace.__defaults__ == (secrets.randbelow, 1)
    assert len({laplace(10**15) for _ in range(20)}) == 20
    for scale in (0, -1, 1.0, 1.5):
        with pytest.raises(ValueError, match="scale"):
            laplace(scale)  # type: ignore[arg-type]
