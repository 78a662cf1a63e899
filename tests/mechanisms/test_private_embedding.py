"""The private embedding: one noisy vector, and what is taken from the pool by it (MATH E1-E3).

Power of the sampled layer: 4000 releases at a false alarm of 1e-6 see a gap of 0.086 between two
distribution functions. Noise of half the scale is a gap of 0.2 and more, noise that is Laplace in
each coordinate one of 0.1 in its length, noise that is drawn once for all one of 0.5.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from abcdp_core.distances.fourier import FourierMMD
from abcdp_core.mechanisms import (
    Budget,
    Made,
    Prepared,
    Release,
    linear_maps,
    names,
    private_embedding,
    regression_adjustment,
)
from abcdp_core.mechanisms.linear_maps import LinearMap
from abcdp_core.mechanisms.private_embedding import (
    AXES,
    FEWEST,
    NEAREST,
    SELECTIONS,
    Done,
    Options,
    Trace,
    importance_weights,
    minimum_pool,
    released,
    select,
)
from abcdp_core.parameters import ParameterError
from abcdp_core.pool import Comparison, public_side
from abcdp_core.privacy import Gaussian, NonPrivate, NormNoise, cost
from abcdp_core.privacy.embedding import calibrate, draw, log_density
from abcdp_core.simulators import covid, uniform_mixture
from abcdp_core.summaries import effective_sample_size, weighted_mean
from abcdp_core.supports import ALL_REALS, SIMPLEX, Support, unchanged
from tests.statistics import assert_distribution, rejects

Array = NDArray[np.float64]

N = 100
SIZE = 1000
MMD = FourierMMD(0.0, 5.0, 0.6)
RUNS = 4000

EACH = pytest.mark.parametrize("selection", SELECTIONS)
BOTH = pytest.mark.parametrize("delta", [0.0, 1e-5])


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def make_pool() -> tuple[Array, Array]:
    rng = rng_of(0)
    theta = uniform_mixture.prior(rng, SIZE)
    return theta, MMD.statistic(uniform_mixture.simulate(rng, theta, N))


THETA, STATISTICS = make_pool()


def observe(truth: Array, rng: np.random.Generator) -> Comparison:
    statistic = MMD.statistic(uniform_mixture.simulate(rng, truth[None], N)[0])
    rho = MMD.compare(STATISTICS, statistic)
    return Comparison(THETA, rho, statistic, N, MMD, True, STATISTICS)


OBSERVED = observe(uniform_mixture.TRUTH, rng_of(1))
MAPS = {kind: linear_maps.learn(OBSERVED, kind, AXES) for kind in linear_maps.KINDS}


@dataclass(frozen=True)
class Public:
    """The part of what is public that a release reads."""

    support: Support


def prepared(
    epsilon_total: float = math.inf,
    delta: float = 0.0,
    learnt: LinearMap | None = None,
    support: Support = ALL_REALS,
    event: Done | None = None,
    **options: Any,
) -> Prepared:
    """A release at a budget, or of an event, by one of :data:`MAPS` or a map of its own."""
    asked = Options(**({"map": "regression", "selection": "noise-aware"} | options))
    learnt = learnt or MAPS[asked.map]
    if event is None and math.isinf(epsilon_total):
        event = NonPrivate()
    if event is None:
        event = calibrate(epsilon_total, delta, learnt.sensitivity, learnt.dimension)
    return Prepared(NEAREST, Public(support), asked, learnt, event)  # type: ignore[arg-type]


def run(asked: Prepared, seed: int = 2, data: Comparison = OBSERVED) -> tuple[Release, Trace]:
    return released(asked, data, rng_of(seed))


def noise_of(asked: Prepared) -> Gaussian | NormNoise:
    assert isinstance(asked.event, Gaussian | NormNoise)
    return asked.event


def part_of(kind: str, size: int) -> LinearMap:
    """One of :data:`MAPS` for the first draws of the pool alone."""
    return dataclasses.replace(MAPS[kind], images=MAPS[kind].images[:size])


def same(first: Release, second: Release) -> bool:
    arrays = ("indices", "weights", "estimate", "samples")
    pairs = [(getattr(first, name), getattr(second, name)) for name in arrays]
    return (first.stopped_at, first.event) == (second.stopped_at, second.event) and all(
        (left is None and right is None) or np.array_equal(left, right) for left, right in pairs
    )


# ----------------------------------------------------------------------------- the one release


def residuals(
    delta: float, drawn: Callable[[int], np.random.Generator] = rng_of
) -> tuple[Array, float]:
    """What many releases add to the data's own image ``(RUNS, k)``, and their scale."""
    whole = MAPS["axes"]
    # A few draws will do: what is looked at here is the vector.
    learnt = dataclasses.replace(whole, images=whole.images[:10])
    asked = prepared(1.0, delta, learnt, map="axes", selection="nearest")
    found = [released(asked, OBSERVED, drawn(seed))[1] for seed in range(RUNS)]
    return np.array([trace.released - trace.image for trace in found]), noise_of(asked).scale


