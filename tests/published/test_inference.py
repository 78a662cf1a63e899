"""From a problem to its posterior, against posteriors that have a closed form."""

from __future__ import annotations

import dataclasses
import math
import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from abcdp_core.parameters import ParameterError
from abcdp_core.published import inference, models, posteriors, proposals
from abcdp_core.published.inference import Draws, Task
from abcdp_core.published.models import Array, Model
from abcdp_core.published.noise import BinomialSample, DiscreteLaplace, Gaussian, Laplace, Noise
from abcdp_core.published.pools import Pool
from abcdp_core.published.problems import Problem
from abcdp_core.supports import ALL_REALS
from tests.oracles import log_linear

SPREAD = 0.2
"""Standard deviation of a simulated number of :data:`NORMAL` at its parameter."""


def prior(rng: np.random.Generator, size: int) -> Array:
    return rng.standard_normal((size, 2))


def log_prior(x: Array) -> Array:
    return np.asarray(stats.norm.logpdf(x).sum(axis=1))


def simulate(rng: np.random.Generator, x: Array) -> Array:
    return x + SPREAD * rng.standard_normal(x.shape)


def simulate_many(rng: np.random.Generator, x: Array) -> Array:
    """Twelve numbers, each alone a parameter with noise of its own."""
    repeated: Array = np.repeat(x, 6, axis=1)
    return repeated + rng.standard_normal(repeated.shape)


def exactly(rng: np.random.Generator, x: Array) -> Array:
    return x


def broken(rng: np.random.Generator, x: Array) -> Array:
    """One number of one draw is none."""
    return np.where([False, True] & (x == x[:, 1].max()), np.nan, x)


def model(simulator: Callable[[np.random.Generator, Array], Array], numbers: int = 2) -> Model:
    names = tuple(f"s{place}" for place in range(numbers))
    return Model("normal", ("a", "b"), names, prior, log_prior, simulator)


def problem(
    noise: Noise,
    query: ArrayLike,
    source: Model | Pool | None = None,
    wanted: int = 2000,
    draws: int = 1_000_000,
    seed: int = 1,
) -> Problem:
    source = source or model(simulate)
    return Problem(
        "test", source, "normal", np.array(query), noise, wanted, draws, seed, spent=None
    )


def normal_posterior(query: Sequence[float], variance: float) -> tuple[Array, float]:
    """Means and standard deviation of standard normal parameters seen with such a variance."""
    return np.array(query) / (1.0 + variance), float(np.sqrt(variance / (1.0 + variance)))


def close(found: posteriors.Posterior, mean: Array, sd: float, ess: float) -> bool:
    """Whether all moments are within six standard errors of weighted normal draws."""
    moments = found.found
    of_means = np.abs(moments.mean - mean) < 6.0 * sd / np.sqrt(ess)
    of_sds = np.abs(moments.sd / sd - 1.0) < 6.0 / np.sqrt(2.0 * ess)
    return bool(of_means.all() and of_sds.all())


# ---------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("scale", [1.0, 0.05])
def test_the_posterior_takes_the_noise_into_account(scale: float) -> None:
    query = (1.5, -0.5)
    found = inference.infer(problem(Gaussian((scale, scale)), query))
    mean, sd = normal_posterior(query, SPREAD**2 + scale**2)
    assert found.way == "weights"
    assert found.ess >= 2000
    assert close(found, mean, sd, 2000)
    # Nearer to the query than that would be without noise, or without the model's own spread.
    assert not close(found, *normal_posterior(query, max(SPREAD, scale) ** 2 / 2.0), 2000)
    moments = found.found
    np.testing.assert_allclose(moments.low, mean - 1.645 * sd, atol=0.15 * sd)
    np.testing.assert_allclose(moments.high, mean + 1.645 * sd, atol=0.15 * sd)


