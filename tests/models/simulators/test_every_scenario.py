"""The contract that every scenario keeps, shipped or made from a model of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from abcdp_core import studies
from abcdp_core.base.parameters import POOL_SIZE, ParameterError
from abcdp_core.models import simulators
from abcdp_core.models.simulators import ScenarioParams
from tests.models.own_model import models

SHIPPED = simulators.names()
OWN = {f"own: {name}": name for name in models.MODELS}


def load(name: str) -> Any:
    return models.scenario(OWN[name]) if name in OWN else simulators.load(name)


EVERY = pytest.mark.parametrize("name", [*SHIPPED, *OWN])


@EVERY
def test_its_statements_are_consistent_and_its_defaults_allowed(name: str) -> None:
    source = load(name)
    theta = source.prior(np.random.default_rng(7), 1000)
    dimension = len(source.axes)
    assert theta.shape == (1000, dimension)
    assert source.prior_mean.shape == (dimension,)
    assert set(source.units) == set(source.axes)
    middle = [source.prior_mean] + ([] if source.truth is None else [source.truth])
    for points in (theta, np.stack(middle)):
        for values, (low, high) in zip(points.T, source.axes.values(), strict=True):
            assert low <= values.min() <= values.max() <= high
        assert source.support.contains(points).all()
    assert list(source.n.options) == sorted(set(source.n.options))
    for parameter, default in (
        (source.n, source.n_default),
        (source.epsilon_abc, source.epsilon_abc_default),
        (source.pool_size, source.pool_size_default),
    ):
        assert parameter.check("default", default) == default
    assert source.pool_size.high <= POOL_SIZE.high
    assert 1 <= source.c_default <= source.pool_size_default
    assert (source.precomputed is not None) <= (name in SHIPPED)


@EVERY
def test_its_distances_accept_its_simulated_data(name: str) -> None:
    source = load(name)
    rng = np.random.default_rng(7)
    points = source.simulate(rng, source.prior(rng, 4), 18)
    assert points.shape == (4, 18, len(source.coordinates))
    for each in source.distances:
        distance = source.distance(name=each)
        statistics = distance.statistic(points)
        rho = distance.compare(statistics, statistics[0])
        assert rho.shape == (4,)
        assert rho[0] == pytest.approx(0.0, abs=1e-6)
        assert 0.0 < rho[1:].max() <= distance.bound * (1 + 1e-12)
        assert source.epsilon_abc.high <= distance.bound * (1 + 1e-12)
        assert 0 < source.distance_axis <= distance.bound * (1 + 1e-12)
    default, named = source.distance(), source.distance(name=source.distances[0])
    assert (type(default), default.bound) == (type(named), named.bound)
    assert np.array_equal(default.statistic(points), named.statistic(points))


@EVERY
def test_its_statistics_if_any_keep_to_their_statements(name: str) -> None:
    source = load(name)
    rng = np.random.default_rng(7)
    points = source.simulate(rng, source.prior(rng, 5), source.n_default)
    for key, statistic in source.statistics.items():
        assert statistic.name == key
        assert statistic.neighbours in ("replace", "add-remove")
        numbers = statistic.reduce(points)
        assert numbers.shape == (5, len(statistic.names))
        assert np.array_equal(numbers[3], statistic.reduce(points[3]))
        assert (statistic.low <= numbers).all()
        assert (numbers <= statistic.high).all()
        if statistic.whole is not None:
            whole = numbers * statistic.whole
            assert whole == pytest.approx(np.rint(whole), abs=1e-9)
        sizes = [int(size) for size in source.n.options]
        for n in sizes:
            assert 0.0 < statistic.l2(n) <= statistic.l1(n)
        if statistic.neighbours == "add-remove":
            # The size is private, so nothing depends on it.
            assert len({(statistic.l1(n), statistic.l2(n)) for n in (*sizes, 1, 7)}) == 1


@pytest.mark.parametrize("name", SHIPPED)
def test_it_accepts_uploaded_data_completely_or_not_at_all(name: str) -> None:
    source: Any = simulators.load(name)
    takes = source.from_series is not None
    assert {source.own_sizes != (0, 0), source.own_model != ""} == {takes}
    if not takes:
        return
    low, high = source.own_sizes
    assert 2 <= low <= high
    least, most = source.domain
    values = np.linspace(least, min(most, 1e6), low)
    points = source.from_series(values)
    assert points.shape == (low, len(source.coordinates))
    assert np.array_equal(points[:, -1], values)


def test_every_study_of_several_scenarios_refuses_too_much_work() -> None:
    every = [studies.load(name).Params for name in studies.names()]
    several = [params for params in every if "scenario" in params.specification()]
    assert len(several) > 5
    for params in several:
        assert issubclass(params, ScenarioParams)
        if "n" not in params.specification():
            continue
        with pytest.raises(ParameterError, match=r"n \* pool_size = 1,000,000,000: must be at"):
            params(n=10_000, pool_size=100_000)
        if "c" in params.specification():
            with pytest.raises(ParameterError, match="c = 11: must be a whole number from 1 to p"):
                params(c=11, pool_size=10)
