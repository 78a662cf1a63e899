"""What holds for every form of the distance: its own statements about itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from abcdp_core.distances import Distance, kernel
from abcdp_core.distances.columns import Columns
from abcdp_core.distances.fourier import FourierMMD
from abcdp_core.distances.outbreaks import ClippedOutbreaks
from abcdp_core.distances.quadratic import QuadraticMMD
from abcdp_core.distances.random_features import RandomFeatures
from abcdp_core.distances.summaries import ClippedSummaries
from tests.search import most

FORMS: dict[str, Distance] = {
    "fourier": FourierMMD(0.0, 5.0, 0.6),
    "fourier, wide": FourierMMD(0.0, 100.0, 1.0),
    "quadratic": QuadraticMMD(0.6),
    "paired": RandomFeatures(0.6, frequencies=50),
    "shifted": RandomFeatures(0.6, frequencies=3, paired=False),
}
UNIT = float(np.finfo(float).eps)
EVERY = pytest.mark.parametrize("distance", FORMS.values(), ids=FORMS)


def between(distance: Distance, x: np.ndarray, y: np.ndarray) -> float:
    """Distance of two data sets ``(n,)`` and ``(m,)`` of single numbers."""
    return float(
        distance.compare(distance.statistic(x[None, :, None]), distance.statistic(y[:, None]))[0]
    )


@EVERY
def test_no_replaced_point_that_a_search_finds_changes_it_by_more(distance: Distance) -> None:
    def change(places: np.ndarray) -> float:
        x, y = places[:2], places[2:4]
        neighbour = np.append(x[1:], places[4])
        return abs(between(distance, x, y) - between(distance, neighbour, y))

    limit = distance.sensitivity(2)
    found = most(change, 5.0, 5)
    # Random features bound the worst draw of their frequencies, which these need not be.
    assert (0.6 if isinstance(distance, RandomFeatures) else 0.9) * limit < found <= limit


@pytest.mark.parametrize("form", [name for name in FORMS if name != "quadratic"])
def test_no_replaced_point_moves_the_statistic_by_more(form: str) -> None:
    distance = FORMS[form]
    limit = distance.statistic_sensitivity(3)
    places = np.linspace(0.0, 5.0, 501)
    data = np.stack([np.full(501, 1.0), np.full(501, 4.0), places], axis=1)
    statistics = distance.statistic(data[..., None])
    moved = [np.linalg.norm(statistics - one, axis=1).max() for one in statistics]
    assert max(moved) <= limit


@EVERY
@pytest.mark.parametrize("n", [1, 10, 500])
def test_published_and_sharp_bound_the_worst_pair(distance: Distance, n: int) -> None:
    x = np.zeros(n)
    neighbour = np.append(x[1:], 5.0)
    change = between(distance, neighbour, x) - between(distance, x, x)
    assert change <= distance.sensitivity(n, "sharp") <= distance.sensitivity(n, "published")


@pytest.mark.parametrize("form", ["fourier", "fourier, wide", "quadratic"])
@pytest.mark.parametrize("n", [1, 10, 1000])
def test_sharp_is_reached_by_two_points_far_apart(form: str, n: int) -> None:
    distance = FORMS[form]
    x = np.zeros(n)
    neighbour = np.append(x[1:], 5.0 if form != "fourier, wide" else 100.0)
    change = between(distance, neighbour, x)
    rounding = 1e-6 if form == "quadratic" else 0.0
    assert change == pytest.approx(distance.sensitivity(n), rel=1e-6, abs=rounding)


@pytest.mark.parametrize("n", [100, 1000, 5000, 20_000])
def test_sharp_leaves_room_for_the_rounding_of_large_sums(n: int) -> None:
    distance = FORMS["fourier"]
    for start, end in ((0.0, 5.0), (5.0, 0.0), (0.1, 4.97)):
        x = np.full(n, start)
        assert between(distance, np.append(x[1:], end), x) <= distance.sensitivity(n)


@EVERY
def test_it_is_a_distance_below_its_bound(distance: Distance) -> None:
    rng = np.random.default_rng(1)
    x, y, z = rng.uniform(0.0, 5.0, 7), rng.uniform(2.0, 3.0, 5), rng.uniform(0.0, 1.0, 9)
    assert between(distance, x, x) <= 1e-7
    assert between(distance, x, y) == pytest.approx(between(distance, y, x), rel=1e-12)
    assert between(distance, x, z) <= between(distance, x, y) + between(distance, y, z)
    apart = between(distance, np.zeros(3), np.full(4, 5.0))
    assert max(apart, between(distance, y, z)) <= distance.bound * (1 + 1e-12)


@EVERY
def test_the_statistic_of_a_union_is_put_together_from_its_parts(distance: Distance) -> None:
    data = np.random.default_rng(2).uniform(0.0, 5.0, (4, 90, 1))
    parts = distance.statistic(data[:, :70]), 70, distance.statistic(data[:, 70:]), 20
    assert distance.combine(*parts) == pytest.approx(distance.statistic(data), abs=1e-14)


# ---------------------------------------------------------------- what rounding is allowed


@pytest.mark.parametrize("n", [100, 6400])
def test_a_sensitivity_has_the_margin_that_is_derived(n: int) -> None:
    fourier = FourierMMD(0.0, 5.0, 0.6)
    sums = (2.0 * 64 + 2.0 * n / 64 + 3.0 * 23 + 6.0) * UNIT
    plain = kernel.mmd_sensitivity(n, "sharp", fourier.kernel_error)
    assert fourier.sensitivity(n) - plain == pytest.approx(sums, rel=1e-3, abs=0.0)
    assert fourier.sensitivity(n, "published") == kernel.mmd_sensitivity(n, "published")
    quadratic = FORMS["quadratic"]
    margin = quadratic.sensitivity(n) - kernel.mmd_sensitivity(n)
    assert margin == pytest.approx(2.0 * math.sqrt(100.0 * UNIT), rel=1e-6, abs=0.0)
    assert quadratic.sensitivity(n, "published") == kernel.mmd_sensitivity(n, "published")
    outbreaks = ClippedOutbreaks(5.0)
    assert outbreaks.sensitivity(n) - 5.0 / n == pytest.approx(
        10.0 * (n + 1) * UNIT, rel=1e-3, abs=0.0
    )
    clipped = ClippedSummaries(np.ravel, (1.0,), 1.0, 3.0)
    assert clipped.sensitivity(n) - 1.0 == pytest.approx(3000.0 * UNIT, rel=1e-3, abs=0.0)
    assert clipped.statistic_sensitivity(n) - 1.0 == pytest.approx(100.0 * UNIT, rel=0.02, abs=0.0)


# --------------------------------------------------------------------- some coordinates only


def test_columns_are_those_chosen_each_in_its_unit() -> None:
    inner = RandomFeatures(0.6, dimension=2, frequencies=5)
    distance = Columns(inner, ((2, 0.5), (0, 4.0)))
    data = np.random.default_rng(4).uniform(0.0, 5.0, (3, 7, 3))
    looked_at = np.stack([data[..., 2] / 0.5, data[..., 0] / 4.0], axis=2)
    statistics = inner.statistic(looked_at)
    assert np.array_equal(distance.statistic(data), statistics)
    found = distance.compare(statistics, statistics[0])
    assert np.array_equal(found, inner.compare(statistics, statistics[0]))
    assert (distance.bound, distance.error) == (inner.bound, inner.error)
    for which in ("sharp", "published"):
        assert distance.sensitivity(9, which) == inner.sensitivity(9, which)
    assert distance.statistic_sensitivity(9) == inner.statistic_sensitivity(9)
    union = np.concatenate([data[0], data[1, :2]])
    parts = statistics[0], 7, inner.statistic(looked_at[1, :2]), 2
    assert distance.combine(*parts) == pytest.approx(distance.statistic(union), abs=1e-15)
