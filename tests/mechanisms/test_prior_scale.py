"""The scale of priors over decades, or of few values: its inverse, and posteriors known exactly."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtri

from abcdp_core.mechanisms import private_summary
from abcdp_core.mechanisms.prior_scale import Column, PriorScale
from abcdp_core.mechanisms.regression_adjustment import Near, less_slope
from abcdp_core.privacy import NonPrivate
from abcdp_core.summaries import weighted_quantile
from abcdp_core.supports import ALL_REALS, SIMPLEX, box

Array = NDArray[np.float64]

PARTS = (np.arange(4000) + 0.5) / 4000
"""Of a pool that follows its prior without chance."""


@pytest.mark.parametrize(
    ("name", "theta", "needs"),
    [
        ("normal", ndtri(PARTS), ""),
        ("uniform", PARTS, ""),
        ("exponential", -np.log(PARTS), ""),
        ("two decades", 10.0 ** (2.0 * PARTS), ""),
        ("three decades", 10.0 ** (3.0 * PARTS), "scores"),
        ("three below 0", -(10.0 ** (3.0 * PARTS)), "scores"),
        ("log-normal", np.exp(ndtri(PARTS)), "scores"),
        ("no effect for half", np.maximum(PARTS - 0.5, 0.0), "low end"),
        ("mostly no effect", np.maximum(PARTS - 0.95, 0.0), "scores, low end"),
        ("mostly whole", np.minimum(PARTS, 0.9), "high end"),
        ("rarely 0", np.maximum(PARTS - 0.009, 0.0), ""),
        ("0 or over decades", np.where(PARTS < 0.5, 0.0, 10.0 ** (7.0 * PARTS)), "scores, low end"),
        ("four values", np.ceil(4.0 * PARTS), "values, low end, high end"),
        ("powers of ten", 10.0 ** np.ceil(5.0 * PARTS), "scores, values, low end, high end"),
        ("always the same", np.full(4000, 3.0), "values, low end, high end"),
    ],
)
def test_each_prior_has_what_it_needs(name: str, theta: Array, needs: str) -> None:
    found = Column.of(theta)
    assert (found is None) == (needs == ""), name
    if found is not None:
        low, high = np.isfinite(found.ends)
        has = {"scores": found.scores is not None, "values": found.are_few}
        has |= {"low end": bool(low), "high end": bool(high)}
        assert ", ".join(each for each in has if has[each]) == needs


def test_scores_are_normal_and_lead_back() -> None:
    theta = np.column_stack([ndtri(PARTS), 10.0 ** (7.0 * PARTS)])
    scale = PriorScale.of(theta, ALL_REALS)
    # The first has none.
    assert (scale.scored, list(scale.columns)) == ([1], [1])
    both = scale.with_scores(theta)
    assert both == pytest.approx(np.column_stack([theta, ndtri(PARTS)]))
    assert scale.columns[1].from_scores(both[:, 2]) == pytest.approx(theta[:, 1])


def test_what_is_moved_beyond_the_pool_goes_on_as_far_as_the_parameter_can_be() -> None:
    theta = 10.0 ** (7.0 * PARTS)[:, None]
    scale, top = PriorScale.of(theta, ALL_REALS), theta[-1, 0]
    # Whatever two draws at the end do: as they rise from the tenth before the last.
    rise = (top - theta[-11, 0]) / (ndtri(PARTS[-1]) - ndtri(PARTS[-11]))
    scores = np.array([[-99.0], [4.0], [5.0], [6.0], [99.0]])
    for support, within in ((ALL_REALS, (-np.inf, np.inf)), (box([1.0], [1.2e7]), (1.0, 1.2e7))):
        found = scale.on(support, [0]).from_unconstrained(scores, np.array([1e5]))[:, 0]
        assert within[0] <= found[0] <= theta[0, 0]
        assert top < found[1] <= found[-1] <= within[1]
        # Between the last two draws nothing is changed.
        between = scale.on(support, [0]).from_unconstrained(np.array([[3.6]]), np.array([1e5]))
        assert between == scale.columns[0].from_scores(np.array([3.6]))
        assert theta[-2] < between < top
        if support is ALL_REALS:
            assert np.diff(found[1:4]) == pytest.approx([rise, rise])


def test_what_is_moved_is_where_the_parameter_can_be() -> None:
    low, high = np.zeros(2), np.full(2, 4.0)
    theta = np.column_stack([np.ceil(4.0 * PARTS), np.clip(5.0 * PARTS - 0.5, 0.0, 4.0)])
    support = PriorScale.of(theta, ALL_REALS).on(box(low, high))
    distance = np.array([0.1, 1.0])
    straight = np.array([[0.2, 0.04], [2.4, 0.06], [2.6, 3.94], [3.9, 3.96]])
    moved = box(low, high).to_unconstrained(straight, distance)
    came = support.from_unconstrained(moved, distance)
    assert came == pytest.approx(np.array([[1.0, 0.0], [2.0, 0.06], [3.0, 3.94], [4.0, 4.0]]))


def test_parameters_that_move_together_keep_their_scale() -> None:
    first = np.where(PARTS < 0.5, 0.0, 1.0)
    theta = np.column_stack([first, 1.0 - first])
    assert not PriorScale.of(theta, SIMPLEX).columns
    assert set(PriorScale.of(theta, ALL_REALS).columns) == {0, 1}
    support = box(np.zeros(1), np.ones(1))
    assert PriorScale.of(PARTS[:, None], support).on(support) is support


def test_scores_that_are_moved_have_values_that_the_parameter_has() -> None:
    often = Column.of(np.where(PARTS < 0.5, 0.0, 10.0 ** (7.0 * PARTS)))
    assert often is not None
    # 0 has the scores of its half's middle, and the next is where the half ends.
    moved = often.from_scores(np.array([-0.67, -0.4, -0.3, 0.0]))
    assert moved[:2].tolist() == [0.0, 0.0]
    assert moved[2:] == pytest.approx([0.44 / 0.67 * 10.0**3.5, 10.0**3.5], rel=0.2)
    powers = Column.of(10.0 ** np.ceil(5.0 * PARTS))
    assert powers is not None
    assert set(powers.from_scores(np.linspace(-3.0, 3.0, 50))) == set(powers.values)


@pytest.mark.parametrize(
    ("numbers", "by_scores"),
    [("straight", False), ("logarithm", True), ("nothing", True), ("both", False)],
)
@pytest.mark.parametrize("unit", [1.0, 1e-12])
def test_draws_are_moved_on_the_scale_on_which_they_end_closer(
    numbers: str, by_scores: bool, unit: float
) -> None:
    rng = np.random.default_rng(1)
    theta = unit * 10.0 ** (5.0 * PARTS[:, None])
    scale = PriorScale.of(theta, ALL_REALS)
    near = scale.with_scores(theta)[1200:1400]
    straight = (near - near.mean(axis=0)) / near.std(axis=0)
    away = {
        "straight": straight[:, :1] + 0.02 * rng.normal(size=(200, 1)),
        "logarithm": straight[:, 1:] + 0.02 * rng.normal(size=(200, 1)),
        "nothing": rng.normal(size=(200, 1)),
        "both": straight + np.array([0.001, 0.02]) * rng.normal(size=(200, 2)),
    }[numbers]
    weights = np.full(200, 0.005)
    found = Near(np.arange(200), away, weights)
    scored = scale.better_by_scores(near, less_slope(near, found), weights)
    assert scored == ([0] if by_scores else [])
    support = scale.on(ALL_REALS, scored)
    assert (support.to_unconstrained(theta, np.ones(1)) != theta).all() == by_scores
    own = np.where(by_scores, ndtri(PARTS)[:, None], theta)
    assert support.from_unconstrained(own, np.ones(1)) == pytest.approx(theta)


@pytest.mark.parametrize(("own", "by_scores"), [(0.84, False), (0.86, True), (0.89, True)])
def test_a_little_less_that_is_left_open_is_chance(own: float, by_scores: bool) -> None:
    scale = PriorScale.of(10.0 ** (5.0 * PARTS[:, None]), ALL_REALS)
    near = scale.with_scores(10.0 ** (5.0 * PARTS[2000:2020, None]))
    centre = near.mean(axis=0)
    moved = centre + np.sqrt([own, 0.9]) * (near - centre)
    assert scale.better_by_scores(near, moved, np.full(20, 0.05)) == ([0] if by_scores else [])


def test_draws_far_above_a_release_are_no_reason_to_move_by_the_rate_itself() -> None:
    """It explains these, and most of the variance is theirs; it spreads those at the low end."""
    rng, spread = np.random.default_rng(4), 0.03
    logarithms = rng.uniform(-3.0, 2.0, 1000)
    pool, widths = logarithms + spread * rng.normal(size=1000), []
    for z in np.linspace(-2.9, -1.8, 30):
        samples, weights = told(10.0**logarithms, pool, z, 1e-3, 1e2)
        ends = weighted_quantile(samples[:, None], weights, [0.05, 0.95])
        widths.append(np.ptp(ends) / np.ptp(10.0 ** (z + spread * ndtri([0.05, 0.95]))))
    assert np.quantile(widths, 0.9) < 1.8


def test_a_rate_at_the_top_of_its_prior_is_moved_by_itself() -> None:
    """Scores are steep at a pool's last draws, so that what is close by itself looks wide there."""
    rng = np.random.default_rng(4)
    theta = 10.0 ** rng.uniform(-3.0, 2.0, 10_000)
    pool = theta + 0.04 * rng.laplace(size=10_000)
    for z in (98.9, 99.0, 99.1):
        samples, weights = told(theta, pool, z, 1e-3, 1e2)
        assert weights @ samples == pytest.approx(z, abs=0.1)