def test_rounds_find_a_posterior_that_the_prior_does_not_reach() -> None:
    query = (3.5, -3.5)
    found = inference.infer(problem(Gaussian((0.01, 0.01)), query, model(exactly)))
    mean, sd = normal_posterior(query, 0.01**2)
    assert found.rounds[0][1] < 10
    assert found.way == "weights"
    assert found.ess >= 2000
    assert close(found, mean, sd, 2000)
    assert [draws for draws, _ in found.rounds] == sorted({draws for draws, _ in found.rounds})
    assert found.simulated == found.rounds[-1][0]


def test_the_shipped_problem_agrees_with_a_sum_over_all_counts() -> None:
    query = (32.754, 45.2008, 58.6172, 18.2683, 12.926, 8.5805, 12.8789, 9.5372)
    source = models.load("log-linear")
    found = inference.infer(problem(Laplace((4.0,) * 8), query, source)).found
    mean, sd = log_linear.moments(np.array(query), 4.0, 100)
    assert (np.abs(found.mean - mean) < 0.1 * sd).all()
    assert (np.abs(found.sd / sd - 1.0) < 0.1).all()
    other = log_linear.moments(np.array(query), 3.0, 100)[1]
    assert (np.abs(other / sd - 1.0) > 0.03).any()


def test_draws_of_all_rounds_are_weighted_by_their_mixture() -> None:
    source = model(simulate)
    fitted = proposals.Proposal(0.1, (0.5, 0.0), ((0.3, 0.0), (0.1, 0.2)))
    x = np.random.default_rng(1).normal(size=(6, 2))
    root = np.array(fitted.root)
    student = stats.multivariate_t.pdf(x, [0.5, 0.0], root @ root.T, df=5)
    density = stats.norm.pdf(x).prod(axis=1)
    mixture = 0.75 * density + 0.25 * (0.1 * density + 0.9 * student)
    log_prior = source.log_prior(x)
    found = inference.drawn_by([proposals.PRIOR, fitted], [300, 100], x, log_prior)
    np.testing.assert_allclose(np.exp(found), 400 * mixture)


def test_no_weight_is_larger_than_the_first_round_allows() -> None:
    source = model(simulate)
    narrow = proposals.Proposal(0.1, (0.0, 0.0), ((1e-3, 0.0), (0.0, 1e-3)))
    x = np.random.default_rng(1).normal(size=(50, 2))
    log_prior = source.log_prior(x)
    drawn = inference.drawn_by([proposals.PRIOR, narrow], [100, 900], x, log_prior)
    found = log_prior - (drawn - np.log(1000))
    assert (np.exp(found) <= 1.0 / (0.1 + 0.9 * 0.1) + 1e-9).all()


