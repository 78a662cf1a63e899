"""Several coordinates and one budget: privacy of all answers together, and their information."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdp_core.adaptive import noise
from abcdp_core.adaptive import parameters as stream_params
from abcdp_core.adaptive.channels import Channel, Truncation, sign
from abcdp_core.adaptive.families import NORMAL
from abcdp_core.adaptive.vectors import Plan, shares, some, split, told
from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from abcdp_core.privacy import cost
from tests.statistics import assert_frequencies, rejects

Law = Callable[[Array], Array]
"""From a person's values ``(d,)`` to the probabilities of all answers."""

BUDGET = 3.0
make_optimal = functools.partial(stream_params.channel, "optimal")
MAKES = pytest.mark.parametrize("make", [sign, make_optimal], ids=["sign", "optimal"])


@given(st.floats(1e-3, 1e3), st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=10))
def test_shares_sum_to_the_budget_and_exactly_to_no_more(
    epsilon_total: float, weights: list[float]
) -> None:
    found = shares(epsilon_total, weights)
    assert sum(map(Fraction, found)) <= Fraction(epsilon_total)
    assert sum(found) == pytest.approx(epsilon_total, rel=1e-14)
    ratios = np.array(found) / weights
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-14)
    assert shares(epsilon_total, weights[:1]) == (epsilon_total,)


def test_budgets_and_weights_that_cannot_be_shared_are_refused() -> None:
    for budget, weights in (
        *((1.0, []), (0.0, [1.0]), (math.inf, [1.0]), (1.0, [1.0, 0.0]), (1.0, [1.0, math.inf])),
    ):
        with pytest.raises(ValueError, match="shares need"):
            shares(budget, weights)


def even(asked: int, x: Array) -> dict[tuple[int, ...], float]:
    """Every choice of coordinates equally likely, whatever the values are."""
    every = list(itertools.combinations(range(len(x)), asked))
    return dict.fromkeys(every, 1.0 / len(every))


def larger(asked: int, x: Array) -> dict[tuple[int, ...], float]:
    """A broken twin: the coordinate with the larger value is a little more likely."""
    first = 0.5 + 0.1 * float(np.sign(x[0] - x[1]))
    return {(0,): first, (1,): 1.0 - first}


def law_of(plan: Any, choose: Any = even) -> Law:
    """Exact probabilities of all a person can answer, including which coordinates."""

    def law(x: Array) -> Array:
        parts = []
        for asked, chance in choose(plan.asked, x).items():
            joint = np.array([chance])
            for j in asked:
                joint = np.outer(joint, plan.channels[j].probabilities([x[j]])[0]).ravel()
            parts.append(joint)
        return np.concatenate(parts)

    return law


def largest_ratio(plan: Any, choose: Any = even) -> float:
    """Largest log ratio over answers and pairs of people, with a value in each cell."""
    edges, law = plan.channels[0].edges, law_of(plan, choose)
    at = [edges[0] - 1.0, *(edges[1:] + edges[:-1]) / 2.0, edges[-1] + 1.0]
    table = np.array([law(np.array(x)) for x in itertools.product(at, repeat=2)])
    assert np.allclose(table.sum(axis=1), 1.0)
    return float(np.log(table.max(axis=0) / table.min(axis=0)).max())


@MAKES
def test_all_answers_together_cost_the_budget_and_broken_twins_cost_more(make) -> None:
    """A share used twice, shares that sum to 1.1 of the budget, a choice that sees the values."""
    for asked in (1, 2):
        plan = some(make, BUDGET, 2, asked)
        found = largest_ratio(plan)
        assert BUDGET - 1e-9 < found <= BUDGET * (1.0 + 1e-14)
        assert found - 1e-12 <= plan.event().epsilon <= BUDGET
    twice = Plan((make(BUDGET), make(BUDGET)), 2)
    above = split(make, 1.1 * BUDGET, [1.0, 1.0])
    for broken, factor in ((twice, 2.0), (above, 1.1)):
        assert largest_ratio(broken) > 1.05 * BUDGET
        assert broken.event().epsilon == pytest.approx(factor * BUDGET)
    assert largest_ratio(some(make, BUDGET, 2, 1), larger) > 1.05 * BUDGET