@pytest.mark.parametrize("last", [[180.0, 300.0], [300.0, 300.1]])
@pytest.mark.parametrize("z", [300.3, 330.0])
def test_a_mean_at_or_beyond_the_last_draws_of_a_pool_is_told_as_exactly(
    last: list[float], z: float
) -> None:
    """By scores all draws would end at one, however much is known."""
    noise = 0.1
    theta = np.exp(1.5 * ndtri(PARTS))
    theta[-2:] = last
    pool = theta + np.random.default_rng(5).laplace(scale=noise, size=len(theta))
    samples, weights = told(theta, pool, z, 0.0, 1000.0)
    low, median, high = weighted_quantile(samples[:, None], weights, [0.05, 0.5, 0.95])[:, 0]
    # The prior is flat there.
    assert median == pytest.approx(z, abs=5 * noise)
    assert high - low == pytest.approx(2 * noise * np.log(10.0), rel=0.5)


def test_two_last_draws_that_are_close_by_chance_do_not_tell_a_mean() -> None:
    """Scores are steep between them, so that draws moved there would seem to end close together."""
    rng, noise, z = np.random.default_rng(2), 0.1, 34.2
    theta = rng.gamma(0.2, 5.0, 20_100)[:10_000]
    assert np.sort(theta)[-3:] == pytest.approx([25.9, 34.3, 34.4], abs=0.05)
    samples, weights = told(theta, theta + rng.laplace(scale=noise, size=10_000), z, 0.0, 100.0)
    low, high = weighted_quantile(samples[:, None], weights, [0.05, 0.95])[:, 0]
    assert high - low == pytest.approx(2 * noise * np.log(10.0), rel=0.5)


