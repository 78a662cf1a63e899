"""Data sets and their distances from the data sets of a pool."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from abcdp_core.base import cache, registry
from abcdp_core.base.arrays import Array
from abcdp_core.base.parameters import ParameterError
from abcdp_core.base.streams import generator
from abcdp_core.models import simulators
from abcdp_core.models.distances import Distance
from abcdp_core.models.pool.key import PoolKey, key_for, median_of_simulated
from abcdp_core.models.pool.making import Pool, build, close_all, is_ready, open_pool


@dataclass(frozen=True)
class DistanceTable:
    """Distances of one data set from one pool: the only object that holds private data.

    Attributes:
        theta: parameters of the pool ``(T, d)``.
        rho: distances ``(T,)`` of the data set from each simulated one.
        statistic: the distance's statistic of the data set ``(D,)``, private.
        n: number of points of the data set.
        distance: the distance, with its sensitivity and bound.
        synthetic: whether the data are synthetic or published; only then may it be stored.
        statistics: those of the simulated data sets ``(T, D)``, public; ``None`` if the pool was
            not kept.
        summaries: name of one of the scenario's statistics -> numbers ``(k,)`` of the data set,
            private.
    """

    theta: Array = field(repr=False)
    rho: Array = field(repr=False)
    statistic: Array = field(repr=False)
    n: int
    distance: Distance
    synthetic: bool
    statistics: Array | None = field(default=None, repr=False)
    summaries: Mapping[str, Array] = field(default_factory=dict, repr=False)

    def sensitivity(self, which: str = "sharp") -> float:
        """Return the most that one record can change any of the distances (MATH M2).

        Args:
            which: ``sharp``, the smallest correct value, or ``published``, for kernels the value of
                [P21] Lemma 1.
        """
        return self.distance.sensitivity(self.n, which)


@dataclass(frozen=True)
class PublicSide:
    """The public side of a comparison of data of ``n`` points with one pool.

    The pool is opened when its draws are first needed.

    Attributes:
        key: key of the pool.
        n: points of the data.
        pseudo_n: points of each simulated data set; as many as the data if ``None``.
    """

    key: PoolKey
    n: int
    pseudo_n: int | None = None

    @property
    def scenario(self) -> simulators.Scenario:
        """The scenario."""
        return self.key.scenario

    @property
    def pool_size(self) -> int:
        """Number of draws in the pool, T."""
        return self.key.pool_size

    @property
    def distance(self) -> Distance:
        """The distance between data sets."""
        return self.key.metric()

    @property
    def theta(self) -> Array:
        """Parameters of the pool ``(T, d)``."""
        return open_pool(self.key).theta

    @property
    def statistics(self) -> Array:
        """Statistics of the pool ``(T, D)``."""
        return open_pool(self.key).statistics[self.pseudo_n or self.n]

    def summaries(self, name: str) -> Array:
        """Return a statistic ``(T, k)`` of each data set in the pool."""
        return open_pool(self.key).summaries[name][self.pseudo_n or self.n]

    def simulated(self, index: int) -> DistanceTable:
        """Return the comparison of the ``index``-th further simulated data set with the pool."""
        return _simulated(self, index)

    def simulated_theta(self, index: int) -> Array:
        """Return the parameters ``(d,)`` at which it is simulated."""
        return predictive_theta(self.key, self.n, index)


@functools.lru_cache(maxsize=64)
def _simulated(public: PublicSide, index: int) -> DistanceTable:
    data = predictive_data(public.key, public.n, index)
    made = compare(open_pool(public.key), data, synthetic=True, pseudo_n=public.pseudo_n)
    # Without the pool's statistics, which would otherwise stay in memory.
    return replace(made, statistics=None)


def public_side(scenario: simulators.Scenario, n: int, pool_size: int, seed: int) -> PublicSide:
    """Return the public side of data of ``n`` points of a scenario.

    Args:
        scenario: the scenario.
        n: points of the data.
        pool_size: number of draws T.
        seed: root seed of the pool.

    Raises:
        ParameterError: as :func:`~abcdp_core.models.pool.key_for`.
    """
    return PublicSide(key_for(scenario, n, pool_size, seed), n)


def order(seed: int, run: int, pool_size: int) -> NDArray[np.int64]:
    """Return the order ``(T,)`` of a pool's draws for a run; run 0 keeps the pool's order."""
    return generator(seed, "order", run).permutation(pool_size) if run else np.arange(pool_size)


# ------------------------------------------------------------------------------------------- data


def observed_data(key: PoolKey, n: int) -> Array:
    """Return the data ``(n, p)`` of a run: published, or simulated at the true parameters."""
    source = key.scenario
    if source.observed is not None:
        return source.observed
    if source.precomputed_data is not None:
        return source.precomputed_data(n, key.run)

    def observed(*again: int) -> Array:
        return _data(key, n, "observed", (key.run, *again), np.asarray(source.truth))

    return observed(*unfailed(source, observed))


def predictive_theta(key: PoolKey, n: int, index: int) -> Array:
    """Return the ``index``-th prior draw ``(d,)`` beyond the pool, for data of ``n`` points."""
    again = unfailed(key.scenario, functools.partial(_predictive, key, n, index))
    return _further_draw(key, index, *again)[0]


def predictive_data(key: PoolKey, n: int, index: int) -> Array:
    """Return public data ``(n, p)`` simulated at the ``index``-th prior draw beyond the pool."""
    predictive = functools.partial(_predictive, key, n, index)
    return predictive(*unfailed(key.scenario, predictive))


def _predictive(key: PoolKey, n: int, index: int, *again: int) -> Array:
    address = (key.run, index, *again)
    return _data(key, n, "predictive", address, _further_draw(key, index, *again)[0])


def _further_draw(key: PoolKey, index: int, *again: int) -> Array:
    rng = generator(key.seed, "predictive-prior", key.run, index, *again)
    return key.scenario.prior(rng, 1)


TRIES = 1000
"""Largest number of simulations to find a data set that does not fail."""


def unfailed(source: simulators.Scenario, draw: Callable[..., Array]) -> tuple[int, ...]:
    """Return the suffix of an address at which a simulation does not fail; empty if possible.

    Args:
        source: scenario; its function ``failed``, if any, tells which data sets failed.
        draw: simulates a data set ``(n, p)`` for a suffix.

    Raises:
        ParameterError: :data:`TRIES` simulations failed.
    """
    failed = source.failed
    for again in ((), *((number,) for number in range(TRIES))):
        if failed is None or not failed(draw(*again)[None])[0]:
            return again
    raise ParameterError(f"{source.name}: {TRIES:,} simulations in a row failed.")


def _data(key: PoolKey, n: int, role: str, address: tuple[int, ...], theta: Array) -> Array:
    """Simulate a data set in layers, so that a smaller one is the beginning of a larger one."""
    simulate = key.scenario.simulate
    layers = [
        simulate(generator(key.seed, role, *address, layer), theta[None], high - low)[0]
        for layer, (low, high) in enumerate(itertools.pairwise([0, *key.layers(n)]))
    ]
    return np.concatenate(layers)


# -------------------------------------------------------------------------------------- distances


def compare(
    pool: Pool, data: Array, *, synthetic: bool, pseudo_n: int | None = None
) -> DistanceTable:
    """Compute the distances of a data set ``(n, p)`` from a pool.

    Args:
        pool: has statistics at the size needed.
        data: the data set.
        synthetic: whether it is synthetic or published.
        pseudo_n: points of each simulated data set; as many as the data if ``None``.
    """
    distance = pool.key.metric()
    statistic = distance.statistic(data)
    statistics = pool.statistics[pseudo_n or len(data)]
    rho = distance.compare(statistics, statistic)
    summaries = {name: each.reduce(data) for name, each in pool.key.scenario.statistics.items()}
    return DistanceTable(
        pool.theta, rho, statistic, len(data), distance, synthetic, statistics, summaries
    )


@functools.lru_cache(maxsize=32)
def observed_comparison(key: PoolKey, n: int, pseudo_n: int | None = None) -> DistanceTable:
    """Return the comparison of a run's synthetic or published data with its pool; kept on disk.

    The pool of run 0, which pages use, is kept too. Pools of further runs are compared at every
    size and dropped, because a comparison is 25 times smaller.

    Args:
        key: key of the pool.
        n: points of the data.
        pseudo_n: points of each simulated data set; as many as the data if ``None``.
    """
    distance = key.metric()
    precomputed = key.scenario.precomputed
    if precomputed is not None:
        theta, rho = precomputed(key.pool_size, n, key.run)
        return DistanceTable(theta, rho, np.empty(0), n, distance, synthetic=True)
    own = {} if pseudo_n in (None, n) else {"n": n, "pseudo_n": pseudo_n}
    entry = key.entry("comparison", **own)
    arrays = cache.load_or_make(entry, lambda: _compared(key, **own))
    return DistanceTable(
        arrays["theta"],
        arrays[f"rho {n}"],
        arrays[f"statistic {n}"],
        n,
        distance,
        synthetic=True,
        summaries={name: arrays[f"summary {n} {name}"] for name in key.scenario.statistics},
    )


def _compared(key: PoolKey, n: int | None = None, pseudo_n: int | None = None) -> cache.Arrays:
    """Compare a run's data with its pool at one pair of sizes, or at every size of the pool."""
    pool = open_pool(key) if key.run == 0 else build(key)
    arrays = {"theta": pool.theta}
    for size in pool.statistics if n is None else [n]:
        table = compare(pool, observed_data(key, size), synthetic=True, pseudo_n=pseudo_n)
        arrays |= {f"rho {size}": table.rho, f"statistic {size}": table.statistic}
        arrays |= {f"summary {size} {name}": own for name, own in table.summaries.items()}
    return arrays


@functools.lru_cache(maxsize=32)
def distances(key: PoolKey, n: int, run: int) -> Array:
    """Return distances ``(T,)`` of a run's data of ``n`` points from a pool; kept on disk."""
    if run == key.run:
        return observed_comparison(key, n).rho

    def make() -> cache.Arrays:
        data = observed_data(replace(key, run=run), n)
        return {"rho": compare(open_pool(key), data, synthetic=True).rho}

    return cache.load_or_make(key.entry("distances", n=n, data=run), make)["rho"]


def lacking_distances(key: PoolKey, n: int, runs: int) -> bool:
    """Return whether :func:`distances` of some of the first runs need the pool."""
    others = (run for run in range(runs) if run != key.run)
    kept = all(cache.holds(key.entry("distances", n=n, data=run)) for run in others)
    return not (kept and is_ready(key))


def forget() -> None:
    """Clear all pools, comparisons and bandwidths from memory; files stay."""
    close_all()
    for kept in (_simulated, observed_comparison, distances, median_of_simulated):
        kept.cache_clear()


# The scenario of a name may have changed.
registry.emptied_by(forget)