def checks_of(noise: Array, delta: float) -> list[tuple[Array, Callable[[Array], Array]]]:
    """Length, a coordinate, and the direction; of noise ``(m, 4)`` in units of its scale."""
    length = np.linalg.norm(noise, axis=1)
    # On the sphere in four dimensions (1 + u)/2 of a coordinate u is Beta(3/2, 3/2).
    direction = (1.0 + noise[:, 2] / length) / 2.0
    laws = (stats.gamma(4).cdf, stats.beta(1.5, 1.5).cdf)
    if delta:
        laws = (stats.chi(4).cdf, stats.beta(1.5, 1.5).cdf)
    return list(zip((length, direction), laws, strict=True))


@BOTH
def test_the_vector_is_released_with_noise_of_the_stated_law(delta: float) -> None:
    noise, scale = residuals(delta)
    for sample, law in checks_of(noise / scale, delta):
        assert_distribution(sample, law)
    # Half the noise.
    assert rejects(assert_distribution, *checks_of(noise / scale / 2.0, delta)[0])


def test_noise_of_another_shape_or_drawn_once_is_seen() -> None:
    laplace = rng_of(3).laplace(size=(RUNS, 4))
    assert any(rejects(assert_distribution, *check) for check in checks_of(laplace, 0.0))
    # A generator that starts anew for each data set gives all of them the same noise.
    shared, scale = residuals(0.0, lambda _: rng_of(4))
    assert all(rejects(assert_distribution, *check) for check in checks_of(shared / scale, 0.0))


@BOTH
@pytest.mark.parametrize("kind", linear_maps.KINDS)
@pytest.mark.parametrize("epsilon_total", [0.01, 1.0, 100.0])
def test_a_release_costs_its_budget_once(kind: str, epsilon_total: float, delta: float) -> None:
    published, _ = run(prepared(epsilon_total, delta, map=kind, selection="nearest"))
    assert isinstance(published.event, Gaussian if delta else NormNoise)
    found = cost(published.event, delta)
    assert found.delta == delta
    assert 0.999999 * epsilon_total <= found.epsilon <= epsilon_total * (1.0 + 1e-12)
    assert published.event.sensitivity == MAPS[kind].sensitivity


def worst_neighbours(learnt: LinearMap) -> tuple[Array, Array]:
    """Two images of data sets that differ in one point, as far apart as a grid of points finds."""
    grid = np.linspace(0.0, 5.0, 201)
    images = MMD.statistic(grid[:, None, None]) @ learnt.matrix.T
    apart = np.linalg.norm(images[:, None] - images[None], axis=-1)
    first, second = np.unravel_index(np.argmax(apart), apart.shape)
    data = uniform_mixture.simulate(rng_of(5), uniform_mixture.TRUTH[None], N)[0]
    pair = []
    for point in (grid[first], grid[second]):
        data[0] = point
        pair.append(learnt.matrix @ MMD.statistic(data))
    return pair[0], pair[1]


