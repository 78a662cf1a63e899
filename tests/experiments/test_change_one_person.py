"""One person: distances move by at most the sensitivity, and outcome probabilities are exact."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core import pool, releases, runner, simulators
from abcdp_core.experiments import change_one_person, posterior
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.parameters import ParameterError
from abcdp_core.results import Result
from tests.statistics import assert_frequencies, rejects

Array = NDArray[np.float64]

SMALL = change_one_person.Params(n=100, pool_size=500, epsilon_total=5.0, c=5)
BOTH = pytest.mark.parametrize("resample", [False, True])
FIGURES = {"outcomes", "movement", "person"}


@functools.cache
def result_of(params: change_one_person.Params) -> Result:
    return runner.run_to_end(change_one_person, params, seed=1)


@pytest.fixture
def result() -> Result:
    return result_of(SMALL)


# ------------------------------------------------------------------------------------ the person


def test_no_distance_moves_by_more_than_the_sensitivity_and_one_comes_near(result: Result) -> None:
    movement = result.tables["movement"]
    assert (movement.movement.abs() <= movement.sensitivity).all()
    assert movement.movement.abs().max() > 0.8 * movement.sensitivity.iloc[0]


def test_exactly_one_point_differs_and_is_the_one_that_is_drawn(result: Result) -> None:
    key = releases.pool_key(SMALL, 1)
    data = pool.observed_data(key, SMALL.n)
    public = pool.open_pool(key)
    comparison = pool.compare(public, data, synthetic=True)
    statistics = public.statistics[SMALL.n]
    moved, value = change_one_person.worst_change(
        comparison, statistics, data, SMALL.epsilon_abc, (0.0, 5.0)
    )
    assert 0 <= value <= 5
    person = result.tables["person"].iloc[0]
    assert (person.place_before, person.place_after) == (data[moved, 0], value)
    assert result.tables["data"].amount.sum() == SMALL.n
    assert f"{person.place_before:.4g} to {person.place_after:.4g}" in (
        change_one_person.move_in_words(result)
    )


def test_the_same_person_goes_where_it_is_put_and_all_else_follows(result: Result) -> None:
    before = result.tables["person"].place_before.iloc[0]
    worst = result.tables["movement"].movement.abs().max()
    for share in (0.0, 0.5, 1.0):
        found = result_of(dataclasses.replace(SMALL, moved_to=share))
        person = found.tables["person"].iloc[0]
        assert (person.place_before, person.place_after) == (before, 5.0 * share)
        assert found.tables["movement"].movement.abs().max() <= worst * 1.2
        assert "where you put it" in change_one_person.figures(found)["person"].sentence
    assert "of the changes tried" in change_one_person.figures(result)["person"].sentence


def test_who_stays_changes_nothing(result: Result) -> None:
    before = result.tables["person"].place_before.iloc[0]
    found = result_of(dataclasses.replace(SMALL, moved_to=before / 5.0))
    assert np.abs(found.tables["movement"].movement).max() < 1e-12
    assert "stays at" in change_one_person.move_in_words(found)
    assert "becomes over 1.000 times as likely" in change_one_person.largest_in_words(found)


@pytest.mark.parametrize("epsilon_total", [0.001, 1.0, 1000.0])
def test_the_headline_gives_the_factor_of_the_table(epsilon_total: float) -> None:
    found = result_of(dataclasses.replace(SMALL, pool_size=200, epsilon_total=epsilon_total))
    said, row = change_one_person.largest_in_words(found), found.tables["largest"].iloc[0]
    if row.at_least:
        assert "practically never" in said
        return
    factor = float(said.split(" over ")[1].split(" times")[0])
    assert factor >= math.exp(abs(row.log_ratio))
    assert factor - 1.0 <= 1.2 * math.expm1(abs(row.log_ratio))


@pytest.mark.parametrize(
    ("epsilon_total", "words"),
    [(0.001, "1.0010"), (0.2, "1.221"), (0.3, "1.349"), (1.0, "2.718"), (10.0, "22,026"),
     (1000.0, "e^1000")],
)  # fmt: skip
def test_what_is_allowed_is_rounded_down(epsilon_total: float, words: str) -> None:
    assert change_one_person.factor_in_words(epsilon_total, up=False) == words
    if epsilon_total < 11.0:
        assert float(words.replace(",", "")) <= math.exp(epsilon_total)


@pytest.mark.parametrize("value", [0.0, 1e-12, 0.00034, 0.05, 0.1, 9.96679946, 24.4918, 100.0])
def test_a_gap_is_rounded_up_and_what_is_allowed_down(value: float) -> None:
    up, down = (float(change_one_person._points(value, up=up).split()[0]) for up in (True, False))
    assert down <= value + 1e-9
    assert up >= value - 1e-9
    assert up - down <= 0.1 * value + 1e-9 or value >= 10.0


@pytest.mark.parametrize(
    ("log_ratio", "words"),
    [(0.0, "1.000"), (3e-9, "1.000001"), (0.0101, "1.011"), (0.0001, "1.00011"), (0.2, "1.23"),
     (1.0, "2.8"), (700.0, "e^700")],
)  # fmt: skip
def test_a_factor_is_rounded_up(log_ratio: float, words: str) -> None:
    assert change_one_person.factor_in_words(log_ratio) == words


def test_a_move_computes_only_what_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = dataclasses.replace(SMALL, epsilon_abc=0.2)
    runner.run_to_end(change_one_person, settings, seed=1)
    computed: list[str] = []
    for module, name in (
        (change_one_person, "worst_change"), (pool, "compare"),
        (change_one_person.theory, "stopping_time"),
    ):  # fmt: skip
        usual = getattr(module, name)

        def watched(
            *args: Any, name: str = name, usual: Callable[..., Any] = usual, **kwargs: Any
        ) -> Any:
            computed.append(name)
            return usual(*args, **kwargs)

        monkeypatch.setattr(module, name, watched)
    moved = dataclasses.replace(settings, moved_to=0.3)
    for params in (moved, dataclasses.replace(moved, noise_draw=1)):
        runner.run_to_end(change_one_person, params, seed=1)
        assert computed == ["compare", "stopping_time"]
        computed.clear()


def test_in_a_series_the_value_of_one_day_moves() -> None:
    covid = change_one_person.Params.from_text(
        {"scenario": "covid", "pool_size": "300", "epsilon_abc": "0.3"}
    )
    found = result_of(covid)
    person, data = found.tables["person"].iloc[0], found.tables["data"]
    assert person.place_before == person.place_after
    assert data.amount[data.place == person.place_before].tolist() == [person.amount_before]
    assert change_one_person.move_in_words(found).startswith("The value of day ")


def test_decisions_are_those_of_the_posterior_study(result: Result) -> None:
    shared = {f.name: getattr(SMALL, f.name) for f in dataclasses.fields(posterior.Params)}
    one = runner.run_to_end(posterior, posterior.Params(**shared), seed=1).tables["main"]
    decisions = result.tables["decisions"]
    accepted = one[one.release == "private"]["sample"].unique()
    assert sorted(accepted) == decisions.t[decisions.original].tolist()


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("tuberculosis", "only the distances of its pool are kept"),
        ("tuberculosis-patients", "one patient is added or removed there"),
        ("covid-people", "one person is added or removed there"),
    ],
)
def test_where_no_point_can_be_replaced_none_is(scenario: str, words: str) -> None:
    assert not change_one_person.serves(scenario)
    with pytest.raises(ParameterError, match=f"{words}.*choose another scenario"):
        change_one_person.Params.from_text({"scenario": scenario})


def test_elsewhere_a_point_is_replaced() -> None:
    assert [name for name in simulators.names() if change_one_person.serves(name)] == [
        "covid", "uniform-mixture",
    ]  # fmt: skip


# ---------------------------------------------------------------------------------- the outcomes


@BOTH
def test_simulated_runs_fall_into_the_classes_as_often(resample: bool) -> None:
    params = dataclasses.replace(SMALL, resample=resample)
    tables = result_of(params).tables
    ratio = tables["ratio"]
    for column, distances in (
        ("probability", tables["movement"].rho),
        ("probability_neighbour", tables["movement"].rho_neighbour),
    ):
        expected = ratio[column].to_numpy()
        assert expected.sum() == pytest.approx(1.0, abs=1e-9)
        counts = counted(distances.to_numpy(), params, ratio.high.to_numpy())
        assert_frequencies(counts, expected / expected.sum())
        halved = counted(distances.to_numpy(), params, ratio.high.to_numpy(), share=0.5)
        assert rejects(assert_frequencies, halved, expected / expected.sum())


def counted(
    rho: Array, params: change_one_person.Params, highs: Array, share: float = 1.0
) -> NDArray[np.int64]:
    """How many of 3000 runs with a share of their noise fall into each class."""
    event = releases.event_of(params)
    assert isinstance(event, SparseVector)
    rng = np.random.default_rng(2)
    counts = np.zeros(len(highs), dtype=np.int64)
    ended = len(highs) - 1
    for _ in range(3000):
        query, threshold = sparse_vector.draw_noise(rng, len(rho), params.c)
        indices, stop = sparse_vector.scan(
            rho + share * event.query_scale * query,
            params.epsilon_abc + share * event.threshold_scale * threshold,
            params.c,
            params.resample,
        )
        full = len(indices) == params.c
        counts[int(np.searchsorted(highs[:ended], stop)) if full else ended] += 1
    return counts


@pytest.mark.parametrize("epsilon_total", [0.001, 0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("c", [1, 20])
@BOTH
def test_no_exact_ratio_exceeds_the_bound_and_the_sentence_says_so(
    epsilon_total: float, c: int, resample: bool
) -> None:
    params = dataclasses.replace(
        SMALL, pool_size=200, epsilon_total=epsilon_total, c=c, resample=resample
    )
    found = result_of(params)
    ratio, largest = found.tables["ratio"], found.tables["largest"].iloc[0]
    assert (ratio.log_ratio.abs() <= abs(largest.log_ratio) + 1e-9).all()
    assert abs(largest.log_ratio) <= epsilon_total
    assert found.summary.endswith(": compatible with the bound.")
    assert f"ε_total = {epsilon_total:g} allows {epsilon_total:g}, a factor of" in found.summary
    main = found.tables["main"]
    assert (main.allowed_low <= main.stopped_neighbour + 1e-12).all()
    assert (main.stopped_neighbour <= main.allowed_high + 1e-12).all()
    # Not simulated: nothing but the person makes a difference.
    assert 0.0 < change_one_person.curve_gap(main) <= 100.0 * math.tanh(epsilon_total / 2.0)


def test_one_person_is_a_small_part_of_the_smallest_budget() -> None:
    # Simulated frequencies of two equal laws differ by far more than the factor 1.001 that is
    # allowed here; exact probabilities do not.
    found = result_of(dataclasses.replace(SMALL, epsilon_total=0.001))
    assert "a factor of 1.00100:" in found.summary
    assert "a factor of 1," not in found.summary


@BOTH
def test_classes_share_out_the_pool_and_do_not_exceed_it(resample: bool) -> None:
    ratio = result_of(dataclasses.replace(SMALL, resample=resample)).tables["ratio"]
    ranges = ratio[ratio.outcome != change_one_person.POOL_ENDED]
    assert ranges.low.iloc[0] == 1
    assert ratio.high.max() == SMALL.pool_size
    assert (ranges.low.to_numpy()[1:] == ranges.high.to_numpy()[:-1] + 1).all()
    assert len(ratio) > 5
    assert ratio.outcome.is_unique


def distribution(**probabilities: float) -> Array:
    """Of a pool of 10: ``t3=0.2`` is a stop at the third draw; the rest ends the pool."""
    stop = np.zeros(11)
    for name, value in probabilities.items():
        stop[int(name[1:]) - 1] = value
    stop[-1] = 1.0 - stop.sum()
    return stop


def test_a_likely_draw_is_a_class_by_itself() -> None:
    first, second = distribution(t3=0.09, t4=0.91), distribution(t3=0.18, t4=0.82)
    ratio = change_one_person._ratios(first, second, 1.0)
    assert ratio.outcome.tolist() == ["1 to 3", "4 to 10"]
    assert ratio.log_ratio.tolist() == pytest.approx([-math.log(2), math.log(0.91 / 0.82)])
    largest = change_one_person._largest(first, second, 1.0).iloc[0]
    assert (largest.outcome, largest.log_ratio) == ("3", pytest.approx(-math.log(2)))


def test_what_one_side_never_does_has_no_ratio_but_at_least_one() -> None:
    first, second = distribution(t3=1.0), distribution(t5=1.0)
    ratio = change_one_person._ratios(first, second, 1000.0)
    assert ratio.log_ratio.isna().all()
    largest = change_one_person._largest(first, second, 1000.0).iloc[0]
    assert largest.at_least
    assert abs(largest.log_ratio) == pytest.approx(-math.log(change_one_person.SMALLEST))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"c": 1, "epsilon_abc": 1.4}, "a stop after 1 draw, with the exact log-ratio 0,"),
        ({"c": 3, "epsilon_abc": 1.4}, "a stop after 3 draws, with the exact log-ratio 0,"),
        ({"epsilon_abc": 0.001}, "the end of the pool, with the exact log-ratio 0,"),
    ],
)
def test_one_outcome_only_is_said(changes: dict[str, float], words: str) -> None:
    found = result_of(dataclasses.replace(SMALL, n=3000, epsilon_total=1000.0, **changes))  # type: ignore[arg-type]
    assert len(found.tables["ratio"]) == 1
    assert words in found.summary
    assert "a factor of e^1000: compatible" in found.summary
    assert set(change_one_person.figures(found)) == FIGURES


# --------------------------------------------------------------------------------------- figures


def test_figures_show_the_tables(result: Result) -> None:
    figures = change_one_person.figures(result)
    assert set(figures) == FIGURES
    band, ours, theirs, *bounds, bars, marks = figures["outcomes"].figure.data
    assert np.array_equal(ours.y, result.tables["main"].stopped)
    assert np.array_equal(theirs.y, result.tables["main"].stopped_neighbour)
    assert band.name == "what ε_total = 5 allows"
    # Within a step the band is that of the curve's value there, at both edges.
    main = result.tables["main"]
    edges = band.y.reshape(2, -1)
    assert edges[0, :4].tolist() == np.repeat(main.allowed_high[:2], 2).tolist()
    assert edges[1, ::-1][:4].tolist() == np.repeat(main.allowed_low[:2], 2).tolist()
    assert band.x[:3].tolist() == main.looked_at[[0, 1, 1]].tolist()
    assert (ours.line.shape, theirs.line.shape) == ("hv", "hv")
    ratio = result.tables["ratio"]
    assert [bound.y[0] for bound in bounds] == [-1.0, 1.0]
    assert marks.y.tolist() == pytest.approx((ratio.log_ratio / 5.0).tolist())
    assert np.isnan(bars.x[2::3]).all()
    assert np.array_equal(bars.y[::3], marks.y)
    bars = figures["movement"].figure.data[0]
    assert bars.y.sum() == pytest.approx(1.0)
    assert (np.abs(bars.x) < 1).all()
    (arrow,) = (each for each in figures["person"].figure.layout.annotations if each.showarrow)
    person = result.tables["person"].iloc[0]
    assert (arrow.ax, arrow.x) == (person.place_before, person.place_after)