def told(theta: Array, pool: Array, z: float, low: float, high: float) -> tuple[Array, Array]:
    """Draws and weights from numbers of a pool."""
    support = box(np.array([low]), np.array([high]))
    regression = private_summary.Regression.fit(pool[:, None], theta[:, None], support)
    found = private_summary.posterior(
        np.array([z]), regression, NonPrivate(), support, theta[:, None]
    )
    return found.parameters(theta[:, None])[:, 0], found.weights


@pytest.mark.parametrize("logarithm", [-6.0, -3.0, 0.0, 3.0])
def test_a_rate_over_twelve_decades_is_told_as_exactly_in_each(logarithm: float) -> None:
    rng, spread = np.random.default_rng(1), 0.05
    logarithms = rng.uniform(-7.0, 5.0, 10_000)
    pool = logarithms + spread * rng.normal(size=10_000)
    samples, weights = told(10.0**logarithms, pool, logarithm, 1e-7, 1e5)
    ends = np.log10(weighted_quantile(samples[:, None], weights, [0.05, 0.5, 0.95])[:, 0])
    exact = logarithm + spread * ndtri([0.05, 0.5, 0.95])
    assert ends == pytest.approx(exact, abs=spread)


@pytest.mark.parametrize("z", [-3.0, 10.0, 100.0])
def test_a_mean_that_data_follow_in_a_straight_line_is_told_as_exactly_far_out(z: float) -> None:
    """By scores, Cauchy's 10 to 90 beside a release of 20 that is known to 0.1."""
    rng, spread = np.random.default_rng(7), 0.1
    theta = np.clip(2.5 * rng.standard_cauchy(10_000), -1e4, 1e4)
    assert Column.of(theta).scores is not None  # type: ignore[union-attr]
    samples, weights = told(theta, theta + spread * rng.normal(size=10_000), z, -2e4, 2e4)
    ends = weighted_quantile(samples[:, None], weights, [0.05, 0.5, 0.95])[:, 0]
    assert ends == pytest.approx(z + spread * ndtri([0.05, 0.5, 0.95]), abs=spread)


