"""Every sampler against the posterior on a grid, and broken twins that the same test rejects.

All take in the same fixed list of responses, asked around the truth as in a stream. The reference
is a fine grid over a wide box, by the closed-form density alone. Estimates are the mean and the
standard deviation of μ and log σ. Particles and chains are repeated with other seeds, and the mean
over the repeats is tested (Student's t at 1e-6, see tests.statistics).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from abcdp_core.adaptive import latent, noise, smc
from abcdp_core.adaptive.batch import Batch
from abcdp_core.adaptive.channels import Truncation, answer
from abcdp_core.adaptive.grid import Grid
from abcdp_core.adaptive.latent import Latent
from abcdp_core.adaptive.noise import NoiseFamily
from abcdp_core.adaptive.particles import Response
from abcdp_core.adaptive.prior import Prior
from abcdp_core.adaptive.response import log_likelihood
from abcdp_core.adaptive.smc import Smc
from abcdp_core.adaptive.stream import Sampler, Stream
from abcdp_core.base import summaries
from abcdp_core.base.arrays import Array
from abcdp_core.base.streams import generator
from tests.statistics import assert_mean_of_repeats, rejects

PRIOR = Prior(50.0, 25.0, 5.0, 40.0)
KNOWN = Prior(50.0, 25.0, sigma=3.0)
PEOPLE, FEW = 60, 20
UNIT_SCALE = 0.2
REPEATS = 24
EITHER = pytest.mark.parametrize("family", ["laplace", "gaussian"])


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
    on_edge = np.isin(theta[:, 0], mu[[0, -1]])
    if prior.sigma is None:
        on_edge |= np.isin(theta[:, 1], log_sigma[[0, -1]])
    assert weights[on_edge].max() < 1e-9
    return estimates(theta, weights / weights.sum())


def final(sampler: Sampler, rng: np.random.Generator, family: NoiseFamily, count: int) -> Any:
    state = sampler.start(rng)
    for response in responses(family)[:count]:
        state, _ = sampler.step(rng, state, response)
    return state


def repeats(sampler: Sampler, family: NoiseFamily, count: int = PEOPLE) -> Array:
    """Estimates ``(R, 4)`` of independent runs."""
    found = []
    for run in range(REPEATS):
        state = final(sampler, generator(2, "repeats", run), family, count)
        found.append(estimates(state.theta, state.weights))
    return np.array(found)


BIAS = np.array([0.02, 0.02, 0.04, 0.04])
"""Allowed for the 1/N bias of a few hundred particles, in posterior standard deviations: of the two
means and the two standard deviations."""


def agree(values: Array, expected: Array) -> None:
    """Repeats ``(R, 4)`` have the posterior's estimates as their mean.

    One repeat has a spread of 0.03 to 0.16 posterior standard deviations here, so the test fails
    from an error of 0.1 to 0.25 of them on.
    """
    spread = np.tile(expected[2:], 2)
    varied = spread > 1e-9
    assert_mean_of_repeats(values[:, varied], expected[varied], (BIAS * spread)[varied])
    assert np.abs(values - expected)[:, ~varied].max(initial=0.0) < 1e-9


@EITHER
@pytest.mark.parametrize(("prior", "count"), [(PRIOR, 1), (PRIOR, PEOPLE), (KNOWN, PEOPLE)])
def test_the_grid_is_the_posterior(family: NoiseFamily, prior: Prior, count: int) -> None:
    state = final(Grid(prior, family), generator(0, "unused"), family, count)
    found, expected = estimates(state.theta, state.weights), reference(family, count, prior)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-6)


def slow(name: str, *parts: Any) -> Any:
    return pytest.param(*parts, id=name, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("sampler", "count"),
    [
        pytest.param(Smc(PRIOR, "laplace", 400), PEOPLE, id="smc"),
        # Moves all values of the first 20 people, then some.
        pytest.param(Latent(PRIOR, "laplace", 400, refresh=20), PEOPLE, id="latent-refresh"),
        pytest.param(Latent(PRIOR, "gaussian", 300), FEW, id="latent-gaussian"),
        slow("smc-gaussian", Smc(PRIOR, "gaussian", 400), PEOPLE),
        slow("smc-multinomial", Smc(PRIOR, "laplace", 400, resampling="multinomial"), FEW),
        slow("smc-known-sigma", Smc(KNOWN, "laplace", 200), FEW),
        slow("latent-known-sigma", Latent(KNOWN, "laplace", 200), FEW),
    ],
)
def test_particles_agree_with_the_grid(sampler: Any, count: int) -> None:
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


@pytest.mark.parametrize(
    "batch",
    [
        pytest.param(Batch(PRIOR, "laplace", 4000, 0.25), id="mh"),
        pytest.param(Batch(PRIOR, "gaussian", 1500, 0.25, 20), id="mhaar-gaussian"),
        slow("mh-gaussian", Batch(PRIOR, "gaussian", 3000, 0.25)),
        slow("mh-known-sigma", Batch(KNOWN, "laplace", 3000, 0.25)),
        slow("mhaar", Batch(PRIOR, "laplace", 2000, 0.25, 20)),
        slow("mhaar-two-candidates", Batch(PRIOR, "laplace", 8000, 0.25, 2)),
    ],
)
def test_chains_agree_with_the_grid(batch: Batch) -> None:
    values = np.array([chain(batch, run) for run in range(REPEATS)])
    agree(values, reference(batch.noise, PEOPLE, batch.prior))


class Flat(Prior):
    """A prior that is drawn from but forgotten in moves."""

    def log_density(self, theta: Array) -> Array:
        return np.zeros(len(theta))


class Believing(Smc):
    """Believes in noise that is smaller by √2 than it is."""

    def step(self, rng: np.random.Generator, state: Any, response: Response) -> Any:
        believed = response._replace(scale=response.scale / math.sqrt(2.0))
        return super().step(rng, state, believed)


@pytest.mark.parametrize("kind", [Smc, Believing])
def test_broken_particles_are_rejected(kind: type[Smc]) -> None:
    prior = Flat(50.0, 25.0, 5.0, 40.0) if kind is Smc else PRIOR
    assert rejects(agree, repeats(kind(prior, "laplace", 500), "laplace"), reference("laplace"))


ONLINE: dict[str, Callable[[NoiseFamily], Sampler]] = {
    "smc": lambda family: Smc(PRIOR, family, 60),
    "latent": lambda family: Latent(PRIOR, family, 60),
    "latent-refresh": lambda family: Latent(PRIOR, family, 60, 3),
    "grid": lambda family: Grid(PRIOR, family, 32),
}
EVERY = pytest.mark.parametrize("name", ONLINE)


def copy_of(state: Any) -> dict[str, Any]:
    """Copy the arrays of a state; storage beyond the values has no meaning."""
    held = {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
    held["history"] = state.history.rows
    if "room" in held:
        held["room"] = state.values
    return {key: np.array(value) for key, value in held.items()}


def same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return all(np.array_equal(value, second[key]) for key, value in first.items())


@EVERY
def test_a_step_leaves_its_state_as_it_was(name: str) -> None:
    sampler, rng = ONLINE[name]("laplace"), generator(5, "purity")
    state = sampler.start(rng)
    for response in responses("laplace")[:25]:
        before = copy_of(state)
        after, _ = sampler.step(rng, state, response)
        assert same(before, copy_of(state))
        assert not same(before, copy_of(after))
        state = after


@pytest.mark.parametrize("name", ["smc", "latent", "latent-refresh"])
def test_the_number_of_threads_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for count in (1, 3):
        for module in (smc, latent):
            monkeypatch.setattr(module, "threads", lambda _, count=count: count)
        state = final(ONLINE[name]("laplace"), generator(9, "threads"), "laplace", 30)
        found.append(copy_of(state))
    assert same(*found)


def is_sound(state: Any) -> bool:
    return bool(np.isfinite(state.theta).all() and abs(state.weights.sum() - 1.0) < 1e-9)


@EVERY
@EITHER
def test_extremes_are_finite(family: NoiseFamily, name: str) -> None:
    """One particle, responses thousands of scales outside, and streams at extreme budgets."""
    sampler, rng = ONLINE[name](family), generator(12, "outside")
    if name != "grid":
        alone = dataclasses.replace(sampler, particles=1)  # type: ignore[type-var]
        assert is_sound(final(alone, rng, family, 30))
    state = final(sampler, rng, family, 5)
    for scales in (-5000.0, 1e6):
        state, _ = sampler.step(rng, state, Response(52.0 + 0.8 * scales, 50.0, 54.0, 0.8))
        assert is_sound(state)
    values = 53.0 + 3.0 * rng.standard_normal(20)
    for epsilon_total, half, prior in (
        *((0.001, 5e-5, Prior()), (1000.0, 3.0, Prior()), (1000.0, 3.0, KNOWN)),
    ):
        channel = Truncation(-half, half, family, noise.unit_scale(family, epsilon_total, 1e-5))
        stream = Stream(dataclasses.replace(sampler, prior=prior), channel)  # type: ignore[type-var]
        for state, row in stream.ask(None, 0, values, noise.draw(rng, family, 20)):
            assert is_sound(state)
            assert np.isfinite(row).all()
