"""Distances between simulated data sets; nothing private is read."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from abcdp_core import cache, fingerprint, pool

Array = NDArray[np.float64]

SETS = 8
"""Simulated data sets that stand for the data where a figure shows their distances to a pool."""


@functools.lru_cache(maxsize=32)
def paired_distances(key: pool.PoolKey, n: int) -> Array:
    """Distances ``(T,)`` of each draw of a pool to a simulated data set of its own; kept on disk.

    The pool is made for this alone.
    """
    return cache.load_or_make(_entry("paired-distances", key, n), lambda: _paired(key, n))["rho"]


def _paired(key: pool.PoolKey, n: int) -> cache.Arrays:
    public, metric = pool.build(key), key.metric()
    further = np.stack([pool.predictive_data(key, n, index) for index in range(key.pool_size)])
    pairs = zip(public.statistics[n], metric.statistic(further), strict=True)
    return {"rho": np.array([metric.compare(ours[None], theirs)[0] for ours, theirs in pairs])}


@functools.lru_cache(maxsize=64)
def pool_distances(key: pool.PoolKey, n: int, index: int) -> Array:
    """Distances ``(T,)`` of one simulated data set to all draws of a pool; kept on disk.

    Args:
        key: of the pool.
        n: points of the data set.
        index: of the prior draw beyond the pool at which it is simulated.
    """

    def make() -> cache.Arrays:
        data = pool.predictive_data(key, n, index)
        return {"rho": pool.compare(pool.open_pool(key), data, synthetic=True).rho}

    return cache.load_or_make(_entry("public-distances", key, n, index), make)["rho"]


def missing_pools(keys: Sequence[tuple[pool.PoolKey, int]], sets: int) -> list[pool.PoolKey]:
    """Return the pools without which the distances of some data sets cannot be had.

    Args:
        keys: pools, each with the points of its data sets.
        sets: how many data sets.
    """
    return [
        key
        for key, n in keys
        if not pool.is_kept(key)
        and not all(cache.holds(_entry("public-distances", key, n, each)) for each in range(sets))
    ]


def _entry(kind: str, key: pool.PoolKey, n: int, index: int | None = None) -> cache.Entry:
    code = fingerprint.of(__name__, key.source.__name__)
    return cache.entry(kind, asdict(key) | {"n": n, "index": index}, code)