def test_before_a_map_is_learnt_the_noise_is_that_of_all_features_but_the_constant() -> None:
    public = public_side("uniform-mixture", 100, 60, 1)
    for budget, accountant in ((Budget(2.0), "linear"), (Budget(2.0, 1e-6), "exact")):
        event = private_embedding.calibrated(public, Options(), None, budget, accountant)
        assert isinstance(event, Gaussian | NormNoise)
        assert event.sensitivity == public.distance.sensitivity(100)
        assert cost(event, budget.delta).epsilon == pytest.approx(2.0)
        assert not isinstance(event, NormNoise) or event.dimension == 46


@pytest.mark.parametrize("kind", linear_maps.KINDS)
def test_the_worst_outcome_of_the_worst_neighbours_has_nearly_the_ratio_allowed(kind: str) -> None:
    learnt = MAPS[kind]
    event = calibrate(1.0, 0.0, learnt.sensitivity, learnt.dimension)
    assert isinstance(event, NormNoise)
    image, other = worst_neighbours(learnt)
    # Beyond the one, away from the other; there every outcome has the same ratio.
    outcome = image + 3.0 * (image - other)

    def loss(event: NormNoise) -> float:
        lengths = (np.array(np.linalg.norm(outcome - each)) for each in (image, other))
        near, far = (float(log_density(event, length)) for length in lengths)
        return near - far

    assert 0.95 <= loss(event) <= 1.0
    # Noise for another sensitivity: that of the whole pool's size, and half of what it should be.
    wrong_n = linear_maps.map_sensitivity(learnt.matrix, MMD, SIZE)
    assert loss(dataclasses.replace(event, scale=wrong_n)) > 1.1
    assert loss(dataclasses.replace(event, scale=event.scale / 2.0)) > 1.1


# ---------------------------------------------------------- what depends on the data, and how


@EACH
@BOTH
def test_a_release_is_a_function_of_the_noisy_vector_alone(selection: str, delta: float) -> None:
    asked = prepared(3.0, delta, selection=selection)
    published, trace = run(asked)
    rng = rng_of(2)
    # The vector's own noise comes first.
    draw(rng, noise_of(asked), MAPS["regression"].dimension)
    again = select(trace.released, asked, THETA, rng)
    assert same(published, again)


@EACH
def test_nothing_but_the_statistic_of_the_data_is_looked_at(selection: str) -> None:
    asked = prepared(3.0, selection=selection)
    other = dataclasses.replace(OBSERVED, rho=np.full(SIZE, math.nan), synthetic=False)
    assert same(run(asked)[0], run(asked, data=other)[0])
    elsewhere = dataclasses.replace(OBSERVED, statistic=STATISTICS[7])
    assert not same(run(asked)[0], run(asked, data=elsewhere)[0])


@pytest.mark.parametrize(
    "change", [{"epsilon_total": 7.0}, {"c": 40}, {"selection": "estimate"}], ids=str
)
@BOTH
def test_another_setting_moves_the_same_noise(change: dict[str, Any], delta: float) -> None:
    def unit_noise(epsilon_total: float = 1.0, **options: Any) -> Array:
        asked = prepared(epsilon_total, delta, **options)
        _, trace = run(asked, seed=6)
        return (trace.released - trace.image) / noise_of(asked).scale

    assert unit_noise() == pytest.approx(unit_noise(**change), rel=1e-9)


def test_releasing_leaves_pool_and_map_as_they_were() -> None:
    learnt = MAPS["regression"]
    before = learnt.images.copy(), STATISTICS.copy(), OBSERVED.statistic.copy()
    for selection in SELECTIONS:
        run(prepared(1.0, selection=selection))
    after = learnt.images, STATISTICS, OBSERVED.statistic
    assert all(np.array_equal(*pair) for pair in zip(before, after, strict=True))


# ------------------------------------------------------------------------------ what is taken


