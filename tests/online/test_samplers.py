"""Every sampler against the posterior on a grid, and broken twins that the same test rejects.

All take in the same fixed list of responses, asked around the truth as a stream would ask them. The
reference is a fine grid over a wide box, by the closed-form density alone. Estimates are the mean
and the standard deviation of μ and log σ; particles and chains are repeated with other seeds, and
the mean over the repeats is tested (Student's t at 1e-6, see tests.statistics).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from abcdp_core import summaries
from abcdp_core.online import batch, latent, noise, smc
from abcdp_core.online.batch import Batch
from abcdp_core.online.channels import answer
from abcdp_core.online.grid import Grid
from abcdp_core.online.latent import Latent
from abcdp_core.online.noise import NoiseFamily
from abcdp_core.online.particles import Response
from abcdp_core.online.prior import Prior
from abcdp_core.online.response import log_likelihood
from abcdp_core.online.single import LANES, exponentials, normals, relative, streams
from abcdp_core.online.smc import Smc
from abcdp_core.online.stream import Adaptive, Sampler, Stream
from abcdp_core.streams import generator
from tests.statistics import assert_frequencies, assert_mean_of_repeats, rejects

Array = NDArray[np.float64]

PRIOR = Prior(50.0, 25.0, 5.0, 40.0)
KNOWN = Prior(50.0, 25.0, sigma=3.0)
PEOPLE, FEW = 60, 20
UNIT_SCALE = 0.2
REPEATS = 24
FAMILIES: tuple[NoiseFamily, ...] = ("laplace", "gaussian")
EITHER = pytest.mark.parametrize("family", FAMILIES)


@functools.cache
def responses(family: NoiseFamily) -> list[Response]:
    """People with μ = 53 and σ = 3, asked around μ and σ as uncertain as in a stream."""
    rng = generator(1, "responses")
    found = []
    for t, value in enumerate((53.0 + 3.0 * rng.standard_normal(PEOPLE)).tolist()):
        middle = 53.0 + 3.0 * rng.standard_normal() / math.sqrt(1.0 + t / 4.0)
        half = (0.7 if t % 2 else 2.0) * 3.0 * math.exp(0.2 * rng.standard_normal())
        drawn = float(noise.draw(rng, family, 1)[0])
        found.append(answer(value, drawn, middle - half, middle + half, UNIT_SCALE))
    return found


def estimates(theta: Array, weights: Array) -> Array:
    """Mean and standard deviation of μ and log σ, ``(4,)``."""
    mean = summaries.weighted_mean(theta, weights)
    spread = np.sqrt(summaries.weighted_mean((theta - mean) ** 2, weights))
    return np.concatenate([mean, spread])


@functools.cache
def reference(family: NoiseFamily, count: int = PEOPLE, prior: Prior = PRIOR) -> Array:
    """The estimates by brute force: 201 × 201 points on a wide box."""
    spread = 5.0 / math.sqrt(1.0 + count / 8.0)
    mu = np.linspace(53.0 - 11.0 * spread, 53.0 + 11.0 * spread, 201)
    log_sigma = np.linspace(-0.9, 3.8, 201) if prior.sigma is None else [math.log(prior.sigma)]
    theta = np.stack(np.meshgrid(mu, log_sigma, indexing="ij"), axis=-1).reshape(-1, 2)
    log_posterior = prior.log_density(theta)
    log_posterior += log_likelihood(theta, np.array(responses(family)[:count]), family)
    weights = np.exp(log_posterior - log_posterior.max())
    on_edge = (theta[:, 0] == mu[0]) | (theta[:, 0] == mu[-1])
    if prior.sigma is None:
        on_edge |= (theta[:, 1] == log_sigma[0]) | (theta[:, 1] == log_sigma[-1])
    assert weights[on_edge].max() < 1e-9
    return estimates(theta, weights / weights.sum())


def final(sampler: Sampler, rng: np.random.Generator, family: NoiseFamily, count: int) -> Any:
    state = sampler.start(rng)
    for response in responses(family)[:count]:
        state, _ = sampler.step(rng, state, response)
    return state


def repeats(
    sampler: Sampler, family: NoiseFamily, count: int = PEOPLE, number: int = REPEATS
) -> Array:
    """Estimates ``(R, 4)`` of independent runs."""
    found = []
    for run in range(number):
        state = final(sampler, generator(2, "repeats", run), family, count)
        found.append(estimates(state.theta, state.weights))
    return np.array(found)


BIAS = np.array([0.02, 0.02, 0.04, 0.04])
"""Allowed for the 1/N bias of a few hundred particles, in posterior standard deviations: of the two
means and the two standard deviations."""


def agree(values: Array, expected: Array) -> None:
    """Repeats ``(R, 4)`` have the posterior's estimates as their mean.

    With the particles and chains used here one repeat has a spread of 0.03 to 0.16 posterior
    standard deviations, so the test fails from an error of 0.1 to 0.25 of them on.
    """
    spread = np.tile(expected[2:], 2)
    varied = spread > 1e-9
    assert_mean_of_repeats(values[:, varied], expected[varied], (BIAS * spread)[varied])
    assert np.abs(values - expected)[:, ~varied].max(initial=0.0) < 1e-9


# ------------------------------------------------------------------------------------------- grid


@EITHER
@pytest.mark.parametrize("prior", [PRIOR, KNOWN], ids=["unknown", "known"])
@pytest.mark.parametrize("count", [1, PEOPLE])
def test_the_grid_is_the_posterior(family: NoiseFamily, prior: Prior, count: int) -> None:
    state = final(Grid(prior, family), generator(0, "unused"), family, count)
    found, expected = estimates(state.theta, state.weights), reference(family, count, prior)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-6)


def test_a_coarser_grid_says_the_same() -> None:
    # Grids are laid anew as the posterior shrinks, at other times for another size.
    states = [
        final(Grid(PRIOR, "laplace", size), generator(0, "unused"), "laplace", PEOPLE)
        for size in (48, 120)
    ]
    first, second = (estimates(state.theta, state.weights) for state in states)
    np.testing.assert_allclose(first, second, atol=1e-6)


# ---------------------------------------------------------------------------- particles and chains


def test_a_known_sigma_stays_what_it_is() -> None:
    state = final(Smc(KNOWN, "laplace", 50), generator(2, "known"), "laplace", FEW)
    assert len(np.unique(state.theta[:, 0])) > 25
    np.testing.assert_array_equal(state.theta[:, 1], math.log(3.0))


SAMPLERS: dict[str, tuple[Sampler, int]] = {
    "smc": (Smc(PRIOR, "laplace", 400), PEOPLE),
    "smc-gaussian": (Smc(PRIOR, "gaussian", 400), PEOPLE),
    "smc-multinomial": (Smc(PRIOR, "laplace", 400, resampling="multinomial"), PEOPLE),
    "smc-always-moves": (Smc(PRIOR, "laplace", 200, resample_below=1.01, sweeps=1), FEW),
    "smc-known-sigma": (Smc(KNOWN, "laplace", 200), FEW),
    "latent": (Latent(PRIOR, "laplace", 200), PEOPLE),
    "latent-gaussian": (Latent(PRIOR, "gaussian", 300), FEW),
    "latent-multinomial": (Latent(PRIOR, "laplace", 300, resampling="multinomial"), FEW),
    "latent-refresh": (Latent(PRIOR, "laplace", 400, refresh=20), PEOPLE),
    "latent-known-sigma": (Latent(KNOWN, "laplace", 200), FEW),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_particles_agree_with_the_grid(name: str) -> None:
    sampler: Any
    sampler, count = SAMPLERS[name]
    agree(repeats(sampler, sampler.noise, count), reference(sampler.noise, count, sampler.prior))


def chain(batch: Batch, run: int) -> Array:
    """Estimates ``(4,)`` of one chain, which adapts piece by piece during its burn-in."""
    rng = generator(3, "chain", run)
    rows = np.array(responses(batch.noise))
    walk = batch.start(rng, rows)
    for _ in range(batch.iterations // 250):
        walk = batch.go_on(rng, walk, rows, 250)
    kept = batch.kept(walk)
    return estimates(kept, np.full(len(kept), 1.0 / len(kept)))


CHAINS: dict[str, Batch] = {
    "mh": Batch(PRIOR, "laplace", 4000, 0.25),
    "mh-gaussian": Batch(PRIOR, "gaussian", 3000, 0.25),
    "mh-known-sigma": Batch(KNOWN, "laplace", 3000, 0.25),
    "mhaar": Batch(PRIOR, "laplace", 2000, 0.25, 20),
    "mhaar-gaussian": Batch(PRIOR, "gaussian", 1500, 0.25, 20),
    "mhaar-two-candidates": Batch(PRIOR, "laplace", 8000, 0.25, 2),
    "mhaar-known-sigma": Batch(KNOWN, "laplace", 1000, 0.25, 20),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains_agree_with_the_grid(name: str) -> None:
    batch = CHAINS[name]
    values = np.array([chain(batch, run) for run in range(REPEATS)])
    agree(values, reference(batch.noise, PEOPLE, batch.prior))


# ------------------------------------------------------------------------------- negative controls


class Flat(Prior):
    """A prior that is drawn from but forgotten in moves."""

    def log_density(self, theta: Array) -> Array:
        return np.zeros(len(theta))


class Counting(Smc):
    """Counts the likelihood twice: weights are not reset after resampling."""

    def _move(self, *arguments: Any) -> Any:
        state, info = super()._move(*arguments)
        return dataclasses.replace(state, log_weights=state.log_likelihood), info


class Unmoved(Smc):
    """Resamples, but believes that its particles are as likely as their neighbours."""

    def _likelihood(self, theta: Array, rows: Array) -> Array:
        return super()._likelihood(theta, rows[:-8])


BROKEN: dict[str, Sampler] = {
    "the prior is skipped in moves": Smc(Flat(50.0, 25.0, 5.0, 40.0), "laplace", 500),
    "weights are not reset": Counting(PRIOR, "laplace", 500),
    "moves leave the last responses out": Unmoved(PRIOR, "laplace", 500),
    "another noise is believed": Smc(PRIOR, "gaussian", 500),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_particles_are_rejected(name: str) -> None:
    values = repeats(BROKEN[name], "laplace")
    assert rejects(agree, values, reference("laplace"))


def test_another_noise_scale_is_seen_in_the_posterior() -> None:
    # What a model takes in that believes in noise smaller by √2 than there is.
    sampler, values = SAMPLERS["smc"][0], []
    for run in range(REPEATS):
        rng = generator(2, "repeats", run)
        state = sampler.start(rng)
        for response in responses("laplace"):
            believed = response._replace(scale=response.scale / math.sqrt(2.0))
            state, _ = sampler.step(rng, state, believed)
        values.append(estimates(state.theta, state.weights))
    assert rejects(agree, np.array(values), reference("laplace"))


Redraw = Callable[[Array], Array]
"""From the weights ``(R, n, M)`` after a rejection to those that the values are redrawn by."""

RULES: dict[str, Redraw] = {
    "by weight": lambda weights: weights,
    "uniformly": np.ones_like,
    "kept": lambda weights: np.broadcast_to(np.arange(weights.shape[2]) == 0, weights.shape) * 1.0,
}
CANDIDATES, STEPS = 4, 2500


def mhaar_twin(rule: Redraw) -> Array:
    """Estimates ``(R, 4)`` of independent chains of averaged acceptance ratios, all at a time."""
    rng = generator(4, "mhaar")
    rows = np.array(responses("laplace")[:FEW])
    y, left, right, scale = (rows[:, i, None] for i in range(4))
    expected = reference("laplace", FEW)
    theta = np.tile(expected[:2], (REPEATS, 1))
    latents = rng.standard_normal((REPEATS, FEW))
    path = np.empty((STEPS, REPEATS, 2))

    def weigh(theta: Array, z: Array) -> Array:
        x = theta[:, 0, None, None] + np.exp(theta[:, 1, None, None]) * z
        return np.exp(-np.abs(y - np.clip(x, left, right)) / scale)

    for step in range(STEPS):
        proposed = theta + 2.5 * expected[2:] * rng.standard_normal(theta.shape)
        z = rng.standard_normal((REPEATS, FEW, CANDIDATES))
        z[:, :, 0] = latents
        old, new = weigh(theta, z), weigh(proposed, z)
        gain = PRIOR.log_density(proposed) - PRIOR.log_density(theta)
        gain += np.log(new.sum(axis=2) / old.sum(axis=2)).sum(axis=1)
        moved = -rng.standard_exponential(REPEATS) < gain
        theta = np.where(moved[:, None], proposed, theta)
        by = np.where(moved[:, None, None], new, rule(old))
        edges = np.cumsum(by, axis=2)
        point = rng.random((REPEATS, FEW, 1)) * edges[:, :, -1:]
        drawn = np.sum(edges <= point, axis=2).clip(max=CANDIDATES - 1)
        latents = np.take_along_axis(z, drawn[:, :, None], axis=2)[:, :, 0]
        path[step] = theta
    equal = np.full(STEPS - 500, 1.0 / (STEPS - 500))
    return np.array([estimates(path[500:, run], equal) for run in range(REPEATS)])


@pytest.mark.parametrize("rule", RULES)
def test_latent_values_must_be_redrawn_by_their_weights(rule: str) -> None:
    # Keeping them after a rejection is a valid rule too (MATH A9), if slower.
    is_rejected = rejects(agree, mhaar_twin(RULES[rule]), reference("laplace", FEW))
    assert is_rejected == (rule == "uniformly")


# ------------------------------------------------------------------------------------------ purity


ONLINE: dict[str, Callable[[NoiseFamily], Sampler]] = {
    "smc": lambda family: Smc(PRIOR, family, 60),
    "latent": lambda family: Latent(PRIOR, family, 60),
    "latent-refresh": lambda family: Latent(PRIOR, family, 60, 3),
    "grid": lambda family: Grid(PRIOR, family, 32),
}
EVERY = pytest.mark.parametrize("name", ONLINE)


def copy_of(state: Any) -> dict[str, Any]:
    """What a state holds, arrays copied."""
    held = {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
    held["history"] = held["history"].rows
    if "room" in held:
        # Beyond the values there is room whose content means nothing.
        held["room"] = state.values
    return {key: np.array(value) for key, value in held.items()}


def same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return all(np.array_equal(first[key], second[key]) for key in first)


@EVERY
def test_a_step_leaves_its_state_as_it_was(name: str) -> None:
    sampler, rng = ONLINE[name]("laplace"), generator(5, "purity")
    state = sampler.start(rng)
    for response in responses("laplace")[:25]:
        before = copy_of(state)
        after, _ = sampler.step(rng, state, response)
        assert same(copy_of(state), before)
        assert not same(copy_of(after), before)
        state = after


@EVERY
def test_a_state_can_be_gone_on_from_twice(name: str) -> None:
    sampler = ONLINE[name]("laplace")
    state = final(sampler, generator(6, "purity"), "laplace", 12)
    one, other = responses("laplace")[12:14]
    first = sampler.step(generator(7, "purity"), state, one)[0]
    kept = copy_of(first)
    sampler.step(generator(8, "purity"), state, other)
    assert same(copy_of(first), kept)
    assert same(copy_of(sampler.step(generator(7, "purity"), state, one)[0]), kept)


@pytest.mark.parametrize("candidates", [0, 3])
def test_a_piece_of_a_chain_leaves_the_walk_as_it_was(candidates: int) -> None:
    batch = Batch(PRIOR, "laplace", 100, 0.2, candidates)
    rows = np.array(responses("laplace")[:10])
    walk = batch.go_on(generator(1, "a"), batch.start(generator(0, "a"), rows), rows, 20)
    theta, values = walk.theta.copy(), walk.latent.copy()
    first = batch.go_on(generator(2, "a"), walk, rows, 30)
    again = batch.go_on(generator(2, "a"), walk, rows, 30)
    assert np.array_equal(walk.theta, theta)
    assert np.array_equal(walk.latent, values)
    assert np.array_equal(first.theta, again.theta)
    assert len(first.theta) == 51
    assert walk.accepted <= first.accepted == again.accepted


@pytest.mark.parametrize("name", ["smc", "latent", "latent-refresh"])
def test_the_number_of_threads_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for count in (1, 3):
        for module in (smc, latent):
            monkeypatch.setattr(module, "threads", lambda _, count=count: count)
        state = final(ONLINE[name]("laplace"), generator(9, "threads"), "laplace", 30)
        found.append(copy_of(state))
    assert same(*found)


# -------------------------------------------------------------------------------------- robustness


def is_sound(state: Any) -> bool:
    weights = state.weights
    return bool(np.isfinite(state.theta).all() and abs(weights.sum() - 1.0) < 1e-9)


@EITHER
@pytest.mark.parametrize("sampler", [Smc, Latent])
@pytest.mark.parametrize("particles", [1, 2])
def test_one_or_two_particles_are_enough_to_go_on(
    sampler: Callable[..., Sampler], particles: int, family: NoiseFamily
) -> None:
    state = final(sampler(PRIOR, family, particles), generator(10, "few"), family, 30)
    assert state.theta.shape == (particles, 2)
    assert is_sound(state)


@EITHER
@pytest.mark.parametrize("sampler", [Smc, Latent])
@pytest.mark.parametrize("mu", [-1e6, 1e4])
def test_particles_far_from_all_responses_still_have_weights(
    sampler: Callable[..., Any], mu: float, family: NoiseFamily
) -> None:
    rng, made = generator(11, "far"), sampler(PRIOR, family, 50)
    theta = made.prior.draw(rng, 50)
    theta[:, 0] += mu
    state = made.at(theta)
    for response in responses(family)[:20]:
        state, info = made.step(rng, state, response)
        assert is_sound(state)
        assert 0.0 < info.effective_sample_size <= 50.0 * (1.0 + 1e-9)


@EVERY
@EITHER
@pytest.mark.parametrize("scales", [-5000.0, 5000.0, 1e6])
def test_a_response_thousands_of_scales_outside_is_taken_in(
    scales: float, family: NoiseFamily, name: str
) -> None:
    sampler, rng = ONLINE[name](family), generator(12, "outside")
    state = final(sampler, rng, family, 5)
    for _ in range(3):
        state, _ = sampler.step(rng, state, Response(52.0 + 0.8 * scales, 50.0, 54.0, 0.8))
        assert is_sound(state)


@EVERY
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("epsilon_total", [0.001, 1000.0])
@pytest.mark.parametrize("prior", [Prior(), KNOWN], ids=["paper", "known"])
def test_streams_at_extreme_budgets_are_finite(
    prior: Prior, epsilon_total: float, family: NoiseFamily, name: str
) -> None:
    unit_scale = noise.unit_scale(family, epsilon_total, 1e-5)
    half = 5e-5 if epsilon_total < 1.0 else 3.0
    sampler = dataclasses.replace(ONLINE[name](family), prior=prior)  # type: ignore[type-var]
    stream = Stream(sampler, Adaptive(-half, half), family, unit_scale)
    rng = generator(13, "extreme")
    values = 53.0 + 3.0 * rng.standard_normal(20)
    for state, row in stream.ask(None, 0, values, noise.draw(rng, family, 20)):
        assert is_sound(state)
        assert np.isfinite(row).all()


# ------------------------------------------------------------------------------ single precision


def block_by_block(
    rows: Array, z: Array, first: tuple[float, float], second: tuple[float, float], gaussian: bool
) -> float:
    """Sum of logarithms of ratios of averaged weights as ``mhaar`` computes it; z is ``(M, n)``."""
    people = relative(rows)
    candidates = np.zeros((len(z), len(people) * LANES), dtype=np.float32)
    candidates[:, : len(rows)] = z
    seen = np.empty((2, *people.shape), dtype=np.float32)
    for side, theta in enumerate((first, second)):
        batch._see(people, *theta, seen[side])
    weights = np.empty(len(z) * LANES, dtype=np.float32)
    largest, total = np.empty((2, 2, LANES), dtype=np.float32)
    gain = 0.0
    for block in range(len(people)):
        part = candidates[:, block * LANES : (block + 1) * LANES].ravel()
        for side in range(2):
            batch._weigh(part, seen[side, block], gaussian, weights, largest[side], total[side])
        gain += batch._log_ratio(largest, total)
    return gain


def exactly(
    rows: Array, z: Array, first: tuple[float, float], second: tuple[float, float], gaussian: bool
) -> float:
    """The same in double precision."""
    y, left, right, scale = rows.T

    def sums(mu: float, sigma: float) -> Array:
        away = np.abs(y - np.clip(mu + sigma * z, left, right)) / scale
        found: Array = special.logsumexp(-0.5 * away**2 if gaussian else -away, axis=0)
        return found

    return float(np.sum(sums(*second) - sums(*first)))


@EITHER
@pytest.mark.parametrize(
    ("epsilon_total", "half_width", "allowed"),
    [(1.0, 10.0, 2e-4), (10.0, 10.0, 2e-4), (5.0, 0.7, 2e-4), (1000.0, 10.0, 2e-3)],
)
@pytest.mark.parametrize("people", [1000, 3])
def test_ratios_of_mhaar_are_those_of_exact_weights(
    people: int, epsilon_total: float, half_width: float, allowed: float, family: NoiseFamily
) -> None:
    rng, sigma = generator(14, "ratios"), math.sqrt(10.0)
    left, right = 50.0 - half_width * sigma, 50.0 + half_width * sigma
    unit_scale = noise.unit_scale(family, epsilon_total, 1e-5)
    values = 50.0 + sigma * rng.standard_normal(people)
    noises = noise.draw(rng, family, people)
    rows = np.array(
        [answer(*turn, left, right, unit_scale) for turn in zip(values, noises, strict=True)]
    )
    z = rng.standard_normal((20, people)).astype(np.float32)
    for second in ((50.1, 1.02 * sigma), (49.0, 0.8 * sigma), (60.0, 3.0 * sigma)):
        given = rows, z, (50.0, sigma), second, family == "gaussian"
        assert block_by_block(*given) == pytest.approx(exactly(*given), rel=1e-5, abs=allowed)


def test_ratios_of_mhaar_hold_where_all_weights_underflow() -> None:
    # Candidates hundreds of scales from the response, under either parameter.
    rows = np.array([(50.0, 0.0, 1e4, 1.0), (52.0, 0.0, 1e4, 0.5)])
    z = generator(15, "far").standard_normal((5, 2))
    given = rows, z, (900.0, 3.0), (800.0, 3.0), False
    assert block_by_block(*given) == pytest.approx(exactly(*given), rel=1e-6)
    assert exactly(*given) == pytest.approx(300.0, abs=20.0)


WEIGHTS = np.array([0.5, 0.0625, 1.0, 0.25, 0.1875])


def test_candidates_are_chosen_by_weight() -> None:
    number = len(WEIGHTS)
    z, weights = (np.repeat(each, LANES).astype(np.float32) for each in (range(number), WEIGHTS))
    total = np.full(LANES, WEIGHTS.sum(), dtype=np.float32)
    edges = np.cumsum(WEIGHTS)
    counts, chosen = np.zeros(number, dtype=np.int64), np.empty(LANES, dtype=np.float32)
    points = generator(16, "points").random((500, LANES), dtype=np.float32)
    points[0, :4] = 0.0, 0.25, np.float32(1.0 - 2.0**-24), 0.28125
    for point in points:
        batch._choose(z, weights, total, point, chosen)
        expected = np.searchsorted(edges, point * edges[-1], side="right")
        np.testing.assert_array_equal(chosen, expected)
        counts += np.bincount(chosen.astype(int), minlength=number)
    assert_frequencies(counts, WEIGHTS / edges[-1])
    assert rejects(assert_frequencies, counts, np.full(number, 1.0 / number))


@EITHER
@pytest.mark.parametrize("refresh", [0, 30])
@pytest.mark.parametrize("count", [3, 64, 100])
def test_a_move_keeps_values_or_draws_them_anew_as_their_densities_say(
    count: int, refresh: int, family: NoiseFamily
) -> None:
    """One call of the compiled step against the same step in double precision."""
    rng, particles = generator(17, "move"), 9
    rows = np.array((responses(family) * 2)[:count])
    theta = np.column_stack([rng.normal(53.0, 1.0, particles), rng.normal(1.0, 0.2, particles)])
    room = np.full((particles, latent.BLOCK), np.nan)
    room[:, :count] = 53.0 + 3.0 * rng.standard_normal((particles, count))
    ancestors = rng.integers(particles, size=particles)
    asked = refresh if 0 < refresh < count else count
    chosen = rng.permutation(count)[:asked] if asked < count else np.arange(count)
    people, stream = relative(rows[chosen]), streams(rng, 1)[0]
    again, width = stream.copy(), len(people) * LANES
    grown, sums, squares = np.empty_like(room), np.empty(particles), np.empty(particles)
    accepted = latent._move_values(
        *(stream, room, count, ancestors, theta, chosen, people, family == "gaussian"),
        *(grown, sums, squares),
    )
    y, left, right, scale = rows[chosen].T
    moved = 0
    for i in range(particles):
        z, limit = np.empty((2, -(-width // 128) * 128), dtype=np.float32)
        normals(again, z)
        exponentials(again, limit[:width])
        expected = room[ancestors[i], :count].copy()
        old, new = expected[chosen], theta[i, 0] + math.exp(theta[i, 1]) * z[:asked].astype(float)

        def loss(x: Array) -> Array:
            away = np.abs(y - np.clip(x, left, right)) / scale
            return 0.5 * away**2 if family == "gaussian" else away

        accept = loss(new) - loss(old) <= limit[:asked]
        expected[chosen] = np.where(accept, new, old)
        moved += int(accept.sum())
        np.testing.assert_allclose(grown[i, :count], expected, rtol=1e-15)
        apart = expected - theta[i, 0]
        assert sums[i] == pytest.approx(apart.sum(), rel=1e-12, abs=1e-12)
        assert squares[i] == pytest.approx((apart**2).sum(), rel=1e-12)
    assert accepted == moved
    assert 0 < moved < particles * asked
