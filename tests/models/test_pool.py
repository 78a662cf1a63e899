"""Pools: their numbers, what is kept of them, what is public, and who makes them."""

from __future__ import annotations

import dataclasses
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core.base import fingerprint
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.streams import generator
from abcdp_core.models import pool
from abcdp_core.models.pool import PoolKey, PublicSide, making
from abcdp_core.models.simulators import Later, Scenario, tuberculosis_patients, uniform_mixture

SCENARIO = uniform_mixture.SCENARIO
KEY = PoolKey(SCENARIO, 0.6, pool_size=130, largest_n=300, seed=1)
OTHER = PoolKey(SCENARIO, 0.6, pool_size=60, largest_n=10, seed=2)


@pytest.fixture(scope="module")
def made() -> pool.Pool:
    """The pool of KEY."""
    return pool.build(KEY)


def with_fields(**fields: Any) -> PoolKey:
    """The key of a pool whose scenario states other fields."""
    return dataclasses.replace(KEY, scenario=dataclasses.replace(SCENARIO, **fields))


def same(first: pool.Pool, second: pool.Pool) -> bool:
    ours, theirs = making.to_arrays(first), making.to_arrays(second)
    return ours.keys() == theirs.keys() and all(
        np.array_equal(ours[name], theirs[name]) for name in ours
    )


def test_a_pool_has_statistics_and_counts_of_the_first_points(made: pool.Pool) -> None:
    """The data sets of the first part are drawn again."""
    theta = uniform_mixture.prior(generator(KEY.seed, "prior", 0, 0), pool.CHUNK)
    layers = [
        uniform_mixture.simulate(generator(KEY.seed, "pool", 0, 0, layer), theta, size)
        for layer, size in enumerate((10, 20, 70, 200))
    ]
    data, distance = np.concatenate(layers, axis=1), uniform_mixture.distance(0.6)
    assert list(made.summaries["counts"]) == list(made.statistics) == [10, 30, 100, 300]
    assert np.array_equal(made.theta[: pool.CHUNK], theta)
    for n, statistics in made.statistics.items():
        assert statistics.shape == (130, 47)
        expected = distance.statistic(data[:, :n])
        assert statistics[: pool.CHUNK] == pytest.approx(expected, abs=1e-14)
        counts = made.summaries["counts"][n]
        expected = [np.bincount(row, minlength=5) for row in data[:, :n, 0].astype(int)]
        assert np.array_equal(counts[: pool.CHUNK], expected)
        assert np.array_equal(counts.sum(axis=1), np.full(KEY.pool_size, n))


