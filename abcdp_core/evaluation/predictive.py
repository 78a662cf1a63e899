"""Distances between simulated data sets, which are public."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from abcdp_core.base import cache, fingerprint
from abcdp_core.base.arrays import Array
from abcdp_core.models import pool

SETS = 8
"""Number of simulated data sets that stand for the data in figures of distances."""


@functools.lru_cache(maxsize=32)
def paired_distances(key: pool.PoolKey, n: int) -> Array:
    """Return distances ``(T,)`` of each draw of a pool from its own further data set; cached."""
    return cache.load_or_make(_entry("paired-distances", key, n), lambda: _paired(key, n))["rho"]


def _paired(key: pool.PoolKey, n: int) -> cache.Arrays:
    public, metric = pool.build(key), key.metric()
    further = np.stack([pool.predictive_data(key, n, index) for index in range(key.pool_size)])
    pairs = zip(public.statistics[n], metric.statistic(further), strict=True)
    return {"rho": np.array([metric.compare(ours[None], theirs)[0] for ours, theirs in pairs])}


@functools.lru_cache(maxsize=64)
def pool_distances(key: pool.PoolKey, n: int, index: int) -> Array:
    """Return distances ``(T,)`` of one simulated data set from all draws of a pool; cached.

    Args:
        key: key of the pool.
        n: points of the data set.
        index: number of the prior draw beyond the pool at which it is simulated.
    """

    def make() -> cache.Arrays:
        data = pool.predictive_data(key, n, index)
        return {"rho": pool.compare(pool.open_pool(key), data, synthetic=True).rho}

    return cache.load_or_make(_entry("public-distances", key, n, index), make)["rho"]


def missing_pools(keys: Sequence[tuple[pool.PoolKey, int]], sets: int) -> list[pool.PoolKey]:
    """Return the pools that distances of the first data sets need and that are not on disk.

    Args:
        keys: pools, each with the points of its data sets.
        sets: number of data sets.
    """
    return [
        key
        for key, n in keys
        if not pool.is_kept(key)
        and not all(cache.holds(_entry("public-distances", key, n, each)) for each in range(sets))
    ]


def _entry(kind: str, key: pool.PoolKey, n: int, index: int | None = None) -> cache.Entry:
    code = fingerprint.of(__name__, key.scenario.module)
    return cache.entry(kind, key.in_words() | {"n": n, "index": index}, code)
