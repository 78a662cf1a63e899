from __future__ import annotations

import dataclasses
import math
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abcdp_core import fingerprint, pool
from abcdp_core.parameters import ParameterError
from abcdp_core.pool import PoolKey, PublicSide, making
from abcdp_core.simulators import covid_people, tuberculosis_patients, uniform_mixture
from abcdp_core.streams import generator

SCENARIO = uniform_mixture.SCENARIO
KEY = PoolKey(SCENARIO, 0.6, pool_size=130, largest_n=300, seed=1)
OTHER = PoolKey(SCENARIO, 0.6, pool_size=60, largest_n=10, seed=2)


def same(first: pool.Pool, second: pool.Pool) -> bool:
    return (
        np.array_equal(first.theta, second.theta)
        and first.statistics.keys() == second.statistics.keys()
        and all(np.array_equal(first.statistics[n], second.statistics[n]) for n in first.statistics)
        and first.summaries.keys() == second.summaries.keys()
        and all(
            np.array_equal(values, second.summaries[name][n])
            for name, sizes in first.summaries.items()
            for n, values in sizes.items()
        )
    )


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("at", ["first", "last"])
def test_ctrl_c_while_chunks_are_given_out_comes_after_and_ends_the_rest(
    at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not strike inside the executor, which would keep its locks."""
    count = 60
    key = dataclasses.replace(KEY, pool_size=count * pool.CHUNK)
    begun: list[int] = []

    class Interrupted(ThreadPoolExecutor):
        given = 0

        def submit(self, *arguments: Any) -> Any:  # type: ignore[override]
            self.given += 1
            if self.given == (1 if at == "first" else count):
                signal.raise_signal(signal.SIGINT)
            return super().submit(*arguments)

    def chunk(_: PoolKey, start: int) -> dict[str, np.ndarray]:
        begun.append(start)
        time.sleep(0.01)
        return {"theta": np.zeros((pool.CHUNK, 1))}

    monkeypatch.setattr(making, "_chunk", chunk)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pool.used(lambda: Interrupted(2)), pytest.raises(KeyboardInterrupt):
            pool.build(key)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(begun) < count / 2


def first_data_sets() -> np.ndarray:
    """The data sets ``(CHUNK, 300, 1)`` of the first chunk, drawn again as the pool does."""
    theta = uniform_mixture.prior(generator(KEY.seed, "prior", 0, 0), pool.CHUNK)
    layers = [
        uniform_mixture.simulate(generator(KEY.seed, "pool", 0, 0, layer), theta, size)
        for layer, size in enumerate((10, 20, 70, 200))
    ]
    return np.concatenate(layers, axis=1)


def test_a_pool_holds_draws_and_statistics_at_every_size_up_to_the_largest() -> None:
    made = pool.build(KEY)
    assert made.theta.shape == (130, 5)
    shapes = {n: values.shape for n, values in made.statistics.items()}
    assert shapes == dict.fromkeys((10, 30, 100, 300), (130, 47))


def test_statistics_are_those_of_the_first_points_of_one_data_set() -> None:
    made = pool.build(KEY)
    distance = uniform_mixture.distance(0.6)
    data = first_data_sets()
    for n, statistics in made.statistics.items():
        expected = distance.statistic(data[:, :n])
        assert statistics[: pool.CHUNK] == pytest.approx(expected, abs=1e-14)


def test_counts_are_those_of_the_first_points_of_the_same_data_sets() -> None:
    made = pool.build(KEY)
    assert made.summaries.keys() == {"counts"}
    data = first_data_sets()
    for n, counts in made.summaries["counts"].items():
        component = data[:, :n, 0].astype(int)
        expected = [np.bincount(row, minlength=5) for row in component]
        assert np.array_equal(counts[: pool.CHUNK], expected)
        assert np.array_equal(counts.sum(axis=1), np.full(KEY.pool_size, n))
    assert list(made.summaries["counts"]) == list(made.statistics) == [10, 30, 100, 300]


def test_each_draw_is_simulated_once_for_all_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the daily counts: one pass for distance and both statistics."""
    key = PoolKey(covid_people.SCENARIO, None, pool_size=60, largest_n=18, seed=1)
    simulate, seen = covid_people.simulate, []
    monkeypatch.setattr(
        covid_people, "simulate", lambda *given: seen.append(given[1]) or simulate(*given)
    )
    made = pool.build(key)
    assert sum(map(len, seen)) == 60
    daily = made.summaries["daily-counts"][18]
    assert np.array_equal(daily, made.statistics[18])
    assert np.array_equal(
        made.summaries["daily-counts-of-a-day"][18], np.minimum(daily, covid_people.LIMIT)
    )
    theta = covid_people.prior(generator(1, "prior", 0, 0), pool.CHUNK)
    data = simulate(generator(1, "pool", 0, 0, 0), theta, 18)
    assert np.array_equal(daily[: pool.CHUNK], data[..., 1])


def test_draws_that_fail_make_way_for_others_of_their_part(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(rng: np.random.Generator, theta: np.ndarray, n: int) -> np.ndarray:
        """Fails beyond a weight, at the last size alone."""
        fails = (theta[:, 0] > limit) & (n == 200)
        return np.where(fails[:, None, None], np.nan, simulate(rng, theta, n))

    plain, simulate, limit = pool.build(KEY), uniform_mixture.simulate, 0.3
    further = [pool.predictive_theta(KEY, 300, index) for index in range(9)]
    monkeypatch.setattr(uniform_mixture, "simulate", failing)
    monkeypatch.setattr(
        uniform_mixture, "failed", lambda data: np.isnan(data).any(axis=(1, 2)), raising=False
    )
    made, left = pool.build(KEY), plain.theta[:, 0] <= limit
    assert 10 < (~left).sum() < 100
    rows = [np.flatnonzero((plain.theta == each).all(axis=1))[0] for each in made.theta]
    assert np.array_equal(np.flatnonzero(left), np.flatnonzero(rows == np.arange(KEY.pool_size)))
    assert left[rows].all()
    assert np.array_equal(np.array(rows) // pool.CHUNK, np.arange(KEY.pool_size) // pool.CHUNK)
    for n, values in made.statistics.items():
        assert np.array_equal(values, plain.statistics[n][rows])
    for index, before in enumerate(further):
        after = pool.predictive_theta(KEY, 300, index)
        assert after[0] <= limit
        assert np.array_equal(after, before) == (before[0] <= limit)
        assert np.isfinite(pool.predictive_data(KEY, 300, index)).all()
    assert max(each[0] for each in further) > limit
    limit = -1.0
    with pytest.raises(ParameterError, match="all 50 draws of a part of a pool fail"):
        pool.build(KEY)
    with pytest.raises(ParameterError, match="1,000 simulations fail, one after the other"):
        pool.observed_data(KEY, 300)


def test_a_precomputed_pool_is_read_and_not_made(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuberculosis_patients, "simulate", None)
    key = pool.key_for(tuberculosis_patients.SCENARIO, 1000, 500, seed=3)
    assert pool.is_ready(key)
    public = PublicSide(key, 1000)
    theta, numbers = tuberculosis_patients.precomputed_pool(500)
    assert np.array_equal(public.theta, theta)
    assert np.array_equal(public.summaries("cluster-summary"), numbers)
    assert not list(empty_cache.glob("*.npz"))
    # One cluster more of as many patients as that takes has the numbers of no simulation at all.
    tables = np.zeros((2, 1000, 1))
    tables[0, :5, 0], tables[1, :2, 0] = (500, 90, 2, 1, 1), (7, 1)
    kept = {name: each.reduce(tables) for name, each in tuberculosis_patients.STATISTICS.items()}
    statistics, summaries = tuberculosis_patients.from_numbers(kept["cluster-summary"])
    assert statistics == pytest.approx(key.metric().statistic(tables), rel=1e-15)
    assert summaries.keys() == kept.keys()
    assert all(np.array_equal(summaries[name], kept[name]) for name in kept)
    own = pool.observed_comparison(key, 1000)
    assert np.array_equal(own.summaries["cluster-summary"][:2], [473.0, 326.0])


@pytest.mark.parametrize("largest_n", [10, 100, 1000])
def test_a_size_does_not_depend_on_how_far_the_pool_goes(largest_n: int) -> None:
    made, other = pool.build(KEY), pool.build(dataclasses.replace(KEY, largest_n=largest_n))
    assert np.array_equal(made.theta, other.theta)
    for n in made.statistics.keys() & other.statistics.keys():
        assert np.array_equal(made.statistics[n], other.statistics[n])
        assert np.array_equal(made.summaries["counts"][n], other.summaries["counts"][n])


@pytest.mark.parametrize("pool_size", [10, 50, 51, 129])
def test_a_larger_pool_begins_with_a_smaller_one(pool_size: int) -> None:
    large, small = pool.build(KEY), pool.build(dataclasses.replace(KEY, pool_size=pool_size))
    assert np.array_equal(large.theta[:pool_size], small.theta)
    for n, statistics in small.statistics.items():
        assert np.array_equal(large.statistics[n][:pool_size], statistics)


@pytest.mark.parametrize(("seed", "run"), [(2, 0), (1, 1)])
def test_another_seed_or_run_is_another_pool(seed: int, run: int) -> None:
    made, other = pool.build(KEY), pool.build(dataclasses.replace(KEY, seed=seed, run=run))
    assert not np.any(made.theta == other.theta)
    # The first coordinate of a statistic is a constant.
    assert not np.any(made.statistics[10][:, 1:] == other.statistics[10][:, 1:])


# ------------------------------------------------------------------ on disk and in memory


def test_a_pool_survives_the_disk(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not pool.is_ready(KEY)
    made = pool.open_pool(KEY)
    assert pool.is_ready(KEY)
    pool.forget()
    monkeypatch.setattr(making, "build", None)
    again = pool.open_pool(KEY)
    assert again is not made
    assert again.key == KEY
    assert same(again, made)


def test_a_changed_simulator_never_serves_an_old_pool(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pool.open_pool(KEY)
    distances = pool.observed_comparison(KEY, 300).rho
    text = fingerprint._TEXTS["abcdp_core.simulators.covid"]
    monkeypatch.setitem(fingerprint._TEXTS, "abcdp_core.simulators.covid", text + b"# Changed.")
    assert pool.is_ready(KEY)

    text = fingerprint._TEXTS[uniform_mixture.__name__]
    monkeypatch.setitem(fingerprint._TEXTS, uniform_mixture.__name__, text + b"# Changed.")
    monkeypatch.setattr(uniform_mixture, "prior", lambda _rng, size: np.full((size, 5), 0.2))
    assert not pool.is_ready(KEY)
    pool.forget()
    assert not np.array_equal(pool.observed_comparison(KEY, 300).rho, distances)
    assert np.all(pool.open_pool(KEY).theta == 0.2)
    assert pool.is_ready(KEY)
    assert len(list(empty_cache.glob("*.npz"))) == 2
    assert not same(pool.open_pool(KEY), made)


def test_sound_files_that_trade_places_are_not_taken_for_each_other(empty_cache: Path) -> None:
    """Pools, comparisons and comparisons of two sizes of two keys, all of this code."""
    keys = [dataclasses.replace(KEY, seed=seed) for seed in (1, 2)]

    def numbers() -> list[np.ndarray]:
        pool.forget()
        return [
            values
            for key in keys
            for values in (
                pool.observed_comparison(key, 300).rho,
                pool.observed_comparison(key, 300, 100).rho,
                pool.open_pool(key).theta,
            )
        ]

    before = numbers()
    files = sorted(empty_cache.glob("*.npz"))
    sound = [file.read_bytes() for file in files]
    assert len(set(sound)) == 6
    for moved in (1, 3):
        for file, content in zip(files, sound[moved:] + sound[:moved], strict=True):
            file.write_bytes(content)
        assert not any(pool.is_ready(key) for key in keys)
        assert all(map(np.array_equal, numbers(), before))
        assert [file.read_bytes() for file in files] == sound


@pytest.mark.parametrize("run", [0, 5])
def test_the_kept_comparison_is_the_comparison_of_pool_and_data(
    empty_cache: Path, run: int
) -> None:
    key = dataclasses.replace(KEY, run=run)
    for n in (10, 300):
        kept = pool.observed_comparison(key, n)
        fresh = pool.compare(pool.build(key), pool.observed_data(key, n), synthetic=True)
        assert np.array_equal(kept.rho, fresh.rho)
        assert np.array_equal(kept.theta, fresh.theta)
        assert np.array_equal(kept.statistic, fresh.statistic)
        counts = np.bincount(pool.observed_data(key, n)[:, 0].astype(int), minlength=5)
        for comparison in (kept, fresh):
            assert comparison.summaries.keys() == {"counts"}
            assert np.array_equal(comparison.summaries["counts"], counts)
        assert (kept.n, kept.distance, kept.synthetic) == (n, fresh.distance, True)
        assert kept.sensitivity() == kept.distance.sensitivity(n)
    # Only run 0 keeps its pool: a comparison of a further run is all that is needed of it.
    kinds = {file.name.split("-")[0] for file in empty_cache.glob("*.npz")}
    assert kinds == ({"pool", "comparison"} if run == 0 else {"comparison"})


def test_data_can_be_compared_with_simulated_sets_of_another_size(empty_cache: Path) -> None:
    for run in (0, 1):
        key = dataclasses.replace(KEY, run=run)
        kept = pool.observed_comparison(key, 300, 100)
        statistic = key.metric().statistic(pool.observed_data(key, 300))
        statistics = pool.build(key).statistics[100]
        assert np.array_equal(kept.rho, key.metric().compare(statistics, statistic))
        # What one person can change follows the data.
        assert kept.sensitivity() == key.metric().sensitivity(300)
        other = pool.observed_comparison(key, 300)
        assert not np.array_equal(kept.rho, other.rho)
        pool.forget()
        assert np.array_equal(pool.observed_comparison(key, 300, 100).rho, kept.rho)


def test_private_data_never_reach_the_disk(empty_cache: Path) -> None:
    made = pool.open_pool(KEY)
    before = {file: file.read_bytes() for file in empty_cache.iterdir()}
    comparison = pool.compare(made, np.full((30, 1), 1.2345), synthetic=False)
    assert not comparison.synthetic
    assert {file: file.read_bytes() for file in empty_cache.iterdir()} == before


# ----------------------------------------------------------------------- data, and who reads it


def test_a_smaller_data_set_is_the_beginning_of_a_larger_one() -> None:
    for draw in (pool.observed_data, lambda key, n: pool.predictive_data(key, n, 4)):
        large, small = draw(KEY, 1000), draw(KEY, 30)
        assert large.shape == (1000, 1)
        assert np.array_equal(large[:30], small)


def test_further_data_sets_differ_from_each_other_and_from_the_private_ones() -> None:
    runs = [dataclasses.replace(KEY, run=run) for run in range(3)]
    sets = [pool.observed_data(key, 10) for key in runs]
    sets += [pool.predictive_data(key, 10, index) for key in runs for index in range(3)]
    assert len({points.tobytes() for points in sets}) == 12


def test_nothing_public_reads_the_private_data(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def public() -> list[np.ndarray]:
        pool.forget()
        key = pool.key_for(SCENARIO, 100, 60, seed=1, bandwidth="median")
        made = pool.build(key)
        return [
            np.array([key.bandwidth, key.largest_n]),
            made.theta,
            *made.statistics.values(),
            *made.summaries["counts"].values(),
            pool.predictive_data(key, 100, 0),
            pool.compare(made, pool.predictive_data(key, 100, 0), synthetic=True).rho,
        ]

    before = public()
    private = pool.observed_data(KEY, 100)
    monkeypatch.setattr(uniform_mixture, "TRUTH", np.array([0.9, 0.1, 0.0, 0.0, 0.0]))
    assert not np.array_equal(pool.observed_data(KEY, 100), private)
    assert all(map(np.array_equal, public(), before))
    # Without any truth there is nothing left to read.
    monkeypatch.delattr(uniform_mixture, "TRUTH")
    assert all(map(np.array_equal, public(), before))
    with pytest.raises(AttributeError):
        pool.observed_data(KEY, 100)


# ------------------------------------------------------------------------------- keys


def test_sizes_up_to_the_default_share_a_pool() -> None:
    keys = {pool.key_for(SCENARIO, n, 10_000, seed=1) for n in (10, 1000, 5000)}
    assert {key.largest_n for key in keys} == {5000}
    assert pool.key_for(SCENARIO, 20_000, 10_000, seed=1).largest_n == 20_000
    # Where 5000 points each would be too many, the pool goes as far as it may.
    assert pool.key_for(SCENARIO, 10, 100_000, seed=1).largest_n == 1000


def test_the_median_bandwidth_comes_from_the_prior_predictive_distribution() -> None:
    # Points are then uniform on [0, 5], and the median distance of two is 5 (1 − √½). Hoeffding's
    # inequality over 1000 disjoint pairs: 0.3 is left with a probability below 1e-6.
    for seed in range(3):
        key = pool.key_for(SCENARIO, 100, 100, seed, bandwidth="median")
        assert key.bandwidth == pytest.approx(5.0 * (1.0 - math.sqrt(0.5)), abs=0.3)
    assert pool.key_for(SCENARIO, 100, 100, 1).bandwidth == uniform_mixture.BANDWIDTH
    assert pool.key_for(SCENARIO, 100, 100, 1, bandwidth=0.25).bandwidth == 0.25


def test_the_public_side_has_what_may_be_released_of_the_data(empty_cache: Path) -> None:
    public = PublicSide(KEY, 100)
    assert public.statistic("counts") is uniform_mixture.STATISTICS["counts"]
    made = pool.build(KEY).summaries["counts"][100]
    assert np.array_equal(public.summaries("counts"), made)
    further = pool.predictive_data(KEY, 100, 4)
    assert np.array_equal(public.simulated(4).summaries["counts"], uniform_mixture.count(further))
    with pytest.raises(KeyError, match="no such"):
        public.statistic("no such")


# ------------------------------------------------------------------------- who makes, who waits


def test_anyone_makes_the_same_pool_and_says_how_far_it_is(empty_cache: Path) -> None:
    asked, told = [], list[float]()

    class Maker(ThreadPoolExecutor):
        def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]
            asked.append(args)
            return super().submit(fn, *args, **kwargs)

    assert not pool.is_kept(OTHER)
    with pool.used(lambda: Maker(1)):
        pool.make([OTHER], told.append)
    assert [start for _, start in asked] == [0, 50]
    assert told == [0.5, 1.0]
    assert pool.is_kept(OTHER)
    assert same(pool.open_pool(OTHER), pool.build(OTHER))
    assert len(asked) == 2


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
