"""Ways of asking: what an answer costs, how often it comes, and what it tells."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate

from abcdp_core.adaptive import channels
from abcdp_core.adaptive.best_channel import best
from abcdp_core.adaptive.channels import Table, sign
from abcdp_core.adaptive.families import FAMILIES, NORMAL
from abcdp_core.adaptive.response import log_density_table, log_likelihood, score_table
from abcdp_core.streams import generator
from tests import statistics

BUDGETS = pytest.mark.parametrize("epsilon_total", [0.001, 0.5, 1.0, 5.0, 10.0, 20.0])


def table_of(epsilon_total: float) -> Table:
    return best(epsilon_total, score="trace").channel


@BUDGETS
@pytest.mark.parametrize("make", [sign, table_of])
def test_a_table_costs_its_budget_to_rounding_and_never_more(make, epsilon_total: float) -> None:
    channel = make(epsilon_total)
    assert epsilon_total - 2e-12 < channel.epsilon <= epsilon_total


def largest_ratio(channel: Table) -> float:
    """Logarithm of the largest ratio by brute force over values on, below and above every edge."""
    edges = channel.edges()
    x = np.concatenate([edges, np.nextafter(edges, -9.0), np.nextafter(edges, 9.0), [-50.0, 50.0]])
    table = channel.probabilities(x)
    np.testing.assert_allclose(channel._raw(x).sum(axis=1), 1.0, atol=1e-12)
    return max(
        math.log(one[k] / other[k]) for one in table for other in table for k in range(len(one))
    )


@pytest.mark.parametrize("epsilon_total", [0.5, 5.0])
def test_the_cost_is_the_largest_ratio_of_any_two_people(epsilon_total: float) -> None:
    channel = table_of(epsilon_total)
    found = largest_ratio(channel)
    assert found == pytest.approx(channel.epsilon, abs=1e-13)
    assert found <= epsilon_total


class ClosedAbove(Table):
    """A broken twin: the first symbol's set has its upper end in it, the others' do not."""

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
        (Table, ends, weights[1:], level),
        (Table, ((0.0, 0.0), *others), weights, level),
        (Table, ends, weights, -level),
        (Table, ends, weights, channels.MOST + 1.0),
    ]


@pytest.mark.parametrize("make", [sign, table_of])
def test_what_is_no_channel_is_refused(make) -> None:
    channel = make(3.0)
    Table(channel.ends, channel.weights, channel.level)
    for kind, *parts in broken(channel):
        with pytest.raises(ValueError, match=r"table needs|sum to 1"):
            kind(*parts)


def test_beyond_a_level_no_more_is_spent() -> None:
    assert sign(1000.0) == sign(30.0)
    assert sign(1000.0).epsilon == pytest.approx(30.0, abs=2e-12)
    assert sign(29.0).epsilon > 28.9


@BUDGETS
def test_the_sign_in_closed_form(epsilon_total: float) -> None:
    channel = sign(epsilon_total)
    flipped = channel.probabilities([-0.3, 0.2])
    expected = 1.0 / (1.0 + math.exp(epsilon_total))
    np.testing.assert_allclose([flipped[0, 1], flipped[1, 0]], expected, rtol=1e-10)
    F = channel.information(NORMAL)
    told = 2.0 / math.pi * math.tanh(0.5 * epsilon_total) ** 2
    np.testing.assert_allclose(F, np.diag([told, 0.0]), rtol=1e-8, atol=1e-30)


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
    # The upper tail is as good as the lower.
    assert channels.mass(base, 6.0, 7.0) == channels.mass(base, -7.0, -6.0)
    assert channels.mass(base, 7.0, -7.0) == pytest.approx(2.0 * float(base.cdf(np.array(-7.0))))


def test_the_likelihood_is_that_of_the_symbol() -> None:
    channel, location, scale = table_of(5.0), 1.3, 0.8
    theta = np.array([[1.0, -0.2], [3.0, 0.4], [-40.0, 0.1]])
    gain = math.expm1(channel.level)
    draws = generator(1, "draws").random(40)
    for drawn in draws.tolist():
        response = channel.answer(1.1, drawn, location, scale)
        low, high = channel.ends[int(response.value)]
        found = log_likelihood(theta, np.array([response]), channel.kind)
        sigma = np.exp(theta[:, 1])
        ends = [(location + scale * end - theta[:, 0]) / sigma for end in (low, high)]
        expected = np.log1p(gain * channels.mass(NORMAL, *ends))
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


def test_far_away_nothing_is_lost_to_rounding() -> None:
    gain = math.expm1(channels.MOST)
    assert log_density_table(40.0, 41.0, gain, 0.0, 1.0) == 0.0
    assert log_density_table(41.0, 40.0, gain, 0.0, 1.0) == pytest.approx(channels.MOST)
    assert score_table(40.0, 41.0, gain, 0.0, 1.0) == (0.0, 0.0)
    twin = log_density_table(-8.0, -7.0, gain, 0.0, 1.0)
    assert log_density_table(7.0, 8.0, gain, 0.0, 1.0) == twin > 2.0


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
    edges = channel.edges()
    values = np.concatenate([edges, np.nextafter(edges, -9.0), np.nextafter(edges, 9.0), [-9, 9]])
    for value, each in zip(values.tolist(), channel.probabilities(values), strict=True):
        for drawn in (0.01, 0.3, 0.5, 0.7, 0.99):
            expected = int(np.sum(np.cumsum(each) <= drawn))
            assert channel.answer(value, drawn, 0.0, 1.0).value == expected
