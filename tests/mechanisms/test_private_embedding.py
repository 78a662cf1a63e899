"""The private embedding: one noisy vector, and what follows from it and the pool (MATH E1-E3)."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.summaries import effective_sample_size, weighted_mean
from abcdp_core.base.transforms import ALL_REALS, SIMPLEX, Bijector
from abcdp_core.mechanisms import (
    Budget,
    PosteriorInfo,
    Prepared,
    Release,
    linear_maps,
    private_embedding,
)
from abcdp_core.mechanisms.linear_maps import LinearMap
from abcdp_core.mechanisms.private_embedding import (
    AXES,
    NEAREST,
    SELECTIONS,
    Done,
    Options,
    calibrated,
    draw,
    released,
    select,
)
from abcdp_core.models.distances.fourier import FourierMMD
from abcdp_core.models.pool import DistanceTable
from abcdp_core.models.simulators import uniform_mixture
from abcdp_core.privacy import Gaussian, NonPrivate, NormNoise
from tests.events import same
from tests.statistics import assert_distribution, rejects

N = 100
SIZE = 1000
MMD = FourierMMD(0.0, 5.0, 0.6)

BOTH = pytest.mark.parametrize("delta", [0.0, 1e-5])


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def make_pool() -> tuple[Array, Array]:
    rng = rng_of(0)
    theta = uniform_mixture.prior(rng, SIZE)
    return theta, MMD.statistic(uniform_mixture.simulate(rng, theta, N))


THETA, STATISTICS = make_pool()


def observe(truth: Array, rng: np.random.Generator) -> DistanceTable:
    statistic = MMD.statistic(uniform_mixture.simulate(rng, truth[None], N)[0])
    rho = MMD.compare(STATISTICS, statistic)
    return DistanceTable(THETA, rho, statistic, N, MMD, True, STATISTICS)


OBSERVED = observe(uniform_mixture.SCENARIO.truth, rng_of(1))
MAPS = {kind: linear_maps.fit(OBSERVED, kind, AXES) for kind in linear_maps.KINDS}


def prepared(
    epsilon_total: float = math.inf,
    delta: float = 0.0,
    fitted: LinearMap | None = None,
    support: Bijector = ALL_REALS,
    event: Done | None = None,
    **options: Any,
) -> Prepared:
    """A release at a budget, or of an event, by one of :data:`MAPS` or a map of its own."""
    asked = Options(**({"map": "regression", "selection": "noise-aware"} | options))
    fitted = fitted or MAPS[asked.map]
    if event is None and math.isinf(epsilon_total):
        event = NonPrivate()
    if event is None:
        accountant, budget = "exact" if delta else "linear", Budget(epsilon_total, delta)
        event = calibrated(OBSERVED, asked, fitted, budget, accountant)  # type: ignore[arg-type]
        assert isinstance(event, Gaussian if delta else NormNoise)
        assert event.sensitivity == fitted.sensitivity
    public: Any = SimpleNamespace(scenario=SimpleNamespace(support=support))
    return Prepared(NEAREST, public, asked, fitted, event)


def run(asked: Prepared, seed: int = 2, data: DistanceTable = OBSERVED) -> Release:
    return released(asked, data, rng_of(seed))


def noisy_vector(asked: Prepared, rng: np.random.Generator, data: DistanceTable) -> Array:
    """The vector of a release; the distribution of its noise is tested where it is drawn."""
    vector: Array = asked.fitted.matrix @ data.statistic
    if isinstance(asked.event, Gaussian | NormNoise):
        vector = vector + draw(rng, asked.event, asked.fitted.dimension)
    return vector


def distances(asked: Prepared) -> Array:
    """Distances of the pool from the vector of :func:`run`."""
    vector = noisy_vector(asked, rng_of(2), OBSERVED)
    return np.asarray(np.linalg.norm(asked.fitted.images - vector, axis=1))


# ------------------------------------------------------------------------------ what is taken


@pytest.mark.parametrize("selection", SELECTIONS)
@BOTH
def test_a_release_is_a_function_of_the_noisy_vector_alone(selection: str, delta: float) -> None:
    asked, rng = prepared(3.0, delta, selection=selection), rng_of(2)
    vector = noisy_vector(asked, rng, OBSERVED)
    assert same(run(asked), select(vector, asked, THETA, rng))


@pytest.mark.parametrize("kind", linear_maps.KINDS)
def test_nearest_keeps_the_nearest_in_order_of_the_pool(kind: str) -> None:
    asked = prepared(1.0, c=30, map=kind, selection="nearest")
    published = run(asked)
    assert np.array_equal(published.indices, np.sort(np.argsort(distances(asked))[:30]))
    assert published.weights == pytest.approx(np.full(30, 1.0 / 30))
    assert published.samples is None
    assert published.stopped_at == SIZE
    # Without noise and with all features it is the nearest data sets.
    plain = run(prepared(c=30, map="none", selection="nearest"))
    assert np.array_equal(plain.indices, np.sort(np.argsort(OBSERVED.rho)[:30]))


def test_an_estimate_is_the_prediction_from_the_noisy_vector() -> None:
    asked = prepared(10.0, selection="estimate")
    published = run(asked)
    assert published.estimate is not None
    vector = noisy_vector(asked, rng_of(2), OBSERVED)
    assert np.array_equal(published.estimate, MAPS["regression"].predict(vector))
    assert published.estimate.sum() == pytest.approx(1.0)
    assert len(published.indices) == len(published.weights) == 0
    quiet = run(prepared(selection="estimate"))
    assert quiet.estimate == pytest.approx(uniform_mixture.SCENARIO.truth, abs=0.2)
    with pytest.raises(ParameterError, match="map = axes: an estimate needs map = regression"):
        Options(selection="estimate", map="axes")


@BOTH
def test_importance_weights_are_the_noise_s_density(delta: float) -> None:
    # So much noise that the weights of many draws count.
    asked = prepared(0.3, delta)
    assert isinstance(asked.event, Gaussian | NormNoise)
    scaled = distances(asked) / asked.event.scale
    density = np.exp(-(scaled**2) / 2.0) if delta else np.exp(-scaled)
    published = run(asked)
    assert published.samples is None
    assert published.weights == pytest.approx(density / density.sum(), rel=1e-9, abs=0.0)
    size = effective_sample_size(published.weights)
    assert size >= 100.0
    assert published.made == PosteriorInfo("weighted", size, 0.0)


def line_map(images: Array) -> LinearMap:
    return LinearMap("axes", np.ones((1, 1)), images[:, None], 1.0)


def test_moved_draws_have_the_mean_and_the_spread_of_the_posterior(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # θ ~ N(0, 1), seen as θ + N(0, 0.1²) and released with N(0, 0.4²): a posterior in closed form.
    rng = rng_of(10)
    theta = rng.standard_normal((20_000, 1))
    fitted = line_map(theta[:, 0] + 0.1 * rng.standard_normal(20_000))
    event, vector = Gaussian(1.0, 0.4), np.array([0.7])
    exact, variance = 0.7 / 1.17, 0.17 / 1.17

    def moments(selection: str) -> tuple[float, float]:
        asked = prepared(fitted=fitted, event=event, selection=selection)
        published = select(vector, asked, theta, rng_of(11))
        samples = published.sample(theta).values
        mean = float(weighted_mean(samples, published.weights)[0])
        return mean, float(published.weights @ (samples[:, 0] - mean) ** 2)

    # By weights, thousands of them; the mean's standard error is 0.005.
    assert moments("noise-aware") == pytest.approx((exact, variance), abs=0.02)
    monkeypatch.setattr(private_embedding, "ENOUGH", math.inf)
    # By 300 moved draws: 0.02 for the mean, 0.012 for the variance.
    assert moments("noise-aware") == pytest.approx((exact, variance), abs=0.05)
    # Noise ignored, the release is taken for the statistic: its noise is left, 0.1²/1.01.
    assert moments("noise-ignored") == pytest.approx((0.7 / 1.01, 0.01 / 1.01), abs=0.02)


@pytest.mark.parametrize(
    ("size", "near", "way"),
    [
        *((128, 70, "weighted"), (128, 64, "weighted"), (128, 50, "kept")),
        *((1000, 128, "weighted"), (1000, 90, "moved")),
    ],
)
def test_weights_are_used_where_a_hundred_draws_or_half_of_them_count(
    size: int, near: int, way: str
) -> None:
    images = np.where(np.arange(size) < near, 0.0, 1e6)
    asked = prepared(fitted=line_map(images), event=Gaussian(1.0, 1.0))
    theta = rng_of(12).standard_normal((size, 1))
    made = select(np.zeros(1), asked, theta, rng_of(13)).made
    assert made is not None
    assert (made.way, made.importance_size) == (way, pytest.approx(near))


# ------------------------------------------------------------------------ what it is good for


def ranks(asked: Prepared, assumed: Prepared | None = None) -> Array:
    """Posterior probability below the truth of θ₁ ``(400,)``, over data sets from the prior.

    Uniform if the posterior is exact. Drawn from a pool of 1000 it is nearly so, far within what
    400 can see, a gap of 0.14.
    """
    found = np.empty(400)
    assumed = assumed or asked
    for index in range(len(found)):
        rng = rng_of(100 + index)
        truth = uniform_mixture.prior(rng, 1)[0]
        vector = noisy_vector(asked, rng, observe(truth, rng))
        published = select(vector, assumed, THETA, rng)
        found[index] = published.weights @ (published.sample(THETA).values[:, 0] < truth[0])
    return found


@pytest.mark.parametrize(
    "asked", [prepared(0.3, support=SIMPLEX), prepared(8.0, 1e-5)], ids=["much", "little"]
)
def test_noise_aware_posteriors_are_calibrated(asked: Prepared) -> None:
    assert_distribution(ranks(asked), stats.uniform.cdf)


def test_posteriors_that_ignore_the_noise_or_assume_an_eighth_of_it_are_not() -> None:
    for assumed in (prepared(0.3, selection="noise-ignored"), prepared(2.4)):
        assert rejects(assert_distribution, ranks(prepared(0.3), assumed), stats.uniform.cdf)