@pytest.mark.parametrize(("part", "z"), [(0.5, 0.0), (0.5, 0.2), (0.9, 0.1), (0.9, 1.0)])
def test_no_effect_has_the_probability_that_it_has(part: float, z: float) -> None:
    """Part of the prior is at 0; the noise is normal, so the posterior is a sum of two parts."""
    rng, spread = np.random.default_rng(2), 0.1
    theta = np.where(rng.random(20_000) < part, 0.0, 2.0 * rng.random(20_000))
    samples, weights = told(theta, theta + spread * rng.normal(size=20_000), z, 0.0, 2.0)
    grid = 2.0 * (np.arange(1000) + 0.5) / 1000
    likelihood = np.exp(-0.5 * ((z - grid) / spread) ** 2)
    none = part * np.exp(-0.5 * (z / spread) ** 2)
    some = (1.0 - part) * likelihood.mean()
    assert weights[samples == 0.0].sum() == pytest.approx(none / (none + some), abs=0.1)
    exact = (1.0 - part) * (grid * likelihood).mean() / (none + some)
    assert weights @ samples == pytest.approx(exact, abs=0.5 * spread)


def test_few_values_have_the_probabilities_that_they_have() -> None:
    rng, spread, z = np.random.default_rng(4), 0.6, 1.4
    theta = rng.integers(1, 5, 20_000).astype(float)
    samples, weights = told(theta, theta + spread * rng.normal(size=20_000), z, 1.0, 4.0)
    values = np.arange(1.0, 5.0)
    exact = np.exp(-0.5 * ((z - values) / spread) ** 2)
    found = [weights[samples == value].sum() for value in values]
    assert found == pytest.approx(exact / exact.sum(), abs=0.1)


def test_the_error_of_a_prior_over_decades_is_that_of_its_posterior() -> None:
    """Of the regression alone, by the rate itself, 5 times as much was announced."""
    rng = np.random.default_rng(3)
    logarithms = rng.uniform(-3.0, 4.0, (10_000, 1))
    pool = logarithms + 0.05 * rng.normal(size=logarithms.shape)
    theta, support = 10.0**logarithms, box(np.array([1e-3]), np.array([1e4]))
    regression = private_summary.Regression.fit(pool, theta, support)
    said = private_summary.error(regression, pool, support, theta)
    truths = 10.0 ** rng.uniform(-3.0, 4.0, (400, 1))
    off = []
    for z, truth in zip(np.log10(truths) + 0.05 * rng.normal(size=(400, 1)), truths, strict=True):
        found = private_summary.posterior(z, regression, NonPrivate(), support, theta)
        off.append(found.mean(theta, truth) - truth)
    # Each is known to some 10 %, as few draws decide it.
    assert said == pytest.approx(np.sqrt(np.mean(np.square(off), axis=0)), rel=0.5)


def test_the_error_of_what_tells_nothing_is_that_of_the_prior() -> None:
    """Few draws of a prior over decades are far, and all of its error is theirs."""
    rng = np.random.default_rng(5)
    theta = 10.0 ** rng.uniform(-7.0, 5.0, (10_000, 1))
    pool, support = rng.normal(size=theta.shape), box(np.array([1e-7]), np.array([1e5]))
    regression = private_summary.Regression.fit(pool, theta, support)
    said = private_summary.error(regression, pool, support, theta)
    assert said == pytest.approx(theta.std(axis=0), rel=0.1)


