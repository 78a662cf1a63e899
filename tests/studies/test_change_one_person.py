"""One person: distances move by at most the sensitivity, and outcome probabilities are exact."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core.evaluation import one_release
from abcdp_core.mechanisms import sparse_vector
from abcdp_core.studies import change_one_person
from abcdp_core.studies.change_one_person import computing, views
from tests import results
from tests.statistics import assert_frequencies, rejects

SMALL = change_one_person.Params(n=100, pool_size=500, epsilon_total=5.0, c=5)

result_of = functools.partial(results.changed, change_one_person, SMALL)


def test_the_person_is_the_one_who_is_drawn_and_moves_no_distance_by_more_than_allowed() -> None:
    before = computing.before(one_release.pool_key(SMALL, 1), SMALL.n, SMALL.epsilon_abc)
    tables = result_of().tables
    person, movement = tables["person"].iloc[0], tables["movement"]
    worst = movement.movement.abs().max()
    assert 0.8 * movement.sensitivity.iloc[0] < worst <= movement.sensitivity.iloc[0]
    assert (person.place_before, person.place_after) == (before.data[before.point, 0], before.value)
    assert tables["data"].amount.sum() == SMALL.n
    for share in (0.0, 0.5, 1.0):
        found = result_of(moved_to=share).tables
        moved = found["person"].iloc[0]
        assert (moved.place_before, moved.place_after) == (person.place_before, 5.0 * share)
        assert found["movement"].movement.abs().max() <= movement.sensitivity.iloc[0]
    stays = result_of(moved_to=person.place_before / 5.0)
    assert np.abs(stays.tables["movement"].movement).max() < 1e-12
    assert "becomes more than 1 times as likely" in views.stops_in_words(stays)


@pytest.mark.parametrize("resample", [False, True])
def test_simulated_runs_fall_into_the_classes_as_often(resample: bool) -> None:
    found = result_of(resample=resample)
    ratio, movement = found.tables["ratio"], found.tables["movement"]
    for column, distances in (
        ("probability", movement.rho),
        ("probability_neighbour", movement.rho_neighbour),
    ):
        expected = ratio[column].to_numpy()
        assert expected.sum() == pytest.approx(1.0, abs=1e-9)
        counts, halved = (
            counted(distances.to_numpy(), found.params, ratio.high.to_numpy(), share)
            for share in (1.0, 0.5)
        )
        assert_frequencies(counts, expected / expected.sum())
        assert rejects(assert_frequencies, halved, expected / expected.sum())


def counted(
    rho: NDArray[np.float64],
    params: change_one_person.Params,
    highs: NDArray[np.int64],
    share: float,
) -> NDArray[np.int64]:
    """Count how many of 3000 runs with a share of their noise fall into each class."""
    event, rng = one_release.event_of(params), np.random.default_rng(2)
    ended = len(highs) - 1
    counts = np.zeros(ended + 1, dtype=np.int64)
    for _ in range(3000):
        query, threshold = sparse_vector.draw_noise(rng, len(rho), params.c)
        noisy = rho + share * event.query_scale * query
        limits = params.epsilon_abc + share * event.threshold_scale * threshold
        indices, stop = sparse_vector.scan(noisy, limits, params.c, params.resample)
        full = len(indices) == params.c
        counts[int(np.searchsorted(highs[:ended], stop)) if full else ended] += 1
    return counts


@pytest.mark.parametrize(
    ("epsilon_total", "c", "resample"),
    [(0.001, 1, False), (0.1, 20, True), (10.0, 1, True), (10.0, 20, False)],
)
def test_no_exact_ratio_exceeds_the_bound_and_the_sentence_says_so(
    epsilon_total: float, c: int, resample: bool
) -> None:
    found = result_of(pool_size=200, epsilon_total=epsilon_total, c=c, resample=resample)
    ratio, largest = found.tables["ratio"], found.tables["largest"].iloc[0]
    assert (ratio.log_ratio.abs() <= abs(largest.log_ratio) + 1e-9).all()
    assert abs(largest.log_ratio) <= epsilon_total
    if not largest.at_least:
        said = views.stops_in_words(found).split(" more than ")[1].split(" times")[0]
        excess = math.expm1(abs(largest.log_ratio))
        assert excess <= float(said) - 1.0 <= 1.2 * excess
    main = found.tables["main"]
    assert (main.allowed_low <= main.stopped_neighbour + 1e-12).all()
    assert (main.stopped_neighbour <= main.allowed_high + 1e-12).all()
    # Nothing is simulated, so the person makes all the difference.
    gap = (main.stopped - main.stopped_neighbour).abs().max()
    assert 0.0 < gap <= math.tanh(epsilon_total / 2.0)