def test_draws_that_fail_are_replaced_by_others_of_their_part(made: pool.Pool) -> None:
    simulate, limit = uniform_mixture.simulate, 0.3

    def failing(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
        """Fail beyond a weight, at the last size alone."""
        fails = (theta[:, 0] > limit) & (n == 200)
        return np.where(fails[:, None, None], np.nan, simulate(rng, theta, n))

    further = [pool.predictive_theta(KEY, 300, index) for index in range(9)]
    failed = lambda data: np.isnan(data).any(axis=(1, 2))  # noqa: E731
    key = with_fields(simulate=failing, failed=failed)
    found, left = pool.build(key), made.theta[:, 0] <= limit
    assert 10 < (~left).sum() < 100
    rows = np.array([np.flatnonzero((made.theta == each).all(axis=1))[0] for each in found.theta])
    assert np.array_equal(left, rows == np.arange(KEY.pool_size))
    assert left[rows].all()
    assert np.array_equal(rows // pool.CHUNK, np.arange(KEY.pool_size) // pool.CHUNK)
    for n, values in found.statistics.items():
        assert np.array_equal(values, made.statistics[n][rows])
    for index, before in enumerate(further):
        after = pool.predictive_theta(key, 300, index)
        assert after[0] <= limit
        assert np.array_equal(after, before) == (before[0] <= limit)
    assert max(each[0] for each in further) > limit
    limit = -1.0
    with pytest.raises(ParameterError, match="all 50 draws of a part of a pool fail"):
        pool.build(key)
    with pytest.raises(ParameterError, match="1,000 simulations"):
        pool.observed_data(key, 300)


def test_a_precomputed_pool_is_read_and_not_made(empty_cache: Path) -> None:
    idle: Any = dataclasses.replace(tuberculosis_patients.SCENARIO, simulate=Later(lambda: 1 / 0))
    key = pool.key_for(idle, 1000, 500, seed=3)
    public = PublicSide(key, 1000)
    theta, numbers = tuberculosis_patients.precomputed_pool(500)
    assert np.array_equal(public.theta, theta)
    assert np.array_equal(public.summaries("cluster-summary"), numbers)
    assert not list(empty_cache.glob("*.npz"))
    # No simulation has the numbers of these tables.
    tables = np.zeros((2, 1000, 1))
    tables[0, :5, 0], tables[1, :2, 0] = (500, 90, 2, 1, 1), (7, 1)
    kept = {
        name: each.reduce(tables)
        for name, each in tuberculosis_patients.SCENARIO.statistics.items()
    }
    statistics, summaries = tuberculosis_patients.from_numbers(kept["cluster-summary"])
    assert statistics == pytest.approx(key.metric().statistic(tables), rel=1e-15)
    assert summaries.keys() == kept.keys()
    assert all(np.array_equal(summaries[name], kept[name]) for name in kept)


def test_numbers_depend_on_seed_and_run_and_not_on_sizes(made: pool.Pool) -> None:
    for size in ({"largest_n": 10}, {"largest_n": 1000}, {"pool_size": 51}):
        other = pool.build(dataclasses.replace(KEY, **size))
        draws = len(other.theta)
        assert np.array_equal(made.theta[:draws], other.theta)
        for n in made.statistics.keys() & other.statistics.keys():
            assert np.array_equal(made.statistics[n][:draws], other.statistics[n])
            counts = made.summaries["counts"][n][:draws]
            assert np.array_equal(counts, other.summaries["counts"][n])
    for changed in ({"seed": 2}, {"run": 1}):
        other = pool.build(dataclasses.replace(KEY, **changed))
        assert not np.any(made.theta == other.theta)
        # The first coordinate of a statistic is a constant.
        assert not np.any(made.statistics[10][:, 1:] == other.statistics[10][:, 1:])


def test_sizes_up_to_the_default_share_a_pool() -> None:
    keys = {pool.key_for(SCENARIO, n, 10_000, seed=1) for n in (10, 1000, 5000)}
    assert {key.largest_n for key in keys} == {5000}
    assert pool.key_for(SCENARIO, 20_000, 10_000, seed=1).largest_n == 20_000
    # With 5000 points each, the pool would have too many.
    assert pool.key_for(SCENARIO, 10, 100_000, seed=1).largest_n == 1000


def test_the_median_bandwidth_comes_from_the_prior_predictive_distribution() -> None:
    # Points are then uniform on [0, 5], and the median distance of two is 5 (1 − √½). Hoeffding's
    # inequality over 1000 disjoint pairs: 0.3 is left with a probability below 1e-6.
    key = pool.key_for(SCENARIO, 100, 100, 1, bandwidth="median")
    assert key.bandwidth == pytest.approx(5.0 * (1.0 - math.sqrt(0.5)), abs=0.3)
    assert pool.key_for(SCENARIO, 100, 100, 1).bandwidth == uniform_mixture.SCENARIO.bandwidth
    assert pool.key_for(SCENARIO, 100, 100, 1, bandwidth=0.25).bandwidth == 0.25


# ------------------------------------------------------------------ on disk and in memory


def test_a_changed_simulator_never_serves_an_old_pool(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distances, module = pool.observed_comparison(KEY, 300).rho, uniform_mixture.__name__
    changed = fingerprint._TEXTS[module] + b"# Changed."
    monkeypatch.setitem(fingerprint._TEXTS, module, changed)
    key = with_fields(prior=lambda _rng, size: np.full((size, 5), 0.2))
    assert not pool.is_ready(key)
    assert not np.array_equal(pool.observed_comparison(key, 300).rho, distances)
    assert np.all(pool.open_pool(key).theta == 0.2)
    assert len(list(empty_cache.glob("*.npz"))) == 2


@pytest.mark.parametrize(("run", "n", "pseudo_n"), [(0, 300, None), (0, 300, 100), (5, 10, None)])
def test_what_is_kept_is_the_pool_and_its_comparison_with_the_data(
    empty_cache: Path,
    made: pool.Pool,
    monkeypatch: pytest.MonkeyPatch,
    run: int,
    n: int,
    pseudo_n: int | None,
) -> None:
    key = dataclasses.replace(KEY, run=run)
    kept, data = pool.observed_comparison(key, n, pseudo_n), pool.observed_data(key, n)
    fresh = pool.compare(pool.build(key), data, synthetic=True, pseudo_n=pseudo_n)
    for name in ("theta", "rho", "statistic"):
        assert np.array_equal(getattr(kept, name), getattr(fresh, name))
    counts = np.bincount(data[:, 0].astype(int), minlength=5)
    for comparison in (kept, fresh):
        assert np.array_equal(comparison.summaries["counts"], counts)
    assert (kept.n, kept.distance, kept.synthetic) == (n, fresh.distance, True)
    assert kept.sensitivity() == key.metric().sensitivity(n)
    # Only run 0 keeps its pool; of further runs the comparison is enough.
    kinds = {file.name.split("-")[0] for file in empty_cache.glob("*.npz")}
    assert kinds == ({"pool", "comparison"} if run == 0 else {"comparison"})
    pool.forget()
    monkeypatch.setattr(making, "build", None)
    assert np.array_equal(pool.observed_comparison(key, n, pseudo_n).rho, kept.rho)
    if run == 0:
        assert pool.is_ready(key)
        again = pool.open_pool(key)
        assert again.key == key
        assert same(again, made)


# ----------------------------------------------------------------- data, private and public


def test_private_data_never_reach_the_disk(empty_cache: Path) -> None:
    opened = pool.open_pool(KEY)
    before = {file: file.read_bytes() for file in empty_cache.iterdir()}
    comparison = pool.compare(opened, np.full((30, 1), 1.2345), synthetic=False)
    assert not comparison.synthetic
    assert {file: file.read_bytes() for file in empty_cache.iterdir()} == before


def test_data_sets_are_nested_and_all_differ() -> None:
    for draw in (pool.observed_data, lambda key, n: pool.predictive_data(key, n, 4)):
        large, small = draw(KEY, 1000), draw(KEY, 30)
        assert large.shape == (1000, 1)
        assert np.array_equal(large[:30], small)
    runs = [dataclasses.replace(KEY, run=run) for run in range(3)]
    sets = [pool.observed_data(key, 10) for key in runs]
    sets += [pool.predictive_data(key, 10, index) for key in runs for index in range(3)]
    assert len({points.tobytes() for points in sets}) == 12


def test_nothing_public_reads_the_private_data(empty_cache: Path) -> None:
    def public(scenario: Scenario) -> list[np.ndarray]:
        key = pool.key_for(scenario, 100, 60, seed=1, bandwidth="median")
        data = pool.predictive_data(key, 100, 0)
        found = pool.build(key)
        rho = pool.compare(found, data, synthetic=True).rho
        numbers = np.array([key.bandwidth, key.largest_n])
        return [numbers, *making.to_arrays(found).values(), data, rho]

    other = with_fields(truth=np.array([0.9, 0.1, 0.0, 0.0, 0.0]))
    assert not np.array_equal(pool.observed_data(other, 100), pool.observed_data(KEY, 100))
    # Without any truth there is nothing left to read.
    none = with_fields(truth=Later(lambda: 1 / 0))
    assert all(map(np.array_equal, public(none.scenario), public(SCENARIO)))
    with pytest.raises(ZeroDivisionError):
        pool.observed_data(none, 100)


# ---------------------------------------------------------------------- executors and threads


def test_an_executor_makes_the_same_pool_and_reports_progress(empty_cache: Path) -> None:
    asked, progress = [], list[float]()

    class Maker(ThreadPoolExecutor):
        def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]
            asked.append(args)
            return super().submit(fn, *args, **kwargs)

    with pool.used(lambda: Maker(1)):
        pool.make([OTHER], progress.append)
    assert [start for _, start in asked] == [0, 50]
    assert progress == [0.5, 1.0]
    assert pool.is_kept(OTHER)
    assert same(pool.open_pool(OTHER), pool.build(OTHER))


def test_a_pool_that_is_being_made_holds_up_no_other(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go, build = threading.Event(), threading.Event(), making.build

    def held_build(key: PoolKey, progress: pool.Progress | None = None) -> pool.Pool:
        if key == OTHER:
            begun.set()
            assert go.wait(20.0)
        return build(key, progress)

    monkeypatch.setattr(making, "build", held_build)
    third = dataclasses.replace(OTHER, seed=3)
    with ThreadPoolExecutor(2) as threads:
        first = [threads.submit(pool.open_pool, OTHER) for _ in range(2)]
        assert begun.wait(20.0)
        try:
            assert pool.open_pool(third).key == third
            assert not any(future.done() for future in first)
        finally:
            go.set()
        opened = [future.result() for future in first]
    assert opened[0] is opened[1]