def test_draws_that_are_looked_for_stand_for_the_pool() -> None:
    rng = np.random.default_rng(6)
    theta = np.column_stack([rng.random(10_000), np.exp(3.0 * rng.normal(size=10_000))])
    some, weights = private_summary._looked_for(theta)
    assert weights.sum() == pytest.approx(1.0, abs=0.02)
    around = (theta - theta.mean(axis=0)) ** 2
    assert weights @ around[some] == pytest.approx(around.mean(axis=0), rel=0.1)
    some, weights = private_summary._looked_for(np.ones((10_000, 1)))
    assert weights.sum() == pytest.approx(1.0)
    some, weights = private_summary._looked_for(theta[:50])
    assert (some.tolist(), np.ptp(weights)) == (list(range(50)), 0.0)


@pytest.mark.parametrize(("logarithm", "wider"), [(-2.5, 2.0), (-1.0, 5.0), (1.5, 1.2)])
def test_a_rate_that_two_numbers_tell_is_told_by_the_better_in_each_decade(
    logarithm: float, wider: float
) -> None:
    """A mean tells large rates, a mean of logarithms all: by the first, small ones were lost."""
    rng = np.random.default_rng(9)
    logarithms = rng.uniform(-3.0, 2.0, 10_000)
    theta = 10.0**logarithms
    mean = theta * (1.0 + 0.03 * rng.normal(size=10_000)) + 0.1 * rng.laplace(size=10_000)
    pool = np.column_stack([mean, logarithms + 0.02 * rng.normal(size=10_000)])
    support = box(np.array([1e-3]), np.array([1e2]))
    regression = private_summary.Regression.fit(pool, theta[:, None], support)
    z = np.array([10.0**logarithm, logarithm])
    found = private_summary.posterior(z, regression, NonPrivate(), support, theta[:, None])
    low, high = weighted_quantile(found.parameters(theta[:, None]), found.weights, [0.05, 0.95])
    grid = np.linspace(-3.0, 2.0, 20_001)
    rates = 10.0**grid
    off = np.linspace(-4.0, 4.0, 81)[:, None]
    around = np.exp(-0.5 * off**2) * np.exp(-np.abs(z[0] - rates * (1.0 + 0.03 * off)) / 0.1)
    weights = around.sum(axis=0) * np.exp(-0.5 * ((z[1] - grid) / 0.02) ** 2)
    exact = weighted_quantile(rates[:, None], weights / weights.sum(), [0.05, 0.95])
    assert low <= rates[np.argmax(weights)] <= high
    assert 0.9 < (high - low)[0] / np.ptp(exact) < wider


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_tells_nothing_leaves_a_prior_over_decades(seed: int) -> None:
    """By itself, a chance slope along far draws moved all small ones to 5 and more."""
    rng = np.random.default_rng(seed)
    theta = 10.0 ** rng.uniform(-7.0, 5.0, (10_000, 1))
    support = box(np.array([1e-7]), np.array([1e5]))
    regression = private_summary.Regression.fit(rng.normal(size=(10_000, 2)), theta, support)
    found = private_summary.posterior(np.zeros(2), regression, NonPrivate(), support, theta)
    told = weighted_quantile(found.parameters(theta), found.weights, [0.05, 0.5, 0.95])[:, 0]
    assert np.log10(told) == pytest.approx([-6.4, -1.0, 4.4], abs=1.0)


@pytest.mark.parametrize("z", [-5.0, -3.5, -1.0, 1.0])
def test_no_rate_or_one_over_decades_is_told_as_exactly(z: float) -> None:
    """By the rate itself, 0 had a probability of a half where it had none, or all."""
    rng, spread = np.random.default_rng(10), 0.1

    def number(rate: Array) -> Array:
        return np.asarray(np.log10(rate + 1e-5))

    theta = np.where(rng.random(10_000) < 0.5, 0.0, 10.0 ** rng.uniform(-4.0, 2.0, 10_000))
    pool = number(theta) + spread * rng.normal(size=10_000)
    samples, weights = told(theta, pool, z, 0.0, 100.0)
    grid = 10.0 ** np.linspace(-4.0, 2.0, 20_001)
    likely = np.exp(-0.5 * ((z - number(grid)) / spread) ** 2)
    none = np.exp(-0.5 * ((z + 5.0) / spread) ** 2)
    some = likely.mean()
    assert weights[samples == 0.0].sum() == pytest.approx(none / (none + some), abs=0.05)
    if z > -4.0:
        ends = weighted_quantile(samples[:, None], weights, [0.05, 0.95])
        exact = weighted_quantile(grid[:, None], likely / likely.sum(), [0.05, 0.95])
        assert np.log10(ends) == pytest.approx(np.log10(exact), abs=spread)