def test_weights_of_all_rounds_are_the_prior_over_what_was_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each round adds to those before it; that is as if all had been added up at the end."""
    seen, asked = list[Any](), list[Any]()
    posterior, drawn_by = inference._posterior, inference.drawn_by
    monkeypatch.setattr(inference, "_posterior", lambda *of: seen.append(of) or posterior(*of))
    monkeypatch.setattr(inference, "drawn_by", lambda *of: asked.append(of) or drawn_by(*of))
    noise, query = Laplace((0.01,) * 2), np.array([1.0, -0.5])
    inference.infer(problem(noise, query, model(exactly)))
    ((_, _, x, log_weights, rounds, *_),) = seen
    made, sizes, *_ = asked[-1]
    assert len(rounds) == len(sizes) > 2
    drawn = drawn_by(made, sizes, x, log_prior(x))
    expected = log_prior(x) + math.log(len(x)) - drawn + noise.log_density(query, x)
    np.testing.assert_allclose(log_weights, expected)


# ------------------------------------------------------------------------- where they do not carry


def test_where_weights_do_not_carry_draws_near_the_query_are_moved() -> None:
    """Twelve numbers that must all be met within 0.001: no draw has."""
    query = np.repeat([1.0, -0.5], 6) + 0.3 * np.tile([1.0, -1.0, 0.0], 4)
    source = model(simulate_many, 12)
    found = inference.infer(problem(Laplace((0.001,) * 12), query, source, draws=25_000))
    assert found.way == "regression"
    assert found.ess < inference.FEWEST
    assert found.simulated == 25_000
    moments, sd = found.found, np.sqrt(1.0 / 7.0)
    np.testing.assert_allclose(moments.mean, np.array([6.0, -3.0]) / 7.0, atol=0.3 * sd)
    np.testing.assert_allclose(moments.sd, sd, rtol=0.25)


def test_the_regression_has_the_noise_of_the_release() -> None:
    query = np.repeat([1.0, -0.5], 6)
    source = model(simulate_many, 12)
    first = inference._round(
        problem(Laplace((1.0,) * 12), query, source), source, proposals.PRIOR, 0, 20_000,
        inference.one_by_one,
    )  # fmt: skip
    rng = np.random.default_rng(1)
    quiet, loud = (
        inference._by_regression(
            problem(noise, query, source), first, noise.noisy(rng, first.summaries), ALL_REALS
        )
        for noise in (Laplace((0.01,) * 12), Laplace((3.0,) * 12))
    )
    sds = [posteriors.moments(*each).sd for each in (quiet, loud)]
    # Averages of six numbers of variance 1 + 2 b².
    for sd, scale in zip(sds, (0.01, 3.0), strict=True):
        variance = (1.0 + 2.0 * scale**2) / 6.0
        np.testing.assert_allclose(sd, np.sqrt(variance / (1.0 + variance)), rtol=0.25)


def test_a_pool_is_weighted_and_never_simulated() -> None:
    rng = np.random.default_rng(1)
    theta = prior(rng, 20_000)
    pool = Pool(("a", "b"), ("s0", "s1"), theta, simulate(rng, theta))
    query = (0.4, 0.1)
    found = inference.infer(problem(Gaussian((0.5, 0.5)), query, pool))
    assert found.way == "weights"
    assert found.simulated == 20_000
    assert close(found, *normal_posterior(query, SPREAD**2 + 0.25), found.ess)
    far = inference.infer(problem(Gaussian((1e-4, 1e-4)), query, pool))
    assert far.way == "regression"
    assert (np.abs(far.found.mean - normal_posterior(query, SPREAD**2)[0]) < 0.1).all()


def test_a_small_pool_whose_draws_all_count_is_weighted() -> None:
    theta = np.linspace(-1.0, 1.0, 120)[:, None]
    pool = Pool(("a",), ("s",), theta, theta)
    found = inference.infer(problem(Gaussian((2.0,)), (0.0,), pool))
    assert found.way == "weights"
    assert 100 < found.ess < 120
    np.testing.assert_allclose(found.prior.mean, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.prior.sd, theta.std())
    # With less noise fewer than half of them. The nearest to the query would be nearly all, and
    # the posterior nearly the prior.
    with pytest.raises(ParameterError, match=r"120 draws are too few .* a regression needs 1,000"):
        inference.infer(problem(Gaussian((0.25,)), (0.0,), pool))


def test_draws_of_a_pool_are_not_moved_out_of_its_range() -> None:
    rng = np.random.default_rng(1)
    theta = rng.random((2000, 1))
    pool = Pool(("a",), ("s",), theta, theta + 0.01 * rng.standard_normal((2000, 1)))
    found = inference.infer(problem(Gaussian((1e-6,)), (1.02,), pool))
    assert found.way == "regression"
    assert 0.0 <= found.theta.min() < found.theta.max() <= 1.0


def test_a_query_beyond_all_simulated_ones_is_told() -> None:
    found = inference.infer(problem(Gaussian((1.0, 1.0)), (0.0, -9.0), draws=2000))
    assert found.beyond == ("s1",)
    assert inference.infer(problem(Gaussian((1.0, 1.0)), (0.0, 9.0), draws=2000)).beyond == ("s1",)
    assert inference.infer(problem(Gaussian((1.0, 1.0)), (1.0, -1.0), draws=2000)).beyond == ()


def test_a_query_as_far_as_simulated_ones_go_is_not_beyond() -> None:
    this = problem(Gaussian((1.0, 1.0)), (-1.0, 2.0))
    assert inference._beyond(this, np.array([[-1.0, 0.0], [3.0, 2.0]])) == ()
    assert inference._beyond(this, np.array([[-0.9, 0.0], [3.0, 1.9]])) == ("s0", "s1")


def test_numbers_that_no_parameters_make_together_are_told() -> None:
    """A mean and a variance, where the pool has the mean and the mean of squares."""
    rng = np.random.default_rng(7)
    theta = rng.uniform((0.0, 0.1), (10.0, 3.0), (3000, 2))
    values = np.column_stack([theta[:, 0], theta[:, 0] ** 2 + theta[:, 1] ** 2])
    pool = Pool(("m", "s"), ("mean", "mean of squares"), theta, values)
    for query, apart in (((4.0, 1.0), True), ((8.0, 5.0), True), ((4.0, 17.0), False)):
        found = inference.infer(problem(Gaussian((0.01, 0.01)), query, pool))
        assert (found.beyond, found.apart) == ((), apart)


def test_no_order_of_a_pool_makes_a_query_seem_far() -> None:
    theta = np.linspace(0.0, 10.0, 5000)[:, None]
    pool = Pool(("m",), ("mean",), theta, theta)
    assert not inference.infer(problem(Gaussian((0.1,)), (8.0,), pool)).apart


@pytest.mark.parametrize("size", [2, 5, 300])
@pytest.mark.parametrize("numbers", [3, 20])
def test_of_simulated_queries_at_most_the_farthest_is_apart_from_the_rest(
    size: int, numbers: int
) -> None:
    """So the chance to call a query of the model so is at most one in as many as there are."""
    noisy = np.random.default_rng(8).standard_cauchy((size, numbers))
    apart = [inference._is_apart(noisy[i], np.delete(noisy, i, axis=0)) for i in range(size)]
    assert sum(apart) <= 1
    assert not inference._is_apart(np.full(numbers, np.inf), noisy)
    assert size < 300 or inference._is_apart(np.full(numbers, 1e9), noisy)


def test_a_query_that_is_impossible_has_no_weights() -> None:
    pool = Pool(("a",), ("s",), np.arange(1000.0)[:, None], np.full((1000, 1), 1.0))
    noise = BinomialSample(10, 1.0)
    assert inference.infer(problem(noise, (0.5,), pool)).ess == 0.0


def test_impossible_draws_count_for_nothing() -> None:
    assert inference._effective(np.array([0.0, -np.inf, 0.0])) == pytest.approx(2.0)


def test_a_simulator_that_gives_no_number_is_refused() -> None:
    with pytest.raises(ParameterError, match="gave a s1 that is no finite number"):
        inference.infer(problem(Gaussian((1.0, 1.0)), (0.0, 0.0), model(broken)))


def test_a_simulator_off_the_steps_is_refused() -> None:
    with pytest.raises(ParameterError, match="multiples of 1"):
        inference.infer(problem(DiscreteLaplace((1.0, 1.0)), (0.0, 0.0)))


# ---------------------------------------------------------------------------------- where and when


def backwards(name: str, work: Callable[[Task], Draws], tasks: Sequence[Task]) -> Iterable[Draws]:
    """Tasks done last to first, each as a worker gets it."""
    done = [work(pickle.loads(pickle.dumps(task))) for task in reversed(tasks)]
    return reversed(done)


def test_nothing_depends_on_who_does_the_tasks() -> None:
    this = problem(Gaussian((0.1, 0.1)), (1.5, -0.5), wanted=1000)
    first, again = inference.infer(this), inference.infer(this, backwards)
    assert len(first.rounds) > 1
    assert first.rounds == again.rounds
    np.testing.assert_array_equal(first.theta, again.theta)
    np.testing.assert_array_equal(first.weights, again.weights)
    other = inference.infer(problem(Gaussian((0.1, 0.1)), (1.5, -0.5), wanted=1000, seed=2))
    assert other.theta[0, 0] != first.theta[0, 0]


def test_each_round_is_simulated_where_all_before_it_say_and_with_numbers_of_its_own() -> None:
    done: list[Task] = []

    def noting(name: str, work: Callable[[Task], Draws], tasks: Sequence[Task]) -> Iterable[Draws]:
        assert {f"Round {task.round + 1}" for task in tasks} == {name}
        done.extend(tasks)
        return map(work, tasks)

    this = problem(Gaussian((0.02, 0.02)), (2.5, -2.5), model(exactly))
    found = inference.infer(this, noting)
    assert len(found.rounds) > 2
    assert len({(task.round, task.chunk) for task in done}) == len(done)
    before = 0
    for number, (total, _) in enumerate(found.rounds):
        mine = [task for task in done if task.round == number]
        assert sum(task.size for task in mine) == total - before
        assert len({task.proposal for task in mine}) == 1
        before = total
    proposed = list(dict.fromkeys(task.proposal for task in done))
    assert proposed[0] is proposals.PRIOR
    assert len(proposed) == len(found.rounds)


@pytest.mark.parametrize(
    ("rounds", "wanted", "draws", "size"),
    [
        # Until the weights tell where: a quarter of all, or what is allowed.
        ([(20_000, 99.0)], 2000, 10**6, 5000),
        ([(20_000, 99.0)], 2000, 24_000, 4000),
        # 500 of 20 000: 1000 more need 1.1 times 40 000, but never more than there are.
        ([(20_000, 500.0)], 1500, 10**6, 20_000),
        ([(20_000, 500.0)], 700, 10**6, 8800),
        ([(20_000, 500.0)], 510, 10**6, 5000),
        # The last round gave 1400 with 20 000: 1100 more need 1.1 times 15 714.3.
        ([(20_000, 500.0), (40_000, 1900.0)], 3000, 10**6, 17_286),
        ([(20_000, 500.0), (40_000, 1900.0)], 3000, 50_000, 10_000),
        ([(9000, 8.0), (20_000, 500.0), (40_000, 1900.0)], 3000, 10**6, 17_286),
        # It gave nothing: as if it had given 1, with 105.
        ([(40_000, 500.0), (40_105, 400.0)], 501, 10**6, 11_666),
    ],
)  # fmt: skip
def test_a_round_has_as_many_draws_as_are_missing(
    rounds: list[tuple[int, float]], wanted: int, draws: int, size: int
) -> None:
    this = problem(Gaussian((1.0, 1.0)), (0.0, 0.0), wanted=wanted, draws=draws)
    assert inference._next_size(this, rounds) == size


def test_tasks_at_once_are_those_of_the_first_round() -> None:
    chunked = dataclasses.replace(model(simulate), chunk=3000)
    noise = Gaussian((1.0, 1.0))
    assert inference.tasks_at_once(problem(noise, (0.0, 0.0), chunked)) == 7
    assert inference.tasks_at_once(problem(noise, (0.0, 0.0), chunked, draws=6000)) == 2
    pool = Pool(("a",), ("s",), np.zeros((120, 1)), np.zeros((120, 1)))
    assert inference.tasks_at_once(problem(noise, (0.0,), pool)) == 1


def test_no_more_is_simulated_than_is_allowed() -> None:
    this = problem(Gaussian((1.0, 1.0)), (0.5, 0.5), wanted=90_000, draws=26_001)
    found = inference.infer(this)
    assert found.simulated == 26_001
    assert found.way == "weights"
    assert inference.FEWEST < found.ess < 90_000


def test_a_limit_below_the_first_round_is_kept() -> None:
    this = problem(Gaussian((1.0, 1.0)), (0.5, 0.5), draws=1000)
    assert inference.infer(this).simulated == 1000


def test_every_round_has_its_own_random_numbers() -> None:
    source = model(exactly)
    this = problem(Gaussian((1.0, 1.0)), (0.5, 0.5), source)
    rounds = [
        inference._round(this, source, proposals.PRIOR, number, 6000, inference.one_by_one)
        for number in (0, 1)
    ]
    values = np.concatenate([each.x[:, 0] for each in rounds])
    assert len(np.unique(values)) == 12_000
