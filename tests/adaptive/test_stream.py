"""Intervals depend on earlier responses only, and samplers learn from what was answered."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdp_core.adaptive import noise
from abcdp_core.adaptive.best_channel import best
from abcdp_core.adaptive.channels import Truncation, mass, separate
from abcdp_core.adaptive.families import NORMAL
from abcdp_core.adaptive.grid import Grid
from abcdp_core.adaptive.latent import Latent
from abcdp_core.adaptive.particles import Response
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.smc import Smc
from abcdp_core.adaptive.stream import Answer, Sampler, Stream
from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator

PRIOR = Prior(50.0, 25.0, 5.0, 40.0)
PEOPLE = 16
ASKED = Truncation(-0.3, 0.4, "laplace", 0.5)
SAMPLERS: dict[str, Sampler] = {
    "smc": Smc(PRIOR, "laplace", 40),
    "latent": Latent(PRIOR, "laplace", 40, refresh=5),
    "grid": Grid(PRIOR, "laplace", 32),
}
EVERY = pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS.keys())
VALUES = 48.0 + 3.0 * generator(1, "people").standard_normal(PEOPLE)
NOISES = noise.draw(generator(1, "noise"), "laplace", PEOPLE)


def table(stream: Stream, values: Array = VALUES, noises: Array = NOISES) -> list[Answer]:
    return [asked for _, asked in stream.ask(None, 0, values, noises)]


@EVERY
def test_people_are_asked_around_a_particle_and_answer_with_noise(sampler: Sampler) -> None:
    state = sampler.start(generator(9, "start"))
    rows = Stream(sampler, ASKED).ask(state, 0, VALUES, NOISES)
    for t, (after, asked) in enumerate(rows):
        mu, sigma = state.theta[:, 0], np.exp(state.theta[:, 1])
        ends = np.column_stack([mu - 0.3 * sigma, mu + 0.4 * sigma])
        chosen = np.all(np.isclose(ends, [asked.left, asked.right], rtol=1e-12, atol=0.0), axis=1)
        assert state.weights[chosen].sum() > 0.0
        added = asked.response - min(max(VALUES[t], asked.left), asked.right)
        assert added == pytest.approx(0.5 * (asked.right - asked.left) * NOISES[t])
        assert asked.t == t + 1
        state = after


@EVERY
def test_an_interval_depends_on_earlier_responses_only(sampler: Sampler) -> None:
    stream = Stream(sampler, ASKED)
    expected = table(stream)
    first = list(stream.ask(None, 0, VALUES[:8], NOISES[:8]))
    rest = stream.ask(first[-1][0], 8, VALUES[8:], NOISES[8:])
    assert [row for _, row in first] + [row for _, row in rest] == expected, "in two parts"
    flipped = table(stream, VALUES, np.concatenate([NOISES[:10], -NOISES[10:]]))
    assert flipped[:10] == expected[:10]
    for person in (0, 11):
        replaced = VALUES.copy()
        replaced[person] += 40.0
        after = table(stream, replaced)
        assert after[:person] == expected[:person]
        ends = [(row.left, row.right) for row in (after[person], expected[person])]
        assert ends[0] == ends[1]
        assert after[person].response > expected[person].response
        assert after[person + 1 :] != expected[person + 1 :]


@dataclass(frozen=True)
class Recorder:
    """A sampler that remembers the particles and the responses that it was given."""

    inner: Any
    seen: list[Any] = dataclasses.field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def at(self, theta: Array) -> Any:
        self.seen.append(theta)
        return self.inner.at(theta)

    def step(self, rng: np.random.Generator, state: Any, response: Response) -> Any:
        self.seen.append(response)
        return self.inner.step(rng, state, response)


def test_the_papers_start_asks_near_0_and_begins_at_the_first_answer() -> None:
    recorder = Recorder(Latent(PRIOR, "laplace", 50))
    stream = Stream(recorder, ASKED, paper_start=True)
    rows = table(stream, np.array([51.0, 52.0]), np.array([1.0, -2.0]))
    assert (rows[0].left, rows[0].right) == (-0.3, 0.4)
    assert rows[0].response == pytest.approx(0.4 + 0.35)
    theta, first, second = recorder.seen
    assert (theta[:, 0] == rows[0].response).all()
    assert len(np.unique(theta[:, 1])) == 50
    assert first.value == rows[0].response
    # From then on as always: around a particle.
    sigmas = np.exp(theta[:, 1])
    assert np.isclose(second.left, rows[0].response - 0.3 * sigmas, rtol=1e-12).any()
    with pytest.raises(ValueError, match="paper_start"):
        Stream(Smc(Prior(), "laplace", 200), ASKED, paper_start=True)


@given(st.floats(-1e12, 1e12), st.floats(0.0, 1e6))
def test_ends_differ_and_wide_intervals_are_kept(left: float, width: float) -> None:
    right = left + width
    low, high = separate(left, right)
    assert low < high
    assert (low + high) / 2.0 == pytest.approx((left + right) / 2.0, rel=1e-15, abs=1e-15)
    apart = 1e-9 * max(1.0, abs(left), abs(right))
    assert high - low >= apart * (1.0 - 1e-6)
    assert (low, high) == (left, right) if right - left >= apart else low <= left <= right <= high


def test_the_grid_has_the_posterior_of_the_symbols() -> None:
    """Against the product of prior and probabilities on an even finer grid, σ known."""
    symbols, prior = best(3.0, score="trace").channel, Prior(0.0, 25.0, sigma=2.0)
    sampler, rng = Recorder(Grid(prior, "table")), generator(5, "table")
    values, chance = 3.0 + 2.0 * rng.standard_normal(60), rng.random(60)
    row = table(Stream(sampler, symbols, seed=2), values, chance)[-1]
    mu = np.linspace(-10.0, 15.0, 4001)
    log = -0.5 * mu**2 / 25.0
    for response in sampler.seen:
        low, high = ((end - mu) / 2.0 for end in (response.left, response.right))
        log += np.log1p(math.expm1(symbols.level) * mass(NORMAL, low, high))
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    mean = weights @ mu
    assert row.mean_mu == pytest.approx(mean, abs=1e-6)
    assert row.sd_mu == pytest.approx(math.sqrt(weights @ (mu - mean) ** 2), rel=1e-6)
