"""The error to expect from so many values: exact over noise, said as it is drawn."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from abcdp_core import parameters, pool, runner
from abcdp_core.experiments import error_by_size
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.results import Result
from abcdp_core.simulators import covid, uniform_mixture
from abcdp_core.streams import generator
from tests.statistics import assert_mean_of_repeats

SMALL = error_by_size.Params(n=300, pool_size=300, epsilon_abc=0.3, c=5, epsilon_total=5.0, runs=3)


@pytest.fixture(scope="module")
def result() -> Result:
    return runner.run_to_end(error_by_size, SMALL, seed=1)


def test_the_error_without_any_data_is_that_of_the_prior() -> None:
    draws = uniform_mixture.prior(np.random.default_rng(1), 20_000)
    error = ((draws - uniform_mixture.PRIOR_MEAN) ** 2).mean()
    assert math.sqrt(error) == pytest.approx(error_by_size.PRIOR_ERROR, rel=0.01)


def test_simulated_releases_have_this_error(result: Result) -> None:
    row = result.tables["main"].query("n == 300 and run == 1").iloc[0]
    public = pool.PublicSide(pool.key_for("uniform-mixture", 300, 300, 1), 300)
    comparison, theta = public.simulated(1), public.simulated_theta(1)
    event = sparse_vector.calibrate(5.0, comparison.sensitivity(), 5, resample=False)
    errors = np.empty((2000, 1))
    for noise in range(2000):
        made, _ = sparse_vector.run(comparison.rho, 0.3, event, generator(1, "noise", noise))
        some = comparison.theta[made.indices]
        mean = some.mean(axis=0) if len(some) else uniform_mixture.PRIOR_MEAN
        errors[noise] = ((mean - theta) ** 2).mean()
    assert_mean_of_repeats(errors, np.array([row.mse]), np.zeros(1))
    with pytest.raises(AssertionError):
        assert_mean_of_repeats(errors, np.array([row.non_private_mse]), np.zeros(1))


def test_a_size_has_the_same_error_however_far_the_curve_goes(result: Result) -> None:
    shorter = runner.run_to_end(error_by_size, dataclasses.replace(SMALL, n=100), seed=1)
    both = [found.tables["main"].query("n == 100").reset_index(drop=True)
            for found in (result, shorter)]  # fmt: skip
    assert both[0].equals(both[1])


@pytest.mark.parametrize("epsilon_total", [0.001, 5.0, 1000.0])
@pytest.mark.parametrize("n", [10, 170, 300, 301])
def test_words_and_figure_say_what_the_curve_shows(epsilon_total: float, n: int) -> None:
    params = dataclasses.replace(SMALL, epsilon_total=epsilon_total)
    found = runner.run_to_end(error_by_size, params, seed=1)
    drawn, expected = error_by_size.marked(found, n), error_by_size.at(found, n)
    title, names = drawn.figure.layout.title.text, [trace.name for trace in drawn.figure.data]
    assert (f"your {n} values" in names) == (n <= 300) == (expected is not None)
    if expected is None:
        assert title == "The error to expect falls with the number of values"
        return
    assert title.split(":")[0] in drawn.sentence
    ratio = expected.error / expected.plain
    assert ("at most 10 %" in title) <= (ratio <= 1.1)
    assert ("better than no data" in title) == (expected.error >= 0.95 * expected.prior)
    assert ("no better than" in title) == (expected.error >= expected.prior)
    if "times" in title:
        assert f"{ratio:.1f} times" in title
    assert f"by {error_by_size.points(expected.plain)} without noise" in drawn.sentence


def test_the_answer_speaks_of_what_it_names_also_where_noise_does_better() -> None:
    """A threshold that lets few draws in, or none, may do worse without noise."""

    def answer(error: float, plain: float, prior: float = 10.0) -> str:
        of = dataclasses.replace(at_some_size, error=error, plain=plain, prior=prior)
        return error_by_size.answer(of)

    at_some_size = error_by_size.Expected(5000, 0, 0, 0, 0, 0, 0, 0, 8)
    assert answer(15.0, 9.5) == "Even without noise 5,000 values are hardly better than no data"
    assert answer(9.5, 15.0) == "Even without noise 5,000 values are no better than no data"
    assert answer(9.5, 5.0) == "5,000 values are too few: hardly better than no data"
    assert answer(2.5, 10.0) == (
        "Without noise 5,000 values are no better than no data; "
        "with it the error is 25 % of that without data"
    )
    assert answer(3.3, 8.9) == "With 5,000 values and this noise the error is 37 % of that without"
    assert answer(3.3, 3.2) == "With 5,000 values privacy adds at most 10 % to the error"
    assert answer(6.4, 3.2) == "With 5,000 values privacy makes the error 2.0 times as large"


def test_between_two_sizes_the_curve_is_near_what_is_computed_there(result: Result) -> None:
    main = result.tables["main"]
    without = dataclasses.replace(result, tables={"main": main[main.n != 100]})
    there, drawn = error_by_size.at(result, 100), error_by_size.at(without, 100)
    assert there is not None
    assert drawn is not None
    assert drawn.error == pytest.approx(there.error, rel=0.15)
    assert drawn.plain == pytest.approx(there.plain, rel=0.15)


def test_one_series_has_no_interval(result: Result) -> None:
    main = result.tables["main"]
    one = dataclasses.replace(result, tables={"main": main[main.run == 0]})
    expected = error_by_size.at(one, 300)
    assert expected is not None
    words = error_by_size.in_words(expected, error_by_size.model_of(one))
    assert "interval" not in words
    assert words.endswith("noise and 1 simulated series.")


@pytest.mark.parametrize(
    ("pool_size", "planned", "end"),
    [(10_000, 1000, 5000), (10_000, 5001, 10_000), (10_000, 20_000, 20_000), (100_000, 300, 1000)],
)
def test_the_curve_goes_as_far_as_its_pool_can(pool_size: int, planned: int, end: int) -> None:
    assert error_by_size.far_enough("uniform-mixture", planned, pool_size) == end


@pytest.mark.parametrize(("series", "is_said"), [(1, False), (4, False), (5, True), (12, True)])
def test_the_middle_of_few_series_is_not_said(series: int, is_said: bool) -> None:
    found = error_by_size.Expected(300, 0.08, 0.07, 0.09, 0.02, 0.13, 0.07, 0.1, series)
    assert ("80 %" in error_by_size.spread(found)) == is_said


# ------------------------------------------------------------------------------ a curve over time

CURVE = error_by_size.Params(
    scenario="covid", n=18, pool_size=400, epsilon_abc=0.3, c=3, epsilon_total=20.0, runs=3
)


@pytest.fixture(scope="module")
def curves() -> Result:
    return runner.run_to_end(error_by_size, CURVE, seed=1)


def test_series_are_curves_within_the_range_and_differ() -> None:
    every = [error_by_size.within(generator(1, "curve", run)) for run in range(5)]
    for theta in every:
        counts = covid.curves(theta[None], covid.days(100))
        assert covid.DOMAIN[0] <= counts.min() < counts.max() <= covid.DOMAIN[1]
    assert len({tuple(theta) for theta in every}) == 5


@pytest.mark.parametrize("n", [4, 18, 100])
def test_the_error_of_coefficients_is_that_of_their_curve_in_parts_of_the_range(n: int) -> None:
    theta = covid.prior(np.random.default_rng(1), 2)
    difference = theta[0] - theta[1]
    apart = covid.curves(difference[None], covid.days(n))[0] / 5000.0
    here = difference @ error_by_size._root(n)
    assert here @ here == pytest.approx((apart**2).mean(), rel=1e-9)


def test_simulated_releases_of_a_curve_have_this_error(curves: Result) -> None:
    row = curves.tables["main"].query("n == 18 and run == 1").iloc[0]
    theta = covid.prior(generator(1, "curves"), 400)
    truth = error_by_size.within(generator(1, "curve", 1))
    days, metric = covid.days(18), covid.distance()
    series = covid.curves(truth[None], days)[0]
    pool_of = metric.statistic(covid.with_days(covid.curves(theta, days)))
    rho = metric.compare(pool_of, metric.statistic(covid.with_days(series)))
    event = sparse_vector.calibrate(20.0, metric.sensitivity(18), 3, resample=False)
    errors = np.empty((2000, 1))
    for noise in range(2000):
        made, _ = sparse_vector.run(rho, 0.3, event, generator(1, "noise", noise))
        some = covid.curves(theta[made.indices], days)
        mean = some.mean(axis=0) if len(some) else np.zeros(18)
        errors[noise] = (((mean - series) / 5000.0) ** 2).mean()
    assert_mean_of_repeats(errors, np.array([row.mse]), np.zeros(1))
    with pytest.raises(AssertionError):
        assert_mean_of_repeats(errors, np.array([row.non_private_mse]), np.zeros(1))
    assert row.prior_mse == pytest.approx(((series / 5000.0) ** 2).mean())


def test_a_curve_is_said_in_parts_of_the_range(curves: Result) -> None:
    drawn, expected = error_by_size.marked(curves, 12), error_by_size.at(curves, 12)
    assert expected is not None
    assert "The curve is expected to be off by" in drawn.sentence
    assert "% of your range" in drawn.sentence
    assert drawn.figure.layout.yaxis.title.text == "error, % of your range"
    main = curves.tables["main"]
    assert expected.prior < math.sqrt(main[main.n == 10].prior_mse.mean())
    assert expected.prior > math.sqrt(main[main.n == 18].prior_mse.mean())
    assert [trace.name for trace in drawn.figure.data].count("your 12 values") == 1


def test_as_many_draws_are_looked_at_as_a_run_may_need() -> None:
    usual = dataclasses.replace(CURVE, pool_size=50_000)
    assert error_by_size.draws(usual) == 2000
    assert error_by_size.draws(dataclasses.replace(usual, c=1000)) == 40_000
    assert error_by_size.draws(CURVE) == 400


@pytest.mark.parametrize(("scenario", "n"), [("uniform-mixture", 1000), ("covid", 100)])
def test_the_first_view_shows_what_privacy_costs_or_says_why_not(scenario: str, n: int) -> None:
    usual = error_by_size.Params.defaults(scenario)
    params = error_by_size.Params(
        scenario=scenario,
        epsilon_total=parameters.EPSILON_TOTAL_DEFAULT,
        **usual | {"n": n, "pool_size": 1000},
        runs=2,
    )
    found = error_by_size.at(runner.run_to_end(error_by_size, params, seed=1), n)
    assert found is not None
    assert found.error > 2.0 * found.plain or "than no data" in error_by_size.answer(found)


@pytest.mark.parametrize("epsilon_total", [0.001, 20.0, 1000.0])
@pytest.mark.parametrize("n", [4, 10, 18])
def test_names_stand_within_the_plot_and_apart(
    curves: Result, epsilon_total: float, n: int
) -> None:
    params = dataclasses.replace(CURVE, epsilon_total=epsilon_total)
    found = curves if params == CURVE else runner.run_to_end(error_by_size, params, seed=1)
    figure = error_by_size.marked(found, n).figure
    notes = {note.text.strip(): note for note in figure.layout.annotations}
    assert list(notes) == ["no better than no data", "with the noise", "without noise", f"N = {n}"]
    low, high = figure.layout.xaxis.range
    for note in notes.values():
        across = (note.x - low) / (high - low)
        assert note.xanchor == "left" or across > 1 / 3
        assert note.xanchor == "right" or across <= 3 / 4
    assert notes["without noise"].y > 0.12 * 60 or notes["without noise"].yanchor == "bottom"
