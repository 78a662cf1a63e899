"""Every form of the distance keeps to its stated bound, sensitivity and error."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from abcdp_core.models.distances import Distance, kernel, maximum_mean_discrepancy
from abcdp_core.models.distances.boxed_features import BoxedFeatures
from abcdp_core.models.distances.columns import Columns
from abcdp_core.models.distances.fourier import FourierMMD
from abcdp_core.models.distances.outbreaks import ClippedOutbreaks
from abcdp_core.models.distances.quadratic import QuadraticMMD
from abcdp_core.models.distances.random_features import RandomFeatures
from abcdp_core.models.distances.standardised import Standardised
from tests.search import most

FORMS: dict[str, Distance] = {
    "fourier": FourierMMD(0.0, 5.0, 0.6),
    "fourier, wide": FourierMMD(0.0, 100.0, 1.0),
    "quadratic": QuadraticMMD(0.6),
    "paired": RandomFeatures(0.6, frequencies=50),
    "shifted": RandomFeatures(0.6, frequencies=3, paired=False),
}
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


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [1, 10, 1000])
def test_two_points_far_apart_reach_sharp_and_never_exceed_it(form: str, n: int) -> None:
    distance, x = FORMS[form], np.zeros(n)
    neighbour = np.append(x[1:], 5.0 if form != "fourier, wide" else 100.0)
    change = between(distance, neighbour, x)
    assert change <= distance.sensitivity(n, "sharp") <= distance.sensitivity(n, "published")
    if not isinstance(distance, RandomFeatures):
        rounding = 1e-6 if form == "quadratic" else 0.0
        assert change == pytest.approx(distance.sensitivity(n), rel=1e-6, abs=rounding)


@pytest.mark.parametrize("n", [100, 1000, 5000, 20_000])
def test_sharp_leaves_room_for_the_rounding_of_large_sums(n: int) -> None:
    distance = FORMS["fourier"]
    for start, end in ((0.0, 5.0), (5.0, 0.0), (0.1, 4.97)):
        x = np.full(n, start)
        assert between(distance, np.append(x[1:], end), x) <= distance.sensitivity(n)
    for form in ("fourier", "quadratic"):
        assert FORMS[form].sensitivity(n) > kernel.mmd_sensitivity(n)
        assert FORMS[form].sensitivity(n, "published") == kernel.mmd_sensitivity(n, "published")


@pytest.mark.parametrize("kernel_error", [0.0, FourierMMD(0.0, 5.0, 0.6).kernel_error, 0.1])
def test_the_sensitivity_of_a_kernel_is_never_rounded_down(kernel_error: float) -> None:
    # In rational arithmetic: (n Δ)² >= 2 + 4 error, the squared diameter of the feature vectors.
    for n in (*range(1, 2001), 3000, 5000, 10_000, 20_000):
        delta = Fraction(kernel.mmd_sensitivity(n, "sharp", kernel_error))
        assert (n * delta) ** 2 >= 2 + 4 * Fraction(kernel_error)
        assert n * Fraction(kernel.mmd_sensitivity(n, "published")) >= 2
    found = [kernel.mmd_sensitivity(100, which) for which in ("sharp", "published", "script")]
    assert found == pytest.approx([2**0.5 / 100, 0.02, 0.01], rel=1e-15)


@EVERY
def test_it_is_a_distance_below_its_bound(distance: Distance) -> None:
    rng = np.random.default_rng(1)
    x, y, z = rng.uniform(0.0, 5.0, 7), rng.uniform(2.0, 3.0, 5), rng.uniform(0.0, 1.0, 9)
    assert between(distance, x, x) <= 1e-7
    assert between(distance, x, y) == pytest.approx(between(distance, y, x), rel=1e-12)
    assert between(distance, x, z) <= between(distance, x, y) + between(distance, y, z)
    apart = between(distance, np.zeros(3), np.full(4, 5.0))
    assert max(apart, between(distance, y, z)) <= distance.bound * (1 + 1e-12)
    if not isinstance(distance, RandomFeatures):
        assert apart == pytest.approx(distance.bound, rel=1e-3)


COMBINED: dict[str, Distance] = FORMS | {
    "boxed": BoxedFeatures((0.0, 1.0), (5.0, 4.0), 0.3),
    "public size": Standardised(lambda data: data.sum(axis=-2), (0.5, 2.0), 2.1, 6.0, usual=10),
    "private size": Standardised(lambda data: data.sum(axis=-2), (0.5, 2.0), 2.1, 6.0, usual=None),
    "outbreaks": ClippedOutbreaks(),
}


@pytest.mark.parametrize("form", COMBINED)
def test_statistics_of_two_parts_combine_to_that_of_the_union(form: str) -> None:
    distance, columns = COMBINED[form], 1 if form in FORMS else 8 if form == "outbreaks" else 2
    data = np.random.default_rng(2).uniform(0.0, 5.0, (4, 90, columns))
    parts = distance.statistic(data[:, :70]), 70, distance.statistic(data[:, 70:]), 20
    assert distance.combine(*parts) == pytest.approx(distance.statistic(data), rel=1e-13, abs=1e-14)


def test_columns_are_selected_and_scaled() -> None:
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


def test_the_median_bandwidth_is_the_median_over_pairs() -> None:
    # Distances 1, 2, 3, 4, 6, 7.
    assert kernel.median_bandwidth(np.array([[0.0], [1.0], [3.0], [7.0]])) == 3.5
    assert kernel.median_bandwidth(np.array([[0.0, 0.0], [3.0, 4.0]])) == 5.0


def test_the_form_is_chosen_by_cost() -> None:
    assert isinstance(maximum_mean_discrepancy(0.0, 5.0, 0.6), FourierMMD)
    assert isinstance(maximum_mean_discrepancy(0.0, 5.0, 0.6, n=22), QuadraticMMD)
    assert isinstance(maximum_mean_discrepancy(0.0, 5.0, 0.6, n=23), FourierMMD)
    assert isinstance(maximum_mean_discrepancy(0.0, 5.0, 0.01), RandomFeatures)
    assert isinstance(maximum_mean_discrepancy(0.0, 5.0, 0.01, n=100), QuadraticMMD)
    assert isinstance(maximum_mean_discrepancy(0.0, 5.0, 0.6, dimension=2), RandomFeatures)