@pytest.mark.parametrize("kind", linear_maps.KINDS)
def test_nearest_takes_the_nearest_in_order_of_the_pool(kind: str) -> None:
    published, trace = run(prepared(1.0, c=30, map=kind, selection="nearest"))
    assert len(published.indices) == 30
    assert np.all(np.diff(published.indices) > 0)
    assert trace.distance[published.indices].max() <= np.sort(trace.distance)[29]
    assert published.weights == pytest.approx(np.full(30, 1.0 / 30))
    assert published.samples is None
    assert published.stopped_at == SIZE


def test_without_noise_and_with_all_features_it_is_the_nearest_data_sets() -> None:
    rng = rng_of(7)
    published, _ = released(prepared(c=30, map="none", selection="nearest"), OBSERVED, rng)
    assert np.array_equal(published.indices, np.sort(np.argsort(OBSERVED.rho)[:30]))
    assert published.event == NonPrivate()
    # No noise is drawn that a later release would then not see.
    assert rng.random() == rng_of(7).random()


def test_an_estimate_is_the_prediction_from_the_noisy_vector() -> None:
    published, trace = run(prepared(10.0, selection="estimate"))
    assert published.estimate is not None
    assert np.array_equal(published.estimate, MAPS["regression"].predict(trace.released))
    assert published.estimate.sum() == pytest.approx(1.0)
    assert len(published.indices) == len(published.weights) == 0
    quiet, _ = run(prepared(selection="estimate"))
    assert quiet.estimate == pytest.approx(uniform_mixture.TRUTH, abs=0.2)


@BOTH
def test_importance_weights_are_the_noise_s_density(delta: float) -> None:
    # So much noise that the weights of many draws count.
    published, trace = run(prepared(0.3, delta))
    event = published.event
    assert isinstance(event, Gaussian | NormNoise)
    scaled = trace.distance / event.scale
    density = np.exp(-(scaled**2) / 2.0) if delta else np.exp(-scaled)
    assert published.samples is None
    assert published.weights == pytest.approx(density / density.sum(), rel=1e-9, abs=0.0)
    assert trace.effective_sample_size == pytest.approx(effective_sample_size(published.weights))
    assert trace.effective_sample_size >= 100.0
    assert published.made == Made("weighted", trace.effective_sample_size, 0.0)


def test_without_noise_there_are_no_importance_weights() -> None:
    assert importance_weights(np.array([0.1, 0.2]), NonPrivate()).size == 0


def test_importance_weights_are_numbers_however_far_the_draws_are() -> None:
    distance = np.array([2000.0, 2000.5, 1e6])
    for event, nearer in (
        (Gaussian(1.0, 100.0), math.exp(0.100_012_5)),
        (NormNoise(1, 1, 2), math.exp(0.5)),
    ):
        weights = importance_weights(distance, event)
        assert weights == pytest.approx(np.array([nearer, 1.0, 0.0]) / (nearer + 1.0))


def test_in_a_small_pool_importance_weights_of_half_the_draws_are_enough() -> None:
    small = dataclasses.replace(OBSERVED, theta=THETA[:20], statistics=STATISTICS[:20])
    for budget, way in ((0.001, "weighted"), (10.0, "kept")):
        published, trace = run(prepared(budget, learnt=part_of("none", 20), map="none"), 0, small)
        assert published.made == Made(way, trace.effective_sample_size, 0.0)
        assert (trace.effective_sample_size >= 10.0) == (way == "weighted")


def test_where_few_draws_have_weight_the_nearest_are_moved() -> None:
    published, trace = run(prepared(10.0))
    assert trace.effective_sample_size < 100.0
    assert published.samples is not None
    assert published.samples.shape == (FEWEST, 5)
    assert np.all(np.diff(published.indices) > 0)
    assert published.weights.sum() == pytest.approx(1.0)
    assert published.weights.min() == 0.0, "of the farthest"
    # The regression sees the sum of the weights, which is always 1, and keeps it so.
    assert published.samples.sum(axis=1) == pytest.approx(np.ones(FEWEST), abs=1e-9)
    assert published.made == Made("moved", trace.effective_sample_size, 0.0)


BOUNDED = Support(SIMPLEX.contains, unchanged, unchanged)
"""Weights that are moved in a straight line, out of the simplex too."""


