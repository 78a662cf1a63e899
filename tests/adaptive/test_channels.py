"""Ways of asking: noise and privacy of an answer, its probabilities, and its information.

The published script passes a Laplace scale to a generator that takes a standard deviation, so its
noise is smaller by √2 (MATH A11). Checks of noise also reject that.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from abcdp_core.adaptive import channels, noise
from abcdp_core.adaptive.best_channel import best
from abcdp_core.adaptive.channels import DiscreteChannel, answer, sign
from abcdp_core.adaptive.families import FAMILIES, NORMAL
from abcdp_core.adaptive.noise import NoiseFamily
from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from abcdp_core.privacy import Gaussian, Laplace, cost
from tests.statistics import assert_distribution, assert_frequencies, rejects

DRAWS = 20_000
"""A gap of 0.038 is seen with a probability of 1 − 1e-6; a scale off by √2 is 0.063 for Laplace
noise and 0.083 for Gaussian noise."""

EITHER = pytest.mark.parametrize("family", FAMILIES)

# -------------------------------------------------------------------------- the value with noise

LAW = {"laplace": stats.laplace, "gaussian": stats.norm}
KINDS = {"laplace": Laplace, "gaussian": Gaussian}
DELTA = 1e-5


@pytest.mark.parametrize("family", LAW)
def test_the_noise_of_answers_has_the_stated_scale_and_costs_the_budget(
    family: NoiseFamily,
) -> None:
    unit_scale = noise.unit_scale(family, 2.0, DELTA)
    drawn = noise.draw(generator(2, "noise"), family, DRAWS)
    assert_distribution(drawn, LAW[family].cdf)
    law = LAW[family](scale=3.0 * unit_scale)
    for value in (-3.0, 0.4, 90.0):
        answers = [answer(value, z, -1.0, 2.0, unit_scale) for z in drawn.tolist()]
        apart = np.array([found.value for found in answers]) - min(max(value, -1.0), 2.0)
        assert_distribution(apart, law.cdf)
        assert rejects(assert_distribution, apart / math.sqrt(2.0), law.cdf)
    for epsilon_total in (0.001, 1.0, 1000.0):
        scale = noise.unit_scale(family, epsilon_total, DELTA)
        event = noise.event(family, scale)
        assert event == KINDS[family](1.0, scale)
        spent = cost(event, DELTA)
        assert spent.epsilon == pytest.approx(epsilon_total, rel=1e-11)
        assert spent.delta == (0.0 if family == "laplace" else DELTA)
        assert spent.epsilon <= epsilon_total or family == "gaussian"


def largest_loss(left: float, right: float, unit_scale: float, shrunk: float = 1.0) -> float:
    """Largest |log p(y | x) − log p(y | x')| of an answer, its Laplace noise times ``shrunk``."""

    def added(value: float, drawn: float) -> float:
        return answer(value, drawn, left, right, unit_scale).value

    width = right - left
    values = left + width * np.array([-1e3, -1.0, 0.0, 0.2, 0.9, 1.0, 2.0, 1e3])
    clipped = np.array([added(value, 0.0) for value in values.tolist()])
    scale = added(left, shrunk) - added(left, 0.0)
    y = left + width * np.linspace(-3.0, 4.0, 71)
    log_density = -np.abs(y[:, None] - clipped) / scale
    return float(np.max(log_density.max(axis=1) - log_density.min(axis=1)))


@pytest.mark.parametrize("ends", [(-1.0, 2.0), (49.9, 50.1), (-1e6, 1e6)])
@pytest.mark.parametrize("epsilon_total", [0.01, 1.0, 20.0])
def test_one_answer_loses_epsilon_total_and_not_less(
    ends: tuple[float, float], epsilon_total: float
) -> None:
    unit_scale = noise.unit_scale("laplace", epsilon_total, DELTA)
    found = largest_loss(*ends, unit_scale)
    assert 0.999 * epsilon_total <= found <= epsilon_total * (1.0 + 1e-11)
    with_published = largest_loss(*ends, unit_scale, 1.0 / math.sqrt(2.0))
    assert with_published == pytest.approx(math.sqrt(2.0) * epsilon_total, rel=1e-11)


def test_no_answer_where_no_noise_can_be_scaled() -> None:
    for left, right in ((1.0, 1.0), (2.0, 1.0), (math.nan, 1.0), (0.0, math.inf)):
        with pytest.raises(FloatingPointError, match="no noise can be scaled"):
            answer(1.5, 0.1, left, right, 0.5)


# --------------------------------------------------------------------------- symbols from a table


def table_of(epsilon_total: float) -> DiscreteChannel:
    return best(epsilon_total, score="trace").channel


MAKES = pytest.mark.parametrize("make", [sign, table_of])


def values_around_edges(channel: DiscreteChannel) -> Array:
    """Values on, below and above every edge, and far away."""
    edges = channel.edges
    return np.concatenate([edges, np.nextafter(edges, -9.0), np.nextafter(edges, 9.0), [-50, 50]])


@pytest.mark.parametrize("epsilon_total", [0.001, 1.0, 5.0, 20.0])
@MAKES
def test_the_cost_is_the_largest_ratio_of_any_two_people(make, epsilon_total: float) -> None:
    channel = make(epsilon_total)
    table = channel.probabilities(values_around_edges(channel))
    ratios = [np.log(one / other).max() for one, other in itertools.permutations(table, 2)]
    assert max(ratios) == pytest.approx(channel.epsilon, abs=1e-13)
    assert epsilon_total - 2e-12 < channel.epsilon <= epsilon_total
    assert max(ratios) <= epsilon_total


class ClosedAbove(DiscreteChannel):
    """A broken twin: the first symbol's set includes its upper end, the others' do not."""

    def inside(self, x):
        held = super().inside(x)
        held[:, 0] |= np.asarray(x) == self.ends[0][1]
        return held


@MAKES
def test_tables_that_are_no_channel_are_refused(make) -> None:
    channel = make(3.0)
    ends, weights, level = channel.ends, channel.weights, channel.level
    (low, high), *others = ends
    DiscreteChannel(ends, weights, level)
    for kind, *parts in (
        (DiscreteChannel, ends, (1.01 * weights[0], *weights[1:]), level),
        (DiscreteChannel, ends, tuple(0.99 * weight for weight in weights), level),
        (ClosedAbove, ends, weights, level),
        (DiscreteChannel, ((low, high + 0.01), *others), weights, level),
        (DiscreteChannel, ends, (weights[0] * math.exp(level), *weights[1:]), level),
        (DiscreteChannel, ends, weights, 2.0 * level),
        (DiscreteChannel, ends, (0.0, *weights[1:]), level),
        (DiscreteChannel, ((0.0, 0.0), *others), weights, level),
        (DiscreteChannel, ends, weights, -level),
    ):
        with pytest.raises(ValueError, match=r"table needs|sum to 1"):
            kind(*parts)


@pytest.mark.parametrize("epsilon_total", [0.001, 1.0, 10.0])
def test_the_sign_in_closed_form(epsilon_total: float) -> None:
    channel = sign(epsilon_total)
    flipped = channel.probabilities([-0.3, 0.2])
    expected = 1.0 / (1.0 + math.exp(epsilon_total))
    np.testing.assert_allclose([flipped[0, 1], flipped[1, 0]], expected, rtol=1e-10)
    about_mu = 2.0 / math.pi * math.tanh(0.5 * epsilon_total) ** 2
    found = channel.information(NORMAL)
    np.testing.assert_allclose(found, np.diag([about_mu, 0.0]), rtol=1e-8, atol=1e-30)
    assert sign(1000.0) == sign(channels.MOST)


@EITHER
def test_information_against_differences_of_the_probabilities(family: str) -> None:
    channel, base, step = table_of(5.0), FAMILIES[family], 1e-5
    gain = math.expm1(channel.level)
    for location, scale in ((0.0, 1.0), (0.7, 1.8)):
        low, high = location + scale * np.array(channel.ends).T

        def probabilities(mu: float, sigma: float, low: Array = low, high: Array = high) -> Array:
            mass = channels.mass(base, (low - mu) / sigma, (high - mu) / sigma)
            return np.array(channel.weights) * (1.0 + gain * mass)

        by_mu = (probabilities(step, 1.0) - probabilities(-step, 1.0)) / (2.0 * step)
        by_sigma = (probabilities(0.0, 1.0 + step) - probabilities(0.0, 1.0 - step)) / (2.0 * step)
        slopes, p = np.stack([by_mu, by_sigma]), probabilities(0.0, 1.0)
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        found = channel.information(base, location, scale)
        np.testing.assert_allclose(found, (slopes / p) @ slopes.T, rtol=1e-6, atol=1e-9)


@EITHER
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


def test_symbols_come_from_the_table_of_the_persons_cell_as_often_as_it_says() -> None:
    channel = table_of(5.0)
    values = values_around_edges(channel)
    for value, each in zip(values.tolist(), channel.probabilities(values), strict=True):
        for drawn in (0.01, 0.3, 0.5, 0.7, 0.99):
            expected = int(np.sum(np.cumsum(each) <= drawn))
            assert channel.answer(value, drawn, 0.0, 1.0).value == expected
    uniform = channel.draw(generator(3, "channel"), DRAWS).tolist()
    for value in (-2.0, 0.1):
        probabilities = channel.probabilities([(value - 0.5) / 2.0])[0]
        symbols = [int(channel.answer(value, u, 0.5, 2.0).value) for u in uniform]
        counts = np.bincount(symbols, minlength=len(probabilities))
        assert_frequencies(counts, probabilities)
        assert rejects(assert_frequencies, counts, probabilities[::-1])
