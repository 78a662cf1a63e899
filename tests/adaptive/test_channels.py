"""Ways of asking: privacy of an answer, its probabilities, and its information."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

from abcdp_core.adaptive import channels
from abcdp_core.adaptive.best_channel import best
from abcdp_core.adaptive.channels import Table, sign
from abcdp_core.adaptive.families import FAMILIES, NORMAL
from abcdp_core.streams import generator
from tests import statistics

BUDGETS = pytest.mark.parametrize("epsilon_total", [0.001, 0.5, 1.0, 5.0, 10.0, 20.0])


def table_of(epsilon_total: float) -> Table:
    return best(epsilon_total, score="trace").channel


MAKES = pytest.mark.parametrize("make", [sign, table_of])


def values_around_edges(channel: Table) -> np.ndarray:
    """Values on, below and above every edge, and far away."""
    edges = channel.edges
    return np.concatenate([edges, np.nextafter(edges, -9.0), np.nextafter(edges, 9.0), [-50, 50]])


@BUDGETS
@MAKES
def test_the_cost_is_the_largest_ratio_of_any_two_people(make, epsilon_total: float) -> None:
    channel = make(epsilon_total)
    table = channel.probabilities(values_around_edges(channel))
    ratios = [np.log(one / other).max() for one, other in itertools.permutations(table, 2)]
    assert max(ratios) == pytest.approx(channel.epsilon, abs=1e-13)
    assert epsilon_total - 2e-12 < channel.epsilon <= epsilon_total
    assert max(ratios) <= epsilon_total


class ClosedAbove(Table):
    """A broken twin: the first symbol's set includes its upper end, the others' do not."""

    def inside(self, x):
        held = super().inside(x)
        held[:, 0] |= np.asarray(x) == self.ends[0][1]
        return held


def broken(channel: Table) -> list[tuple[type[Table], tuple, tuple, float]]:
    """Twins with a weight scaled, an end on the wrong side, a set moved, and ε doubled for one."""
    ends, weights, level = channel.ends, channel.weights, channel.level
    (low, high), *others = ends
    return [
        (Table, ends, (1.01 * weights[0], *weights[1:]), level),
        (Table, ends, tuple(0.99 * weight for weight in weights), level),
        (ClosedAbove, ends, weights, level),
        (Table, ((low, high + 0.01), *others), weights, level),
        (Table, ((high, math.inf), *others), weights, level),
        (Table, ends, (weights[0] * math.exp(level), *weights[1:]), level),
        (Table, ends, weights, 2.0 * level),
        (Table, ends, (0.0, *weights[1:]), level),
        (Table, ((0.0, 0.0), *others), weights, level),
        (Table, ends, weights, -level),
    ]


@MAKES
def test_tables_that_are_no_channel_are_refused(make) -> None:
    channel = make(3.0)
    Table(channel.ends, channel.weights, channel.level)
    for kind, *parts in broken(channel):
        with pytest.raises(ValueError, match=r"table needs|sum to 1"):
            kind(*parts)


@BUDGETS
def test_the_sign_in_closed_form(epsilon_total: float) -> None:
    channel = sign(epsilon_total)
    flipped = channel.probabilities([-0.3, 0.2])
    expected = 1.0 / (1.0 + math.exp(epsilon_total))
    np.testing.assert_allclose([flipped[0, 1], flipped[1, 0]], expected, rtol=1e-10)
    F = channel.information(NORMAL)
    about_mu = 2.0 / math.pi * math.tanh(0.5 * epsilon_total) ** 2
    np.testing.assert_allclose(F, np.diag([about_mu, 0.0]), rtol=1e-8, atol=1e-30)
    assert sign(1000.0) == sign(channels.MOST)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("location", "scale"), [(0.0, 1.0), (0.7, 1.8)])
def test_information_against_differences_of_the_probabilities(
    family: str, location: float, scale: float
) -> None:
    channel, base = table_of(5.0), FAMILIES[family]
    low, high = location + scale * np.array(channel.ends).T
    gain = math.expm1(channel.level)

    def probabilities(mu: float, sigma: float) -> np.ndarray:
        mass = channels.mass(base, (low - mu) / sigma, (high - mu) / sigma)
        return np.array(channel.weights) * (1.0 + gain * mass)

    step = 1e-5
    by_mu = (probabilities(step, 1.0) - probabilities(-step, 1.0)) / (2.0 * step)
    by_sigma = (probabilities(0.0, 1.0 + step) - probabilities(0.0, 1.0 - step)) / (2.0 * step)
    slopes, p = np.stack([by_mu, by_sigma]), probabilities(0.0, 1.0)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    found = channel.information(base, location, scale)
    np.testing.assert_allclose(found, (slopes / p) @ slopes.T, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_mass_of_sets_in_both_tails(family: str) -> None:
    base = FAMILIES[family]
    for low, high in [(-1.0, 0.5), (0.3, math.inf), (-math.inf, -2.0), (4.0, 4.5), (1.0, -0.5)]:
        pieces = [(low, high)] if low < high else [(-math.inf, high), (low, math.inf)]
        expected = sum(
            integrate.quad(lambda z: float(base.density(np.array(z))), a, b, epsabs=0.0)[0]
            for a, b in pieces
        )
        assert channels.mass(base, low, high) == pytest.approx(expected, rel=1e-7)
    assert channels.mass(base, 6.0, 7.0) == channels.mass(base, -7.0, -6.0)


@pytest.mark.parametrize("value", [-2.0, 0.1])
def test_symbols_come_as_often_as_the_table_says(value: float) -> None:
    channel, draws = table_of(3.0), 20_000
    expected = channel.probabilities([(value - 0.5) / 2.0])[0]
    drawn = channel.draw(generator(3, "channel"), draws)
    symbols = [int(channel.answer(value, u, 0.5, 2.0).value) for u in drawn.tolist()]
    counts = np.bincount(symbols, minlength=len(expected))
    statistics.assert_frequencies(counts, expected)
    assert statistics.rejects(statistics.assert_frequencies, counts, expected[::-1]), "broken twin"


def test_an_answer_is_drawn_from_the_table_of_the_persons_cell() -> None:
    channel = table_of(5.0)
    values = values_around_edges(channel)
    for value, each in zip(values.tolist(), channel.probabilities(values), strict=True):
        for drawn in (0.01, 0.3, 0.5, 0.7, 0.99):
            expected = int(np.sum(np.cumsum(each) <= drawn))
            assert channel.answer(value, drawn, 0.0, 1.0).value == expected
