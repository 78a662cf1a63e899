"""One person: distances move by at most the sensitivity, and outcome probabilities are exact."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core import pool, releases, runner, simulators
from abcdp_core.experiments import change_one_person, posterior
from abcdp_core.experiments.change_one_person import computing, views
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.mechanisms.sparse_vector import SparseVector
from abcdp_core.results import Result
from tests.statistics import assert_frequencies, rejects

Array = NDArray[np.float64]

SMALL = change_one_person.Params(n=100, pool_size=500, epsilon_total=5.0, c=5)
BOTH = pytest.mark.parametrize("resample", [False, True])


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


def test_the_person_is_the_one_who_is_drawn(result: Result) -> None:
    before = computing.before(releases.pool_key(SMALL, 1), SMALL.n, SMALL.epsilon_abc)
    person = result.tables["person"].iloc[0]
    assert (person.place_before, person.place_after) == (before.data[before.point, 0], before.value)
    assert 0 <= before.value <= 5
    assert result.tables["data"].amount.sum() == SMALL.n


def test_the_same_person_goes_where_it_is_put_and_all_else_follows(result: Result) -> None:
    before = result.tables["person"].place_before.iloc[0]
    worst = result.tables["movement"].movement.abs().max()
    for share in (0.0, 0.5, 1.0):
        found = result_of(dataclasses.replace(SMALL, moved_to=share))
        person = found.tables["person"].iloc[0]
        assert (person.place_before, person.place_after) == (before, 5.0 * share)
        assert found.tables["movement"].movement.abs().max() <= worst * 1.2


def test_who_stays_changes_nothing(result: Result) -> None:
    before = result.tables["person"].place_before.iloc[0]
    found = result_of(dataclasses.replace(SMALL, moved_to=before / 5.0))
    assert np.abs(found.tables["movement"].movement).max() < 1e-12
    assert "becomes over 1 times as likely" in views.largest_in_words(found)


@pytest.mark.parametrize(
    ("log_ratio", "said"),
    [(0.0, "1"), (3e-9, "1.000001"), (0.0101, "1.011"), (0.0001, "1.00011"), (0.2, "1.23"),
     (1.0, "2.8"), (700.0, "e^700")],
)  # fmt: skip
def test_a_factor_is_rounded_up(log_ratio: float, said: str) -> None:
    assert views.factor_at_most(log_ratio) == said


def test_a_move_computes_only_what_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = dataclasses.replace(SMALL, epsilon_abc=0.2)
    runner.run_to_end(change_one_person, settings, seed=1)
    computed: list[str] = []
    for module, name in ((pool, "compare"), (computing.theory, "stopping_time")):
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
    assert views.move_in_words(found).startswith("The value of day ")


def test_decisions_are_those_of_the_posterior_study(result: Result) -> None:
    shared = {f.name: getattr(SMALL, f.name) for f in dataclasses.fields(posterior.Params)}
    one = runner.run_to_end(posterior, posterior.Params(**shared), seed=1).tables["main"]
    decisions = result.tables["decisions"]
    accepted = one[one.release == "private"]["sample"].unique()
    assert sorted(accepted) == decisions.t[decisions.original].tolist()


def test_a_point_can_be_replaced_in_two_scenarios() -> None:
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
    said = views.largest_in_words(found)
    if not largest.at_least and abs(largest.log_ratio) > 1e-9:
        factor = float(said.split(" over ")[1].split(" times")[0])
        assert math.expm1(abs(largest.log_ratio)) <= factor - 1.0
        assert factor - 1.0 <= 1.2 * math.expm1(abs(largest.log_ratio))
    main = found.tables["main"]
    assert (main.allowed_low <= main.stopped_neighbour + 1e-12).all()
    assert (main.stopped_neighbour <= main.allowed_high + 1e-12).all()
    # Not simulated: nothing but the person makes a difference.
    gap = (main.stopped - main.stopped_neighbour).abs().max()
    assert 0.0 < gap <= math.tanh(epsilon_total / 2.0)


def distribution(**probabilities: float) -> Array:
    """Of a pool of 10: ``t3=0.2`` is a stop at the third draw; the rest ends the pool."""
    stop = np.zeros(11)
    for name, value in probabilities.items():
        stop[int(name[1:]) - 1] = value
    stop[-1] = 1.0 - stop.sum()
    return stop


def pair_of(first: Array, second: Array) -> tuple[Any, Any]:
    run = SimpleNamespace(params=SimpleNamespace(epsilon_total=1.0))
    return SimpleNamespace(stops=(first, second)), run


def test_a_likely_draw_is_a_class_by_itself() -> None:
    pair = pair_of(distribution(t3=0.09, t4=0.91), distribution(t3=0.18, t4=0.82))
    ratio, largest = computing.ratios(*pair), computing.largest(*pair).iloc[0]
    assert ratio.outcome.tolist() == ["1 to 3", "4 to 10"]
    assert ratio.log_ratio.tolist() == pytest.approx([-math.log(2), math.log(0.91 / 0.82)])
    assert (largest.outcome, largest.log_ratio) == ("3", pytest.approx(-math.log(2)))


def test_what_one_side_never_does_has_no_ratio_but_at_least_one() -> None:
    pair = pair_of(distribution(t3=1.0), distribution(t5=1.0))
    ratio, largest = computing.ratios(*pair), computing.largest(*pair).iloc[0]
    assert ratio.log_ratio.isna().all()
    assert largest.at_least
    assert abs(largest.log_ratio) == pytest.approx(-math.log(computing.SMALLEST))


@pytest.mark.parametrize(
    "changes",
    [{"c": 1, "epsilon_abc": 1.4}, {"c": 3, "epsilon_abc": 1.4}, {"epsilon_abc": 0.001}],
)
def test_one_outcome_only_is_said_and_drawn(changes: dict[str, float]) -> None:
    found = result_of(dataclasses.replace(SMALL, n=3000, epsilon_total=1000.0, **changes))  # type: ignore[arg-type]
    assert len(found.tables["ratio"]) == 1
    assert "becomes over 1 times as likely; e^1000 is allowed" in found.summary
    assert len(change_one_person.figures(found)["outcomes"].figure.data[-1].x) == 1


def test_figures_show_the_tables(result: Result) -> None:
    figures = change_one_person.figures(result)
    band, ours, theirs, *_, marks = figures["outcomes"].figure.data
    main, ratio = result.tables["main"], result.tables["ratio"]
    assert np.array_equal(ours.y, main.stopped)
    assert np.array_equal(theirs.y, main.stopped_neighbour)
    # Within a step the band is that of the curve's value there, at both edges.
    edges = band.y.reshape(2, -1)
    assert edges[0, :4].tolist() == np.repeat(main.allowed_high[:2], 2).tolist()
    assert edges[1, ::-1][:4].tolist() == np.repeat(main.allowed_low[:2], 2).tolist()
    assert marks.y.tolist() == pytest.approx((ratio.log_ratio / 5.0).tolist())
    assert figures["movement"].figure.data[0].y.sum() == pytest.approx(1.0)
    (arrow,) = (each for each in figures["person"].figure.layout.annotations if each.showarrow)
    person = result.tables["person"].iloc[0]
    assert (arrow.ax, arrow.x) == (person.place_before, person.place_after)