def test_answers_with_noise_cost_the_sum_of_their_shares() -> None:
    # What one answer costs is tested with its channel.
    make = functools.partial(stream_params.channel, "truncation")
    plan = split(make, BUDGET, [1.0, 3.0])
    first, second = (channel.epsilon for channel in plan.channels)
    assert first + second == pytest.approx(BUDGET, rel=1e-12)
    assert second / first == pytest.approx(3.0)
    assert BUDGET * (1.0 - 1e-14) < plan.event().epsilon <= BUDGET


def test_deltas_of_gaussian_noise_add_up() -> None:
    def make(epsilon: float) -> Channel:
        return Truncation(-1.0, 1.0, "gaussian", noise.unit_scale("gaussian", epsilon, 1e-6), 1e-6)

    spent = cost(split(make, BUDGET, [1.0, 1.0, 2.0]).event())
    assert spent.epsilon == pytest.approx(BUDGET, rel=1e-9)
    assert spent.epsilon <= BUDGET
    assert spent.delta == pytest.approx(3e-6)
    assert cost(some(make, BUDGET, 3, 1).event()).delta == pytest.approx(1e-6)
    assert cost(split(sign, BUDGET, [1.0, 1.0]).event()).delta == 0.0


def test_choices_are_even_and_know_no_values() -> None:
    chosen = some(sign, BUDGET, 3, 2).chosen(generator(1, "asked"), 6000)
    assert (chosen.sum(axis=1) == 2).all()
    uniform = np.full(3, 1.0 / 3.0)
    assert_frequencies((~chosen).sum(axis=0), uniform)
    # The twin leaves out the smallest value a little more often.
    values = generator(1, "people").standard_normal((6000, 3))
    seen = values + 3.0 * generator(1, "twin").standard_normal((6000, 3)) > 5.0
    broken = chosen.copy()
    broken[seen[:, 0]] = [True, True, False]
    assert rejects(assert_frequencies, (~broken).sum(axis=0), uniform)


PEOPLE = stream_params.StreamParams(n=12, particles=20, known_sigma=True)


@pytest.mark.parametrize("channel", ["truncation", "sign"])
@pytest.mark.parametrize(("dimension", "asked"), [(1, 1), (3, 1), (3, 3)])
def test_coordinates_are_streams_of_their_own_at_their_shares(
    dimension: int, asked: int, channel: str
) -> None:
    plan = some(functools.partial(stream_params.channel, channel), BUDGET, dimension, asked)
    shape = PEOPLE.n, dimension
    values = PEOPLE.mu + PEOPLE.sigma * generator(3, "people", 1).standard_normal(shape)
    chances = plan.channels[0].draw(generator(3, "noise", 1, 0), values.size).reshape(shape)
    chosen = plan.chosen(generator(3, "asked", 1), PEOPLE.n)
    sampler = PEOPLE.sampler_of("smc", channel)
    for j in range(dimension):
        # Values that nobody asks for change nothing.
        for seen in (values, values + 9.0 * ~chosen):
            followed = plan.follow(j, sampler, seen, chances, chosen, 3, 1)
            stream = PEOPLE.stream(BUDGET / asked, "smc", "adaptive", 3, dimension + j, channel)
            here = chosen[:, j]
            alone = stream.ask(None, 0, values[here, j], chances[here, j])
            assert [answer for _, answer in followed] == [answer for _, answer in alone]


def sign_told(epsilon: float) -> float:
    return 2.0 / math.pi * math.tanh(0.5 * epsilon) ** 2


def test_information_per_person_is_exact() -> None:
    found = told(sign, 5.0, 4, NORMAL)
    expected = [k / 4 * sign_told(5.0 / k) for k in range(1, 5)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert found.argmax() + 1 == 2
    each = split(sign, 5.0, [1.0, 4.0]).information(NORMAL)[:, 0, 0]
    np.testing.assert_allclose(each, [sign_told(1.0), sign_told(4.0)], rtol=1e-9)
