"""A model of one's own is a scenario; ``models/simulators/test_every_scenario.py`` has the rest."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from abcdp_core import mechanisms
from abcdp_core.base import fingerprint, registry, transforms
from abcdp_core.base.statistic import added, whole_only
from abcdp_core.mechanisms import Budget
from abcdp_core.models import pool, simulators
from abcdp_core.models.distances.boxed_features import BoxedFeatures
from abcdp_core.models.distances.fourier import FourierMMD
from abcdp_core.models.distances.standardised import Standardised
from abcdp_core.models.own_model import Column, contract, histogram, model_table, shares, total
from tests.models.own_model.models import (
    ADDED,
    EXAMPLES,
    LARGEST,
    MODEL,
    MODELS,
    SIR,
    changed,
    first,
    scenario,
)


@pytest.mark.parametrize("name", MODELS)
def test_one_record_changes_distance_and_numbers_by_at_most_their_sensitivity(name: str) -> None:
    source, model = scenario(name), MODELS[name]
    rng, n = np.random.default_rng(3), source.n_default
    points = source.simulate(rng, source.prior(rng, 2), n)
    other, data = points
    corners = np.stack([model.low, model.high, (model.low + model.high) / 2.0])
    neighbours = np.repeat(data[None], len(corners), axis=0)
    neighbours[:, 0] = corners
    metric = source.distance()
    assert metric.bound == pytest.approx(source.epsilon_abc.high)
    assert metric is source.distance()
    statistics = metric.statistic(neighbours)
    rho = metric.compare(statistics, metric.statistic(other))
    assert np.ptp(rho) <= metric.sensitivity(n) <= metric.sensitivity(n, "published")
    moved = np.linalg.norm(statistics - statistics[:1], axis=-1).max()
    assert 0.0 < moved <= metric.statistic_sensitivity(n)
    for statistic in getattr(source, "STATISTICS", {}).values():
        change = np.abs(statistic.reduce(neighbours) - statistic.reduce(neighbours[0]))
        assert 0.0 < change.sum(axis=-1).max() <= statistic.l1(n)


def test_the_distance_is_between_numbers_unless_there_are_none() -> None:
    assert isinstance(scenario("gaussian").distance(), Standardised)
    assert isinstance(scenario("by records").distance(), BoxedFeatures)
    assert scenario("by records").statistics == {}
    line = scenario("one column").distance()
    assert isinstance(line, FourierMMD)
    assert (line.low, line.high) == (-3.0, 3.0)
    assert line.bandwidth == pytest.approx(6.0 * scenario("one column").bandwidth)
    assert scenario("gaussian").bandwidth is None
    assert scenario("by records").distance(0.5).bandwidth == 0.5


def test_numbers_of_parts_add_up_unless_one_is_declared_and_are_at_least_0_unless_lowered() -> None:
    derived = contract.statistics(MODEL)["numbers"]
    assert (derived.combine, derived.whole, derived.unit) == (added, None, "one person")
    counts = dataclasses.replace(SIR, statistics=SIR.statistics[:1])
    assert contract.statistics(counts)["numbers"].whole == (1,) * 10
    both = contract.statistics(changed(statistics=(*MODEL.statistics, LARGEST), sizes=(20,)))
    assert both["numbers"].combine is whole_only
    assert both["numbers"].unit == "one person, if the sensitivity declared for largest holds"
    assert both["numbers"].low == (0.0, -math.inf)
    for lower, low in ((-1.0, -math.inf), (0.5, 0.0)):
        own = changed(**ADDED | {"statistics": (total("t", first, lower, 1.0),)})
        assert contract.statistics(own)["numbers"].low == (low,)


def test_means_of_a_prior_are_its_midpoints_or_estimated_from_draws() -> None:
    assert scenario("gaussian").prior_mean.tolist() == [0.0, 0.0, 1.15, 1.15, 0.0]
    assert scenario("gaussian").truth.tolist() == [0.5, -1.0, 1.0, 0.6, 0.5]

    def around(middle: float, size: int) -> NDArray[np.float64]:
        return np.array(middle + 0.25 * (-1.0) ** np.arange(size))

    drawn = changed(prior=lambda _, size: np.stack([around(1.0, size), around(2.0, size)], axis=1))
    source = contract.scenario(drawn, "mine_drawn", "mine.py")
    assert source.prior_mean.tolist() == pytest.approx([1.0, 2.0])
    assert source.truth.tolist() == [1.25, 2.25]


def test_shares_alone_have_the_simplex_as_support() -> None:
    two = shares(("a", "b"), (1.0, 3.0))
    for parameters, on_simplex in (
        (two, True),
        ((*two, MODEL.parameters[1]), False),
        ((*two, *shares(("c", "d"))), False),
    ):
        source = contract.scenario(changed(parameters=parameters), "mine_shares", "mine.py")
        assert (source.support is transforms.SIMPLEX) == on_simplex
        assert source.support.contains(np.stack([source.truth, source.prior_mean])).all()
        assert source.prior_mean[:2] == pytest.approx([0.25, 0.75], abs=0.01)


def test_failed_draws_are_excluded_from_public_draws() -> None:
    def some(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
        return np.where(theta[:, :1, None] > 1.0, np.nan, rng.random((len(theta), n, 1)))

    model = changed(name="failing", simulate=some, failures="excluded")
    assert 100 < len(contract.pilot(model)) < contract.PILOT
    assert np.isfinite(contract.pilot(model)).all()
    source = contract.scenario(model, "mine_failing", "mine.py")
    assert source.failed(np.array([[[np.nan]], [[0.0]]])).tolist() == [True, False]
    assert scenario("gaussian").failed is None


def test_the_distance_of_numbers_is_in_standard_deviations_of_public_draws() -> None:
    cells = histogram("h", first, (-3.0, 0.0, 2.0, 3.0))
    several = changed(name="several", statistics=(*MODEL.statistics, cells))
    metric = contract.scenario(several, "mine_several", "mine.py").distance()
    spread = model_table.numbers(several, contract.pilot(several)).std(axis=0)
    assert metric.weights == pytest.approx(1.0 / spread, rel=0.006)
    # A record changes the mean by 1, and two cells by 1 each, at the largest weight of any cell.
    one, *rest = metric.weights
    least = math.hypot(one, math.sqrt(2.0) * max(rest))
    assert least < metric.length < least * (1.0 + 2e-9)
    # Two standard deviations to either side of each of four numbers.
    assert metric.bound == 8.0
    assert metric.usual == 100


def test_a_bandwidth_is_a_fraction_of_the_range() -> None:
    def bandwidth(name: str, scale: float, shift: float) -> float:
        def simulate(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
            return shift + scale * MODEL.simulate(rng, theta, n)

        column = Column("value", shift - 3.0 * scale, shift + 3.0 * scale)
        given = {"name": name, "simulate": simulate, "columns": (column,), "distance": "records"}
        return contract.scenario(changed(**given), f"mine_{name}", "mine.py").BANDWIDTH

    found = bandwidth("plain", 1.0, 0.0)
    # The median distance between two draws is 1.4: normal noise and a uniform mean from -2 to 2.
    assert found == pytest.approx(1.4 / 6.0, rel=0.15)
    assert found == bandwidth("moved", 8.0, 64.0) == bandwidth("narrow", 1e-9, 0.0)


def test_about_one_draw_in_fifty_meets_the_threshold() -> None:
    source = scenario("gaussian")
    rng = np.random.default_rng(11)
    points = source.simulate(rng, source.prior(rng, 300), source.n_default)
    metric, statistics = source.distance(), source.distance().statistic(points)
    near = [metric.compare(statistics, one) <= source.epsilon_abc_default for one in statistics]
    assert 0.005 < np.median(np.mean(near, axis=1)) < 0.06


def test_constant_data_have_scale_1_and_the_lowest_threshold_and_bandwidth() -> None:
    wide = changed(
        columns=(Column("day", -1.0, 2.0), Column("age", 0.0, 9.0)),
        simulate=lambda _, theta, n: np.zeros((len(theta), n, 2)),
        deterministic=True,
    )
    source = contract.scenario(wide, "mine_wide", "mine.py")
    assert source.domain == (-1.0, 9.0)
    assert source.distance().weights == (1.0,)
    assert source.epsilon_abc_default == source.epsilon_abc.low == source.distance_axis / 2000.0
    by_records = dataclasses.replace(wide, name="wide-records", distance="records", statistics=())
    assert contract.scenario(by_records, "mine_wide_records", "mine.py").bandwidth == 0.05


@pytest.mark.usefixtures("own_registry")
def test_a_file_becomes_a_scenario_with_its_own_fingerprint_and_cached_draws(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = registry.add_file(EXAMPLES / "gaussian.py").SCENARIO
    assert simulators.load("gaussian-2d") is source
    assert source.model.file == "gaussian.py"
    assert "abcdp_plugin_gaussian" in registry.texts
    told: list[float] = []
    drawn = contract.pilot(source.model, told.append)
    assert told == pytest.approx(np.arange(1, 11) / 10)
    assert drawn.shape == (200, 1000, 2)
    again = registry.add_file(EXAMPLES / "gaussian.py").SCENARIO
    assert source.model != again.model
    assert np.array_equal(contract.pilot(again.model, told.append), drawn)
    assert len(told) == 10
    assert len(list(empty_cache.glob("pilot-*.npz"))) == 1
    # Cached results become stale when the code of the contract changes.
    before = fingerprint.of(again.module)
    monkeypatch.setitem(fingerprint._TEXTS, "abcdp_core.models.own_model.contract", b"x = 1")
    assert fingerprint.of(again.module) != before


FILE = """
from tests.models.own_model.models import LARGE, MODEL, changed

