"""A few numbers released once with noise, and the posterior that knows the noise (MATH E5, M9).

Power of the sampled layer: 40 000 draws see an outcome of probability 0.1 that is off by 0.009;
noise of half the scale is off by 0.2. Of 150 data sets a check of coverage sees 0.77 instead of
0.9; without noise on the public draws it is 0.64 to 0.68.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from abcdp_core import mechanisms, pool, simulators, summaries
from abcdp_core.mechanisms import Budget, Prepared, private_summary
from abcdp_core.mechanisms.private_summary import (
    RIDGE,
    Regression,
    Scaling,
    SummaryNoise,
    coefficients,
    minimum_pool,
    noise_for,
    noisy,
    posterior,
)
from abcdp_core.privacy import NonPrivate, cost
from abcdp_core.simulators import covid_people, uniform_mixture
from abcdp_core.simulators import tuberculosis_patients as patients
from abcdp_core.statistic import Statistic, stated_by
from abcdp_core.supports import ALL_REALS, box
from tests.statistics import assert_frequencies, rejects

Array = NDArray[np.float64]
Report = tuple[int, ...]

SUMMARY = patients.STATISTICS["cluster-summary"]
BOTH = pytest.mark.parametrize("name", ["private-summary", "private-summary-large-unit"])
SCENARIOS = ("tuberculosis-patients", "covid-people")

budgets = st.floats(1e-6, 1e6)
sensitivities = st.floats(1e-6, 1e6)
wholes = st.none() | st.lists(st.integers(1, 12), min_size=3, max_size=3).map(tuple)


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def statistic(sensitivity: float, whole: tuple[int, ...] | None) -> Statistic:
    return dataclasses.replace(
        SUMMARY,
        names=("a", "b", "c"),
        l1=lambda n: sensitivity,  # noqa: ARG005 - part of the interface
        low=(0.0,) * 3,
        high=(math.inf,) * 3,
        whole=whole,
    )


# ---------------------------------------------------------------------------------- the noise


@given(budgets, sensitivities, wholes)
def test_the_noise_costs_the_budget_and_never_more(
    budget: float, sensitivity: float, whole: tuple[int, ...] | None
) -> None:
    event = noise_for(statistic(sensitivity, whole), 1, budget)
    # What any value of the sum of changes can cost, in exact fractions of the scales drawn with.
    spent = max(
        Fraction(sensitivity) * part / Fraction(step)
        for part, step in zip(event.whole or (1,), event.steps().tolist(), strict=True)
    )
    assert spent <= Fraction(cost(event).epsilon) <= Fraction(budget)
    assert cost(event).epsilon >= budget * (1.0 - 1e-12)
    assert cost(event).delta == 0.0
    assert (event.unit, event.neighbours) == ("one patient", "add-remove")


@pytest.mark.parametrize("budget", [0.0, -1.0, math.inf, math.nan])
def test_a_budget_that_is_none_is_refused(budget: float) -> None:
    with pytest.raises(ValueError, match="positive finite budget"):
        noise_for(SUMMARY, 1, budget)
    with pytest.raises(ValueError, match="positive finite budget and sensitivity"):
        noise_for(statistic(math.inf, None), 1, 1.0)


def test_without_noise_nothing_is_promised() -> None:
    assert cost(SummaryNoise("one patient", "add-remove", 1.0, 0.0)).epsilon == math.inf
    values = np.array([3.0, 1.0 / 3.0])
    assert noisy(values, NonPrivate(), rng_of(0)) is values


def reports() -> Iterator[Report]:
    """All reports of up to seven patients, and those at the edge of a cut at 80."""
    for total in range(8):
        yield from partitions(total, total)
    yield from [(80,), (80, 1), (81, 80, 80, 79, 2, 1), (80,) * 5, (40, 9, 9, 8)]


def partitions(total: int, largest: int) -> Iterator[Report]:
    if total == 0:
        yield ()
    for first in range(min(total, largest), 0, -1):
        for rest in partitions(total - first, first):
            yield first, *rest


def with_one_more(sizes: Report) -> Iterator[Report]:
    for place in range(len(sizes)):
        yield *sizes[:place], sizes[place] + 1, *sizes[place + 1 :]
    yield *sizes, 1


def in_steps(sizes: Report) -> NDArray[np.int64]:
    """The six numbers as whole ones."""
    found = SUMMARY.reduce(np.append(sizes, np.zeros(4))[:, None]) * np.array(SUMMARY.whole)
    return np.rint(found).astype(np.int64)


def in_steps_with_a_cut(sizes: Report) -> NDArray[np.int64]:
    """A broken twin: clusters above 80 left out of the differences."""
    kept = in_steps(tuple(size for size in sizes if size <= 80))
    return np.append(in_steps(sizes)[:5], kept[5])


def largest_log_ratio(event: SummaryNoise, reduce: object = in_steps) -> float:
    """Over all neighbouring reports and all that can be released, in either order."""
    shifts = {
        tuple(np.abs(reduce(more) - reduce(sizes)).tolist())  # type: ignore[operator]
        for sizes in reports()
        for more in with_one_more(sizes)
    }
    released = np.arange(-200, 201)
    worst = 0.0
    for shift in shifts:
        each = [
            np.max(np.abs(released - moved) - np.abs(released)) / step
            for moved, step in zip(shift, event.steps(), strict=True)
        ]
        worst = max(worst, float(np.sum(each)))
    return worst


@pytest.mark.parametrize("budget", [0.1, 1.0, 5.0])
def test_no_patient_changes_any_outcome_by_more_than_the_budget(budget: float) -> None:
    event = noise_for(SUMMARY, 1, budget)
    assert largest_log_ratio(event) == pytest.approx(budget, rel=1e-9)
    # Half the noise, a sensitivity of 1 and a summary with a cut are seen.
    half = dataclasses.replace(event, scale=event.scale / 2.0)
    assert largest_log_ratio(half) == pytest.approx(2.0 * budget, rel=1e-9)
    low = noise_for(dataclasses.replace(SUMMARY, l1=lambda n: 1.0), 1, budget)  # noqa: ARG005
    assert largest_log_ratio(low) == pytest.approx(13.0 / 3.0 * budget, rel=1e-9)
    assert largest_log_ratio(event, in_steps_with_a_cut) > 5.0 * budget


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_released_is_in_whole_steps_and_of_the_stated_law(name: str) -> None:
    chosen = next(iter(stated_by(simulators.load(name)).values()))
    event = dataclasses.replace(noise_for(chosen, 18, 1.0), scale=0.8)
    whole = np.array(chosen.whole)
    values = np.zeros((40_000, len(whole))) + 7.0 / whole
    steps = np.rint((noisy(values, event, rng_of(1)) - values) * whole)
    assert np.array_equal(
        noisy(values, event, rng_of(1)), (np.rint(values * whole) + steps) / whole
    )
    column = int(np.argmax(whole))
    for place, noise in ((0, 0.8), (column, 0.8 * whole[column])):
        counts, probabilities = tallied(steps[:, place], noise)
        assert_frequencies(counts, probabilities)
        assert rejects(assert_frequencies, *tallied(steps[:, place], 2.0 * noise))
    # Each number has noise of its own.
    assert abs(np.corrcoef(steps[:, 0], steps[:, 1])[0, 1]) < 0.03


def tallied(steps: Array, t: float) -> tuple[NDArray[np.int64], Array]:
    """Counts of −4 or less, −3, …, 3, 4 or more, and what discrete Laplace noise gives them."""
    most = 4
    places = np.arange(-most, most + 1)
    ratio = math.exp(-1.0 / t)
    law = (1.0 - ratio) / (1.0 + ratio) * ratio ** np.abs(places)
    law[[0, -1]] /= 1.0 - ratio
    inside = np.clip(steps, -most, most).astype(np.int64)
    return np.bincount(inside + most, minlength=2 * most + 1), law


def test_numbers_that_are_not_whole_get_laplace_noise() -> None:
    event = SummaryNoise("one patient", "add-remove", 1.0, 2.0)
    noise = noisy(np.full((40_000, 1), 0.3), event, rng_of(2))[:, 0] - 0.3
    edges = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
    below = np.where(edges < 0, np.exp(edges / 2.0) / 2.0, 1.0 - np.exp(-edges / 2.0) / 2.0)
    probabilities = np.diff(np.concatenate([[0.0], below, [1.0]]))
    counts = np.bincount(np.searchsorted(edges, noise), minlength=6)
    assert_frequencies(counts, probabilities)


def test_noise_is_the_difference_of_two_exponentials_or_of_their_whole_parts() -> None:
    values = np.array([[3.0, 0.5], [7.0, 1.25]])
    first, second = np.moveaxis(rng_of(14).standard_exponential((2, 2, 2)), -1, 0)
    real = SummaryNoise("one day", "replace", 1.0, 2.0)
    assert np.array_equal(noisy(values, real, rng_of(14)), values + 2.0 * (first - second))
    whole = SummaryNoise("one day", "replace", 1.0, 2.0, (1, 4))
    steps = np.floor(first * [2.0, 8.0]) - np.floor(second * [2.0, 8.0])
    assert np.array_equal(noisy(values, whole, rng_of(14)), values + steps / [1.0, 4.0])


def test_another_budget_moves_the_same_noise() -> None:
    values = np.zeros((1000, 6))
    small, large = (
        noisy(values, noise_for(SUMMARY, 1, budget), rng_of(3)) for budget in (0.1, 1.0)
    )
    # 43.3 and 4.33 steps: up to rounding to a step each, ten times as much.
    assert np.abs(small - 10.0 * large).max() <= 20.0


# ------------------------------------------------------------------------------ the posterior


@functools.cache
def public_of(name: str, pool_size: int = 2000) -> pool.PublicSide:
    source = simulators.load(name)
    return pool.PublicSide(pool.key_for(name, source.N_DEFAULT, pool_size, 1), source.N_DEFAULT)


def prepared_of(name: str, scenario: str, budget: float, pool_size: int = 2000) -> Prepared:
    mechanism = mechanisms.load(name)
    return mechanism.prepare(public_of(scenario, pool_size), mechanism.options, Budget(budget))


@BOTH
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("budget", [1e-3, 1.0, 1e3, math.inf])
def test_a_release_at_any_budget(name: str, scenario: str, budget: float) -> None:
    prepared = prepared_of(name, scenario, budget)
    public = prepared.public
    comparison = public.simulated(0)
    release = prepared.release(comparison, rng_of(4))
    if math.isinf(budget):
        assert isinstance(release.event, NonPrivate)
    else:
        assert 0.999 * budget < cost(release.event).epsilon <= budget
        paid, free = prepared.mechanism.parts(prepared)
        assert paid.cost == cost(release.event).epsilon
        assert free.cost == 0.0
    assert release.made is not None
    assert release.made.way == "moved"
    assert len(release.indices) == 500
    assert release.weights.sum() == pytest.approx(1.0)
    assert public.support.contains(release.parameters(public.theta)).all()


@BOTH
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_data_are_read_once_and_all_else_follows_from_what_is_released(
    name: str, scenario: str
) -> None:
    prepared = prepared_of(name, scenario, 1.0)
    public, mechanism = prepared.public, prepared.mechanism
    stated = stated_by(public.scenario)
    place = 0 if name == "private-summary" else 1
    key = list(stated)[place]
    # Nothing else of the data is at hand: no distance, and no other statistic.
    only = SimpleNamespace(summaries={key: public.simulated(0).summaries[key]})
    release, trace = mechanism.release(prepared, only, rng_of(5))
    assert np.array_equal(trace.released, noisy(trace.summary, prepared.event, rng_of(5)))
    regression = private_summary._fitted(public, key, prepared.event)
    again = posterior(trace.released, regression, prepared.event, public.support, public.theta)
    assert np.array_equal(again.indices, release.indices)
    assert np.array_equal(again.weights, release.weights)
    assert again.samples is not None
    assert release.samples is not None
    assert np.array_equal(again.samples, release.samples)
    assert mechanism.protects(public.scenario) == (stated[key].unit, stated[key].neighbours)
    assert isinstance(release.event, SummaryNoise)
    assert (release.event.unit, release.event.neighbours) == mechanism.protects(public.scenario)


def covered(budget: float, *, noise_on_draws: bool, sets: int = 150) -> NDArray[np.bool_]:
    """Whether 90 % intervals hold the truths held out from tuberculosis ``(sets, 4)``."""
    theta, numbers = patients.precomputed_pool(5000)
    truths, own = patients.held_out()
    event = noise_for(SUMMARY, 1, budget)
    model = event if noise_on_draws else NonPrivate()
    regression = Regression.fit(noisy(numbers, model, rng_of(6)), theta, patients.SUPPORT)
    found = []
    for z, truth in zip(noisy(own[:sets], event, rng_of(7)), truths[:sets], strict=True):
        release = posterior(z, regression, event, patients.SUPPORT, theta)
        low, high = summaries.weighted_quantile(
            release.parameters(theta), release.weights, [0.05, 0.95]
        )
        found.append((low <= truth) & (truth <= high))
    return np.array(found)


def assert_covers(inside: NDArray[np.bool_]) -> None:
    """Of each parameter 90 % of the intervals hold the truth."""
    for hits in inside.sum(axis=0):
        assert_frequencies(np.array([hits, len(inside) - hits]), np.array([0.9, 0.1]))


def test_intervals_hold_the_truth_and_do_not_without_noise_on_the_public_draws() -> None:
    assert_covers(covered(1.0, noise_on_draws=True))
    assert rejects(assert_covers, covered(1.0, noise_on_draws=False))


def test_the_posterior_of_one_count_is_the_exact_one() -> None:
    # θ ~ U(0, 60), a Poisson count, noise of scale 5: summed over counts on a grid of θ.
    event = SummaryNoise("one person", "add-remove", 1.0, 5.0, (1,))
    rng = rng_of(8)
    theta = rng.uniform(0.0, 60.0, (20_000, 1))
    counts = rng.poisson(theta).astype(float)
    z, support = np.array([24.0]), box(np.zeros(1), np.full(1, 60.0))
    grid, count = np.linspace(0.05, 59.95, 600), np.arange(150)
    log_count = -grid[:, None] + count * np.log(grid[:, None])
    log_count -= np.array([math.lgamma(i + 1.0) for i in count])
    density = np.exp(log_count - np.abs(z - count) / 5.0).sum(axis=1)
    density /= density.sum()
    exact = density @ grid
    spread = math.sqrt(density @ (grid - exact) ** 2)

    def moments(model: SummaryNoise | NonPrivate) -> tuple[float, float]:
        regression = Regression.fit(noisy(counts, model, rng_of(9)), theta, support)
        release = posterior(z, regression, event, support, theta)
        sample = release.parameters(theta)[:, 0]
        mean = float(release.weights @ sample)
        return mean, math.sqrt(release.weights @ (sample - mean) ** 2)

    mean, sd = moments(event)
    assert mean == pytest.approx(exact, abs=0.15 * spread)
    assert sd == pytest.approx(spread, rel=0.1)
    # Without noise on the public draws it would be far too sure.
    assert moments(NonPrivate())[1] < 0.75 * spread


@pytest.mark.parametrize(("pool_size", "way", "draws"), [
    (1, "kept", 1), (60, "kept", 60), (300, "kept", 100), (999, "kept", 249), (1000, "moved", 250),
    (5000, "moved", 1000),
])  # fmt: skip
def test_small_pools_keep_their_draws_where_they_are(pool_size: int, way: str, draws: int) -> None:
    rng = rng_of(10)
    theta = rng.normal(size=(pool_size, 2))
    numbers = theta + rng.normal(size=theta.shape)
    event = noise_for(statistic(1.0, None), 1, 1.0)
    found = posterior(
        numbers[0], Regression.fit(numbers, theta, ALL_REALS), event, ALL_REALS, theta
    )
    assert found.made is not None
    assert (found.made.way, len(found.indices)) == (way, draws)
    assert (found.samples is None) == (way == "kept")
    if way == "kept":
        assert np.ptp(found.weights) == 0.0


@pytest.mark.parametrize("numbers", [1, 40])
def test_the_error_of_a_small_pool_is_that_of_each_draw_among_the_others(numbers: int) -> None:
    """Of its own draws the regression knows far more than of others."""
    rng, draws = rng_of(5), 150
    theta = rng.standard_normal((draws, 2))
    pool = 3.0 * theta[:, :1] + rng.standard_normal((draws, numbers))
    found = Regression.fit(pool, theta, ALL_REALS)
    off = []
    for i in range(draws):
        others = np.arange(draws) != i
        features = found.scaling.features(pool, products=found.products)
        near = RIDGE * draws * np.eye(features.shape[1]) + features[others].T @ features[others]
        wanted = (theta[others] - found.mean) / found.spread
        told = features @ np.linalg.solve(near, features[others].T @ wanted)
        distance = np.linalg.norm(told - told[i], axis=1)[others]
        nearest = theta[others][np.argsort(distance, kind="stable")[:100]]
        off.append(nearest.mean(axis=0) - theta[i])
    expected = np.sqrt(np.mean(np.square(off), axis=0))
    said = private_summary.error(found, pool, ALL_REALS, theta)
    np.testing.assert_allclose(said, expected, rtol=1e-6)
    by_its_own = np.sqrt(
        np.mean((found.mean + found.spread * found.predictions - theta) ** 2, axis=0)
    )
    assert (said > 1.2 * by_its_own)[0]
    # The other parameter is in no number: no mean of draws tells it.
    assert said[1] == pytest.approx(theta[:, 1].std(), rel=0.1)


def test_the_regression_has_products_only_where_the_pool_is_large_enough() -> None:
    assert [coefficients(6, products=each) for each in (False, True)] == [13, 34]
    rng = rng_of(11)
    for pool_size, products in ((679, False), (680, True)):
        numbers = rng.normal(size=(pool_size, 6))
        assert Regression.fit(numbers, numbers[:, :2], ALL_REALS).products == products
    assert [minimum_pool(numbers) for numbers in (1, 6, 18, 24, 30)] == [
        1000,
        1000,
        1000,
        1000,
        1220,
    ]


@pytest.mark.parametrize("products", [False, True])
def test_the_regression_is_ridge_regression_on_standard_features(
    products: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = rng_of(13)
    size = 130 if products else 100
    numbers = rng.laplace(size=(size, 2)) * np.array([3.0, 500.0]) + 1.0
    theta = rng.normal(size=(size, 3)) * np.array([1.0, 2.0, 30.0]) + numbers[:, :1]
    # The third is 0 for most, so its unit is 1.
    numbers = np.column_stack([numbers, np.maximum(rng.laplace(size=size) - 1.0, 0.0)])
    monkeypatch.setattr(private_summary, "PER_FEATURE", 10)
    monkeypatch.setattr(private_summary, "BLOCK", 33)
    fitted = Regression.fit(numbers, theta, ALL_REALS)
    assert fitted.products == products
    unit = np.append(np.median(np.abs(numbers[:, :2]), axis=0), 1.0)
    straight, bent = (
        (values - values.mean(axis=0)) / values.std(axis=0)
        for values in (numbers, np.arcsinh(numbers / unit))
    )
    columns = [np.ones(size), *straight.T, *bent.T]
    if products:
        columns += [bent[:, i] * bent[:, j] for i in range(3) for j in range(i, 3)]
    features = np.column_stack(columns)
    gram = features.T @ features + 1e-6 * size * np.eye(len(columns))
    mean, spread = theta.mean(axis=0), theta.std(axis=0)
    predictions = features @ np.linalg.solve(gram, features.T @ ((theta - mean) / spread))
    assert fitted.mean + fitted.spread * fitted.predictions == pytest.approx(
        mean + spread * predictions, rel=1e-9, abs=1e-9
    )
    away = predictions - predictions[5]
    assert fitted.away(numbers[5]) == pytest.approx(away, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("place", "unit"), [(1e6, 1.0), (-1e9, 1.0), (0.0, 1e-12), (0.0, 1e50)])
def test_the_unit_of_parameters_and_how_far_from_0_they_are_change_nothing(
    place: float, unit: float
) -> None:
    rng = rng_of(14)
    theta = rng.uniform(size=(2000, 2))
    numbers = 300.0 * theta + rng.laplace(size=theta.shape)
    event = SummaryNoise("one person", "replace", 1.0, 1.0)

    def found(theta: Array, low: float, high: float) -> Array:
        support = box(np.full(2, low), np.full(2, high))
        regression = Regression.fit(numbers, theta, ALL_REALS)
        found = private_summary.posterior(numbers[7], regression, event, support, theta)
        assert found.samples is not None
        return found.samples

    moved = found(place + unit * theta, place, place + unit)
    assert (moved - place) / unit == pytest.approx(found(theta, 0.0, 1.0), rel=1e-5, abs=1e-6)


def test_numbers_are_bent_from_their_median_size_on() -> None:
    small, large, mostly_0 = [0.01, -0.02, 0.03], [1e5, 3e5, -2e5], [0.0, 0.0, 5.0]
    scaling = Scaling.of(np.array([small, large, mostly_0]).T)
    assert scaling.unit.tolist() == [0.02, 2e5, 1.0]
    assert scaling.mean_bent[0] == pytest.approx(np.arcsinh([0.5, -1.0, 1.5]).mean())


def test_numbers_that_never_change_are_no_obstacle() -> None:
    theta = rng_of(12).uniform(size=(2000, 1))
    numbers = np.column_stack([np.full(2000, 0.1), np.zeros(2000), np.round(20.0 * theta[:, 0])])
    regression = Regression.fit(numbers, theta, ALL_REALS)
    found = posterior(np.array([0.3, 5.0, 10.0]), regression, NonPrivate(), ALL_REALS, theta)
    assert found.mean(theta, theta[0]) == pytest.approx([0.5], abs=0.05)
    # Nor is a pool in which nothing changes: then its draws are the prior's.
    regression = Regression.fit(numbers[:, :2], theta, ALL_REALS)
    found = posterior(np.array([0.3, 5.0]), regression, NonPrivate(), ALL_REALS, theta)
    assert np.isfinite(found.parameters(theta)).all()


# ------------------------------------------------------------------------------- the contract


def test_scenarios_are_served_by_what_they_state() -> None:
    small, large = (mechanisms.load(f"private-summary{end}") for end in ("", "-large-unit"))
    assert small.refuses(patients) == large.refuses(covid_people) == ""
    assert small.refuses(uniform_mixture) == ""
    assert "second, larger unit" in large.refuses(uniform_mixture)
    for each in ("covid", "tuberculosis"):
        assert "states no numbers" in small.refuses(simulators.load(each))
    assert small.protects(patients) == ("one patient", "add-remove")
    assert large.protects(patients) == ("one outbreak", "replace")
    assert small.protects(covid_people) == ("one person", "add-remove")
    assert large.protects(covid_people) == ("one day", "replace")


def test_the_larger_unit_takes_far_more_noise() -> None:
    for scenario in SCENARIOS:
        person, larger = (
            prepared_of(f"private-summary{end}", scenario, 1.0).event for end in ("", "-large-unit")
        )
        assert isinstance(person, SummaryNoise)
        assert isinstance(larger, SummaryNoise)
        assert larger.scale > 400.0 * person.scale