@pytest.mark.parametrize("epsilon_total", [1.0, 10.0, 1000.0])
@pytest.mark.parametrize("selection", ["noise-aware", "noise-ignored"])
def test_draws_are_moved_within_the_support(selection: str, epsilon_total: float) -> None:
    # Two of the five weights are 0: half of what is left open lies outside.
    corner = observe(np.array([0.5, 0.0, 0.3, 0.0, 0.2]), rng_of(14))

    def moved(support: Support) -> tuple[Release, Made]:
        published, _ = run(
            prepared(epsilon_total, selection=selection, support=support), data=corner
        )
        assert published.samples is not None
        assert published.made is not None
        return published, published.made

    kept, made = moved(SIMPLEX)
    assert SIMPLEX.contains(kept.parameters(THETA)).all()
    assert made.outside == 0.0
    straight, made = moved(BOUNDED)
    out = ~SIMPLEX.contains(straight.parameters(THETA))
    assert made.outside == pytest.approx(straight.weights[out].sum())
    assert made.outside > 0.3


def test_draws_on_an_edge_are_moved_as_their_neighbours_are() -> None:
    theta, learnt = THETA.copy(), MAPS["regression"]
    asked = prepared(100.0, support=SIMPLEX)
    image = learnt.matrix @ OBSERVED.statistic

    def mean() -> Array:
        published = select(image, asked, theta, rng_of(15))
        assert np.isfinite(published.parameters(theta)).all()
        return published.mean(theta, theta[0])

    before = mean()
    theta[np.arange(0, SIZE, 20), np.arange(50) % 5] = 0.0
    theta /= theta.sum(axis=1, keepdims=True)
    # A twentieth of the draws have lost a fifth of themselves on average.
    assert mean() == pytest.approx(before, abs=0.05)


def test_away_from_edges_the_support_s_scale_changes_little() -> None:
    middle = observe(np.full(5, 0.2), rng_of(16))
    within, _ = run(prepared(1000.0, support=SIMPLEX), data=middle)
    straight, _ = run(prepared(1000.0), data=middle)
    assert within.mean(THETA, THETA[0]) == pytest.approx(straight.mean(THETA, THETA[0]), abs=0.004)


def test_the_smallest_pool_grows_with_the_regression() -> None:
    assert [minimum_pool(numbers) for numbers in (1, 4, 14, 15, 46)] == [300, 300, 300, 320, 940]


@pytest.mark.parametrize(
    ("pool_size", "words"),
    [
        (10, "too small to move draws by a regression (300)"),
        (299, "too small"),
        (300, "less than twice the 300 draws"),
        (599, "less than twice"),
        (600, ""),
        (10_000, ""),
    ],
)
def test_a_small_pool_is_said(pool_size: int, words: str) -> None:
    fewest = private_embedding.NOISE_AWARE.minimum_pool(covid)
    said = regression_adjustment.caution(pool_size, [fewest, fewest])
    assert words in said
    assert bool(words) == bool(said)


@pytest.mark.parametrize(
    ("pool_size", "words"),
    [
        (299, "too small to move draws by a regression (300 to 1,000)"),
        (300, "too small to move some draws by a regression (300 to 1,000)"),
        (999, "too small to move some draws"),
        (1999, "less than twice the 300 to 1,000 draws"),
        (2000, ""),
    ],
)
def test_a_pool_that_is_too_small_for_one_of_two_mechanisms_is_said(
    pool_size: int, words: str
) -> None:
    said = regression_adjustment.caution(pool_size, [1000, 300])
    assert words in said
    assert bool(words) == bool(said)


@pytest.mark.parametrize("selection", ["noise-aware", "noise-ignored"])
def test_from_a_pool_that_is_too_small_no_draw_is_moved(selection: str) -> None:
    for size in (299, 300):
        part = dataclasses.replace(OBSERVED, theta=THETA[:size], statistics=STATISTICS[:size])
        learnt = linear_maps.learn(part, "regression", AXES)
        published, _ = run(prepared(10.0, learnt=learnt, selection=selection), 0, part)
        assert published.made is not None
        assert published.made.way == ("kept" if size < 300 else "moved")
        assert (published.samples is None) == (size < 300)
        assert len(published.indices) == size
        assert published.made.outside == 0.0
        if selection == "noise-ignored":
            assert published.made.importance_size == 0.0