MODEL = changed(
    name="small-NUMBERS-DISTANCE",
    statistics=(*MODEL.statistics, LARGE)[:NUMBERS],
    sizes=(50,),
    distance="DISTANCE",
)
"""


@pytest.mark.usefixtures("own_registry", "empty_cache")
@pytest.mark.parametrize(
    ("numbers", "distance"), [(0, "records"), (1, "numbers"), (2, "numbers"), (1, "records")]
)
def test_every_mechanism_that_serves_it_makes_a_release(
    numbers: int, distance: str, tmp_path: Path
) -> None:
    file = tmp_path / "small.py"
    text = FILE.replace("NUMBERS", str(numbers)).replace("DISTANCE", distance)
    file.write_text(text, encoding="utf-8")
    source = registry.add_file(file).SCENARIO
    public = pool.public_side(source, 50, 150, 1)
    served = mechanisms.for_scenario(source)
    assert ("private-summary" in served) == (numbers > 0)
    assert "noisy-counts" not in served
    assert {"sparse-vector", "private-embedding", "nearest-selection"} <= set(served)
    for name, mechanism in served.items():
        prepared = mechanism.prepare(public, mechanism.chosen(c=5), Budget(1e6, 1e-6))
        release = prepared.release(public.simulated(0), np.random.default_rng(3))
        mean = release.mean(public.theta, np.asarray(source.prior_mean))
        assert mean.shape == (2,), name
        assert abs(mean[0]) <= 2.5, name
