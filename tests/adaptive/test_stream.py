"""Who is asked where, and what can tell whom: intervals depend on earlier responses only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from abcdp_core.adaptive import noise
from abcdp_core.adaptive.best_channel import best
from abcdp_core.adaptive.channels import Table, Truncation, mass, separate
from abcdp_core.adaptive.families import NORMAL
from abcdp_core.adaptive.grid import Grid
from abcdp_core.adaptive.latent import Latent
from abcdp_core.adaptive.particles import Response
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.smc import Smc
from abcdp_core.adaptive.stream import Answer, Sampler, Stream
from abcdp_core.streams import generator

Array = NDArray[np.float64]

PRIOR = Prior(50.0, 25.0, 5.0, 40.0)
PEOPLE = 25
ASKED = Truncation(-0.3, 0.4, "laplace", 0.5)
SAMPLERS: dict[str, Sampler] = {
    "smc": Smc(PRIOR, "laplace", 40),
    "latent": Latent(PRIOR, "laplace", 40, refresh=5),
    "grid": Grid(PRIOR, "laplace", 32),
}
EVERY = pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS.keys())


def people(count: int = PEOPLE) -> tuple[Array, Array]:
    values = 48.0 + 3.0 * generator(1, "people").standard_normal(count)
    return values, noise.draw(generator(1, "noise"), "laplace", count)


def stream_of(sampler: Sampler, seed: int = 0, run: int = 0) -> Stream:
    return Stream(sampler, ASKED, seed=seed, run=run)


def table(stream: Stream, values: Array, noises: Array) -> list[Answer]:
    return [asked for _, asked in stream.ask(None, 0, values, noises)]


# ------------------------------------------------------------------------------- who is asked where


@EVERY
def test_people_are_asked_around_one_of_the_particles(sampler: Sampler) -> None:
    values, noises = people()
    state, stream = sampler.start(generator(9, "start")), stream_of(sampler)
    for after, asked in stream.ask(state, 0, values, noises):
        theta, weights = state.theta, state.weights
        mu, sigma = theta[:, 0], np.exp(theta[:, 1])
        ends = np.column_stack([mu - 0.3 * sigma, mu + 0.4 * sigma])
        chosen = np.all(np.isclose(ends, [asked.left, asked.right], rtol=1e-12, atol=0.0), axis=1)
        assert weights[chosen].sum() > 0.0
        state = after


def test_responses_are_the_clipped_values_plus_noise() -> None:
    values, noises = people()
    rows = table(stream_of(SAMPLERS["smc"]), values, noises)
    for row, value, drawn in zip(rows, values.tolist(), noises.tolist(), strict=True):
        clipped = min(max(value, row.left), row.right)
        assert row.response == pytest.approx(clipped + 0.5 * (row.right - row.left) * drawn)
    assert [row.t for row in rows] == list(range(1, PEOPLE + 1))


# ---------------------------------------------------------------------------------- what tells whom


@EVERY
def test_whoever_comes_later_changes_nothing_before(sampler: Sampler) -> None:
    values, noises = people()
    stream = stream_of(sampler)
    expected = table(stream, values, noises)
    assert table(stream, values[:10], noises[:10]) == expected[:10]
    others = np.concatenate([values[:10], 1000.0 - values[10:]])
    assert table(stream, others, noises)[:10] == expected[:10]
    assert table(stream, values, np.concatenate([noises[:10], -noises[10:]]))[:10] == expected[:10]


@EVERY
@pytest.mark.parametrize("person", [0, 11])
def test_nobodys_interval_reads_that_persons_value(sampler: Sampler, person: int) -> None:
    values, noises = people()
    replaced = values.copy()
    replaced[person] += 40.0
    stream = stream_of(sampler)
    before, after = table(stream, values, noises), table(stream, replaced, noises)
    assert after[:person] == before[:person]
    assert (after[person].left, after[person].right) == (before[person].left, before[person].right)
    assert after[person].response > before[person].response
    assert after[person + 1 :] != before[person + 1 :]


@EVERY
def test_going_on_later_is_the_same_as_going_through(sampler: Sampler) -> None:
    values, noises = people()
    stream = stream_of(sampler)
    expected = table(stream, values, noises)
    first = list(stream.ask(None, 0, values[:8], noises[:8]))
    rest = stream.ask(first[-1][0], 8, values[8:], noises[8:])
    assert [row for _, row in first] + [row for _, row in rest] == expected


# ------------------------------------------------------------------------------ the published start


@dataclass(frozen=True)
class Recorder:
    """A sampler that remembers the particles and the responses that it was given."""

    inner: Any
    seen: list[Any]

    @property
    def prior(self) -> Prior:
        return self.inner.prior

    @property
    def particles(self) -> int:
        return self.inner.particles

    def start(self, rng: np.random.Generator) -> Any:
        return self.inner.start(rng)

    def at(self, theta: Array) -> Any:
        self.seen.append(theta)
        return self.inner.at(theta)

    def step(self, rng: np.random.Generator, state: Any, response: Response) -> Any:
        self.seen.append(response)
        return self.inner.step(rng, state, response)


def test_the_papers_start_asks_near_0_and_begins_at_the_first_answer() -> None:
    recorder = Recorder(Latent(PRIOR, "laplace", 50), [])
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


def test_the_papers_start_is_refused_where_it_could_not_be_left() -> None:
    with pytest.raises(ValueError, match="paper_start"):
        Stream(Smc(Prior(), "laplace", 200), ASKED, paper_start=True)


# -------------------------------------------------------------------------------------- separate


@given(st.floats(-1e12, 1e12), st.floats(0.0, 1e6))
def test_ends_are_told_apart_and_wide_intervals_are_kept(left: float, width: float) -> None:
    right = left + width
    low, high = separate(left, right)
    assert low < high
    assert (low + high) / 2.0 == pytest.approx((left + right) / 2.0, rel=1e-15, abs=1e-15)
    apart = 1e-9 * max(1.0, abs(left), abs(right))
    assert high - low >= apart * (1.0 - 1e-6)
    if right - left >= apart:
        assert (low, high) == (left, right)
    else:
        assert low <= left
        assert high >= right


# ------------------------------------------------------------------------------ tables of symbols


def asked_by_table(table: Table, sampler: Sampler, n: int = 60) -> list[tuple[Any, Answer]]:
    rng = generator(5, "table")
    values, chance = 3.0 + 2.0 * rng.standard_normal(n), rng.random(n)
    return list(Stream(sampler, table, seed=2).ask(None, 0, values, chance))


def test_the_grid_has_the_posterior_of_the_symbols() -> None:
    """Against the product of prior and probabilities on an even finer grid, σ known."""
    table = best(3.0, score="trace").channel
    prior = Prior(0.0, 25.0, sigma=2.0)
    sampler = Recorder(Grid(prior, "table"), [])
    row = asked_by_table(table, sampler)[-1][1]
    mu = np.linspace(-10.0, 15.0, 4001)
    log = -0.5 * mu**2 / 25.0
    for response in sampler.seen:
        low, high = ((end - mu) / 2.0 for end in (response.left, response.right))
        log += np.log1p(math.expm1(table.level) * mass(NORMAL, low, high))
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    mean = weights @ mu
    assert row.mean_mu == pytest.approx(mean, abs=1e-6)
    assert row.sd_mu == pytest.approx(math.sqrt(weights @ (mu - mean) ** 2), rel=1e-6)