def line_map(images: Array) -> LinearMap:
    return LinearMap("axes", np.ones((1, 1)), images[:, None], 1.0)


def test_moving_removes_what_depends_linearly_on_the_distance() -> None:
    # Where θ is a line of the statistic, all accepted draws end where the data are.
    images = rng_of(8).normal(size=SIZE)
    theta = np.column_stack([1.0 + 2.0 * images, -images])
    asked = prepared(learnt=line_map(images))
    published = select(np.array([0.3]), asked, theta, rng_of(9))
    assert published.samples == pytest.approx(np.tile([1.6, -0.3], (FEWEST, 1)), abs=1e-12)


def test_moved_draws_have_the_mean_and_the_spread_of_the_posterior(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # θ ~ N(0, 1), seen as θ + N(0, 0.1²) and released with N(0, 0.4²): a posterior in closed form.
    rng = rng_of(10)
    theta = rng.standard_normal((20_000, 1))
    learnt = line_map(theta[:, 0] + 0.1 * rng.standard_normal(20_000))
    event, vector = Gaussian(1.0, 0.4), np.array([0.7])
    variance = 0.17 / 1.17
    exact = 0.7 / 1.17

    def moments(selection: str) -> tuple[float, float]:
        asked = prepared(learnt=learnt, event=event, selection=selection)
        published = select(vector, asked, theta, rng_of(11))
        samples = theta[published.indices] if published.samples is None else published.samples
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
    asked = prepared(learnt=line_map(images), event=Gaussian(1.0, 1.0), selection="noise-aware")
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
        _, trace = released(asked, observe(truth, rng), rng)
        published = select(trace.released, assumed, THETA, rng)
        samples = THETA[published.indices] if published.samples is None else published.samples
        found[index] = published.weights @ (samples[:, 0] < truth[0])
    return found


@pytest.mark.parametrize(
    "asked",
    [
        prepared(0.3, support=SIMPLEX),
        prepared(8.0, support=SIMPLEX),
        prepared(8.0, 1e-5),
    ],
    ids=["much", "little", "gaussian"],
)
def test_noise_aware_posteriors_are_calibrated(asked: Prepared) -> None:
    assert_distribution(ranks(asked), stats.uniform.cdf)


def test_posteriors_that_ignore_the_noise_are_not() -> None:
    ignored = ranks(prepared(0.3), prepared(0.3, selection="noise-ignored"))
    assert rejects(assert_distribution, ignored, stats.uniform.cdf)
    # Nor are those that take the noise for an eighth of what it is.
    eighth = ranks(prepared(0.3), prepared(2.4))
    assert rejects(assert_distribution, eighth, stats.uniform.cdf)


# ------------------------------------------------------------------------------ what cannot be


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"selection": "best"}, "selection = best: must be one of nearest, estimate"),
        ({"selection": "estimate", "map": "axes"}, "map = axes: an estimate needs map = regress"),
        ({"c": 0}, "c = 0: must be"),
        ({"map": "all"}, "map = all: must be one of none, axes, regression"),
    ],
)
def test_what_is_not_allowed_is_one_clear_line(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Options(**changes)


def test_a_small_pool_gives_what_it_has() -> None:
    for size in (1, 2, 20):
        small = dataclasses.replace(OBSERVED, theta=THETA[:size], statistics=STATISTICS[:size])
        for selection in ("nearest", "noise-aware", "noise-ignored"):
            asked = prepared(
                10.0, learnt=part_of("none", size), c=50, map="none", selection=selection
            )
            published, _ = run(asked, 0, small)
            assert len(published.indices) == size
            assert published.weights.sum() == pytest.approx(1.0)
            assert published.samples is None or np.isfinite(published.samples).all()


def test_it_is_found_by_its_name() -> None:
    assert "private-embedding" in names()
